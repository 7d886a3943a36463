/*  Covers runtime/observe/recorder.h: what an actor sends, receives, works and waits for is in its
 *  ring, in order of time. */
#include "runtime/observe/recorder.h"

#include <criterion/criterion.h>

#include "runtime/base/clock.h"
#include "runtime/core/protocol/effect.h"

static tnd_event_ring_t ring;
static tnd_recorder_t recorder = {.ring = &ring};
static tnd_event_t events[TND_RING_EVENTS];

static size_t take(void)
{
    static uint64_t from, missed;
    return tnd_event_ring_take(&ring, ring.next, &from, events, &missed);
}

static tnd_msg_t block_of(uint64_t first, uint32_t attempt)
{
    return (tnd_msg_t){
        .kind = TND_MSG_BLOCK,
        .from = 1,
        .to = 2,
        .block = {.first = first, .count = 64, .lane = 3, .epoch = 5, .attempt = attempt},
    };
}

static tnd_timing_t timing;

static uint64_t sum_of(unsigned part)
{
    return timing.parts[part].sum_ns;
}

Test(recorder, the_times_of_a_block_are_counted)
{
    tnd_msg_t block = block_of(640, 1), other = block_of(704, 1);
    recorder.timing = &timing;
    tnd_recorder_waits(&recorder, TND_WAIT_INPUT, 1000);
    tnd_recorder_wakes(&recorder, 5000);
    tnd_recorder_received(&recorder, &block, true);
    tnd_recorder_received(&recorder, &other, false);
    uint64_t count = tnd_recorder_count(&recorder), now = recorder.now_ns;
    tnd_recorder_time(&recorder, now + 9000);
    tnd_recorder_made(&recorder, &block, 2000);
    tnd_recorder_work(&recorder, now + 6000, now + 9500, count);
    cr_assert_eq(tnd_histogram_count(&timing.parts[TND_TIMING_QUEUE]), 1);
    cr_assert_eq(sum_of(TND_TIMING_QUEUE), now + 7000 - 5000, "from its arrival to its work");
    cr_assert_eq(sum_of(TND_TIMING_SERVICE), 3500);
    cr_assert_eq(tnd_histogram_count(&timing.parts[TND_TIMING_SEND]), 0, "it waited for input");
    tnd_recorder_made(&recorder, &block, 2000);
    cr_assert_eq(tnd_histogram_count(&timing.parts[TND_TIMING_QUEUE]), 1, "it is counted once");
}

Test(recorder, a_wait_for_room_lasts_until_something_passes)
{
    tnd_msg_t block = block_of(640, 1);
    recorder.timing = &timing;
    tnd_recorder_waits(&recorder, TND_WAIT_CREDIT, 1000);
    tnd_recorder_wakes(&recorder, 3000);
    tnd_recorder_waits(&recorder, TND_WAIT_CREDIT, 3100);
    tnd_recorder_wakes(&recorder, 8000);
    cr_assert_eq(tnd_histogram_count(&timing.parts[TND_TIMING_SEND]), 0);
    tnd_recorder_sends(&recorder, &block);
    tnd_recorder_waits(&recorder, TND_WAIT_CREDIT, 8100);
    cr_assert_eq(sum_of(TND_TIMING_SEND), 7000, "it woke up and waited again");
    tnd_recorder_wakes(&recorder, 9000);
    tnd_recorder_waits(&recorder, TND_WAIT_INPUT, 9100);
    cr_assert_eq(sum_of(TND_TIMING_SEND), 7900, "it waits for something else");
    cr_assert_eq(tnd_histogram_count(&timing.parts[TND_TIMING_SEND]), 2);
}

