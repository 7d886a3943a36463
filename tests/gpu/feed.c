/*  tests/gpu/feed.c - checks 4, 5 and 6: a whole feeder on cuda:0.  Its rows arrive; gathered by eight
 *  threads, in the order of the file and shuffled, rows of pictures and of 4 KiB, they reach the rate of
 *  the link, or of threads that do nothing else where the memory of the host allows less; copies overlap
 *  with steps at depths of 2 and more.
 *
 *  A step is a kernel that runs for a given time on a stream of the user's. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tundish/tundish.h>

#include "runtime/base/clock.h"
#include "runtime/feed/dlpack.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/plain_gather.h"

enum { ROWS = 2048, FEW = 128, STEPS = 150, WARM_UP = 20 };

static gpu_t gpu;
static CUfunction spin;
static int rows_file; /* in memory: it has no name and ends with the process */
static uint8_t *row;  /* page-locked */

/*  Row r of the file: every byte depends on r and its place. */
static uint8_t byte_of(uint64_t r, uint64_t at)
{
    return (uint8_t)((r * 2654435761u + at * 40503u) >> 7);
}

static void write_rows(uint64_t rows)
{
    static uint8_t bytes[GPU_ROW];
    rows_file = memfd_create("rows", MFD_CLOEXEC);
    gpu_must_do(rows_file >= 0, "memfd_create failed");
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t i = 0; i < GPU_ROW; i++)
            bytes[i] = byte_of(r, i);
        gpu_must_do(write(rows_file, bytes, GPU_ROW) == GPU_ROW, "cannot write rows");
    }
}

typedef struct {
    uint64_t spin_ns;   /* 0: the step does nothing */
    uint64_t of, wrong; /* rows of the file; bytes */
    bool checks;
    tnd_error_t error;
} step_t;

/*  The first and the last row of a step, from the memory of the device. */
static void check_rows(step_t *self, tnd_replica_t *replica, const uint8_t *side)
{
    size_t rows = tnd_replica_rows(replica);
    uint64_t first = tnd_replica_step(replica) * rows % self->of;
    for (size_t r = 0; r < rows; r += rows - 1) {
        gpu_must_do(gpu.copy_back(row, (CUdeviceptr)(uintptr_t)side + r * GPU_ROW, GPU_ROW,
                                  gpu.stream) == CUDA_SUCCESS,
                    "the copy back failed");
        gpu_wait(&gpu);
        for (uint64_t i = 0; i < GPU_ROW; i++)
            self->wrong += row[i] != byte_of(first + r, i);
    }
}

/*  The stream waits for the rows, and they stay until it has run the kernel. */
static tnd_status_t run_step(tnd_replica_t *replica, void *user)
{
    step_t *self = user;
    CUcontext context;
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, "image"), *shared;
    if (tensor == NULL)
        return TND_FAILED;
    shared = tnd_tensor_share(tensor, false, (int64_t)(intptr_t)gpu.stream, &self->error);
    gpu_must_do(shared != NULL, self->error.text);
    GPU_CALL(&gpu, cuCtxPushCurrent_v2, gpu.context);
    if (self->spin_ns > 0)
        GPU_CALL(&gpu, cuLaunchKernel, spin, 1, 1, 1, 1, 1, 1, 0, gpu.stream,
                 (void *[]){&self->spin_ns}, NULL);
    if (self->checks)
        check_rows(self, replica, shared->dl_tensor.data);
    GPU_CALL(&gpu, cuCtxPopCurrent_v2, &context);
    shared->deleter(shared);
    tensor->deleter(tensor);
    return TND_OK;
}

typedef struct {
    unsigned row_bytes, size, depth, gather;
    bool shuffled;
} graph_t;

/*  Pictures in the order of the file. */
static graph_t pictures(unsigned size, unsigned depth, unsigned gather)
{
    return (graph_t){.row_bytes = GPU_ROW, .size = size, .depth = depth, .gather = gather};
}

static tnd_graph_t *graph_of(const graph_t *chosen)
{
    char reader[256], batcher[64], feeder[160];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: /proc/self/fd/%d, columns: {image: \"u8[%u]\"}}}, shuffle: %s, "
             "epochs: 1000000",
             rows_file, chosen->row_bytes, chosen->shuffled ? "global" : "none");
    snprintf(batcher, sizeof batcher, "size: %u, span_epochs: true", chosen->size);
    snprintf(feeder, sizeof feeder, "depth: %u, digest: false, gather: %u, devices: [\"cuda:0\"]",
             chosen->depth, chosen->gather);
    tnd_graph_t *graph = tnd_graph_new("gpu", 7);
    tnd_graph_add(graph, "read", "reader", reader);
    tnd_graph_add(graph, "batch", "batcher", batcher);
    tnd_graph_add(graph, "feed", "feeder", feeder);
    tnd_graph_link(graph, "read -> batch -> feed");
    return graph;
}

