/*  Covers tools/events/hops.h: the way of a position, from made-up events. */
#include "tools/events/hops.h"

#include <criterion/criterion.h>

static tnd_event_t block(tnd_event_kind_t kind, uint64_t first, uint32_t count)
{
    return (tnd_event_t){
        .kind = (uint8_t)kind, .first = first, .count = count, .lane = 1, .epoch = 3};
}

static tnd_event_t cut(uint64_t first, uint16_t epoch, uint64_t step)
{
    return (tnd_event_t){.kind = TND_EVENT_BATCH_CUT,
                         .first = first,
                         .lane = 1,
                         .epoch = epoch,
                         .duration_ns = step};
}

static tnd_event_t of_step(tnd_event_kind_t kind, uint64_t step)
{
    return (tnd_event_t){.kind = (uint8_t)kind, .first = step, .lane = 1};
}

static bool takes(tnd_hops_t *hops, tnd_event_t event)
{
    return tnd_hops_take(hops, &event, false);
}

static bool joins(tnd_hops_t *hops, tnd_event_t event)
{
    return tnd_hops_take(hops, &event, true);
}

/*  Of a position that a batcher has. */
static tnd_hops_t joined(uint64_t position)
{
    tnd_hops_t hops = {.position = position};
    cr_assert(joins(&hops, block(TND_EVENT_TICKET_SENT, 0, 100)));
    cr_assert(joins(&hops, block(TND_EVENT_BLOCK_RECEIVED, 0, 100)));
    return hops;
}

Test(hops, a_position_is_followed_from_its_ticket_to_its_commit)
{
    tnd_hops_t hops = {.position = 40};
    cr_assert_not(takes(&hops, block(TND_EVENT_BLOCK_MADE, 0, 64)), "it begins with a ticket");
    cr_assert(joins(&hops, block(TND_EVENT_TICKET_SENT, 32, 32)));
    cr_assert(takes(&hops, block(TND_EVENT_TICKET_RECEIVED, 32, 32)));
    cr_assert(takes(&hops, block(TND_EVENT_BLOCK_MADE, 32, 9)));
    cr_assert_not(takes(&hops, block(TND_EVENT_BLOCK_MADE, 41, 23)), "the position after it");
    cr_assert_not(takes(&hops, block(TND_EVENT_BLOCK_SENT, 32, 8)), "the position before it");
    cr_assert(takes(&hops, block(TND_EVENT_BLOCK_SENT, 32, 9)));
    cr_assert_not(joins(&hops, cut(64, 3, 6)), "no batcher has it yet");
    cr_assert(joins(&hops, block(TND_EVENT_BLOCK_RECEIVED, 32, 9)));
    cr_assert_not(joins(&hops, cut(40, 3, 6)), "this batch ends before it");
    cr_assert_not(takes(&hops, of_step(TND_EVENT_SLICE_SENT, 7)), "its step is not known yet");
    cr_assert(joins(&hops, cut(41, 3, 7)));
    cr_assert_not(joins(&hops, cut(80, 3, 8)), "the next batch");
    cr_assert_not(takes(&hops, of_step(TND_EVENT_SLICE_SENT, 6)));
    cr_assert(takes(&hops, of_step(TND_EVENT_SLICE_SENT, 7)));
    cr_assert(takes(&hops, of_step(TND_EVENT_SLICE_RECEIVED, 7)));
    cr_assert(takes(&hops, of_step(TND_EVENT_STEP_RUN, 7)));
    cr_assert_not(takes(&hops, of_step(TND_EVENT_STEP_COMMITTED, 6)));
    cr_assert_not(hops.committed);
    cr_assert(takes(&hops, of_step(TND_EVENT_STEP_COMMITTED, 7)));
    cr_assert(hops.committed);
}

Test(hops, other_lanes_and_epochs_are_left_out)
{
    tnd_hops_t hops = joined(40);
    tnd_event_t lane = block(TND_EVENT_BLOCK_SENT, 0, 100);
    tnd_event_t epoch = lane, other = cut(64, 3, 7), early = cut(10, 2, 7);
    lane.lane = 0;
    epoch.epoch = 4;
    other.lane = 0;
    cr_assert_not(takes(&hops, lane));
    cr_assert_not(takes(&hops, epoch));
    cr_assert_not(takes(&hops, other));
    cr_assert_not(takes(&hops, early), "of the epoch before");
    cr_assert_not(hops.cut);
}

