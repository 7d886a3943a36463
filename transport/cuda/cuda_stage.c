/*  transport/cuda/cuda_stage.c - makes and frees stages, and tracks their readers. */
#include "transport/cuda/cuda_stage.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/text/quantity.h"

/* --- stages ----------------------------------------------------------------------------------- */

static tnd_status_t make_event(tnd_cuda_context_t *context, CUevent *event_p, tnd_error_t *error)
{
    return TND_CUDA(context, error, cuEventCreate, event_p, CU_EVENT_DEFAULT);
}

static tnd_status_t make_events(tnd_cuda_stage_t *own, tnd_cuda_context_t *context,
                                tnd_error_t *error)
{
    TND_TRY(make_event(context, &own->began, error));
    TND_TRY(make_event(context, &own->awaited, error));
    TND_TRY(make_event(context, &own->landed, error));
    TND_TRY(make_event(context, &own->done, error));
    for (size_t i = 0; i < TND_CUDA_READERS; i++)
        TND_TRY(make_event(context, &own->readers[i].event, error));
    return TND_OK;
}

/*  The driver refuses to allocate nothing. */
static size_t at_least_one(size_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

static tnd_status_t allocate(tnd_stage_t *stage, tnd_cuda_context_t *context, CUstream stream,
                             int32_t node, tnd_error_t *error)
{
    tnd_cuda_stage_t *own = stage->own;
    tnd_cuda_memory_size_t size = {at_least_one(stage->host_bytes),
                                   at_least_one(stage->device_bytes), own->raw_bytes};
    TND_TRY(tnd_cuda_memory_take(own->memory, context, stream, node, &size, &own->part, error));
    stage->host = own->part.host;
    stage->device = (void *)(uintptr_t)own->part.device;
    own->raw = own->part.raw;
    return TND_OK;
}

/*  Says how much was asked for and, if the driver tells, how much there is. */
static tnd_status_t explain(const tnd_stage_t *stage, tnd_cuda_context_t *context,
                            tnd_error_t *error)
{
    const tnd_cuda_stage_t *own = stage->own;
    char host[TND_QUANTITY_SIZE], side[TND_QUANTITY_SIZE], left[TND_QUANTITY_SIZE];
    tnd_error_t why = *error;
    size_t unused = 0, all = 0;
    tnd_quantity_size(stage->host_bytes, host);
    tnd_quantity_size(stage->device_bytes + own->raw_bytes, side);
    if (TND_CUDA(context, NULL, cuMemGetInfo_v2, &unused, &all) == TND_OK)
        return tnd_fail(error,
                        "%s; a batch needs %s of page-locked memory and %s of device memory, of "
                        "which %s are free",
                        why.text, host, side, tnd_quantity_size(unused, left));
    return tnd_fail(error, "%s; a batch needs %s of page-locked memory and %s of device memory",
                    why.text, host, side);
}

static void release(const tnd_cuda_stage_t *own, tnd_cuda_context_t *context)
{
    for (size_t i = 0; i < TND_CUDA_READERS; i++)
        if (own->readers[i].event != NULL)
            (void)TND_CUDA(context, NULL, cuEventDestroy_v2, own->readers[i].event);
    CUevent const events[] = {own->done, own->landed, own->awaited, own->began};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i] != NULL)
            (void)TND_CUDA(context, NULL, cuEventDestroy_v2, events[i]);
    if (own->part.block != NULL)
        tnd_cuda_memory_give(own->memory, context, &own->part);
}

static void forget(tnd_stage_t *stage)
{
    tnd_cuda_stage_t *own = stage->own;
    pthread_mutex_destroy(&own->lock);
    free(own);
    *stage = (tnd_stage_t){0};
}

tnd_status_t tnd_cuda_stage_make(tnd_stage_t *stage, tnd_cuda_memory_t *memory,
                                 tnd_cuda_clock_t *clock, tnd_cuda_context_t *context,
                                 CUstream stream, int32_t node, bool raw, tnd_error_t *error)
{
    tnd_cuda_stage_t *own = tnd_allocate_zeroed(1, sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    own->memory = memory;
    own->clock = clock;
    own->raw_bytes = raw ? at_least_one(stage->host_bytes) + TND_STAGE_PIECES * TND_STAGE_ALIGN : 0;
    stage->own = own;
    tnd_status_t status = allocate(stage, context, stream, node, error);
    if (status != TND_OK)
        (void)explain(stage, context, error);
    if (status == TND_OK)
        status = make_events(own, context, error);
    if (status != TND_OK && tnd_cuda_context_drain_stream(context, stream))
        release(own, context);
    if (status != TND_OK)
        forget(stage);
    return status;
}

static bool becomes_idle(const tnd_cuda_stage_t *own, tnd_cuda_context_t *context)
{
    bool idle = !own->under_way || tnd_cuda_context_drain_event(context, own->done);
    for (size_t i = 0; i < TND_CUDA_READERS; i++)
        idle = idle && (!own->readers[i].reads ||
                        tnd_cuda_context_drain_event(context, own->readers[i].event));
    return idle;
}

bool tnd_cuda_stage_free(tnd_stage_t *stage, tnd_cuda_context_t *context)
{
    bool idle = becomes_idle(stage->own, context);
    if (idle)
        release(stage->own, context);
    forget(stage);
    return idle;
}

/* --- readers ---------------------------------------------------------------------------------- */

tnd_status_t tnd_cuda_stage_wait_for_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                             CUstream stream, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < TND_CUDA_READERS && status == TND_OK; i++)
        if (self->readers[i].reads)
            status = TND_CUDA(context, error, cuStreamWaitEvent, stream, self->readers[i].event, 0);
    pthread_mutex_unlock(&self->lock);
    return status;
}

