/*  actors/plan/plan_queries.c - which instances serve a lane, and what follows from the plan. */
#include "actors/plan/plan_queries.h"

#include <string.h>

#include "runtime/base/bounds.h"

#include "actors/plan/buckets.h"
#include "actors/plan/packing.h"
#include "runtime/core/batcher.h"
#include "runtime/interface/link.h"
#include "runtime/option/spec.h"
#include "runtime/tundish/tundish.h"

static bool has_role(const tnd_instance_t *instance, tnd_role_t role)
{
    return instance->kind->role == role;
}

uint32_t tnd_plan_batcher(const tnd_plan_t *plan, uint32_t chain, uint32_t lane)
{
    uint32_t i = 0;
    while (i < plan->instance_count &&
           (plan->instances[i].chain != chain || plan->instances[i].lane != lane ||
            !has_role(&plan->instances[i], TND_ROLE_JOIN)))
        i++;
    return i;
}

uint32_t tnd_plan_feeder(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (i < plan->instance_count &&
           (plan->instances[i].chain != chain || !has_role(&plan->instances[i], TND_ROLE_FEEDER)))
        i++;
    return i;
}

uint32_t tnd_plan_keeper(const tnd_plan_t *plan, uint32_t chain)
{
    return tnd_plan_is_dealt(plan, chain) ? tnd_plan_parameters(plan, chain)
                                          : plan->chains[chain].carriers[0].instance;
}

uint32_t tnd_plan_parameters(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (i < plan->instance_count && (plan->instances[i].chain != chain ||
                                        !has_role(&plan->instances[i], TND_ROLE_PARAMETERS)))
        i++;
    return i;
}

tnd_lane_feed_t tnd_plan_feed(const tnd_plan_t *plan, uint32_t chain)
{
    tnd_lane_feed_t feed = TND_FEED_TOGETHER;
    for (uint32_t i = 0; i < plan->instance_count && plan->lanes > 1; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != chain)
            continue;
        if (instance->kind->role == TND_ROLE_READER &&
            ((const tnd_reader_options_t *)instance->options)->shard == TND_SHARD_PIECES)
            return TND_FEED_PIECES;
        if (instance->kind->role == TND_ROLE_JOIN &&
            ((const tnd_batcher_options_t *)instance->options)->apart)
            feed = TND_FEED_APART;
    }
    return feed;
}

tnd_apart_t tnd_plan_apart(const tnd_plan_t *plan, const tnd_batcher_options_t *options)
{
    return (tnd_apart_t){.split = (tnd_split_t)options->split,
                         .pads = options->remainder == TND_REMAINDER_PAD,
                         .drops = options->remainder == TND_REMAINDER_DROP,
                         .size = options->size,
                         .lanes = plan->lanes,
                         .replicas = (uint32_t)options->replicas};
}

bool tnd_plan_comes_in(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].to == instance && plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

