/*  tools/bench/events.c - what recording an event costs: at most 20 ns; and what the histograms of an
 *  actor cost per block: at most 100 ns.  The bounds are storing the 32 bytes of an event in an array
 *  of the same size, and recording the events of a block.  Usage: bench_events [--smoke | RUNS] */
#include "runtime/core/protocol/effect.h"
#include "runtime/observe/recorder.h"
#include "tools/bench/bench.h"

enum { RUNS = 9, EVENTS = 20000000, SMOKE_EVENTS = 200000, EVENTS_OF_A_BLOCK = 5 };

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

/*  All that an actor records of a block, ns per block; every other time it waits for room. */
static double pass_blocks(tnd_timing_t *timing, uint64_t count)
{
    static tnd_recorder_t recorder;
    recorder = (tnd_recorder_t){.ring = &ring, .timing = timing};
    uint64_t began = tnd_clock_now();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t now = began + 3000 * i;
        tnd_msg_t block = {.kind = TND_MSG_BLOCK, .from = 1, .to = 2, .block = {.first = 64 * i}};
        tnd_recorder_wakes(&recorder, now);
        tnd_recorder_received(&recorder, &block, true);
        uint64_t events = tnd_recorder_count(&recorder);
        tnd_recorder_time(&recorder, now + 1500);
        tnd_recorder_made(&recorder, &block, 1000 + i % 1024);
        tnd_recorder_sends(&recorder, &block);
        tnd_recorder_work(&recorder, now + 100, now + 1600 + i % 512, events);
        tnd_recorder_waits(&recorder, i % 2 == 0 ? TND_WAIT_INPUT : TND_WAIT_CREDIT, now + 2500);
    }
    return (double)(tnd_clock_now() - began) / (double)count;
}

static void measure_blocks(const bench_wish_t *wish, uint64_t count)
{
    static tnd_timing_t timing;
    double more[RUNS], without[RUNS];
    for (int i = 0; i < wish->runs; i++) {
        without[i] = pass_blocks(NULL, count);
        more[i] = pass_blocks(&timing, count) - without[i];
    }
    double value = bench_median(more, (size_t)wish->runs);
    double bound = bench_median(without, (size_t)wish->runs);
    bench_print("block_times_ns", value, bound, value / bound, 100, value <= 100);
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
    measure_blocks(&wish, count / EVENTS_OF_A_BLOCK);
    return 0;
}
