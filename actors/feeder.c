/*  actors/feeder.c - takes slices, has their rows put into slots, lets the device threads run.
 *
 *  When a step is whole, handed out and committed the machine decides; where its rows lie is the
 *  slots' matter (slots.h), what runs on it, and on which thread, that of the device workers.
 */
#include "actors/feeder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/batcher.h"
#include "actors/plan_queries.h"
#include "actors/peers.h"
#include "actors/pending_reductions.h"
#include "actors/prefetch.h"
#include "actors/preprocessor.h"
#include "actors/reducer.h"
#include "actors/batch_slots.h"
#include "runtime/base/allocation.h"
#include "runtime/core/checkpoint.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/core/feeder.h"
#include "runtime/interface/device.h"
#include "runtime/feed/feed.h"
#include "runtime/topology/error_location.h"
#include "runtime/option/option_print.h"
#include "runtime/interface/kind.h"
#include "runtime/host/actor.h"
#include "runtime/host/text_payload.h"

extern const tnd_kind_spec_t tnd_kind_feeder_spec;

/*  The characters of one line of a report, at most. */
enum { REPORT_LINE = 96 };

/*  How often it looks whether processors are free; they are not if it had to wait for one for more
 *  than this part of the time.
 */
enum { LOOK_EVERY_NS = 300000000, CROWDED_PART = 50 };

/*  How many lines of that length say whether a model was kept. */
enum { KEPT_LINES = 4 };

typedef struct {
    const tnd_feeder_options_t *options;
    const tnd_stream_t *stream;
    const tnd_instance_t *own;
    const char *name;
    tnd_statistics_t *statistics;
    tnd_peers_t joins;
    tnd_peers_t reducers;
    const char **reducer_names, **devices;
    int *weights; /* by reducer: the column that its means weigh by, or -1 */
    void *machine_memory;
    tnd_feeder_core_t *machine;
    tnd_models_t *models;
    tnd_device_workers_t *workers;
    tnd_feed_t *feed;
    tnd_batch_slots_t *slots;
    tnd_pending_reductions_t postings;
    tnd_pool_t *reports;
    size_t report_room;
    tnd_keep_note_t keep; /* the leader's last word on checkpoints */
    uint64_t kept;        /* steps behind the last checkpoint */
    uint32_t depth;
    uint64_t looked_ns, ready_ns; /* when it was seen how long it had been ready, in vain */
    bool begun, drained, over;
    bool placed; /* the leader has said where the stream begins */
    const tnd_actor_t *actor;
} feeder_t;

/* --- making it ready ---------------------------------------------------------------------------
 */

static const tnd_batcher_options_t *batcher_options(const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    tnd_peers_t batchers = tnd_peers_of(self, "batcher", plan->lanes);
    const tnd_batcher_options_t *options = plan->instances[batchers.ids[0]].options;
    tnd_peers_free(&batchers);
    return options;
}

/*  Whether the operations of the chain leave the number of rows as it is. */
static bool keeps_rows(const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    tnd_peers_t workers = tnd_peers_of(self, "preprocessor", plan->lanes);
    bool keeps = true;
    for (uint32_t w = 0; w < workers.count; w++) {
        const tnd_preprocessor_options_t *options = plan->instances[workers.ids[w]].options;
        for (size_t i = 0; i < options->ops.count; i++)
            keeps = keeps && (tnd_op_spec_of(options->ops.items[i].table)->caps &
                              (TND_OP_DROPS | TND_OP_EXPANDS)) == 0;
    }
    tnd_peers_free(&workers);
    return keeps;
}

static uint64_t steps_of_epoch(const tnd_actor_t *self)
{
    const tnd_batcher_options_t *options = batcher_options(self);
    uint64_t count = tnd_stream_positions(tnd_actor_stream(self));
    if (count == TND_UNKNOWN || options->span_epochs || !keeps_rows(self))
        return TND_UNKNOWN;
    bool short_one = options->remainder != TND_REMAINDER_DROP && count % options->size != 0;
    uint64_t batches = count / options->size + short_one;
    uint64_t left = batches > options->skip ? batches - options->skip : 0;
    return left < options->take ? left : options->take;
}

static void list_reducers(feeder_t *feeder, const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    feeder->reducers.ids = tnd_allocate_zeroed(plan->edge_count + 1, sizeof *feeder->reducers.ids);
    feeder->reducer_names =
        tnd_allocate_zeroed(plan->edge_count + 1, sizeof *feeder->reducer_names);
    feeder->weights = tnd_allocate_zeroed(plan->edge_count + 1, sizeof *feeder->weights);
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        const char *kind = plan->instances[edge->to].kind->table.name;
        if (edge->from != tnd_actor_id(self) || strcmp(kind, "reducer") != 0)
            continue;
        feeder->reducers.ids[feeder->reducers.count] = edge->to;
        feeder->reducer_names[feeder->reducers.count++] = plan->instances[edge->to].actor;
    }
}

