/*  tests/gpu/uploads.c - checks 3, 7, 9 and 27: uploads of stages that were filled beforehand reach the rate of
 *  the link, casts run at the speed of the device's memory, no upload allocates, frees or waits, and the
 *  work of kernels is timed. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/gpu_device.h"
#include "transport/cuda/cuda_image.h"
#include "transport/cuda/cuda_kernels.h"

enum { STAGES = 3, UPLOADS = 300, STEADY = 10000, LAUNCHES = 50 };

/*  More than the caches of a device have. */
static const size_t elements = 4 * (size_t)GPU_BATCH_BYTES;

static gpu_t gpu;
static tnd_device_t *device;
static tnd_error_t error;
static const float scale[3] = {0.017124753f, 0.017507f, 0.017429193f};
static const float bias[3] = {-2.117904f, -2.0357143f, -1.8044444f};

static void complete(tnd_stage_t *stage)
{
    gpu_must_do(gpu_complete(device, stage, &error) == TND_OK, error.text);
}

static void start(tnd_stage_t *stage, const tnd_row_cast_t *cast, tnd_dtype_t from, uint64_t rows)
{
    tnd_stage_piece_t piece = {.from = stage->host,
                               .rows = rows,
                               .row_bytes = GPU_ROW * tnd_dtype_size(from),
                               .cast = cast};
    gpu_must_do(device->ops->upload(device, stage, &piece, 1, &error) == TND_OK, error.text);
}

/*  Bytes of the link per ns, of batches of pictures that are cast or are not. */
static double upload_rate(const tnd_row_cast_t *cast, tnd_dtype_t from, tnd_dtype_t to)
{
    tnd_stage_t stages[STAGES];
    size_t bytes = GPU_BATCH_BYTES * tnd_dtype_size(from);
    uint64_t begun = 0;
    for (size_t i = 0; i < STAGES; i++)
        gpu_must_do(device->ops->stage(device, bytes, GPU_BATCH_BYTES * tnd_dtype_size(to), bytes,
                                       &stages[i], &error) == TND_OK,
                    error.text);
    for (size_t i = 0; i < UPLOADS + STAGES; i++) {
        for (size_t all = 0; i == STAGES && all < STAGES; all++)
            complete(&stages[all]);
        if (i == STAGES)
            begun = tnd_clock_now();
        complete(&stages[i % STAGES]);
        start(&stages[i % STAGES], cast, from, GPU_BATCH);
    }
    for (size_t i = 0; i < STAGES; i++)
        complete(&stages[(UPLOADS + i) % STAGES]);
    double took = (double)(tnd_clock_now() - begun);
    for (size_t i = 0; i < STAGES; i++)
        device->ops->unstage(device, &stages[i]);
    return (double)bytes * UPLOADS / took;
}

static tnd_row_cast_t pictures(tnd_dtype_t to, bool channels_first)
{
    tnd_row_cast_t cast = {.from = TND_U8,
                           .to = to,
                           .elements = GPU_ROW,
                           .channels = 3,
                           .channels_first = channels_first,
                           .scale = scale,
                           .bias = bias};
    gpu_must_do(device->ops->prepare(device, &cast, &error) == TND_OK, error.text);
    return cast;
}

static void measure_uploads(void)
{
    double link = gpu_link_rate(&gpu, GPU_BATCH_BYTES);
    double plain = upload_rate(NULL, TND_U8, TND_U8);
    gpu_show(3, "page_locked_copies", link, "GB/s", "");
    gpu_show(3, "filled_beforehand", plain, "GB/s", "");
    gpu_least(3, "filled_beforehand_of_the_link", plain / link, "", 0.95);
    if (!(device->ops->can & TND_DEVICE_CASTS))
        return;
    tnd_row_cast_t cast = pictures(TND_F32, true);
    double small = upload_rate(&cast, TND_U8, TND_F32) / GPU_ROW;
    double large = upload_rate(NULL, TND_F32, TND_F32) / GPU_ROW / 4;
    gpu_show(7, "u8_and_cast", small * 1e3, "million samples/s", "");
    gpu_show(7, "f32_from_the_host", large * 1e3, "million samples/s", "");
    gpu_least(7, "u8_and_cast_of_f32", small / large, "", 3.5);
}

/* --- casts alone ------------------------------------------------------------------------------ */

/*  Bytes per ns that some work reads and writes, which is put LAUNCHES times. */
static double rate_of(void (*put)(void *work), void *work, double bytes)
{
    for (int i = 0; i < 3; i++)
        put(work);
    gpu_wait(&gpu);
    uint64_t begun = tnd_clock_now();
    for (int i = 0; i < LAUNCHES; i++)
        put(work);
    gpu_wait(&gpu);
    return bytes * LAUNCHES / (double)(tnd_clock_now() - begun);
}

