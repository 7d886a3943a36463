/*  actors/feeder/feeder_plan.c - what follows from the plan for one feeder. */
#include "actors/feeder/feeder_plan.h"

#include <inttypes.h>
#include <string.h>

#include "actors/feeder/step_reports.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "actors/plan/reduction_memory.h"
#include "actors/plan/reduction_through.h"
#include "runtime/base/bounds.h"
#include "runtime/feed/gatherers.h"
#include "runtime/feed/values/device_values.h"
#include "runtime/interface/device.h"
#include "runtime/resources/process_memory.h"
#include "runtime/topology/error_location.h"

const tnd_instance_t *tnd_feeder_plan_trained(const tnd_plan_t *plan, const tnd_instance_t *own)
{
    const char *after = ((const tnd_feeder_options_t *)own->options)->after;
    for (uint32_t i = 0; after != NULL && i < plan->instance_count; i++)
        if (strcmp(plan->instances[i].actor, after) == 0)
            return &plan->instances[i];
    return own;
}

uint32_t tnd_feeder_plan_accumulate(const tnd_plan_t *plan, const tnd_instance_t *own)
{
    const tnd_feeder_options_t *options = tnd_feeder_plan_trained(plan, own)->options;
    return (uint32_t)options->accumulate;
}

/*  The first replica of the first device that does not carry a multiple of `share`, and how many that
 *  carries; false: all do. */
static bool find_uneven(const tnd_chain_plan_t *chain, uint32_t share, uint32_t *first_p,
                        uint32_t *count_p)
{
    const tnd_carrier_t *carriers = chain->carriers;
    for (*first_p = 0; *first_p < chain->replicas; *first_p += *count_p) {
        const tnd_carrier_t *first = &carriers[*first_p];
        for (*count_p = 1; *first_p + *count_p < chain->replicas; ++*count_p)
            if (first[*count_p].instance != first->instance ||
                first[*count_p].device != first->device)
                break;
        if (*count_p % share != 0)
            return true;
    }
    return false;
}

void tnd_feeder_plan_check_accumulate(const tnd_instance_t *own, const tnd_plan_t *plan,
                                      tnd_diagnostics_t *diagnostics)
{
    const tnd_instance_t *trained = tnd_feeder_plan_trained(plan, own);
    const tnd_chain_plan_t *chain = &plan->chains[own->chain];
    uint32_t share = (uint32_t)((const tnd_feeder_options_t *)own->options)->accumulate;
    uint32_t first, count;
    tnd_mark_t mark = own->written != NULL ? tnd_topology_option_mark(own->written, "accumulate")
                                           : (tnd_mark_t){0};
    if (trained != own && share != 1) {
        tnd_diagnostics_add(diagnostics, TND_T046_DEVICES, mark,
                            "`%s` comes after `%s` and uses its models: leave out `accumulate`",
                            own->actor, trained->actor);
        return;
    }
    /* Once for all hosts. */
    if (!find_uneven(chain, share, &first, &count) ||
        &plan->instances[chain->carriers[first].instance] != own)
        return;
    tnd_diagnostics_add(diagnostics, TND_T046_DEVICES, mark,
                        "%s: `accumulate: %" PRIu32 "` does not divide the %" PRIu32
                        " replica%s that %s on `%s` "
                        "carries: replicas that share a model are on one device",
                        own->actor, share, count, count == 1 ? "" : "s",
                        tnd_feeder_plan_device(plan, own, first), plan->hosts[own->host].name);
    tnd_diagnostics_help(diagnostics, "choose `replicas:` of the batcher and `accumulate:` so that "
                                      "each device carries a multiple of it");
}

const char *tnd_feeder_plan_device(const tnd_plan_t *plan, const tnd_instance_t *own,
                                   uint32_t replica)
{
    return plan->hosts[own->host].devices[plan->chains[own->chain].carriers[replica].device];
}

tnd_device_config_t tnd_feeder_plan_device_config(const tnd_feeder_options_t *options)
{
    const tnd_sim_options_t *sim = options->sim;
    if (sim == NULL)
        return (tnd_device_config_t){0};
    return (tnd_device_config_t){.link_bytes_per_s = sim->to_device,
                                 .link_latency_ns = sim->latency,
                                 .memory_bytes = sim->memory,
                                 .step_ns = sim->step,
                                 .fault_file = sim->faults};
}

uint64_t tnd_feeder_plan_stop_ns(const tnd_plan_t *plan)
{
    uint64_t most_ns = TND_ACTOR_STOP_NS / 2;
    return plan->hung_after_ns < most_ns ? plan->hung_after_ns : most_ns;
}

