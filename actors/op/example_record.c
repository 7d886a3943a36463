/*  actors/op/example_record.c - the shortest tf.Example or tf.SequenceExample that has some features. */
#include "actors/op/example_record.h"

#include <string.h>

/*  A tag of one byte and the length of what follows. */
enum { HEAD_MAX = 11 };

/*  Bytes of a message, which grow in memory of a room. */
typedef struct {
    uint8_t *data;
    size_t size;
} message_t;

/*  Adds a field of bytes to a message with enough room. */
static void put(message_t *self, uint32_t field, const void *bytes, size_t size)
{
    self->data[self->size++] = (uint8_t)TND_PROTOBUF_TAG(field, TND_WIRE_BYTES);
    size_t left = size;
    for (; left >= 0x80; left >>= 7)
        self->data[self->size++] = (uint8_t)(left | 0x80);
    self->data[self->size++] = (uint8_t)left;
    if (size > 0)
        memcpy(self->data + self->size, bytes, size);
    self->size += size;
}

static message_t message_of(tnd_room_t *room, size_t most)
{
    return (message_t){.data = tnd_room_take(room, most + HEAD_MAX, 1)};
}

static message_t wrap(tnd_room_t *room, uint32_t field, const message_t *inner)
{
    message_t made = message_of(room, inner->size);
    put(&made, field, inner->data, inner->size);
    return made;
}

/*  A Feature of `count` values; the fields of its kinds have their numbers. */
static message_t write_feature(tnd_room_t *room, tnd_feature_kind_t kind, uint64_t count)
{
    size_t bytes = kind == TND_FEATURE_INTS ? count : count * sizeof(float);
    message_t list = message_of(room, bytes + 2 * count);
    if (kind == TND_FEATURE_BYTES) {
        for (uint64_t i = 0; i < count; i++)
            put(&list, 1, NULL, 0);
    } else {
        uint8_t *zeros = tnd_room_take(room, bytes + 1, 1);
        memset(zeros, 0, bytes);
        put(&list, 1, zeros, bytes);
    }
    return wrap(room, (uint32_t)kind, &list);
}

/*  Adds an entry of a map to *map. */
static void put_entry(message_t *map, const tnd_features_t *plan, uint32_t slot,
                      const message_t *value, tnd_room_t *room)
{
    const tnd_feature_slot_t *key = &plan->slots[slot];
    message_t entry = message_of(room, key->size + value->size + HEAD_MAX);
    put(&entry, 1, key->key, key->size);
    put(&entry, 2, value->data, value->size);
    message_t whole = message_of(room, map->size + entry.size);
    if (map->size > 0)
        memcpy(whole.data, map->data, map->size);
    whole.size = map->size;
    put(&whole, 1, entry.data, entry.size);
    *map = whole;
}

static message_t write_map(const tnd_features_t *plan, tnd_room_t *room)
{
    message_t map = {0};
    for (uint32_t i = 0; i < plan->count; i++) {
        const tnd_feature_t *of = &plan->features[i];
        message_t value = write_feature(room, of->kind, of->elements > 0 ? of->elements : 1);
        if (of->shape == TND_SHAPE_FRAMES)
            value = wrap(room, 1, &value);
        put_entry(&map, plan, of->slot, &value, room);
        if (of->shape != TND_SHAPE_SPARSE)
            continue;
        message_t index = write_feature(room, TND_FEATURE_INTS, 1);
        put_entry(&map, plan, of->indices, &index, room);
    }
    return map;
}

tnd_ragged_t tnd_example_record(const tnd_features_t *features, const tnd_features_t *frames,
                                tnd_room_t *room)
{
    message_t map = write_map(features, room), lists = write_map(frames, room);
    message_t made = message_of(room, map.size + lists.size + HEAD_MAX);
    put(&made, 1, map.data, map.size);
    if (lists.size > 0)
        put(&made, 2, lists.data, lists.size);
    return (tnd_ragged_t){made.data, made.size};
}
