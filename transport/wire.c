/*  transport/wire.c - a message as bytes: one msgpack array, positional, versioned, bounded.  */
#include "transport/wire.h"

#include <assert.h>
#include <string.h>

#include <msgpack/pack.h>

typedef enum { FIELD_U32, FIELD_U64, FIELD_BOOL, FIELD_TEXT } field_type_t;

typedef struct {
    size_t offset;
    field_type_t type;
    uint64_t most;
} field_t;

typedef struct {
    const field_t *fields;
    uint32_t count;
    uint32_t carries; /* bits of tnd_carry_t */
} layout_t;

/*  Positions and ranks leave room for sums. */
#define POSITION_MAX (UINT64_MAX / 4)

#define U32(member)                                                                                \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_U32, UINT32_MAX                                         \
    }
#define U64(member)                                                                                \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_U64, UINT64_MAX                                         \
    }
#define BOOL(member)                                                                               \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_BOOL, 1                                                 \
    }
#define TEXT(member)                                                                               \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_TEXT, TND_WIRE_TEXT_MAX                                 \
    }
#define LANE(member)                                                                               \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_U32, TND_LANES_MAX - 1                                  \
    }
#define PLACE(member)                                                                              \
    {                                                                                              \
        offsetof(tnd_msg_t, member), FIELD_U64, POSITION_MAX                                       \
    }

static const field_t hello_fields[] = {U64(hello.life),           U64(hello.birth),
                                       U32(hello.connection),     U64(hello.terms.graph[0]),
                                       U64(hello.terms.graph[1]), U64(hello.terms.schema),
                                       U64(hello.terms.numeric),  U64(hello.terms.listener),
                                       U32(hello.terms.abi),      BOOL(hello.terms.tolerant)};
static const field_t stale_fields[] = {U64(hello.life)};
static const field_t refuse_fields[] = {TEXT(refuse.why), BOOL(refuse.elsewhere)};
static const field_t credit_fields[] = {U64(credit.blocks), U64(credit.bytes)};
static const field_t block_fields[] = {
    PLACE(block.first), LANE(block.lane),     U32(block.epoch),     U32(block.count),
    U32(block.asked),   U32(block.attempt),   U32(block.rows),      BOOL(block.end),
    PLACE(block.bytes), U32(block.bad_count), U32(block.why_bytes), U64(block.work_ns)};
static const field_t until_fields[] = {U64(until.step)};
static const field_t slice_fields[] = {PLACE(slice.step),      PLACE(slice.step_of_epoch),
                                       PLACE(slice.rank),      U32(slice.epoch),
                                       LANE(slice.lane),       U32(slice.replica),
                                       U32(slice.offset),      U32(slice.rows),
                                       U32(slice.total),       U32(slice.padded),
                                       U32(slice.step_rows),   BOOL(slice.last_of_epoch),
                                       BOOL(slice.last_of_run)};
static const field_t post_fields[] = {U64(post.round), U32(post.reducer_slot), U32(post.reduction),
                                      U32(post.first), U32(post.count),        U64(post.weight)};
static const field_t passed_fields[] = {PLACE(passed.first), PLACE(passed.last), U32(passed.begin),
                                        U32(passed.end), U32(passed.reductions)};
static const field_t keep_fields[] = {U64(keep.every), U64(keep.step), U64(keep.below)};
static const field_t ticket_fields[] = {PLACE(ticket.first),     LANE(ticket.lane),
                                        U32(ticket.epoch),       U32(ticket.count),
                                        U32(ticket.attempt),     PLACE(ticket.floor.index),
                                        U32(ticket.floor.epoch), U32(ticket.floor.used)};
static const field_t bad_fields[] = {PLACE(bad.position), LANE(bad.lane), U32(bad.epoch),
                                     U32(bad.way)};
static const field_t mark_fields[] = {PLACE(mark.rows), LANE(mark.lane), U32(mark.epoch),
                                      BOOL(mark.ended)};
static const field_t part_fields[] = {PLACE(part.step),
                                      LANE(part.lane),
                                      U32(part.epoch),
                                      PLACE(part.step_of_epoch),
                                      PLACE(part.rank),
                                      PLACE(part.position.index),
                                      U32(part.position.epoch),
                                      U32(part.position.used),
                                      PLACE(part.ledger.read),
                                      PLACE(part.ledger.added),
                                      PLACE(part.ledger.fed),
                                      PLACE(part.ledger.filtered),
                                      PLACE(part.ledger.quarantined),
                                      PLACE(part.ledger.dropped),
                                      PLACE(part.ledger.padded)};
