/*  actors/preprocessor.c - runs a chain of operations over blocks; stateless, hence any number.
 *
 *  What is worked on next, and when everything is dropped, the queue machine decides. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/chain/chain.h"
#include "actors/chain/chain_probe.h"
#include "actors/plan/kind_options.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/reader/sample_order.h"
#include "runtime/base/allocation.h"
#include "runtime/core/preprocessor.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"
#include "runtime/option/registry.h"
#include "runtime/topology/error_location.h"

/*  Credit a reader: enough that a worker never waits for the next block, few enough that they are
 *  spread over all workers. */
enum { WINDOW_BLOCKS = 8 };

/*  Until it is known how long a block takes, where workers that sleep may be woken to share them. */
enum { WINDOW_FIRST = 2 };

/*  And no more than it works on in this time, so that a slow one holds up few blocks. */
static const uint64_t window_ns = 160000000;

typedef struct {
    const tnd_stream_t *stream;
    tnd_op_scope_t scope;
    tnd_chain_t *chain;
    tnd_pool_t *pool;
    size_t pool_room;
    tnd_block_pool_t *block_pool;
    tnd_peers_t readers, joins; /* before and after it; caches too */
    bool cached;                /* it gets its rows from a cache */
    tnd_sample_order_t *orders; /* by lane, if it draws as in epoch 0; NULL: it does not */
    uint64_t *samples;          /* of a block */
    uint32_t samples_room;
    tnd_bad_way_t way;
    uint32_t *reader_lanes, *join_lanes;
    void *machine_memory;
    tnd_preprocessor_core_t *machine;
} preprocessor_t;

/*  An operation begins other work, or has something for the log. */
static void renew_work(void *context)
{
    tnd_actor_t *self = context;
    tnd_statistics_renew(tnd_actor_statistics(self), tnd_actor_now(self));
}

