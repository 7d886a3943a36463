/*  Covers tools/faults/step_gaps.h: how long there was no step. */
#include "tools/faults/step_gaps.h"

#include <criterion/criterion.h>

static tnd_step_gaps_t step_gaps;

static void begin(void)
{
    static const uint64_t times[] = {10, 20, 30, 100, 110, 300};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        tnd_step_gaps_add(&step_gaps, times[i]);
}

static void end(void)
{
    tnd_step_gaps_free(&step_gaps);
}

Test(step_gaps, a_gap_counts_from_the_fault_on, .init = begin, .fini = end)
{
    uint64_t gap;
    cr_assert(tnd_step_gaps_gap(&step_gaps, 40, 90, UINT64_MAX, &gap));
    cr_assert_eq(gap, 60);
    cr_assert(tnd_step_gaps_gap(&step_gaps, 15, 90, UINT64_MAX, &gap),
              "the one that began before the end");
    cr_assert_eq(gap, 70);
}

Test(step_gaps, what_begins_after_the_end_does_not_count, .init = begin, .fini = end)
{
    uint64_t gap;
    cr_assert(tnd_step_gaps_gap(&step_gaps, 95, 110, UINT64_MAX, &gap));
    cr_assert_eq(gap, 10);
    cr_assert(tnd_step_gaps_gap(&step_gaps, 95, 111, UINT64_MAX, &gap));
    cr_assert_eq(gap, 190);
}

Test(step_gaps, a_gap_after_the_next_fault_is_not_its_effect, .init = begin, .fini = end)
{
    uint64_t gap;
    cr_assert(tnd_step_gaps_gap(&step_gaps, 95, 1000, 115, &gap));
    cr_assert_eq(gap, 10);
    cr_assert(tnd_step_gaps_gap(&step_gaps, 95, 1000, 250, &gap));
    cr_assert_eq(gap, 140);
}

Test(step_gaps, without_a_later_step_there_is_no_gap, .init = begin, .fini = end)
{
    uint64_t gap;
    cr_assert_not(tnd_step_gaps_gap(&step_gaps, 300, 400, UINT64_MAX, &gap));
    cr_assert_eq(gap, 0);
}

Test(step_gaps, spread_of_1_to_200, .fini = end)
{
    for (uint64_t i = 0; i < 200; i++)
        tnd_step_gaps_add(&step_gaps, 200 - i);
    tnd_spread_t spread = tnd_step_gaps_spread(&step_gaps);
    cr_assert_eq(spread.count, 200);
    cr_assert_eq(spread.half, 100);
    cr_assert_eq(spread.most_of, 198);
    cr_assert_eq(spread.most, 200);
}

Test(step_gaps, spread_of_nothing)
{
    tnd_spread_t spread = tnd_step_gaps_spread(&step_gaps);
    cr_assert_eq(spread.count, 0);
    cr_assert_eq(spread.most, 0);
}
