/*  transport/cuda/cuda_reductions.c - loads and launches the kernels that reduce values. */
#include "transport/cuda/cuda_reductions.h"

#include <inttypes.h>
#include <stdio.h>

#include "transport/cuda/cuda_image.h"
#include "transport/cuda/cuda_reduction_passes.h"

/*  Elements of a launch: kernels count with 32 bits, and threads pass over the end. */
static const size_t launch_most = (size_t)1 << 30;

static CUdeviceptr address_of(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static tnd_status_t find_kernels(tnd_cuda_reductions_t *self, tnd_cuda_context_t *context,
                                 tnd_error_t *error)
{
    for (int dtype = 0; dtype < TND_DTYPE_COUNT; dtype++) {
        char name[32];
        const char *type = tnd_cuda_reduction_type((tnd_dtype_t)dtype);
        if (type == NULL)
            continue;
        snprintf(name, sizeof name, "tnd_reduce_%s", type);
        TND_TRY(TND_CUDA(context, error, cuModuleGetFunction, &self->kernels[dtype], self->module,
                         name));
    }
    return TND_OK;
}

tnd_status_t tnd_cuda_reductions_load(tnd_cuda_reductions_t *self, tnd_cuda_context_t *context,
                                      tnd_error_t *error)
{
    tnd_error_t why;
    if (self->module != NULL)
        return TND_OK;
    if (TND_CUDA(context, &why, cuModuleLoadData, &self->module, tnd_cuda_image) != TND_OK)
        return tnd_fail(error,
                        "%s; reductions need compute capability 7.5 and a driver that is not older "
                        "than the compiler of their kernels",
                        why.text);
    tnd_status_t status = find_kernels(self, context, error);
    if (status != TND_OK)
        tnd_cuda_reductions_unload(self, context);
    return status;
}

void tnd_cuda_reductions_unload(tnd_cuda_reductions_t *self, tnd_cuda_context_t *context)
{
    if (self->module != NULL)
        (void)TND_CUDA(context, NULL, cuModuleUnload, self->module);
    *self = (tnd_cuda_reductions_t){.module = NULL};
}

/* --- queues ----------------------------------------------------------------------------------- */

static tnd_status_t make(tnd_cuda_queue_t *self, size_t scratch, tnd_error_t *error)
{
    tnd_cuda_context_t *context = self->context;
    TND_TRY(TND_CUDA(context, error, cuStreamCreateWithPriority, &self->stream,
                     CU_STREAM_NON_BLOCKING, 0));
    TND_TRY(TND_CUDA(context, error, cuEventCreate, &self->order, CU_EVENT_DISABLE_TIMING));
    for (size_t i = 0; i < TND_QUEUE_MARKS; i++)
        TND_TRY(TND_CUDA(context, error, cuEventCreate, &self->marks[i], CU_EVENT_DISABLE_TIMING));
    if (scratch == 0)
        return TND_OK;
    self->scratch_bytes = scratch;
    return TND_CUDA(context, error, cuMemAlloc_v2, &self->scratch, scratch);
}

static tnd_status_t launch(void *context, const tnd_cuda_reduction_t *pass, tnd_error_t *error);

typedef struct {
    const tnd_cuda_queue_t *queue;
    CUfunction kernel;
} launcher_t;

/*  The first launch of a kernel loads it: one of no elements is made now, and not while values wait. */
static tnd_status_t warm_up(const tnd_cuda_queue_t *self, tnd_error_t *error)
{
    for (int dtype = 0; dtype < TND_DTYPE_COUNT; dtype++) {
        launcher_t launcher = {self, self->kernels->kernels[dtype]};
        if (launcher.kernel != NULL)
            TND_TRY(launch(&launcher, &(tnd_cuda_reduction_t){.divisor = 1}, error));
    }
    return TND_OK;
}

tnd_status_t tnd_cuda_queue_open(tnd_cuda_queue_t *self, const tnd_cuda_reductions_t *kernels,
                                 tnd_cuda_context_t *context, size_t scratch, tnd_error_t *error)
{
    *self = (tnd_cuda_queue_t){.kernels = kernels, .context = context};
    TND_TRY(make(self, scratch, error));
    return warm_up(self, error);
}

bool tnd_cuda_queue_close(tnd_cuda_queue_t *self)
{
    tnd_cuda_context_t *context = self->context;
    if (self->stream != NULL && !tnd_cuda_context_drain_stream(context, self->stream))
        return false;
    if (self->scratch != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, self->scratch);
    for (size_t i = 0; i < TND_QUEUE_MARKS; i++)
        if (self->marks[i] != NULL)
            (void)TND_CUDA(context, NULL, cuEventDestroy_v2, self->marks[i]);
    if (self->order != NULL)
        (void)TND_CUDA(context, NULL, cuEventDestroy_v2, self->order);
    if (self->stream != NULL)
        (void)TND_CUDA(context, NULL, cuStreamDestroy_v2, self->stream);
    *self = (tnd_cuda_queue_t){.context = context};
    return true;
}

/*  What waits is fixed when it is asked to: the event may be recorded again. */
static tnd_status_t order(const tnd_cuda_queue_t *self, CUstream before, CUstream after,
                          tnd_error_t *error)
{
    TND_TRY(TND_CUDA(self->context, error, cuEventRecord, self->order, before));
    return TND_CUDA(self->context, error, cuStreamWaitEvent, after, self->order, 0);
}

tnd_status_t tnd_cuda_queue_follow(const tnd_cuda_queue_t *self, CUstream stream,
                                   tnd_error_t *error)
{
    return order(self, stream, self->stream, error);
}

tnd_status_t tnd_cuda_queue_precede(const tnd_cuda_queue_t *self, CUstream stream,
                                    tnd_error_t *error)
{
    return order(self, self->stream, stream, error);
}

/* --- launches --------------------------------------------------------------------------------- */

static tnd_status_t launch(void *context, const tnd_cuda_reduction_t *pass, tnd_error_t *error)
{
    const launcher_t *self = context;
    tnd_cuda_reduction_t parameter = *pass;
    return TND_CUDA(self->queue->context, error, cuLaunchKernel, self->kernel,
                    tnd_kernel_blocks(parameter.count), 1, 1, TND_KERNEL_THREADS, 1, 1, 0,
                    self->queue->stream, (void *[]){&parameter}, NULL);
}

/*  Elements that are reduced by one launch, or by the passes for which there is scratch memory; the parts of
 *  that are aligned. */
static size_t block_of(const tnd_cuda_queue_t *self, const tnd_reduction_tree_job_t *job)
{
    size_t bytes = self->scratch_bytes / TND_CUDA_PASS_BLOCKS / TND_STAGE_ALIGN * TND_STAGE_ALIGN;
    if (job->node.count <= TND_DEVICE_LEAVES)
        return launch_most;
    return bytes / tnd_dtype_size(tnd_reduction_tree_partial_dtype(job->dtype));
}

tnd_status_t tnd_cuda_queue_reduce(const tnd_cuda_queue_t *self,
                                   const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                                   size_t count, void *out, tnd_error_t *error)
{
    launcher_t launcher = {self, self->kernels->kernels[job->dtype]};
    tnd_dtype_t partial = tnd_reduction_tree_partial_dtype(job->dtype);
    size_t most = block_of(self, job), size = tnd_dtype_size(root ? job->dtype : partial);
    for (size_t at = 0; at < count; at += most) {
        size_t some = count - at < most ? count - at : most;
        const tnd_cuda_reduction_work_t work = {
            .job = job,
            .root = root,
            .begin = begin + at,
            .count = (unsigned)some,
            .out = (char *)out + at * size,
            .scratch = (char *)(uintptr_t)self->scratch, // NOLINT: kernels take addresses
            .block = most * tnd_dtype_size(partial)};
        TND_TRY(tnd_cuda_reduction_passes(&work, launch, &launcher, error));
    }
    return TND_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

tnd_status_t tnd_cuda_memory_check(tnd_cuda_context_t *context, const void *memory, size_t bytes,
                                   tnd_error_t *error)
{
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned kind = 0;
    int device = -1;
    CUdeviceptr first = 0, at = address_of(memory);
    size_t room = 0;
    TND_TRY(TND_CUDA(context, error, cuPointerGetAttributes, sizeof asked / sizeof asked[0], asked,
                     (void *[]){&kind, &device, &first, &room}, at));
    if (kind != CU_MEMORYTYPE_DEVICE)
        return tnd_fail(error, "%s: the values are not in the memory of a device", context->name);
    if (device != context->device)
        return tnd_fail(error, "%s: the values are in the memory of cuda:%d", context->name,
                        device);
    if (at < first || bytes > room || at - first > room - bytes)
        return tnd_fail(error, "%s: the values have %zu bytes, which are not all in one allocation",
                        context->name, bytes);
    return TND_OK;
}
