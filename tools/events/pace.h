/*  tools/events/pace.h - spaces work that a command repeats, so that it takes at most 2 % of a
 *  processor.
 *
 *  Times are in nanoseconds.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_PACE_H
#define TND_TOOLS_EVENTS_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t every_ns; /* the least time between two starts of the work */
    uint64_t next_ns;  /* the earliest time of the next one; 0: at once */
} tnd_pace_t;

bool tnd_pace_is_due(const tnd_pace_t *self, uint64_t now_ns);
/*  The work was started at `now_ns` and took `cpu_ns` of processor time. */
void tnd_pace_worked(tnd_pace_t *self, uint64_t now_ns, uint64_t cpu_ns);

#endif
