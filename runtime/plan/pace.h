/*  runtime/plan/pace.h - adapts time-outs to the number of connections.
 *
 *  An idle connection pings four times per `link_timeout`.  A machine with many hosts has thousands
 *  of connections, and pings alone could use all of its processors.  Then connections would be
 *  closed as silent, and reopening them would take even more work.  So the time-out grows with the
 *  number of connections that end on one machine.  All hosts compute the same value from the plan;
 *  hosts that may join later do not count.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_PLAN_PACE_H
#define TND_RUNTIME_PLAN_PACE_H

#include "runtime/plan/placement.h"

enum {
    TND_PACE_ENDS = 1000, /* connections on one machine up to which `link_timeout` is unchanged */
    TND_PACE_MOST = 8     /* the largest factor */
};

/*  The adapted value of a time-out or ping interval for a whole plan (tnd_placement_whole). */
uint64_t tnd_pace_stretch(const tnd_plan_t *plan, uint64_t span_ns);

#endif
