/*  tests/fuzz/example_fuzz.c - rows of bytes as tf.Example messages, as `tundish inspect` and the
 *  operations `parse_example` and `parse_sequence_example` see them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/example/example.h"
#include "tests/fuzz/fuzz.h"
#include "tools/inspect/example_keys.h"

static void read_feature(const tnd_protobuf_t *feature)
{
    tnd_feature_kind_t kind;
    tnd_protobuf_t list, string;
    uint64_t count, bytes, strings = 0, joined = 0;
    if (!tnd_feature_open(feature, &kind, &list) || !tnd_feature_count(kind, &list, &count, &bytes))
        return;
    assert(count <= tnd_protobuf_left(feature) && bytes <= tnd_protobuf_left(feature));
    void *values = malloc(8 * count + 1); /* exactly what was counted may be written */
    if (values == NULL)
        abort();
    if (kind == TND_FEATURE_INTS)
        tnd_feature_ints(&list, values);
    if (kind == TND_FEATURE_FLOATS)
        tnd_feature_floats(&list, values);
    free(values);
    tnd_protobuf_t left = kind == TND_FEATURE_BYTES ? tnd_feature_strings(&list) : list;
    while (kind == TND_FEATURE_BYTES && tnd_feature_string(&left, &string)) {
        strings++;
        joined += tnd_protobuf_left(&string);
    }
    assert(kind != TND_FEATURE_BYTES || (strings == count && joined == bytes));
}

/*  An entry that begins with the head of its key is the same by both functions, of which `taken` is
 *  about to read it. */
static void take(tnd_example_t *taken, const tnd_example_t *next, const tnd_example_entry_t *entry)
{
    char key[256];
    tnd_protobuf_t value;
    size_t size = tnd_protobuf_left(&entry->key);
    if (size == 0 || size >= sizeof key || memchr(entry->key.at, 0, size) != NULL)
        return;
    memcpy(key, entry->key.at, size);
    key[size] = 0;
    tnd_example_head_t head = tnd_example_head(key);
    if (tnd_example_take(taken, &head, &value))
        assert(value.at == entry->value.at && value.end == entry->value.end &&
               taken->map.at == next->map.at);
    free(head.bytes);
}

static void read_map(uint32_t field, const uint8_t *bytes, size_t size)
{
    tnd_example_t example, before;
    tnd_example_entry_t entry;
    tnd_protobuf_t feature;
    tnd_example_init(&example, field, bytes, size);
    while (before = example, tnd_example_next(&example, &entry) == TND_OK) {
        take(&before, &example, &entry);
        read_feature(&entry.value);
        while (field == 2 && tnd_feature_next(&entry.value, &feature) == TND_OK)
            read_feature(&feature);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static tnd_example_keys_t keys, again;
    memset(&keys, 0, sizeof keys);
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    bool first = tnd_example_keys_add(&keys, copy, size);
    read_map(1, copy, size);
    read_map(2, copy, size);
    again = keys;
    assert(tnd_example_keys_add(&again, copy, size) == first);
    free(copy);
    assert(keys.records == 1 && keys.examples == first && (first || keys.count == 0));
    assert(again.count == keys.count && again.count <= TND_EXAMPLE_KEYS_MAX);
    for (uint32_t i = 0; i < keys.count; i++) {
        const tnd_example_key_t *key = &keys.keys[i];
        assert(key->values_min <= key->values_max && key->bytes_min <= key->bytes_max);
        assert(key->bytes_max <= size && strlen(key->name) <= TND_EXAMPLE_NAME_MAX);
        assert(again.keys[i].records == 2 * key->records);
        assert(*tnd_example_type_name(key->type) != 0);
    }
    return 0;
}