/*  The plugin's own options as text; "" if there are none. */
static char *step_options(const tnd_step_options_t *step)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    if (step->options.count > 0)
        tnd_pairs_print(&step->options, out);
    fclose(out);
    return text;
}

static tnd_status_t open_plugin(feeder_t *feeder, const tnd_actor_t *self, tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    char *options = step_options(feeder->options->step);
    tnd_models_config_t config = {
        .plugin = feeder->options->step->plugin,
        .options = options,
        .folder = plan->directory,
        .first = feeder->own->replica_first,
        .count = feeder->own->replica_count,
        .keep = tnd_actor_keep(self),
        .resume = tnd_actor_resume(self),
    };
    tnd_status_t status = tnd_models_new(&feeder->models, &config, error);
    free(options);
    return status;
}

/*  The device that carries a replica. */
static const char *device_of(const tnd_plan_t *plan, const tnd_instance_t *own, uint32_t replica)
{
    return plan->hosts[own->host].devices[plan->chains[own->chain].carriers[replica].device];
}

static void check_devices(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics)
{
    tnd_error_t error;
    const char *before = NULL;
    for (uint32_t i = 0; i < own->replica_count; i++) {
        const char *device = device_of(plan, own, own->replica_first + i);
        if (device == before)
            continue;
        before = device;
        if (tnd_device_check(device, &error) != TND_OK)
            tnd_diagnostics_add(diagnostics, TND_T064_DEVICE,
                                tnd_error_location_text(plan->topology, device, own->written->mark),
                                "%s: %s", own->actor, error.text);
    }
}

/*  The step whose models an instance uses: its own, or that of the feeder that it comes after. */
static const tnd_step_options_t *step_of(const tnd_instance_t *own, const tnd_plan_t *plan)
{
    const tnd_feeder_options_t *options = own->options;
    for (uint32_t i = 0; options->after != NULL && i < plan->instance_count; i++)
        if (strcmp(plan->instances[i].actor, options->after) == 0)
            return ((const tnd_feeder_options_t *)plan->instances[i].options)->step;
    return options->step;
}

static void feeder_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                         tnd_diagnostics_t *diagnostics)
{
    const tnd_feeder_options_t *options = own->options;
    const tnd_step_options_t *step = step_of(own, plan);
    tnd_error_t error;
    if (own->written == NULL)
        return;
    check_devices(own, plan, diagnostics);
    if (step == NULL)
        return;
    tnd_models_config_t config = {.plugin = step->plugin, .folder = plan->directory};
    bool evaluates = options->after != NULL;
    /* That the plugin itself is not there is told where it is named. */
    if (evaluates && tnd_models_check(&config, false, &error) != TND_OK)
        return;
    if (tnd_models_check(&config, evaluates, &error) == TND_OK)
        return;
    const char *named = evaluates ? options->after : step->plugin;
    tnd_diagnostics_add(diagnostics, TND_T063_PLUGIN,
                        tnd_error_location_text(plan->topology, named, own->written->mark),
                        "%s: %s", own->actor, error.text);
}

static void wake(void *context);

static void make_machine(feeder_t *feeder, tnd_actor_t *self)
{
    tnd_feeder_core_config_t config = {
        .self = tnd_actor_id(self),
        .joins = feeder->joins.ids,
        .join_count = feeder->joins.count,
        .first_replica = feeder->own->replica_first,
        .replicas = feeder->own->replica_count,
        .depth = feeder->depth,
        .unbooked_max = tnd_prefetch_unbooked(feeder->depth),
        .steps_max = TND_UNKNOWN,
    };
    feeder->machine_memory = tnd_allocate_zeroed(1, tnd_feeder_core_bytes(&config));
    feeder->machine = tnd_feeder_core_init(feeder->machine_memory, &config);
}

/*  Rows of one replica in one step. */
static uint64_t rows_of_replica(const tnd_plan_t *plan, const tnd_instance_t *own,
                                const tnd_batcher_options_t *batcher)
{
    return tnd_split_rows((tnd_split_t)batcher->split, batcher->size, batcher->size,
                          plan->chains[own->chain].replicas, 0);
}

