/*  actors/plan/batcher_config.h - what the plan and the options tell the state machine of a batcher.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_BATCHER_CONFIG_H
#define TND_ACTORS_PLAN_BATCHER_CONFIG_H

#include "actors/plan/buckets.h"
#include "actors/plan/packing.h"
#include "runtime/core/batcher.h"
#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  The configuration, and the lists that it points to: it may not be copied. */
typedef struct {
    tnd_batcher_core_config_t core;
    tnd_plan_buckets_t buckets;
    uint64_t lane_rows[TND_LANES_MAX];
} tnd_batcher_config_t;

/*  Of instance `index` of the plan, a batcher; the caller sets its peers: readers, workers_max and
 *  feeders. */
void tnd_batcher_config(tnd_batcher_config_t *self, const tnd_plan_t *plan, uint32_t index,
                        const tnd_stream_t *stream);

#endif
