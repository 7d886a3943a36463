/*  tests/conformance/device/cuda.c - the fixture of CUDA's devices, through calls of the driver that the
 *  device does not need: over a real driver, or the hostile one of tests/support/cuda. */
#include <assert.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/device_fixture.h"
#include "transport/device/cuda_driver.h"

/* --- calls ------------------------------------------------------------------------------------ */

static struct {
    CUresult (*cuMemcpyDtoH_v2)(void *to, CUdeviceptr from, size_t bytes);
    CUresult (*cuMemcpyDtoHAsync_v2)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*cuLaunchHostFunc)(CUstream stream, void (*function)(void *), void *argument);
} more;

static void find_calls(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert(library != NULL);
    *(void **)&more.cuMemcpyDtoH_v2 = dlsym(library, "cuMemcpyDtoH_v2");
    *(void **)&more.cuMemcpyDtoHAsync_v2 = dlsym(library, "cuMemcpyDtoHAsync_v2");
    *(void **)&more.cuLaunchHostFunc = dlsym(library, "cuLaunchHostFunc");
    assert(more.cuMemcpyDtoH_v2 != NULL && more.cuMemcpyDtoHAsync_v2 != NULL &&
           more.cuLaunchHostFunc != NULL);
    dlclose(library);
}

static void succeed(CUresult result)
{
    assert(result == CUDA_SUCCESS);
}

/*  Makes the context current that the device has retained. */
static const tnd_cuda_driver_t *enter(void)
{
    const tnd_cuda_driver_t *driver;
    tnd_error_t error;
    CUcontext context;
    tnd_status_t status = tnd_cuda_driver(&driver, &error);
    assert(status == TND_OK);
    if (more.cuLaunchHostFunc == NULL)
        find_calls();
    succeed(driver->cuDevicePrimaryCtxRetain(&context, 0));
    succeed(driver->cuCtxPushCurrent_v2(context));
    return driver;
}

static void leave(const tnd_cuda_driver_t *driver)
{
    CUcontext popped;
    succeed(driver->cuCtxPopCurrent_v2(&popped));
    succeed(driver->cuDevicePrimaryCtxRelease_v2(0));
}

static CUstream stream_of(tnd_stream_handle_t handle)
{
    return (CUstream)handle; // NOLINT: it was one
}

static CUdeviceptr address(const tnd_stage_t *stage, size_t to)
{
    return (CUdeviceptr)(uintptr_t)stage->device + to;
}

/* --- reads that come later -------------------------------------------------------------------- */

/*  Through page-locked memory: a copy to other memory waits for the stream. */
typedef struct late_read {
    struct late_read *next;
    tnd_stream_handle_t stream;
    void *pinned, *out;
    size_t bytes;
    _Atomic bool *done;
} late_read_t;

static late_read_t
    *reads; /* freed with their streams: functions in streams may not call the driver */

static void finish_read(void *argument)
{
    const late_read_t *read = argument;
    memcpy(read->out, read->pinned, read->bytes);
    atomic_store(read->done, true);
}

static void read_later(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done)
{
    const tnd_cuda_driver_t *driver = enter();
    late_read_t *read = malloc(sizeof *read);
    (void)device;
    assert(read != NULL);
    *read =
        (late_read_t){.next = reads, .stream = stream, .out = out, .bytes = bytes, .done = done};
    reads = read;
    succeed(driver->cuMemHostAlloc(&read->pinned, bytes, 0));
    succeed(more.cuMemcpyDtoHAsync_v2(read->pinned, address(stage, to), bytes, stream_of(stream)));
    succeed(more.cuLaunchHostFunc(stream_of(stream), finish_read, read));
    leave(driver);
}

static void free_reads(const tnd_cuda_driver_t *driver, tnd_stream_handle_t stream)
{
    for (late_read_t **at = &reads; *at != NULL;) {
        late_read_t *read = *at;
        if (read->stream != stream) {
            at = &read->next;
            continue;
        }
        *at = read->next;
        succeed(driver->cuMemFreeHost(read->pinned));
        free(read);
    }
}

/* --- the other hooks -------------------------------------------------------------------------- */

static void read_side(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                      size_t bytes)
{
    const tnd_cuda_driver_t *driver = enter();
    (void)device;
    succeed(more.cuMemcpyDtoH_v2(out, address(stage, to), bytes));
    leave(driver);
}

static tnd_stream_handle_t open_stream(tnd_device_t *device)
{
    const tnd_cuda_driver_t *driver = enter();
    CUstream stream;
    (void)device;
    succeed(driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    leave(driver);
    return (tnd_stream_handle_t)stream;
}

static void close_stream(tnd_device_t *device, tnd_stream_handle_t stream)
{
    const tnd_cuda_driver_t *driver = enter();
    (void)device;
    succeed(driver->cuStreamSynchronize(stream_of(stream)));
    free_reads(driver, stream);
    succeed(driver->cuStreamDestroy_v2(stream_of(stream)));
    leave(driver);
}

static void wait_for(void *go)
{
    while (!atomic_load((const _Atomic bool *)go))
        sched_yield();
}

static void hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go)
{
    const tnd_cuda_driver_t *driver = enter();
    (void)device;
    succeed(more.cuLaunchHostFunc(stream_of(stream), wait_for, (void *)(uintptr_t)go));
    leave(driver);
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
