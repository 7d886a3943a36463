/*  actors/plan/reduction_memory.h - the memory of values that feeders and reducers exchange.
 *
 *  At most TND_PIECES_OPEN pieces of TND_PIECE_BYTES are under way, whatever the size of the values.
 *  Pieces in memory that is shared with another process count in both, as the system counts them.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_REDUCTION_MEMORY_H
#define TND_ACTORS_PLAN_REDUCTION_MEMORY_H

#include "runtime/plan/memory_estimate.h"
#include "runtime/plan/placement.h"

/*  Bytes of values that this reducer reduces together. */
uint64_t tnd_reduction_bucket(const tnd_instance_t *reducer);
/*  The most nodes of the tree that a feeder posts to one round of this reducer. */
uint32_t tnd_reduction_memory_nodes(const tnd_plan_t *plan, uint32_t reducer);
/*  Adds what a feeder that shares its replicas with others has under way. */
void tnd_reduction_memory_of_feeder(const tnd_plan_t *plan, uint32_t feeder,
                                    tnd_memory_estimate_t *estimate);
void tnd_reduction_memory_of_reducer(const tnd_plan_t *plan, uint32_t reducer,
                                     tnd_memory_estimate_t *estimate);

#endif