static void log_record(void *context, tnd_log_level_t level, const char *text)
{
    tnd_actor_t *self = context;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = level;
    msg.note.payload = tnd_text_payload_of("%s %.400s", tnd_actor_name(self), text);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  `actor`: the one that runs; NULL: only the facts are asked for. */
static tnd_op_scope_t scope_of(const tnd_plan_t *plan, const tnd_stream_t *stream,
                               tnd_actor_t *actor)
{
    return (tnd_op_scope_t){.runs = actor != NULL,
                            .directory = plan->directory,
                            .python =
                                plan->topology != NULL ? plan->topology->settings->python : NULL,
                            .names = &stream->names,
                            .adapted = stream->adapted,
                            .hung_after_ns = plan->hung_after_ns,
                            .renew = renew_work,
                            .log = log_record,
                            .context = actor};
}

static bool skips(const tnd_preprocessor_options_t *options)
{
    return options->on_error != TND_BAD_STOP;
}

/*  What a cache stores is the same in every epoch.  Copies of a row draw numbers of their own, which
 *  copies that were stored do not know any more. */
static tnd_status_t check_draws(const tnd_preprocessor_options_t *options, const tnd_chain_t *chain,
                                tnd_stream_t *stream, tnd_error_t *error)
{
    int drawn = tnd_chain_draws(chain);
    if (drawn < 0)
        return TND_OK;
    const tnd_part_t *part = &options->ops.items[drawn];
    if (stream->caches && stream->cached.rows_max > 1)
        return tnd_fail_about(error, part->value,
                              "`%s` is random, and the cache before it stores several rows of a "
                              "sample; move the operation that makes them after the cache",
                              part->table->name);
    stream->drawn = part;
    return TND_OK;
}

static bool reshapes(const tnd_part_list_t *ops)
{
    for (size_t i = 0; i < ops->count; i++)
        if ((tnd_op_spec_of(ops->items[i].table)->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0)
            return true;
    return false;
}

static tnd_status_t preprocessor_derive(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                        tnd_guarded_call_t *call, tnd_stream_t *stream,
                                        tnd_error_t *error)
{
    const tnd_preprocessor_options_t *options = instance->options;
    const tnd_op_scope_t scope = scope_of(plan, stream, NULL);
    tnd_chain_t *chain = NULL;
    TND_TRY(tnd_chain_open(&chain, &options->ops, skips(options), &stream->fed.schema, &scope, call,
                           error));
    if (check_draws(options, chain, stream, error) != TND_OK) {
        tnd_chain_close(&chain);
        return TND_FAILED;
    }
    /* Of several preprocessors the one that does most about bad rows. */
    if ((tnd_bad_way_t)options->on_error > stream->bad.made)
        stream->bad.made = (tnd_bad_way_t)options->on_error;
    stream->fed.operations += (uint32_t)options->ops.count;
    stream->fed.schema = *tnd_chain_schema(chain);
    stream->fed.rows_max *= tnd_chain_rows_max(chain);
    stream->fed.growth_max *= tnd_chain_facts(chain)->growth_max;
    stream->fed.growth_usual *= tnd_chain_facts(chain)->growth_usual;
    stream->fed.numeric =
        stream->fed.numeric * UINT64_C(0x9e3779b97f4a7c15) ^ tnd_chain_probe(chain);
    stream->work.caps |= tnd_chain_facts(chain)->caps;
    stream->work.reshapes = stream->work.reshapes || reshapes(&options->ops);
    stream->work.tables += tnd_chain_facts(chain)->loaded;
    stream->work.decoding += tnd_chain_facts(chain)->decoding;
    tnd_chain_close(&chain);
    return TND_OK;
}

/*  Whether blocks arrive in memory of this process; a reader in it counts those that it has read. */
static bool receives(const tnd_plan_t *plan, uint32_t index)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].to == index && plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

/*  Whether the rows of an instance are stored and drawn once, by sample. */
static bool is_frozen(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream)
{
    return stream->frozen && !tnd_plan_is_cached(plan, index);
}

/*  A block is in one place at a time; all that a lane has under way may be with the workers of one
 *  host, on their way to a batcher elsewhere.  One that is in this process counts them itself. */
static void preprocessor_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                                tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *instance = &plan->instances[index];
    bool received = receives(plan, index);
    uint64_t one = 0, rows = 0;
    for (uint32_t lane = instance->lane_first; lane - instance->lane_first < instance->lane_count;
         lane++) {
        uint32_t batcher = tnd_plan_batcher(plan, instance->chain, lane);
        if (batcher == plan->instance_count)
            return;
        tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
        uint64_t block = window.made_most + (received ? window.read_most : 0);
        if (block > one) {
            one = block;
            rows = window.block_rows;
        }
        if (tnd_plan_goes_out(plan, index) && tnd_plan_first(plan, index, lane))
            tnd_memory_estimate_add(estimate, instance->name, window.open_held,
                                    "blocks of lane %" PRIu32
                                    " that wait, or are sent, at all of `%s` here",
                                    lane, instance->actor);
    }
    for (uint32_t lane = 0; lane < stream->lanes && is_frozen(plan, index, stream); lane++) {
        tnd_sample_order_config_t order =
            tnd_sample_order_planned(plan, instance->chain, lane, stream);
        tnd_memory_estimate_add(estimate, instance->name, tnd_sample_order_bytes(&order),
                                "the order of rows of lane %" PRIu32, lane);
    }
    tnd_memory_estimate_add(estimate, instance->name, stream->work.tables,
                            "tables and interpreters of its operations");
    tnd_memory_estimate_add_allowed(estimate, instance->name, "max_pixels", stream->work.decoding,
                                    "a picture while it is decoded (`max_pixels:`)");
    tnd_memory_estimate_add(estimate, instance->name, estimate->asleep ? 0 : one,
                            "one block of %" PRIu64 " rows %sgoing out", rows,
                            received ? "coming in, one " : "");
}

/*  The lanes of peers. */
static uint32_t *lanes_of(const tnd_actor_t *self, const tnd_peers_t *peers)
{
    uint32_t *lanes = tnd_allocate_zeroed(peers->count + 1, sizeof *lanes);
    for (uint32_t i = 0; i < peers->count; i++)
        lanes[i] = tnd_actor_plan(self)->instances[peers->ids[i]].lane;
    return lanes;
}

