/*  tests/e2e/step_bulk.c - a step that reduces one large array: `step: {plugin: bulk, count: N}`.
 *
 *  The sum of N f32 over all replicas, in the host's memory; with `there: 1` in that of the replica's device, of
 *  CUDA or any that has the host's.  Column `y` is not read. */
#include <stdlib.h>
#include <string.h>

#include <tundish/device_values.h>

#include "runtime/feed/dlpack.h"
#include "tests/support/cuda/loaded_calls.h"

extern TND_API const tnd_step_ops_t tnd_step_bulk;

typedef struct {
    size_t count;
    bool there;
    const loaded_calls_t *calls; /* NULL: the values are in the host's memory */
    CUdevice device;
    CUcontext context;
    float *values;
} bulk_t;

static size_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static tnd_status_t bulk_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    bulk_t *self = calloc(1, sizeof *self);
    (void)replica;
    if (self == NULL)
        return TND_FAILED;
    *self = (bulk_t){.count = option(options, "count"), .there = option(options, "there") > 0};
    *model_p = self;
    return TND_OK;
}

static bool is_on_cuda(tnd_replica_t *replica, CUdevice *device_p)
{
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, "y");
    bool cuda = tensor != NULL && tensor->dl_tensor.device.device_type == DL_CUDA;
    *device_p = cuda ? tensor->dl_tensor.device.device_id : 0;
    if (tensor != NULL)
        tensor->deleter(tensor);
    return cuda;
}

static void make_there(bulk_t *self)
{
    CUcontext popped;
    CUdeviceptr there;
    self->calls = test_cuda_calls();
    TEST_CUDA(cuDevicePrimaryCtxRetain, &self->context, self->device);
    TEST_CUDA(cuCtxPushCurrent_v2, self->context);
    TEST_CUDA(cuMemAlloc_v2, &there, self->count * sizeof *self->values);
    TEST_CUDA(cuCtxPopCurrent_v2, &popped);
    self->values = (float *)(uintptr_t)there; // NOLINT: an address of the device
}

static tnd_status_t bulk_step(void *model, tnd_replica_t *replica)
{
    bulk_t *self = model;
    if (self->values == NULL && self->there && is_on_cuda(replica, &self->device))
        make_there(self);
    if (self->values == NULL)
        self->values = calloc(self->count, sizeof *self->values);
    if (self->values == NULL)
        return TND_FAILED;
    if (self->there)
        return tnd_replica_reduce_device(replica, "mean", TND_SUM, TND_F32, self->values,
                                         self->values, self->count, TND_STREAM_NONE);
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, self->values, self->count);
}

static void bulk_close(void *model)
{
    bulk_t *self = model;
    CUcontext popped;
    if (self->calls == NULL) {
        free(self->values);
    } else {
        TEST_CUDA(cuCtxPushCurrent_v2, self->context);
        TEST_CUDA(cuMemFree_v2, (CUdeviceptr)(uintptr_t)self->values);
        TEST_CUDA(cuCtxPopCurrent_v2, &popped);
        TEST_CUDA(cuDevicePrimaryCtxRelease_v2, self->device);
    }
    free(self);
}

const tnd_step_ops_t tnd_step_bulk = {
    .abi = TND_ABI,
    .name = "bulk",
    .open = bulk_open,
    .step = bulk_step,
    .close = bulk_close,
};
