/*  tools/bench/gather.c - shuffled samples of 3,072 bytes from a mapped file of 1.5 GB into
 *  batches: at least 0.85 of the better of two bare loops, a plain one and one that prefetches, as
 *  the median of pairs.  With the digest it is shown beside it.  Usage: bench_gather [--smoke |
 *  PAIRS] */
#include <stdio.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, ROW_BYTES = 3072, BATCH = 256, EPOCHS = 3 };

static const size_t file_bytes = 1536 << 20, file_bytes_smoke = 12 << 20;

static double ours(const bench_file_t *file, const char *digest)
{
    char reader[512], batcher[64], feeder[64];
    /* The first epoch is not counted. */
    snprintf(
        reader, sizeof reader,
        "source: {raw: {files: \"%s\", columns: {x: \"u8[%d]\"}}}, shuffle: global, epochs: %d",
        file->path, ROW_BYTES, EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    snprintf(feeder, sizeof feeder, "digest: %s", digest);
    bench_graph_t graph = {.reader = reader, .batcher = batcher, .feeder = feeder};
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds * 1e-6;
}

static double bare(const bench_file_t *file)
{
    bench_gather_t gather = {
        .columns = file, .column_count = 1, .batch = BATCH, .threads = 1, .epochs = EPOCHS};
    return bench_gather_best(&gather) * 1e-6;
}

static void measure(const char *bench, const bench_file_t *file, const char *digest, int pairs,
                    double goal)
{
    bench_pairs_t both;
    for (int i = 0; i < pairs; i++) {
        bench_file_touch(file);
        BENCH_PAIR(&both, i, ours(file, digest), bare(file));
    }
    bench_print_pairs(bench, &both, pairs, goal);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_file_t file =
        bench_file_raw("x.bin", ROW_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    measure("gather_mrows_per_s", &file, "false", wish.runs, 0.85);
    measure("gather_digest_mrows_per_s", &file, "true", wish.runs, 0);
    return 0;
}
