/*  actors/example/protobuf.h - reads the wire format of protocol buffers from memory.
 *
 *  Source: https://protobuf.dev/programming-guides/encoding.  Where bytes are not what a writer makes,
 *  the rules are those of TensorFlow's parser (tensorflow/core/util/example_proto_fast_parsing.cc, on
 *  CodedInputStream): varints of up to ten bytes, whose surplus bits are dropped; a message that claims
 *  to be longer than what holds it ends where that ends.
 *
 *  Nothing is allocated; nothing outside the range is read.
 *
 *  Threads: a plain value; any. */
#ifndef TND_ACTORS_EXAMPLE_PROTOBUF_H
#define TND_ACTORS_EXAMPLE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*  What is left to read. */
typedef struct {
    const uint8_t *at, *end;
} tnd_protobuf_t;

/*  The wire types: the low three bits of a tag. */
enum { TND_WIRE_VARINT = 0, TND_WIRE_FIXED64 = 1, TND_WIRE_BYTES = 2, TND_WIRE_FIXED32 = 5 };

/*  The tag, of one byte, of a field with a number below 16. */
#define TND_PROTOBUF_TAG(field, wire) ((uint8_t)((field) << 3 | (wire)))

static inline size_t tnd_protobuf_left(const tnd_protobuf_t *self)
{
    return (size_t)(self->end - self->at);
}

/*  False: it is cut, or has more than ten bytes. */
static inline bool tnd_protobuf_varint(tnd_protobuf_t *self, uint64_t *value_p)
{
    uint64_t value = 0;
    if (self->at != self->end && *self->at < 0x80) { /* as most tags and lengths are */
        *value_p = *self->at++;
        return true;
    }
    for (uint32_t shift = 0; shift < 70; shift += 7) {
        if (self->at == self->end)
            return false;
        uint64_t byte = *self->at++;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value_p = value;
            return true;
        }
    }
    return false;
}

/*  Takes the next byte if it is this tag. */
static inline bool tnd_protobuf_expect(tnd_protobuf_t *self, uint8_t tag)
{
    if (self->at == self->end || *self->at != tag)
        return false;
    self->at++;
    return true;
}

/*  A length and a message of that many bytes, or of all that are left if those are fewer. */
static inline bool tnd_protobuf_message(tnd_protobuf_t *self, tnd_protobuf_t *message)
{
    uint64_t size;
    if (!tnd_protobuf_varint(self, &size))
        return false;
    size = (uint32_t)size;
    if (size > tnd_protobuf_left(self))
        size = tnd_protobuf_left(self);
    *message = (tnd_protobuf_t){self->at, self->at + size};
    self->at += size;
    return true;
}

/*  A length and that many bytes.  False: fewer are left. */
static inline bool tnd_protobuf_bytes(tnd_protobuf_t *self, tnd_protobuf_t *bytes)
{
    uint64_t size;
    if (!tnd_protobuf_varint(self, &size) || (uint32_t)size > tnd_protobuf_left(self))
        return false;
    *bytes = (tnd_protobuf_t){self->at, self->at + (uint32_t)size};
    self->at += (uint32_t)size;
    return true;
}

/*  Skips a tag and its field.  Bytes of which fewer are left than their length says end the message; a
 *  length of 2^31 or more, which CodedInputStream takes for a negative one, skips nothing.  False: another
 *  field is cut, or it is a group, which TensorFlow does not skip. */
static inline bool tnd_protobuf_skip(tnd_protobuf_t *self)
{
    uint64_t tag, ignored, size;
    if (!tnd_protobuf_varint(self, &tag))
        return false;
    switch (tag & 7) {
    case TND_WIRE_VARINT:
        return tnd_protobuf_varint(self, &ignored);
    case TND_WIRE_BYTES:
        if (!tnd_protobuf_varint(self, &size))
            return false;
        size = (uint32_t)size <= INT32_MAX ? (uint32_t)size : 0;
        self->at += size < tnd_protobuf_left(self) ? size : tnd_protobuf_left(self);
        return true;
    case TND_WIRE_FIXED64:
    case TND_WIRE_FIXED32:
        size = (tag & 7) == TND_WIRE_FIXED64 ? 8 : 4;
        if (tnd_protobuf_left(self) < size)
            return false;
        self->at += size;
        return true;
    default:
        return false;
    }
}

#endif
