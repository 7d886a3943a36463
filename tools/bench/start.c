/*  tools/bench/start.c - from the start of a process to its first batch: less than 100 ms, of
 *  Fashion-MNIST (two compressed files, shuffled, scaled, 128 rows for four replicas), of JPEG
 *  pictures (a TFRecord file with an index, shuffled, 64 random parts of 224 x 224 by two workers) and of
 *  a mapped file of 1.5 GB (shuffled, 256 rows of 3,072 bytes).  The most memory that the process had
 *  is printed too.  The bound is a process of plain C that inflates by zlib, decodes on two threads, or
 *  maps, and gathers one batch.
 *  Usage: bench_start [--smoke | RUNS]; --first WHAT PATH... is what it starts itself with */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tundish/tundish.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"
#include "tools/bench/jpeg_loop.h"
#include "tools/bench/sample_file.h"

enum { RUNS = 9, IMAGES = 60000, IMAGE_BYTES = 784, ROWS = 128, ROW_BYTES = 3072, BATCH = 256 };
enum { PICTURES = 512 };

static const double goal_ms = 100;
static const size_t file_bytes = 1536 << 20, file_bytes_smoke = 12 << 20;

/* --- what is started -------------------------------------------------------------------------- */

/*  A simple generator for a shuffle. */
static uint64_t next_row(uint64_t *state, uint64_t rows)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*state >> 32) * rows >> 32;
}

static void inflate_file(const char *path, uint8_t *out, size_t bytes)
{
    gzFile in = gzopen(path, "rb");
    if (in == NULL || gzread(in, out, (unsigned)bytes) != (int)bytes)
        exit(1);
    gzclose(in);
}

static void bare_fashion(char **paths)
{
    uint8_t *images = tnd_allocate(1, 16 + IMAGES * IMAGE_BYTES),
            *labels = tnd_allocate(1, 8 + IMAGES);
    static float batch[ROWS * IMAGE_BYTES];
    static uint8_t chosen[ROWS];
    uint64_t state = 1;
    inflate_file(paths[0], images, 16 + IMAGES * IMAGE_BYTES);
    inflate_file(paths[1], labels, 8 + IMAGES);
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t row = next_row(&state, IMAGES);
        chosen[i] = labels[8 + row];
        for (size_t j = 0; j < IMAGE_BYTES; j++)
            batch[i * IMAGE_BYTES + j] = (float)images[16 + row * IMAGE_BYTES + j] / 255;
    }
    __asm__ volatile("" : : "r"(batch), "r"(chosen) : "memory");
}

static uint8_t *map_file(const char *path, size_t *bytes_p)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        exit(1);
    *bytes_p = (size_t)status.st_size;
    uint8_t *bytes = mmap(NULL, *bytes_p, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED)
        exit(1);
    return bytes;
}

static void bare_jpeg(char **paths)
{
    bench_jpeg_t pictures[JPEG_BATCH];
    size_t bytes;
    uint8_t *at = map_file(paths[0], &bytes);
    for (uint32_t i = 0; i < JPEG_BATCH; i++) {
        uint64_t size;
        memcpy(&size, at, sizeof size);
        pictures[i] = (bench_jpeg_t){at + 12, size};
        at += size + 16;
    }
    (void)bench_jpeg_loop(pictures, JPEG_BATCH, 1, false);
}

static void bare_mapped(char **paths)
{
    static uint8_t batch[BATCH * ROW_BYTES];
    uint64_t state = 1;
    size_t bytes;
    const uint8_t *rows = map_file(paths[0], &bytes);
    for (size_t i = 0; i < BATCH; i++)
        memcpy(batch + i * ROW_BYTES, rows + next_row(&state, bytes / ROW_BYTES) * ROW_BYTES,
               ROW_BYTES);
    __asm__ volatile("" : : "r"(batch) : "memory");
}

/*  What is measured; `source` has places for the paths. */
typedef struct {
    const char *name, *source, *preprocessor, *batcher;
    void (*bare)(char **paths);
} subject_t;

static const subject_t subjects[] = {
    {"fashion", "source: {idx: {image: \"%s\", label: \"%s\"}}, shuffle: global",
     "ops: [{scale: {column: image, to: f32, range: [0, 1]}}]", "size: 128, replicas: 4",
     bare_fashion},
    {"jpeg", "source: {tfrecord: {files: \"%s\", index: beside}}, shuffle: global",
     "workers: 2, ops: [{decode_image: {column: record, to: image, max_pixels: 262144, then: "
     "[{random_resized_crop: {size: 224}}]}}, {select: {columns: [image]}}]",
     "size: 64", bare_jpeg},
    {"mapped", "source: {raw: {files: \"%s\", columns: {x: \"u8[3072]\"}}}, shuffle: global", NULL,
     "size: 256", bare_mapped},
};

static const subject_t *subject_of(const char *name)
{
    const subject_t *subject = subjects;
    while (strcmp(subject->name, name) != 0)
        subject++;
    return subject;
}