Test(hops, the_last_batch_of_an_epoch_ends_in_the_next_one)
{
    tnd_hops_t hops = joined(99);
    cr_assert(takes(&hops, cut(0, 4, 3)));
    cr_assert_eq(hops.step, 3);
    hops = joined(99);
    hops.epoch = UINT16_MAX;
    cr_assert(takes(&hops, cut(0, 0, 4)), "epochs have 16 bits");
}

Test(hops, attempts_are_shown_too)
{
    tnd_hops_t hops = {.position = 40};
    tnd_event_t again = block(TND_EVENT_TICKET_SENT, 40, 1);
    again.attempt = 1;
    cr_assert(takes(&hops, block(TND_EVENT_TICKET_SENT, 0, 64)));
    cr_assert(takes(&hops, again));
}

Test(hops, a_way_whose_beginning_is_missing_is_shown_on_request_only)
{
    tnd_hops_t hops = {.position = 40};
    cr_assert_not(joins(&hops, block(TND_EVENT_BLOCK_RECEIVED, 0, 64)));
    cr_assert_not(hops.found);
    hops.partial = true;
    cr_assert(joins(&hops, block(TND_EVENT_BLOCK_RECEIVED, 0, 64)));
    cr_assert(takes(&hops, cut(64, 3, 7)), "also without the hops before it");
    cr_assert(takes(&hops, of_step(TND_EVENT_STEP_COMMITTED, 7)));
}

Test(hops, the_step_is_found_although_its_batch_was_missed_until_the_next_one)
{
    /* The batch that took it was not recorded: the next one that ends after it is taken for it. */
    tnd_hops_t hops = joined(40);
    cr_assert(takes(&hops, cut(96, 3, 8)));
    cr_assert_eq(hops.step, 8);
}

Test(hops, other_events_and_positions_past_the_largest_are_not_hops)
{
    tnd_hops_t hops = joined(40);
    tnd_event_t wait = {.kind = TND_EVENT_WAIT, .first = 40, .count = 1, .lane = 1, .epoch = 3};
    cr_assert_not(takes(&hops, wait));
    cr_assert_not(takes(&hops, block(TND_EVENT_BLOCK_SENT, 0, 0)), "a block of no positions");
    cr_assert_not(takes(&hops, block(TND_EVENT_BLOCK_SENT, UINT64_MAX - 10, 100)),
                  "its end does not wrap around");
}

/*  Its place is known before its ticket, so later events alone are enough. */
Test(hops, a_position_whose_step_is_known_is_followed_from_any_event)
{
    tnd_hops_t hops = {
        .position = 40, .lane = 1, .epoch = 3, .placed = true, .cut = true, .step = 7};
    tnd_event_t other = block(TND_EVENT_BLOCK_MADE, 32, 32);
    other.epoch = 2;
    cr_assert_not(takes(&hops, other), "another epoch");
    other.epoch = 3;
    other.lane = 0;
    cr_assert_not(takes(&hops, other), "another lane");
    cr_assert(takes(&hops, block(TND_EVENT_BLOCK_MADE, 32, 32)));
    cr_assert_not(joins(&hops, cut(41, 3, 6)), "another step");
    cr_assert(joins(&hops, cut(41, 3, 7)));
    cr_assert_not(takes(&hops, of_step(TND_EVENT_STEP_COMMITTED, 8)));
    cr_assert_not(hops.committed);
    cr_assert(takes(&hops, of_step(TND_EVENT_STEP_COMMITTED, 7)));
    cr_assert(hops.committed);
}

Test(hops, what_a_device_does_before_the_first_row_is_not_of_step_0)
{
    tnd_hops_t hops = {.lane = 1, .epoch = 3, .placed = true, .cut = true};
    cr_assert_not(takes(&hops, of_step(TND_EVENT_STEP_RUN, 0)));
    cr_assert(takes(&hops, block(TND_EVENT_TICKET_SENT, 0, 32)));
    cr_assert(takes(&hops, of_step(TND_EVENT_STEP_RUN, 0)));
}
