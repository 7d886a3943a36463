/*  tools/bench/cache.c - shuffled samples of 150,528 bytes from a cache, in memory and in a folder,
 *  after the first epoch: at least 0.85 of the better of two bare loops that gather them from a
 *  mapped file, as the median of pairs.  Usage: bench_cache [--smoke | PAIRS] */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/folder.h"
#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, ROW_BYTES = 224 * 224 * 3, BATCH = 64, EPOCHS = 4 };

static const size_t file_bytes = (size_t)2048 * ROW_BYTES;
static const size_t file_bytes_smoke = (size_t)128 * ROW_BYTES;

static double ours(const bench_file_t *file, const char *store)
{
    char reader[512], cache[PATH_MAX + 64], batcher[64];
    /* The first epoch is not counted. */
    snprintf(
        reader, sizeof reader,
        "source: {raw: {files: \"%s\", columns: {x: \"u8[%d]\"}}}, shuffle: global, epochs: %d",
        file->path, ROW_BYTES, EPOCHS + 1);
    snprintf(cache, sizeof cache, "limit: 1GiB, store: %s", store);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    bench_graph_t graph = {
        .reader = reader, .cache = cache, .batcher = batcher, .feeder = "digest: false"};
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds * 1e-3;
}

static double bare(const bench_file_t *file)
{
    bench_gather_t gather = {
        .columns = file, .column_count = 1, .batch = BATCH, .threads = 1, .epochs = EPOCHS};
    return bench_gather_best(&gather) * 1e-3;
}

static void measure(const char *bench, const bench_file_t *file, const char *store, int pairs)
{
    bench_pairs_t both;
    for (int i = 0; i < pairs; i++) {
        bench_file_touch(file);
        BENCH_PAIR(&both, i, ours(file, store), bare(file));
    }
    bench_print_pairs(bench, &both, pairs, 0.85);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_file_t file =
        bench_file_raw("x.bin", ROW_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    measure("cache_memory_krows_per_s", &file, "memory", wish.runs);
    char folder[PATH_MAX], store[PATH_MAX + 16];
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/bench_cache_XXXXXX", place != NULL ? place : "/tmp");
    if (mkdtemp(folder) == NULL)
        return perror(folder), 1;
    snprintf(store, sizeof store, "{dir: \"%s\"}", folder);
    measure("cache_folder_krows_per_s", &file, store, wish.runs);
    tnd_folder_remove(folder);
    return 0;
}
