/*  actors/example/example.c - the messages tf.Example and tf.SequenceExample, read in place. */
#include "actors/example/example.h"

#include "runtime/base/allocation.h"

enum {
    TAG_STRING = TND_PROTOBUF_TAG(1, TND_WIRE_BYTES),
    TAG_PACKED = TND_PROTOBUF_TAG(1, TND_WIRE_BYTES),
    TAG_FLOAT = TND_PROTOBUF_TAG(1, TND_WIRE_FIXED32),
    TAG_INT = TND_PROTOBUF_TAG(1, TND_WIRE_VARINT),
    TAG_KEY = TND_PROTOBUF_TAG(1, TND_WIRE_BYTES),
    TAG_VALUE = TND_PROTOBUF_TAG(2, TND_WIRE_BYTES)
};

void tnd_example_init(tnd_example_t *self, uint32_t field, const void *data, size_t size)
{
    const uint8_t *at = data;
    *self = (tnd_example_t){.tag = TND_PROTOBUF_TAG(field, TND_WIRE_BYTES)};
    if (size > 0)
        self->message = (tnd_protobuf_t){at, at + size};
}

/*  A tag that has to be one of two; they may be written with more bytes than they need. */
static bool read_entry(tnd_protobuf_t *from, tnd_example_entry_t *entry)
{
    uint64_t tag;
    for (uint32_t field = 0; field < 2; field++) {
        if (!tnd_protobuf_varint(from, &tag))
            return false;
        tnd_protobuf_t *part = (uint32_t)tag == TAG_KEY     ? &entry->key
                               : (uint32_t)tag == TAG_VALUE ? &entry->value
                                                            : NULL;
        if (part == NULL || !tnd_protobuf_bytes(from, part))
            return false;
    }
    return from->at == from->end;
}

tnd_status_t tnd_example_next(tnd_example_t *self, tnd_example_entry_t *entry)
{
    tnd_protobuf_t one;
    *entry = (tnd_example_entry_t){0};
    while (self->map.at == self->map.end) {
        if (self->message.at == self->message.end)
            return TND_END;
        if (tnd_protobuf_expect(&self->message, self->tag)
                ? !tnd_protobuf_message(&self->message, &self->map)
                : !tnd_protobuf_skip(&self->message))
            return TND_REFUSED;
    }
    if (!tnd_protobuf_expect(&self->map, TND_EXAMPLE_ENTRY) ||
        !tnd_protobuf_message(&self->map, &one) || !read_entry(&one, entry))
        return TND_REFUSED;
    return TND_OK;
}

tnd_example_head_t tnd_example_head(const char *key)
{
    const size_t length = strlen(key);
    uint8_t *bytes = tnd_allocate(length + 2 + 10, 1), *at = bytes;
    *at++ = TAG_KEY;
    size_t left = length;
    for (; left > 127; left >>= 7)
        *at++ = (uint8_t)(left | 128);
    *at++ = (uint8_t)left;
    memcpy(at, key, length);
    at[length] = TAG_VALUE;
    return (tnd_example_head_t){bytes, (size_t)(at - bytes) + length + 1};
}

/*  The values of a list of numbers: a packed run, or one after the other with a tag each, which
 *  `tag` is.  What follows a packed run is not looked at.  Numbers of fixed size must all be there. */
static bool find_run(const tnd_protobuf_t *list, uint8_t tag, tnd_protobuf_t *run, bool *packed_p)
{
    uint64_t size;
    tnd_protobuf_t left = *list;
    if (!tnd_protobuf_message(&left, run))
        return false;
    *packed_p = run->at != run->end && *run->at == TAG_PACKED;
    if (!*packed_p)
        return run->at == run->end || *run->at == tag;
    run->at++;
    if (!tnd_protobuf_varint(run, &size))
        return false;
    size = (uint32_t)size;
    if (tag == TAG_FLOAT && size / sizeof(float) > tnd_protobuf_left(run) / sizeof(float))
        return false;
    if (size < tnd_protobuf_left(run))
        run->end = run->at + size;
    return true;
}

static bool count_ints(const tnd_protobuf_t *list, uint64_t *count_p)
{
    tnd_protobuf_t run;
    bool packed;
    uint64_t value, count = 0;
    if (!find_run(list, TAG_INT, &run, &packed))
        return false;
    while (run.at != run.end) {
        if ((!packed && !tnd_protobuf_expect(&run, TAG_INT)) || !tnd_protobuf_varint(&run, &value))
            return false;
        count++;
    }
    *count_p = count;
    return true;
}

static bool count_floats(const tnd_protobuf_t *list, uint64_t *count_p)
{
    tnd_protobuf_t run;
    bool packed;
    if (!find_run(list, TAG_FLOAT, &run, &packed))
        return false;
    size_t left = tnd_protobuf_left(&run), one = sizeof(float) + (packed ? 0 : 1);
    *count_p = left / one;
    if (packed)
        return true; /* an incomplete number at the end is not one */
    for (; run.at != run.end; run.at += one)
        if (tnd_protobuf_left(&run) < one || *run.at != TAG_FLOAT)
            return false;
    return true;
}