/*  How many threads gather the rows of its steps. */
static uint32_t gather_threads(const tnd_plan_t *plan, const tnd_instance_t *own,
                               const tnd_batcher_options_t *batcher, const tnd_stream_t *stream)
{
    const tnd_feeder_options_t *options = own->options;
    return tnd_gather_threads(options->gather, rows_of_replica(plan, own, batcher) *
                                                   own->replica_count *
                                                   tnd_schema_row_bytes(&stream->fed));
}

/*  All rows of a step that has a slot may be on their way to it, or be read in place, in blocks
 * that begin before them and end after them.  The same applies to a step whose tensors a program
 * holds.
 */
static void feeder_needs(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                         tnd_memory_estimate_t *needs)
{
    const tnd_instance_t *own = &plan->instances[index];
    const tnd_feeder_options_t *options = own->options;
    uint32_t batcher = tnd_plan_batcher(plan, own->chain, 0);
    if (batcher == plan->instance_count)
        return;
    uint64_t rows = rows_of_replica(plan, own, plan->instances[batcher].options);
    uint32_t depth = tnd_prefetch_depth(plan, own->chain, stream);
    uint64_t slot_bytes = own->replica_count * tnd_device_workers_slot_bytes(&stream->fed, rows);
    tnd_memory_estimate_add(needs, own->name, depth * slot_bytes,
                            "slots of %" PRIu32 " batches, %" PRIu64 " rows each", depth,
                            rows * own->replica_count);
    tnd_memory_estimate_add(needs, own->name, options->spare * slot_bytes,
                            "%" PRIu64 " spare batches, for tensors of earlier steps",
                            options->spare);
    uint32_t threads = gather_threads(plan, own, plan->instances[batcher].options, stream);
    if (threads > 1)
        tnd_memory_estimate_add(needs, own->name, tnd_gatherers_bytes(),
                                "the parts that %" PRIu32 " threads gather", threads);
    needs->threads += threads - 1;
    uint64_t coming = (depth + options->spare) * own->replica_count * rows;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        if (edge->to == index && edge->transport == TND_TRANSPORT_INPROC)
            coming += 2 * tnd_batcher_window(plan, edge->from, stream).block_rows;
    }
    tnd_memory_estimate_add(
        needs, own->name,
        coming * (tnd_schema_row_bytes(&stream->fed) + tnd_schema_list_bytes(&stream->fed)),
        "the same rows while they come, or where steps read them as they lie");
    tnd_memory_estimate_add(needs, own->name,
                            (uint64_t)(tnd_prefetch_unbooked(depth) + depth) * own->replica_count *
                                (TND_METRICS_MAX + KEPT_LINES) * REPORT_LINE,
                            "reports of steps, until the leader has booked them");
}

static tnd_status_t make_workers(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_chain_plan_t *chain = &plan->chains[feeder->own->chain];
    const tnd_batcher_options_t *batcher = batcher_options(self);
    feeder->devices = tnd_allocate_zeroed(feeder->own->replica_count, sizeof *feeder->devices);
    for (uint32_t i = 0; i < feeder->own->replica_count; i++)
        feeder->devices[i] = device_of(plan, feeder->own, feeder->own->replica_first + i);
    for (uint32_t r = 0; r < feeder->reducers.count; r++)
        TND_TRY(tnd_reducer_weight(plan->instances[feeder->reducers.ids[r]].options,
                                   &feeder->stream->fed, &feeder->weights[r], error));
    uint64_t rows_max = rows_of_replica(plan, feeder->own, batcher);
    tnd_device_workers_config_t config = {
        .name = feeder->name,
        .schema = &feeder->stream->fed,
        .replicas = chain->replicas,
        .first = feeder->own->replica_first,
        .count = feeder->own->replica_count,
        .devices = feeder->devices,
        .depth = feeder->depth,
        .spare = (uint32_t)feeder->options->spare,
        .rows_max = rows_max,
        .reducers = feeder->reducer_names,
        .reducer_count = feeder->reducers.count,
        .weights = feeder->weights,
        .wake = wake,
        .context = self,
        .pages = feeder->statistics->devices,
    };
    TND_TRY(tnd_device_workers_new(&feeder->workers, &config, error));
    atomic_store_explicit(&feeder->statistics->device_count,
                          tnd_device_workers_devices(feeder->workers), memory_order_release);
    tnd_batch_slots_config_t slots = {
        .name = feeder->name,
        .workers = feeder->workers,
        .schema = &feeder->stream->fed,
        .statistics = feeder->statistics,
        .depth = config.depth,
        .first = config.first,
        .count = config.count,
        .rows_max = rows_max,
        .digest = feeder->options->digest,
        .threads = gather_threads(plan, feeder->own, batcher, feeder->stream),
    };
    feeder->slots = tnd_batch_slots_new(&slots);
    return TND_OK;
}

