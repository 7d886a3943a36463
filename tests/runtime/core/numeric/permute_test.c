/*  Covers runtime/core/numeric/permute.h: a bijection for every count (exhaustively where that is
 *  cheap, by the inverse where not), the same samples as the Python statement of it
 *  (tests/oracle/permute.txt), and shuffles that look like drawn by chance. */
#include "runtime/core/numeric/permute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static void assert_bijection(uint64_t count, uint64_t seed, uint64_t epoch)
{
    unsigned char *seen = calloc(count, 1);
    tnd_permute_t permute;
    tnd_permute_init(&permute, count, seed, epoch);
    for (uint64_t position = 0; position < count; position++) {
        uint64_t sample = tnd_permute_at(&permute, position);
        cr_assert_lt(sample, count);
        cr_assert_eq(seen[sample]++, 0, "%lu comes twice of %lu", sample, count);
        cr_assert_eq(tnd_permute_inverse(&permute, sample), position);
    }
    free(seen);
}

Test(permute, every_sample_of_an_epoch_comes_exactly_once)
{
    assert_bijection(60000, 7, 0);
}

Test(permute, it_is_a_bijection_for_every_count)
{
    const uint64_t counts[] = {65535, 65536, 65537, 70000, 262145};
    for (uint64_t count = 1; count <= 600; count++)
        assert_bijection(count, count, 3);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_bijection(counts[i], 11, i);
}

static void fill_range(const tnd_permute_t *permute, uint64_t first, uint64_t step, size_t count,
                       uint64_t *samples)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = first + i * step;
    tnd_permute_many(permute, samples, count);
}

/*  Where the rectangle of cells is larger than the count, some samples need a walk or two more. */
Test(permute, ranges_walk_the_cycle_as_often_as_it_takes)
{
    uint64_t samples[600];
    for (uint64_t count = 1; count <= 600; count++)
        for (uint64_t epoch = 0; epoch < 8; epoch++) {
            tnd_permute_t permute;
            tnd_permute_init(&permute, count, 3, epoch);
            fill_range(&permute, 0, 1, count, samples);
            for (uint64_t k = 0; k < count; k++)
                cr_assert_eq(samples[k], tnd_permute_at(&permute, k), "%lu of %lu in epoch %lu", k,
                             count, epoch);
        }
}

Test(permute, counts_that_fit_no_table_are_inverted)
{
    const uint64_t counts[] = {(1ull << 33) + 1, (1ull << 33) - 1, 1ull << 52, (1ull << 62) + 1,
                               INT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        tnd_permute_t permute;
        tnd_permute_init(&permute, counts[i], 5, 1);
        for (uint64_t k = 0; k < 20000; k++) {
            uint64_t value = k < 5 ? counts[i] - 1 - k : k * 0x9e3779b97f4a7c15ull % counts[i];
            uint64_t sample = tnd_permute_at(&permute, value);
            cr_assert_lt(sample, counts[i]);
            cr_assert_eq(tnd_permute_inverse(&permute, sample), value);
            cr_assert_eq(tnd_permute_at(&permute, tnd_permute_inverse(&permute, value)), value);
        }
    }
}

Test(permute, a_range_holds_what_single_calls_give)
{
    const uint64_t counts[] = {1, 2, 7, 100, 65537, (1ull << 33) + 1};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        tnd_permute_t permute;
        tnd_permute_init(&permute, counts[i], 9, i);
        uint64_t most = counts[i] < 70 ? counts[i] : 70;
        for (uint64_t count = 0; count <= most; count++) {
            uint64_t samples[70], first = counts[i] - count;
            fill_range(&permute, first, 1, count, samples);
            for (uint64_t k = 0; k < count; k++)
                cr_assert_eq(samples[k], tnd_permute_at(&permute, first + k));
        }
        uint64_t samples[70], first = counts[i] % 3, third = counts[i] / 3;
        third = third < 70 ? third : 70;
        fill_range(&permute, first, 3, third, samples);
        for (uint64_t k = 0; k < third; k++)
            cr_assert_eq(samples[k], tnd_permute_at(&permute, first + 3 * k));
    }
}