static const field_t note_fields[] = {U64(note.number)};
static const field_t commit_fields[] = {U64(commit.step), U64(commit.digest[0]),
                                        U64(commit.digest[1]), U32(commit.rows)};

#define LAYOUT(table, carries)                                                                     \
    {                                                                                              \
        table, sizeof table / sizeof table[0], 1u << TND_CARRY_NOTHING | (carries)                 \
    }
#define BARE(carries)                                                                              \
    {                                                                                              \
        NULL, 0, 1u << TND_CARRY_NOTHING | (carries)                                               \
    }
#define BUFFER (1u << TND_CARRY_BUFFER)

static const layout_t layouts[TND_MSG_KINDS] = {
    [TND_MSG_HELLO] = LAYOUT(hello_fields, 0),
    [TND_MSG_WELCOME] = BARE(0),
    [TND_MSG_REFUSE] = LAYOUT(refuse_fields, 0),
    [TND_MSG_STALE] = LAYOUT(stale_fields, 0),
    [TND_MSG_GOODBYE] = BARE(0),
    [TND_MSG_PING] = BARE(0),
    [TND_MSG_PONG] = BARE(0),
    [TND_MSG_CREDIT] = LAYOUT(credit_fields, 0),
    [TND_MSG_BLOCK] = LAYOUT(block_fields, 1u << TND_CARRY_BLOCK),
    [TND_MSG_BEGIN] = LAYOUT(ticket_fields, 0),
    [TND_MSG_GO] = LAYOUT(ticket_fields, 0),
    [TND_MSG_WINDOW] = LAYOUT(until_fields, 0),
    [TND_MSG_SLICE] = LAYOUT(slice_fields, 1u << TND_CARRY_SLICE),
    [TND_MSG_POST] = LAYOUT(post_fields, BUFFER),
    [TND_MSG_RESULT] = LAYOUT(post_fields, BUFFER),
    [TND_MSG_GOT] = LAYOUT(post_fields, BUFFER),
    [TND_MSG_CLOSED] = LAYOUT(post_fields, BUFFER),
    [TND_MSG_PASSED] = LAYOUT(passed_fields, 0),
    [TND_MSG_REWIND] = BARE(1u << TND_CARRY_CURSOR),
    [TND_MSG_TICKET] = LAYOUT(ticket_fields, 0),
    [TND_MSG_LOST] = LAYOUT(ticket_fields, 0),
    [TND_MSG_BAD] = LAYOUT(bad_fields, BUFFER),
    [TND_MSG_ASIDE] = LAYOUT(bad_fields, BUFFER),
    [TND_MSG_WHY] = LAYOUT(bad_fields, BUFFER),
    [TND_MSG_MARK] = LAYOUT(mark_fields, 0),
    [TND_MSG_PART] = LAYOUT(part_fields, 0),
    [TND_MSG_LAST] = LAYOUT(part_fields, 0),
    [TND_MSG_BROKEN] = BARE(0),
    [TND_MSG_HELD] = LAYOUT(until_fields, 0),
    [TND_MSG_COMMIT] = LAYOUT(commit_fields, BUFFER),
    [TND_MSG_BOOKED] = LAYOUT(until_fields, 0),
    [TND_MSG_DRAIN] = LAYOUT(until_fields, 0),
    [TND_MSG_KEEP] = LAYOUT(keep_fields, 0),
    [TND_MSG_FACTS] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_STREAM] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_ENDPOINTS] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_TABLE] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_READY] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_DOWN] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_WORDS] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_LOG] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_ASK] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_MODEL] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_STATISTICS] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_OUTCOME] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_SEAT] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_LEAVE] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_HUNG] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_RESTART] = LAYOUT(note_fields, BUFFER),
    [TND_MSG_LIVES] = LAYOUT(note_fields, BUFFER)};

enum { PREFIX_FIELDS = 6, FORM_ORIGIN = 16 };

typedef struct {
    uint8_t *at, *end;
} writer_t;