static uint32_t preprocessor_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                    const tnd_stream_t *stream)
{
    (void)plan, (void)instance, (void)stream;
    return WINDOW_BLOCKS;
}

static void open_orders(preprocessor_t *worker, const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    worker->orders = tnd_allocate_zeroed(worker->stream->lanes, sizeof *worker->orders);
    for (uint32_t lane = 0; lane < worker->stream->lanes; lane++) {
        tnd_sample_order_config_t config =
            tnd_sample_order_planned(plan, tnd_actor_instance(self)->chain, lane, worker->stream);
        tnd_sample_order_init(&worker->orders[lane], &config);
    }
}

/*  The samples of a block, by which it draws: with shards by file, those of lanes differ. */
static const uint64_t *find_samples(preprocessor_t *worker, const tnd_block_note_t *note)
{
    uint64_t lanes = worker->stream->by_file ? worker->stream->lanes : 1;
    uint32_t lane = worker->stream->by_file ? note->lane : 0;
    if (worker->orders == NULL)
        return NULL;
    if (note->count > worker->samples_room) {
        free(worker->samples);
        worker->samples = tnd_allocate(note->count, sizeof *worker->samples);
        worker->samples_room = note->count;
    }
    tnd_sample_order_fill(&worker->orders[note->lane], note->epoch, note->first, note->count,
                          worker->samples);
    for (uint32_t i = 0; i < note->count; i++)
        worker->samples[i] = worker->samples[i] * lanes + lane;
    return worker->samples;
}

/*  An operation that cannot begin here is reported at its place in the topology. */
static tnd_status_t open_chain(preprocessor_t *worker, tnd_actor_t *self, tnd_error_t *error)
{
    const tnd_preprocessor_options_t *options = tnd_actor_options(self);
    const tnd_topology_actor_t *written = tnd_actor_instance(self)->written;
    const tnd_schema_t *in =
        worker->cached ? &worker->stream->cached.schema : &worker->stream->read.schema;
    tnd_status_t status = tnd_chain_open(&worker->chain, &options->ops, skips(options), in,
                                         &worker->scope, NULL, error);
    if (status != TND_OK && written != NULL)
        tnd_actor_unusable(self, TND_T062_OPERATION,
                           tnd_error_location(written, error->about, error->text), NULL);
    return status;
}

static tnd_status_t preprocessor_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    preprocessor_t *worker = state;
    const tnd_preprocessor_options_t *options = tnd_actor_options(self);
    worker->stream = tnd_actor_stream(self);
    worker->block_pool = tnd_block_pool_new();
    worker->readers = tnd_peers_before(self, TND_ROLE_NONE);
    worker->joins = tnd_peers_after(self, TND_ROLE_NONE);
    worker->reader_lanes = lanes_of(self, &worker->readers);
    worker->join_lanes = lanes_of(self, &worker->joins);
    worker->cached = tnd_plan_is_cached(tnd_actor_plan(self), tnd_actor_id(self));
    worker->way = (tnd_bad_way_t)options->on_error;
    worker->scope = scope_of(tnd_actor_plan(self), worker->stream, self);
    TND_TRY(open_chain(worker, self, error));
    tnd_chain_time(worker->chain, tnd_actor_detail(self));
    if (is_frozen(tnd_actor_plan(self), tnd_actor_id(self), worker->stream))
        open_orders(worker, self);
    tnd_preprocessor_core_config_t config = {
        .self = tnd_actor_id(self),
        .lanes = worker->joins.count,
        .readers = worker->readers.ids,
        .reader_lane = worker->reader_lanes,
        .reader_count = worker->readers.count,
        .joins = worker->joins.ids,
        .lane_number = worker->join_lanes,
        .window_blocks = WINDOW_BLOCKS,
        .window_bytes = UINT64_MAX / 4, /* a ticket is bounded in bytes by the join */
        .window_first = tnd_actor_instance(self)->tuned ? WINDOW_FIRST : 0,
        .window_ns = window_ns,
    };
    worker->machine_memory = tnd_allocate_zeroed(1, tnd_preprocessor_core_bytes(&config));
    worker->machine = tnd_preprocessor_core_init(worker->machine_memory, &config);
    return TND_OK;
}

