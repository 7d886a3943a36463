/*  transport/cuda/cuda_context.c - enters and leaves a primary context; keeps the device's failure. */
#include "transport/cuda/cuda_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/clock.h"

/*  How long work that does not end is waited for. */
static const uint64_t patience_ns = 10000000000;

/* --- calls ------------------------------------------------------------------------------------ */

/*  Errors of one call.  After all others the context cannot be used any more. */
static bool is_of_the_call(CUresult result)
{
    return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_IMAGE ||
           result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           result == CUDA_ERROR_NOT_FOUND;
}

static void keep_failure(tnd_cuda_context_t *self, const char *text)
{
    pthread_mutex_lock(&self->lock);
    if (!atomic_load(&self->failed))
        (void)tnd_fail(&self->failure, "%s", text);
    atomic_store(&self->failed, true);
    pthread_mutex_unlock(&self->lock);
}

tnd_status_t tnd_cuda_context_judge(tnd_cuda_context_t *self, tnd_cuda_call_t call, CUresult result,
                                    tnd_error_t *error)
{
    char text[256];
    tnd_error_t why;
    tnd_cuda_trace_result(call, result);
    atomic_fetch_add_explicit(&self->calls[tnd_cuda_call_kind(call)], 1, memory_order_relaxed);
    if (result == CUDA_SUCCESS)
        return TND_OK;
    if (result == CUDA_ERROR_NOT_READY &&
        (call == TND_CUDA_cuEventQuery || call == TND_CUDA_cuStreamQuery ||
         call == TND_CUDA_cuEventElapsedTime))
        return TND_AGAIN;
    (void)tnd_fail(&why, "%s: %s", self->name, tnd_cuda_failure(call, result, text, sizeof text));
    if (!is_of_the_call(result))
        keep_failure(self, why.text);
    return tnd_fail(error, "%s", why.text);
}

/* --- current or not --------------------------------------------------------------------------- */

tnd_status_t tnd_cuda_context_enter(tnd_cuda_context_t *self, tnd_error_t *error)
{
    if (atomic_load(&self->failed))
        return tnd_fail(error, "%s", self->failure.text);
    return TND_CUDA(self, error, cuCtxPushCurrent_v2, self->context);
}

tnd_status_t tnd_cuda_context_leave(tnd_cuda_context_t *self, tnd_status_t status,
                                    tnd_error_t *error)
{
    CUcontext popped;
    tnd_error_t why;
    if (TND_CUDA(self, &why, cuCtxPopCurrent_v2, &popped) != TND_OK && status != TND_FAILED)
        return tnd_fail(error, "%s", why.text);
    return status;
}

bool tnd_cuda_context_enter_to_release(tnd_cuda_context_t *self)
{
    return TND_CUDA(self, NULL, cuCtxPushCurrent_v2, self->context) == TND_OK;
}

void tnd_cuda_context_leave_released(tnd_cuda_context_t *self, bool entered)
{
    CUcontext popped;
    if (entered)
        (void)TND_CUDA(self, NULL, cuCtxPopCurrent_v2, &popped);
}

/* --- waits ------------------------------------------------------------------------------------ */

/*  One call may fail for a reason of its own; two in a row are the device. */
static bool drain(tnd_cuda_context_t *self, tnd_status_t (*ask)(tnd_cuda_context_t *, void *),
                  void *what)
{
    uint64_t deadline = tnd_clock_now() + patience_ns;
    for (int failures = 0; failures < 2; usleep(100)) {
        tnd_status_t status = ask(self, what);
        if (status == TND_OK)
            return true;
        failures = status == TND_FAILED ? failures + 1 : 0;
        if (tnd_clock_now() > deadline)
            return false;
    }
    return true;
}

static tnd_status_t ask_stream(tnd_cuda_context_t *self, void *stream)
{
    return TND_CUDA(self, NULL, cuStreamQuery, stream);
}

static tnd_status_t ask_event(tnd_cuda_context_t *self, void *event)
{
    return TND_CUDA(self, NULL, cuEventQuery, event);
}

bool tnd_cuda_context_drain_stream(tnd_cuda_context_t *self, CUstream stream)
{
    return drain(self, ask_stream, stream);
}

bool tnd_cuda_context_drain_event(tnd_cuda_context_t *self, CUevent event)
{
    return drain(self, ask_event, event);
}

/* --- open and close --------------------------------------------------------------------------- */

tnd_status_t tnd_cuda_context_open(tnd_cuda_context_t *self, uint32_t ordinal, tnd_error_t *error)
{
    tnd_error_t why;
    snprintf(self->name, sizeof self->name, "cuda:%" PRIu32, ordinal);
    pthread_mutex_init(&self->lock, NULL);
    if (tnd_cuda_driver(&self->driver, &why) != TND_OK)
        return tnd_fail(error, "%s: %s", self->name, why.text);
    TND_TRY(TND_CUDA(self, error, cuDeviceGet, &self->device, (int)ordinal));
    return TND_CUDA(self, error, cuDevicePrimaryCtxRetain, &self->context, self->device);
}

void tnd_cuda_context_close(tnd_cuda_context_t *self, bool lost)
{
    if (self->context != NULL && !lost)
        (void)TND_CUDA(self, NULL, cuDevicePrimaryCtxRelease_v2, self->device);
    pthread_mutex_destroy(&self->lock);
}
