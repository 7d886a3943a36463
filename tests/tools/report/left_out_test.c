/*  Covers tools/report/run_faults.h: rows that operations leave out, so that no step is whole. */
#include "run_fixture.h"

TestSuite(left_out, .init = begin);

/*  prep.0 has worked on 3 of 4 blocks of 100 rows each, and handed on so many rows. */
static void hands_on(uint64_t rows)
{
    pages[PREP].blocks_in = 4;
    pages[PREP].rows_in = 400;
    pages[PREP].blocks_out = 3;
    pages[PREP].rows_out = rows;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
}

static bool is_named(void)
{
    return strstr(verdict.sentence, "left out") != NULL;
}

Test(left_out, most_rows_that_are_filtered_are_named_if_no_step_is_fed)
{
    hands_on(3);
    cr_assert_eq(verdict.state, TND_RUN_CYCLE, "no actor has worked for 10 s in this look");
    cr_assert_str_eq(fault(TND_CAUSE_FILTERED)->text,
                     "prep has left out 99 % of the 300 rows that it has worked on");
    cr_assert_str_eq(fault(TND_CAUSE_FILTERED)->actor, "prep");
    cr_assert_not_null(strstr(verdict.sentence, "; prep has left out 99 % of the 300 rows"));
    hands_on(149);
    cr_assert(is_named());
    hands_on(150);
    cr_assert_not(is_named(), "half of them are handed on");
}

Test(left_out, rows_that_wait_to_be_worked_on_are_not_left_out)
{
    hands_on(0);
    cr_assert(is_named());
    pages[PREP].blocks_out = 0;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not(is_named());
}

Test(left_out, workers_of_an_actor_count_together)
{
    pages[MEAN].role = TND_ROLE_WORKER;
    strcpy(pages[MEAN].actor, "prep.1");
    pages[MEAN].blocks_in = pages[MEAN].blocks_out = 1;
    pages[MEAN].rows_in = 700;
    pages[MEAN].rows_out = 494;
    hands_on(5);
    cr_assert_str_eq(fault(TND_CAUSE_FILTERED)->text,
                     "prep has left out 50.1 % of the 1,000 rows that it has worked on");
    pages[MEAN].rows_out = 495;
    hands_on(5);
    cr_assert_not(is_named());
}

Test(left_out, bad_rows_have_a_fault_of_their_own)
{
    static tnd_run_page_t page;
    page = (tnd_run_page_t){.state = 5, .read = 300, .bad = 297};
    processes[0].record.page = &page;
    hands_on(3);
    cr_assert_not_null(fault(TND_CAUSE_BAD_ROWS));
    cr_assert_not(is_named(), "%s", verdict.sentence);
}

Test(left_out, a_run_that_feeds_rows_may_filter_most)
{
    looked();
    pages[FEED_A].rows_out = 500;
    hands_on(3);
    cr_assert_not(is_named(), "%s", verdict.sentence);
    cr_assert_eq(verdict.fault_count, 0);
}
