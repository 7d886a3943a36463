/*  tools/bench/identity.c - what a record of 8 bytes costs on its way through reader, preprocessor,
 *  batcher and feeder, over all threads: at most 25 ns of processor time without the digest of the
 *  stream, 40 ns with it.  Shuffled is shown beside it.  The bound is a loop on one thread that
 *  copies the same records into the same batches.
 *  Usage: bench_identity [--smoke | RUNS]
 */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { RUNS = 5, BATCH = 4096, EPOCHS = 4, ROWS = 8000000, ROWS_SMOKE = 20000 };

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

static double ours(const bench_file_t *file, const question_t *question)
{
    char reader[512], batcher[64], feeder[64];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: \"%s\", columns: {x: u64}}}, shuffle: %s, epochs: %d",
             file->path, question->shuffle, EPOCHS);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    snprintf(feeder, sizeof feeder, "digest: %s", question->digest);
    bench_graph_t graph = {
        .reader = reader, .preprocessor = "ops: []", .batcher = batcher, .feeder = feeder};
    bench_took_t flow = bench_flow(&graph);
    return flow.cpu_seconds * 1e9 / flow.rows;
}

static double bare(const bench_file_t *file, const question_t *question)
{
    bench_gather_t gather = {
        .columns = file, .column_count = 1, .batch = BATCH, .threads = 1, .epochs = EPOCHS};
    bool stored = strcmp(question->shuffle, "none") == 0;
    bench_took_t took = bench_gather(&gather, stored ? BENCH_LOOP_STORED : BENCH_LOOP_PLAIN);
    return took.cpu_seconds * 1e9 / took.rows;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    int runs = wish.runs;
    bench_file_t file = bench_file_raw("x.bin", 8, 8 * (size_t)(wish.smoke ? ROWS_SMOKE : ROWS));
    for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++) {
        const question_t *question = &questions[q];
        double values[RUNS], bounds[RUNS];
        for (int i = 0; i < runs; i++) {
            bench_file_touch(&file);
            bounds[i] = bare(&file, question);
            values[i] = ours(&file, question);
        }
        double value = bench_median(values, (size_t)runs);
        double bound = bench_median(bounds, (size_t)runs);
        if (question->goal > 0)
            bench_print(question->bench, value, bound, value / bound, question->goal,
                        value <= question->goal);
        else
            bench_show(question->bench, value, bound, value / bound);
    }
    return 0;
}