static void wake(void *context)
{
    tnd_actor_wake(context);
}

/*  Of each step that has a slot, one slice a replica. */
static uint32_t feeder_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                              const tnd_stream_t *stream)
{
    return tnd_prefetch_depth(plan, instance->chain, stream) * instance->replica_count;
}

static tnd_status_t feeder_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    feeder_t *feeder = state;
    feeder->actor = self;
    feeder->options = tnd_actor_options(self);
    feeder->stream = tnd_actor_stream(self);
    feeder->own = tnd_actor_instance(self);
    feeder->depth = tnd_prefetch_depth(tnd_actor_plan(self), feeder->own->chain, feeder->stream);
    feeder->name = tnd_actor_name(self);
    feeder->statistics = tnd_actor_statistics(self);
    feeder->joins = tnd_peers_of(self, "batcher", tnd_actor_plan(self)->lanes);
    list_reducers(feeder, self);
    make_machine(feeder, self);
    if (feeder->options->step != NULL)
        TND_TRY(open_plugin(feeder, self, error));
    if (tnd_actor_save(self) != NULL && feeder->models != NULL &&
        !tnd_models_can_save(feeder->models))
        return tnd_fail(error, "%s: step plugin %s has no `save`: it cannot write %s", feeder->name,
                        feeder->options->step->plugin, tnd_actor_save(self));
    if (tnd_actor_keep(self) != NULL && feeder->models != NULL &&
        !tnd_models_can_save(feeder->models))
        return tnd_fail(error, "%s: step plugin %s has no `save`: checkpoints cannot be kept",
                        feeder->name, feeder->options->step->plugin);
    TND_TRY(make_workers(feeder, self, error));
    if (feeder->models != NULL) {
        TND_TRY(
            tnd_device_workers_call(feeder->workers, tnd_models_open_task(feeder->models), error));
        if (tnd_models_load_task(feeder->models) != NULL)
            TND_TRY(tnd_device_workers_call(feeder->workers, tnd_models_load_task(feeder->models),
                                            error));
        tnd_device_workers_run_all(feeder->workers, tnd_models_step_task(feeder->models));
    }
    tnd_feed_facts_t facts = {
        .schema = &feeder->stream->fed,
        .replicas = tnd_actor_plan(self)->chains[feeder->own->chain].replicas,
        .first = feeder->own->replica_first,
        .count = feeder->own->replica_count,
        .steps = steps_of_epoch(self),
        .keep = feeder->models == NULL ? tnd_actor_keep(self) : NULL,
        .resume = feeder->models == NULL ? tnd_actor_resume(self) : NULL,
        .models = feeder->models,
    };
    feeder->feed = tnd_feed_new(feeder->workers, &facts);
    return TND_OK;
}

/*  A feeder `after:` another evaluates the models of that one, once all actors are there. */
static tnd_status_t find_models(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    const char *after = feeder->options->after;
    tnd_feed_t *first = after != NULL ? tnd_actor_sibling(self, after) : NULL;
    tnd_models_t *models = first != NULL ? tnd_feed_models(first) : NULL;
    if (models == NULL)
        return TND_OK;
    if (!tnd_models_cover(models, feeder->own->replica_first, feeder->own->replica_count))
        return tnd_fail(error,
                        "%s carries replicas %" PRIu32 " to %" PRIu32 ", for which %s has no "
                        "models on this host: give both the same replicas and devices",
                        feeder->name, feeder->own->replica_first,
                        feeder->own->replica_first + feeder->own->replica_count - 1, after);
    if (tnd_models_evaluate_task(models) == NULL)
        return tnd_fail(error, "%s: step plugin %s of %s has no `evaluate`", feeder->name,
                        tnd_models_plugin(models), after);
    feeder->models = tnd_models_hold(models);
    tnd_device_workers_run_all(feeder->workers, tnd_models_evaluate_task(models));
    return TND_OK;
}

/* --- steps -------------------------------------------------------------------------------------
 */

static void tell(tnd_actor_t *self, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_COMMIT && msg->commit.payload != NULL) {
        tnd_buffer_hold(msg->commit.payload); /* it may have to be said again */
        tnd_actor_control(self, msg, TND_CARRY_BUFFER);
    } else {
        tnd_actor_control(self, msg, TND_CARRY_NOTHING);
    }
}

static void drop(const tnd_effect_t *effect)
{
    tnd_slice_t *slice = effect->payload;
    tnd_buffer_t *report = effect->payload;
    if (effect->msg.kind == TND_MSG_SLICE)
        tnd_slice_drop(&slice);
    else
        tnd_buffer_drop(&report);
}

