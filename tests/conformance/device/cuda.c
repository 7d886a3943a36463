/*  tests/conformance/device/cuda.c - the fixture of CUDA's devices, through calls of the driver that the
 *  device does not need: over a real driver, or one that stands in for it. */
#include <assert.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/device_fixture.h"
#include "transport/device/cuda_driver.h"

static void *call_of(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *call = library != NULL ? dlsym(library, name) : NULL;
    assert(call != NULL);
    return call;
}

/*  Makes the context of device 0 current on this thread, once. */
static const tnd_cuda_driver_t *enter(void)
{
    static _Thread_local bool entered;
    const tnd_cuda_driver_t *driver;
    tnd_error_t error;
    CUcontext context;
    tnd_status_t status = tnd_cuda_driver(&driver, &error);
    assert(status == TND_OK);
    if (!entered) {
        CUresult result = driver->cuDevicePrimaryCtxRetain(&context, 0);
        assert(result == CUDA_SUCCESS);
        result = driver->cuCtxPushCurrent_v2(context);
        assert(result == CUDA_SUCCESS);
        entered = true;
    }
    return driver;
}

static void read_side(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                      size_t bytes)
{
    static CUresult (*copy)(void *, CUdeviceptr, size_t);
    (void)device;
    (void)enter();
    if (copy == NULL)
        copy = (CUresult(*)(void *, CUdeviceptr, size_t))(uintptr_t)call_of("cuMemcpyDtoH_v2");
    CUresult result = copy(out, (CUdeviceptr)(uintptr_t)stage->device + to, bytes);
    assert(result == CUDA_SUCCESS);
}

static tnd_stream_handle_t open_stream(tnd_device_t *device)
{
    CUstream stream;
    (void)device;
    CUresult result = enter()->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    assert(result == CUDA_SUCCESS);
    return (tnd_stream_handle_t)stream;
}

static void close_stream(tnd_device_t *device, tnd_stream_handle_t stream)
{
    (void)device;
    CUresult result = enter()->cuStreamDestroy_v2((CUstream)stream);
    assert(result == CUDA_SUCCESS);
}

/*  Calls a function of the host when the stream arrives there. */
static void call_later(tnd_stream_handle_t stream, void (*function)(void *), void *context)
{
    static CUresult (*launch)(CUstream, void (*)(void *), void *);
    (void)enter();
    if (launch == NULL)
        launch =
            (CUresult(*)(CUstream, void (*)(void *), void *))(uintptr_t)call_of("cuLaunchHostFunc");
    CUresult result = launch((CUstream)stream, function, context);
    assert(result == CUDA_SUCCESS);
}

static void wait_for(void *go)
{
    while (!atomic_load((const _Atomic bool *)go))
        sched_yield();
}

static void hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go)
{
    (void)device;
    call_later(stream, wait_for, (void *)(uintptr_t)go);
}

/*  A read that goes through page-locked memory, as the driver copies to other memory at once. */
typedef struct {
    void *pinned, *out;
    size_t bytes;
    _Atomic bool *done;
} late_read_t;

static void finish_read(void *context)
{
    late_read_t *read = context;
    memcpy(read->out, read->pinned, read->bytes);
    atomic_store(read->done, true);
    free(read);
}

/*  Not freed while the driver runs its functions, which may not call it. */
static void read_later(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done)
{
    static CUresult (*copy)(void *, CUdeviceptr, size_t, CUstream);
    late_read_t *read = malloc(sizeof *read);
    assert(read != NULL);
    *read = (late_read_t){.out = out, .bytes = bytes, .done = done};
    (void)device;
    CUresult result = enter()->cuMemHostAlloc(&read->pinned, bytes, 0);
    assert(result == CUDA_SUCCESS);
    if (copy == NULL)
        copy = (CUresult(*)(void *, CUdeviceptr, size_t, CUstream))(uintptr_t)call_of(
            "cuMemcpyDtoHAsync_v2");
    result =
        copy(read->pinned, (CUdeviceptr)(uintptr_t)stage->device + to, bytes, (CUstream)stream);
    assert(result == CUDA_SUCCESS);
    call_later(stream, finish_read, read);
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
