/*  actors/batcher.c - joins a lane, composes steps with the other lanes, sends slices to feeders.
 *
 *  All of it is decided by the state machine in runtime/core/batcher.c.  Only rows of buckets are
 *  touched here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/batcher/bucket_batches.h"
#include "actors/batcher/declared_batches.h"
#include "actors/batcher/packed_batches.h"
#include "actors/plan/batcher_check.h"
#include "actors/plan/batcher_config.h"
#include "actors/plan/batcher_memory.h"
#include "actors/plan/buckets.h"
#include "actors/plan/kind_options.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/quarantine/bad_records.h"
#include "actors/quarantine/report_pace.h"
#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/core/batcher.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"
#include "runtime/interface/link.h"
#include "runtime/text/quantity.h"

/*  Effects performed before the actor looks at its arrivals again. */
enum { EFFECTS_A_ROUND = 64 };

/*  Parts of the cursor that wait until their bad records are handled; then the join waits too. */
enum { PARTS_MAX = 64 };

typedef struct {
    tnd_msg_t msg;
    uint64_t needs; /* records that the reader must have handled */
} held_part_t;

typedef struct {
    const tnd_stream_t *stream;
    tnd_peers_t readers; /* of the lane's source */
    tnd_peers_t answering, workers, carriers;
    tnd_block_pool_t *block_pool;
    void *machine_memory;
    tnd_batcher_core_t *machine;
    uint32_t generation;
    bool bucketed;
    bool held;   /* a part has the position before several batches */
    bool silent; /* another lane has the same rows, and reports those that are bad */
    tnd_batcher_config_t config;   /* the machine uses its lists */
    tnd_bucket_batches_t *batches; /* NULL: rows are not bucketed */
    tnd_packed_batches_t *packed;  /* NULL: rows are not packed */
    tnd_bad_records_t bad_records;
    tnd_remade_t remade;    /* rows that were reported, bad records that were removed */
    uint64_t told, aside;   /* records that the reader was told of, and those it has handled */
    tnd_report_pace_t pace; /* of skipped records */
    bool stops;             /* the reader was told of a row that ends the run */
    uint64_t ragged_step, ragged; /* bytes of ragged rows in slices of one step ... */
    uint32_t ragged_generation;   /* ... of this generation */
    held_part_t *parts;           /* ring */
    uint32_t part_first, part_count;
} batcher_t;

static tnd_status_t batcher_derive(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                   tnd_guarded_call_t *call, tnd_stream_t *stream,
                                   tnd_error_t *error)
{
    (void)call;
    return tnd_batches_declare(instance->options, plan->chains[instance->chain].replicas, stream,
                               error);
}

static uint32_t batcher_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                               const tnd_stream_t *stream)
{
    (void)plan, (void)instance, (void)stream;
    return TND_LANE_WINDOW_BLOCKS;
}

static tnd_status_t batcher_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    batcher_t *batcher = state;
    const tnd_batcher_options_t *options = tnd_actor_options(self);
    const tnd_plan_t *plan = tnd_actor_plan(self);
    uint32_t lane = tnd_actor_instance(self)->lane;
    (void)error;
    batcher->stream = tnd_actor_stream(self);
    batcher->readers = tnd_peers_of(self, TND_ROLE_READER, lane);
    batcher->answering = tnd_peers_answering(self, lane);
    batcher->workers = tnd_peers_before(self, TND_ROLE_WORKER);
    batcher->block_pool = tnd_block_pool_new();
    batcher->parts = tnd_allocate_zeroed(PARTS_MAX, sizeof *batcher->parts);
    batcher->carriers = tnd_peers_carriers(self);
    tnd_batcher_core_config_t *config = &batcher->config.core;
    tnd_batcher_config(&batcher->config, plan, tnd_actor_id(self), batcher->stream);
    config->order.readers = batcher->answering.ids;
    config->order.reader_count = batcher->answering.count;
    config->order.workers_max = batcher->workers.count;
    config->feeders = batcher->carriers.ids;
    batcher->bucketed = options->bucket != NULL;
    tnd_apart_t apart = tnd_plan_apart(batcher->stream);
    batcher->held =
        batcher->bucketed || (config->feed == TND_FEED_APART && tnd_apart_period(&apart) > 0);
    batcher->silent = config->feed == TND_FEED_PIECES && lane > 0;
    if (batcher->bucketed)
        batcher->batches =
            tnd_bucket_batches_new(options, &batcher->stream->fed.schema, batcher->block_pool);
    if (options->pack != NULL)
        batcher->packed = tnd_packed_batches_new(options, &batcher->stream->joined.schema,
                                                 &batcher->stream->fed.schema, batcher->block_pool);
    batcher->machine_memory = tnd_allocate_zeroed(1, tnd_batcher_core_bytes(config));
    batcher->machine = tnd_batcher_core_init(batcher->machine_memory, config);
    return TND_OK;
}

