/*  tools/bench/reduce/reduction.c - sums and means of 2, 4 and 8 replicas on two devices of a process: at
 *  least 0.8 of two plain threads that read and write all arrays, by processor time.
 *
 *  Each replica posts 100 MB in a step.  Processor time of all threads from before the step until
 *  `apply` has run; the bound in turn, on the same arrays.  Usage: bench_reduction [--smoke | STEPS] */
#include <tundish/tundish.h>

#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"
#include "tools/bench/reduce/reduction_loop.h"

enum { STEPS = 7, MOST = 8 };

static const size_t all_bytes = 100000000, smoke_bytes = 1000000;
static const double goal = 0.8;

typedef struct {
    void *arrays[MOST];
    size_t elements;
    tnd_reduce_t reduce;
    tnd_dtype_t dtype;
} bench_arrays_t;

static tnd_status_t post(tnd_replica_t *replica, void *user)
{
    bench_arrays_t *self = user;
    return tnd_replica_reduce(replica, "mean", self->reduce, self->dtype,
                              self->arrays[tnd_replica_id(replica)], self->elements);
}

static tnd_status_t end(tnd_replica_t *replica, void *user)
{
    (void)replica;
    (void)user;
    return TND_OK;
}

static tnd_graph_t *make_graph(unsigned replicas, const float *rows, uint64_t count)
{
    char batch[64];
    snprintf(batch, sizeof batch, "size: %u, replicas: %u", replicas, replicas);
    tnd_graph_t *graph = tnd_graph_new("reduction", 7);
    tnd_graph_add(graph, "read", "reader", "source: memory");
    tnd_graph_array(graph, "read", "x", TND_F32, 1, &count, rows);
    tnd_graph_add(graph, "batch", "batcher", batch);
    tnd_graph_add(graph, "feed", "feeder", "devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    return graph;
}

static double plain(const bench_arrays_t *arrays, unsigned replicas)
{
    double began = bench_cpu_seconds();
    bench_reduction_loop(arrays->arrays, replicas, arrays->elements, arrays->reduce == TND_MEAN,
                         arrays->dtype == TND_BF16);
    return (double)replicas * 1e-9 / (bench_cpu_seconds() - began);
}

static double ours(tnd_feed_t *feed, bench_arrays_t *arrays, unsigned replicas)
{
    double began = bench_cpu_seconds();
    if (tnd_feed_run(feed, post, end, arrays) != TND_OK)
        exit(1);
    return (double)replicas * 1e-9 / (bench_cpu_seconds() - began);
}

/*  Arrays per second, in units of their bytes: GB/s of processor time. */
static void measure(bench_arrays_t *arrays, unsigned replicas, size_t bytes, int steps)
{
    uint64_t count = (uint64_t)(steps + 1) * replicas;
    float *rows = tnd_allocate_zeroed(count, sizeof *rows);
    bench_pairs_t pairs;
    char name[64];
    tnd_graph_t *graph = make_graph(replicas, rows, count);
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK) {
        fprintf(stderr, "%s\n", tnd_graph_errors(graph));
        exit(1);
    }
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    arrays->elements = bytes / (arrays->dtype == TND_F32 ? 4 : 2);
    for (int at = -1; tnd_feed_next(feed) == TND_OK; at++) {
        if (at < 0)
            (void)ours(feed, arrays, replicas);
        else
            BENCH_PAIR(&pairs, at, (double)bytes * ours(feed, arrays, replicas),
                       (double)bytes * plain(arrays, replicas));
    }
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    free(rows);
    snprintf(name, sizeof name, "reduction_%s_%s_%u_gbytes_per_cpu_s",
             arrays->reduce == TND_MEAN ? "mean" : "sum", arrays->dtype == TND_F32 ? "f32" : "bf16",
             replicas);
    bench_print_pairs(name, &pairs, steps, goal);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, STEPS);
    size_t bytes = wish.smoke ? smoke_bytes : all_bytes;
    bench_arrays_t arrays;
    for (unsigned r = 0; r < MOST; r++)
        arrays.arrays[r] = tnd_allocate_zeroed(1, bytes);
    for (unsigned replicas = 2; replicas <= MOST; replicas *= 2)
        for (int what = 0; what < 4; what++) {
            arrays.reduce = what % 2 ? TND_MEAN : TND_SUM;
            arrays.dtype = what / 2 ? TND_BF16 : TND_F32;
            measure(&arrays, replicas, bytes, wish.runs);
        }
    for (unsigned r = 0; r < MOST; r++)
        free(arrays.arrays[r]);
    return 0;
}
