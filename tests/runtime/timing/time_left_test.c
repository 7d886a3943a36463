/*  Covers runtime/timing/time_left.h with a clock of its own. */
#include "runtime/timing/time_left.h"

#include <criterion/criterion.h>

#include "runtime/core/stream/position.h"

#define SECOND UINT64_C(1000000000)

static tnd_time_left_t left;
static tnd_stream_place_t place;
static uint64_t now;

static void begin(void)
{
    left = (tnd_time_left_t){0};
    place = (tnd_stream_place_t){
        .epoch_rows = TND_UNKNOWN, .run_rows = TND_UNKNOWN, .run_steps = TND_UNKNOWN};
    now = 1000 * SECOND;
    tnd_time_left_note(&left, &place, now);
}

TestSuite(time_left, .init = begin);

/*  Steps of `rows` rows, each after `gap`. */
static void do_steps(unsigned count, uint64_t rows, uint64_t gap)
{
    for (unsigned i = 0; i < count; i++) {
        now += gap;
        place.steps++;
        place.rows += rows;
        if (place.epoch_rows != TND_UNKNOWN)
            place.epochs = place.rows / place.epoch_rows;
        tnd_time_left_note(&left, &place, now);
    }
}

static void end_epoch(void)
{
    place.epochs++;
    tnd_time_left_note(&left, &place, now);
}

static double epoch(void)
{
    return (double)tnd_time_left_epoch(&left) * 1e-9;
}

static double run(void)
{
    return (double)tnd_time_left_run(&left) * 1e-9;
}

#define NEAR(value, wanted)                                                                        \
    cr_assert(value >= 0.9 * (wanted) && value <= 1.1 * (wanted), "%g instead of %g", value,       \
              (double)(wanted))

Test(time_left, a_steady_run_after_a_tenth_of_an_epoch)
{
    static const uint64_t gaps[] = {SECOND / 1000, SECOND / 10, SECOND, 30 * SECOND};
    for (unsigned g = 0; g < 4; g++) {
        begin();
        place.epoch_rows = 3200;
        place.run_rows = 5 * 3200;
        now += 77 * SECOND; /* until the first step; it does not come again */
        do_steps(10, 32, gaps[g]);
        NEAR(epoch(), 90 * (double)gaps[g] * 1e-9);
        NEAR(run(), 490 * (double)gaps[g] * 1e-9);
        do_steps(130, 32, gaps[g]); /* 40 of the second epoch */
        NEAR(epoch(), 60 * (double)gaps[g] * 1e-9);
        NEAR(run(), 360 * (double)gaps[g] * 1e-9);
    }
}

Test(time_left, it_follows_a_rate_that_changes)
{
    place.epoch_rows = place.run_rows = 320000;
    do_steps(1000, 32, SECOND / 10);
    NEAR(run(), 900);
    do_steps(200, 32, SECOND / 2); /* five times slower for 100 s */
    NEAR(run(), 4400);
    do_steps(1000, 32, SECOND / 10);
    NEAR(run(), 780);
}

Test(time_left, a_pause_is_left_out)
{
    place.epoch_rows = place.run_rows = 3200;
    do_steps(50, 32, SECOND);
    NEAR(run(), 50);
    place.paused = true;
    tnd_time_left_note(&left, &place, now);
    for (unsigned i = 0; i < 600; i++)
        tnd_time_left_note(&left, &place, now += SECOND);
    NEAR(run(), 50);
    place.paused = false;
    tnd_time_left_note(&left, &place, now);
    do_steps(10, 32, SECOND);
    NEAR(run(), 40);
}

Test(time_left, a_late_step_makes_it_longer)
{
    place.epoch_rows = place.run_rows = 3200;
    do_steps(50, 32, SECOND);
    tnd_time_left_note(&left, &place, now + SECOND / 2);
    NEAR(run(), 49.5);
    tnd_time_left_note(&left, &place, now + 9 * SECOND);
    NEAR(run(), 57);
}

/*  The last steps of an epoch that hangs would be a moment away forever. */
Test(time_left, a_run_that_does_not_go_on_has_none)
{
    place.epoch_rows = 3200;
    place.run_rows = 2 * 3200;
    do_steps(98, 32, SECOND / 100);
    NEAR(epoch(), 0.02);
    tnd_time_left_note(&left, &place, now += 5 * SECOND);
    cr_assert(epoch() > 0 && run() > 0);
    tnd_time_left_note(&left, &place, now += SECOND);
    cr_assert_eq(epoch(), 0);
    cr_assert_eq(run(), 0);
    do_steps(1, 32, SECOND / 100);
    cr_assert(epoch() > 0 && run() > 0, "it goes on");
}