static int append(void *data, const char *bytes, size_t size)
{
    writer_t *self = data;
    assert(size <= (size_t)(self->end - self->at));
    memcpy(self->at, bytes, size);
    self->at += size;
    return 0;
}

static void encode_text(msgpack_packer *packer, const char *text)
{
    size_t size = text == NULL ? 0 : strnlen(text, TND_WIRE_TEXT_MAX);
    msgpack_pack_str(packer, size);
    msgpack_pack_str_body(packer, text == NULL ? "" : text, size);
}

size_t tnd_wire_encode(const tnd_msg_t *msg, tnd_carry_t carry, uint8_t bytes[TND_WIRE_BYTES_MAX])
{
    assert((unsigned)msg->kind < TND_MSG_KINDS);
    const layout_t *layout = &layouts[msg->kind];
    assert(layout->carries >> carry & 1);
    writer_t writer = {bytes, bytes + TND_WIRE_BYTES_MAX};
    msgpack_packer packer;
    msgpack_packer_init(&packer, &writer, append);
    bool has_origin = msg->kind == TND_MSG_BLOCK && msg->block.origin != NULL;

    msgpack_pack_array(&packer, PREFIX_FIELDS + layout->count);
    msgpack_pack_uint8(&packer, TND_WIRE_VERSION);
    msgpack_pack_uint8(&packer, (uint8_t)msg->kind);
    msgpack_pack_uint8(&packer, (uint8_t)(carry | (has_origin ? FORM_ORIGIN : 0)));
    msgpack_pack_uint32(&packer, msg->generation);
    msgpack_pack_uint32(&packer, msg->from);
    msgpack_pack_uint32(&packer, msg->to);
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint8_t *at = (const uint8_t *)msg + layout->fields[i].offset;
        switch (layout->fields[i].type) {
        case FIELD_U32:
            msgpack_pack_uint32(&packer, *(const uint32_t *)(const void *)at);
            break;
        case FIELD_U64:
            msgpack_pack_uint64(&packer, *(const uint64_t *)(const void *)at);
            break;
        case FIELD_BOOL:
            if (*(const bool *)at)
                msgpack_pack_true(&packer);
            else
                msgpack_pack_false(&packer);
            break;
        case FIELD_TEXT:
            encode_text(&packer, *(const char *const *)(const void *)at);
            break;
        }
    }
    return (size_t)(writer.at - bytes);
}

/*  A cursor over hostile bytes: each function says whether what it read was there and in range. */
typedef struct {
    const uint8_t *at, *end;
} reader_t;

static bool read_big_endian(reader_t *self, unsigned bytes, uint64_t *value)
{
    if ((size_t)(self->end - self->at) < bytes)
        return false;
    uint64_t sum = 0;
    for (unsigned i = 0; i < bytes; i++)
        sum = sum << 8 | *self->at++;
    *value = sum;
    return true;
}

static bool read_uint(reader_t *self, uint64_t most, uint64_t *value)
{
    if (self->at == self->end)
        return false;
    uint8_t tag = *self->at++;
    uint64_t read = tag;
    if (tag > 0x7f) {
        if (tag < 0xcc || tag > 0xcf)
            return false;
        if (!read_big_endian(self, 1u << (tag - 0xcc), &read))
            return false;
    }
    *value = read;
    return read <= most;
}

static bool read_bool(reader_t *self, bool *value)
{
    if (self->at == self->end || (*self->at != 0xc2 && *self->at != 0xc3))
        return false;
    *value = *self->at++ == 0xc3;
    return true;
}

static bool read_array(reader_t *self, uint64_t *count)
{
    if (self->at == self->end)
        return false;
    uint8_t tag = *self->at++;
    *count = tag & 0x0f;
    return (tag & 0xf0) == 0x90 || (tag == 0xdc && read_big_endian(self, 2, count));
}

static bool read_text(reader_t *self, char text[TND_WIRE_TEXT_MAX + 1])
{
    if (self->at == self->end)
        return false;
    uint8_t tag = *self->at++;
    uint64_t size = tag & 0x1f;
    if ((tag & 0xe0) != 0xa0 && (tag != 0xd9 || !read_big_endian(self, 1, &size)))
        return false;
    if ((size_t)(self->end - self->at) < size || memchr(self->at, '\0', size) != NULL)
        return false;
    memcpy(text, self->at, size);
    text[size] = '\0';
    self->at += size;
    return true;
}

