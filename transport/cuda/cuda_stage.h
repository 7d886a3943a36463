/*  transport/cuda/cuda_stage.h - one stage of a device of CUDA: its memory, and what is under way in it.
 *
 *  Threads: those of runtime/interface/device.h.  All need the context to be entered. */
#ifndef TND_TRANSPORT_CUDA_CUDA_STAGE_H
#define TND_TRANSPORT_CUDA_CUDA_STAGE_H

#include "transport/cuda/cuda_clock.h"
#include "transport/cuda/cuda_memory.h"

/*  TND_CUDA_READERS: streams that read a stage at the same time; more wait for each other. */
enum { TND_CUDA_READERS = 4 };

typedef struct {
    CUstream stream;
    CUevent event;
    bool reads; /* the event was recorded, and was not seen to be complete */
} tnd_cuda_reader_t;

/*  `own` of a tnd_stage_t. */
typedef struct {
    tnd_cuda_clock_t *clock;
    tnd_cuda_memory_t *memory;
    tnd_cuda_memory_part_t part; /* of it */
    CUdeviceptr raw; /* rows that are cast are copied there, each column aligned; 0: none are */
    size_t raw_bytes;
    CUevent began;        /* the copy of rows has begun ... */
    CUevent landed;       /* ... all are on the device ... */
    CUevent done;         /* ... and cast */
    bool casts;           /* the last upload had rows to cast: `landed` was recorded */
    bool under_way;       /* `done` was recorded, and was not seen to be complete */
    pthread_mutex_t lock; /* guards what follows */
    tnd_cuda_reader_t readers[TND_CUDA_READERS];
    CUevent awaited; /* a stream has begun to work on the rows, if ... */
    bool works;      /* ... it was recorded and not counted */
    double ended_ns; /* when the last reader that was seen to be complete was; 0: none was */
} tnd_cuda_stage_t;

/*  When the device worked on something, by its clock. */
typedef struct {
    double begin_ns, end_ns;
} tnd_cuda_span_t;

static inline CUdeviceptr tnd_cuda_stage_side(const tnd_stage_t *stage)
{
    return (CUdeviceptr)(uintptr_t)stage->device;
}

/*  Takes both sides of the memory, filled with zeros.  `raw`: rows will be cast.  `stream` is idle,
 *  and is again. */
tnd_status_t tnd_cuda_stage_make(tnd_stage_t *stage, tnd_cuda_memory_t *memory,
                                 tnd_cuda_clock_t *clock, tnd_cuda_context_t *context,
                                 CUstream stream, int32_t node, bool raw,
                                 tnd_error_t *error) TND_CHECKED;
/*  Waits for all work on the stage.  false: it does not end, and the memory is not freed, because the
 *  device may still use it. */
bool tnd_cuda_stage_free(tnd_stage_t *stage, tnd_cuda_context_t *context);

/*  Makes `stream` wait for all readers. */
tnd_status_t tnd_cuda_stage_wait_for_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                             CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  Makes `stream` wait for the last upload, and records that it then works on the rows. */
tnd_status_t tnd_cuda_stage_await(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                  CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  Records that what is in `stream` so far reads the stage. */
tnd_status_t tnd_cuda_stage_mark(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                 CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  TND_AGAIN: a reader is not done. */
tnd_status_t tnd_cuda_stage_ask_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                        tnd_error_t *error) TND_CHECKED;
/*  The time from the first stream that waited for the rows to the end of the last reader, once; false: it
 *  is not known, or was told before.  No reader is left. */
bool tnd_cuda_stage_worked(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                           tnd_cuda_span_t *span);
/*  What was awaited before is not counted any more. */
void tnd_cuda_stage_forget_work(tnd_cuda_stage_t *self);
/*  The time of the last copy, which is complete; false: it is not known. */
bool tnd_cuda_stage_copied(const tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                           tnd_cuda_span_t *span);

#endif