/* --- bad records ------------------------------------------------------------------------------ */

static void tell_reader(batcher_t *batcher, tnd_actor_t *self, const tnd_bad_record_t *record,
                        tnd_bad_way_t way)
{
    tnd_msg_t msg = {.kind = TND_MSG_BAD,
                     .generation = batcher->generation,
                     .from = tnd_actor_id(self),
                     .to = batcher->readers.ids[0]};
    msg.bad.position = record->place.index;
    msg.bad.epoch = record->place.epoch;
    msg.bad.lane = tnd_actor_instance(self)->lane;
    msg.bad.way = way;
    msg.bad.payload = tnd_text_payload_of("%s\n%s", record->who, record->what);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  A row that ended its worker again and again, so that no worker can report why. */
static void report_poison_row(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *msg)
{
    char why[160];
    tnd_bad_way_t way = batcher->stream->bad.made;
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const char *worker = "worker";
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == tnd_actor_instance(self)->chain &&
            plan->instances[i].kind->role == TND_ROLE_WORKER)
            worker = plan->instances[i].actor;
    snprintf(why, sizeof why, "%d%.100s\tit ends the process that works on it", (int)way, worker);
    tnd_position_t place = {.epoch = msg->bad.epoch, .index = msg->bad.position};
    if (!batcher->silent)
        tnd_bad_records_add(&batcher->bad_records, place, why, way);
    if (way == TND_BAD_STOP)
        tell_reader(batcher, self,
                    &(tnd_bad_record_t){.place = place,
                                        .who = (char *)(uintptr_t)worker,
                                        .what =
                                            (char *)(uintptr_t) "it ends the process that works on "
                                                                "it"},
                    way);
}

/*  A row that `pad: bound` has no room for.  The reader's policy decides, as nothing else made it. */
static void report_long_row(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *msg)
{
    const tnd_bucket_options_t *bucket =
        ((const tnd_batcher_options_t *)tnd_actor_options(self))->bucket;
    tnd_bad_way_t way = batcher->stream->bad.read;
    char what[160], why[256];
    snprintf(what, sizeof what,
             "`%.60s` is as long as the last bound, %.0f, or longer: `pad: bound` cannot pad it",
             bucket->column, bucket->bounds.items[bucket->bounds.count - 1]);
    snprintf(why, sizeof why, "%d%.60s\t%s", (int)way, tnd_actor_instance(self)->actor, what);
    tnd_position_t place = {.epoch = msg->bad.epoch, .index = msg->bad.position};
    tnd_bad_records_add(&batcher->bad_records, place, why, way);
    const tnd_bad_record_t record = {
        .place = place, .who = (char *)(uintptr_t)tnd_actor_instance(self)->actor, .what = what};
    batcher->stops = way == TND_BAD_STOP;
    if (batcher->stops)
        tell_reader(batcher, self, &record, way);
}