static bool count_strings(const tnd_protobuf_t *list, uint64_t *count_p, uint64_t *bytes_p)
{
    tnd_protobuf_t left = *list, run, string;
    if (!tnd_protobuf_message(&left, &run))
        return false;
    *count_p = *bytes_p = 0;
    while (run.at != run.end) {
        if (!tnd_protobuf_expect(&run, TAG_STRING) || !tnd_protobuf_bytes(&run, &string))
            return false;
        ++*count_p;
        *bytes_p += tnd_protobuf_left(&string);
    }
    return true;
}

bool tnd_feature_count(tnd_feature_kind_t kind, const tnd_protobuf_t *list, uint64_t *count_p,
                       uint64_t *bytes_p)
{
    *count_p = *bytes_p = 0;
    switch (kind) {
    case TND_FEATURE_BYTES:
        return count_strings(list, count_p, bytes_p);
    case TND_FEATURE_FLOATS:
        return count_floats(list, count_p);
    case TND_FEATURE_INTS:
        return count_ints(list, count_p);
    case TND_FEATURE_NONE:
        break;
    }
    return true;
}

/*  A varint of which eight bytes are left to read, and if it has at most eight. */
static inline bool read_short(tnd_protobuf_t *self, uint64_t *value_p)
{
    uint64_t bytes, ends;
    memcpy(&bytes, self->at, sizeof bytes);
    ends = ~bytes & UINT64_C(0x8080808080808080);
    if (ends == 0)
        return false;
    self->at += (size_t)__builtin_ctzll(ends) / 8 + 1;
    /* Seven bits of each byte up to the first end; pairs, fours and then all move together. */
    bytes &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    bytes = (bytes & UINT64_C(0x007f007f007f007f)) | (bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
    bytes = (bytes & UINT64_C(0x00003fff00003fff)) | (bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
    *value_p = (bytes & UINT64_C(0x000000000fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
    return true;
}

bool tnd_feature_take_ints(const tnd_protobuf_t *list, uint64_t most, int64_t *values,
                           uint64_t *count_p)
{
    tnd_protobuf_t run;
    bool packed;
    uint64_t value, count = 0;
    if (!find_run(list, TAG_INT, &run, &packed))
        return false;
    while (run.at != run.end) {
        if (!packed && !tnd_protobuf_expect(&run, TAG_INT))
            return false;
        if ((tnd_protobuf_left(&run) < sizeof value || !read_short(&run, &value)) &&
            !tnd_protobuf_varint(&run, &value))
            return false;
        if (count < most)
            values[count] = (int64_t)value;
        count++;
    }
    *count_p = count;
    return true;
}

void tnd_feature_ints(const tnd_protobuf_t *list, int64_t *values)
{
    tnd_protobuf_t run;
    bool packed;
    uint64_t value;
    if (!find_run(list, TAG_INT, &run, &packed))
        return;
    while (run.at != run.end) {
        if (!packed)
            run.at++;
        if (!tnd_protobuf_varint(&run, &value))
            return;
        *values++ = (int64_t)value;
    }
}

void tnd_feature_floats(const tnd_protobuf_t *list, float *values)
{
    tnd_protobuf_t run;
    bool packed;
    if (!find_run(list, TAG_FLOAT, &run, &packed))
        return;
    size_t left = tnd_protobuf_left(&run);
    if (packed) {
        memcpy(values, run.at, left / sizeof *values * sizeof *values);
        return;
    }
    for (size_t i = 0; i < left / (1 + sizeof *values); i++)
        memcpy(&values[i], run.at + i * (1 + sizeof *values) + 1, sizeof *values);
}

tnd_protobuf_t tnd_feature_strings(const tnd_protobuf_t *list)
{
    tnd_protobuf_t left = *list, strings = {0};
    (void)tnd_protobuf_message(&left, &strings);
    return strings;
}

bool tnd_feature_string(tnd_protobuf_t *strings, tnd_protobuf_t *string)
{
    return tnd_protobuf_expect(strings, TAG_STRING) && tnd_protobuf_bytes(strings, string);
}

tnd_status_t tnd_feature_next(tnd_protobuf_t *list, tnd_protobuf_t *feature)
{
    if (list->at == list->end)
        return TND_END;
    return tnd_protobuf_expect(list, TAG_STRING) && tnd_protobuf_message(list, feature)
               ? TND_OK
               : TND_REFUSED;
}

const char *tnd_feature_kind_name(tnd_feature_kind_t kind)
{
    static const char *const names[] = {"nothing", "bytes", "f32", "i64"};
    return names[kind];
}
