/*  tests/tools/inspect/size_counts_test.c - quantiles by counting equal those by sorting. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "tools/inspect/size_counts.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

Test(size_counts, have_the_quantiles_of_a_sorted_list)
{
    enum { MOST = 5000 };
    static uint64_t sizes[MOST];
    for (unsigned count = 1; count <= MOST; count = count * 3 + 1) {
        tnd_size_counts_t counts = {0};
        uint64_t state = count, sum = 0;
        for (unsigned i = 0; i < count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            /* Many equal ones, and some of any size. */
            sizes[i] = state >> 62 == 0 ? state >> 20 : state >> 57;
            tnd_size_counts_add(&counts, sizes[i]);
            sum += sizes[i];
        }
        qsort(sizes, count, sizeof sizes[0], compare);
        cr_expect(counts.min == sizes[0] && counts.max == sizes[count - 1] && counts.sum == sum);
        for (unsigned percent = 1; percent <= 100; percent++) {
            uint64_t rank = ((uint64_t)count * percent + 99) / 100;
            cr_expect(tnd_size_counts_quantile(&counts, percent) == sizes[rank - 1], "%u of %u",
                      percent, count);
        }
        tnd_size_counts_free(&counts);
    }
}

Test(size_counts, of_nothing_are_zero)
{
    tnd_size_counts_t counts = {0};
    cr_expect(tnd_size_counts_quantile(&counts, 99) == 0 && counts.count == 0);
    tnd_size_counts_free(&counts);
}
