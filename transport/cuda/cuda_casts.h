/*  transport/cuda/cuda_casts.h - the kernels that cast rows on a device, and what they need.
 *
 *  Threads: any, one at a time.  The calls that take a context need it to be entered. */
#ifndef TND_TRANSPORT_CUDA_CUDA_CASTS_H
#define TND_TRANSPORT_CUDA_CUDA_CASTS_H

#include "transport/cuda/cuda_context.h"

/*  One that is ready.  Its arrays are its own, in page-locked memory. */
typedef struct {
    tnd_row_cast_t cast;
    CUfunction kernel;
    float *constants; /* the scales, then the biases */
    CUdeviceptr constants_there;
} tnd_cuda_cast_ready_t;

typedef struct {
    CUmodule module; /* NULL: not loaded yet */
    tnd_cuda_cast_ready_t *ready;
    size_t count, room;
} tnd_cuda_casts_t;

/*  Loads what a cast needs, unless it is there; `stream` is idle, and is again. */
tnd_status_t tnd_cuda_casts_add(tnd_cuda_casts_t *self, tnd_cuda_context_t *context,
                                CUstream stream, const tnd_row_cast_t *cast,
                                tnd_error_t *error) TND_CHECKED;

/*  Puts the cast of `rows` rows into a stream; tnd_cuda_casts_add was called with it. */
tnd_status_t tnd_cuda_casts_launch(const tnd_cuda_casts_t *self, tnd_cuda_context_t *context,
                                   CUstream stream, const tnd_row_cast_t *cast, CUdeviceptr out,
                                   CUdeviceptr in, uint64_t rows, tnd_error_t *error) TND_CHECKED;

/*  `entered`: whether the context is; without it only the host's memory is freed. */
void tnd_cuda_casts_free(tnd_cuda_casts_t *self, tnd_cuda_context_t *context, bool entered);

#endif
