/*  tools/events/last_events.h - what a dead process did last, from its event rings.
 *
 *  Ownership: the caller's; tnd_last_events_free frees it.  Names belong to the process.
 *  Threads: one. */
#ifndef TND_TOOLS_EVENTS_LAST_EVENTS_H
#define TND_TOOLS_EVENTS_LAST_EVENTS_H

#include "tools/events/event_stream.h"

typedef struct {
    tnd_event_entry_t *entries; /* ordered by their end */
    size_t count, room;
} tnd_last_events_t;

/*  Of each thread of a process of this machine the last event of each kind, within `span_ns` of the
 *  very last one; of these the last `most`.  Waits and work without a result are left out. */
void tnd_last_events_read(tnd_last_events_t *self, const tnd_inspected_t *process, size_t most,
                          uint64_t span_ns);
/*  Keeps these of all `entries`.  Pure. */
void tnd_last_events_choose(tnd_last_events_t *self, size_t most, uint64_t span_ns);
void tnd_last_events_free(tnd_last_events_t *self);

#endif