typedef struct {
    CUfunction kernel;
    tnd_cuda_cast_t cast;
} work_t;

static void put_cast(void *pointer)
{
    work_t *work = pointer;
    GPU_CALL(&gpu, cuLaunchKernel, work->kernel, tnd_kernel_blocks(work->cast.count), 1, 1,
             TND_KERNEL_THREADS, 1, 1, 0, gpu.stream, (void *[]){&work->cast}, NULL);
}

static void put_copy(void *pointer)
{
    const work_t *work = pointer;
    gpu_must_do(gpu.copy_inside((CUdeviceptr)(uintptr_t)work->cast.out,
                                (CUdeviceptr)(uintptr_t)work->cast.in, 4 * elements,
                                gpu.stream) == CUDA_SUCCESS,
                "cuMemcpyDtoDAsync_v2 failed");
}

static void measure_casts(void)
{
    CUmodule module;
    if (!(device->ops->can & TND_DEVICE_CASTS) || gpu.copy_inside == NULL)
        return;
    CUdeviceptr in = gpu_allocate(&gpu, 4 * elements);
    CUdeviceptr out = gpu_allocate(&gpu, 4 * elements);
    CUdeviceptr constants = gpu_allocate(&gpu, sizeof scale);
    GPU_CALL(&gpu, cuMemcpyHtoDAsync_v2, constants, scale, sizeof scale, gpu.stream);
    GPU_CALL(&gpu, cuModuleLoadData, &module, tnd_cuda_image);
    work_t work = {.cast = {.in = (const void *)(uintptr_t)in,
                            .out = (void *)(uintptr_t)out,
                            .scale = (const float *)(uintptr_t)constants,
                            .bias = (const float *)(uintptr_t)constants,
                            .count = (unsigned)elements,
                            .elements = GPU_ROW,
                            .channels = 3,
                            .pixels = GPU_ROW / 3}};
    double copy = rate_of(put_copy, &work, 8 * (double)elements);
    gpu_show(7, "copy_on_the_device", copy, "GB/s, read and written", "");
    static const struct {
        const char *kernel;
        double bytes; /* of an element, on both sides */
    } kinds[] = {{"u8_bf16", 3}, {"u8_f32", 5}, {"f32_bf16", 6}};
    for (size_t i = 0; i < 6; i++) {
        char name[48];
        work.cast.channels_first = i % 2;
        snprintf(name, sizeof name, "tnd_cast_%s", kinds[i / 2].kernel);
        GPU_CALL(&gpu, cuModuleGetFunction, &work.kernel, module, name);
        double rate = rate_of(put_cast, &work, kinds[i / 2].bytes * (double)elements);
        snprintf(name, sizeof name, "%s_channels_%s_of_the_copy", kinds[i / 2].kernel,
                 i % 2 ? "first" : "last");
        gpu_least(7, name, rate / copy, "", 0.7);
    }
    GPU_CALL(&gpu, cuModuleUnload, module);
    GPU_CALL(&gpu, cuMemFree_v2, constants);
    GPU_CALL(&gpu, cuMemFree_v2, out);
    GPU_CALL(&gpu, cuMemFree_v2, in);
}

/* --- after the start -------------------------------------------------------------------------- */

static double resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    gpu_must_do(file != NULL && fscanf(file, "%*d %ld", &pages) == 1, "no /proc/self/statm");
    fclose(file);
    return (double)pages * 4;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/*  How many times the median the slowest of 99 in 100 took; sorts them. */
static double lateness(uint64_t *took, size_t count)
{
    qsort(took, count, sizeof took[0], compare);
    return (double)took[count * 99 / 100] / (double)took[count / 2];
}

/*  Of plain copies of so many bytes: what the machine itself delays. */
static double lateness_of_copies(size_t bytes)
{
    static uint64_t took[STEADY / 4];
    void *from = gpu_allocate_host(&gpu, bytes, 0);
    CUdeviceptr to = gpu_allocate(&gpu, bytes);
    for (size_t i = 0; i < STEADY / 4; i++) {
        uint64_t begun = tnd_clock_now();
        GPU_CALL(&gpu, cuMemcpyHtoDAsync_v2, to, from, bytes, gpu.stream);
        gpu_wait(&gpu);
        took[i] = tnd_clock_now() - begun;
    }
    GPU_CALL(&gpu, cuMemFree_v2, to);
    GPU_CALL(&gpu, cuMemFreeHost, from);
    return lateness(took, STEADY / 4);
}