bool tnd_plan_goes_out(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == instance && plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

uint64_t tnd_plan_packed(const tnd_schema_t *schema, uint64_t rows)
{
    uint64_t bytes = rows * tnd_schema_list_bytes(schema);
    for (uint32_t c = 0; c < schema->count; c++)
        bytes += tnd_link_room(rows * tnd_column_bytes(&schema->columns[c]));
    return bytes;
}

bool tnd_plan_copies(const tnd_batcher_options_t *options)
{
    return options->bucket != NULL || options->pack != NULL;
}

uint64_t tnd_plan_copied_bytes(const tnd_batcher_options_t *options, const tnd_schema_t *schema)
{
    return options->bucket != NULL ? tnd_plan_bucket_batch_bytes(options, schema)
                                   : tnd_plan_pack_layout(options, schema).bytes;
}

uint64_t tnd_plan_ragged_most(const tnd_batcher_options_t *options, const tnd_schema_t *schema,
                              uint64_t parts)
{
    if (options->bucket == NULL || options->bucket->sizes.count == 0)
        return options->bytes;
    uint64_t most = tnd_plan_bucket_ragged(options, schema, parts);
    return options->bytes > 0 && options->bytes < most ? options->bytes : most;
}

uint64_t tnd_plan_batch_bytes(const tnd_batcher_options_t *options, const tnd_schema_t *schema,
                              uint64_t rows)
{
    uint64_t longest = tnd_schema_ragged_bytes(schema);
    uint64_t fixed = rows * (tnd_schema_row_bytes(schema) - longest), ragged;
    uint64_t most = tnd_plan_ragged_most(options, schema, 1);
    bool more = __builtin_mul_overflow(rows, longest, &ragged) || (most > 0 && ragged > most);
    return fixed + (more && most > 0 ? most : rows * longest);
}

static bool serves(const tnd_instance_t *instance, uint32_t lane)
{
    return instance->kind->instances == TND_INSTANCE_LANE
               ? instance->lane == lane
               : lane - instance->lane_first < instance->lane_count;
}

static bool is_alike(const tnd_instance_t *one, const tnd_instance_t *other, uint32_t lane)
{
    return strcmp(one->actor, other->actor) == 0 && serves(other, lane);
}

uint32_t tnd_plan_alike(const tnd_plan_t *plan, uint32_t instance)
{
    const tnd_instance_t *own = &plan->instances[instance];
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += is_alike(own, &plan->instances[i], own->lane);
    return count;
}

static uint32_t home_of(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    const tnd_plan_host_t *host = &plan->hosts[instance->host];
    return host->isolated ? host->parent : instance->host;
}

bool tnd_plan_first(const tnd_plan_t *plan, uint32_t instance, uint32_t lane)
{
    const tnd_instance_t *own = &plan->instances[instance];
    for (uint32_t i = 0; i < instance; i++)
        if (is_alike(own, &plan->instances[i], lane) &&
            home_of(plan, &plan->instances[i]) == home_of(plan, own))
            return false;
    return true;
}

bool tnd_plan_keeps_rows(const tnd_plan_t *plan, uint32_t chain)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        if (plan->instances[i].chain != chain || !has_role(&plan->instances[i], TND_ROLE_WORKER))
            continue;
        const tnd_preprocessor_options_t *options = plan->instances[i].options;
        for (size_t o = 0; o < options->ops.count; o++)
            if ((tnd_op_spec_of(options->ops.items[o].table)->caps &
                 (TND_OP_DROPS | TND_OP_EXPANDS)) != 0)
                return false;
    }
    return true;
}

static uint64_t limited_steps(const tnd_batcher_options_t *options, uint64_t batches)
{
    uint64_t left = batches > options->skip ? batches - options->skip : 0;
    return left < options->take ? left : options->take;
}

/*  Until the last of the lanes ends. */
static uint64_t steps_apart(const tnd_plan_t *plan, const tnd_batcher_options_t *options,
                            const tnd_stream_t *stream)
{
    tnd_apart_t apart = tnd_plan_apart(plan, options);
    uint64_t batches = 0;
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        uint64_t rows = tnd_stream_lane_count(stream, lane);
        batches = tnd_most(batches, tnd_apart_steps(&apart, lane, rows));
    }
    return limited_steps(options, batches);
}

uint64_t tnd_plan_steps_of_epoch(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options =
        plan->instances[tnd_plan_batcher(plan, chain, 0)].options;
    uint64_t count = tnd_stream_positions(stream);
    if (count == TND_UNKNOWN || tnd_plan_copies(options) || options->span_epochs ||
        !tnd_plan_keeps_rows(plan, chain))
        return TND_UNKNOWN;
    if (tnd_plan_feed(plan, chain) == TND_FEED_APART)
        return steps_apart(plan, options, stream);
    bool short_one =
        options->remainder != TND_REMAINDER_DROP && count % tnd_plan_batch_size(options) != 0;
    uint64_t batches = count / tnd_plan_batch_size(options) + short_one;
    return limited_steps(options, batches);
}