Test(time_left, rows_that_are_not_known_are_those_of_the_first_epoch)
{
    do_steps(100, 32, SECOND);
    cr_assert_eq(epoch(), 0);
    cr_assert_eq(run(), 0);
    end_epoch();
    do_steps(10, 32, SECOND);
    NEAR(epoch(), 90);
    cr_assert_eq(run(), 0, "the number of epochs is not known in rows");
    place.run_steps = 150;
    do_steps(1, 32, SECOND);
    NEAR(run(), 39);
    NEAR(epoch(), 39);
}

Test(time_left, epochs_forever_have_an_end_each_and_the_run_has_none)
{
    place.epoch_rows = 3200;
    do_steps(250, 32, SECOND);
    NEAR(epoch(), 50);
    cr_assert_eq(run(), 0);
    place.run_steps = 1250;
    do_steps(1, 32, SECOND);
    NEAR(run(), 999);
}

Test(time_left, the_run_that_ends_within_an_epoch_ends_it)
{
    place.epoch_rows = 3200;
    place.run_steps = 20;
    do_steps(11, 32, SECOND);
    NEAR(epoch(), 9);
    do_steps(9, 32, SECOND);
    cr_assert_eq(tnd_time_left_run(&left), 1, "it is known, and over");
}

Test(time_left, nothing_is_known_before_two_steps_nor_after_a_rewind)
{
    place.epoch_rows = place.run_rows = 3200;
    cr_assert_eq(run(), 0);
    do_steps(1, 32, SECOND);
    cr_assert_eq(run(), 0);
    do_steps(10, 32, SECOND);
    NEAR(run(), 89);
    place.steps = 5;
    place.rows = 160;
    tnd_time_left_note(&left, &place, now += SECOND);
    cr_assert_eq(run(), 0);
    do_steps(10, 32, SECOND);
    NEAR(run(), 85);
}

Test(time_left, a_run_that_resumes_knows_it_as_soon)
{
    left = (tnd_time_left_t){0};
    place.steps = 1000;
    place.rows = 32000;
    place.epoch_rows = 3200;
    place.run_rows = 64000;
    place.epochs = 10;
    tnd_time_left_note(&left, &place, now);
    do_steps(11, 32, SECOND);
    NEAR(epoch(), 89);
    NEAR(run(), 989);
}

/*  A cache fills in the first epoch; the others take a tenth of its time.  One has 1,000 rows. */
Test(time_left, later_epochs_that_are_faster_are_known_after_a_tenth)
{
    place.epoch_rows = 1000;
    place.run_rows = 4000;
    do_steps(100, 10, SECOND / 2);
    do_steps(10, 10, SECOND / 20);
    NEAR(epoch(), 4.5);
    NEAR(run(), 14.5);
    do_steps(90, 10, SECOND / 20);
    do_steps(10, 10, SECOND / 20);
    NEAR(epoch(), 4.5);
    NEAR(run(), 9.5);
}

/*  Before it has shown its own rate, it is that of the time before. */
Test(time_left, a_new_epoch_begins_at_the_rate_of_the_last_one)
{
    place.epoch_rows = 1000;
    place.run_rows = 2000;
    do_steps(100, 10, SECOND / 2);
    do_steps(4, 10, SECOND / 20);
    cr_assert_gt(epoch(), 40, "4 steps, but less than a twentieth of the rows");
    do_steps(1, 10, SECOND / 20);
    NEAR(epoch(), 95.0 / 20);
    NEAR(run(), 95.0 / 20);
}

/*  Each epoch of 5 s is followed by 5 s in which models are evaluated. */
Test(time_left, time_between_epochs_is_of_the_run_and_not_of_the_epoch)
{
    place.epoch_rows = 1000;
    place.run_rows = 10000;
    for (unsigned e = 0; e < 4; e++) {
        do_steps(100, 10, SECOND / 20);
        now += 5 * SECOND;
    }
    do_steps(10, 10, SECOND / 20);
    NEAR(epoch(), 4.5);
    NEAR(run(), 54.5);
}

/*  Rows of an epoch that are not known before are those of the last one, at the rate of this one. */
Test(time_left, epochs_of_a_length_that_is_found_have_their_own_rate)
{
    do_steps(100, 10, SECOND);
    end_epoch();
    do_steps(10, 10, SECOND / 10);
    NEAR(epoch(), 9);
}
