/*  actors/plan/batcher_memory.c - the memory that a batcher may take. */
#include "actors/plan/batcher_memory.h"

#include <inttypes.h>

#include "actors/plan/batcher_config.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "runtime/interface/link.h"
#include "runtime/tundish/tundish.h"

/*  What a block takes beside its rows. */
enum { BLOCK_BYTES = 1024 };

/*  Rows that a filter left in a block do not fill it, and the block itself takes some memory. */
static void need_sparse(const tnd_stream_t *stream, const tnd_lane_window_t *window,
                        const char *name, tnd_memory_estimate_t *estimate)
{
    if ((stream->work.caps & TND_OP_DROPS) != 0)
        tnd_memory_estimate_add(
            estimate, name, window->wanted * (window->held + BLOCK_BYTES),
            "blocks of which operations left little, until there are rows for a batch");
}

/*  Where rows are copied; batches that were sent count where they arrive. */
static void need_batches(const tnd_batcher_options_t *options, uint64_t bytes, const char *name,
                         tnd_memory_estimate_t *estimate)
{
    uint32_t places = options->bucket != NULL ? tnd_plan_bucket_places(options) : TND_PACKED_PLACES;
    if (bytes > 0)
        tnd_memory_estimate_add(estimate, name, places * bytes,
                                "%" PRIu32 " batches of %s that are being filled", places,
                                options->bucket != NULL ? "buckets" : "packed rows");
}

/*  Bytes of the slices of a batch, packed to be sent: at most twice what their rows take. */
static uint64_t packed_batch(const tnd_stream_t *stream, uint64_t share)
{
    const tnd_schema_t *schema = &stream->fed.schema;
    uint64_t replicas = stream->batch.replicas, rows = replicas * share;
    uint64_t most = replicas * tnd_plan_packed(schema, share);
    uint64_t bound = 2 * tnd_plan_batch_bytes(stream, rows) + rows * tnd_schema_list_bytes(schema) +
                     replicas * schema->count * TND_LINK_ROOM_MIN;
    return bound < most ? bound : most;
}

void tnd_batcher_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                        tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *instance = &plan->instances[index];
    const tnd_batcher_options_t *options = instance->options;
    tnd_lane_window_t window = tnd_lane_window_of(plan, index, stream);
    tnd_actor_id_t reader = 0;
    tnd_batcher_config_t config;
    tnd_batcher_config(&config, plan, index, stream);
    config.core.order.readers = &reader;
    config.core.order.reader_count = 1;
    uint64_t size = config.core.size;
    bool comes_in = tnd_plan_comes_in(plan, index);
    tnd_memory_estimate_add(estimate, instance->name, tnd_batcher_core_bytes(&config.core),
                            "its list of blocks");
    /* What comes straight from a reader of this process is that one's. */
    if (comes_in || !tnd_lane_window_straight(plan, index)) {
        tnd_memory_estimate_add(estimate, instance->name, window.bytes_held,
                                "window of %" PRIu64 " blocks of %" PRIu64 " rows, and %" PRIu64
                                " rows for a batch",
                                window.blocks, window.block_rows, window.wanted);
        need_sparse(stream, &window, instance->name, estimate);
    }
    if (comes_in)
        tnd_memory_estimate_add(estimate, instance->name, window.open_held,
                                "the same blocks while they are received");
    need_batches(options, stream->batch.copied, instance->name, estimate);
    uint32_t feeder = tnd_plan_feeder(plan, instance->chain);
    if (feeder == plan->instance_count || !tnd_plan_goes_out(plan, index))
        return;
    uint64_t depth = tnd_prefetch_depth(plan, instance->chain, stream);
    uint64_t share =
        tnd_split_rows((tnd_split_t)options->split, size, size, (uint32_t)options->replicas, 0);
    if (stream->batch.copied > 0)
        tnd_memory_estimate_add(estimate, instance->name, depth * stream->batch.copied,
                                "%" PRIu64 " batches of %s until they are sent", depth,
                                options->bucket != NULL ? "buckets" : "packed rows");
    tnd_memory_estimate_add(estimate, instance->name, depth * packed_batch(stream, share),
                            "%" PRIu64 " batches while they are sent", depth);
}
