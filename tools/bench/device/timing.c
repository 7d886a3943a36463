/*  tools/bench/device/timing.c - what it costs to measure a device: time a step, and the rate.
 *
 *  The same run on a simulated device, for steps of 20, 100 and 1,000 us, with and without what
 *  runtime/feed/device_workers_show.c publishes.  The linker replaces its functions by those below, which
 *  call them if `shows` and count the time of each call.  A call that was preempted counts as much as the
 *  median.  Usage: bench_timing [--smoke | RUNS] */
#include <stdio.h>
#include <stdlib.h>

#include <tundish/tundish.h>

#include "runtime/feed/device_workers_internal.h"
#include "tools/bench/bench.h"

enum { RUNS = 9, WARM = 100, CALLS_MOST = 1 << 20 };
static const double most_us = 2, least_rate = 0.99, preempted_ns = 20000;

static bool shows;
static _Atomic bool counts;
static double call_ns[CALLS_MOST];
static _Atomic size_t call_count;

void __real_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now);
void __wrap_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now);
uint64_t __real_tnd_copier_show(copier_t *self, bool any);
uint64_t __wrap_tnd_copier_show(copier_t *self, bool any);

static void count_call(uint64_t from)
{
    size_t call = counts ? call_count++ : CALLS_MOST;
    if (call < CALLS_MOST)
        call_ns[call] = (double)(tnd_clock_now() - from);
}

void __wrap_tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                                    uint64_t step, uint64_t now)
{
    uint64_t from = tnd_clock_now();
    if (shows)
        __real_tnd_device_workers_show(worker, state, replica, step, now);
    count_call(from);
}

/*  The copier needs the time also if it shows nothing. */
uint64_t __wrap_tnd_copier_show(copier_t *self, bool any)
{
    uint64_t from = tnd_clock_now();
    uint64_t now = shows ? __real_tnd_copier_show(self, any) : tnd_clock_now();
    count_call(from);
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

/*  Steps per second in the middle of a run. */
static double run(unsigned step_us, bool timed, uint64_t steps)
{
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = graph_of(step_us);
    shows = timed;
    call_count = 0;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        stop(tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    run_steps(session, feed, WARM);
    counts = true;
    uint64_t from = tnd_clock_now();
    run_steps(session, feed, steps);
    double seconds = (double)(tnd_clock_now() - from) * 1e-9;
    counts = false;
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return (double)steps / seconds;
}

/*  What the calls of the last run took in total, `empty_ns` of each being the clock's.  Their median is
 *  in *median_p. */
static double total_us(double empty_ns, double *median_p)
{
    size_t count = call_count < CALLS_MOST ? call_count : CALLS_MOST;
    double total = 0;
    *median_p = count > 0 ? bench_median(call_ns, count) : 0;
    for (size_t i = 0; i < count; i++)
        total += (call_ns[i] < preempted_ns ? call_ns[i] : *median_p) - empty_ns;
    return total * 1e-3;
}

static void compare(unsigned step_us, bench_wish_t wish)
{
    char name[64];
    double took[BENCH_PAIRS_MOST], empty_ns, median_ns;
    bench_pairs_t rate;
    uint64_t steps = wish.smoke ? 100 : 1000000 / step_us;
    (void)run(step_us, false, steps);
    (void)total_us(0, &empty_ns);
    for (int i = 0; i < wish.runs; i++) {
        if (i % 2 == 0)
            rate.bounds[i] = run(step_us, false, steps);
        rate.values[i] = run(step_us, true, steps);
        took[i] = total_us(empty_ns, &median_ns) / (double)steps;
        if (i % 2 != 0)
            rate.bounds[i] = run(step_us, false, steps);
    }
    double value = bench_median(took, (size_t)wish.runs);
    snprintf(name, sizeof name, "timing_step_%u_us", step_us);
    bench_print(name, value, step_us, value / step_us, most_us, value <= most_us);
    snprintf(name, sizeof name, "timing_step_%u_per_s", step_us);
    bench_print_pairs(name, &rate, wish.runs, least_rate);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    compare(20, wish);
    compare(100, wish);
    compare(1000, wish);
    return 0;
}
