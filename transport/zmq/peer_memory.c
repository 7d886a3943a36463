/*  transport/zmq/peer_memory.c - which memory both ends of a connection can read. */
#include "transport/zmq/peer_memory.h"

#include <assert.h>
#include <string.h>

#include "runtime/data/shared_memory.h"

/*  No msgpack array begins with it. */
static const uint8_t mark = 'M';

typedef enum { NOTE_OFFER, NOTE_FOUND, NOTE_NOT_FOUND } note_kind_t;

typedef struct {
    uint8_t mark, kind, version, unused[5];
    uint64_t number; /* of the memory, among those of the end that offers */
    tnd_shared_name_t name;
} note_t;

typedef struct {
    uint64_t number, offset, bytes;
} reference_t;

_Static_assert(sizeof(note_t) == TND_PEER_NOTE_BYTES, "as declared");
_Static_assert(sizeof(reference_t) == TND_PEER_REFERENCE_BYTES, "as declared");

void tnd_peer_memory_fini(tnd_peer_memory_t *self)
{
    for (uint32_t i = 0; i < TND_PEER_MEMORIES; i++) {
        tnd_shared_memory_drop(&self->own[i].memory);
        tnd_shared_memory_drop(&self->found[i]);
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

static void write_note(note_kind_t kind, uint64_t number, const tnd_shared_name_t *name,
                       uint8_t bytes[TND_PEER_NOTE_BYTES])
{
    note_t note = {.mark = mark, .kind = (uint8_t)kind, .number = number};
    if (name != NULL)
        note.name = *name;
    memcpy(bytes, &note, sizeof note);
}

tnd_offer_t tnd_peer_memory_offer(tnd_peer_memory_t *self, const tnd_buffer_t *buffer,
                                  uint8_t note[TND_PEER_NOTE_BYTES])
{
    tnd_shared_memory_t *memory = tnd_buffer_memory(buffer);
    uint32_t at = 0;
    if (memory == NULL)
        return TND_OFFER_REFUSED;
    for (; at < TND_PEER_MEMORIES && self->own[at].memory != NULL; at++)
        if (self->own[at].memory == memory)
            return self->own[at].state;
    if (at == TND_PEER_MEMORIES)
        return TND_OFFER_REFUSED;
    self->own[at].memory = tnd_shared_memory_hold(memory);
    self->own[at].state = TND_OFFER_PENDING;
    write_note(NOTE_OFFER, at, tnd_shared_memory_name(memory), note);
    return TND_OFFER_NEW;
}

void tnd_peer_memory_refer(const tnd_peer_memory_t *self, tnd_buffer_t *buffer,
                           uint8_t reference[TND_PEER_REFERENCE_BYTES])
{
    const tnd_shared_memory_t *memory = tnd_buffer_memory(buffer);
    uint64_t number = 0;
    while (self->own[number].memory != memory)
        number++;
    reference_t names = {.number = number,
                         .offset = tnd_shared_memory_offset(memory, tnd_buffer_data(buffer)),
                         .bytes = tnd_buffer_size(buffer)};
    memcpy(reference, &names, sizeof names);
}

/* --- receiving -------------------------------------------------------------------------------- */

bool tnd_peer_memory_is_note(const void *bytes, size_t size)
{
    return size > 0 && *(const uint8_t *)bytes == mark;
}

/*  A memory may be offered once under a number. */
static tnd_status_t take_offer(tnd_peer_memory_t *self, const note_t *note, tnd_error_t *error)
{
    if (self->found[note->number] != NULL)
        return tnd_fail(error, "memory %u was offered twice", (unsigned)note->number);
    self->found[note->number] = tnd_shared_memory_find(&note->name);
    return TND_OK;
}

static tnd_status_t take_answer(tnd_peer_memory_t *self, const note_t *note, tnd_error_t *error)
{
    if (self->own[note->number].memory == NULL ||
        self->own[note->number].state != TND_OFFER_PENDING)
        return tnd_fail(error, "an answer came to memory %u, which was not offered",
                        (unsigned)note->number);
    self->own[note->number].state = note->kind == NOTE_FOUND ? TND_OFFER_TAKEN : TND_OFFER_REFUSED;
    return TND_OK;
}

tnd_status_t tnd_peer_memory_note(tnd_peer_memory_t *self, const void *bytes, size_t size,
                                  uint8_t answer[TND_PEER_NOTE_BYTES], bool *answers_p,
                                  tnd_error_t *error)
{
    note_t note;
    *answers_p = false;
    if (size != sizeof note)
        return tnd_fail(error, "%zu bytes are not a note about memory", size);
    memcpy(&note, bytes, sizeof note);
    if (note.kind > NOTE_NOT_FOUND || note.version != 0 || note.number >= TND_PEER_MEMORIES)
        return tnd_fail(error, "a note about memory is out of range");
    if (note.kind != NOTE_OFFER)
        return take_answer(self, &note, error);
    TND_TRY(take_offer(self, &note, error));
    *answers_p = true;
    write_note(self->found[note.number] != NULL ? NOTE_FOUND : NOTE_NOT_FOUND, note.number, NULL,
               answer);
    return TND_OK;
}

static void release_memory(void *owner)
{
    tnd_shared_memory_t *memory = owner;
    tnd_shared_memory_drop(&memory);
}

tnd_status_t tnd_peer_memory_read(const tnd_peer_memory_t *self, const void *reference, size_t size,
                                  tnd_buffer_t **buffer_p, tnd_error_t *error)
{
    reference_t names;
    if (size != sizeof names)
        return tnd_fail(error, "%zu bytes are not a reference to memory", size);
    memcpy(&names, reference, sizeof names);
    if (names.number >= TND_PEER_MEMORIES || self->found[names.number] == NULL)
        return tnd_fail(error, "a message refers to a memory that is not shared");
    tnd_shared_memory_t *memory = self->found[names.number];
    const void *data = tnd_shared_memory_at(memory, names.offset, names.bytes);
    if (data == NULL)
        return tnd_fail(error, "a message refers to bytes outside a shared memory");
    *buffer_p = tnd_buffer_wrap(TND_BUFFER_SHARED, (void *)(uintptr_t)data, (size_t)names.bytes,
                                release_memory, tnd_shared_memory_hold(memory));
    return TND_OK;
}