/*  Where a device is written. */
static tnd_mark_t mark_of(const tnd_plan_t *plan, const tnd_instance_t *own, uint32_t device)
{
    tnd_mark_t mark = own->written != NULL ? own->written->mark : (tnd_mark_t){0};
    return tnd_error_location_text(plan->topology, plan->hosts[own->host].written[device], mark);
}

void tnd_feeder_plan_refuse_device(tnd_actor_t *self, uint32_t replica)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_instance_t *own = tnd_actor_instance(self);
    uint32_t device = plan->chains[own->chain].carriers[own->replica_first + replica].device;
    bool chosen = strcmp(plan->hosts[own->host].written[device], "auto") == 0;
    tnd_actor_unusable(self, TND_T064_DEVICE, mark_of(plan, own, device),
                       chosen ? "`devices: [\"cpu:0\"]` runs on the processor" : NULL);
}

void tnd_feeder_plan_check_devices(const tnd_instance_t *own, const tnd_plan_t *plan,
                                   tnd_diagnostics_t *diagnostics)
{
    const tnd_plan_host_t *host = &plan->hosts[own->host];
    tnd_error_t error;
    const char *told = NULL;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < own->replica_count; i++) {
        uint32_t device = plan->chains[own->chain].carriers[own->replica_first + i].device;
        const char *written = host->written[device];
        if (device == before || written == told)
            continue;
        before = device;
        if (tnd_device_check(host->devices[device], written, &error) == TND_OK)
            continue;
        told = written;
        tnd_diagnostics_add(diagnostics, TND_T064_DEVICE, mark_of(plan, own, device), "%s: %s",
                            own->actor, error.text);
    }
}

/*  Where a reducer of the feeder has the option that says how values are reduced. */
static tnd_mark_t mark_of_reduction(const tnd_plan_t *plan, const tnd_instance_t *own,
                                    const char *option)
{
    uint32_t feeder = (uint32_t)(own - plan->instances);
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *reducer = &plan->instances[plan->edges[e].to];
        if (plan->edges[e].from == feeder && reducer->kind->role == TND_ROLE_REDUCER &&
            reducer->written != NULL)
            return tnd_topology_option_mark(reducer->written, option);
    }
    return (tnd_mark_t){0};
}

void tnd_feeder_plan_check_collective(const tnd_instance_t *own, const tnd_plan_t *plan,
                                      tnd_diagnostics_t *diagnostics)
{
    const tnd_collective_ops_t *ops;
    tnd_error_t error;
    if (tnd_reduction_through_of_feeder(plan, (uint32_t)(own - plan->instances), &ops, &error) !=
        TND_OK) {
        tnd_placement_report(own, TND_T062_OPERATION, &error, diagnostics);
        return;
    }
    if (ops == NULL || ops->usable == NULL)
        return;
    bool any = (ops->orders >> TND_ORDER_TREE & 1) == 0;
    for (uint32_t i = 0; i < own->replica_count; i++) {
        if (ops->usable(tnd_feeder_plan_device(plan, own, own->replica_first + i), &error) ==
            TND_OK)
            continue;
        tnd_diagnostics_add(diagnostics, TND_T062_OPERATION,
                            mark_of_reduction(plan, own, any ? "order" : "through"),
                            "%s: `%s` is not possible on `%s`: %s", own->actor,
                            any ? "order: any" : "through: nccl", plan->hosts[own->host].name,
                            error.text);
        tnd_diagnostics_help(diagnostics,
                             any ? "`order: tree` adds on the processors, with the same bits "
                                   "everywhere"
                                 : "`through: host` adds on the processors, with the same bits");
        return;
    }
}

tnd_slot_layout_config_t tnd_feeder_plan_layout(const tnd_stream_t *stream)
{
    const tnd_stream_batch_t *batch = &stream->batch;
    return (tnd_slot_layout_config_t){
        .schema = &stream->fed.schema,
        .rows_max = batch->share,
        .form = batch->packs        ? TND_SLOT_PACKED
                : batch->pads_least ? TND_SLOT_PADDED
                                    : TND_SLOT_SPREAD,
        .ragged_max = batch->ragged_part,
        .bounded = batch->bounded,
        .deciding = batch->deciding,
        .bounds = batch->bounds,
        .bound_count = batch->bound_count,
    };
}

uint32_t tnd_feeder_plan_gather_threads(const tnd_instance_t *own, const tnd_stream_t *stream)
{
    const tnd_feeder_options_t *options = own->options;
    uint64_t rows = stream->batch.share * own->replica_count;
    return tnd_gather_threads(options->gather, tnd_plan_batch_bytes(stream, rows));
}

/*  Other chains are left out. */
static const tnd_stream_t *own_stream(const void *context, uint32_t chain)
{
    const tnd_stream_t *stream = context;
    return stream->chain == chain ? stream : NULL;
}