/*  What the devices do behind a step beside the next one. */
static const tnd_task_t *keep_behind(feeder_t *feeder, uint64_t step)
{
    if (feeder->models == NULL || !tnd_checkpoint_asks(&feeder->keep, step + 1))
        return NULL;
    const tnd_task_t *task = tnd_models_keep_task(feeder->models);
    if (task != NULL)
        feeder->kept = step + 1;
    return task;
}

/*  Does what the machine wants; after every event, before the next. */
static tnd_status_t perform(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    tnd_effect_t effect;
    while (tnd_feeder_core_next_effect(feeder->machine, tnd_actor_round(self), &effect)) {
        switch (effect.kind) {
        case TND_EFFECT_PLACE:
            TND_TRY(tnd_batch_slots_place(feeder->slots, &effect, error));
            break;
        case TND_EFFECT_READY:
            tnd_batch_slots_ready(feeder->slots, effect.slot, &effect.msg.slice,
                                  keep_behind(feeder, effect.msg.slice.step));
            break;
        case TND_EFFECT_FREE:
            TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
            TND_TRY(tnd_batch_slots_free(feeder->slots, effect.slot, error));
            break;
        case TND_EFFECT_LINK:
            /* A join that went away just now is LOST in a moment. */
            (void)tnd_actor_send(self, &effect.msg, TND_CARRY_NOTHING);
            break;
        case TND_EFFECT_CONTROL:
            tell(self, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            drop(&effect);
            break;
        default:
            abort(); /* the machine has no other effects */
        }
    }
    return TND_OK;
}

/*  One line about a model that was to be kept; returns its length. */
static size_t print_kept(const tnd_report_t *report, uint32_t replica, char *text, size_t room)
{
    char hash[TND_DIGEST_TEXT_SIZE];
    const tnd_saved_t *part = &report->part;
    if (report->kept == TND_KEPT_NOT_ASKED)
        return 0;
    if (report->kept == TND_KEPT_NONE)
        return (size_t)snprintf(text, room, "bare %" PRIu32 "\n", replica);
    if (report->kept == TND_KEPT_NOT)
        return (size_t)snprintf(text, room, "unkept %" PRIu32 " %s\n", replica,
                                report->not_kept_why);
    tnd_digest_print(&(tnd_digest_t){.low = part->hash[0], .high = part->hash[1]}, hash);
    return (size_t)snprintf(text, room, "part %" PRIu32 " %" PRIu64 " %s\n", replica, part->bytes,
                            hash);
}

/*  What the replicas reported, as a note; NULL: nothing. */
static tnd_buffer_t *report_of(feeder_t *feeder, const tnd_done_t *done)
{
    static const tnd_report_t nothing = {.kept = TND_KEPT_NONE};
    size_t lines = 0, used = 0;
    bool bare = feeder->models == NULL && tnd_device_workers_discards(feeder->workers) &&
                tnd_checkpoint_asks(&feeder->keep, done->step + 1);
    if (bare)
        feeder->kept = done->step + 1;
    for (uint32_t r = 0; r < feeder->own->replica_count; r++)
        lines += done->reports[r].count +
                 (bare || done->reports[r].kept != TND_KEPT_NOT_ASKED ? KEPT_LINES : 0);
    if (lines == 0)
        return NULL;
    if (lines * REPORT_LINE > feeder->report_room) {
        tnd_pool_destroy(&feeder->reports);
        feeder->report_room = lines * REPORT_LINE;
        feeder->reports = tnd_pool_new(feeder->report_room);
    }
    tnd_buffer_t *note = tnd_pool_take(feeder->reports);
    char *text = tnd_buffer_data(note);
    for (uint32_t r = 0; r < feeder->own->replica_count; r++)
        for (uint32_t m = 0; m < done->reports[r].count; m++) {
            const tnd_metric_t *metric = &done->reports[r].metrics[m];
            used += (size_t)snprintf(text + used, feeder->report_room - used,
                                     "%" PRIu32 " %a %a %s\n", feeder->own->replica_first + r,
                                     metric->sum, metric->weight, metric->name);
        }
    for (uint32_t r = 0; r < feeder->own->replica_count; r++)
        used += print_kept(bare ? &nothing : &done->reports[r], feeder->own->replica_first + r,
                           text + used, feeder->report_room - used);
    assert(used < feeder->report_room);
    memset(text + used, ' ', feeder->report_room - used); /* a line that says nothing */
    tnd_buffer_seal(note);
    return note;
}

/*  Whether others carry replicas too, so that reducers have something to do. */
static bool shares_replicas(const feeder_t *feeder, const tnd_actor_t *self)
{
    return feeder->own->replica_count < tnd_actor_plan(self)->chains[feeder->own->chain].replicas;
}

static tnd_status_t take_done(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    tnd_done_t done;
    while (tnd_device_workers_done(feeder->workers, &done)) {
        TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
        tnd_digest_t rows = tnd_batch_slots_digest(feeder->slots, &done);
        uint64_t digest[2] = {rows.low, rows.high};
        tnd_count(&feeder->statistics->rows_out, done.rows);
        tnd_count(&feeder->statistics->blocks_out, 1);
        atomic_store_explicit(&feeder->statistics->step, done.step, memory_order_relaxed);
        tnd_feeder_core_done(feeder->machine, done.step, digest, done.rows,
                             report_of(feeder, &done));
        if (shares_replicas(feeder, self))
            tnd_pending_reductions_done(&feeder->postings, self, &feeder->reducers, done.step,
                                        done.tensors, done.reductions);
        TND_TRY(perform(feeder, self, error));
    }
    if (tnd_device_workers_idle(feeder->workers))
        tnd_pending_reductions_idle(&feeder->postings, self, &feeder->reducers);
    return TND_OK;
}

/*  The values of one exchange.  A reducer first hears of the steps before it. */
static tnd_status_t post(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    if (!tnd_device_workers_waits(feeder->workers))
        return TND_OK;
    TND_TRY(take_done(feeder, self, error));
    tnd_outgoing_t outgoing;
    bool any = false;
    while (tnd_device_workers_outgoing(feeder->workers, &outgoing)) {
        tnd_pending_reductions_add(&feeder->postings, self, &feeder->reducers, outgoing.reducer,
                                   &outgoing.post);
        any = true;
    }
    if (any)
        tnd_pending_reductions_sent(&feeder->postings, self, &feeder->reducers);
    return TND_OK;
}

/*  Keeps the models behind the last step, unless that was done with it, and says so. */
static void keep_last(feeder_t *feeder, const tnd_actor_t *self, FILE *note)
{
    uint64_t done = tnd_feeder_core_committed(feeder->machine);
    if (tnd_actor_keep(self) == NULL || feeder->options->after != NULL || done == feeder->kept ||
        done == 0 || (feeder->models == NULL && !tnd_device_workers_discards(feeder->workers)))
        return;
    fprintf(note, "behind %" PRIu64 "\n", done);
    for (uint32_t r = 0; r < feeder->own->replica_count; r++) {
        uint32_t replica = feeder->own->replica_first + r;
        char text[KEPT_LINES * REPORT_LINE];
        tnd_error_t why;
        tnd_report_t report = {.kept = feeder->models != NULL ? TND_KEPT : TND_KEPT_NONE};
        if (feeder->models != NULL &&
            tnd_models_keep(feeder->models, done, replica, &report.part, &why) != TND_OK) {
            report.kept = TND_KEPT_NOT;
            snprintf(report.not_kept_why, sizeof report.not_kept_why, "%.255s", why.text);
        }
        (void)print_kept(&report, replica, text, sizeof text);
        fputs(text, note);
    }
}

/*  The model of a run that was trained to its end is not all of its result: where it cannot be
 *  saved, its digest and what follows are still told.
 */
static tnd_status_t save(feeder_t *feeder, tnd_actor_t *self, char digest[TND_DIGEST_TEXT_SIZE],
                         tnd_error_t *error)
{
    const char *place = tnd_actor_save(self);
    tnd_status_t status = tnd_models_save(feeder->models, place, digest, error);
    if (status == TND_OK || place == NULL)
        return status;
    tnd_actor_unsaved(self, error->text);
    if (tnd_models_save(feeder->models, NULL, digest, error) != TND_OK)
        strcpy(digest, "-");
    return TND_OK;
}

/*  The last words of a feeder: what its model has become. */
static tnd_status_t end(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    char digest[TND_DIGEST_TEXT_SIZE] = "-";
    tnd_text_payload_writer_t writer;
    if (feeder->own->replica_first == 0 && feeder->models != NULL && feeder->options->after == NULL)
        TND_TRY(save(feeder, self, digest, error));
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .from = tnd_actor_id(self), .to = TND_LEADER};
    msg.note.number = feeder->own->chain;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "%s\n", digest);
    keep_last(feeder, self, writer.stream);
    msg.note.payload = tnd_text_payload_end(&writer);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
    feeder->over = true;
    tnd_actor_over(self);
    tnd_device_workers_over(feeder->workers, feeder->drained ? TND_STOPPED : TND_END);
    return TND_OK;
}

