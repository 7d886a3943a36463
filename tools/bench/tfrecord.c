/*  tools/bench/tfrecord.c - records of 3,072 bytes from a mapped TFRecord file of 1.5 GB into
 *  batches of 256, both checksums of each: in the order of the file at least 0.8 of a thread that
 *  scans the file and checks them, shuffled at least 0.8 of one that checks and gathers them, each
 *  the median of pairs.  Building the index takes at most 1.5 times a read of the file in pieces of
 *  1 MiB.  Usage: bench_tfrecord [--smoke | PAIRS] */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actors/stored/tfrecord_frames.h"
#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, DATA_BYTES = 3072, FRAME_BYTES = DATA_BYTES + 16, BATCH = 256, EPOCHS = 3 };

static const size_t file_bytes = 1536 << 20, file_bytes_smoke = 12 << 20;

/*  Turns rows into frames. */
static void frame(const bench_file_t *file)
{
    int number = open(file->path, O_RDWR | O_CLOEXEC);
    size_t size = file->count * FRAME_BYTES;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
    if (number < 0 || bytes == MAP_FAILED)
        exit(1);
    for (size_t i = 0; i < file->count; i++)
        bench_frame(bytes + i * FRAME_BYTES, DATA_BYTES);
    munmap(bytes, size);
    close(number);
}

static double ours(const bench_file_t *file, const char *order)
{
    char reader[512], batcher[64];
    /* The first epoch is not counted. */
    snprintf(reader, sizeof reader,
             "source: {tfrecord: {files: \"%s\", index: beside}}, %s, epochs: %d", file->path,
             order, EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    bench_graph_t graph = {.reader = reader, .batcher = batcher, .feeder = "digest: false"};
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds * 1e-6;
}

/*  Million records a second of one thread that checks records, and copies them if `batch`. */
static double bare(const bench_file_t *file, const uint32_t *order, uint8_t *batch)
{
    uint64_t began = tnd_clock_now();
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t i = 0; i < file->count; i++) {
            const uint8_t *at = file->rows + (size_t)order[i] * FRAME_BYTES;
            uint64_t length;
            if (!tnd_tfrecord_length(at, &length) || !tnd_tfrecord_data_matches(at + 12, length))
                exit(1);
            if (batch != NULL)
                memcpy(batch + i % BATCH * DATA_BYTES, at + 12, DATA_BYTES);
        }
    return (double)file->count * EPOCHS / (double)(tnd_clock_now() - began) * 1e3;
}

static void compare(const char *name, const bench_file_t *file, const char *way, bool shuffled,
                    int pairs)
{
    bench_pairs_t both;
    uint32_t *order = bench_shuffled(file->count);
    for (size_t i = 0; !shuffled && i < file->count; i++)
        order[i] = (uint32_t)i;
    uint8_t *batch = tnd_allocate(BATCH, DATA_BYTES);
    for (int i = 0; i < pairs; i++) {
        bench_file_touch(file);
        BENCH_PAIR(&both, i, ours(file, way), bare(file, order, shuffled ? batch : NULL));
    }
    bench_print_pairs(name, &both, pairs, 0.8);
    free(order);
    free(batch);
}

static double read_all(const char *path)
{
    uint64_t began = tnd_clock_now();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *piece = tnd_allocate(1, 1 << 20);
    while (file >= 0 && read(file, piece, 1 << 20) > 0)
        ;
    close(file);
    free(piece);
    return (double)(tnd_clock_now() - began) * 1e-9;
}

/*  A start of the source, which builds the index where there is none. */
static double open_source(const bench_file_t *file)
{
    char reader[512];
    snprintf(reader, sizeof reader, "source: {tfrecord: {files: \"%s\", index: beside}}",
             file->path);
    bench_graph_t graph = {
        .reader = reader, .batcher = "size: 1", .feeder = "digest: false", .steps = 1};
    uint64_t began = tnd_clock_now();
    (void)bench_flow(&graph);
    return (double)(tnd_clock_now() - began) * 1e-9;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_file_t file =
        bench_file_raw("x.tfrecord", FRAME_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    frame(&file);
    bench_file_touch(&file);
    double bound = read_all(file.path), build = open_source(&file), start = open_source(&file);
    bench_print("tfrecord_index_s", build - start, bound, (build - start) / bound, 1.5,
                build - start <= 1.5 * bound);
    bench_print("tfrecord_start_ms", start * 1e3, bound * 1e3, start / bound, 100, start < 0.1);
    compare("tfrecord_mrows_per_s", &file, "shuffle: none", false, wish.runs);
    compare("tfrecord_shuffled_mrows_per_s", &file, "shuffle: global", true, wish.runs);
    return 0;
}