/*  The reader of a stream, or an idle one, or else any. */
static tnd_cuda_reader_t *choose(tnd_cuda_stage_t *self, CUstream stream)
{
    tnd_cuda_reader_t *chosen = &self->readers[0];
    for (size_t i = 0; i < TND_CUDA_READERS; i++) {
        tnd_cuda_reader_t *reader = &self->readers[i];
        if (reader->reads && reader->stream == stream)
            return reader;
        if (!reader->reads)
            chosen = reader;
    }
    return chosen;
}

/*  An event that is recorded again says nothing of its first stream any more, so the second waits for
 *  that.  (The stream of the same handle may be another one.) */
static tnd_status_t record_reader(tnd_cuda_reader_t *reader, tnd_cuda_context_t *context,
                                  CUstream stream, tnd_error_t *error)
{
    if (reader->reads)
        TND_TRY(TND_CUDA(context, error, cuStreamWaitEvent, stream, reader->event, 0));
    TND_TRY(TND_CUDA(context, error, cuEventRecord, reader->event, stream));
    reader->stream = stream;
    reader->reads = true;
    return TND_OK;
}

/*  The reader has ended its work. */
static void end_reader(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                       tnd_cuda_reader_t *reader)
{
    double ns;
    reader->reads = false;
    if (self->works && tnd_cuda_clock_read(self->clock, context, reader->event, &ns) &&
        ns > self->ended_ns)
        self->ended_ns = ns;
}

static tnd_status_t ask_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                tnd_error_t *error)
{
    tnd_status_t all = TND_OK;
    for (size_t i = 0; i < TND_CUDA_READERS; i++) {
        tnd_cuda_reader_t *reader = &self->readers[i];
        tnd_status_t status =
            reader->reads ? TND_CUDA(context, error, cuEventQuery, reader->event) : TND_OK;
        if (status == TND_FAILED)
            return status;
        if (status == TND_AGAIN)
            all = TND_AGAIN;
        else if (reader->reads)
            end_reader(self, context, reader);
    }
    return all;
}

tnd_status_t tnd_cuda_stage_mark(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                 CUstream stream, tnd_error_t *error)
{
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = ask_readers(self, context, error);
    if (status != TND_FAILED)
        status = record_reader(choose(self, stream), context, stream, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

tnd_status_t tnd_cuda_stage_ask_readers(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                        tnd_error_t *error)
{
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = ask_readers(self, context, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* --- times ------------------------------------------------------------------------------------ */

tnd_status_t tnd_cuda_stage_await(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                                  CUstream stream, tnd_error_t *error)
{
    TND_TRY(TND_CUDA(context, error, cuStreamWaitEvent, stream, self->done, 0));
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = TND_OK;
    if (!self->works)
        status = TND_CUDA(context, error, cuEventRecord, self->awaited, stream);
    self->works = status == TND_OK;
    pthread_mutex_unlock(&self->lock);
    return status;
}

bool tnd_cuda_stage_worked(tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                           tnd_cuda_span_t *span)
{
    pthread_mutex_lock(&self->lock);
    span->end_ns = self->ended_ns;
    bool known = self->works && self->ended_ns > 0 &&
                 tnd_cuda_clock_read(self->clock, context, self->awaited, &span->begin_ns);
    if (self->ended_ns > 0)
        self->works = false;
    self->ended_ns = 0;
    pthread_mutex_unlock(&self->lock);
    return known;
}

void tnd_cuda_stage_forget_work(tnd_cuda_stage_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->works = false;
    pthread_mutex_unlock(&self->lock);
}

bool tnd_cuda_stage_copied(const tnd_cuda_stage_t *self, tnd_cuda_context_t *context,
                           tnd_cuda_span_t *span)
{
    return tnd_cuda_clock_read(self->clock, context, self->began, &span->begin_ns) &&
           tnd_cuda_clock_read(self->clock, context, self->casts ? self->landed : self->done,
                               &span->end_ns);
}
