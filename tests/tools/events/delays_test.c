/*  Covers tools/events/delays.h: latency between two actors, from made-up events. */
#include "tools/events/delays.h"

#include <criterion/criterion.h>

static tnd_event_t at(tnd_event_kind_t kind, uint64_t first, uint64_t end_ns)
{
    return (tnd_event_t){.kind = (uint8_t)kind, .first = first, .end_ns = end_ns, .epoch = 2};
}

static void begin(tnd_delays_t *delays, tnd_event_t event)
{
    tnd_delays_begin(delays, &event);
}

static void end(tnd_delays_t *delays, tnd_event_t event)
{
    tnd_delays_end(delays, &event, false);
}

static void commit(tnd_delays_t *delays, uint64_t step, uint64_t end_ns)
{
    tnd_event_t event = at(TND_EVENT_STEP_COMMITTED, step, end_ns);
    tnd_delays_end(delays, &event, true);
}

static void cut(tnd_delays_t *delays, uint64_t first, uint16_t epoch, uint64_t step)
{
    tnd_event_t event = {
        .kind = TND_EVENT_BATCH_CUT, .first = first, .epoch = epoch, .duration_ns = step};
    tnd_delays_cut(delays, &event);
}

Test(delays, from_sending_a_block_to_receiving_it)
{
    tnd_delays_t delays = {0};
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 0, 100));
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 64, 150));
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 64, 350));
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 0, 400));
    tnd_delays_sort(&delays);
    cr_assert_eq(delays.count, 2);
    cr_assert_eq(tnd_delays_at(&delays, 0), 200);
    cr_assert_eq(tnd_delays_at(&delays, 1), 300);
    tnd_delays_free(&delays);
}

Test(delays, a_negative_delay_is_none)
{
    /* Events have the last time that their actor knew, so a block may seem to arrive too early. */
    tnd_delays_t delays = {0};
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 0, 500));
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 0, 400));
    cr_assert_eq(delays.count, 1);
    cr_assert_eq(tnd_delays_at(&delays, 0.5), 0);
    tnd_delays_free(&delays);
}

Test(delays, what_was_not_sent_or_not_received_is_no_sample)
{
    tnd_delays_t delays = {0};
    tnd_event_t lane = at(TND_EVENT_BLOCK_RECEIVED, 0, 300), epoch = lane;
    lane.lane = 1;
    epoch.epoch = 3;
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 0, 100));
    begin(&delays, at(TND_EVENT_TICKET_SENT, 64, 100));
    end(&delays, lane);
    end(&delays, epoch);
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 64, 300));
    end(&delays, at(TND_EVENT_BLOCK_MADE, 0, 300));
    cr_assert_eq(delays.count, 0);
    tnd_delays_sort(&delays);
    cr_assert_eq(tnd_delays_at(&delays, 0.99), 0, "without samples");
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 0, 400));
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 0, 500));
    cr_assert_eq(delays.count, 1, "only the first receipt counts");
    tnd_delays_free(&delays);
}

Test(delays, blocks_end_with_the_commit_of_the_batch_that_takes_their_first_row)
{
    tnd_delays_t delays = {0};
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 0, 100));
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 32, 200));
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 64, 300));
    commit(&delays, 5, 900);
    cr_assert_eq(delays.count, 0, "no batch is known");
    cut(&delays, 40, 2, 5);
    cut(&delays, 72, 2, 6);
    commit(&delays, 5, 1000);
    cr_assert_eq(delays.count, 2);
    commit(&delays, 7, 1100);
    cr_assert_eq(delays.count, 2);
    commit(&delays, 6, 1300);
    tnd_delays_sort(&delays);
    cr_assert_eq(delays.count, 3);
    cr_assert_eq(tnd_delays_at(&delays, 0), 800);
    cr_assert_eq(tnd_delays_at(&delays, 0.5), 900);
    cr_assert_eq(tnd_delays_at(&delays, 1), 1000);
    tnd_delays_free(&delays);
}

Test(delays, the_last_batch_of_an_epoch_ends_in_the_next_one)
{
    tnd_delays_t delays = {0};
    begin(&delays, at(TND_EVENT_BLOCK_SENT, 96, 100));
    cut(&delays, 0, 4, 3); /* two epochs on: not this one */
    commit(&delays, 3, 200);
    cr_assert_eq(delays.count, 0);
    cut(&delays, 0, 3, 4);
    commit(&delays, 4, 300);
    cr_assert_eq(delays.count, 1);
    tnd_delays_free(&delays);
}

Test(delays, a_slice_names_its_step)
{
    tnd_delays_t delays = {0};
    begin(&delays, at(TND_EVENT_SLICE_SENT, 9, 100));
    cut(&delays, 500, 2, 8);
    commit(&delays, 8, 200);
    cr_assert_eq(delays.count, 0);
    commit(&delays, 9, 250);
    cr_assert_eq(tnd_delays_at(&delays, 0), 150);
    tnd_delays_free(&delays);
}

Test(delays, what_never_ends_takes_bounded_memory)
{
    tnd_delays_t delays = {0};
    for (uint64_t block = 0; block < 200000; block++)
        begin(&delays, at(TND_EVENT_BLOCK_SENT, block, 100));
    cr_assert_leq(delays.start_count, 65536);
    end(&delays, at(TND_EVENT_BLOCK_RECEIVED, 199999, 300));
    cr_assert_eq(tnd_delays_at(&delays, 0), 200, "the latest are kept");
    tnd_delays_free(&delays);
}