/*  Reports the bad records of a step by reason, with their number and the first error. */
static void tell_leader(const batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *part,
                        size_t count)
{
    tnd_text_payload_writer_t note;
    tnd_text_payload_begin(&note);
    for (size_t i = 0; i < count; i++) {
        const tnd_bad_record_t *record = &batcher->bad_records.items[i];
        size_t before = 0, alike = 0;
        while (strcmp(batcher->bad_records.items[before].who, record->who) != 0)
            before++;
        for (size_t other = i; before == i && other < count; other++)
            alike += strcmp(batcher->bad_records.items[other].who, record->who) == 0;
        if (before == i)
            fprintf(note.stream, "%zu %s\n%s\n", alike, record->who, record->what);
    }
    tnd_msg_t msg = {.kind = TND_MSG_WHY,
                     .generation = batcher->generation,
                     .from = tnd_actor_id(self),
                     .to = TND_LEADER};
    msg.bad.position = part->part.step;
    msg.bad.lane = part->part.lane;
    msg.bad.payload = tnd_text_payload_end(&note);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

static void send_parts(batcher_t *batcher, tnd_actor_t *self)
{
    while (batcher->part_count > 0 && batcher->parts[batcher->part_first].needs <= batcher->aside) {
        tnd_actor_control(self, &batcher->parts[batcher->part_first].msg, TND_CARRY_NOTHING);
        batcher->part_first = (batcher->part_first + 1) % PARTS_MAX;
        batcher->part_count--;
    }
}

/*  A cursor after a bad record must not be sent before the record is in the quarantine, or before its
 *  warning: a run that ends with this step would lose the warning. */
static void release_part(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *part)
{
    tnd_bad_records_t *bad_records = &batcher->bad_records;
    uint64_t remade = tnd_batcher_core_remade(batcher->machine).bad;
    tnd_bad_records_remove(bad_records, remade - batcher->remade.bad);
    batcher->remade.bad = remade;
    tnd_position_t to = batcher->held ? (tnd_position_t){.epoch = UINT32_MAX} : part->part.position;
    size_t count = tnd_bad_records_before(bad_records, to, part->part.ledger.bad);
    uint64_t now = count > 0 ? tnd_clock_now() : 0;
    for (size_t i = 0; i < count; i++) {
        const tnd_bad_record_t *record = &bad_records->items[i];
        bool said = tnd_report_pace_take(&batcher->pace, record->who, now) != TND_REPORT_COUNTED;
        if (record->way != TND_BAD_QUARANTINE && !said)
            continue;
        batcher->told++;
        tell_reader(batcher, self, record, record->way);
    }
    if (count > 0)
        tell_leader(batcher, self, part, count);
    if (batcher->held)
        tnd_bad_records_remove(bad_records, count);
    else
        tnd_bad_records_pass(bad_records, part->part.position);
    uint32_t at = (batcher->part_first + batcher->part_count++) % PARTS_MAX;
    batcher->parts[at] = (held_part_t){.msg = *part, .needs = batcher->told};
    if (batcher->ragged_step == part->part.step && batcher->ragged_generation == part->generation)
        batcher->parts[at].msg.part.ragged = batcher->ragged;
    send_parts(batcher, self);
}

static void rewind_bad_records(batcher_t *batcher, uint32_t generation, tnd_position_t from)
{
    batcher->generation = generation;
    tnd_bad_records_clear(&batcher->bad_records, from);
    batcher->told = batcher->aside = 0;
    batcher->remade = (tnd_remade_t){0};
    batcher->stops = false;
    batcher->part_count = 0;
}

static void say_go(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *heard)
{
    tnd_msg_t go;
    /* A worker that went away just now is LOST in a moment. */
    if (tnd_order_go(tnd_batcher_core_order(batcher->machine), heard, &go))
        (void)tnd_actor_send(self, &go, TND_CARRY_NOTHING);
}

static tnd_status_t take_block(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *msg,
                               tnd_error_t *error)
{
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_in, msg->block.rows);
    tnd_count(&statistics->blocks_in, 1);
    tnd_count(&statistics->bytes_in, msg->block.bytes);
    if (msg->block.bad_count > 0 && msg->generation == batcher->generation && !batcher->silent)
        tnd_bad_records_note(&batcher->bad_records, &msg->block, batcher->stream->bad.made);
    TND_TRY(tnd_batcher_core_block(batcher->machine, msg, error));
    say_go(batcher, self, msg);
    return TND_OK;
}

static tnd_status_t take_message(batcher_t *batcher, tnd_actor_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    tnd_msg_t *msg = &arrival->msg;
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        arrival->carry = TND_CARRY_NOTHING;
        return take_block(batcher, self, msg, error);
    case TND_MSG_REWIND:
        if (!tnd_batcher_core_fits(batcher->machine, arrival->cursor))
            return tnd_fail(error, "%s: the leader goes back to a place that this stream has not",
                            tnd_actor_name(self));
        tnd_batcher_core_rewind(batcher->machine, msg->generation, arrival->cursor,
                                msg->rewind.cuts);
        rewind_bad_records(batcher, msg->generation,
                           arrival->cursor->part[tnd_actor_instance(self)->lane]);
        break;
    case TND_MSG_BEGIN:
        tnd_batcher_core_message(batcher->machine, msg);
        say_go(batcher, self, msg);
        break;
    case TND_MSG_QUARANTINED:
        if (msg->generation != batcher->generation)
            break;
        batcher->aside++;
        send_parts(batcher, self);
        break;
    default:
        tnd_batcher_core_message(batcher->machine, msg);
        break;
    }
    return TND_OK;
}