static void count_devices(feeder_t *feeder)
{
    atomic_store_explicit(&feeder->statistics->device_cpu_ns,
                          tnd_device_workers_cpu_ns(feeder->workers), memory_order_relaxed);
}

/*  Where this thread had to wait for a processor, none is free. */
static void look_for_processors(feeder_t *feeder, uint64_t now)
{
    uint64_t ready = atomic_load_explicit(&feeder->statistics->ready_ns, memory_order_relaxed);
    uint64_t passed = now - feeder->looked_ns;
    if (passed < LOOK_EVERY_NS)
        return;
    tnd_device_workers_may_look(feeder->workers,
                                feeder->looked_ns != 0 &&
                                    (ready - feeder->ready_ns) * CROWDED_PART < passed);
    feeder->looked_ns = now;
    feeder->ready_ns = ready;
}

static tnd_status_t feeder_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    feeder_t *feeder = state;
    (void)more_p;
    if (!feeder->begun) {
        feeder->begun = true;
        TND_TRY(find_models(feeder, self, error));
    }
    if (tnd_device_workers_error(feeder->workers) != NULL)
        return tnd_fail(error, "%s", tnd_device_workers_error(feeder->workers));
    look_for_processors(feeder, tnd_actor_round(self));
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    TND_TRY(post(feeder, self, error));
    TND_TRY(perform(feeder, self, error));
    TND_TRY(take_done(feeder, self, error));
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    tnd_batch_slots_flush(feeder->slots);
    if (tnd_feeder_core_over(feeder->machine) && !feeder->over)
        return end(feeder, self, error);
    return TND_OK;
}

