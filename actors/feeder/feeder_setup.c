/*  actors/feeder/feeder_setup.c - makes the parts of a feeder, for the number of its slots. */
#include "actors/feeder/feeder_setup.h"

#include <inttypes.h>
#include <stdlib.h>

#include "actors/feeder/feeder_plan.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "actors/plan/reduction_memory.h"
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
        feeder->bucket_bytes[r] = tnd_reduction_bucket(reducer);
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

static void wake(void *context)
{
    tnd_actor_wake(context);
}

/*  What all replicas of the feeder need. */
static tnd_status_t prepare(feeder_t *feeder, const tnd_plan_t *plan, tnd_error_t *error)
{
    feeder->devices = tnd_allocate_zeroed(feeder->own->replica_count, sizeof *feeder->devices);
    for (uint32_t i = 0; i < feeder->own->replica_count; i++)
        feeder->devices[i] =
            tnd_feeder_plan_device(plan, feeder->own, feeder->own->replica_first + i);
    for (uint32_t r = 0; r < feeder->reducers.count; r++)
        TND_TRY(tnd_reduction_weight_column(&plan->instances[feeder->reducers.ids[r]],
                                            &feeder->stream->fed.schema, &feeder->weights[r],
                                            error));
    if (feeder->options->cast != NULL)
        tnd_cast_columns_make(&feeder->casts, &feeder->options->cast->columns,
                              &feeder->stream->fed.schema);
    return TND_OK;
}

/*  Consecutive replicas whose steps run in one order. */
typedef struct {
    uint32_t local, count; /* local: of the first one */
    uint32_t depth, spare, threads;
    uint32_t page; /* of the first device, among those of the feeder */
} group_t;

/*  Where the devices of a group show what they do, as far as there is room for the feeder's. */
static void show_devices(const feeder_t *feeder, tnd_actor_t *self, const group_t *group,
                         tnd_device_workers_config_t *config)
{
    uint32_t page = group->page;
    config->rings = tnd_actor_device_rings(self, &config->ring_count);
    config->timings = tnd_actor_device_timings(self);
    config->pages = page < TND_PAGE_DEVICES ? feeder->statistics->devices + page : NULL;
    if (page < config->ring_count) {
        config->rings += page;
        config->timings += config->timings != NULL ? page : 0;
        config->ring_count -= page;
    } else if (page > 0) {
        config->rings = NULL;
        config->timings = NULL;
        config->ring_count = 0;
    }
}

static tnd_status_t make_group(feeder_t *feeder, tnd_actor_t *self, const group_t *group,
                               tnd_replica_device_t *made, tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_chain_plan_t *chain = &plan->chains[feeder->own->chain];
    uint32_t cut = tnd_plan_batcher(plan, feeder->own->chain, 0);
    const tnd_collective_ops_t *collective;
    TND_TRY(tnd_reduction_through_of_feeder(plan, (uint32_t)(feeder->own - plan->instances),
                                            &collective, error));
    tnd_slot_layout_config_t layout = tnd_feeder_plan_layout(feeder->stream);
    tnd_device_workers_config_t config = {
        .name = feeder->name,
        .schema = &feeder->stream->fed.schema,
        .replicas = chain->replicas,
        .first = feeder->own->replica_first + group->local,
        .count = group->count,
        .accumulate = tnd_feeder_plan_accumulate(plan, feeder->own),
        .early = feeder->options->apply == TND_APPLY_EARLY,
        .devices = feeder->devices + group->local,
        .depth = group->depth,
        .spare = group->spare,
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
        .pads = feeder->stream->batch.pads,
        .reducers = feeder->reducer_names,
        .reducer_count = feeder->reducers.count,
        .weights = feeder->weights,
        .buckets = feeder->bucket_bytes,
        .collective = collective,
        .patience_ns = plan->hung_after_ns,
        .wake = wake,
        .context = self,
        .stop_ns = tnd_feeder_plan_stop_ns(plan),
        .program_ns = &feeder->statistics->program_ns,
        .program_since_ns = &feeder->statistics->program_since_ns,
    };
    show_devices(feeder, self, group, &config);
    uint32_t failed;
    if (tnd_device_workers_new(&made->workers, &config, &failed, error) != TND_OK) {
        if (failed != UINT32_MAX)
            tnd_feeder_plan_refuse_device(self, group->local + failed);
        return TND_FAILED;
    }
    tnd_batch_slots_config_t slots = {
        .name = feeder->name,
        .workers = made->workers,
        .schema = &feeder->stream->fed.schema,
        .statistics = feeder->statistics,
        .depth = config.depth,
        .first = config.first,
        .count = config.count,
        .rows_max = layout.rows_max,
        .batcher = plan->instances[cut].actor,
        .ragged_max = layout.ragged_max,
        .digest = feeder->options->digest,
        .threads = group->threads,
    };
    return tnd_batch_slots_new(&made->slots, &slots, error);
}