static tnd_status_t batcher_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                   tnd_error_t *error)
{
    batcher_t *batcher = state;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (tnd_peers_include(&batcher->carriers, arrival->peer)) {
            tnd_batcher_core_feeder_up(batcher->machine, arrival->peer, arrival->birth);
        } else if (tnd_peers_include(&batcher->workers, arrival->peer)) {
            tnd_batcher_core_worker_up(batcher->machine, arrival->peer, arrival->birth);
        } else if (tnd_peers_include(&batcher->answering, arrival->peer)) {
            /* Straight from a reader or a cache: a ticket is credit enough. */
            tnd_msg_t msg = {
                .kind = TND_MSG_CREDIT, .from = tnd_actor_id(self), .to = arrival->peer};
            msg.credit.blocks = msg.credit.bytes = UINT64_MAX;
            (void)tnd_actor_send(self, &msg, TND_CARRY_NOTHING);
        }
        break;
    case TND_ARRIVAL_LOST:
        if (tnd_peers_include(&batcher->carriers, arrival->peer))
            tnd_batcher_core_feeder_lost(batcher->machine, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        return take_message(batcher, self, arrival, error);
    }
    return TND_OK;
}

static tnd_status_t too_large(const tnd_actor_t *self, uint64_t step, tnd_error_t *error)
{
    const tnd_batcher_options_t *options = tnd_actor_options(self);
    char most[TND_QUANTITY_SIZE];
    return tnd_fail(error,
                    "%s: the ragged rows of the batch of step %" PRIu64
                    " take more than the %s that `bytes` allows: raise it, use smaller batches, "
                    "or cut long rows (pad_ragged)",
                    tnd_actor_name(self), step, tnd_quantity_size(options->bytes, most));
}

/*  Whether the ragged rows of this lane in a step keep to the option `bytes`. */
static tnd_status_t check_bytes(batcher_t *batcher, const tnd_actor_t *self,
                                const tnd_effect_t *effect, tnd_error_t *error)
{
    const tnd_batcher_options_t *options = tnd_actor_options(self);
    if (batcher->ragged_step != effect->msg.slice.step ||
        batcher->ragged_generation != effect->msg.generation)
        batcher->ragged = 0;
    batcher->ragged_step = effect->msg.slice.step;
    batcher->ragged_generation = effect->msg.generation;
    for (uint32_t p = 0; options->bytes > 0 && p < effect->piece_count; p++) {
        const tnd_piece_t *piece = &effect->pieces[p];
        for (uint32_t row = 0; row < piece->rows; row++)
            batcher->ragged += tnd_block_row_ragged(piece->payload, piece->first + row);
    }
    if (options->bytes == 0 || batcher->ragged <= options->bytes)
        return TND_OK;
    return too_large(self, effect->msg.slice.step, error);
}

static void send_slice(batcher_t *batcher, tnd_actor_t *self, tnd_effect_t *effect)
{
    tnd_slice_t *slice =
        tnd_block_pool_slice(batcher->block_pool, &batcher->stream->fed.schema, &effect->msg.slice,
                             effect->pieces, effect->piece_count);
    effect->msg.slice.payload = slice;
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_out, effect->msg.slice.rows);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, tnd_slice_bytes(slice));
    atomic_store_explicit(&statistics->step, effect->msg.slice.step, memory_order_relaxed);
    /* A feeder that went away just now is LOST in a moment, and the join says BROKEN. */
    if (tnd_actor_send(self, &effect->msg, TND_CARRY_SLICE) != TND_OK)
        tnd_slice_drop(&slice);
}

