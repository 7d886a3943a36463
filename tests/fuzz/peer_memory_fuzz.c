/*  tests/fuzz/peer_memory_fuzz.c - notes about memory of a connection, and references to it.
 *
 *  Each input byte SIZE is followed by so many bytes of a frame.  The process and the file of an
 *  offer are made those of a memory of this process: others are not of the corpus. */
#include <assert.h>
#include <string.h>

#include "runtime/data/shared_memory.h"
#include "tests/fuzz/fuzz.h"
#include "transport/zmq/peer_memory.h"

enum { KIND_AT = 1, NAME_AT = 16 };

static const tnd_shared_name_t *own_name(void)
{
    static tnd_shared_memory_t *memory;
    if (memory == NULL)
        memory = tnd_shared_memory_new(1 << 16, 2);
    assert(memory != NULL);
    return tnd_shared_memory_name(memory);
}

static void try_note(tnd_peer_memory_t *memory, uint8_t *note, size_t size)
{
    uint8_t answer[TND_PEER_NOTE_BYTES];
    bool answers;
    tnd_error_t error = {.text = ""};
    if (size == TND_PEER_NOTE_BYTES && note[KIND_AT] == 0)
        memcpy(note + NAME_AT, own_name(), sizeof(tnd_shared_name_t) - sizeof(uint64_t));
    if (tnd_peer_memory_note(memory, note, size, answer, &answers, &error) != TND_OK)
        assert(error.text[0] != '\0' && !answers);
}

static void try_reference(const tnd_peer_memory_t *memory, const uint8_t *reference, size_t size)
{
    tnd_buffer_t *buffer = NULL;
    if (tnd_peer_memory_read(memory, reference, size, &buffer, NULL) != TND_OK)
        return;
    const volatile uint8_t *bytes = tnd_buffer_data(buffer);
    for (size_t i = 0; i < tnd_buffer_size(buffer); i += 4096)
        (void)bytes[i];
    tnd_buffer_drop(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_peer_memory_t memory = {0};
    uint8_t frame[UINT8_MAX];
    while (size > 0 && size - 1 >= bytes[0]) {
        size_t length = bytes[0];
        memcpy(frame, bytes + 1, length);
        bytes += 1 + length;
        size -= 1 + length;
        if (tnd_peer_memory_is_note(frame, length))
            try_note(&memory, frame, length);
        else
            try_reference(&memory, frame, length);
    }
    tnd_peer_memory_fini(&memory);
    return 0;
}