/* --- arrivals ----------------------------------------------------------------------------------
 */

static bool is_join(const feeder_t *feeder, tnd_actor_id_t peer)
{
    for (uint32_t i = 0; i < feeder->joins.count; i++)
        if (feeder->joins.ids[i] == peer)
            return true;
    return false;
}

static tnd_status_t take_result(feeder_t *feeder, tnd_actor_t *self, const tnd_msg_t *msg,
                                tnd_error_t *error)
{
    tnd_msg_t got = {.kind = TND_MSG_GOT, .from = tnd_actor_id(self), .to = msg->from};
    got.post = msg->post;
    got.post.payload = NULL;
    TND_TRY(tnd_device_workers_incoming(feeder->workers, msg->post.round, msg->post.reducer_slot,
                                        msg->post.payload, error));
    (void)tnd_actor_send(self, &got, TND_CARRY_NOTHING);
    return TND_OK;
}

static tnd_status_t take_message(feeder_t *feeder, tnd_actor_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    switch (msg->kind) {
    case TND_MSG_SLICE: {
        const tnd_slice_t *slice = msg->slice.payload;
        if (slice == NULL || !tnd_slice_sealed(slice))
            return tnd_fail(error, "%s: a slice came without its rows", feeder->name);
        arrival->carry = TND_CARRY_NOTHING;
        tnd_status_t status = tnd_feeder_core_slice(feeder->machine, msg, error);
        if (status != TND_OK)
            return status;
        break;
    }
    case TND_MSG_WINDOW:
        tnd_feeder_core_asked(feeder->machine, msg);
        break;
    case TND_MSG_REWIND:
        if (feeder->placed && arrival->cursor->step > tnd_feeder_core_held(feeder->machine))
            return tnd_fail(error,
                            "%s: the leader goes back to step %" PRIu64
                            ", but this feeder has only the steps before %" PRIu64,
                            feeder->name, arrival->cursor->step,
                            tnd_feeder_core_held(feeder->machine));
        feeder->placed = true;
        tnd_feeder_core_rewind_to(feeder->machine, msg->generation, arrival->cursor->step);
        break;
    case TND_MSG_BOOKED:
        tnd_feeder_core_booked(feeder->machine, msg->until.step);
        break;
    case TND_MSG_KEEP:
        feeder->keep = msg->keep;
        if (feeder->models != NULL)
            tnd_models_forget(feeder->models, msg->keep.below);
        break;
    case TND_MSG_LAST:
        tnd_feeder_core_end(feeder->machine, msg->until.step);
        break;
    case TND_MSG_DRAIN:
        feeder->drained = true;
        tnd_feeder_core_drain(feeder->machine);
        break;
    case TND_MSG_RESULT:
        arrival->carry = TND_CARRY_NOTHING;
        return take_result(feeder, self, msg, error);
    case TND_MSG_CLOSED:
        if (tnd_device_workers_awaits(feeder->workers, msg->post.round, msg->post.reducer_slot))
            return tnd_fail(error,
                            "%s: in step %" PRIu64
                            " another replica went on without reduction %" PRIu32
                            ", to which those of %s posted: all replicas post the same "
                            "reductions in the same order",
                            feeder->name, msg->post.round, msg->post.reducer_slot, feeder->name);
        tnd_pending_reductions_close(&feeder->postings, msg->from, &msg->post);
        return TND_OK;
    default:
        break;
    }
    return perform(feeder, self, error);
}

