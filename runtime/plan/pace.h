/*  runtime/plan/pace.h - how often the connections of a run show that they live.
 *
 *  An idle connection pings four times in `link_timeout`.  Where a machine runs many hosts, they
 *  are thousands, and pings alone could keep its processors busy: a few hundred microseconds of
 *  work for each host and ping leave nothing for the run, connections are given up for silence, and
 *  to open them again takes more work still.  So the time-out grows with the connections that end
 *  on one machine, and the same on all hosts: it is a function of the plan, in which hosts that may
 *  join later do not count.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_PLAN_PACE_H
#define TND_RUNTIME_PLAN_PACE_H

#include "runtime/plan/placement.h"

enum {
    TND_PACE_ENDS = 1000, /* of connections on one machine, for which `link_timeout` is as given */
    TND_PACE_MOST = 8     /* times, by which it may grow */
};

/*  What `span_ns`, between two signs of life or until their lack is noticed, is in a run of that
 *  whole plan (tnd_placement_whole).
 */
uint64_t tnd_pace_stretch(const tnd_plan_t *plan, uint64_t span_ns);

#endif
