/*  tests/support/cuda/primary_contexts.c - retains, releases, pushes and pops primary contexts.
 *
 *  When a context ends, and when the process ends, nothing may be left in it. */
#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/events.h"
#include "tests/support/cuda/guest.h"
#include "tests/support/cuda/kernels.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/step_kernels.h"
#include "tests/support/cuda/violation.h"

enum { DEVICES = 8 };

/*  A program that could not release something, that waits for what never comes, or whose step has faulted,
 *  is right to leave memory that the device may still use. */
static bool may_leave(void)
{
    return hostile_releases_failed() || hostile_event_is_withheld() || hostile_step_has_faulted() ||
           hostile_is_excused();
}

static void end(CUcontext self)
{
    unsigned streams = hostile_streams_end(self), events = hostile_events_end(self);
    unsigned modules = hostile_modules_end(self), memory = hostile_memory_end(self);
    if (streams + events + modules + memory > 0 && !may_leave())
        hostile_violation(
            "device %d ends with %u streams, %u events, %u modules and %u allocations left",
            self->device, streams, events, modules, memory);
    *self = (struct CUctx_st){.device = self->device};
}

static CUresult retain(CUcontext *context_p, CUdevice device)
{
    CUcontext self = hostile_context(device);
    if (self == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (self->failed != CUDA_SUCCESS)
        return self->failed;
    self->retained++;
    *context_p = self;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
    CUcontext self = hostile_context(device);
    if (self == NULL || self->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--self->retained == 0)
        end(self);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    HOSTILE_CALL(cuDevicePrimaryCtxRetain, retain(context, device));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    HOSTILE_CALL(cuDevicePrimaryCtxRelease_v2, release(device));
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    HOSTILE_CALL(cuCtxPushCurrent_v2, hostile_push(context));
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    HOSTILE_CALL(cuCtxPopCurrent_v2, hostile_pop(context));
}

__attribute__((destructor)) static void check_all_ended(void)
{
    hostile_lock();
    for (CUdevice device = 0; device < DEVICES; device++) {
        const struct CUctx_st *self = hostile_context(device);
        if (self != NULL && self->retained > 0 && !may_leave())
            hostile_violation("the process ends and has not released device %d", device);
    }
    hostile_unlock();
}
