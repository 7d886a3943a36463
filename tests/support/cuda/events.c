/*  tests/support/cuda/events.c - records events, asks for them and makes streams wait for them. */
#include "tests/support/cuda/events.h"

#include <stdlib.h>

#include "runtime/base/clock.h"

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/settings.h"
#include "tests/support/cuda/streams.h"

/*  One recording of an event. */
typedef struct {
    unsigned holders;
    CUstream stream;
    uint64_t number; /* of the work in the stream */
    uint64_t late;   /* so often it has not come yet when it is asked for */
    bool never, done;
    uint64_t done_ns;
} record_t;

struct CUevent_st {
    CUcontext context;
    CUevent next;
    unsigned number; /* in its context */
    bool timed;
    record_t *last; /* NULL: it was never recorded */
    bool destroyed;
};

/*  Records, or waits for a record. */
typedef struct {
    work_t work;
    record_t *record;
} event_work_t;

static uint64_t recorded;
static bool withheld;

/* --- records ---------------------------------------------------------------------------------- */

static record_t *hold(record_t *record)
{
    record->holders++;
    return record;
}

static void let_go(record_t *record)
{
    if (record != NULL && --record->holders == 0)
        free(record);
}

static void end(work_t *work)
{
    let_go(((event_work_t *)work)->record);
}

static bool come(work_t *work, bool demanded)
{
    record_t *record = ((event_work_t *)work)->record;
    (void)demanded;
    record->done = !record->never;
    record->done_ns = tnd_clock_now();
    withheld |= record->never;
    return record->done;
}

static bool wait(work_t *work, bool demanded)
{
    record_t *record = ((event_work_t *)work)->record;
    return record->done || (demanded && hostile_stream_run(record->stream, record->number));
}

static work_t *make_work(const char *name, record_t *record, bool (*run)(work_t *, bool))
{
    event_work_t *self = calloc(1, sizeof *self);
    *self = (event_work_t){.work = {.name = name, .run = run, .end = end}, .record = hold(record)};
    return &self->work;
}

/* --- events ----------------------------------------------------------------------------------- */

static CUresult check(const struct CUevent_st *self)
{
    return self == NULL || self->destroyed ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult create(CUevent *event, bool timed)
{
    CUcontext context;
    HOSTILE_TRY(hostile_current(&context));
    CUevent self = calloc(1, sizeof *self);
    *self = (struct CUevent_st){
        .context = context, .next = context->events, .number = context->numbers++, .timed = timed};
    *event = context->events = self;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent self)
{
    HOSTILE_TRY(check(self));
    self->destroyed = true;
    return self->context->failed;
}

static CUresult record(CUevent self, CUstream handle)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(check(self));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    if (self->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    let_go(self->last);
    record_t *made = calloc(1, sizeof *made);
    self->last = hold(made);
    *made = (record_t){.holders = 1, .stream = stream, .number = context->requested + 1};
    made->late = hostile_draw(context, self->number, made->number) % (hostile_settings()->late + 1);
    made->never = ++recorded == hostile_settings()->never;
    hostile_stream_put(stream, make_work("an event", made, come));
    return CUDA_SUCCESS;
}

static CUresult query(CUevent self)
{
    HOSTILE_TRY(check(self));
    HOSTILE_TRY(self->context->failed);
    record_t *last = self->last;
    if (last == NULL || last->done)
        return CUDA_SUCCESS;
    if (last->late > 0) {
        last->late--;
        return CUDA_ERROR_NOT_READY;
    }
    return hostile_stream_run(last->stream, last->number) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult elapsed(float *milliseconds, CUevent begin, CUevent end)
{
    HOSTILE_TRY(check(begin));
    HOSTILE_TRY(check(end));
    HOSTILE_TRY(begin->context->failed);
    if (!begin->timed || !end->timed || begin->last == NULL || end->last == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!begin->last->done || !end->last->done)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)(((double)end->last->done_ns - (double)begin->last->done_ns) / 1e6);
    return CUDA_SUCCESS;
}

static CUresult make_wait(CUstream handle, CUevent event)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(check(event));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    if (event->last != NULL && !event->last->done)
        hostile_stream_put(stream, make_work("a wait", event->last, wait));
    return CUDA_SUCCESS;
}

unsigned hostile_events_end(CUcontext context)
{
    unsigned left = 0;
    while (context->events != NULL) {
        CUevent self = context->events;
        left += !self->destroyed;
        context->events = self->next;
        let_go(self->last);
        free(self);
    }
    return left;
}

bool hostile_event_is_withheld(void)
{
    return withheld;
}

/* --- calls ------------------------------------------------------------------------------------ */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    bool timed = flags == CU_EVENT_DEFAULT;
    HOSTILE_CALL(cuEventCreate, timed || flags == CU_EVENT_DISABLE_TIMING
                                    ? create(event, timed)
                                    : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    HOSTILE_CALL(cuEventDestroy_v2, destroy(event));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    HOSTILE_CALL(cuEventRecord, record(event, stream));
}

CUresult cuEventQuery(CUevent event)
{
    HOSTILE_CALL(cuEventQuery, query(event));
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end)
{
    HOSTILE_CALL(cuEventElapsedTime, elapsed(milliseconds, begin, end));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    HOSTILE_CALL(cuStreamWaitEvent,
                 flags == 0 ? make_wait(stream, event) : CUDA_ERROR_INVALID_VALUE);
}
