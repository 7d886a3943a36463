/*  transport/cuda/cuda_memory.h - the memory of the stages of one device of CUDA.
 *
 *  A call that allocates page-locked memory may take a millisecond, and small batches have hundreds of
 *  stages.  So memory is allocated in blocks with room for several stages of one size: as many as
 *  there are of that size already, up to some MiB.  A block is freed with its last stage.
 *
 *  Threads: any.  take and give need the context to be entered. */
#ifndef TND_TRANSPORT_CUDA_CUDA_MEMORY_H
#define TND_TRANSPORT_CUDA_CUDA_MEMORY_H

#include "transport/cuda/cuda_context.h"

typedef struct tnd_cuda_block tnd_cuda_block_t;

typedef struct {
    pthread_mutex_t lock; /* guards the blocks */
    tnd_cuda_block_t *blocks;
} tnd_cuda_memory_t;

/*  Bytes of a stage on the host, on the device, and there for rows before they are cast. */
typedef struct {
    size_t host, device, raw;
} tnd_cuda_memory_size_t;

/*  The memory of one stage. */
typedef struct {
    tnd_cuda_block_t *block; /* NULL: none */
    uint32_t number;         /* in it */
    void *host;              /* page-locked */
    CUdeviceptr device, raw; /* raw: 0 if it has no bytes */
} tnd_cuda_memory_part_t;

void tnd_cuda_memory_init(tnd_cuda_memory_t *self);
/*  Frees no memory of the device: what was lost stays. */
void tnd_cuda_memory_fini(tnd_cuda_memory_t *self);

/*  Memory of zeros on both sides, the host's on the memory node `node`; what is for raw rows has any
 *  bytes.  `stream` is idle, and is again after a success.  A part that could not be cleared is
 *  returned with the error, and is to be given when the stream is idle. */
tnd_status_t tnd_cuda_memory_take(tnd_cuda_memory_t *self, tnd_cuda_context_t *context,
                                  CUstream stream, int32_t node, const tnd_cuda_memory_size_t *size,
                                  tnd_cuda_memory_part_t *part, tnd_error_t *error) TND_CHECKED;
/*  No work uses the part any more. */
void tnd_cuda_memory_give(tnd_cuda_memory_t *self, tnd_cuda_context_t *context,
                          const tnd_cuda_memory_part_t *part);

#endif
