/*  tests/support/cuda/contexts.h - the primary contexts, one per device, and the stack of each thread.
 *
 *  A context has lists of all that was made in it.  What was destroyed stays in the lists, marked,
 *  until the context ends: a later use of it is found.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_CONTEXTS_H
#define TND_TESTS_SUPPORT_CUDA_CONTEXTS_H

#include "transport/cuda/cuda_driver.h"

struct CUctx_st {
    CUdevice device;
    unsigned retained;
    CUresult failed; /* an error that stays: the device is lost */
    CUstream streams;
    CUevent events;
    CUmodule modules;
    unsigned numbers;     /* of streams and events that were made */
    uint64_t requested;   /* works that were put into streams */
    uint64_t copies;      /* from page-locked memory that were requested */
    const char *unsteady; /* the call that should not have been made among copies */
};

/*  The context of a device, whether it is retained or not; NULL if the driver does not have it. */
CUcontext hostile_context(CUdevice device);

/*  The context that is current on this thread.
 *  Errors: CUDA_ERROR_INVALID_CONTEXT if there is none; the error of a device that is lost. */
CUresult hostile_current(CUcontext *context_p);
/*  NULL if there is none. */
CUcontext hostile_current_or_none(void);

CUresult hostile_push(CUcontext context);
CUresult hostile_pop(CUcontext *context_p);

/*  A number that depends on the seed, the context and both arguments alone. */
uint64_t hostile_draw(const struct CUctx_st *context, uint64_t object, uint64_t time);

#endif