static void show_device_count(feeder_t *feeder, uint32_t devices)
{
    atomic_store_explicit(&feeder->statistics->device_count, devices, memory_order_release);
}

/*  Each host says it, in the leader's log. */
static void say_through(const feeder_t *feeder, tnd_actor_t *self)
{
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER, .note.number = TND_LOG_INFO};
    char text[256];
    tnd_reduction_through_text(tnd_actor_plan(self), feeder->own, text, sizeof text);
    if (text[0] == '\0')
        return;
    msg.note.payload = tnd_text_payload_of("%s %s", feeder->name, text);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

tnd_status_t tnd_feeder_make_workers(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    const group_t all = {
        .count = feeder->own->replica_count,
        .depth = feeder->depth,
        .spare = (uint32_t)feeder->options->spare,
        .threads = tnd_feeder_plan_gather_threads(feeder->own, feeder->stream),
    };
    tnd_replica_device_t made = {0};
    TND_TRY(prepare(feeder, tnd_actor_plan(self), error));
    tnd_status_t status = make_group(feeder, self, &all, &made, error);
    feeder->workers = made.workers;
    feeder->slots = made.slots;
    if (status != TND_OK)
        return status;
    show_device_count(feeder, tnd_device_workers_devices(feeder->workers));
    say_through(feeder, self);
    return TND_OK;
}

static tnd_status_t make_each(feeder_t *feeder, tnd_actor_t *self, tnd_replica_device_t *devices,
                              tnd_error_t *error)
{
    for (uint32_t i = 0; i < feeder->own->replica_count; i++) {
        const group_t one = {
            .local = i, .count = 1, .depth = feeder->depth + 1, .threads = 1, .page = i};
        TND_TRY(make_group(feeder, self, &one, &devices[i], error));
    }
    return TND_OK;
}

tnd_status_t tnd_feeder_make_dealt(feeder_t *feeder, tnd_actor_t *self, tnd_actor_id_t holder,
                                   tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    uint32_t count = feeder->own->replica_count;
    const tnd_dealt_replicas_config_t config = {.self = self,
                                                .name = feeder->name,
                                                .first = feeder->own->replica_first,
                                                .count = count,
                                                .joins = plan->lanes,
                                                .slots = feeder->depth,
                                                .holder = holder,
                                                .models = feeder->models};
    tnd_replica_device_t *devices = tnd_allocate_zeroed(count, sizeof *devices);
    tnd_status_t status = prepare(feeder, plan, error);
    if (status == TND_OK)
        status = make_each(feeder, self, devices, error);
    if (status == TND_OK) {
        use_depth(feeder, feeder->depth);
        show_device_count(feeder, count < TND_PAGE_DEVICES ? count : TND_PAGE_DEVICES);
        status = tnd_dealt_replicas_new(&feeder->dealt, &config, devices, error);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            tnd_batch_slots_destroy(&devices[i].slots);
            tnd_device_workers_destroy(&devices[i].workers);
        }
    }
    free(devices);
    return status;
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