Test(permute, python_finds_the_same_samples)
{
    FILE *file = fopen("tests/oracle/permute.txt", "r");
    cr_assert_not_null(file);
    char line[2048];
    unsigned compared = 0;

    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        char *at = line;
        uint64_t count = strtoull(at, &at, 10);
        uint64_t seed = strtoull(at, &at, 10);
        uint64_t epoch = strtoull(at, &at, 10);
        uint64_t position = strtoull(at, &at, 10);
        tnd_permute_t permute;
        tnd_permute_init(&permute, count, seed, epoch);
        for (; *at == ' '; position++, compared++)
            cr_assert_eq(tnd_permute_at(&permute, position), strtoull(at, &at, 10),
                         "position %lu of %s", position, line);
    }
    fclose(file);
    cr_assert_gt(compared, 250);
}

Test(permute, epochs_and_seeds_give_other_orders)
{
    tnd_permute_t a, b, c;
    tnd_permute_init(&a, 1000, 7, 0);
    tnd_permute_init(&b, 1000, 7, 1);
    tnd_permute_init(&c, 1000, 8, 0);
    unsigned ab = 0, ac = 0, bc = 0, fixed = 0;
    for (uint64_t p = 0; p < 1000; p++) {
        ab += tnd_permute_at(&a, p) == tnd_permute_at(&b, p);
        ac += tnd_permute_at(&a, p) == tnd_permute_at(&c, p);
        bc += tnd_permute_at(&b, p) == tnd_permute_at(&c, p);
        fixed += tnd_permute_at(&a, p) == p;
    }
    /* Independent shuffles agree in one place in the mean. */
    cr_assert(ab < 9 && ac < 9 && bc < 9 && fixed < 9, "%u %u %u %u", ab, ac, bc, fixed);
}

/*  How far `counts` are from being even, in standard deviations of chi^2. */
static double unevenness(const unsigned *counts, size_t bins, double expected, double freedom)
{
    double chi = 0;
    for (size_t i = 0; i < bins; i++)
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    return (chi - freedom) / sqrt(2 * freedom);
}

Test(permute, every_order_of_a_few_samples_comes_equally_often)
{
    for (uint64_t count = 2; count <= 6; count++) {
        unsigned orders = 1;
        for (uint64_t i = 2; i <= count; i++)
            orders *= (unsigned)i;
        unsigned *seen = calloc(orders, sizeof *seen);
        for (uint64_t seed = 0; seed < 100 * orders; seed++) {
            tnd_permute_t permute;
            tnd_permute_init(&permute, count, seed, 0);
            uint64_t samples[6];
            fill_range(&permute, 0, 1, count, samples);
            unsigned order = 0;
            for (uint64_t i = 0; i < count; i++) {
                unsigned smaller_after = 0;
                for (uint64_t j = i + 1; j < count; j++)
                    smaller_after += samples[j] < samples[i];
                order = order * (unsigned)(count - i) + smaller_after;
            }
            seen[order]++;
        }
        double z = unevenness(seen, orders, 100, orders - 1);
        free(seen);
        cr_assert_lt(z, 6, "orders of %lu: %g sigma", count, z);
    }
}

Test(permute, neighbours_in_an_epoch_come_from_anywhere)
{
    enum { COUNT = 200003, SIDE = 32 };
    static unsigned pairs[SIDE * SIDE];
    tnd_permute_t permute;
    tnd_permute_init(&permute, COUNT, 7, 1);
    uint64_t before = tnd_permute_at(&permute, 0);
    for (uint64_t p = 1; p < COUNT; p++) {
        uint64_t sample = tnd_permute_at(&permute, p);
        pairs[before * SIDE / COUNT * SIDE + sample * SIDE / COUNT]++;
        before = sample;
    }
    double z = unevenness(pairs, SIDE * SIDE, (COUNT - 1.0) / (SIDE * SIDE), SIDE * SIDE - 1);
    cr_assert(fabs(z) < 6, "%g sigma", z);
}
