/*  transport/cuda/cuda_context.h - one device of CUDA as this process uses it: its primary context,
 *  and the account of calls.
 *
 *  Frameworks use the primary context too, so their streams and ours work on the same memory.  They
 *  also make contexts current on threads that call us.  So each piece of work makes the context
 *  current (enter) and restores the one before (leave).
 *
 *  Threads: open and close on any, one at a time; the rest on any.
 *  Errors: TND_FAILED with a text that begins with the name of the device.  After an error of the
 *  device itself, all further `enter` fail with its text. */
#ifndef TND_TRANSPORT_CUDA_CUDA_CONTEXT_H
#define TND_TRANSPORT_CUDA_CUDA_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "transport/cuda/cuda_trace.h"

typedef struct {
    char name[24]; /* "cuda:0" */
    const tnd_cuda_driver_t *driver;
    CUdevice device;
    CUcontext context;
    pthread_mutex_t lock; /* guards `failure` until it is complete */
    _Atomic bool failed;  /* it is */
    tnd_error_t failure;
    _Atomic uint64_t calls[TND_DEVICE_CALL_KINDS + 1];
} tnd_cuda_context_t;

tnd_status_t tnd_cuda_context_open(tnd_cuda_context_t *self, uint32_t ordinal,
                                   tnd_error_t *error) TND_CHECKED;
/*  Also after a failed `open`.  `lost`: the context stays, because work in it does not end. */
void tnd_cuda_context_close(tnd_cuda_context_t *self, bool lost);

tnd_status_t tnd_cuda_context_enter(tnd_cuda_context_t *self, tnd_error_t *error) TND_CHECKED;
/*  Returns `status`, that of the work since `enter`, or the error of leaving. */
tnd_status_t tnd_cuda_context_leave(tnd_cuda_context_t *self, tnd_status_t status,
                                    tnd_error_t *error) TND_CHECKED;
/*  The same for work that releases what the device has, and is done even if it failed; false: the
 *  context could not be made current. */
bool tnd_cuda_context_enter_to_release(tnd_cuda_context_t *self);
void tnd_cuda_context_leave_released(tnd_cuda_context_t *self, bool entered);

/*  Counts a call that was made.  TND_AGAIN: it asked for work that is not done yet. */
tnd_status_t tnd_cuda_context_judge(tnd_cuda_context_t *self, tnd_cuda_call_t call, CUresult result,
                                    tnd_error_t *error);

/*  Makes a call of the driver with the arguments after its name. */
#define TND_CUDA(self, error, name, ...)                                                           \
    (tnd_cuda_trace_call(TND_CUDA_##name),                                                         \
     tnd_cuda_context_judge(self, TND_CUDA_##name, (self)->driver->name(__VA_ARGS__), error))

/*  Waits until a stream, or an event, has no work any more.  false: it does not end.  A device that
 *  fails has ended all work. */
bool tnd_cuda_context_drain_stream(tnd_cuda_context_t *self, CUstream stream);
bool tnd_cuda_context_drain_event(tnd_cuda_context_t *self, CUevent event);

#endif
