/*  tests/support/cuda/streams.c - queues of work, which run as late as they may. */
#include "tests/support/cuda/streams.h"

#include <pthread.h>
#include <stdlib.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/settings.h"
#include "tests/support/cuda/violation.h"

/*  One of so many requests makes its stream run at once, as far as it can. */
enum { EAGER = 8 };

struct CUstream_st {
    CUcontext context;
    CUstream next;
    uintptr_t handle; /* its address, or a number of CUDA's */
    pthread_t thread; /* whose stream it is; only with that number */
    unsigned number;  /* in its context */
    work_t *first, *last;
    uint64_t requested; /* the number of the last work */
    uint64_t late;      /* so often the stream is not yet done when asked */
    bool destroyed;
};

/* --- order ------------------------------------------------------------------------------------ */

static bool meet(const touch_t *a, const touch_t *b)
{
    return a->bytes > 0 && b->bytes > 0 && (a->writes || b->writes) && a->at < b->at + b->bytes &&
           b->at < a->at + a->bytes;
}

static bool conflict(const work_t *a, const work_t *b)
{
    for (size_t i = 0; i < TOUCHES; i++)
        for (size_t j = 0; j < TOUCHES; j++)
            if (meet(&a->touches[i], &b->touches[j]))
                return true;
    return false;
}

/*  Work of other streams that was requested earlier and has not run: it could run later. */
static void check_order(const work_t *self)
{
    for (CUstream i = self->stream->context->streams; i != NULL; i = i->next)
        for (const work_t *other = i->first; i != self->stream && other != NULL;
             other = other->next)
            if (other->number < self->number && conflict(self, other))
                hostile_violation("%s in stream %u does not wait for %s in stream %u of device %d, "
                                  "which was requested before and touches the same memory",
                                  self->name, self->stream->number, other->name, i->number,
                                  i->context->device);
}

static void begin(work_t *self)
{
    if (self->begun)
        return;
    self->begun = true;
    check_order(self);
    if (self->poison != NULL)
        self->poison(self);
}

/* --- work ------------------------------------------------------------------------------------- */

static void finish(work_t *self)
{
    if (self->end != NULL)
        self->end(self);
    free(self);
}

static bool run_first(CUstream self, bool demanded)
{
    work_t *work = self->first;
    begin(work);
    if (!work->run(work, demanded))
        return false;
    self->first = work->next;
    if (self->first == NULL)
        self->last = NULL;
    finish(work);
    return true;
}

/*  What comes first begins, if it only has to be done. */
static void begin_first(CUstream self)
{
    if (self->first != NULL && self->first->poison != NULL)
        begin(self->first);
}

bool hostile_stream_run(CUstream self, uint64_t number)
{
    while (self->first != NULL && self->first->number <= number)
        if (!run_first(self, true))
            return false;
    begin_first(self);
    return true;
}

static void run_what_can(CUstream self)
{
    while (self->first != NULL && run_first(self, false))
        ;
}

void hostile_stream_put(CUstream self, work_t *work)
{
    uint64_t drawn = hostile_draw(self->context, self->number, ++self->context->requested);
    work->stream = self;
    work->number = self->requested = self->context->requested;
    if (self->last != NULL)
        self->last->next = work;
    else
        self->first = work;
    self->last = work;
    self->late = drawn % (hostile_settings()->late + 1);
    if ((drawn >> 32) % EAGER == 0)
        run_what_can(self);
    begin_first(self);
}

CUresult hostile_stream_wait(CUstream self)
{
    uint64_t number = self->requested;
    while (!hostile_stream_run(self, number))
        hostile_wait();
    return self->context->failed;
}

void hostile_streams_check_free(const struct CUctx_st *context, const void *memory, size_t bytes)
{
    work_t free_work = {.touches = {{(uintptr_t)memory, bytes, true}}};
    if (context->failed != CUDA_SUCCESS) /* a lost device runs nothing */
        return;
    for (CUstream i = context->streams; i != NULL; i = i->next)
        for (const work_t *work = i->first; work != NULL; work = work->next)
            if (conflict(&free_work, work))
                hostile_violation(
                    "%zu bytes are freed that %s in stream %u of device %d has yet to touch", bytes,
                    work->name, i->number, context->device);
}

/* --- handles ---------------------------------------------------------------------------------- */

/*  CUDA's own streams: NULL means the first. */
enum { LEGACY = 1, OF_THREAD = 2 };

CUcontext hostile_stream_context(const struct CUstream_st *stream)
{
    return stream->context;
}

/*  `handle`: 0, or one of the numbers above. */
static CUstream make(CUcontext context, uintptr_t handle)
{
    CUstream self = calloc(1, sizeof *self);
    *self = (struct CUstream_st){.context = context,
                                 .next = context->streams,
                                 .handle = handle > 0 ? handle : (uintptr_t)self,
                                 .thread = pthread_self(),
                                 .number = context->numbers++};
    context->streams = self;
    return self;
}

CUresult hostile_stream(CUcontext context, CUstream stream, CUstream *stream_p)
{
    uintptr_t handle = stream != NULL ? (uintptr_t)stream : LEGACY;
    for (CUstream i = context->streams; i != NULL; i = i->next)
        if (i->handle == handle && !i->destroyed &&
            (handle != OF_THREAD || pthread_equal(i->thread, pthread_self()))) {
            *stream_p = i;
            return CUDA_SUCCESS;
        }
    if (handle > OF_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    *stream_p = make(context, handle);
    return CUDA_SUCCESS;
}

unsigned hostile_streams_end(CUcontext context)
{
    unsigned left = 0;
    while (context->streams != NULL) {
        CUstream self = context->streams;
        left += !self->destroyed && self->handle > OF_THREAD;
        context->streams = self->next;
        while (self->first != NULL) {
            work_t *work = self->first;
            self->first = work->next;
            finish(work);
        }
        free(self);
    }
    return left;
}

/* --- calls ------------------------------------------------------------------------------------ */

/*  This driver has no streams that wait for the legacy one. */
static CUresult create(CUstream *stream, unsigned flags)
{
    CUcontext context;
    HOSTILE_TRY(hostile_current(&context));
    if (flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = make(context, 0);
    return CUDA_SUCCESS;
}

/*  Work that is in it runs later. */
static CUresult destroy(CUstream handle)
{
    CUcontext context;
    CUstream self;
    CUresult result = hostile_current(&context);
    if (result == CUDA_ERROR_INVALID_CONTEXT)
        return result;
    HOSTILE_TRY(hostile_stream(context, handle, &self));
    self->destroyed = true;
    return result;
}

static CUresult query(CUstream handle)
{
    CUcontext context;
    CUstream self;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &self));
    if (self->first == NULL)
        return CUDA_SUCCESS;
    if (self->late > 0) {
        self->late--;
        return CUDA_ERROR_NOT_READY;
    }
    return hostile_stream_run(self, self->requested) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult synchronize(CUstream handle)
{
    CUcontext context;
    CUstream self;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &self));
    return hostile_stream_wait(self);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    (void)priority;
    HOSTILE_CALL(cuStreamCreateWithPriority, create(stream, flags));
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    HOSTILE_CALL(cuStreamDestroy_v2, destroy(stream));
}

CUresult cuStreamQuery(CUstream stream)
{
    HOSTILE_CALL(cuStreamQuery, query(stream));
}

CUresult cuStreamSynchronize(CUstream stream)
{
    HOSTILE_CALL(cuStreamSynchronize, synchronize(stream));
}
