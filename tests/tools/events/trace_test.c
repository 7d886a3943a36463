/*  Covers tools/events/trace.h: slices nest and flows have two ends, whatever the events are. */
#include "tools/events/trace.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static tnd_event_entry_t entry(uint32_t instance, tnd_event_t event)
{
    static const char *const kinds[] = {"reader", "batcher", "feeder"};
    return (tnd_event_entry_t){.host = "local",
                               .actor = kinds[instance],
                               .family = kinds[instance],
                               .kind = kinds[instance],
                               .instance = instance,
                               .process = 1,
                               .event = event};
}

static void add(tnd_trace_t *trace, uint32_t instance, tnd_event_t event)
{
    tnd_event_entry_t made = entry(instance, event);
    tnd_trace_add(trace, &made);
}

static tnd_event_t span(tnd_event_kind_t kind, uint64_t begin, uint64_t end)
{
    return (tnd_event_t){.kind = (uint8_t)kind, .end_ns = end, .duration_ns = end - begin};
}

/*  Checks a finished trace; returns the number of slices. */
static size_t check(const tnd_trace_t *trace)
{
    enum { TRACKS = 8, DEEP = 4096 };
    static size_t open[TRACKS][DEEP];
    size_t depth[TRACKS] = {0}, slices = 0;
    for (size_t m = 0; m < trace->mark_count; m++) {
        const tnd_trace_mark_t *mark = &trace->marks[m];
        cr_assert(m == 0 || mark->at_ns >= trace->marks[m - 1].at_ns, "time goes forward");
        if (mark->type == TND_TRACE_BEGIN) {
            cr_assert_lt(depth[mark->track], DEEP);
            open[mark->track][depth[mark->track]++] = mark->item;
        } else if (mark->type == TND_TRACE_END) {
            cr_assert_gt(depth[mark->track], 0);
            cr_assert_eq(open[mark->track][--depth[mark->track]], mark->item, "slices nest");
            slices++;
        }
    }
    for (size_t t = 0; t < TRACKS; t++)
        cr_assert_eq(depth[t], 0);
    return slices;
}

/*  The number of events of flows that go through an item, or end there. */
static size_t flows_of(const tnd_trace_t *trace, size_t item, bool ends)
{
    const tnd_trace_flow_t *flows;
    size_t count = tnd_trace_flows(trace, item, &flows), found = 0;
    for (size_t f = 0; f < count; f++)
        found += flows[f].ends == ends;
    return found;
}

Test(trace, a_slice_that_began_earlier_contains_the_ones_before_it)
{
    tnd_trace_t trace = {0};
    add(&trace, 0, span(TND_EVENT_WAIT, 10, 20));
    add(&trace, 0, span(TND_EVENT_BLOCK_MADE, 22, 30));
    add(&trace, 0, span(TND_EVENT_WORK, 20, 30));
    tnd_trace_finish(&trace);
    cr_assert_eq(check(&trace), 3);
    static const size_t order[] = {0, 0, 2, 1, 1, 2};
    for (size_t m = 0; m < 6; m++)
        cr_assert_eq(trace.marks[m].item, order[m], "mark %zu", m);
    tnd_trace_free(&trace);
}

Test(trace, a_slice_that_would_overlap_begins_later)
{
    tnd_trace_t trace = {0};
    add(&trace, 0, span(TND_EVENT_WAIT, 10, 20));
    add(&trace, 0, span(TND_EVENT_WORK, 15, 30));
    tnd_trace_finish(&trace);
    cr_assert_eq(check(&trace), 2);
    cr_assert_eq(trace.marks[2].at_ns, 20);
    tnd_trace_free(&trace);
}

