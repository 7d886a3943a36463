/*  tests/conformance/device/cuda.c - the fixture of CUDA's devices, through calls of the driver that the
 *  device does not need: over a real driver, or the hostile one of tests/support/cuda. */
#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/device_fixture.h"
#include "tests/support/cuda/loaded_calls.h"

/*  Makes the context current that the device has retained. */
static void enter(void)
{
    CUcontext context;
    TEST_CUDA(cuDevicePrimaryCtxRetain, &context, 0);
    TEST_CUDA(cuCtxPushCurrent_v2, context);
}

static void leave(void)
{
    CUcontext popped;
    TEST_CUDA(cuCtxPopCurrent_v2, &popped);
    TEST_CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}

static CUdeviceptr address(const tnd_stage_t *stage, size_t to)
{
    return (CUdeviceptr)(uintptr_t)stage->device + to;
}

static void read_side(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                      size_t bytes)
{
    (void)device;
    enter();
    TEST_CUDA(cuMemcpyDtoH_v2, out, address(stage, to), bytes);
    leave();
}

/* --- streams ---------------------------------------------------------------------------------- */

enum { READ_MOST = 4096 };

/*  A stream, and the last read in it.  It goes through page-locked memory, because a copy to other
 *  memory waits for the stream.  That is allocated when the stream is opened: a driver may wait for
 *  all work when it allocates. */
typedef struct {
    CUstream stream;
    void *pinned, *out;
    size_t bytes;
    _Atomic bool *done;
} user_stream_t;

static user_stream_t opened[8];

static user_stream_t *find(CUstream stream)
{
    for (size_t i = 0; i < sizeof opened / sizeof opened[0]; i++)
        if (opened[i].stream == stream)
            return &opened[i];
    abort();
}

static CUstream stream_of(tnd_stream_handle_t handle)
{
    return (CUstream)handle; // NOLINT: it was one
}

static tnd_stream_handle_t open_stream(tnd_device_t *device)
{
    user_stream_t *self = find(NULL);
    (void)device;
    enter();
    TEST_CUDA(cuStreamCreateWithPriority, &self->stream, CU_STREAM_NON_BLOCKING, 0);
    TEST_CUDA(cuMemHostAlloc, &self->pinned, READ_MOST, 0);
    leave();
    return (tnd_stream_handle_t)self->stream;
}

static void close_stream(tnd_device_t *device, tnd_stream_handle_t stream)
{
    user_stream_t *self = find(stream_of(stream));
    (void)device;
    enter();
    TEST_CUDA(cuStreamSynchronize, self->stream);
    TEST_CUDA(cuMemFreeHost, self->pinned);
    TEST_CUDA(cuStreamDestroy_v2, self->stream);
    leave();
    self->stream = NULL;
}

static void finish_read(void *argument)
{
    const user_stream_t *self = argument;
    memcpy(self->out, self->pinned, self->bytes);
    atomic_store(self->done, true);
}

static void read_later(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done)
{
    user_stream_t *self = find(stream_of(stream));
    (void)device;
    assert(bytes <= READ_MOST);
    self->out = out;
    self->bytes = bytes;
    self->done = done;
    enter();
    TEST_CUDA(cuMemcpyDtoHAsync_v2, self->pinned, address(stage, to), bytes, self->stream);
    TEST_CUDA(cuLaunchHostFunc, self->stream, finish_read, self);
    leave();
}

static void wait_for(void *go)
{
    while (!atomic_load((const _Atomic bool *)go))
        sched_yield();
}

static void hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go)
{
    enter();
    (void)device;
    TEST_CUDA(cuLaunchHostFunc, stream_of(stream), wait_for, (void *)(uintptr_t)go);
    leave();
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
