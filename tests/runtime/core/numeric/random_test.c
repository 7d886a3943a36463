/*  Covers runtime/core/numeric/random.h: Philox by the known answers of its authors (Random123,
 * kat_vectors) and of TensorFlow, the draws by their distribution and by what they may depend on.
 */
#include "runtime/core/numeric/random.h"
#include "runtime/core/numeric/vector_paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

Test(random, a_draw_is_a_function_of_its_purpose)
{
    tnd_random_t first, again;
    tnd_random_init(&first, 7, 2, 1000, 3);
    tnd_random_init(&again, 7, 2, 1000, 3);

    for (int i = 0; i < 100; i++) {
        float value = tnd_random_f32(&first);
        cr_assert(value >= 0 && value < 1);
        cr_assert_eq(value, tnd_random_f32(&again));
    }
}

Test(random, philox_gives_the_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } answers[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        uint32_t words[4];
        tnd_philox(answers[i].counter, answers[i].key, words);
        cr_assert_arr_eq(words, answers[i].words, sizeof words, "answer %zu", i);
    }
}

Test(random, a_run_of_blocks_is_its_blocks_on_every_path)
{
    static const uint64_t firsts[] = {0, 1, 63, 0xfffffff8, UINT64_C(0xfffffffffffffff8)};
    static const uint32_t ends[][2] = {{0, 0}, {0x13198a2e, 0x03707344}, {~0u, ~0u}};
    for (size_t path = 0; path < tnd_vector_paths(); path++)
        for (size_t i = 0; i < 5 * 3; i++) {
            uint64_t first = firsts[i % 5];
            const uint32_t *end = ends[i / 5], key[2] = {end[0] ^ 0xa4093822, end[1]};
            uint32_t run[TND_PHILOX_RUN];
            tnd_philox_run_paths()[path](first, end, key, run);
            for (uint64_t block = 0; block < TND_PHILOX_RUN / 4; block++) {
                uint64_t at = first + block;
                const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), end[0], end[1]};
                uint32_t words[4];
                tnd_philox(counter, key, words);
                cr_assert_arr_eq(run + 4 * block, words, sizeof words, "path %zu, case %zu", path,
                                 i);
            }
        }
}

/*  What TensorFlow makes of the two numbers of a seed. */
static void key_of(const int seed[2], uint32_t words[4])
{
    static const uint32_t key[2] = {0x3ec8f720, 0x02461e29};
    uint32_t counter[4];
    for (int i = 0; i < 2; i++) {
        uint64_t wide = (uint64_t)(int64_t)seed[i];
        counter[2 * i] = (uint32_t)wide;
        counter[2 * i + 1] = (uint32_t)(wide >> 32);
    }
    tnd_philox(counter, key, words);
}

static uint64_t pair(const uint32_t words[2])
{
    return words[0] | (uint64_t)words[1] << 32;
}

Test(random, tensorflow_draws_the_same_words)
{
    FILE *file = fopen("tests/oracle/random.txt", "r");
    cr_assert_not_null(file);
    static char line[4096];
    unsigned compared = 0;
    while (fgets(line, sizeof line, file)) {
        char kind[8];
        int seed[2], used = 0;
        uint32_t mixed[4], words[4];
        if (strchr("#cf", line[0]) != NULL) /* crop and flip: below */
            continue;
        cr_assert_eq(sscanf(line, "%7s %d %d :%n", kind, &seed[0], &seed[1], &used), 3, "%s", line);
        key_of(seed, mixed);
        bool is_key = strcmp(kind, "key") == 0, is_wide = strcmp(kind, "wide") == 0;
        uint32_t counter[4] = {0, 0, mixed[2], mixed[3]};
        char *at = line + used;
        for (uint32_t drawn = 0; *at == ' '; drawn++, compared++) {
            uint64_t wanted = strtoull(at, &at, 10), got;
            uint32_t place = is_wide ? 2 * drawn : drawn;
            counter[0] = place / 4;
            if (place % 4 == 0)
                tnd_philox(counter, mixed, words);
            got = is_key    ? pair(mixed + 2 * drawn)
                  : is_wide ? pair(words + place % 4)
                            : words[place % 4];
            cr_assert_eq(got, wanted, "number %u of %s", drawn, line);
        }
    }
    fclose(file);
    cr_assert_gt(compared, 200);
}

/*  The first words that TensorFlow draws for the seed of a line. */
static void words_of(const int seed[2], uint32_t words[4])
{
    uint32_t mixed[4];
    key_of(seed, mixed);
    tnd_philox((uint32_t[]){0, 0, mixed[2], mixed[3]}, mixed, words);
}

