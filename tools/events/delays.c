/*  tools/events/delays.c - how long rows take from one actor to another. */
#include "tools/events/delays.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

/*  What was sent and never ends, because an event was missed, is dropped beyond this number. */
enum { STARTS_MAX = 65536 };

void tnd_delays_begin(tnd_delays_t *self, const tnd_event_t *event)
{
    bool slice = event->kind == TND_EVENT_SLICE_SENT;
    if (!slice && event->kind != TND_EVENT_BLOCK_SENT)
        return;
    if (self->start_count == STARTS_MAX)
        self->start_count = 0;
    self->starts =
        tnd_grow(self->starts, self->start_count, &self->start_room, sizeof *self->starts);
    self->starts[self->start_count++] = (tnd_delay_start_t){
        .first = event->first,
        .sent_ns = event->end_ns,
        .step = event->first,
        .lane = event->lane,
        .epoch = event->epoch,
        .cut = slice,
    };
}

void tnd_delays_cut(tnd_delays_t *self, const tnd_event_t *event)
{
    if (event->kind != TND_EVENT_BATCH_CUT)
        return;
    for (size_t s = 0; s < self->start_count; s++) {
        tnd_delay_start_t *start = &self->starts[s];
        bool before = event->epoch == start->epoch ? start->first < event->first
                                                   : event->epoch == (uint16_t)(start->epoch + 1);
        if (!start->cut && start->lane == event->lane && before) {
            start->cut = true;
            start->step = event->duration_ns;
        }
    }
}

static bool ends(const tnd_delay_start_t *start, const tnd_event_t *event, bool feeds)
{
    if (feeds)
        return event->kind == TND_EVENT_STEP_COMMITTED && start->cut && start->step == event->first;
    bool received =
        event->kind == TND_EVENT_BLOCK_RECEIVED || event->kind == TND_EVENT_SLICE_RECEIVED;
    return received && start->first == event->first && start->lane == event->lane &&
           start->epoch == event->epoch;
}

void tnd_delays_end(tnd_delays_t *self, const tnd_event_t *event, bool feeds)
{
    size_t left = 0;
    for (size_t s = 0; s < self->start_count; s++) {
        const tnd_delay_start_t *start = &self->starts[s];
        if (!ends(start, event, feeds)) {
            self->starts[left++] = *start;
            continue;
        }
        self->samples = tnd_grow(self->samples, self->count, &self->room, sizeof *self->samples);
        self->samples[self->count++] =
            event->end_ns > start->sent_ns ? event->end_ns - start->sent_ns : 0;
    }
    self->start_count = left;
}

static int by_size(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void tnd_delays_sort(tnd_delays_t *self)
{
    if (self->count > 0)
        qsort(self->samples, self->count, sizeof *self->samples, by_size);
}

uint64_t tnd_delays_at(const tnd_delays_t *self, double share)
{
    if (self->count == 0)
        return 0;
    size_t at = (size_t)(share * (double)(self->count - 1) + 0.5);
    return self->samples[at < self->count ? at : self->count - 1];
}

void tnd_delays_free(tnd_delays_t *self)
{
    free(self->starts);
    free(self->samples);
    *self = (tnd_delays_t){0};
}
