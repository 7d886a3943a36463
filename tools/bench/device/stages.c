/*  tools/bench/device/stages.c - rows gathered into the stages of a device by `gather: 2`, with the digest:
 *  at least 0.85 of two plain threads that copy and hash them into as many slots, as the median of
 *  pairs.  The link of the simulated device takes no time, but it has no engine: a processor copies
 *  each slot once more, in the plain threads too.  Usage: bench_stages [--smoke | PAIRS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/digest.h"
#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, ROW_BYTES = 4096, BATCH = 256, EPOCHS = 3, THREADS = 2, SLOTS = 4, ALIGN = 64 };

static const size_t file_bytes = 1024 << 20, file_bytes_smoke = 12 << 20;

typedef struct {
    const bench_file_t *file;
    const uint32_t *order;
    uint32_t first; /* its rows of a batch begin here */
    tnd_digest_t digest;
    pthread_t thread;
} plain_t;

static void *run_plain(void *context)
{
    enum { SHARE = BATCH / THREADS };
    plain_t *self = context;
    size_t rows = self->file->count / BATCH * BATCH;
    uint8_t *host = tnd_allocate_aligned(ALIGN, SLOTS * SHARE * ROW_BYTES);
    uint8_t *device = tnd_allocate_aligned(ALIGN, SLOTS * SHARE * ROW_BYTES);
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t at = self->first, slot = 0; at < rows; at += BATCH, slot = (slot + 1) % SLOTS) {
            uint8_t *to = host + slot * SHARE * ROW_BYTES;
            for (size_t i = 0; i < SHARE; i++)
                memcpy(to + i * ROW_BYTES, self->file->rows + self->order[at + i] * ROW_BYTES,
                       ROW_BYTES);
            const tnd_digest_stripe_t stripe = {
                .data = to, .stride = ROW_BYTES, .bytes = ROW_BYTES};
            tnd_digest_rows(&self->digest, at, SHARE, &stripe, 1);
            memcpy(device + slot * SHARE * ROW_BYTES, to, SHARE * ROW_BYTES);
            __asm__ volatile("" : : "r"(device) : "memory"); /* as if it were read */
        }
    free(host);
    free(device);
    return NULL;
}

/*  Rows per second. */
static double plain(const bench_file_t *file)
{
    plain_t threads[THREADS];
    uint32_t *order = bench_shuffled(file->count);
    uint64_t begun_ns = tnd_clock_now();
    for (uint32_t t = 0; t < THREADS; t++) {
        threads[t] = (plain_t){.file = file, .order = order, .first = t * (BATCH / THREADS)};
        if (pthread_create(&threads[t].thread, NULL, run_plain, &threads[t]) != 0)
            abort();
    }
    for (uint32_t t = 0; t < THREADS; t++)
        pthread_join(threads[t].thread, NULL);
    double seconds = (double)(tnd_clock_now() - begun_ns) * 1e-9;
    free(order);
    return (double)(file->count - file->count % BATCH) * EPOCHS / seconds;
}

static double ours(const bench_file_t *file)
{
    char reader[512], batcher[64], feeder[256];
    /* The first epoch is not counted. */
    snprintf(
        reader, sizeof reader,
        "source: {raw: {files: \"%s\", columns: {x: \"u8[%d]\"}}}, shuffle: global, epochs: %d",
        file->path, ROW_BYTES, EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    snprintf(feeder, sizeof feeder,
             "gather: %d, depth: %d, devices: [\"sim:0\"], sim: {to_device: 100000GB/s, latency: "
             "1ns}",
             THREADS, SLOTS);
    bench_graph_t graph = {.reader = reader, .batcher = batcher, .feeder = feeder};
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_pairs_t both;
    bench_file_t file =
        bench_file_raw("x.bin", ROW_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    for (int i = 0; i < wish.runs; i++) {
        bench_file_touch(&file);
        BENCH_PAIR(&both, i, ours(&file) * 1e-6, plain(&file) * 1e-6);
    }
    bench_print_pairs("stages_gather_2_mrows_per_s", &both, wish.runs, 0.85);
    return 0;
}
