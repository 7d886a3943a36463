/*  tools/events/hops.c - follows one position of a lane through a run, event by event. */
#include "tools/events/hops.h"

static bool has_position(const tnd_hops_t *self, const tnd_event_t *event)
{
    return event->first <= self->position && self->position - event->first < event->count &&
           (!(self->found || self->placed) ||
            (event->lane == self->lane && event->epoch == self->epoch));
}

/*  Whether the batch that was cut is the first one that ends after the position. */
static bool ends_after(const tnd_hops_t *self, const tnd_event_t *event)
{
    return self->joined && !self->cut && event->lane == self->lane &&
           (event->epoch == self->epoch ? event->first > self->position
                                        : event->epoch == (uint16_t)(self->epoch + 1));
}

static bool take_block(tnd_hops_t *self, const tnd_event_t *event, bool joins)
{
    if (!has_position(self, event) ||
        (!self->found && !self->partial && !self->placed && event->kind != TND_EVENT_TICKET_SENT))
        return false;
    self->found = true;
    self->lane = event->lane;
    self->epoch = event->epoch;
    self->joined = self->joined || (joins && event->kind == TND_EVENT_BLOCK_RECEIVED);
    return true;
}

/*  The first job of a device has no rows and is recorded as one of step 0, before any row is read. */
static bool is_of_step(const tnd_hops_t *self, const tnd_event_t *event)
{
    return self->cut && event->first == self->step &&
           (!self->placed || self->found || self->step > 0);
}

bool tnd_hops_take(tnd_hops_t *self, const tnd_event_t *event, bool joins)
{
    switch (event->kind) {
    case TND_EVENT_TICKET_SENT:
    case TND_EVENT_TICKET_RECEIVED:
    case TND_EVENT_BLOCK_MADE:
    case TND_EVENT_BLOCK_SENT:
    case TND_EVENT_BLOCK_RECEIVED:
        return take_block(self, event, joins);
    case TND_EVENT_BATCH_CUT:
        if (self->placed && self->cut)
            return event->duration_ns == self->step && event->lane == self->lane;
        if (!ends_after(self, event))
            return false;
        self->cut = true;
        self->step = event->duration_ns;
        return true;
    case TND_EVENT_SLICE_SENT:
    case TND_EVENT_SLICE_RECEIVED:
        return is_of_step(self, event) && event->lane == self->lane;
    case TND_EVENT_STEP_COMMITTED:
        self->committed = self->committed || is_of_step(self, event);
        return is_of_step(self, event);
    case TND_EVENT_STEP_READY:
    case TND_EVENT_STEP_RUN:
    case TND_EVENT_STEP_REDUCED:
    case TND_EVENT_STEP_APPLIED:
    case TND_EVENT_STEP_SAVED:
        return is_of_step(self, event);
    default:
        return false;
    }
}
