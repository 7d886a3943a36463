/*  Covers runtime/timing/histogram.h: quantiles are at most an eighth too large, and the difference
 *  of two copies is what came between them. */
#include "runtime/timing/histogram.h"

#include <string.h>

#include <criterion/criterion.h>

static tnd_histogram_t histogram;

Test(histogram, of_nothing_is_nothing)
{
    cr_assert_eq(tnd_histogram_count(&histogram), 0);
    cr_assert_eq(tnd_histogram_quantile(&histogram, 0.99), 0);
}

Test(histogram, a_quantile_is_an_eighth_too_large_at_most)
{
    for (uint64_t ns = 1024; ns < UINT64_C(900000000000); ns = ns * 17 / 16) {
        memset(&histogram, 0, sizeof histogram);
        tnd_histogram_add(&histogram, ns);
        tnd_histogram_add(&histogram, UINT64_C(1000000000000));
        uint64_t found = tnd_histogram_quantile(&histogram, 0.5);
        cr_assert(found > ns && found <= ns + ns / 8 + 1, "%llu of %llu", (unsigned long long)found,
                  (unsigned long long)ns);
    }
}

Test(histogram, a_quantile_is_never_longer_than_the_longest)
{
    tnd_histogram_add(&histogram, 5);
    cr_assert_eq(tnd_histogram_quantile(&histogram, 0.5), 5);
    tnd_histogram_add(&histogram, 10000);
    cr_assert_eq(tnd_histogram_quantile(&histogram, 1), 10000);
}

Test(histogram, classes_follow_one_another_without_a_gap)
{
    for (unsigned c = 0; c + 1 < TND_HISTOGRAM_CLASSES; c++) {
        uint64_t end = tnd_histogram_end(c);
        cr_assert_eq(tnd_histogram_class(end - 1), c);
        cr_assert_eq(tnd_histogram_class(end), c + 1);
    }
}

Test(histogram, extremes_have_a_class)
{
    tnd_histogram_add(&histogram, 0);
    tnd_histogram_add(&histogram, UINT64_MAX);
    cr_assert_eq(tnd_histogram_count(&histogram), 2);
    cr_assert_eq(tnd_histogram_quantile(&histogram, 1), UINT64_MAX);
}
