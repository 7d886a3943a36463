/*  actors/plan/prefetch.h - how many steps a feeder prepares ahead: its option `depth`.
 *
 *  `auto` limits bytes: many steps if they are small, so that threads pass several at a time, and
 *  two if they are large.  All feeders of a chain have the same depth, on every host. */
#ifndef TND_ACTORS_PLAN_PREFETCH_H
#define TND_ACTORS_PLAN_PREFETCH_H

#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  Steps that have a slot; 0 in a chain without a feeder or batcher. */
uint32_t tnd_prefetch_depth(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream);
/*  Steps that may be committed before the leader has booked the first of them. */
uint32_t tnd_prefetch_unbooked(uint32_t depth);

#endif