/*  As a feeder does it: two stages, of which the steps read one while the other is filled. */
static void check_steady_state(void)
{
    static uint64_t took[STEADY];
    bool casts = device->ops->can & TND_DEVICE_CASTS;
    size_t steps = gpu.speeds ? STEADY : STEADY / 200, rows = gpu.speeds ? 64 : 4;
    tnd_row_cast_t cast = {0};
    tnd_stage_t stages[2];
    tnd_device_facts_t before, after;
    tnd_stream_handle_t stream = device->ops->stream(device);
    if (casts)
        cast = pictures(TND_BF16, true);
    for (size_t i = 0; i < 2; i++)
        gpu_must_do(device->ops->stage(device, rows * GPU_ROW, 2 * rows * GPU_ROW, rows * GPU_ROW,
                                       &stages[i], &error) == TND_OK,
                    error.text);
    double memory = 0;
    for (size_t i = 0; i < steps + 10; i++) {
        tnd_stage_t *stage = &stages[i % 2];
        if (i == 10) {
            device->ops->facts(device, &before);
            memory = resident_kib();
        }
        uint64_t begun = tnd_clock_now();
        start(stage, casts ? &cast : NULL, TND_U8, rows);
        gpu_must_do(device->ops->await(device, stage, stream, &error) == TND_OK, error.text);
        gpu_must_do(device->ops->mark(device, stage, stream, &error) == TND_OK, error.text);
        complete(stage);
        if (i >= 10)
            took[i - 10] = tnd_clock_now() - begun;
    }
    double grown = resident_kib() - memory;
    device->ops->facts(device, &after);
    static const char *const kinds[] = {"allocations", "frees", "waits"};
    for (size_t i = 0; i < 3; i++)
        gpu_exact(9, kinds[i], (double)(after.calls[i] - before.calls[i]), 0);
    gpu_exact(9, "bytes_moved",
              (double)(after.bytes_moved - before.bytes_moved) /
                  ((double)steps * (double)rows * GPU_ROW),
              1);
    double late = lateness(took, steps);
    gpu_show(9, "step", (double)took[steps / 2] / 1e3, "us", "");
    if (gpu.speeds) {
        gpu_most(9, "grown", grown, "KiB", 1024);
        gpu_most(9, "device_memory_grown",
                 ((double)before.memory_free - (double)after.memory_free) / 1024, "KiB", 0);
        double plain = lateness_of_copies(rows * GPU_ROW);
        gpu_show(9, "99_of_100_copies_of_the_median", plain, "", "1.1, on a quiet machine");
        gpu_show(9, "99_of_100_steps_of_the_median", late, "", "");
        gpu_most(9, "steps_of_the_copies", late / plain, "", 1.2);
    }
    for (size_t i = 0; i < 2; i++)
        device->ops->unstage(device, &stages[i]);
}

/* --- times ------------------------------------------------------------------------------------ */

/*  Kernels of 2 ms, the device idle for as long between them, for longer than a tick of its clock. */
static void measure_times(void)
{
    enum { STEPS = 400 };
    uint64_t ns = 2000000;
    tnd_device_facts_t before, after;
    tnd_stage_t stage;
    CUfunction spin = gpu_spin(&gpu);
    if (spin == NULL)
        return;
    gpu_must_do(device->ops->stage(device, 64, 64, 64, &stage, &error) == TND_OK, error.text);
    tnd_stream_handle_t stream = (tnd_stream_handle_t)gpu.stream;
    device->ops->facts(device, &before);
    for (int i = 0; i < STEPS; i++) {
        tnd_stage_piece_t piece = {.from = stage.host, .rows = 1, .row_bytes = 64};
        gpu_must_do(gpu_upload(device, &stage, &piece, &error) == TND_OK, error.text);
        gpu_must_do(device->ops->await(device, &stage, stream, &error) == TND_OK, error.text);
        GPU_CALL(&gpu, cuLaunchKernel, spin, 1, 1, 1, 1, 1, 1, 0, gpu.stream, (void *[]){&ns},
                 NULL);
        gpu_must_do(device->ops->mark(device, &stage, stream, &error) == TND_OK, error.text);
        while (device->ops->finished(device, &stage, &error) == TND_AGAIN)
            sched_yield();
        uint64_t ended = tnd_clock_now();
        while (tnd_clock_now() < ended + ns)
            ;
    }
    device->ops->facts(device, &after);
    double share = (double)(after.work_ns - before.work_ns) / ((double)STEPS * (double)ns);
    gpu_least(27, "timed_work_of_what_kernels_took", share, "", 0.98);
    gpu_most(27, "timed_work_of_what_kernels_took", share, "", 1.02);
    device->ops->unstage(device, &stage);
}

int main(int argc, char **argv)
{
    gpu_begin(&gpu, argc, argv);
    device = gpu_open_device();
    check_steady_state();
    if (gpu.speeds) {
        measure_times();
        measure_uploads();
        measure_casts();
    }
    tnd_device_close(&device);
    return gpu_end(&gpu);
}
