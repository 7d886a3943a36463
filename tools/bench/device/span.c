/*  tools/bench/device/span.c - what a step costs a program beside its own work: one line of JSON each.
 *
 *  tnd_feed_run_steps runs 100 steps at a time of four replicas on two devices; a replica's step is
 *  a loop of some 20 us.  The bound is two plain threads that run the same loops.
 *  Usage: bench_span [--smoke | RUNS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tundish/tundish.h>

#include "tools/bench/bench.h"

enum { REPLICAS = 4, DEVICES = 2, SPAN = 100, WARM_SPANS = 10, LOOPS = 20000 };
static const double most_more_us = 2;

typedef struct {
    uint64_t spans;
    bool posts;            /* each step posts a number */
    double sums[REPLICAS]; /* of which the sum is made */
} job_t;

static void stop(const char *why)
{
    fprintf(stderr, "bench_span: %s\n", why);
    exit(1);
}

/*  The work of a replica: 20,000 dependent steps of a generator, which no compiler shortens. */
static uint64_t work(uint64_t seed)
{
    for (int i = 0; i < LOOPS; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        __asm__ volatile("" : "+r"(seed));
    }
    return seed;
}

static tnd_status_t number(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                           tnd_error_t *error)
{
    (void)user, (void)error;
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
    return TND_OK;
}

static tnd_status_t step(tnd_replica_t *replica, void *user)
{
    job_t *job = user;
    const uint64_t *row = tnd_replica_column(replica, "number");
    double *sum = &job->sums[tnd_replica_id(replica)];
    *sum = (double)work(*row + 1);
    return job->posts ? tnd_replica_reduce(replica, "sum", TND_SUM, TND_F64, sum, 1) : TND_OK;
}

static void run_spans(tnd_feed_t *feed, job_t *job, uint64_t spans)
{
    for (uint64_t i = 0; i < spans; i++) {
        uint64_t ran = 0;
        if (tnd_feed_run_steps(feed, SPAN, &ran, step, NULL, job) != TND_OK || ran != SPAN)
            stop("the run ended early");
    }
}

/*  Microseconds a step. */
static double ours(job_t *job)
{
    tnd_schema_t schema = {0};
    if (tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) != TND_OK)
        stop("the column cannot be made");
    tnd_graph_t *graph = tnd_graph_new("span", 7);
    tnd_graph_callback(graph, "numbers", &schema, REPLICAS * SPAN * (job->spans + 2 * WARM_SPANS),
                       TND_SOURCE_RANDOM, number, NULL);
    tnd_graph_add(graph, "read", "reader", "source: numbers");
    tnd_graph_add(graph, "batch", "batcher", "size: 4, replicas: 4");
    tnd_graph_add(graph, "feed", "feeder", "devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(graph, "sum", "reducer", NULL);
    tnd_graph_link(graph, "read -> batch -> feed <-> sum");
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        stop(tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    if (feed == NULL)
        stop(tnd_session_error(session));
    run_spans(feed, job, WARM_SPANS);
    uint64_t from = tnd_clock_now();
    run_spans(feed, job, job->spans);
    double us = (double)(tnd_clock_now() - from) * 1e-3 / (double)(job->spans * SPAN);
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return us;
}

static void *work_alone(void *argument)
{
    const job_t *job = argument;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < job->spans * SPAN * (REPLICAS / DEVICES); i++)
        sum += work(i + 1);
    __asm__ volatile("" : : "r"(sum));
    return NULL;
}

static double plain(job_t *job)
{
    pthread_t threads[DEVICES];
    uint64_t from = tnd_clock_now();
    for (int i = 0; i < DEVICES; i++)
        if (pthread_create(&threads[i], NULL, work_alone, job) != 0)
            stop("no thread can be started");
    for (int i = 0; i < DEVICES; i++)
        pthread_join(threads[i], NULL);
    return (double)(tnd_clock_now() - from) * 1e-3 / (double)(job->spans * SPAN);
}

static void compare(const char *bench, bench_wish_t wish, bool posts)
{
    bench_pairs_t pairs;
    double more[BENCH_PAIRS_MOST];
    job_t job = {.spans = wish.smoke ? 2 : 100, .posts = posts};
    for (int i = 0; i < wish.runs; i++) {
        BENCH_PAIR(&pairs, i, ours(&job), plain(&job));
        more[i] = pairs.values[i] - pairs.bounds[i];
    }
    double bound = bench_median(pairs.bounds, (size_t)wish.runs);
    double value = bench_median(more, (size_t)wish.runs);
    if (posts)
        bench_show(bench, value, bound, value / bound);
    else
        bench_print(bench, value, bound, value / bound, most_more_us, value <= most_more_us);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, 9);
    compare("span_step_more_us", wish, false);
    compare("span_posted_step_more_us", wish, true);
    return 0;
}