/*  Slices that follow one another are gathered beside each other, until something arrives that may
 *  change what a slot is for.
 */
static bool leaves_slots(const tnd_arrival_t *arrival)
{
    return arrival->kind == TND_ARRIVAL_MESSAGE &&
           (arrival->msg.kind == TND_MSG_SLICE || arrival->msg.kind == TND_MSG_WINDOW ||
            arrival->msg.kind == TND_MSG_BOOKED);
}

static tnd_status_t feeder_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                  tnd_error_t *error)
{
    feeder_t *feeder = state;
    if (!leaves_slots(arrival))
        TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (is_join(feeder, arrival->peer)) {
            tnd_feeder_core_join_up(feeder->machine, arrival->peer);
            return perform(feeder, self, error);
        }
        tnd_pending_reductions_again(&feeder->postings, self, &feeder->reducers, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (is_join(feeder, arrival->peer)) {
            tnd_feeder_core_join_lost(feeder->machine, arrival->peer);
            return perform(feeder, self, error);
        }
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        return take_message(feeder, self, arrival, error);
    }
    return TND_OK;
}

static uint32_t feeder_blocked_on(const void *state)
{
    const feeder_t *feeder = state;
    if (feeder->over)
        return TND_WAIT_ENDED;
    uint32_t waits = tnd_feeder_core_blocked_on(feeder->machine) & ~(uint32_t)TND_WAIT_ENDED;
    return tnd_device_workers_waits(feeder->workers) ? waits | TND_WAIT_REDUCE : waits;
}

static void feeder_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const feeder_t *feeder = state;
    *queue_p = tnd_feeder_core_held(feeder->machine) - tnd_feeder_core_committed(feeder->machine);
    *credit_p = feeder->depth > *queue_p ? feeder->depth - *queue_p : 0;
}

static void *feeder_handle(void *state)
{
    return ((feeder_t *)state)->feed;
}

/* --- the end -----------------------------------------------------------------------------------
 */

/*  Gives back what the machine still has: a report of each step that was not booked. */
static void drop_reports(feeder_t *feeder)
{
    tnd_effect_t effect;
    tnd_feeder_core_booked(feeder->machine, TND_UNKNOWN);
    while (tnd_feeder_core_next_effect(feeder->machine, 0, &effect))
        if (effect.kind == TND_EFFECT_DROP || effect.kind == TND_EFFECT_PLACE) {
            effect.msg.kind = effect.kind == TND_EFFECT_PLACE ? TND_MSG_SLICE : effect.msg.kind;
            drop(&effect);
        }
}

static void feeder_fini(void *state)
{
    feeder_t *feeder = state;
    if (feeder->workers != NULL) {
        count_devices(feeder);
        if (!feeder->over && tnd_actor_was_asked_to_end(feeder->actor))
            tnd_device_workers_over(feeder->workers, TND_STOPPED);
        tnd_device_workers_stop(feeder->workers);
    }
    if (feeder->slots != NULL)
        tnd_count(&feeder->statistics->cpu_ns, tnd_batch_slots_cpu_ns(feeder->slots));
    if (feeder->machine != NULL)
        drop_reports(feeder);
    tnd_batch_slots_destroy(&feeder->slots);
    tnd_pending_reductions_free(&feeder->postings);
    tnd_pool_destroy(&feeder->reports);
}

static void feeder_release(void *state)
{
    feeder_t *feeder = state;
    tnd_feed_destroy(&feeder->feed);
    tnd_device_workers_destroy(&feeder->workers);
    tnd_models_drop(&feeder->models);
    tnd_peers_free(&feeder->joins);
    tnd_peers_free(&feeder->reducers);
    free(feeder->reducer_names);
    free(feeder->weights);
    free(feeder->devices);
    free(feeder->machine_memory);
}

const tnd_kind_t tnd_kind_feeder = {
    .spec = &tnd_kind_feeder_spec,
    .state_bytes = sizeof(feeder_t),
    .check = feeder_check,
    .needs = feeder_needs,
    .credit = feeder_credit,
    .init = feeder_init,
    .arrive = feeder_arrive,
    .work = feeder_work,
    .blocked_on = feeder_blocked_on,
    .depth = feeder_depth,
    .handle = feeder_handle,
    .fini = feeder_fini,
    .release = feeder_release,
};