/*  Ends the run if the row does not fit its bucket or cannot be packed; the reader knows its record. */
static bool refuse_row(batcher_t *batcher, tnd_actor_t *self, const tnd_effect_t *effect)
{
    tnd_error_t why;
    const tnd_block_t *block = effect->payload;
    uint32_t row = effect->pieces->first;
    tnd_status_t status =
        batcher->packed != NULL
            ? tnd_packed_batches_check(batcher->packed, block, row, &why)
            : tnd_bucket_batches_check(batcher->batches, effect->bucket, block, row, &why);
    if (status == TND_OK)
        return false;
    const tnd_block_note_t *note = &block->note;
    const tnd_bad_record_t record = {
        .place = {.epoch = note->epoch,
                  .index = note->first + (note->origin != NULL ? note->origin[row] : row)},
        .who = (char *)(uintptr_t)tnd_actor_instance(self)->actor,
        .what = why.text};
    batcher->stops = true;
    tell_reader(batcher, self, &record, TND_BAD_END);
    return true;
}

/*  Copies a row to the batch of its bucket, or values of it to packed rows. */
static tnd_status_t store_row(batcher_t *batcher, tnd_actor_t *self, const tnd_effect_t *effect,
                              tnd_error_t *error)
{
    tnd_error_t why;
    size_t bytes;
    tnd_packed_part_t part = {.row = effect->pieces->first,
                              .segment = effect->segment,
                              .from = effect->from,
                              .values = effect->values};
    if (refuse_row(batcher, self, effect))
        return TND_OK;
    tnd_status_t status =
        batcher->packed != NULL
            ? tnd_packed_batches_store(batcher->packed, effect->slot, effect->at, effect->payload,
                                       &part, &bytes, &why)
            : tnd_bucket_batches_store(batcher->batches, effect->slot, effect->bucket, effect->at,
                                       effect->payload, effect->pieces->first, &bytes, &why);
    tnd_count(&tnd_actor_statistics(self)->bytes_copied, bytes);
    return status == TND_OK ? TND_OK : tnd_fail(error, "%s: %s", tnd_actor_name(self), why.text);
}

static tnd_status_t give_slice(batcher_t *batcher, tnd_actor_t *self, tnd_effect_t *effect,
                               tnd_error_t *error)
{
    tnd_piece_t stored;
    if (effect->piece_count > 0 && effect->pieces->payload == NULL) {
        stored = *effect->pieces;
        stored.payload = batcher->packed != NULL
                             ? tnd_packed_batches_block(batcher->packed, effect->slot)
                             : tnd_bucket_batches_block(batcher->batches, effect->slot);
        effect->pieces = &stored;
    }
    TND_TRY(check_bytes(batcher, self, effect, error));
    send_slice(batcher, self, effect);
    return TND_OK;
}

static void say_control(batcher_t *batcher, tnd_actor_t *self, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_TICKET && msg->ticket.attempt > 0)
        tnd_count(&tnd_actor_statistics(self)->again, 1);
    if (msg->kind == TND_MSG_BAD && msg->bad.way == TND_BAD_SKIP)
        report_long_row(batcher, self, msg);
    else if (msg->kind == TND_MSG_BAD)
        report_poison_row(batcher, self, msg);
    else if (msg->kind == TND_MSG_PART || msg->kind == TND_MSG_LAST)
        release_part(batcher, self, msg);
    else
        tnd_actor_control(self, msg, TND_CARRY_NOTHING);
}

/*  A cursor has the start of a window: the rows that its batches were made of are read again. */
static void report_remade(batcher_t *batcher, tnd_actor_t *self)
{
    uint64_t rows = tnd_batcher_core_remade(batcher->machine).rows;
    if (rows == batcher->remade.rows)
        return;
    batcher->remade.rows = rows;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of(
        "%s has read %" PRIu64 " rows again, from the start of a window of buckets: "
        "those of batches that were finished, and those that waited then",
        tnd_actor_name(self), rows);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

static void show_counts(const batcher_t *batcher, tnd_actor_t *self)
{
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    const tnd_order_t *order = tnd_batcher_core_order(batcher->machine);
    atomic_store_explicit(&statistics->doubled, tnd_order_doubled(order), memory_order_relaxed);
    atomic_store_explicit(&statistics->stale, tnd_order_stale(order), memory_order_relaxed);
}

static tnd_status_t batcher_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    batcher_t *batcher = state;
    tnd_effect_t effect;
    uint64_t step = 0;
    for (int done = 0; done < EFFECTS_A_ROUND; done++) {
        if (batcher->part_count == PARTS_MAX || batcher->stops ||
            !tnd_batcher_core_next(batcher->machine, tnd_actor_round(self), &effect)) {
            show_counts(batcher, self);
            report_remade(batcher, self);
            if (tnd_batcher_core_misplaced(batcher->machine))
                return tnd_fail(error,
                                "%s: the run continues in the middle of a row that is shorter now: "
                                "its rows are not the same each time they are made",
                                tnd_actor_name(self));
            return tnd_batcher_core_too_large(batcher->machine, &step)
                       ? too_large(self, step, error)
                       : TND_OK;
        }
        tnd_block_t *block = effect.payload;
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            if (effect.msg.kind == TND_MSG_WINDOW)
                (void)tnd_actor_send(self, &effect.msg, TND_CARRY_NOTHING);
            else
                TND_TRY(give_slice(batcher, self, &effect, error));
            break;
        case TND_EFFECT_STORE:
            TND_TRY(store_row(batcher, self, &effect, error));
            break;
        case TND_EFFECT_CONTROL:
            say_control(batcher, self, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            tnd_recorder_done(tnd_actor_recorder(self), &block->note);
            tnd_block_drop(&block);
            break;
        default:
            abort(); /* the machine has no other effects */
        }
    }
    *more_p = true;
    return TND_OK;
}