static bool is_peer(const preprocessor_t *worker, tnd_actor_id_t peer)
{
    for (uint32_t i = 0; i < worker->readers.count; i++)
        if (worker->readers.ids[i] == peer)
            return true;
    for (uint32_t i = 0; i < worker->joins.count; i++)
        if (worker->joins.ids[i] == peer)
            return true;
    return false;
}

static tnd_status_t preprocessor_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                        tnd_error_t *error)
{
    preprocessor_t *worker = state;
    tnd_msg_t *msg = &arrival->msg;
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    (void)error;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (is_peer(worker, arrival->peer))
            tnd_preprocessor_core_peer_up(worker->machine, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (is_peer(worker, arrival->peer))
            tnd_preprocessor_core_peer_lost(worker->machine, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        if (msg->kind == TND_MSG_REWIND) {
            tnd_preprocessor_core_rewind(worker->machine, msg->generation);
        } else if (msg->kind == TND_MSG_BLOCK) {
            tnd_count(&statistics->rows_in, msg->block.rows);
            tnd_count(&statistics->blocks_in, 1);
            tnd_count(&statistics->bytes_in, msg->block.bytes);
            arrival->carry = TND_CARRY_NOTHING;
            tnd_preprocessor_core_block(worker->machine, msg);
        } else if (msg->kind == TND_MSG_GO) {
            tnd_preprocessor_core_go(worker->machine, msg);
        }
        break;
    }
    return TND_OK;
}

/*  Output buffers have room for the largest block seen so far. */
static void fit_pool(preprocessor_t *worker, uint32_t rows)
{
    size_t need = tnd_chain_bytes(worker->chain, rows);
    if (worker->pool != NULL && need <= worker->pool_room)
        return;
    tnd_pool_destroy(&worker->pool);
    worker->pool_room = need;
    worker->pool = tnd_pool_new(need);
}

/*  This row ends the run; its reader knows where it is stored and reports it. */
static void give_up(preprocessor_t *worker, tnd_actor_t *self, const tnd_block_note_t *note)
{
    tnd_msg_t msg = {.kind = TND_MSG_BAD, .from = tnd_actor_id(self)};
    const char *why;
    tnd_peers_t readers = tnd_peers_of(self, TND_ROLE_READER, note->lane);
    msg.to = readers.ids[0];
    tnd_peers_free(&readers);
    msg.bad.position = note->first + tnd_chain_failed(worker->chain, &why);
    msg.bad.lane = note->lane;
    msg.bad.epoch = note->epoch;
    msg.bad.way = TND_BAD_STOP;
    const char *tab = strchr(why, '\t');
    msg.bad.payload = tnd_text_payload_of("%.*s\n%s", (int)(tab - why - 1), why + 1, tab + 1);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  Ends the block *out_p before the first position that does not fit its budget.  Returns the bytes
 *  of its ragged columns, or of its first position if not even that one fits. */
static uint64_t fit(preprocessor_t *worker, tnd_block_t **out_p)
{
    tnd_block_t *out = *out_p;
    const tnd_block_note_t *note = &out->note;
    uint64_t all = tnd_block_ragged(out), before = 0, bytes = 0;
    if (all <= note->budget)
        return all;
    uint32_t first = 0; /* row of the position under way */
    for (uint32_t row = 0;; row++) {
        uint32_t offset = note->origin != NULL ? note->origin[row] : row;
        uint32_t begun = note->origin != NULL ? note->origin[first] : first;
        if (offset != begun) {
            first = row;
            before += bytes;
            bytes = 0;
        }
        bytes += tnd_block_row_ragged(out, row);
        if (before + bytes <= note->budget)
            continue;
        /* All rows of the position count. */
        while (offset == 0 && note->origin != NULL && row + 1 < note->rows &&
               note->origin[row + 1] == 0)
            bytes += tnd_block_row_ragged(out, ++row);
        *out_p = tnd_block_pool_prefix(worker->block_pool, out, offset);
        tnd_block_drop(&out);
        return offset > 0 ? before : bytes;
    }
}

/*  A block that says how large its first position is. */
static void pass_on(tnd_actor_t *self, const tnd_effect_t *effect)
{
    tnd_msg_t msg = effect->msg;
    tnd_block_t *block = msg.block.payload;
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&block);
}

static bool is_join(const tnd_actor_t *self, tnd_actor_id_t peer)
{
    return tnd_actor_plan(self)->instances[peer].kind->role == TND_ROLE_JOIN;
}

static tnd_status_t apply(preprocessor_t *worker, tnd_actor_t *self, const tnd_effect_t *effect,
                          tnd_error_t *error)
{
    uint64_t began = tnd_actor_now(self);
    tnd_block_t *in = effect->msg.block.payload, *out = NULL;
    if (tnd_block_is_too_small(&effect->msg.block)) {
        pass_on(self, effect);
        return TND_OK;
    }
    tnd_chain_key_t key = {.seed = worker->stream->seed,
                           .lanes = worker->stream->lanes,
                           .samples = find_samples(worker, &in->note),
                           .operation = worker->cached ? worker->stream->cached.operations : 0,
                           .who = tnd_actor_instance(self)->actor,
                           .way = worker->way};
    fit_pool(worker, in->note.rows);
    tnd_actor_flush(self);
    tnd_status_t status =
        tnd_chain_run(worker->chain, &key, in, worker->block_pool, worker->pool, &out, error);
    /* An operation that refused zeros in place of lost rows has found no bad row. */
    tnd_error_t lost;
    if (tnd_block_intact(in, 0, in->note.rows, &lost) != TND_OK) {
        tnd_block_drop(&out);
        tnd_block_drop(&in);
        return tnd_fail(error, "%s: %s", tnd_actor_name(self), lost.text);
    }
    if (status != TND_OK)
        give_up(worker, self, &in->note);
    tnd_block_drop(&in);
    if (status != TND_OK)
        return TND_OK;
    tnd_msg_t msg = effect->msg;
    uint64_t before_ns = msg.block.work_ns, spent_ns = tnd_actor_now(self) - began;
    msg.kind = TND_MSG_BLOCK;
    msg.from = tnd_actor_id(self);
    uint64_t ragged = worker->stream->budget > 0 ? fit(worker, &out) : 0;
    bool is_cut = out->note.count < effect->msg.block.count;
    msg.block = out->note;
    msg.block.ragged = is_cut || ragged > msg.block.ragged ? ragged : msg.block.ragged;
    msg.block.work_ns = before_ns > spent_ns ? before_ns : spent_ns;
    msg.block.payload = out;
    if (worker->stream->measured > 0 && is_join(self, msg.to))
        tnd_block_measure(out, worker->stream->measured - 1, &msg.block);
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_out, msg.block.rows);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, msg.block.bytes);
    tnd_count(&statistics->bytes_copied, tnd_chain_facts(worker->chain)->copied);
    tnd_recorder_time(tnd_actor_recorder(self), began + spent_ns);
    tnd_recorder_made(tnd_actor_recorder(self), &msg, spent_ns);
    /* A join that went away just now is LOST in a moment, and this worker begins a new life. */
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&out);
    return TND_OK;
}

