/*  tools/bench/jpeg.c - JPEG pictures of 500 x 375, quality 90, to a random part resized to 224 x
 *  224, in batches of 64, on two workers: at least 0.95 of a plain loop over libjpeg-turbo on two
 *  threads, and at least 0.9 of it where both also normalise and put channels first, as the medians
 *  of pairs.  Usage: bench_jpeg [--smoke | PAIRS]; --write FILE COUNT writes such pictures */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/jpeg_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 7, PICTURES = 512, EPOCHS = 4, PICTURES_SMOKE = 64 };

static bench_took_t ours(const char *path, bool planes)
{
    char reader[512], batcher[64];
    snprintf(reader, sizeof reader, "source: {tfrecord: {files: \"%s\"}}, epochs: %d", path,
             EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %d", JPEG_BATCH);
    const char *plain = "ops: [{decode_image: {column: record, to: image, max_pixels: 262144, "
                        "then: [{random_resized_crop: {size: 224}}]}}, {select: {columns: "
                        "[image]}}], workers: 2";
    const char *first = "ops: [{decode_image: {column: record, to: image, max_pixels: 262144, "
                        "then: [{random_resized_crop: {size: 224}}]}}, {select: {columns: "
                        "[image]}}, {transpose: {column: image, axes: [2, 0, 1]}}, {normalize: "
                        "{column: image, axis: 0, mean: [123.675, 116.28, 103.53], std: [58.395, "
                        "57.12, 57.375]}}], workers: 2";
    bench_graph_t graph = {.reader = reader,
                           .preprocessor = planes ? first : plain,
                           .batcher = batcher,
                           .feeder = "digest: false"};
    return bench_flow(&graph);
}

static void compare(const char *name, const char *path, const bench_jpeg_t *pictures,
                    uint32_t count, bool planes, double goal, int pairs)
{
    double values[PAIRS], bounds[PAIRS], ratios[PAIRS], costs[PAIRS], bare_costs[PAIRS];
    for (int i = 0; i < pairs; i++) {
        bench_took_t mine, bare = {0};
        if (i % 2 == 0)
            bare = bench_jpeg_loop(pictures, count, EPOCHS, planes);
        mine = ours(path, planes);
        if (i % 2 != 0)
            bare = bench_jpeg_loop(pictures, count, EPOCHS, planes);
        values[i] = mine.rows / mine.seconds;
        bounds[i] = bare.rows / bare.seconds;
        ratios[i] = values[i] / bounds[i];
        costs[i] = mine.cpu_seconds / mine.rows * 1e6;
        bare_costs[i] = bare.cpu_seconds / bare.rows * 1e6;
    }
    char cost[128];
    size_t all = (size_t)pairs;
    double ratio = bench_median(ratios, all);
    bench_print(name, bench_median(values, all), bench_median(bounds, all), ratio, goal,
                ratio >= goal);
    double used = bench_median(costs, all), bare_used = bench_median(bare_costs, all);
    snprintf(cost, sizeof cost, "%s_cpu_s_per_million", name);
    bench_show(cost, used, bare_used, used / bare_used);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bool writes = argc == 4 && strcmp(argv[1], "--write") == 0;
    uint32_t count = writes ? (uint32_t)atoi(argv[3]) : wish.smoke ? PICTURES_SMOKE : PICTURES;
    bench_jpeg_t *pictures = bench_jpeg_all(count);
    if (writes) {
        bench_jpeg_write(argv[2], pictures, count);
    } else {
        bench_file_t file = bench_file_raw("x.tfrecord", 1, 4096);
        bench_jpeg_write(file.path, pictures, count);
        compare("jpeg_rows_per_s", file.path, pictures, count, false, 0.95, wish.runs);
        compare("jpeg_planes_rows_per_s", file.path, pictures, count, true, 0.9, wish.runs);
    }
    bench_jpeg_free(pictures, count);
    return 0;
}
