/*  actors/feeder/feeder_setup.c - makes the parts of a feeder, for the number of its slots. */
#include "actors/feeder/feeder_setup.h"

#include <inttypes.h>
#include <stdlib.h>

#include "actors/feeder/feeder_plan.h"
#include "actors/op/ops.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "actors/plan/reduction_through.h"
#include "actors/plan/reduction_weight.h"
#include "runtime/base/allocation.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"

void tnd_feeder_list_reducers(feeder_t *feeder, const tnd_actor_t *self)
{
    feeder->reducers = tnd_peers_reducers(self);
    feeder->reducer_names =
        tnd_allocate_zeroed(feeder->reducers.count + 1, sizeof *feeder->reducer_names);
    feeder->weights = tnd_allocate_zeroed(feeder->reducers.count + 1, sizeof *feeder->weights);
    feeder->bucket_bytes =
        tnd_allocate_zeroed(feeder->reducers.count + 1, sizeof *feeder->bucket_bytes);
    for (uint32_t r = 0; r < feeder->reducers.count; r++) {
        const tnd_instance_t *reducer = &tnd_actor_plan(self)->instances[feeder->reducers.ids[r]];
        feeder->reducer_names[r] = reducer->actor;
        feeder->bucket_bytes[r] = ((const tnd_reducer_options_t *)reducer->options)->bucket;
    }
}

static void use_depth(feeder_t *feeder, uint32_t depth)
{
    feeder->depth = feeder->config.depth = depth;
    atomic_store_explicit(&feeder->statistics->depth, depth, memory_order_relaxed);
}

void tnd_feeder_make_machine(feeder_t *feeder, tnd_actor_t *self)
{
    feeder->config = (tnd_feeder_core_config_t){
        .self = tnd_actor_id(self),
        .joins = feeder->joins.ids,
        .join_count = feeder->joins.count,
        .first_replica = feeder->own->replica_first,
        .replicas = feeder->own->replica_count,
        .depth = feeder->depth,
        .unbooked_max = tnd_prefetch_unbooked(feeder->depth),
    };
    use_depth(feeder, feeder->depth);
    feeder->machine_memory = tnd_allocate_zeroed(1, tnd_feeder_core_bytes(&feeder->config));
    feeder->machine = tnd_feeder_core_init(feeder->machine_memory, &feeder->config);
}

static tnd_status_t read_pads(const tnd_batcher_options_t *batcher, const tnd_schema_t *schema,
                              uint64_t pads[TND_COLUMNS_MAX], tnd_error_t *error)
{
    for (uint32_t c = 0; c < schema->count; c++)
        if (schema->columns[c].ragged)
            TND_TRY(tnd_op_number("pad_value", tnd_plan_pad_value(batcher), &schema->columns[c],
                                  &pads[c], error));
    return TND_OK;
}

static void wake(void *context)
{
    tnd_actor_wake(context);
}