uint32_t tnd_feeder_plan_further(const tnd_plan_t *plan, const tnd_instance_t *own,
                                 const tnd_stream_t *stream, const tnd_slot_layout_config_t *layout)
{
    tnd_slot_layout_t slot = tnd_slot_layout_of(layout);
    uint64_t bytes = own->replica_count * tnd_slot_layout_memory(&slot);
    uint64_t limit = plan->hosts[own->host].memory;
    tnd_memory_estimate_t estimate = {0};
    if (limit == 0)
        return UINT32_MAX;
    (void)tnd_process_memory_add(&estimate, plan, own->host, "process", UINT32_MAX, own_stream,
                                 stream);
    uint64_t room = estimate.bytes < limit ? (limit - estimate.bytes) / (bytes + 1) : 0;
    tnd_memory_estimate_free(&estimate);
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

/*  Bytes of two blocks that are partly in batches. */
static uint64_t bytes_of_blocks(const tnd_plan_t *plan, uint32_t batcher,
                                const tnd_stream_t *stream)
{
    tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
    uint64_t row = tnd_schema_row_bytes(&stream->joined.schema) +
                   tnd_schema_list_bytes(&stream->joined.schema);
    uint64_t block = stream->budget == 0 ? window.block_rows * row : window.made_most;
    return 2 * block;
}

/*  Drivers allocate whole pages of the device: those of CUDA have 2 MiB.  Stages that are smaller share
 *  some. */
static uint64_t device_pages(uint64_t bytes)
{
    const uint64_t page = 2 << 20;
    return bytes < page ? bytes : tnd_round_up(bytes, page);
}

/*  How many replicas of the feeder, from one on, are on one device. */
static uint32_t replicas_together(const tnd_plan_t *plan, const tnd_instance_t *own, uint32_t from)
{
    const char *device = tnd_feeder_plan_device(plan, own, own->replica_first + from);
    uint32_t count = 1;
    while (from + count < own->replica_count &&
           tnd_feeder_plan_device(plan, own, own->replica_first + from + count) == device)
        count++;
    return count;
}

/*  Adds the memory and threads of devices; returns the bytes of a replica's rows that are cast on the
 *  host. */
static uint64_t add_devices(const tnd_plan_t *plan, const tnd_instance_t *own,
                            const tnd_stream_t *stream, const tnd_slot_layout_config_t *fed,
                            uint32_t depth, tnd_memory_estimate_t *estimate)
{
    const tnd_feeder_options_t *options = own->options;
    tnd_slot_layout_config_t config = *fed;
    config.schema = &stream->shown.schema;
    tnd_slot_layout_t shown = tnd_slot_layout_of(&config), raw = tnd_slot_layout_of(fed);
    uint64_t cast = 0;
    for (uint32_t i = 0, replicas; i < own->replica_count; i += replicas) {
        const char *device = tnd_feeder_plan_device(plan, own, own->replica_first + i);
        uint32_t can = tnd_device_can(device);
        replicas = replicas_together(plan, own, i);
        bool keeps_raw = options->cast != NULL && (can & TND_DEVICE_RAW_ROWS) != 0;
        uint64_t bytes = device_pages(shown.bytes);
        if (keeps_raw)
            bytes += device_pages(raw.bytes + TND_STAGE_PIECES * TND_STAGE_ALIGN);
        if ((can & TND_DEVICE_OWN_MEMORY) != 0)
            tnd_memory_estimate_add_device(
                estimate, device, (depth + options->spare) * replicas * bytes,
                "%" PRIu32 " batches and %" PRIu64 " spare", depth, options->spare);
        if (options->cast != NULL && (can & TND_DEVICE_CASTS) == 0)
            cast = shown.bytes;
        estimate->threads += (can & TND_DEVICE_OWN_MEMORY) != 0 || options->cast != NULL;
    }
    return cast;
}

/*  Of one device, what is under way of values that its replicas, from `first` on, may post there. */
static void add_device_values(const tnd_plan_t *plan, const tnd_instance_t *own, const char *device,
                              uint32_t first, uint32_t count, tnd_memory_estimate_t *estimate)
{
    const uint32_t needed = TND_DEVICE_OWN_MEMORY | TND_DEVICE_REDUCES;
    if ((tnd_device_can(device) & needed) != needed)
        return;
    tnd_device_values_bytes_t bytes =
        tnd_device_values_bytes(plan->chains[own->chain].replicas, first, count);
    tnd_memory_estimate_add(estimate, own->name, bytes.host,
                            "values that steps reduce on %s, between that and the host", device);
    tnd_memory_estimate_add_device(estimate, device, bytes.device,
                                   "the same values, of its replicas together");
}

/*  Of each device, what is under way of values, and what a collective has for them besides. */
static void add_collective(const tnd_plan_t *plan, const tnd_instance_t *own,
                           tnd_memory_estimate_t *estimate)
{
    const tnd_collective_ops_t *ops;
    uint64_t devices = 0;
    if (tnd_reduction_through_of_feeder(plan, (uint32_t)(own - plan->instances), &ops, NULL) !=
            TND_OK ||
        ops == NULL)
        return;
    for (uint32_t i = 0, count; i < own->replica_count; i += count) {
        const char *device = tnd_feeder_plan_device(plan, own, own->replica_first + i);
        count = replicas_together(plan, own, i);
        add_device_values(plan, own, device, own->replica_first + i, count, estimate);
        devices++;
        if (ops->device_bytes > 0)
            tnd_memory_estimate_add_device(estimate, device, ops->device_bytes,
                                           "values that %s adds", ops->name);
    }
    if (ops->host_bytes == 0)
        return;
    estimate->threads++; /* it watches the others */
    tnd_memory_estimate_add(estimate, own->name, devices * ops->host_bytes,
                            "values on their way to %s and back", ops->name);
}

/*  What the replicas read and push, where an actor holds their parameters. */
static void add_gradients(const tnd_plan_t *plan, const tnd_instance_t *own, uint32_t depth,
                          tnd_memory_estimate_t *estimate)
{
    uint32_t holder = tnd_plan_parameters(plan, own->chain);
    if (holder == plan->instance_count)
        return;
    const tnd_parameters_options_t *options = plan->instances[holder].options;
    tnd_memory_estimate_add(estimate, own->name,
                            2 * (uint64_t)depth * own->replica_count * options->count *
                                sizeof(float),
                            "parameters and gradients of %" PRIu32 " steps a replica", depth);
}

/*  All rows of a step that has a slot may be on their way to it, or be read in place, in blocks
 *  that begin before them and end after them.  The same applies to a step whose tensors a program
 *  holds. */
void tnd_feeder_plan_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                            tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *own = &plan->instances[index];
    const tnd_feeder_options_t *options = own->options;
    uint32_t batcher = tnd_plan_batcher(plan, own->chain, 0);
    if (batcher == plan->instance_count)
        return;
    tnd_slot_layout_config_t config = tnd_feeder_plan_layout(stream);
    tnd_slot_layout_t layout = tnd_slot_layout_of(&config);
    uint64_t rows = config.rows_max;
    bool dealt = stream->batch.dealt;
    uint32_t depth = tnd_prefetch_depth(plan, own->chain, stream) + (dealt ? 1 : 0);
    uint64_t spare = dealt ? 0 : options->spare;
    uint64_t slot_bytes =
        own->replica_count * (tnd_slot_layout_memory(&layout) +
                              add_devices(plan, own, stream, &config, depth, estimate));
    tnd_memory_estimate_add(estimate, own->name, depth * slot_bytes,
                            "slots of %" PRIu32 " batches, %" PRIu64 " rows each", depth,
                            rows * own->replica_count);
    tnd_memory_estimate_add_allowed(estimate, own->name, "spare", spare * slot_bytes,
                                    "%" PRIu64 " spare batches, for tensors of earlier steps",
                                    spare);
    uint32_t threads = tnd_feeder_plan_gather_threads(own, stream);
    if (threads > 1)
        tnd_memory_estimate_add(estimate, own->name, tnd_gatherers_bytes(),
                                "the parts that %" PRIu32 " threads gather", threads);
    estimate->threads += threads - 1;
    uint64_t batch = own->replica_count * rows;
    uint64_t coming = (depth + spare) * (tnd_plan_batch_bytes(stream, batch) +
                                         batch * tnd_schema_list_bytes(&stream->fed.schema));
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        if (edge->to != index || edge->transport != TND_TRANSPORT_INPROC)
            continue;
        if (stream->batch.copied > 0)
            coming = (depth + spare + 1) * stream->batch.copied;
        else
            coming += bytes_of_blocks(plan, edge->from, stream);
    }
    tnd_memory_estimate_add(estimate, own->name, coming,
                            "the same rows while they come, or where steps read them as they lie");
    tnd_memory_estimate_add(estimate, own->name,
                            (uint64_t)(tnd_prefetch_unbooked(depth) + depth) * own->replica_count *
                                tnd_step_reports_bytes(),
                            "reports of steps, until the leader has booked them");
    if (dealt)
        add_gradients(plan, own, depth, estimate);
    tnd_reduction_memory_of_feeder(plan, index, estimate);
    add_collective(plan, own, estimate);
}