Test(random, tensorflow_flips_and_crops_alike)
{
    FILE *file = fopen("tests/oracle/random.txt", "r");
    cr_assert_not_null(file);
    static char line[4096];
    unsigned flips = 0, crops = 0;
    while (fgets(line, sizeof line, file)) {
        int seed[2];
        unsigned places[3];
        uint32_t words[4];
        char *at = line + strcspn(line, ":") + 1;
        if (sscanf(line, "flip %d %d", &seed[0], &seed[1]) == 2) {
            words_of(seed, words);
            cr_assert_eq(tnd_random_scale(words[0], 0, 1) < 0.5f, strtoul(at, NULL, 10), "%s",
                         line);
            flips++;
        } else if (sscanf(line, "crop %d %d %u %u %u", &seed[0], &seed[1], &places[0], &places[1],
                          &places[2]) == 5) {
            words_of(seed, words);
            for (uint32_t axis = 0; axis < 3; axis++)
                cr_assert_eq(tnd_random_place(words[axis], places[axis]), strtoul(at, &at, 10),
                             "axis %u of %s", axis, line);
            crops++;
        }
    }
    fclose(file);
    cr_assert_eq(flips, 16u);
    cr_assert_eq(crops, 8u);
}

Test(random, every_part_of_the_name_matters)
{
    static const uint64_t names[][4] = {{7, 2, 1000, 3},
                                        {8, 2, 1000, 3},
                                        {7, 3, 1000, 3},
                                        {7, 2, 1001, 3},
                                        {7, 2, 1000, 4},
                                        {7 + (1ull << 32), 2, 1000, 3},
                                        {7, 2 + (1ull << 32), 1000, 3},
                                        {7, 2, 1000 + (1ull << 32), 3}};
    enum { COUNT = sizeof names / sizeof names[0] };
    uint64_t draws[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        tnd_random_t random;
        tnd_random_init(&random, names[i][0], names[i][1], names[i][2], (uint32_t)names[i][3]);
        draws[i] = tnd_random_u64(&random);
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(draws[i], draws[j], "%zu and %zu", i, j);
    }
}

Test(random, a_word_is_handed_out_once_whatever_is_drawn)
{
    tnd_random_t words, wide;
    tnd_random_init(&words, 1, 2, 3, 4);
    tnd_random_init(&wide, 1, 2, 3, 4);
    uint32_t w[64];
    for (int i = 0; i < 64; i++)
        w[i] = tnd_random_u32(&words);

    cr_assert_eq(tnd_random_u32(&wide), w[0]);
    for (int i = 1; i + 1 < 64; i += 2)
        cr_assert_eq(tnd_random_u64(&wide), w[i] | (uint64_t)w[i + 1] << 32);
}

Test(random, uniform_floats_fill_the_interval_evenly)
{
    enum { DRAWS = 200000, BINS = 100 };
    unsigned bins[BINS] = {0}, bins64[BINS] = {0};
    for (unsigned i = 0; i < DRAWS; i++) {
        tnd_random_t random;
        tnd_random_init(&random, 42, 0, i, 0);
        float narrow = tnd_random_f32(&random);
        double wide = tnd_random_f64(&random);
        cr_assert(narrow >= 0 && narrow < 1 && wide >= 0 && wide < 1);
        bins[(int)(narrow * BINS)]++;
        bins64[(int)(wide * BINS)]++;
    }
    double chi = 0, chi64 = 0, even = (double)DRAWS / BINS;
    for (int i = 0; i < BINS; i++) {
        chi += (bins[i] - even) * (bins[i] - even) / even;
        chi64 += (bins64[i] - even) * (bins64[i] - even) / even;
    }
    /* 99 degrees of freedom: 99 +- 14; beyond 6 sigma nothing but a fault is left. */
    cr_assert(fabs(chi - 99) < 84 && fabs(chi64 - 99) < 84, "chi^2 %g and %g", chi, chi64);
}

Test(random, below_reaches_every_value_and_no_other)
{
    tnd_random_t random;
    tnd_random_init(&random, 5, 0, 0, 0);
    unsigned seen[7] = {0};
    for (int i = 0; i < 7000; i++) {
        uint64_t value = tnd_random_below(&random, 7);
        cr_assert_lt(value, 7);
        seen[value]++;
    }
    for (int i = 0; i < 7; i++)
        cr_assert(seen[i] > 800 && seen[i] < 1200, "%d came %u times of 7000", i, seen[i]);
    cr_assert_eq(tnd_random_below(&random, 1), 0);
    for (int i = 0; i < 100; i++)
        cr_assert_lt(tnd_random_below(&random, (1ull << 63) + 1), (1ull << 63) + 1);
}