static tnd_status_t preprocessor_work(void *state, tnd_actor_t *self, bool *more_p,
                                      tnd_error_t *error)
{
    preprocessor_t *worker = state;
    tnd_effect_t effect;
    while (tnd_preprocessor_core_next(worker->machine, tnd_actor_now(self), &effect)) {
        tnd_block_t *block = effect.payload;
        switch (effect.kind) {
        case TND_EFFECT_APPLY:
            *more_p = true;
            return apply(worker, self, &effect, error);
        case TND_EFFECT_LINK:
            (void)tnd_actor_send(self, &effect.msg, TND_CARRY_NOTHING);
            break;
        case TND_EFFECT_DROP:
            tnd_block_drop(&block);
            break;
        case TND_EFFECT_RESET:
            tnd_actor_rebirth(self);
            break;
        default:
            abort(); /* the machine has no other effects */
        }
    }
    return TND_OK;
}

static uint32_t preprocessor_blocked_on(const void *state)
{
    return tnd_preprocessor_core_blocked_on(((const preprocessor_t *)state)->machine);
}

static void preprocessor_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    *queue_p = tnd_preprocessor_core_waiting(((const preprocessor_t *)state)->machine);
    *credit_p = TND_UNKNOWN; /* the ticket of a block is its credit */
}

