/*  transport/device/cuda_stage.h - one stage of a device of CUDA: its memory, and what is under way in it.
 *
 *  Threads: those of runtime/interface/device.h.  All need the context to be entered. */
#ifndef TND_TRANSPORT_DEVICE_CUDA_STAGE_H
#define TND_TRANSPORT_DEVICE_CUDA_STAGE_H

#include "transport/device/cuda_memory.h"

/*  TND_CUDA_READERS: streams that read a stage at the same time; more wait for each other. */
enum { TND_CUDA_READERS = 4 };

typedef struct {
    CUstream stream;
    CUevent event;
    bool reads; /* the event was recorded, and was not seen to be complete */
} tnd_cuda_reader_t;

/*  `own` of a tnd_stage_t. */
typedef struct {
    tnd_cuda_memory_t *memory;
    tnd_cuda_memory_part_t part; /* of it */
    CUdeviceptr raw; /* rows that are cast are copied there, each column aligned; 0: none are */
    size_t raw_bytes;
    CUevent landed;       /* all rows are on the device ... */
    CUevent done;         /* ... and cast */
    bool under_way;       /* `done` was recorded, and was not seen to be complete */
    uint64_t put_ns;      /* when the last upload was started */
    pthread_mutex_t lock; /* guards the readers */
    tnd_cuda_reader_t readers[TND_CUDA_READERS];
} tnd_cuda_stage_t;

static inline CUdeviceptr tnd_cuda_stage_side(const tnd_stage_t *stage)
{
    return (CUdeviceptr)(uintptr_t)stage->device;
}

/*  Takes both sides of the memory, filled with zeros.  `raw`: rows will be cast.  `stream` is idle,
 *  and is again. */
tnd_status_t tnd_cuda_stage_make(tnd_stage_t *stage, tnd_cuda_memory_t *memory,
                                 tnd_cuda_context_t *context, CUstream stream, int32_t node,
                                 bool raw, tnd_error_t *error) TND_CHECKED;
/*  Waits for all work on the stage.  false: it does not end, and the memory is not freed, because the
 *  device may still use it. */
bool tnd_cuda_stage_free(tnd_stage_t *stage, tnd_cuda_context_t *context);

/*  Makes `stream` wait for all readers. */
tnd_status_t tnd_cuda_stage_wait_for_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                             CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  Records that what is in `stream` so far reads the stage. */
tnd_status_t tnd_cuda_stage_mark(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                 CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  TND_AGAIN: a reader is not done. */
tnd_status_t tnd_cuda_stage_ask_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                        tnd_error_t *error) TND_CHECKED;

#endif
