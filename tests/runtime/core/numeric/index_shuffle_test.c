/*  Covers runtime/core/numeric/index_shuffle.h: the values of TensorFlow itself
 *  (tests/oracle/index_shuffle.txt), its known gap included. */
#include "runtime/core/numeric/index_shuffle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

Test(index_shuffle, ten_indices_under_the_published_key)
{
    const uint64_t expected[] = {6, 9, 4, 1, 3, 2, 0, 5, 7, 8};
    tnd_index_shuffle_t shuffle;

    tnd_index_shuffle_init(&shuffle, (const uint32_t[]){1, 2, 3}, 10, 8);

    for (uint64_t i = 0; i < 10; i++)
        cr_assert_eq(tnd_index_shuffle_at(&shuffle, i), expected[i]);
}

/*  Reads the head of a line up to its values; returns where they begin. */
static char *read_head(char *line, tnd_index_shuffle_t *shuffle, unsigned long *first)
{
    uint32_t key[3];
    unsigned long count, seed, seed2, epoch;
    unsigned rounds, reshuffle;
    int api[2], used = 0;
    *first = 0;
    if (sscanf(line, "raw %u %u %u %lu %u %lu :%n", &key[0], &key[1], &key[2], &count, &rounds,
               first, &used) == 6) {
        tnd_index_shuffle_init(shuffle, key, count, rounds);
    } else if (sscanf(line, "api %d %d %lu %lu :%n", &api[0], &api[1], &count, first, &used) == 4) {
        /* The key that the public function makes of its seed. */
        const uint32_t public_key[] = {498247692, (uint32_t)api[0], (uint32_t)api[1]};
        tnd_index_shuffle_init(shuffle, public_key, count, TND_INDEX_SHUFFLE_API_ROUNDS);
    } else if (sscanf(line, "data %lu %lu %u %lu %lu :%n", &seed, &seed2, &reshuffle, &epoch,
                      &count, &used) == 5) {
        tnd_index_shuffle_data_key(seed, seed2, reshuffle, epoch, key);
        tnd_index_shuffle_init(shuffle, key, count, TND_INDEX_SHUFFLE_DATA_ROUNDS);
    }
    cr_assert_gt(used, 0, "%s", line);
    return line + used;
}

Test(index_shuffle, tensorflow_gives_the_same_values)
{
    FILE *file = fopen("tests/oracle/index_shuffle.txt", "r");
    cr_assert_not_null(file);
    static char line[8192];
    unsigned compared = 0;

    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        tnd_index_shuffle_t shuffle;
        unsigned long index;
        char *at = read_head(line, &shuffle, &index);
        for (; *at == ' '; index++, compared++)
            cr_assert_eq(tnd_index_shuffle_at(&shuffle, index), strtoull(at, &at, 10),
                         "index %lu of %s", index, line);
    }
    fclose(file);
    cr_assert_gt(compared, 1500);
}

Test(index_shuffle, it_is_a_bijection_except_for_one_more_than_a_power_of_four)
{
    const struct {
        uint64_t count, missing;
    } cases[] = {{1, 0}, {2, 0}, {1000, 0}, {65536, 0}, {65537, 1}, {65538, 0}, {131073, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char *seen = calloc(cases[i].count, 1);
        tnd_index_shuffle_t shuffle;
        tnd_index_shuffle_init(&shuffle, (const uint32_t[]){5, 6, 7}, cases[i].count, 8);
        uint64_t different = 0;
        for (uint64_t index = 0; index < cases[i].count; index++) {
            uint64_t value = tnd_index_shuffle_at(&shuffle, index);
            cr_assert_lt(value, cases[i].count);
            different += !seen[value];
            seen[value] = 1;
        }
        free(seen);
        cr_assert_eq(cases[i].count - different, cases[i].missing, "count %lu", cases[i].count);
    }
}
