/*  transport/cuda/cuda_clock.c - counts the time of events from ticks. */
#include "transport/cuda/cuda_clock.h"

#include "runtime/base/clock.h"

/*  A float of so many milliseconds still has parts of a microsecond. */
static const uint64_t tick_ns = 500000000;

static tnd_status_t start(tnd_cuda_clock_t *self, tnd_cuda_context_t *context, tnd_error_t *error)
{
    for (size_t i = 0; i < 2; i++)
        TND_TRY(TND_CUDA(context, error, cuEventCreate, &self->ticks[i], CU_EVENT_DEFAULT));
    TND_TRY(TND_CUDA(context, error, cuEventRecord, self->ticks[0], self->stream));
    self->ticked_ns = tnd_clock_now();
    return TND_CUDA(context, error, cuStreamSynchronize, self->stream);
}

tnd_status_t tnd_cuda_clock_open(tnd_cuda_clock_t *self, tnd_cuda_context_t *context,
                                 CUstream stream, tnd_error_t *error)
{
    *self = (tnd_cuda_clock_t){.stream = stream};
    pthread_mutex_init(&self->lock, NULL);
    return start(self, context, error);
}

void tnd_cuda_clock_close(tnd_cuda_clock_t *self, tnd_cuda_context_t *context, bool entered)
{
    if (self->stream == NULL)
        return;
    for (size_t i = 0; i < 2; i++)
        if (entered && self->ticks[i] != NULL)
            (void)TND_CUDA(context, NULL, cuEventDestroy_v2, self->ticks[i]);
    pthread_mutex_destroy(&self->lock);
}

/*  Negative if the event came before the tick. */
static bool since_tick(const tnd_cuda_clock_t *self, tnd_cuda_context_t *context, CUevent event,
                       double *ns_p)
{
    float ms;
    if (TND_CUDA(context, NULL, cuEventElapsedTime, &ms, self->ticks[self->tick], event) != TND_OK)
        return false;
    *ns_p = (double)ms * 1e6;
    return true;
}

/*  Counts from the next tick once it has come, and records another one when it is time. */
static void move_on(tnd_cuda_clock_t *self, tnd_cuda_context_t *context)
{
    double ns;
    CUevent other = self->ticks[1 - self->tick];
    if (self->ticking && since_tick(self, context, other, &ns)) {
        self->at_ns += ns;
        self->tick = 1 - self->tick;
        self->ticking = false;
    }
    uint64_t now = tnd_clock_now();
    if (self->ticking || now - self->ticked_ns < tick_ns)
        return;
    self->ticked_ns = now;
    self->ticking =
        TND_CUDA(context, NULL, cuEventRecord, self->ticks[1 - self->tick], self->stream) == TND_OK;
}

bool tnd_cuda_clock_read(tnd_cuda_clock_t *self, tnd_cuda_context_t *context, CUevent event,
                         double *ns_p)
{
    pthread_mutex_lock(&self->lock);
    move_on(self, context);
    bool known = since_tick(self, context, event, ns_p);
    *ns_p += self->at_ns;
    pthread_mutex_unlock(&self->lock);
    return known;
}
