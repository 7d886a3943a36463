/*  transport/cuda/cuda_casts.c - loads and launches the kernels that cast rows. */
#include "transport/cuda/cuda_casts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/cuda/cuda_image.h"
#include "transport/cuda/cuda_kernels.h"

/*  Elements of a launch: kernels count with 32 bits. */
static const uint64_t launch_most = (UINT64_C(1) << 31) - 1;

/*  A kernel that cannot be loaded is refused by its name: the driver says little. */
static tnd_status_t load_module(tnd_cuda_casts_t *self, tnd_cuda_context_t *context,
                                tnd_error_t *error)
{
    int major = 0, minor = 0;
    tnd_error_t why;
    if (self->module != NULL)
        return TND_OK;
    TND_TRY(TND_CUDA(context, error, cuDeviceGetAttribute, &major,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, context->device));
    TND_TRY(TND_CUDA(context, error, cuDeviceGetAttribute, &minor,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, context->device));
    if (TND_CUDA(context, &why, cuModuleLoadData, &self->module, tnd_cuda_image) == TND_OK)
        return TND_OK;
    return tnd_fail(
        error,
        "%s; casts need compute capability 7.5 (this device has %d.%d) and a driver that "
        "is not older than the compiler of their kernels",
        why.text, major, minor);
}

static bool is_same(const tnd_row_cast_t *a, const tnd_row_cast_t *b)
{
    size_t bytes = a->channels * sizeof(float);
    return a->from == b->from && a->to == b->to && a->elements == b->elements &&
           a->channels == b->channels && a->channels_first == b->channels_first &&
           memcmp(a->scale, b->scale, bytes) == 0 && memcmp(a->bias, b->bias, bytes) == 0;
}

static const tnd_cuda_cast_ready_t *find(const tnd_cuda_casts_t *self, const tnd_row_cast_t *cast)
{
    for (size_t i = 0; i < self->count; i++)
        if (is_same(&self->ready[i].cast, cast))
            return &self->ready[i];
    return NULL;
}

/*  The elements of a launch are whole rows. */
static tnd_status_t launch(const tnd_cuda_cast_ready_t *ready, tnd_cuda_context_t *context,
                           CUstream stream, CUdeviceptr out, CUdeviceptr in, uint64_t rows,
                           tnd_error_t *error)
{
    const tnd_row_cast_t *cast = &ready->cast;
    uint64_t count = rows * cast->elements;
    const float *constants = (const float *)(uintptr_t)ready->constants_there;
    tnd_cuda_cast_t parameter = {.in = (const void *)(uintptr_t)in,
                                 .out = (void *)(uintptr_t)out,
                                 .scale = constants,
                                 .bias = constants + cast->channels,
                                 .count = (unsigned)count,
                                 .elements = (unsigned)cast->elements,
                                 .channels = cast->channels,
                                 .pixels = (unsigned)(cast->elements / cast->channels),
                                 .channels_first = cast->channels_first};
    return TND_CUDA(context, error, cuLaunchKernel, ready->kernel,
                    tnd_kernel_blocks(parameter.count), 1, 1, TND_KERNEL_THREADS, 1, 1, 0, stream,
                    (void *[]){&parameter}, NULL);
}

/*  Copies the constants to the device.  The first launch of a kernel loads it, so one of no elements
 *  is made now and not while rows are fed. */
static tnd_status_t warm_up(const tnd_cuda_cast_ready_t *ready, tnd_cuda_context_t *context,
                            CUstream stream, tnd_error_t *error)
{
    TND_TRY(TND_CUDA(context, error, cuMemcpyHtoDAsync_v2, ready->constants_there, ready->constants,
                     2 * ready->cast.channels * sizeof(float), stream));
    tnd_status_t status = launch(ready, context, stream, 0, 0, 0, error);
    tnd_error_t why;
    if (TND_CUDA(context, &why, cuStreamSynchronize, stream) != TND_OK && status == TND_OK)
        return tnd_fail(error, "%s", why.text);
    return status;
}