static uint64_t batcher_deadline(const void *state)
{
    return tnd_order_deadline(tnd_batcher_core_order(((const batcher_t *)state)->machine));
}

static uint32_t batcher_blocked_on(const void *state)
{
    const batcher_t *batcher = state;
    return batcher->part_count == PARTS_MAX ? TND_WAIT_INPUT
                                            : tnd_batcher_core_blocked_on(batcher->machine);
}

static void batcher_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const tnd_batcher_core_t *machine = ((const batcher_t *)state)->machine;
    *queue_p = tnd_order_used_blocks(tnd_batcher_core_order(machine));
    *credit_p = tnd_batcher_core_slots(machine);
}

static void batcher_fini(void *state)
{
    batcher_t *batcher = state;
    if (batcher->machine != NULL) {
        /* A rewind past everything gives back what the join still holds. */
        tnd_effect_t effect;
        tnd_cursor_t start;
        tnd_cursor_start(&start, batcher->stream->lanes);
        tnd_batcher_core_rewind(batcher->machine, UINT32_MAX, &start, 0);
        while (tnd_batcher_core_next(batcher->machine, 0, &effect)) {
            tnd_block_t *block = effect.payload;
            if (effect.kind == TND_EFFECT_DROP)
                tnd_block_drop(&block);
        }
    }
    free(batcher->machine_memory);
    tnd_bucket_batches_destroy(&batcher->batches);
    tnd_packed_batches_destroy(&batcher->packed);
    tnd_bad_records_free(&batcher->bad_records);
    free(batcher->parts);
    tnd_peers_free(&batcher->readers);
    tnd_peers_free(&batcher->answering);
    tnd_peers_free(&batcher->workers);
    tnd_block_pool_destroy(&batcher->block_pool);
    tnd_peers_free(&batcher->carriers);
}