Test(trace, random_events_nest)
{
    srand(7);
    for (int round = 0; round < 200; round++) {
        tnd_trace_t trace = {0};
        size_t spans = 0;
        for (int e = 0; e < 100; e++) {
            uint64_t end = (uint64_t)(e + rand() % 7), size = (uint64_t)(rand() % 30);
            tnd_event_kind_t kind = (tnd_event_kind_t)(1 + rand() % (TND_EVENT_KINDS - 1));
            add(&trace, (uint32_t)(rand() % 3),
                (tnd_event_t){.kind = (uint8_t)kind,
                              .end_ns = end,
                              .duration_ns = size,
                              .first = (uint64_t)(rand() % 10),
                              .count = 3});
            spans += tnd_event_is_span(kind);
        }
        tnd_trace_finish(&trace);
        size_t slices = check(&trace);
        cr_assert(slices <= spans && (trace.mark_count == 100 + slices), "round %d", round);
        tnd_trace_free(&trace);
    }
}

Test(trace, a_block_is_followed_to_the_batch_that_takes_its_first_row)
{
    tnd_trace_t trace = {0};
    tnd_event_t ticket = {.kind = TND_EVENT_TICKET_SENT, .end_ns = 10, .first = 0, .count = 64};
    tnd_event_t made = ticket, sent = ticket, got = ticket, next = ticket;
    made.kind = TND_EVENT_BLOCK_MADE, made.end_ns = 20;
    sent.kind = TND_EVENT_BLOCK_SENT, sent.end_ns = 21;
    got.kind = TND_EVENT_BLOCK_RECEIVED, got.end_ns = 30;
    next.kind = TND_EVENT_BLOCK_RECEIVED, next.end_ns = 31, next.first = 64;
    tnd_event_t cut = {.kind = TND_EVENT_BATCH_CUT, .end_ns = 40, .first = 32, .duration_ns = 5};
    tnd_event_t run = {.kind = TND_EVENT_STEP_RUN, .end_ns = 50, .first = 5};
    tnd_event_t done = {.kind = TND_EVENT_STEP_COMMITTED, .end_ns = 60, .first = 5};
    add(&trace, 1, ticket);
    add(&trace, 0, made);
    add(&trace, 0, sent);
    add(&trace, 1, got);
    add(&trace, 1, next);
    add(&trace, 1, cut);
    add(&trace, 2, run);
    add(&trace, 2, done);
    tnd_trace_finish(&trace);
    for (size_t item = 0; item < 4; item++)
        cr_assert(flows_of(&trace, item, false) == 1 && flows_of(&trace, item, true) == 0);
    cr_assert(flows_of(&trace, 4, false) == 0 && flows_of(&trace, 4, true) == 0,
              "a flow of one event is left out");
    cr_assert(flows_of(&trace, 5, true) == 1, "the block ends in the batch");
    cr_assert(flows_of(&trace, 5, false) == 1, "where its step begins");
    cr_assert(flows_of(&trace, 6, false) == 1 && flows_of(&trace, 7, true) == 1);
    tnd_trace_free(&trace);
}

Test(trace, other_attempts_and_chains_are_other_flows)
{
    tnd_trace_t trace = {0};
    tnd_event_t ticket = {.kind = TND_EVENT_TICKET_SENT, .end_ns = 10, .count = 64};
    tnd_event_t again = ticket;
    again.attempt = 1;
    tnd_event_entry_t chain = entry(0, ticket);
    chain.chain = 1;
    add(&trace, 1, ticket);
    add(&trace, 1, again);
    tnd_trace_add(&trace, &chain);
    tnd_trace_finish(&trace);
    cr_assert_eq(trace.flow_count, 0);
    tnd_trace_free(&trace);
}

Test(trace, counters_are_in_order_with_events)
{
    tnd_trace_t trace = {0};
    tnd_event_entry_t of = entry(0, (tnd_event_t){0});
    tnd_trace_count(&trace, &of, TND_TRACE_QUEUE, 25, 7);
    add(&trace, 0, span(TND_EVENT_WAIT, 10, 20));
    add(&trace, 0, span(TND_EVENT_WAIT, 30, 40));
    tnd_trace_finish(&trace);
    cr_assert_eq(check(&trace), 2);
    cr_assert(trace.marks[2].type == TND_TRACE_QUEUE && trace.marks[2].value == 7);
    tnd_trace_free(&trace);
}
