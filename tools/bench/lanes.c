/*  tools/bench/lanes.c - two lanes on two cores, shuffled from mapped files into batches: samples
 *  of 4 KiB at least at 0.8 of a bare loop on two threads, rows of 552 bytes in two columns of .npy
 *  files at 0.6 of one.  The bound is the better of a plain loop and one that prefetches.
 *
 *  Each lane is a host of its own, with its reader, batcher and feeder; both are in this process.
 *  One lane whose feeder gathers with two threads is held to the same.  Usage: bench_lanes [--smoke
 *  | PAIRS] */
#include <stdio.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, LANES = 2, EPOCHS = 3 };

typedef struct {
    const char *bench;
    double goal;
    uint32_t batch;
    char source[768];
    bench_file_t columns[2];
    uint32_t column_count;
    bool one_lane; /* whose feeder gathers with as many threads */
} question_t;

static double ours(const question_t *question)
{
    char reader[1024], batcher[64], feeder[64];
    snprintf(reader, sizeof reader, "source: %s, shuffle: global, epochs: %d", question->source,
             EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %u, replicas: %d", question->batch,
             question->one_lane ? 1 : LANES);
    snprintf(feeder, sizeof feeder, "digest: false, gather: %d", question->one_lane ? LANES : 1);
    bench_graph_t graph = {.reader = reader,
                           .batcher = batcher,
                           .feeder = feeder,
                           .hosts = question->one_lane ? 0 : LANES};
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds * 1e-6;
}

static double bare(const question_t *question)
{
    bench_gather_t gather = {.columns = question->columns,
                             .column_count = question->column_count,
                             .batch = question->batch,
                             .threads = LANES,
                             .epochs = EPOCHS};
    return bench_gather_best(&gather) * 1e-6;
}

static void answer(const question_t *question, int pairs)
{
    bench_pairs_t both;
    for (int i = 0; i < pairs; i++) {
        for (uint32_t c = 0; c < question->column_count; c++)
            bench_file_touch(&question->columns[c]);
        BENCH_PAIR(&both, i, ours(question), bare(question));
    }
    bench_print_pairs(question->bench, &both, pairs, question->goal);
}

static void ask_tokens(const bench_wish_t *wish)
{
    question_t question = {
        .bench = "lanes_4k_mrows_per_s", .goal = 0.8, .batch = 512, .column_count = 1};
    question.columns[0] =
        bench_file_raw("tokens.bin", 4096, (size_t)(wish->smoke ? 16 : 1536) << 20);
    snprintf(question.source, sizeof question.source,
             "{raw: {files: \"%s\", columns: {x: \"u16[2048]\"}}}", question.columns[0].path);
    answer(&question, wish->runs);
    question.bench = "gather_2_4k_mrows_per_s";
    question.one_lane = true;
    answer(&question, wish->runs);
    bench_file_forget(&question.columns[0]);
}

static void ask_rows(const bench_wish_t *wish)
{
    question_t question = {
        .bench = "lanes_npy_mrows_per_s", .goal = 0.6, .batch = 4096, .column_count = 2};
    size_t row_bytes = 552,
           rows = bench_file_room((size_t)(wish->smoke ? 8 : 512) << 20) / row_bytes;
    question.columns[0] = bench_file_npy("features.npy", "<f4", 136, rows);
    question.columns[1] = bench_file_npy("target.npy", "<i8", 1, rows);
    snprintf(question.source, sizeof question.source, "{npy: {features: \"%s\", target: \"%s\"}}",
             question.columns[0].path, question.columns[1].path);
    answer(&question, wish->runs);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    ask_tokens(&wish);
    ask_rows(&wish);
    return 0;
}