Test(recorder, the_way_of_a_block_through_a_worker_is_recorded)
{
    tnd_msg_t block = block_of(640, 1);
    tnd_recorder_waits(&recorder, TND_WAIT_INPUT, 1000);
    tnd_recorder_wakes(&recorder, 5000);
    tnd_recorder_received(&recorder, &block, true);
    uint64_t count = tnd_recorder_count(&recorder);
    tnd_recorder_time(&recorder, 8000);
    tnd_recorder_made(&recorder, &block, 2500);
    tnd_recorder_sends(&recorder, &block);
    tnd_recorder_work(&recorder, 5500, 9000, count);

    cr_assert_eq(take(), 5);
    static const tnd_event_t expected[] = {
        {.kind = TND_EVENT_WAIT, .end_ns = 5000, .duration_ns = 4000, .first = TND_WAIT_INPUT},
        {.kind = TND_EVENT_BLOCK_RECEIVED, .end_ns = 5000, .first = 640, .peer = 1},
        {.kind = TND_EVENT_BLOCK_MADE, .end_ns = 8000, .duration_ns = 2500, .first = 640},
        {.kind = TND_EVENT_BLOCK_SENT, .end_ns = 8000, .first = 640, .peer = 2},
        {.kind = TND_EVENT_WORK, .end_ns = 9000, .duration_ns = 3500},
    };
    for (size_t e = 0; e < 5; e++) {
        cr_assert_eq(events[e].kind, expected[e].kind, "event %zu", e);
        cr_assert_eq(events[e].end_ns, expected[e].end_ns, "event %zu", e);
        cr_assert_eq(events[e].duration_ns, expected[e].duration_ns, "event %zu", e);
        cr_assert_eq(events[e].first, expected[e].first, "event %zu", e);
    }
    cr_assert_eq(events[1].peer, 1);
    cr_assert_eq(events[3].peer, 2);
    cr_assert_eq(events[3].lane, 3);
    cr_assert_eq(events[3].epoch, 5);
    cr_assert_eq(events[3].attempt, 1);
    cr_assert_eq(events[3].count, 64);
}

Test(recorder, short_hooks_without_events_and_other_messages_are_left_out)
{
    tnd_msg_t credit = {.kind = TND_MSG_CREDIT};
    tnd_recorder_time(&recorder, 1000);
    tnd_recorder_wakes(&recorder, 1000);
    tnd_recorder_sends(&recorder, &credit);
    tnd_recorder_received(&recorder, &credit, true);
    tnd_recorder_work(&recorder, 1000, 1900, tnd_recorder_count(&recorder));
    cr_assert_eq(take(), 0);
    tnd_recorder_work(&recorder, 1900, 3000, tnd_recorder_count(&recorder));
    cr_assert_eq(take(), 1);
}

Test(recorder, a_cut_batch_names_its_step_and_the_position_after_it)
{
    tnd_msg_t part = {.kind = TND_MSG_PART,
                      .to = TND_LEADER,
                      .part = {.step = 9, .position = {.index = 1280, .epoch = 2}}};
    tnd_recorder_wakes(&recorder, 1000);
    tnd_recorder_sends(&recorder, &part);
    cr_assert_eq(take(), 1);
    cr_assert_eq(events[0].kind, TND_EVENT_BATCH_CUT);
    cr_assert_eq(events[0].first, 1280);
    cr_assert_eq(events[0].duration_ns, 9);
    cr_assert_eq(events[0].epoch, 2);
    cr_assert_eq(events[0].peer, TND_EVENT_NO_PEER, "the leader is not an instance");
}

Test(recorder, each_step_is_cut_at_a_time_of_its_own)
{
    tnd_msg_t part = {.kind = TND_MSG_PART, .to = TND_LEADER};
    for (uint64_t step = 0; step < 2; step++) {
        tnd_msg_t slice = {.kind = TND_MSG_SLICE, .to = 2, .slice = {.step = step}};
        part.part.step = step;
        tnd_recorder_sends(&recorder, &slice);
        tnd_recorder_sends(&recorder, &slice);
        tnd_recorder_sends(&recorder, &part);
        for (uint64_t before = tnd_clock_now(); tnd_clock_now() == before;)
            continue;
    }
    cr_assert_eq(take(), 6);
    cr_assert_gt(events[0].end_ns, 0);
    cr_assert_eq(events[2].end_ns, events[0].end_ns);
    cr_assert_gt(events[3].end_ns, events[0].end_ns);
    cr_assert_eq(events[5].end_ns, events[3].end_ns);
}

Test(recorder, events_end_in_order_whatever_times_are_set)
{
    tnd_msg_t block = block_of(0, 0);
    uint64_t seed = 1, last = 0;
    for (int i = 0; i < 300; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        tnd_recorder_time(&recorder, 1 + (seed >> 40));
        tnd_recorder_received(&recorder, &block, seed >> 33 & 1);
        tnd_recorder_sends(&recorder, &block);
    }
    size_t count = take();
    for (size_t e = 0; e < count; e++) {
        cr_assert_geq(events[e].end_ns, last);
        last = events[e].end_ns;
    }
}
