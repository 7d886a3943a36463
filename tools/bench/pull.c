/*  tools/bench/pull.c - the cost of a step in a user's own loop: one line of JSON.
 *
 *  Pulls steps of shuffled rows of a mapped file by tnd_feed_next and tnd_feed_run and reads a word
 *  of each row.  It prints wall time, processor time of all threads and context switches per step;
 *  the same for a plain loop that copies the rows by a permutation made beforehand; and the time to
 *  hash the copied bytes.  The first steps are not counted.
 *  Usage: bench_pull FILE ROW_BYTES BATCH STEPS DIGEST [FEEDER_OPTIONS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <tundish/tundish.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/data/mapping.h"
#include "tools/bench/gather_loop.h"

typedef struct {
    const char *path, *digest, *more;
    size_t row_bytes, batch;
    uint64_t steps, warm;
} question_t;

typedef struct {
    double us, cpu_us, switches;
} answer_t;

/*  A time, and the resources used until then. */
typedef struct {
    uint64_t at_ns;
    double cpu_seconds;
    long switches;
} moment_t;

static moment_t now(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (moment_t){tnd_clock_now(), bench_cpu_seconds(), used.ru_nvcsw + used.ru_nivcsw};
}

static answer_t between(const moment_t *from, const moment_t *to, uint64_t steps)
{
    return (answer_t){
        .us = (double)(to->at_ns - from->at_ns) * 1e-3 / (double)steps,
        .cpu_us = (to->cpu_seconds - from->cpu_seconds) * 1e6 / (double)steps,
        .switches = (double)(to->switches - from->switches) / (double)steps,
    };
}

/*  The step: reads the first byte of each row. */
static tnd_status_t look(tnd_replica_t *replica, void *user)
{
    const question_t *question = user;
    const uint8_t *rows = tnd_replica_column(replica, "x");
    unsigned sum = 0;
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        sum += rows[i * question->row_bytes];
    __asm__ volatile("" : : "r"(sum));
    return TND_OK;
}

static void stop(const char *why)
{
    fprintf(stderr, "bench_pull: %s\n", why);
    exit(1);
}

static void pull(tnd_feed_t *feed, question_t *question, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        if (tnd_feed_next(feed) != TND_OK || tnd_feed_run(feed, look, NULL, question) != TND_OK)
            stop("the run ended early");
}

static answer_t ours(question_t *question)
{
    char reader[512], batcher[64], feeder[256];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: \"%s\", columns: {x: \"u8[%zu]\"}}}, shuffle: global, "
             "epochs: 1000000",
             question->path, question->row_bytes);
    snprintf(batcher, sizeof batcher, "size: %zu", question->batch);
    snprintf(feeder, sizeof feeder, "digest: %s%s%s", question->digest,
             question->more[0] != '\0' ? ", " : "", question->more);
    tnd_graph_t *graph = tnd_graph_new("pull", 7);
    tnd_graph_add(graph, "read", "reader", reader);
    tnd_graph_add(graph, "batch", "batcher", batcher);
    tnd_graph_add(graph, "feed", "feeder", feeder);
    tnd_graph_link(graph, "read -> batch -> feed");
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        stop(tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    if (feed == NULL)
        stop(tnd_session_error(session));
    pull(feed, question, question->warm);
    moment_t from = now();
    pull(feed, question, question->steps);
    moment_t to = now();
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return between(&from, &to, question->steps);
}

/*  The order changes after each pass over the file. */
static answer_t bare(const question_t *question, answer_t *hashed)
{
    tnd_mapping_t *mapping;
    tnd_error_t error;
    if (tnd_mapping_open(&mapping, question->path, &error) != TND_OK)
        stop(error.text);
    const uint8_t *rows = tnd_mapping_data(mapping);
    size_t bytes = question->row_bytes, count = tnd_mapping_size(mapping) / bytes;
    size_t batch = question->batch, at = 0;
    if (batch > count)
        stop("too few rows");
    uint32_t *order = bench_shuffled(count);
    uint8_t *out = tnd_allocate_aligned(64, batch * bytes);
    moment_t from = now();
    for (uint64_t step = 0; step < question->steps + question->warm; step++) {
        if (step == question->warm)
            from = now();
        if (at + batch > count)
            at = 0;
        for (size_t i = 0; i < batch; i++)
            memcpy(out + i * bytes, rows + order[at + i] * bytes, bytes);
        __asm__ volatile("" : : "r"(out) : "memory");
        at += batch;
    }
    moment_t to = now();
    answer_t copied = between(&from, &to, question->steps);
    tnd_digest_t digest = {0};
    tnd_digest_stripe_t stripe = {.data = out, .stride = bytes, .bytes = bytes};
    for (uint64_t step = 0; step < question->steps; step++)
        tnd_digest_rows(&digest, step * batch, (uint32_t)batch, &stripe, 1);
    moment_t end = now();
    *hashed = between(&to, &end, question->steps);
    tnd_mapping_destroy(&mapping);
    free(order);
    free(out);
    return copied;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        stop("usage: bench_pull FILE ROW_BYTES BATCH STEPS DIGEST [FEEDER_OPTIONS]");
    question_t question = {.path = argv[1],
                           .row_bytes = strtoull(argv[2], NULL, 10),
                           .batch = strtoull(argv[3], NULL, 10),
                           .steps = strtoull(argv[4], NULL, 10),
                           .digest = argv[5],
                           .more = argc > 6 ? argv[6] : ""};
    question.warm = question.steps / 2;
    if (question.row_bytes == 0 || question.batch == 0 || question.steps == 0)
        stop("numbers must be positive");
    answer_t hashed, pulled = ours(&question), copied = bare(&question, &hashed);
    printf("{\"us\":%.4g,\"cpu_us\":%.4g,\"switches\":%.4g,\"bare_us\":%.4g,\"hash_us\":%.4g}\n",
           pulled.us, pulled.cpu_us, pulled.switches, copied.us, hashed.us);
    return 0;
}
