/*  transport/cuda/cuda_clock.h - the time at which events of a device came.
 *
 *  The driver tells the time between two events, in single precision.  So times are counted from a tick, an
 *  event in an idle stream that is recorded again now and then.
 *
 *  Threads: open and close on any, one at a time; the rest on any.  All need the context to be entered. */
#ifndef TND_TRANSPORT_CUDA_CUDA_CLOCK_H
#define TND_TRANSPORT_CUDA_CUDA_CLOCK_H

#include "transport/cuda/cuda_context.h"

typedef struct {
    pthread_mutex_t lock; /* guards the rest */
    CUstream stream;
    CUevent ticks[2];
    unsigned tick;      /* times are counted from this one */
    double at_ns;       /* its own time */
    bool ticking;       /* the other one was recorded, and is not used yet */
    uint64_t ticked_ns; /* of the host: when one was recorded */
} tnd_cuda_clock_t;

/*  `stream` is idle, and is again; it is used for nothing but short work. */
tnd_status_t tnd_cuda_clock_open(tnd_cuda_clock_t *self, tnd_cuda_context_t *context,
                                 CUstream stream, tnd_error_t *error) TND_CHECKED;
/*  Also after a failed `open`. */
void tnd_cuda_clock_close(tnd_cuda_clock_t *self, tnd_cuda_context_t *context, bool entered);

/*  The time of an event with timing that has come, in nanoseconds from the opening; false: not known. */
bool tnd_cuda_clock_read(tnd_cuda_clock_t *self, tnd_cuda_context_t *context, CUevent event,
                         double *ns_p);

#endif
