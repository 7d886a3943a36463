/*  tools/events/delays.h - how long rows take from one actor to another.
 *
 *  The time begins when the first actor sends a block (a batcher: a slice) and ends when the second
 *  one receives the same block or slice.  If the second actor is a feeder, it ends when the step is
 *  committed that the rows belong to.
 *
 *  Ownership: zeroed memory has no samples; tnd_delays_free frees it.  Pure.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_DELAYS_H
#define TND_TOOLS_EVENTS_DELAYS_H

#include "runtime/observe/event_ring.h"

typedef struct {
    uint64_t first, sent_ns, step;
    uint16_t lane, epoch;
    bool cut; /* its step is known */
} tnd_delay_start_t;

typedef struct {
    tnd_delay_start_t *starts; /* what was sent and has not ended */
    size_t start_count, start_room;
    uint64_t *samples; /* nanoseconds */
    size_t count, room;
} tnd_delays_t;

/*  An event of the first actor, of the second, or of any: a batch that was cut. */
void tnd_delays_begin(tnd_delays_t *self, const tnd_event_t *event);
void tnd_delays_cut(tnd_delays_t *self, const tnd_event_t *event);
void tnd_delays_end(tnd_delays_t *self, const tnd_event_t *event, bool feeds);

/*  Sorts the samples; then the one at `share` of them, 0 to 1; 0 without samples. */
void tnd_delays_sort(tnd_delays_t *self);
uint64_t tnd_delays_at(const tnd_delays_t *self, double share);
void tnd_delays_free(tnd_delays_t *self);

#endif