tnd_status_t tnd_feeder_make_workers(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_chain_plan_t *chain = &plan->chains[feeder->own->chain];
    uint32_t cut = tnd_plan_batcher(plan, feeder->own->chain, 0);
    const tnd_batcher_options_t *batcher = plan->instances[cut].options;
    feeder->devices = tnd_allocate_zeroed(feeder->own->replica_count, sizeof *feeder->devices);
    for (uint32_t i = 0; i < feeder->own->replica_count; i++)
        feeder->devices[i] =
            tnd_feeder_plan_device(plan, feeder->own, feeder->own->replica_first + i);
    for (uint32_t r = 0; r < feeder->reducers.count; r++)
        TND_TRY(tnd_reduction_weight_column(plan->instances[feeder->reducers.ids[r]].options,
                                            &feeder->stream->fed.schema, &feeder->weights[r],
                                            error));
    const tnd_collective_ops_t *collective;
    TND_TRY(tnd_reduction_through_of_feeder(plan, (uint32_t)(feeder->own - plan->instances),
                                            &collective, error));
    tnd_plan_buckets(&feeder->buckets, batcher);
    tnd_slot_layout_config_t layout =
        tnd_feeder_plan_layout(plan, feeder->own, batcher, feeder->stream);
    if (feeder->buckets.rule.bounded) {
        TND_TRY(tnd_plan_buckets_column(batcher->bucket, &feeder->stream->fed.schema,
                                        &layout.deciding, error));
        layout.bounded = tnd_plan_bucket_bounded(batcher, &feeder->stream->fed.schema);
        layout.bounds = feeder->buckets.bounds;
        layout.bound_count = feeder->buckets.rule.count - 1;
    }
    TND_TRY(read_pads(batcher, &feeder->stream->fed.schema, feeder->pads, error));
    if (feeder->options->cast != NULL)
        tnd_cast_columns_make(&feeder->casts, &feeder->options->cast->columns,
                              &feeder->stream->fed.schema);
    tnd_device_workers_config_t config = {
        .name = feeder->name,
        .schema = &feeder->stream->fed.schema,
        .replicas = chain->replicas,
        .first = feeder->own->replica_first,
        .count = feeder->own->replica_count,
        .accumulate = tnd_feeder_plan_accumulate(plan, feeder->own),
        .early = feeder->options->apply == TND_APPLY_EARLY,
        .devices = feeder->devices,
        .depth = feeder->depth,
        .spare = (uint32_t)feeder->options->spare,
        .further = tnd_feeder_plan_further(plan, feeder->own, feeder->stream, &layout),
        .shown = &feeder->stream->shown.schema,
        .casts = feeder->casts.any ? feeder->casts.by_column : NULL,
        .device = tnd_feeder_plan_device_config(feeder->options),
        .rows_max = layout.rows_max,
        .form = layout.form,
        .ragged_max = layout.ragged_max,
        .bounded = layout.bounded,
        .deciding = layout.deciding,
        .bounds = layout.bounds,
        .bound_count = layout.bound_count,
        .pads = feeder->pads,
        .reducers = feeder->reducer_names,
        .reducer_count = feeder->reducers.count,
        .weights = feeder->weights,
        .buckets = feeder->bucket_bytes,
        .collective = collective,
        .patience_ns = plan->hung_after_ns,
        .wake = wake,
        .context = self,
        .stop_ns = tnd_feeder_plan_stop_ns(plan),
        .pages = feeder->statistics->devices,
        .program_ns = &feeder->statistics->program_ns,
        .program_since_ns = &feeder->statistics->program_since_ns,
    };
    config.rings = tnd_actor_device_rings(self, &config.ring_count);
    config.timings = tnd_actor_device_timings(self);
    uint32_t failed;
    if (tnd_device_workers_new(&feeder->workers, &config, &failed, error) != TND_OK) {
        if (failed != UINT32_MAX)
            tnd_feeder_plan_refuse_device(self, failed);
        return TND_FAILED;
    }
    atomic_store_explicit(&feeder->statistics->device_count,
                          tnd_device_workers_devices(feeder->workers), memory_order_release);
    tnd_batch_slots_config_t slots = {
        .name = feeder->name,
        .workers = feeder->workers,
        .schema = &feeder->stream->fed.schema,
        .statistics = feeder->statistics,
        .depth = config.depth,
        .first = config.first,
        .count = config.count,
        .rows_max = layout.rows_max,
        .batcher = plan->instances[cut].actor,
        .ragged_max = layout.ragged_max,
        .digest = feeder->options->digest,
        .threads = tnd_feeder_plan_gather_threads(plan, feeder->own, batcher, feeder->stream),
    };
    return tnd_batch_slots_new(&feeder->slots, &slots, error);
}

tnd_status_t tnd_feeder_resize(feeder_t *feeder, tnd_actor_t *self, uint32_t depth,
                               tnd_error_t *error)
{
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    if (tnd_device_workers_resize(feeder->workers, depth, error) == TND_OK) {
        tnd_batch_slots_resize(feeder->slots, depth);
        use_depth(feeder, depth);
    } else {
        tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
        msg.note.number = TND_LOG_WARNING;
        msg.note.payload =
            tnd_text_payload_of("%s depth stays %" PRIu32 ", because memory for %" PRIu32
                                " batches cannot be allocated: %.300s",
                                feeder->name, feeder->depth, depth, error->text);
        tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
    }
    void *memory = tnd_allocate_zeroed(1, tnd_feeder_core_bytes(&feeder->config));
    feeder->machine = tnd_feeder_core_resized(feeder->machine, memory, &feeder->config);
    free(feeder->machine_memory);
    feeder->machine_memory = memory;
    return TND_OK;
}
