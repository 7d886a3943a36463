/*  tools/bench/device/overlap.c - whether copies to a device overlap with the steps before them: a simulated
 *  device whose copy takes half as long as a step, as long, and twice as long, at depth 2.  The
 *  bound is the longer of the two.  Usage: bench_overlap [--smoke | RUNS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tundish/tundish.h>

#include "runtime/base/clock.h"
#include "tools/bench/bench.h"

enum { RUNS = 5, STEPS = 400, STEPS_SMOKE = 20, ROW_BYTES = 100000, STEP_US = 2000 };

static tnd_status_t post_nothing(tnd_replica_t *replica, void *user)
{
    (void)replica, (void)user;
    return TND_OK;
}

static void stop(const char *why)
{
    fprintf(stderr, "bench_overlap: %s\n", why);
    exit(1);
}

/*  Rows of a small mapped file: making a batch takes hardly any time. */
static tnd_graph_t *graph_of(uint64_t copy_us)
{
    char feeder[256];
    /* Bytes per microsecond are MB per second. */
    snprintf(feeder, sizeof feeder,
             "depth: 2, digest: false, devices: [\"sim:0\"], "
             "sim: {to_device: %.6fMB/s, latency: 1us, step: %dus}",
             (double)ROW_BYTES / (double)copy_us, STEP_US);
    tnd_graph_t *graph = tnd_graph_new("overlap", 7);
    char reader[256];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: /tmp/tundish-overlap-%ld, columns: {x: \"u8[%d]\"}}}, "
             "epochs: 1000000",
             (long)getpid(), ROW_BYTES);
    tnd_graph_add(graph, "read", "reader", reader);
    tnd_graph_add(graph, "batch", "batcher", "size: 1");
    tnd_graph_add(graph, "feed", "feeder", feeder);
    tnd_graph_link(graph, "read -> batch -> feed");
    return graph;
}

/*  Microseconds per step, in the middle of a run. */
static double run(uint64_t copy_us, uint64_t steps)
{
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = graph_of(copy_us);
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        stop(tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    uint64_t begun = 0;
    for (uint64_t step = 0; step < steps + 10; step++) {
        if (step == 10)
            begun = tnd_clock_now();
        if (feed == NULL || tnd_feed_next(feed) != TND_OK ||
            tnd_feed_run(feed, post_nothing, NULL, NULL) != TND_OK)
            stop(tnd_session_error(session));
    }
    double took_us = (double)(tnd_clock_now() - begun) * 1e-3 / (double)steps;
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return took_us;
}

static void compare(const char *name, uint64_t copy_us, int runs, uint64_t steps)
{
    double took[RUNS], longer = copy_us > STEP_US ? (double)copy_us : STEP_US;
    for (int i = 0; i < runs; i++)
        took[i] = run(copy_us, steps);
    double median = bench_median(took, (size_t)runs);
    bench_print(name, median, longer, median / longer, 1.05, median <= 1.05 * longer);
}

int main(int argc, char **argv)
{
    char path[64];
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    uint64_t steps = wish.smoke ? STEPS_SMOKE : STEPS;
    snprintf(path, sizeof path, "/tmp/tundish-overlap-%ld", (long)getpid());
    FILE *out = fopen(path, "w");
    static char rows[20 * ROW_BYTES];
    if (out == NULL || fwrite(rows, 1, sizeof rows, out) != sizeof rows || fclose(out) != 0)
        stop("cannot write a file in /tmp");
    compare("overlap_copy_half_us", STEP_US / 2, wish.runs, steps);
    compare("overlap_copy_equal_us", STEP_US, wish.runs, steps);
    compare("overlap_copy_twice_us", 2 * STEP_US, wish.runs, steps);
    unlink(path);
    return 0;
}
