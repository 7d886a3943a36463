/*  tools/inspect/example_keys.c - walks over tf.Example messages at wire level. */
#include "tools/inspect/example_keys.h"

#include <limits.h>
#include <string.h>

#include "actors/example/protobuf.h"
#include "runtime/base/bounds.h"

/*  One value of a message. */
typedef struct {
    uint64_t field;
    unsigned type;
    tnd_protobuf_t bytes; /* of TND_WIRE_BYTES */
} item_t;

/*  The next field; false at the end of the span and at an error, which leaves bytes in the span. */
static bool next(tnd_protobuf_t *span, item_t *item)
{
    const uint8_t *begin = span->at;
    uint64_t tag = 0, value;
    bool known = span->at < span->end && tnd_protobuf_varint(span, &tag);
    *item = (item_t){.field = tag >> 3, .type = tag & 7};
    switch (known ? item->type : UINT_MAX) {
    case TND_WIRE_VARINT:
        if (tnd_protobuf_varint(span, &value))
            return true;
        break;
    case TND_WIRE_BYTES:
        if (tnd_protobuf_bytes(span, &item->bytes))
            return true;
        break;
    case TND_WIRE_FIXED32:
        if (tnd_protobuf_left(span) >= 4) {
            span->at += 4;
            return true;
        }
        break;
    default:
        break;
    }
    span->at = begin;
    return false;
}

static bool is_done(const tnd_protobuf_t *span)
{
    return span->at == span->end;
}

/*  What a Feature holds. */
typedef struct {
    tnd_example_type_t type;
    uint64_t values, bytes_min, bytes_max;
    bool mixed;                    /* of a list: its features have several types */
    uint64_t steps_min, steps_max; /* of a list: values of one of its features */
    tnd_protobuf_t last;           /* of its texts */
} feature_t;

/*  A list of numbers: packed ones, or one each. */
static bool walk_numbers(tnd_protobuf_t list, tnd_example_type_t type, uint64_t *values_p)
{
    unsigned alone = type == TND_EXAMPLE_FLOAT ? TND_WIRE_FIXED32 : TND_WIRE_VARINT;
    item_t item;
    while (next(&list, &item)) {
        uint64_t value;
        if (item.field != 1 || (item.type != TND_WIRE_BYTES && item.type != alone))
            return false;
        if (item.type == alone)
            ++*values_p;
        else if (alone == TND_WIRE_FIXED32)
            *values_p += (uint64_t)(item.bytes.end - item.bytes.at) / 4;
        else
            while (!is_done(&item.bytes)) {
                if (!tnd_protobuf_varint(&item.bytes, &value))
                    return false;
                ++*values_p;
            }
        if (item.type == TND_WIRE_BYTES && alone == TND_WIRE_FIXED32 &&
            (item.bytes.end - item.bytes.at) % 4 != 0)
            return false;
    }
    return is_done(&list);
}

static bool walk_bytes(tnd_protobuf_t list, feature_t *feature)
{
    item_t item;
    while (next(&list, &item)) {
        if (item.field != 1 || item.type != TND_WIRE_BYTES)
            return false;
        uint64_t size = (uint64_t)(item.bytes.end - item.bytes.at);
        feature->bytes_min = feature->values == 0 ? size : tnd_least(feature->bytes_min, size);
        feature->bytes_max = tnd_most(feature->bytes_max, size);
        feature->last = item.bytes;
        feature->values++;
    }
    return is_done(&list);
}

/*  Of several kinds TensorFlow takes the first. */
static bool walk_feature(tnd_protobuf_t message, feature_t *feature)
{
    item_t item;
    *feature = (feature_t){.type = TND_EXAMPLE_NONE};
    while (next(&message, &item)) {
        feature_t one = {.type = (tnd_example_type_t)item.field};
        if (item.field < TND_EXAMPLE_BYTES || item.field > TND_EXAMPLE_INT64 ||
            item.type != TND_WIRE_BYTES)
            return false;
        if (item.field == TND_EXAMPLE_BYTES ? !walk_bytes(item.bytes, &one)
                                            : !walk_numbers(item.bytes, one.type, &one.values))
            return false;
        if (feature->type == TND_EXAMPLE_NONE)
            *feature = one;
    }
    return is_done(&message);
}

static bool walk_feature_list(tnd_protobuf_t message, feature_t *all)
{
    item_t item;
    uint64_t features = 0;
    *all = (feature_t){.type = TND_EXAMPLE_NONE};
    while (next(&message, &item)) {
        feature_t one;
        if (item.field != 1 || item.type != TND_WIRE_BYTES || !walk_feature(item.bytes, &one))
            return false;
        if (one.values > 0) {
            all->bytes_min =
                all->values == 0 ? one.bytes_min : tnd_least(all->bytes_min, one.bytes_min);
            all->bytes_max = tnd_most(all->bytes_max, one.bytes_max);
            all->values += one.values;
        }
        all->mixed = all->mixed || (features > 0 && all->type != one.type);
        all->type = all->type == TND_EXAMPLE_NONE ? one.type : all->type;
        all->steps_min = features == 0 ? one.values : tnd_least(all->steps_min, one.values);
        all->steps_max = tnd_most(all->steps_max, one.values);
        features++;
    }
    all->values = features;
    return is_done(&message);
}

