/*  transport/cuda/cuda_reductions.h - queues of a device of CUDA for reductions of values in its memory.
 *
 *  Threads: load on any, one at a time; those of a queue one at a time; the rest any.  All need the context to be
 *  entered. */
#ifndef TND_TRANSPORT_CUDA_CUDA_REDUCTIONS_H
#define TND_TRANSPORT_CUDA_CUDA_REDUCTIONS_H

#include "runtime/interface/device_reduction.h"
#include "transport/cuda/cuda_context.h"

/*  The kernels; all zeros: they are not loaded. */
typedef struct {
    CUmodule module;
    CUfunction kernels[TND_DTYPE_COUNT]; /* by the type of leaves; NULL: there is none */
} tnd_cuda_reductions_t;

typedef struct {
    const tnd_cuda_reductions_t *kernels;
    tnd_cuda_context_t *context;
    CUstream stream;
    CUevent marks[TND_QUEUE_MARKS], order; /* `order`: between this and another stream */
    CUdeviceptr scratch;                   /* 0: none */
    size_t scratch_bytes;
} tnd_cuda_queue_t;

/*  Loads the kernels, unless they are loaded. */
tnd_status_t tnd_cuda_reductions_load(tnd_cuda_reductions_t *self, tnd_cuda_context_t *context,
                                      tnd_error_t *error) TND_CHECKED;
void tnd_cuda_reductions_unload(tnd_cuda_reductions_t *self, tnd_cuda_context_t *context);

/*  After a failure it can only be closed. */
tnd_status_t tnd_cuda_queue_open(tnd_cuda_queue_t *self, const tnd_cuda_reductions_t *kernels,
                                 tnd_cuda_context_t *context, size_t scratch,
                                 tnd_error_t *error) TND_CHECKED;
/*  Waits for its work.  false: it does not end, and what the queue has stays. */
bool tnd_cuda_queue_close(tnd_cuda_queue_t *self);
/*  As in tnd_device_reduction_t. */
tnd_status_t tnd_cuda_queue_follow(const tnd_cuda_queue_t *self, CUstream stream,
                                   tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_cuda_queue_precede(const tnd_cuda_queue_t *self, CUstream stream,
                                    tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_cuda_queue_reduce(const tnd_cuda_queue_t *self,
                                   const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                                   size_t count, void *out, tnd_error_t *error) TND_CHECKED;

/*  Whether all of that memory is on the device of the context. */
tnd_status_t tnd_cuda_memory_check(tnd_cuda_context_t *context, const void *memory, size_t bytes,
                                   tnd_error_t *error) TND_CHECKED;

#endif
