/*  Covers runtime/core/lane/latency.h. */
#include "runtime/core/lane/latency.h"

#include <criterion/criterion.h>

Test(latency, of_nothing_is_nothing)
{
    tnd_latency_t latency = {0};
    cr_assert_eq(tnd_latency_quantile(&latency, 99), 0);
}

Test(latency, a_quantile_is_an_eighth_too_much_at_most)
{
    for (uint64_t ns = 70000; ns < UINT64_C(1000000000000); ns = ns * 17 / 16) {
        tnd_latency_t latency = {0};
        for (int i = 0; i < 100; i++)
            tnd_latency_add(&latency, ns);
        uint64_t said = tnd_latency_quantile(&latency, 99);
        cr_assert(said > ns && said <= ns + ns / 8 + 1, "%llu of %llu", (unsigned long long)said,
                  (unsigned long long)ns);
    }
}

Test(latency, one_of_a_hundred_does_not_count_and_two_do)
{
    tnd_latency_t latency = {0};
    for (int i = 0; i < 99; i++)
        tnd_latency_add(&latency, 1000000);
    tnd_latency_add(&latency, 1000000000);
    cr_assert_lt(tnd_latency_quantile(&latency, 99), 1200000);
    tnd_latency_add(&latency, 1000000000);
    cr_assert_geq(tnd_latency_quantile(&latency, 99), 1000000000);
}

Test(latency, what_was_is_forgotten)
{
    tnd_latency_t latency = {0};
    for (int i = 0; i < 100000; i++)
        tnd_latency_add(&latency, 1000000000);
    for (int i = 0; i < 20000; i++)
        tnd_latency_add(&latency, 1000000);
    cr_assert_lt(tnd_latency_quantile(&latency, 99), 1200000);
}

Test(latency, extremes_have_a_place)
{
    tnd_latency_t latency = {0};
    tnd_latency_add(&latency, 0);
    cr_assert_gt(tnd_latency_quantile(&latency, 99), 0);
    tnd_latency_add(&latency, UINT64_MAX);
    cr_assert_gt(tnd_latency_quantile(&latency, 100), UINT64_C(1000000000000));
}