static tnd_example_key_t *find_key(tnd_example_keys_t *keys, tnd_protobuf_t name, bool list)
{
    char text[TND_EXAMPLE_NAME_MAX + 1] = "";
    size_t size = (size_t)(name.end - name.at);
    size = size < TND_EXAMPLE_NAME_MAX ? size : TND_EXAMPLE_NAME_MAX;
    for (size_t i = 0; i < size; i++)
        text[i] = name.at[i] < ' ' || name.at[i] == 0x7f ? '?' : (char)name.at[i];
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->keys[i].list == list && strcmp(keys->keys[i].name, text) == 0)
            return &keys->keys[i];
    if (keys->count == TND_EXAMPLE_KEYS_MAX) {
        keys->more = true;
        return NULL;
    }
    tnd_example_key_t *key = &keys->keys[keys->count++];
    *key = (tnd_example_key_t){.list = list};
    memcpy(key->name, text, sizeof text);
    return key;
}

/*  Widens the ranges of a key by those of a feature that has a type. */
static void widen(tnd_example_key_t *key, const feature_t *feature)
{
    bool first = key->type == TND_EXAMPLE_NONE;
    key->values_min = first ? feature->values : tnd_least(key->values_min, feature->values);
    key->steps_min = first ? feature->steps_min : tnd_least(key->steps_min, feature->steps_min);
    key->steps_max = tnd_most(key->steps_max, feature->steps_max);
    key->mixed = key->mixed || feature->mixed || (!first && key->type != feature->type);
    if (feature->type == TND_EXAMPLE_BYTES && feature->values > 0) {
        key->bytes_min = key->bytes_max == 0 ? feature->bytes_min
                                             : tnd_least(key->bytes_min, feature->bytes_min);
        key->bytes_max = tnd_most(key->bytes_max, feature->bytes_max);
    }
    if (feature->type == TND_EXAMPLE_BYTES && feature->values == 1 && !key->list)
        tnd_sample_kind_take(&key->kind, feature->last.at,
                             (size_t)(feature->last.end - feature->last.at));
    key->type = feature->type;
}

static void note(tnd_example_keys_t *keys, tnd_protobuf_t name, bool list, const feature_t *feature)
{
    tnd_example_key_t *key = find_key(keys, name, list);
    if (key == NULL)
        return;
    key->records += key->message != keys->records;
    key->message = keys->records;
    key->values_max = tnd_most(key->values_max, feature->values);
    if (feature->type == TND_EXAMPLE_NONE)
        key->empty++;
    else
        widen(key, feature);
}

/*  `keys` NULL: only whether it is an example is asked for.
 *
 *  An entry of a map: the key and the value, both once, in either order. */
static bool walk_entry(tnd_example_keys_t *keys, tnd_protobuf_t entry, bool list)
{
    item_t item;
    tnd_protobuf_t name = {0}, value = {0};
    bool has_name = false, has_value = false;
    while (next(&entry, &item)) {
        bool *has = item.field == 1 ? &has_name : &has_value;
        if (item.type != TND_WIRE_BYTES || item.field < 1 || item.field > 2 || *has)
            return false;
        *(item.field == 1 ? &name : &value) = item.bytes;
        *has = true;
    }
    feature_t feature;
    if (!is_done(&entry) || !has_name || !has_value)
        return false;
    if (list ? !walk_feature_list(value, &feature) : !walk_feature(value, &feature))
        return false;
    if (keys != NULL)
        note(keys, name, list, &feature);
    return true;
}

static bool walk_map(tnd_example_keys_t *keys, tnd_protobuf_t map, bool list)
{
    item_t item;
    while (next(&map, &item))
        if (item.field != 1 || item.type != TND_WIRE_BYTES || !walk_entry(keys, item.bytes, list))
            return false;
    return is_done(&map);
}

/*  Field 1 has the features, field 2 those of a SequenceExample that are lists. */
static bool walk_example(tnd_example_keys_t *keys, const uint8_t *data, size_t size)
{
    tnd_protobuf_t message = {data, data + size};
    item_t item;
    while (next(&message, &item)) {
        if (item.type != TND_WIRE_BYTES || item.field < 1 || item.field > 2 ||
            !walk_map(keys, item.bytes, item.field == 2))
            return false;
        if (keys != NULL && item.field == 2)
            keys->sequence = true;
    }
    return is_done(&message);
}

bool tnd_example_keys_add(tnd_example_keys_t *self, const uint8_t *data, size_t size)
{
    self->records++;
    if (!walk_example(NULL, data, size))
        return false;
    self->examples++;
    return walk_example(self, data, size);
}

const char *tnd_example_type_name(tnd_example_type_t type)
{
    static const char *const names[] = {"none", "bytes", "float", "int64"};
    return names[type];
}
