/*  tools/bench/device/timing.c - what it costs to measure a device: time a step, and the rate.
 *
 *  A run on a simulated device, for steps of 20, 50 and 120 us, publishes what
 *  runtime/feed/device_workers_show.c measures in every second block of steps.  The linker replaces its
 *  functions by those below, which call them if `shows` and count the time of each call.  A call that was
 *  preempted counts as much as the median.  Other work of the machine only makes blocks slower: rates are
 *  those of the fastest tenth of them, and two halves of the blocks without measuring show the noise.
 *  Usage: bench_timing [--smoke | PAIRS OF BLOCKS] */
#include <stdio.h>
#include <stdlib.h>

#include <tundish/tundish.h>

#include "runtime/feed/device_workers_internal.h"
#include "tools/bench/bench.h"

enum { PAIRS = 400, WARM = 100, BLOCK_US = 5000, CALLS_MOST = 1 << 20 };
static const double most_us = 2, least_rate = 0.99, preempted_ns = 20000;

static _Atomic bool shows, counts;
static double call_ns[2][CALLS_MOST]; /* of calls that publish nothing, and of those that do */
static _Atomic size_t call_count[2];

void __real_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now);
void __wrap_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now);
uint64_t __real_tnd_copier_show(copier_t *self, bool any);
uint64_t __wrap_tnd_copier_show(copier_t *self, bool any);

static void count_call(bool showed, uint64_t from)
{
    size_t call = counts ? call_count[showed]++ : CALLS_MOST;
    if (call < CALLS_MOST)
        call_ns[showed][call] = (double)(tnd_clock_now() - from);
}

void __wrap_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now)
{
    bool show = shows;
    uint64_t from = tnd_clock_now();
    if (show)
        __real_tnd_device_workers_show(worker, state, replica, step, now);
    count_call(show, from);
}

/*  The copier needs the time also if it shows nothing. */
uint64_t __wrap_tnd_copier_show(copier_t *self, bool any)
{
    bool show = shows;
    uint64_t from = tnd_clock_now();
    uint64_t now = show ? __real_tnd_copier_show(self, any) : tnd_clock_now();
    count_call(show, from);
    return now;
}

static tnd_status_t number(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                           tnd_error_t *error)
{
    (void)user, (void)error;
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
    return TND_OK;
}

static tnd_status_t post_nothing(tnd_replica_t *replica, void *user)
{
    (void)replica, (void)user;
    return TND_OK;
}

static void stop(const char *why)
{
    fprintf(stderr, "bench_timing: %s\n", why);
    exit(1);
}

static tnd_graph_t *graph_of(unsigned step_us)
{
    char feeder[256];
    tnd_schema_t schema = {0};
    tnd_graph_t *graph = tnd_graph_new("timing", 7);
    if (tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) != TND_OK)
        stop("the column cannot be made");
    tnd_graph_callback(graph, "numbers", &schema, 1 << 24, TND_SOURCE_RANDOM, number, NULL);
    snprintf(feeder, sizeof feeder,
             "depth: 4, digest: false, devices: [\"sim:0\"], "
             "sim: {to_device: 1000MB/s, latency: 1us, step: %uus}",
             step_us);
    tnd_graph_add(graph, "read", "reader", "source: numbers");
    tnd_graph_add(graph, "batch", "batcher", "size: 1");
    tnd_graph_add(graph, "feed", "feeder", feeder);
    tnd_graph_link(graph, "read -> batch -> feed");
    return graph;
}

static void run_steps(tnd_session_t *session, tnd_feed_t *feed, uint64_t steps)
{
    for (uint64_t step = 0; step < steps; step++)
        if (feed == NULL || tnd_feed_next(feed) != TND_OK ||
            tnd_feed_run(feed, post_nothing, NULL, NULL) != TND_OK)
            stop(tnd_session_error(session));
}

/*  What blocks of steps took, without and with measuring. */
typedef struct {
    double seconds[2][PAIRS], cpu_us[2][PAIRS];
    size_t count;
} blocks_t;

static void run_block(tnd_session_t *session, tnd_feed_t *feed, uint64_t steps, bool timed,
                      blocks_t *blocks)
{
    shows = timed;
    uint64_t from = tnd_clock_now();
    double cpu = bench_cpu_seconds();
    run_steps(session, feed, steps);
    blocks->seconds[timed][blocks->count] = (double)(tnd_clock_now() - from) * 1e-9;
    blocks->cpu_us[timed][blocks->count] = (bench_cpu_seconds() - cpu) * 1e6 / (double)steps;
}

/*  Which one of a pair is first changes: what a block leaves to do delays the next one. */
static void run(unsigned step_us, uint64_t steps, size_t pairs, blocks_t *blocks)
{
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = graph_of(step_us);
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        stop(tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    run_steps(session, feed, WARM);
    call_count[0] = call_count[1] = 0;
    counts = true;
    for (blocks->count = 0; blocks->count < pairs; blocks->count++) {
        bool first = (blocks->count * 2654435761u >> 16 & 1) != 0;
        run_block(session, feed, steps, first, blocks);
        run_block(session, feed, steps, !first, blocks);
    }
    counts = false;
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
}

static double median_call(bool showed)
{
    return call_count[showed] > 0 ? bench_median(call_ns[showed], call_count[showed]) : 0;
}

/*  What the calls that published took in a step, without the time of the clock. */
static double spent_us(uint64_t steps)
{
    double empty_ns = median_call(false), median_ns = median_call(true), total = 0;
    for (size_t i = 0; i < call_count[true]; i++)
        total += (call_ns[true][i] < preempted_ns ? call_ns[true][i] : median_ns) - empty_ns;
    return total * 1e-3 / (double)steps;
}

/*  The seconds of the fastest tenth of the blocks `from`, `from` + `every` ... */
static double fast(const double *seconds, size_t count, size_t from, size_t every)
{
    static double some[PAIRS];
    size_t used = 0;
    for (size_t i = from; i < count; i += every)
        some[used++] = seconds[i];
    (void)bench_median(some, used);
    return some[used / 10];
}

static void compare(unsigned step_us, bench_wish_t wish)
{
    static blocks_t blocks;
    char name[64];
    uint64_t steps = wish.smoke ? 10 : BLOCK_US / step_us;
    run(step_us, steps, wish.smoke ? 2 : (size_t)wish.runs, &blocks);
    size_t count = blocks.count;
    if (call_count[false] > CALLS_MOST || call_count[true] > CALLS_MOST)
        stop("too many calls were made");
    double value = spent_us(steps * count);
    snprintf(name, sizeof name, "timing_step_%u_us", step_us);
    bench_print(name, value, step_us, value / step_us, most_us, value <= most_us);
    double with = (double)steps / fast(blocks.seconds[1], count, 0, 1);
    double without = (double)steps / fast(blocks.seconds[0], count, 0, 1);
    snprintf(name, sizeof name, "timing_step_%u_per_s", step_us);
    bench_print(name, with, without, with / without, least_rate, with >= least_rate * without);
    double noise = fast(blocks.seconds[0], count, 0, 2) / fast(blocks.seconds[0], count, 1, 2);
    snprintf(name, sizeof name, "timing_step_%u_noise", step_us);
    bench_show(name, noise, 1, noise);
    double cpu = bench_median(blocks.cpu_us[1], count),
           bare = bench_median(blocks.cpu_us[0], count);
    snprintf(name, sizeof name, "timing_step_%u_cpu_us", step_us);
    bench_show(name, cpu, bare, cpu / bare);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    compare(20, wish);
    compare(50, wish);
    compare(120, wish);
    return 0;
}
