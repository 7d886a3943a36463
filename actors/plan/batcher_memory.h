/*  actors/plan/batcher_memory.h - the memory that a batcher may take.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_BATCHER_MEMORY_H
#define TND_ACTORS_PLAN_BATCHER_MEMORY_H

#include "runtime/data/stream.h"
#include "runtime/plan/memory_estimate.h"
#include "runtime/plan/placement.h"

/*  Adds what instance `index` of the plan, a batcher, may take. */
void tnd_batcher_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                        tnd_memory_estimate_t *estimate);

#endif
