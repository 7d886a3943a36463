/*  tests/conformance/device/cuda.c - the fixture of CUDA's devices, through calls of the driver that the
 *  device does not need: over a real driver, or one that stands in for it. */
#include <assert.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/device_fixture.h"
#include "transport/device/cuda_driver.h"

/*  Calls that the device does not make. */
static struct {
    CUresult (*copy)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*call)(CUstream stream, void (*function)(void *), void *argument);
} more;

static const tnd_cuda_driver_t *driver;
static CUstream reads; /* for `read_side` */

static void succeed(CUresult result)
{
    assert(result == CUDA_SUCCESS);
}

/*  The context stays current on this thread. */
static void enter(void)
{
    tnd_error_t error;
    CUcontext context;
    if (driver != NULL)
        return;
    tnd_status_t status = tnd_cuda_driver(&driver, &error);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert(status == TND_OK && library != NULL);
    *(void **)&more.copy = dlsym(library, "cuMemcpyDtoHAsync_v2");
    *(void **)&more.call = dlsym(library, "cuLaunchHostFunc");
    assert(more.copy != NULL && more.call != NULL);
    succeed(driver->cuDevicePrimaryCtxRetain(&context, 0));
    succeed(driver->cuCtxPushCurrent_v2(context));
    succeed(driver->cuStreamCreateWithPriority(&reads, CU_STREAM_NON_BLOCKING, 0));
}

/*  The driver copies at once to memory that is not page-locked. */
static void *pinned(size_t bytes)
{
    void *memory;
    succeed(driver->cuMemHostAlloc(&memory, bytes, 0));
    return memory;
}

static void put_copy(const tnd_stage_t *stage, size_t to, void *out, size_t bytes, CUstream stream)
{
    succeed(more.copy(out, (CUdeviceptr)(uintptr_t)stage->device + to, bytes, stream));
}

static void read_side(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                      size_t bytes)
{
    (void)device;
    enter();
    void *memory = pinned(bytes);
    put_copy(stage, to, memory, bytes, reads);
    succeed(driver->cuStreamSynchronize(reads));
    memcpy(out, memory, bytes);
    succeed(driver->cuMemFreeHost(memory));
}

/*  What `read_later` reads, from when it is put into its stream until that is closed. */
typedef struct late_read {
    struct late_read *next;
    CUstream stream;
    void *memory, *out;
    size_t bytes;
    _Atomic bool *done;
} late_read_t;

static late_read_t *late_reads;

static tnd_stream_handle_t open_stream(tnd_device_t *device)
{
    CUstream stream;
    (void)device;
    enter();
    succeed(driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    return (tnd_stream_handle_t)stream;
}

static void close_stream(tnd_device_t *device, tnd_stream_handle_t stream)
{
    (void)device;
    succeed(driver->cuStreamSynchronize((CUstream)stream));
    for (late_read_t **at = &late_reads; *at != NULL;) {
        late_read_t *read = *at;
        if (read->stream != (CUstream)stream) {
            at = &read->next;
            continue;
        }
        *at = read->next;
        succeed(driver->cuMemFreeHost(read->memory));
        free(read);
    }
    succeed(driver->cuStreamDestroy_v2((CUstream)stream));
}

static void wait_for(void *go)
{
    while (!atomic_load((const _Atomic bool *)go))
        sched_yield();
}

static void hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go)
{
    (void)device;
    succeed(more.call((CUstream)stream, wait_for, (void *)(uintptr_t)go));
}

static void finish_read(void *context)
{
    const late_read_t *read = context;
    memcpy(read->out, read->memory, read->bytes);
    atomic_store(read->done, true);
}

static void read_later(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done)
{
    late_read_t *read = malloc(sizeof *read);
    (void)device;
    assert(read != NULL);
    *read = (late_read_t){.next = late_reads,
                          .stream = (CUstream)stream,
                          .memory = pinned(bytes),
                          .out = out,
                          .bytes = bytes,
                          .done = done};
    late_reads = read;
    put_copy(stage, to, read->memory, bytes, read->stream);
    succeed(more.call(read->stream, finish_read, read));
}

const device_fixture_t device_fixture_cuda = {
    .name = "cuda:0",
    .missing = "cuda:99",
    .too_large = (size_t)1 << 46,
    .hooks = {.read = read_side,
              .open = open_stream,
              .close = close_stream,
              .hold = hold,
              .read_later = read_later},
};