static tnd_status_t load_constants(tnd_cuda_cast_ready_t *ready, tnd_cuda_context_t *context,
                                   const tnd_row_cast_t *cast, tnd_error_t *error)
{
    size_t bytes = cast->channels * sizeof(float);
    void *memory;
    TND_TRY(TND_CUDA(context, error, cuMemHostAlloc, &memory, 2 * bytes, CU_MEMHOSTALLOC_PORTABLE));
    ready->constants = memory;
    ready->cast.scale = ready->constants;
    ready->cast.bias = ready->constants + cast->channels;
    memcpy(ready->constants, cast->scale, bytes);
    memcpy(ready->constants + cast->channels, cast->bias, bytes);
    return TND_CUDA(context, error, cuMemAlloc_v2, &ready->constants_there, 2 * bytes);
}

static tnd_status_t fill(tnd_cuda_cast_ready_t *ready, const tnd_cuda_casts_t *self,
                         tnd_cuda_context_t *context, CUstream stream, const tnd_row_cast_t *cast,
                         tnd_error_t *error)
{
    char name[32];
    snprintf(name, sizeof name, "tnd_cast_%s_%s", tnd_dtype_name(cast->from),
             tnd_dtype_name(cast->to));
    TND_TRY(TND_CUDA(context, error, cuModuleGetFunction, &ready->kernel, self->module, name));
    TND_TRY(load_constants(ready, context, cast, error));
    return warm_up(ready, context, stream, error);
}

static void drop(const tnd_cuda_cast_ready_t *ready, tnd_cuda_context_t *context)
{
    if (ready->constants_there != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, ready->constants_there);
    if (ready->constants != NULL)
        (void)TND_CUDA(context, NULL, cuMemFreeHost, ready->constants);
}

tnd_status_t tnd_cuda_casts_add(tnd_cuda_casts_t *self, tnd_cuda_context_t *context,
                                CUstream stream, const tnd_row_cast_t *cast, tnd_error_t *error)
{
    tnd_cuda_cast_ready_t ready = {.cast = *cast};
    if (cast->elements > launch_most)
        return tnd_fail(error, "%s: rows of %" PRIu64 " elements are too large to cast",
                        context->name, cast->elements);
    if (find(self, cast) != NULL)
        return TND_OK;
    TND_TRY(load_module(self, context, error));
    tnd_status_t status = fill(&ready, self, context, stream, cast, error);
    if (status != TND_OK) {
        if (tnd_cuda_context_drain_stream(context, stream))
            drop(&ready, context);
        return status;
    }
    self->ready = tnd_grow(self->ready, self->count, &self->room, sizeof ready);
    self->ready[self->count++] = ready;
    return TND_OK;
}

tnd_status_t tnd_cuda_casts_launch(const tnd_cuda_casts_t *self, tnd_cuda_context_t *context,
                                   CUstream stream, const tnd_row_cast_t *cast, CUdeviceptr out,
                                   CUdeviceptr in, uint64_t rows, tnd_error_t *error)
{
    const tnd_cuda_cast_ready_t *ready = find(self, cast);
    uint64_t most = launch_most / cast->elements,
             read = cast->elements * tnd_dtype_size(cast->from);
    uint64_t made = cast->elements * tnd_dtype_size(cast->to);
    assert(ready != NULL);
    for (uint64_t row = 0, some; row < rows; row += some) {
        some = rows - row < most ? rows - row : most;
        TND_TRY(launch(ready, context, stream, out + row * made, in + row * read, some, error));
    }
    return TND_OK;
}

void tnd_cuda_casts_free(tnd_cuda_casts_t *self, tnd_cuda_context_t *context, bool entered)
{
    for (size_t i = 0; i < self->count && entered; i++)
        drop(&self->ready[i], context);
    if (self->module != NULL && entered)
        (void)TND_CUDA(context, NULL, cuModuleUnload, self->module);
    free(self->ready);
    *self = (tnd_cuda_casts_t){0};
}
