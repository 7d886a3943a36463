/*  Covers runtime/core/tuning/access.h: when files are mapped or read, and when a mapping is used row by
 *  row. */
#include "runtime/core/tuning/access.h"

#include <criterion/criterion.h>

static tnd_access_case_t shuffled(uint64_t bytes, uint64_t room)
{
    return (tnd_access_case_t){
        .pattern = TND_PATTERN_ALL, .bytes = bytes, .room = room, .files = 1, .descriptors = 512};
}

Test(access, what_fits_is_mapped_and_loaded)
{
    const tnd_access_case_t fits = shuffled(750, 1000), unknown = shuffled(1 << 30, UINT64_MAX);
    tnd_access_plan_t plan = tnd_access_choose(&fits);
    cr_assert(plan.map && plan.fits && plan.load && plan.random && !plan.scarce);
    plan = tnd_access_choose(&unknown);
    cr_assert(plan.map && plan.fits);
}

Test(access, what_does_not_fit_is_read_unless_there_are_too_many_files)
{
    tnd_access_case_t large = shuffled(751, 1000);
    tnd_access_plan_t plan = tnd_access_choose(&large);
    cr_assert(!plan.map && !plan.fits && !plan.load && !plan.scarce);
    large.files = 513;
    plan = tnd_access_choose(&large);
    cr_assert(plan.map && !plan.fits && plan.scarce);
    large.pattern = TND_PATTERN_SOME;
    large.files = 512;
    cr_assert(!tnd_access_choose(&large).map);
}

Test(access, the_first_row_to_the_last_is_mapped_whatever_its_size)
{
    tnd_access_case_t large = shuffled(UINT64_C(1) << 40, 1000);
    large.pattern = TND_PATTERN_FORWARD;
    tnd_access_plan_t plan = tnd_access_choose(&large);
    cr_assert(plan.map && !plan.load && !plan.random);
}

Test(access, a_requested_access_is_used)
{
    tnd_access_case_t small = shuffled(1, 1000), large = shuffled(1000, 1000);
    small.asked = TND_ACCESS_READ;
    tnd_access_plan_t plan = tnd_access_choose(&small);
    cr_assert(!plan.map && plan.load);
    small.files = 100000;
    cr_assert_not(tnd_access_choose(&small).map);
    large.asked = TND_ACCESS_MAP;
    plan = tnd_access_choose(&large);
    cr_assert(plan.map && !plan.fits && !plan.scarce);
}

Test(access, a_part_of_the_rows_does_not_load_all_of_them)
{
    tnd_access_case_t part = shuffled(1, 1000);
    part.pattern = TND_PATTERN_SOME;
    cr_assert_not(tnd_access_choose(&part).load);
}

Test(access, evicted_pieces_switch_to_requests_by_row)
{
    tnd_access_watch_t watch;
    tnd_access_watch_init(&watch, true);
    /* A quarter of them may go: others need memory too. */
    for (int i = 0; i < 100; i++)
        cr_assert_not(tnd_access_watch_note(&watch, 256, 64, 1000));
    cr_assert_not(watch.by_rows);
    cr_assert_not(tnd_access_watch_note(&watch, 255, 255, 1000));
    cr_assert(tnd_access_watch_note(&watch, 1, 0, 1000));
    cr_assert(watch.by_rows);

    /* After a while, which doubles, large pieces are tried again. */
    uint64_t now = 1000, rest = watch.until - now;
    cr_assert_not(tnd_access_watch_note(&watch, 1000, 1000, now));
    cr_assert_not(tnd_access_watch_tick(&watch, now + rest - 1));
    cr_assert(tnd_access_watch_tick(&watch, now += rest));
    cr_assert_not(watch.by_rows);
    cr_assert(tnd_access_watch_note(&watch, 256, 65, now));
    cr_assert_eq(watch.until, now + 2 * rest);
    for (int i = 0; i < 20; i++) {
        now = watch.until;
        cr_assert(tnd_access_watch_tick(&watch, now));
        cr_assert(tnd_access_watch_note(&watch, 256, 256, now));
    }
    cr_assert_eq(watch.until, now + UINT64_C(1800000000000));
}

Test(access, files_that_do_not_fit_are_never_loaded_in_pieces)
{
    tnd_access_watch_t watch;
    tnd_access_watch_init(&watch, false);
    cr_assert(watch.by_rows);
    cr_assert_not(tnd_access_watch_tick(&watch, UINT64_MAX - 1));
}