/* --- options and ports ------------------------------------------------------------------------ */

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_batcher_options_t, size, U64, GRAPH), .unit = "rows", .fallback = "",
     .range = "1..1073741824",
     .help = "rows of a global batch; with `bucket`, its `sizes` say it instead"},
    {TND_OPTION(tnd_batcher_options_t, bucket, TABLE, GRAPH), .fallback = "",
     .table = &tnd_bucket_table,
     .help = "batches of rows of about one length, of one lane, instead of rows that follow one "
             "another; rows wait until there are enough of their length"},
    {TND_OPTION(tnd_batcher_options_t, pack, TABLE, GRAPH), .fallback = "",
     .table = &tnd_pack_table,
     .help =
         "rows of one length, made of the values of ragged rows that follow one another, of one "
         "lane; `size` counts these rows, the report those that they are made of"},
    {TND_OPTION(tnd_batcher_options_t, replicas, U64, GRAPH), .unit = "replicas", .fallback = "1",
     .range = "1..65536", .help = "logical consumers that a global batch is divided among"},
    {TND_OPTION(tnd_batcher_options_t, deal, ENUM, GRAPH), .fallback = "split",
     .choices = "split|whole",
     .help =
         "split: each replica gets its part of a global batch; whole: each batch goes to one "
         "replica, whichever is free, as ClusterCoordinator.schedule of TensorFlow does, and an "
         "actor of kind `parameters` holds the state of all"},
    {TND_OPTION(tnd_batcher_options_t, split, ENUM, GRAPH), .fallback = "rebatch_v2",
     .choices = "rebatch_v2|rebatch_legacy|auto",
     .help =
         "which of TensorFlow's two divisions among replicas; auto: the one that TensorFlow "
         "uses, rebatch_legacy with `shard: pieces`, with `bucket`, and of arrays and callbacks "
         "unless they are read with `shard: off`"},
    {TND_OPTION(tnd_batcher_options_t, apart, BOOL, GRAPH), .fallback = "false",
     .help = "whether each lane feeds replicas of its own, as a worker of TensorFlow does, by its "
             "sizes; a lane that has ended gives them no rows until all have. Otherwise all "
             "replicas get rows until the last lane ends"},
    {TND_OPTION(tnd_batcher_options_t, remainder, ENUM, GRAPH), .fallback = "keep",
     .choices = "keep|drop|pad",
     .help = "what becomes of a last batch with fewer rows: kept, dropped, or padded with rows of "
             "weight 0"},
    {TND_OPTION(tnd_batcher_options_t, span_epochs, BOOL, GRAPH), .fallback = "false",
     .help = "whether a batch may hold rows of two epochs"},
    {TND_OPTION(tnd_batcher_options_t, skip, U64, GRAPH), .unit = "batches", .fallback = "0",
     .range = "0..4503599627370496",
     .help = "global batches at the start of each epoch that are dropped, and counted as dropped"},
    {TND_OPTION(tnd_batcher_options_t, take, U64, GRAPH), .unit = "batches", .fallback = "all",
     .range = "1..4503599627370496", .choices = "all=18446744073709551615",
     .help = "global batches after those that are skipped; then the epoch is over and the rest is "
             "not read"},
    {TND_OPTION(tnd_batcher_options_t, ragged, ENUM, GRAPH), .fallback = "pad",
     .choices = "pad|pack",
     .help =
         "how a batch stores ragged columns: pad: rows as long as the longest, as padded_batch in "
         "TensorFlow; pack: rows one after another, with splits, as ragged_batch"},
    {TND_OPTION(tnd_batcher_options_t, pad_value, STRING, GRAPH), .unit = "number", .fallback = "0",
     .help = "what follows a shorter row, with `ragged: pad`, as a number of the column's type"},
    {TND_OPTION(tnd_batcher_options_t, bytes, BYTES, TUNE), .fallback = "0B",
     .help =
         "the most that the ragged rows of a batch take, over all lanes; memory is reserved for "
         "that; 0B: `size` times the longest row.  The rows of one replica may not take more with "
         "their padding either; more ends the run"},
    {TND_OPTION(tnd_batcher_options_t, block, EXTENT, TUNE), .fallback = "",
     .help = "how much of the stream travels in one message; by default it follows from links and "
             "rows"},
    {TND_OPTION(tnd_batcher_options_t, speculate, BOOL, TUNE), .fallback = "false",
     .help = "whether blocks that a worker is late with are given to a second worker as well"},
};

const tnd_kind_t tnd_kind_batcher = {
    .spec =
        {
            .table = {.name = "batcher",
                      .help =
                          "restores the order, cuts global batches and divides them among replicas",
                      TND_OPTIONS(options, tnd_batcher_options_t)},
            .role = TND_ROLE_JOIN,
            .instances = TND_INSTANCE_LANE,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(BLOCK) | TND_ACCEPT(BEGIN) |
                       TND_ACCEPT(QUARANTINED) | TND_ACCEPT(LOST) | TND_ACCEPT(DIED) |
                       TND_ACCEPT(MARK) | TND_ACCEPT(WINDOW) | TND_ACCEPT(DEAL),
            .inlets = {{.name = "in", .flow = TND_FLOW_ROWS, .required = true}},
            .inlet_count = 1,
            .outlets = {{.name = "out", .flow = TND_FLOW_BATCH, .required = true}},
            .outlet_count = 1,
        },
    .state_bytes = sizeof(batcher_t),
    .check = tnd_batcher_check,
    .derive = batcher_derive,
    .budget = tnd_lane_window_budget,
    .estimate_memory = tnd_batcher_memory,
    .credit = batcher_credit,
    .init = batcher_init,
    .arrive = batcher_arrive,
    .work = batcher_work,
    .deadline = batcher_deadline,
    .blocked_on = batcher_blocked_on,
    .depth = batcher_depth,
    .fini = batcher_fini,
};
