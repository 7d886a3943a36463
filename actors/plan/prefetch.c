/*  actors/plan/prefetch.c - how many steps a feeder prepares ahead: its option `depth`.  */
#include "actors/plan/prefetch.h"

#include "actors/plan/kind_options.h"
#include "actors/plan/plan_queries.h"
#include "runtime/core/feeder.h"

/*  With `depth: auto`: bytes of all slots of a feeder, its part of a memory budget, and the least
 *  and most steps. */
enum { AUTO_BYTES = 4 << 20, AUTO_PART = 16, AUTO_LEAST = 2, AUTO_MOST = 256 };

/*  Of a replica that gets whole batches: more would wait there while another one is free. */
enum { DEALT_DEPTH = 2 };

enum { UNBOOKED_LEAST = 128, UNBOOKED_A_SLOT = 3 };

static uint32_t auto_depth(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream)
{
    uint64_t bytes = AUTO_BYTES, replicas = 1;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        uint64_t budget = plan->hosts[instance->host].memory;
        if (instance->chain != chain || instance->kind->role != TND_ROLE_FEEDER)
            continue;
        if (instance->replica_count > replicas)
            replicas = instance->replica_count;
        if (budget != 0 && budget / AUTO_PART < bytes)
            bytes = budget / AUTO_PART;
    }
    uint64_t step = tnd_plan_batch_bytes(stream, stream->batch.share * replicas);
    uint64_t depth = bytes / (step > 0 ? step : 1);
    return depth < AUTO_LEAST ? AUTO_LEAST : depth > AUTO_MOST ? AUTO_MOST : (uint32_t)depth;
}

uint32_t tnd_prefetch_depth(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream)
{
    uint32_t feeder = tnd_plan_feeder(plan, chain), batcher = tnd_plan_batcher(plan, chain, 0);
    if (feeder == plan->instance_count || batcher == plan->instance_count)
        return 0;
    const tnd_feeder_options_t *options = plan->instances[feeder].options;
    if (options->depth != TND_DEPTH_AUTO)
        return (uint32_t)options->depth;
    return stream->batch.dealt ? DEALT_DEPTH : auto_depth(plan, chain, stream);
}

uint32_t tnd_prefetch_unbooked(uint32_t depth)
{
    uint32_t most = UNBOOKED_LEAST + UNBOOKED_A_SLOT * depth;
    return most < TND_UNBOOKED_MOST ? most : TND_UNBOOKED_MOST;
}