static void preprocessor_fini(void *state)
{
    preprocessor_t *worker = state;
    if (worker->machine != NULL) {
        /* A rewind past everything gives back what waits. */
        tnd_effect_t effect;
        tnd_preprocessor_core_rewind(worker->machine, UINT32_MAX);
        while (tnd_preprocessor_core_next(worker->machine, 0, &effect)) {
            tnd_block_t *block = effect.payload;
            if (effect.kind == TND_EFFECT_DROP)
                tnd_block_drop(&block);
        }
    }
    for (uint32_t lane = 0; worker->orders != NULL && lane < worker->stream->lanes; lane++)
        tnd_sample_order_free(&worker->orders[lane]);
    free(worker->orders);
    free(worker->samples);
    free(worker->machine_memory);
    free(worker->reader_lanes);
    free(worker->join_lanes);
    tnd_peers_free(&worker->readers);
    tnd_peers_free(&worker->joins);
    tnd_chain_close(&worker->chain);
    tnd_pool_destroy(&worker->pool);
    tnd_block_pool_destroy(&worker->block_pool);
}

/* --- options and ports ------------------------------------------------------------------------ */

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_preprocessor_options_t, ops, PARTS, GRAPH), .fallback = "",
     .parts = tnd_registry_op_table,
     .help = "what is done to each row, in this order, `[{OPERATION: {options}}, ...]`; by default "
             "nothing"},
    {TND_OPTION(tnd_preprocessor_options_t, workers, U64, PLACE), .unit = "workers",
     .fallback = "1", .range = "1..1024", .choices = "auto=0",
     .help = "interchangeable copies on each host: only speed; `auto`, for a run of one process, "
             "changes the number in the run, up to one for each core that `cpu:` allows"},
    {TND_OPTION(tnd_preprocessor_options_t, on_error, ENUM, GRAPH), .fallback = "stop",
     .choices = "stop|skip|quarantine",
     .help = "a row that an operation refuses, or that ends its worker again and again: fails the "
             "run, is left out and counted, or is also set aside, see `quarantine` of the reader"},
    {TND_OPTION(tnd_preprocessor_options_t, isolate, ENUM, PLACE), .fallback = "thread",
     .choices = "thread|process",
     .help = "where it runs: in processes of its own a crash does not take the host with it"},
};

const tnd_kind_t tnd_kind_preprocessor = {
    .spec =
        {
            .table = {.name = "preprocessor",
                      .help = "applies a chain of operations to each row",
                      TND_OPTIONS(options, tnd_preprocessor_options_t)},
            .role = TND_ROLE_WORKER,
            .instances = TND_INSTANCE_WORKER,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(BLOCK) | TND_ACCEPT(GO),
            .inlets = {{.name = "in", .flow = TND_FLOW_ROWS, .required = true, .connects = true}},
            .inlet_count = 1,
            .outlets = {{.name = "out", .flow = TND_FLOW_ROWS, .required = true, .connects = true}},
            .outlet_count = 1,
        },
    .state_bytes = sizeof(preprocessor_t),
    .derive = preprocessor_derive,
    .estimate_memory = preprocessor_memory,
    .credit = preprocessor_credit,
    .init = preprocessor_init,
    .arrive = preprocessor_arrive,
    .work = preprocessor_work,
    .blocked_on = preprocessor_blocked_on,
    .depth = preprocessor_depth,
    .fini = preprocessor_fini,
};
