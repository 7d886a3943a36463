/*  tests/tools/inspect/example_keys_test.c - the keys of tf.Example messages are those that
 *  TensorFlow finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tools/inspect/example_keys.h"

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t size = 0;
    for (unsigned byte; sscanf(text + 2 * size, "%2x", &byte) == 1; size++)
        bytes[size] = (uint8_t)byte;
    return size;
}

static const tnd_example_key_t *find(const tnd_example_keys_t *keys, const char *name)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->keys[i].name, name) == 0)
            return &keys->keys[i];
    return NULL;
}

Test(example_keys, are_those_of_tensorflow)
{
    static char line[1 << 16];
    static uint8_t bytes[1 << 15];
    static tnd_example_keys_t keys;
    FILE *in = fopen("tests/oracle/example.txt", "r");
    unsigned messages = 0;
    cr_assert_not_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        char *at = strchr(line, '|'), name[100], type[16];
        unsigned long long values;
        int used;
        if (line[0] == '#')
            continue;
        memset(&keys, 0, sizeof keys);
        cr_assert(tnd_example_keys_add(&keys, bytes, from_hex(line, bytes)), "%s", line);
        for (at++; sscanf(at, " %99s %15s %llu%n", name, type, &values, &used) == 3; at += used) {
            const tnd_example_key_t *key = find(&keys, name);
            cr_assert_not_null(key, "%s", line);
            cr_expect_str_eq(tnd_example_type_name(key->type), type, "%s", line);
            cr_expect(key->values_max == values, "%llu values: %s",
                      (unsigned long long)key->values_max, line);
            cr_expect(key->records == 1);
        }
        messages++;
    }
    fclose(in);
    cr_assert_geq(messages, 30);
}

Test(example_keys, are_bounded)
{
    static tnd_example_keys_t keys;
    for (unsigned i = 0; i < 2 * TND_EXAMPLE_KEYS_MAX; i++) {
        /* Example {features {feature {key: "kNNNN" value {int64_list {value: 1}}}}} */
        uint8_t message[] = {0x0a, 17,   0x0a, 15,   0x0a, 5,    'k', 0,    0,   0,
                             0,    0x12, 6,    0x1a, 4,    0x0a, 2,   0x01, 0x01};
        char digits[5];
        snprintf(digits, sizeof digits, "%04u", i);
        memcpy(message + 7, digits, 4);
        cr_expect(tnd_example_keys_add(&keys, message, sizeof message));
    }
    cr_expect(keys.count == TND_EXAMPLE_KEYS_MAX && keys.more);
    cr_expect(keys.keys[7].values_min == 2 && keys.keys[7].type == TND_EXAMPLE_INT64);
}

Test(example_keys, are_not_found_in_other_bytes)
{
    static const char *const others[] = {"a line of text", "{\"a\": 1}", "1,2,3", "\x89PNG\r\n",
                                         "\xff\xd8\xff\xe0"};
    static tnd_example_keys_t keys;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect(!tnd_example_keys_add(&keys, (const uint8_t *)others[i], strlen(others[i])), "%s",
                  others[i]);
    cr_expect(keys.count == 0 && keys.examples == 0 && keys.records == 5);
}