static bool read_field(reader_t *reader, const field_t *field, tnd_msg_t *msg, char *text)
{
    uint8_t *at = (uint8_t *)msg + field->offset;
    uint64_t value = 0;
    switch (field->type) {
    case FIELD_U32:
        if (!read_uint(reader, field->most, &value))
            return false;
        *(uint32_t *)(void *)at = (uint32_t)value;
        return true;
    case FIELD_U64:
        return read_uint(reader, field->most, (uint64_t *)(void *)at);
    case FIELD_BOOL:
        return read_bool(reader, (bool *)at);
    case FIELD_TEXT:
        *(const char **)(void *)at = text;
        return read_text(reader, text);
    }
    return false;
}

tnd_status_t tnd_wire_decode(tnd_msg_t *msg, tnd_wire_form_t *form, const void *bytes, size_t size,
                             tnd_error_t *error)
{
    reader_t reader = {bytes, (const uint8_t *)bytes + size};
    uint64_t count = 0, version = 0, kind = 0, shape = 0, generation = 0, from = 0, to = 0;

    if (size > TND_WIRE_BYTES_MAX || !read_array(&reader, &count) || count < PREFIX_FIELDS ||
        !read_uint(&reader, UINT8_MAX, &version))
        return tnd_fail(error, "the bytes are not a message header");
    if (version != TND_WIRE_VERSION) {
        (void)tnd_fail(error,
                       "the peer speaks wire version %u, this program version %u: install the "
                       "same release on both hosts",
                       (unsigned)version, TND_WIRE_VERSION);
        return TND_REFUSED;
    }
    if (!read_uint(&reader, TND_MSG_KINDS - 1, &kind) ||
        !read_uint(&reader, FORM_ORIGIN | TND_CARRY_CURSOR, &shape) ||
        !read_uint(&reader, UINT32_MAX, &generation) || !read_uint(&reader, UINT32_MAX, &from) ||
        !read_uint(&reader, UINT32_MAX, &to))
        return tnd_fail(error, "the message header is cut short or out of range");
    const layout_t *layout = &layouts[kind];
    bool has_origin = shape & FORM_ORIGIN;
    unsigned carry = (unsigned)shape & (FORM_ORIGIN - 1);
    if (count != PREFIX_FIELDS + layout->count || carry > TND_CARRY_CURSOR ||
        !(layout->carries >> carry & 1) || (has_origin && carry != TND_CARRY_BLOCK))
        return tnd_fail(error, "a message of kind %u does not look like this", (unsigned)kind);

    memset(msg, 0, sizeof *msg);
    msg->kind = (tnd_msg_kind_t)kind;
    msg->generation = (uint32_t)generation;
    msg->from = (tnd_actor_id_t)from;
    msg->to = (tnd_actor_id_t)to;
    for (uint32_t i = 0; i < layout->count; i++)
        if (!read_field(&reader, &layout->fields[i], msg, form->text))
            return tnd_fail(error, "field %u of a message of kind %u is cut short or out of range",
                            i, (unsigned)kind);
    if (reader.at != reader.end)
        return tnd_fail(error, "%zu bytes are left over behind a message header",
                        (size_t)(reader.end - reader.at));
    form->carry = (tnd_carry_t)carry;
    form->has_origin = has_origin;
    return TND_OK;
}

int tnd_wire_fuzz(const uint8_t *bytes, size_t size)
{
    tnd_msg_t msg, again;
    tnd_wire_form_t form, form_again;
    if (tnd_wire_decode(&msg, &form, bytes, size, NULL) != TND_OK)
        return 0;

    uint8_t encoded[TND_WIRE_BYTES_MAX], encoded_again[TND_WIRE_BYTES_MAX];
    static const uint32_t some_origin = 0;
    if (form.has_origin)
        msg.block.origin = &some_origin;
    size_t length = tnd_wire_encode(&msg, form.carry, encoded);
    tnd_status_t status = tnd_wire_decode(&again, &form_again, encoded, length, NULL);
    assert(status == TND_OK && form.has_origin == form_again.has_origin);
    if (form.has_origin)
        again.block.origin = &some_origin;
    assert(tnd_wire_encode(&again, form_again.carry, encoded_again) == length);
    assert(memcmp(encoded, encoded_again, length) == 0);
    return 0;
}
