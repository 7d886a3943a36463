/*  Covers tools/events/last_events.h: which events of a dead process are shown. */
#include "tools/events/last_events.h"

#include <stdlib.h>

#include <criterion/criterion.h>

#include "runtime/base/allocation.h"

/*  Events of as many actors that end at these milliseconds. */
static tnd_last_events_t of(const uint64_t *ends_ms, size_t count)
{
    tnd_last_events_t last = {.count = count};
    last.entries = tnd_allocate_zeroed(count + 1, sizeof *last.entries);
    for (size_t e = 0; e < count; e++)
        last.entries[e] = (tnd_event_entry_t){.instance = (uint32_t)e,
                                              .event = {.kind = TND_EVENT_BLOCK_SENT,
                                                        .end_ns = ends_ms[e] * 1000000,
                                                        .first = ends_ms[e]}};
    return last;
}

Test(last_events, the_latest_ones_are_kept_in_order)
{
    tnd_last_events_t last = of((const uint64_t[]){30, 10, 40, 20}, 4);
    tnd_last_events_choose(&last, 3, 1000000000);
    cr_assert_eq(last.count, 3);
    cr_assert(last.entries[0].event.first == 20 && last.entries[2].event.first == 40);
    tnd_last_events_free(&last);
}

Test(last_events, older_ones_are_left_out)
{
    tnd_last_events_t last = of((const uint64_t[]){1000, 4000, 4999, 5000}, 4);
    tnd_last_events_choose(&last, 10, 1000000000);
    cr_assert_eq(last.count, 3, "the last second");
    tnd_last_events_free(&last);
}

Test(last_events, of_each_kind_the_last_one_of_a_thread_is_kept)
{
    tnd_last_events_t last = of((const uint64_t[]){10, 20, 30, 40, 50}, 5);
    for (size_t e = 0; e < 5; e++)
        last.entries[e].instance = 0;
    last.entries[1].event.kind = TND_EVENT_BATCH_CUT;
    last.entries[2].device = 1;
    tnd_last_events_choose(&last, 10, 1000000000);
    cr_assert_eq(last.count, 3);
    cr_assert(last.entries[0].event.first == 20 && last.entries[1].event.first == 30 &&
              last.entries[2].event.first == 50);
    tnd_last_events_free(&last);
}

Test(last_events, waits_do_not_count)
{
    tnd_last_events_t last = of((const uint64_t[]){10, 20, 9000}, 3);
    last.entries[2].event.kind = TND_EVENT_WAIT;
    tnd_last_events_choose(&last, 1, 1000000000);
    cr_assert(last.count == 1 && last.entries[0].event.first == 20);
    tnd_last_events_free(&last);
}

Test(last_events, a_process_without_events_has_none)
{
    tnd_last_events_t last = {0};
    tnd_last_events_choose(&last, 10, 1000000000);
    cr_assert_eq(last.count, 0);
    tnd_last_events_free(&last);
}
