/*  tests/gpu/reductions.c - check 28: nodes of the reduction tree that the device cuda adds have the bits of the
 *  host, in all operations and types, over 1 to 16 leaves, for odd sizes; and how fast they are, in bytes that are
 *  read and written, beside copies on the device.
 *
 *  With CUDA_FORCE_PTX_JIT=1 the driver compiles the kernels, instead of taking its machine code. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/gpu_device.h"

enum { LEAVES = 16, AROUND = 256, MOST = 5003, LEAF_BYTES = MOST * 8 + AROUND };

static gpu_t gpu;
static tnd_device_t *device;
static const tnd_device_reduction_t *ops;
static tnd_device_queue_t queue;
static tnd_device_area_t area; /* leaves, and after them the result */
static tnd_error_t error;
static uint64_t state = 1;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static void must(tnd_status_t status)
{
    gpu_must_do(status == TND_OK, error.text);
}

static void await(void)
{
    tnd_status_t status;
    must(ops->mark(device, &queue, 0, &error));
    while ((status = ops->reached(device, &queue, 0, &error)) == TND_AGAIN)
        continue;
    must(status);
}

/*  Any bits: every kind of number, also NaN, infinities and denormals; half of them of similar size. */
static void fill(void *to, size_t bytes, tnd_dtype_t dtype)
{
    static const uint16_t highest[TND_DTYPE_COUNT] = {
        [TND_F16] = 0x3c00, [TND_BF16] = 0x3f80, [TND_F32] = 0x3f80, [TND_F64] = 0x3ff0};
    size_t size = tnd_dtype_size(dtype);
    for (size_t at = 0; at + size <= bytes; at += size) {
        uint32_t words[2] = {draw(), draw()};
        char *value = memcpy((char *)to + at, words, size);
        uint16_t top;
        memcpy(&top, value + size - sizeof top, sizeof top);
        top = (uint16_t)((top & 0x800f) | highest[dtype]);
        if (highest[dtype] != 0 && draw() % 2 == 0)
            memcpy(value + size - sizeof top, &top, sizeof top);
    }
}

/*  How many bytes differ of a node, and of AROUND on either side. */
static uint64_t wrong_bytes(tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t leaves, bool root)
{
    static uint8_t values[LEAVES][LEAF_BYTES], expected[LEAF_BYTES + AROUND];
    tnd_reduction_tree_input_t here[LEAVES], there[LEAVES];
    size_t count = 1 + draw() % (MOST - 64), begin = draw() % 64;
    size_t size = tnd_dtype_size(root ? dtype : tnd_reduction_tree_partial_dtype(dtype));
    char *out = (char *)area.device + (size_t)LEAVES * LEAF_BYTES;
    uint8_t *found = (uint8_t *)area.host + (size_t)LEAVES * LEAF_BYTES;
    uint64_t wrong = 0;
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        fill(values[leaf], LEAF_BYTES, dtype);
        memcpy((char *)area.host + leaf * LEAF_BYTES, values[leaf], LEAF_BYTES);
        here[leaf] = (tnd_reduction_tree_input_t){.node = {leaf, 1},
                                                  .data = values[leaf],
                                                  .rows = leaf > 0 ? draw() % 4 : 3,
                                                  .weight = 0.3 * (leaf + 1)};
        there[leaf] = here[leaf];
        there[leaf].data = (const char *)area.device + leaf * LEAF_BYTES;
    }
    tnd_reduction_tree_job_t job = {.reduce = reduce,
                                    .dtype = dtype,
                                    .node = {0, leaves},
                                    .inputs = here,
                                    .input_count = leaves,
                                    .weighted = reduce == TND_MEAN && draw() % 2 == 0};
    memset(found, 0x5a, LEAF_BYTES + AROUND);
    memset(expected, 0x5a, sizeof expected);
    must(ops->copy_in(device, &queue, area.device, area.host, area.device_bytes, &error));
    (root ? tnd_reduction_tree_root : tnd_reduction_tree_partial)(&job, begin, begin + count,
                                                                  expected + AROUND - begin * size);
    job.inputs = there;
    must(ops->reduce(device, &queue, &job, root, begin, count, out + AROUND, &error));
    must(ops->copy_out(device, &queue, found, out, LEAF_BYTES + AROUND, &error));
    await();
    for (size_t i = 0; i < LEAF_BYTES + AROUND; i++)
        wrong += found[i] != expected[i];
    return wrong;
}

