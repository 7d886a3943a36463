/*  Covers the advice of tools/report/run_limit.h: what one more worker, or a larger cache, would give. */
#include <stdio.h>
#include <string.h>

#include "run_fixture.h"

/*  1,000 rows are fed in the second between two looks. */
static void begin_second(void)
{
    begin();
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].rows_out = 100000;
        pages[i].blocks_out = 1000;
    }
    looked();
    pages[FEED_A].rows_out += 1000;
    pages[FEED_A].blocks_out += 10;
}

TestSuite(worker_gain, .init = begin_second);

static void works(uint32_t who, unsigned percent)
{
    pages[who].cpu_ns = old[who].cpu_ns + second_ns * percent / 100;
}

/*  `gain` 0: no advice. */
static void expect(const char *advice, double gain)
{
    char text[128];
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_expect_float_eq(verdict.limit.gain, gain, 0.01, "%s: %g", verdict.sentence,
                       verdict.limit.gain);
    snprintf(text, sizeof text, "; %s should give %.0f rows/s", advice, gain);
    cr_expect_eq(strstr(verdict.sentence, text) != NULL, gain > 0, "%s", verdict.sentence);
    cr_expect_eq(verdict.limit.bound, TND_BOUND_WORK);
    cr_expect_str_eq(verdict.limit.actor, "prep.0");
}

/*  A worker that is at work for 80 % of the time makes 1,250 rows in a second. */
Test(worker_gain, two_workers_make_twice_what_one_can)
{
    works(PREP, 80);
    works(READ, 10);
    expect("2 workers of prep", 2 * 1000 / 0.8);
}

Test(worker_gain, the_next_actor_is_the_limit_then)
{
    works(PREP, 80);
    works(READ, 50);
    expect("2 workers of prep", 1000 / 0.5);
}

Test(worker_gain, the_processors_are_the_limit_then)
{
    works(PREP, 80);
    works(READ, 30);
    after.load.processors = 2;
    expect("2 workers of prep", 1000 * 2 / 1.1);
    after.load.processors = 8;
    expect("2 workers of prep", 2 * 1000 / 0.8);
}

Test(worker_gain, three_workers_make_half_as_much_again_as_two)
{
    strcpy(pages[MEAN].actor, "prep.1");
    strcpy(old[MEAN].actor, "prep.1");
    pages[MEAN].role = old[MEAN].role = TND_ROLE_WORKER;
    works(PREP, 80);
    works(MEAN, 60);
    works(READ, 10);
    expect("3 workers of prep", 1000 * 3 / 1.4);
    /* One that is asleep is not one of them, and would be the second. */
    pages[MEAN].asleep = 1;
    works(MEAN, 0);
    expect("waking a worker of prep (tundish scale prep=2 fashion)", 2 * 1000 / 0.8);
}

Test(worker_gain, no_advice_where_the_other_workers_have_little_to_do)
{
    strcpy(pages[MEAN].actor, "prep.1");
    strcpy(old[MEAN].actor, "prep.1");
    pages[MEAN].role = old[MEAN].role = TND_ROLE_WORKER;
    works(PREP, 80);
    works(MEAN, 30);
    works(READ, 10);
    expect("3 workers of prep", 0);
}

Test(worker_gain, no_advice_where_it_gives_little)
{
    works(PREP, 99);
    works(READ, 96);
    pages[PREP].rows_out += 1000;
    pages[READ].rows_out += 1000;
    expect("2 workers of prep", 0);
}

Test(worker_gain, no_advice_for_a_worker_that_is_idle_for_a_third_of_the_time)
{
    works(PREP, 66);
    works(READ, 10);
    expect("2 workers of prep", 0);
}