/*  Nanoseconds per step, after WARM_UP of them. */
static double run(step_t *step, graph_t chosen, uint64_t steps)
{
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = graph_of(&chosen);
    tnd_status_t status = tnd_session_open(&session, graph, NULL);
    gpu_must_do(status == TND_OK, tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    uint64_t begun = 0;
    for (uint64_t i = 0; i < steps + WARM_UP; i++) {
        if (i == WARM_UP)
            begun = tnd_clock_now();
        status = tnd_feed_next(feed);
        if (status == TND_OK)
            status = tnd_feed_run(feed, run_step, NULL, step);
        gpu_must_do(status == TND_OK, tnd_session_error(session));
    }
    double took = (double)(tnd_clock_now() - begun) / (double)steps;
    tnd_session_stop(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return took;
}

static void check_feed(void)
{
    step_t step = {.checks = true, .of = gpu.speeds ? ROWS : FEW};
    run(&step, pictures(gpu.speeds ? 128 : 16, 3, 2), 20);
    gpu_exact(4, "wrong_bytes_of_fed_rows", (double)step.wrong, 0);
}

/*  Other users of the host's memory disturb a run, so what is compared is the median of some pairs. */
enum { PAIRS = 5 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, PAIRS, sizeof *values, compare);
    return values[PAIRS / 2];
}

static void measure_gather(void)
{
    enum { SMALL = 4096 };
    static const struct {
        const char *name;
        graph_t graph;
    } kinds[] = {
        {"pictures", {GPU_ROW, GPU_BATCH, 3, 8, false}},
        {"shuffled_pictures", {GPU_ROW, GPU_BATCH, 3, 8, true}},
        {"shuffled_rows_of_4_KiB", {SMALL, GPU_BATCH_BYTES / SMALL, 3, 8, true}},
    };
    step_t nothing = {0};
    char name[64];
    size_t bytes = (size_t)ROWS * GPU_ROW;
    double link = gpu_link_rate(&gpu, GPU_BATCH_BYTES);
    const uint8_t *rows = mmap(NULL, bytes, PROT_READ, MAP_SHARED, rows_file, 0);
    gpu_must_do(rows != MAP_FAILED, "cannot map the rows");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const graph_t *graph = &kinds[i].graph;
        const gpu_gather_t plain = {.rows = rows,
                                    .count = bytes / graph->row_bytes,
                                    .row_bytes = graph->row_bytes,
                                    .size = graph->size,
                                    .depth = graph->depth,
                                    .threads = graph->gather,
                                    .shuffled = graph->shuffled};
        double rates[PAIRS], of_the_bound[PAIRS];
        for (size_t pair = 0; pair < PAIRS; pair++) {
            double bound = gpu_gather_rate(&gpu, &plain, STEPS);
            rates[pair] = (double)graph->size * graph->row_bytes / run(&nothing, *graph, STEPS);
            of_the_bound[pair] = rates[pair] / (bound < link ? bound : link);
        }
        double rate = median(rates);
        snprintf(name, sizeof name, "%s_by_8_threads", kinds[i].name);
        gpu_show(4, name, rate, "GB/s", "");
        snprintf(name, sizeof name, "%s_by_8_threads_of_the_link", kinds[i].name);
        gpu_show(4, name, rate / link, "", "0.8, if the memory of the host allows it");
        snprintf(name, sizeof name, "%s_by_8_threads_of_the_bound", kinds[i].name);
        gpu_least(4, name, median(of_the_bound), "", 0.8);
    }
    munmap((void *)(uintptr_t)rows, bytes);
}

/* --- steps and copies at the same time ---------------------------------------------------------- */

/*  The feeder alone, then with a kernel of so many times as long. */
typedef struct {
    double alone;   /* nanoseconds of a step without a kernel, at the median */
    double overlap; /* of the shorter of both */
    double slower;  /* of the longer of both */
} overlap_t;

static overlap_t measure_pairs(unsigned depth, double share)
{
    double alone[PAIRS], overlap[PAIRS], slower[PAIRS];
    graph_t graph = pictures(GPU_BATCH, depth, 8);
    step_t nothing = {0}, step = {0};
    for (size_t i = 0; i < PAIRS; i++) {
        alone[i] = run(&nothing, graph, STEPS);
        double kernel = alone[i] * share;
        step.spin_ns = (uint64_t)kernel;
        double both = run(&step, graph, STEPS);
        overlap[i] = (alone[i] + kernel - both) / (share < 1 ? kernel : alone[i]);
        slower[i] = both / (share < 1 ? alone[i] : kernel);
    }
    return (overlap_t){median(alone), median(overlap), median(slower)};
}

/*  More stages may be more than the host's caches hold, and then take longer without a kernel too. */
static void measure_overlap(void)
{
    static const double shares[] = {0.5, 1, 2};
    static const unsigned depths[] = {1, 2, 3, 4, 8};
    char name[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "overlap_with_a_kernel_of_%g", shares[i]);
        gpu_least(5, name, measure_pairs(2, shares[i]).overlap, "", 0.95);
    }
    for (size_t i = 0; i < 5; i++) {
        overlap_t found = measure_pairs(depths[i], 1);
        snprintf(name, sizeof name, "step_at_depth_%u", depths[i]);
        gpu_show(6, name, found.alone / 1e3, "us", "");
        snprintf(name, sizeof name, "depth_%u_of_the_longer", depths[i]);
        if (depths[i] == 1)
            gpu_show(6, name, found.slower, "", "2");
        else
            gpu_most(6, name, found.slower, "", 1.1);
    }
}

int main(int argc, char **argv)
{
    gpu_begin(&gpu, argc, argv);
    row = gpu_allocate_host(&gpu, GPU_ROW, 0);
    write_rows(gpu.speeds ? ROWS : FEW);
    check_feed();
    if (gpu.speeds) {
        measure_gather();
        spin = gpu_spin(&gpu);
        if (spin == NULL)
            printf("the driver does not compile PTX: overlap is not measured\n");
        else
            measure_overlap();
    }
    GPU_CALL(&gpu, cuMemFreeHost, row);
    return gpu_end(&gpu);
}
