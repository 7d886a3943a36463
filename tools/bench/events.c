/*  tools/bench/events.c - what recording an event costs: at most 20 ns.  The bound is storing its 32
 *  bytes in an array of the same size.  Usage: bench_events [--smoke | RUNS] */
#include "runtime/observe/event_ring.h"
#include "tools/bench/bench.h"

enum { RUNS = 9, EVENTS = 20000000, SMOKE_EVENTS = 200000 };

static tnd_event_ring_t ring;
static volatile uint64_t plain[TND_RING_EVENTS][4];

static double record(uint64_t count)
{
    uint64_t began = tnd_clock_now();
    for (uint64_t i = 0; i < count; i++) {
        tnd_event_t event = {
            .kind = TND_EVENT_BLOCK_SENT, .end_ns = began + i, .first = i, .count = (uint32_t)i};
        tnd_event_ring_add(&ring, &event);
    }
    return (double)(tnd_clock_now() - began) / (double)count;
}

static double record_with_clock(uint64_t count)
{
    uint64_t began = tnd_clock_now();
    for (uint64_t i = 0; i < count; i++) {
        tnd_event_t event = {.kind = TND_EVENT_BLOCK_SENT, .end_ns = tnd_clock_now(), .first = i};
        tnd_event_ring_add(&ring, &event);
    }
    return (double)(tnd_clock_now() - began) / (double)count;
}

static double store(uint64_t count)
{
    uint64_t began = tnd_clock_now();
    for (uint64_t i = 0; i < count; i++)
        for (unsigned w = 0; w < 4; w++)
            plain[i % TND_RING_EVENTS][w] = began + i;
    return (double)(tnd_clock_now() - began) / (double)count;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    uint64_t count = wish.smoke ? SMOKE_EVENTS : EVENTS;
    double events[RUNS], timed[RUNS], stores[RUNS];
    for (int i = 0; i < wish.runs; i++) {
        events[i] = record(count);
        timed[i] = record_with_clock(count);
        stores[i] = store(count);
    }
    double value = bench_median(events, (size_t)wish.runs);
    double clock = bench_median(timed, (size_t)wish.runs);
    double bound = bench_median(stores, (size_t)wish.runs);
    bench_print("event_ns", value, bound, value / bound, 20, value <= 20);
    bench_show("event_with_clock_ns", clock, bound, clock / bound);
    return 0;
}
