/*  tools/bench/identity.c - what a record of 8 bytes costs on its way through reader, preprocessor,
 *  batcher and feeder, over all threads: at most 25 ns of processor time without the digest of the
 *  stream, 40 ns with it, in batches of 4,096.  Shuffled is shown beside it, and so are batches of
 *  16 and 64, in which the cost of a step shows.  The bound is a loop on one thread that copies the
 *  same records into the same batches.
 *  Usage: bench_identity [--smoke | RUNS] */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { RUNS = 5, EPOCHS = 4, ROWS = 8000000, ROWS_SMOKE = 20000 };

/*  Steps of an epoch, at most: small batches get a smaller file. */
enum { STEPS = 60000 };

/*  Batches of the first size have the goals. */
static const uint32_t batches[] = {4096, 64, 16};

typedef struct {
    const char *bench, *shuffle, *digest;
    double goal; /* 0: none */
} question_t;

static const question_t questions[] = {
    {"identity_record_cpu_ns", "none", "false", 25},
    {"identity_record_digest_cpu_ns", "none", "true", 40},
    {"identity_record_shuffled_cpu_ns", "global", "false", 0},
    {"identity_record_shuffled_digest_cpu_ns", "global", "true", 0},
};

static double ours(const bench_file_t *file, const question_t *question, uint32_t batch)
{
    char reader[512], batcher[64], feeder[64];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: \"%s\", columns: {x: u64}}}, shuffle: %s, epochs: %d",
             file->path, question->shuffle, EPOCHS);
    snprintf(batcher, sizeof batcher, "size: %u", batch);
    snprintf(feeder, sizeof feeder, "digest: %s", question->digest);
    bench_graph_t graph = {
        .reader = reader, .preprocessor = "ops: []", .batcher = batcher, .feeder = feeder};
    bench_took_t flow = bench_flow(&graph);
    return flow.cpu_seconds * 1e9 / flow.rows;
}

static double bare(const bench_file_t *file, const question_t *question, uint32_t batch)
{
    bench_gather_t gather = {
        .columns = file, .column_count = 1, .batch = batch, .threads = 1, .epochs = EPOCHS};
    bool stored = strcmp(question->shuffle, "none") == 0;
    bench_took_t took = bench_gather(&gather, stored ? BENCH_LOOP_STORED : BENCH_LOOP_PLAIN);
    return took.cpu_seconds * 1e9 / took.rows;
}

static void answer(const bench_file_t *file, const question_t *question, uint32_t batch, int runs)
{
    double values[RUNS], bounds[RUNS];
    for (int i = 0; i < runs; i++) {
        bench_file_touch(file);
        bounds[i] = bare(file, question, batch);
        values[i] = ours(file, question, batch);
    }
    double value = bench_median(values, (size_t)runs);
    double bound = bench_median(bounds, (size_t)runs);
    char name[64];
    snprintf(name, sizeof name, "%s_%u", question->bench, batch);
    if (batch != batches[0])
        bench_show(name, value, bound, value / bound);
    else if (question->goal > 0)
        bench_print(question->bench, value, bound, value / bound, question->goal,
                    value <= question->goal);
    else
        bench_show(question->bench, value, bound, value / bound);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        size_t most = (size_t)batches[b] * STEPS, rows = wish.smoke ? ROWS_SMOKE : ROWS;
        bench_file_t file = bench_file_raw("x.bin", 8, 8 * (rows < most ? rows : most));
        for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++)
            answer(&file, &questions[q], batches[b], wish.runs);
    }
    return 0;
}
