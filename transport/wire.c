/*  transport/wire.c - a message as bytes: one msgpack array, positional, versioned, bounded.  */
#include "transport/wire.h"

#include <assert.h>
#include <string.h>

#include <msgpack/pack.h>

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
    const tnd_msg_spec_t *spec = &tnd_msg_specs[msg->kind];
    assert(carry == TND_CARRY_NOTHING || carry == spec->carry);
    writer_t writer = {bytes, bytes + TND_WIRE_BYTES_MAX};
    msgpack_packer packer;
    msgpack_packer_init(&packer, &writer, append);
    bool has_origin = msg->kind == TND_MSG_BLOCK && msg->block.origin != NULL;

    msgpack_pack_array(&packer, PREFIX_FIELDS + spec->field_count);
    msgpack_pack_uint8(&packer, TND_WIRE_VERSION);
    msgpack_pack_uint8(&packer, (uint8_t)msg->kind);
    msgpack_pack_uint8(&packer, (uint8_t)(carry | (has_origin ? FORM_ORIGIN : 0)));
    msgpack_pack_uint32(&packer, msg->generation);
    msgpack_pack_uint32(&packer, msg->from);
    msgpack_pack_uint32(&packer, msg->to);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const uint8_t *at = (const uint8_t *)msg + spec->fields[i].offset;
        switch (spec->fields[i].type) {
        case TND_FIELD_U32:
            msgpack_pack_uint32(&packer, *(const uint32_t *)(const void *)at);
            break;
        case TND_FIELD_U64:
            msgpack_pack_uint64(&packer, *(const uint64_t *)(const void *)at);
            break;
        case TND_FIELD_BOOL:
            if (*(const bool *)at)
                msgpack_pack_true(&packer);
            else
                msgpack_pack_false(&packer);
            break;
        case TND_FIELD_TEXT:
            encode_text(&packer, *(const char *const *)(const void *)at);
            break;
        }
    }
    return (size_t)(writer.at - bytes);
}

/*  A cursor over hostile bytes: each function returns whether a value was present and in range. */
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

static bool read_field(reader_t *reader, const tnd_msg_field_t *field, tnd_msg_t *msg, char *text)
{
    uint8_t *at = (uint8_t *)msg + field->offset;
    uint64_t value = 0;
    switch (field->type) {
    case TND_FIELD_U32:
        if (!read_uint(reader, field->most, &value))
            return false;
        *(uint32_t *)(void *)at = (uint32_t)value;
        return true;
    case TND_FIELD_U64:
        return read_uint(reader, field->most, (uint64_t *)(void *)at);
    case TND_FIELD_BOOL:
        return read_bool(reader, (bool *)at);
    case TND_FIELD_TEXT:
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
        return tnd_fail(error, "the message header is truncated or out of range");
    const tnd_msg_spec_t *spec = &tnd_msg_specs[kind];
    bool has_origin = shape & FORM_ORIGIN;
    unsigned carry = (unsigned)shape & (FORM_ORIGIN - 1);
    if (count != PREFIX_FIELDS + spec->field_count || carry > TND_CARRY_CURSOR ||
        (carry != TND_CARRY_NOTHING && carry != (unsigned)spec->carry) ||
        (has_origin && carry != TND_CARRY_BLOCK))
        return tnd_fail(error, "message kind %u has wrong fields or payload", (unsigned)kind);

    memset(msg, 0, sizeof *msg);
    msg->kind = (tnd_msg_kind_t)kind;
    msg->generation = (uint32_t)generation;
    msg->from = (tnd_actor_id_t)from;
    msg->to = (tnd_actor_id_t)to;
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (!read_field(&reader, &spec->fields[i], msg, form->text))
            return tnd_fail(error, "field %u of a message of kind %u is truncated or out of range",
                            i, (unsigned)kind);
    if (reader.at != reader.end)
        return tnd_fail(error, "%zu extra bytes follow a message header",
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