/*  1.1 processors are in use, and 1.3 are allowed. */
Test(worker_gain, a_control_group_may_allow_less_than_there_is)
{
    works(PREP, 80);
    works(READ, 30);
    after.load.processors = 8;
    processes[0].cores = 1.3;
    expect("2 workers of prep", 1000 * 1.3 / 1.1);
    strcpy(processes[0].path, "here");
    strcpy(olds[0].path, "here");
    processes[0].throttled_ns = second_ns / 100;
    expect("2 workers of prep", 1000 * 1.3 / 1.1);
    processes[0].throttled_ns = second_ns / 100 + 1;
    expect("2 workers of prep", 0);
}

Test(worker_gain, no_advice_to_compute_more_where_other_threads_have_the_processors)
{
    works(PREP, 80);
    works(READ, 10);
    before.load.processors = after.load.processors = 2;
    before.load.runnable = after.load.runnable = 3; /* the reader of the load is one of them */
    expect("2 workers of prep", 1000 * 2 / 0.9);
    before.load.runnable = after.load.runnable = 4;
    expect("2 workers of prep", 0);
    /* One that sleeps needs none. */
    works(PREP, 30);
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - second_ns * 8 / 10;
    pages[PREP].wait_ns[__builtin_ctz(TND_WAIT_INPUT)] = 59 * second_ns + second_ns * 2 / 10;
    expect("2 workers of prep", 2 * 1000 / 0.8);
}

/*  A process may be kept on some processors of a machine. */
Test(worker_gain, processors_that_the_process_may_not_use_do_not_count)
{
    works(PREP, 80);
    works(READ, 20);
    after.load.processors = 8;
    processes[0].processors = 1;
    expect("2 workers of prep", 0);
    processes[0].processors = 2;
    expect("2 workers of prep", 2000);
}

Test(worker_gain, rows_that_are_mostly_filtered_are_named)
{
    tnd_run_page_t page = {.read = 800, .added = 200, .filtered = 501};
    processes[0].record.page = &page;
    works(PREP, 80);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "; 50.1 % of the rows are filtered"), "%s",
                       verdict.sentence);
    page.filtered = 500;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_null(strstr(verdict.sentence, "filtered"), "%s", verdict.sentence);
}

/*  Of four thousand rows three thousand are from a store of 3 MiB; MEAN is a cache. */
static const char *sentence_of_cache(uint64_t stored, uint64_t unkept)
{
    strcpy(pages[MEAN].actor, "keep");
    strcpy(old[MEAN].actor, "keep");
    pages[MEAN].role = TND_ROLE_CACHE;
    pages[MEAN].rows_out = old[MEAN].rows_out + 4000;
    pages[MEAN].stored = stored;
    pages[MEAN].kept = 3 << 20;
    pages[MEAN].unkept = unkept;
    works(PREP, 80);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    return verdict.sentence;
}

Test(worker_gain, a_full_cache_is_named_with_the_limit_that_would_hold_all)
{
    cr_assert_not_null(
        strstr(sentence_of_cache(3000, 1),
               "; the store of keep is full and has 75 % of its rows, the others are "
               "made again: a `limit:` of about 4 MiB would hold all"),
        "%s", verdict.sentence);
}

/*  Between the looks nearly all rows were made, as in the later part of an epoch. */
Test(worker_gain, the_share_in_a_store_is_that_of_the_samples)
{
    pages[MEAN].samples = 1000;
    pages[MEAN].kept_samples = 250;
    cr_assert_not_null(
        strstr(sentence_of_cache(1, 750),
               "; the store of keep is full and has 25 % of its rows, the others are "
               "made again: a `limit:` of about 12 MiB would hold all"),
        "%s", verdict.sentence);
    pages[MEAN].kept_samples = 1000;
    cr_assert_null(strstr(sentence_of_cache(1, 750), "store"), "%s", verdict.sentence);
}

Test(worker_gain, a_cache_is_not_full_if_all_fits_or_in_its_first_epoch)
{
    cr_assert_null(strstr(sentence_of_cache(3000, 0), "store"), "%s", verdict.sentence);
    cr_assert_null(strstr(sentence_of_cache(0, 1), "store"), "%s", verdict.sentence);
    cr_assert_null(strstr(sentence_of_cache(4000, 1), "store"), "%s", verdict.sentence);
}