static tnd_graph_t *graph_of(const subject_t *subject, char **paths)
{
    char source[1024];
    tnd_graph_t *graph = tnd_graph_new("start", 7);
    bool works = subject->preprocessor != NULL;
    snprintf(source, sizeof source, subject->source, paths[0], paths[1]);
    tnd_graph_add(graph, "read", "reader", source);
    if (works)
        tnd_graph_add(graph, "prep", "preprocessor", subject->preprocessor);
    tnd_graph_add(graph, "batch", "batcher", subject->batcher);
    tnd_graph_add(graph, "feed", "feeder", "");
    tnd_graph_link(graph, works ? "read -> prep -> batch -> feed" : "read -> batch -> feed");
    return graph;
}

/*  Prints the time of the first batch and the peak memory until then. */
static void say_now(void)
{
    unsigned long long now_ns = tnd_clock_now(), kib = 0;
    char line[128];
    FILE *in = fopen("/proc/self/status", "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
            break;
    if (in != NULL)
        fclose(in);
    printf("%llu %llu\n", now_ns, kib);
    fflush(stdout);
}

static int first_batch(const char *what, char **paths)
{
    if (strncmp(what, "bare_", 5) == 0) {
        subject_of(what + 5)->bare(paths);
        say_now();
        return 0;
    }
    tnd_graph_t *graph = graph_of(subject_of(what), paths);
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        return fputs(tnd_graph_errors(graph), stderr), 1;
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    if (feed == NULL || tnd_feed_next(feed) != TND_OK)
        return fprintf(stderr, "%s\n", tnd_session_error(session)), 1;
    say_now();
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

typedef struct {
    double ms, peak_mib;
} start_t;

static start_t start(const char *what, char **paths)
{
    char program[] = "bench_start", first[] = "--first", name[32];
    char *arguments[] = {program, first, name, paths[0], paths[1], NULL};
    int ends[2], status = 0;
    pid_t child = 0;
    unsigned long long then_ns = 0, kib = 0;
    posix_spawn_file_actions_t actions;
    snprintf(name, sizeof name, "%s", what);
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    uint64_t begun_ns = tnd_clock_now();
    if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ) != 0)
        abort();
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    if (said == NULL)
        abort();
    int found = fscanf(said, "%llu %llu", &then_ns, &kib);
    fclose(said);
    if (waitpid(child, &status, 0) != child || status != 0 || found != 2) {
        fprintf(stderr, "bench_start: `%s` failed\n", what);
        exit(1);
    }
    return (start_t){.ms = (double)(then_ns - begun_ns) * 1e-6, .peak_mib = (double)kib / 1024};
}

static void answer(const char *what, char **paths, int runs)
{
    double values[RUNS], bounds[RUNS], peaks[RUNS], bare_peaks[RUNS];
    char bare[32], name[64];
    snprintf(bare, sizeof bare, "bare_%s", what);
    for (int i = 0; i < runs; i++) {
        start_t plain = start(bare, paths), ours = start(what, paths);
        values[i] = ours.ms;
        peaks[i] = ours.peak_mib;
        bounds[i] = plain.ms;
        bare_peaks[i] = plain.peak_mib;
    }
    double value = bench_median(values, (size_t)runs), bound = bench_median(bounds, (size_t)runs);
    snprintf(name, sizeof name, "start_%s_ms", what);
    bench_print(name, value, bound, value / bound, goal_ms, value < goal_ms);
    value = bench_median(peaks, (size_t)runs);
    bound = bench_median(bare_peaks, (size_t)runs);
    snprintf(name, sizeof name, "start_%s_peak_mib", what);
    bench_show(name, value, bound, value / bound);
}

static void ask_fashion(int runs)
{
    const char *folder = getenv("TUNDISH_DATA");
    char images[512], labels[512], *paths[] = {images, labels};
    folder = folder != NULL ? folder : "/usr/share/datasets/fashion-mnist";
    snprintf(images, sizeof images, "%s/train-images-idx3-ubyte.gz", folder);
    snprintf(labels, sizeof labels, "%s/train-labels-idx1-ubyte.gz", folder);
    if (access(images, R_OK) == 0)
        answer("fashion", paths, runs);
    else
        fprintf(stderr, "bench_start: no Fashion-MNIST in %s; say TUNDISH_DATA=FOLDER\n", folder);
}

static void ask_jpeg(const bench_wish_t *wish)
{
    uint32_t count = wish->smoke ? JPEG_BATCH : PICTURES;
    bench_jpeg_t *pictures = bench_jpeg_all(count);
    bench_file_t file = bench_file_raw("x.tfrecord", 1, 4096);
    char *paths[] = {file.path, NULL};
    bench_jpeg_write(file.path, pictures, count);
    bench_jpeg_free(pictures, count);
    (void)start("jpeg", paths); /* builds the index */
    answer("jpeg", paths, wish->runs);
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "--first") == 0)
        return first_batch(argv[2], argv + 3);
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    ask_fashion(wish.runs);
    ask_jpeg(&wish);
    bench_file_t file =
        bench_file_raw("x.bin", ROW_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    bench_file_touch(&file);
    char *paths[] = {file.path, NULL};
    answer("mapped", paths, wish.runs);
    return 0;
}