static void compare(void)
{
    static const char *const names[] = {"sum", "mean", "min", "max"};
    static const tnd_dtype_t types[] = {TND_F16, TND_BF16, TND_F32, TND_F64, TND_I32, TND_I64};
    for (size_t i = 0; i < 6 * 4; i++) {
        char name[48];
        uint64_t wrong = 0;
        if (!tnd_reduction_tree_reduces((tnd_reduce_t)(i % 4), types[i / 4]))
            continue;
        for (uint32_t leaves = 1; leaves <= LEAVES; leaves++)
            for (int root = 0; root < 2; root++)
                wrong += wrong_bytes((tnd_reduce_t)(i % 4), types[i / 4], leaves, root > 0);
        snprintf(name, sizeof name, "wrong_bytes_of_%s_of_%s", names[i % 4],
                 tnd_dtype_name(types[i / 4]));
        gpu_exact(28, name, (double)wrong, 0);
    }
}

/* --- speed ------------------------------------------------------------------------------------ */

enum { TIMES = 20, ELEMENTS = 16 << 20 };

static double copy_rate(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    uint64_t begun = 0;
    for (int i = -2; i < TIMES; i++) {
        if (i == 0) {
            gpu_wait(&gpu);
            begun = tnd_clock_now();
        }
        gpu_must_do(gpu.copy_inside(to, from, bytes, gpu.stream) == CUDA_SUCCESS, "a copy failed");
    }
    gpu_wait(&gpu);
    return 2.0 * TIMES * (double)bytes / (double)(tnd_clock_now() - begun);
}

static double reduce_rate(const tnd_reduction_tree_job_t *job, void *out)
{
    size_t size = tnd_dtype_size(job->dtype);
    uint64_t begun = 0;
    for (int i = -2; i < TIMES; i++) {
        if (i == 0) {
            await();
            begun = tnd_clock_now();
        }
        must(ops->reduce(device, &queue, job, true, 0, ELEMENTS, out, &error));
    }
    await();
    return (job->input_count + 1.0) * TIMES * ELEMENTS * (double)size /
           (double)(tnd_clock_now() - begun);
}

static void measure(void)
{
    tnd_reduction_tree_input_t inputs[LEAVES];
    size_t bytes = (size_t)ELEMENTS * sizeof(float);
    CUdeviceptr memory = gpu_allocate(&gpu, (LEAVES + 1) * bytes);
    double copies = copy_rate(memory, memory + LEAVES / 2 * bytes, LEAVES / 2 * bytes);
    gpu_show(28, "copies_on_the_device", copies, "GB/s", "");
    for (uint32_t leaves = 2; leaves <= LEAVES; leaves *= 2)
        for (int type = 0; type < 2; type++) {
            char name[48];
            for (uint32_t i = 0; i < leaves; i++)
                inputs[i] = (tnd_reduction_tree_input_t){
                    .node = {i, 1}, .data = (void *)(uintptr_t)(memory + i * bytes), .rows = 1};
            const tnd_reduction_tree_job_t job = {.reduce = TND_SUM,
                                                  .dtype = type == 0 ? TND_F32 : TND_BF16,
                                                  .node = {0, leaves},
                                                  .inputs = inputs,
                                                  .input_count = leaves};
            snprintf(name, sizeof name, "sum_of_%" PRIu32 "_%s_by_copies", leaves,
                     tnd_dtype_name(job.dtype));
            gpu_least(28, name,
                      reduce_rate(&job, (void *)(uintptr_t)(memory + LEAVES * bytes)) / copies, "",
                      0.7);
        }
    GPU_CALL(&gpu, cuMemFree_v2, memory);
}

int main(int argc, char **argv)
{
    gpu_begin(&gpu, argc, argv);
    device = gpu_open_device();
    ops = device->ops->reduction;
    if (ops == NULL) {
        printf("skipped: the kernels were not compiled\n");
        tnd_device_close(&device);
        (void)gpu_end(&gpu);
        return 77;
    }
    must(ops->open(device, 0, &queue, &error));
    size_t bytes = (size_t)(LEAVES + 1) * LEAF_BYTES + AROUND;
    must(ops->allocate(device, bytes, bytes, &area, &error));
    compare();
    if (gpu.speeds && gpu.copy_inside != NULL)
        measure();
    ops->close(device, &queue);
    ops->release(device, &area);
    tnd_device_close(&device);
    return gpu_end(&gpu);
}
