/*  Covers runtime/core/host/hang_watch.h: what hangs and when, by arithmetic. */
#include "runtime/core/host/hang_watch.h"

#include <criterion/criterion.h>

static const uint64_t ms = 1000000, hung_after = 1000 * 1000000;

/*  Looks in time until the work is judged; returns when that is, 0: not by `until`. */
static uint64_t judged_at(tnd_hang_watch_t *self, uint64_t since, uint64_t from, uint64_t until)
{
    for (uint64_t now = from; now <= until; now += 10 * ms)
        if (tnd_hang_watch_look(self, since, hung_after, now))
            return now;
    return 0;
}

static bool hangs(tnd_hang_watch_t *self, uint64_t read, bool waits_for_disk)
{
    tnd_thread_progress_t progress = {.read = read, .waits_for_disk = waits_for_disk};
    return tnd_hang_watch_judge(self, &progress, hung_after);
}

Test(hang_watch, looks_four_times_a_second_or_in_hung_after)
{
    cr_assert_eq(tnd_hang_watch_every(60000 * ms), 250 * ms);
    cr_assert_eq(tnd_hang_watch_every(1000 * ms), 250 * ms);
    cr_assert_eq(tnd_hang_watch_every(400 * ms), 100 * ms);
}

Test(hang_watch, work_without_progress_hangs_after_hung_after)
{
    tnd_hang_watch_t self = {0};
    cr_assert_eq(judged_at(&self, 5000 * ms, 5000 * ms, 9000 * ms), 5500 * ms);
    cr_assert_not(hangs(&self, 77, false), "nothing to compare with");
    cr_assert_eq(judged_at(&self, 5000 * ms, 5510 * ms, 9000 * ms), 6000 * ms);
    cr_assert(hangs(&self, 77, false));
    cr_assert(tnd_hang_watch_look(&self, 5000 * ms, hung_after, 6010 * ms));
    cr_assert(hangs(&self, 77, false), "it still does");
}

Test(hang_watch, a_thread_that_reads_or_waits_for_a_disk_does_not_hang)
{
    tnd_hang_watch_t self = {0};
    cr_assert_eq(judged_at(&self, 1, 10 * ms, 9000 * ms), 510 * ms);
    cr_assert_not(hangs(&self, 100, false));
    cr_assert_eq(judged_at(&self, 1, 520 * ms, 9000 * ms), 1010 * ms);
    cr_assert_not(hangs(&self, 101, false), "it has read one byte");
    cr_assert_eq(judged_at(&self, 1, 1020 * ms, 9000 * ms), 1510 * ms);
    cr_assert_not(hangs(&self, 101, true));
    cr_assert_eq(judged_at(&self, 1, 1520 * ms, 9000 * ms), 2010 * ms);
    cr_assert(hangs(&self, 101, false));
}

Test(hang_watch, other_work_begins_anew)
{
    tnd_hang_watch_t self = {0};
    cr_assert_eq(judged_at(&self, 1000 * ms, 1000 * ms, 9000 * ms), 1500 * ms);
    cr_assert_not(hangs(&self, 3, false));
    cr_assert_not(tnd_hang_watch_look(&self, 1600 * ms, hung_after, 1600 * ms));
    cr_assert_eq(judged_at(&self, 1600 * ms, 1610 * ms, 9000 * ms), 2100 * ms);
    cr_assert_not(hangs(&self, 3, false), "what was read during other work says nothing");
    cr_assert_not(tnd_hang_watch_look(&self, 0, hung_after, 9000 * ms), "it waits");
    cr_assert_eq(judged_at(&self, 0, 9000 * ms, 19000 * ms), 0);
}

Test(hang_watch, time_in_which_the_process_was_stopped_is_not_counted)
{
    tnd_hang_watch_t self = {0};
    cr_assert_eq(judged_at(&self, 1000 * ms, 1000 * ms, 9000 * ms), 1500 * ms);
    cr_assert_not(hangs(&self, 3, false));
    cr_assert_not(tnd_hang_watch_look(&self, 1000 * ms, hung_after, 1700 * ms));
    /* An hour: the interval of 250 ms counts, and 50 ms are left. */
    uint64_t later = 3600000 * ms;
    cr_assert_not(tnd_hang_watch_look(&self, 1000 * ms, hung_after, later));
    cr_assert_eq(judged_at(&self, 1000 * ms, later + 10 * ms, later + 9000 * ms), later + 50 * ms);
    cr_assert(hangs(&self, 3, false));
}

Test(hang_watch, work_that_began_before_a_stop_has_its_time_after_it)
{
    tnd_hang_watch_t self = {0};
    uint64_t later = 3600000 * ms;
    cr_assert_not(tnd_hang_watch_look(&self, 1000 * ms, hung_after, later));
    cr_assert_eq(judged_at(&self, 1000 * ms, later + 10 * ms, later + 9000 * ms), later + 250 * ms);
    cr_assert_not(hangs(&self, 3, false));
}

Test(hang_watch, a_clock_that_goes_back_counts_nothing)
{
    tnd_hang_watch_t self = {0};
    cr_assert_not(tnd_hang_watch_look(&self, 5000 * ms, hung_after, 5200 * ms));
    cr_assert_not(tnd_hang_watch_look(&self, 5000 * ms, hung_after, 4000 * ms));
    cr_assert_eq(judged_at(&self, 5000 * ms, 5210 * ms, 9000 * ms), 5500 * ms);
}
