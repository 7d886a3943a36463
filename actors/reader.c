/*  actors/reader.c - answers tickets: maps positions to samples and reads them in blocks.
 *
 *  What goes to whom is decided by the dispatch machine; here positions become indices of the
 *  source (by the shuffle of the epoch, what is skipped, taken and repeated, and the shard of the
 *  lane) and indices become blocks.
 */
#include "actors/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/intake.h"
#include "actors/peers.h"
#include "actors/source/sources.h"
#include "runtime/core/dispatch.h"
#include "runtime/core/index_shuffle.h"
#include "runtime/core/permute.h"
#include "runtime/kind.h"
#include "runtime/life/actor.h"
#include "runtime/registry.h"

/*  Tickets of one lane at the same time: more than any join's window. */
enum { TICKETS_MAX = 65536 };

extern const tnd_kind_spec_t tnd_kind_reader_spec;

/*  What is opened of a source: all of it, or the files of one lane. */
typedef struct {
    uint32_t lane; /* of which lane; or ALL_LANES */
    tnd_source_facts_t facts;
    void *state;
} part_t;

enum { ALL_LANES = TND_LANES_MAX };

/*  A source opened once for all readers of this host. */
typedef struct {
    const tnd_source_t *source;
    uint32_t count;
    part_t parts[];
} opened_t;

/*  A pool of buffers that are large enough for the tickets so far. */
typedef struct {
    tnd_pool_t *pool;
    size_t size;
} store_t;

typedef struct {
    const tnd_reader_options_t *options;
    const tnd_stream_t *stream;
    const tnd_source_t *source;
    const part_t *part;
    tnd_intake_t *intake; /* of a source that writes its rows, else NULL */
    void *machine_memory;
    tnd_dispatch_t *machine;
    store_t indices, room;
    tnd_rack_t *rack;
    uint32_t lane, shuffled_epoch;
    tnd_window_t window;
    bool shuffled;
    tnd_permute_t permutation;
    tnd_index_shuffle_t index_shuffle;
} reader_t;

static void close_all(opened_t *opened)
{
    for (uint32_t i = 0; i < opened->count; i++) {
        opened->source->close(opened->parts[i].state);
        free(opened->parts[i].state);
    }
    free(opened);
}

static tnd_status_t open_part(opened_t *opened, const tnd_reader_options_t *options, uint32_t lane,
                              uint32_t lanes, tnd_error_t *error)
{
    part_t *part = &opened->parts[opened->count];
    bool all = lane == ALL_LANES;
    const tnd_source_scope_t scope = {.lane = all ? 0 : lane,
                                      .lanes = all ? 1 : lanes,
                                      .access = (tnd_access_t)options->access,
                                      .retry_ns = options->retry_ns};
    part->lane = lane;
    part->state = calloc(1, opened->source->state_bytes + 1);
    if (part->state == NULL)
        abort();
    tnd_status_t status =
        opened->source->open(part->state, options->source.options, &scope, &part->facts, error);
    if (status != TND_OK) {
        error->about = options->source.value;
        free(part->state);
        return status;
    }
    opened->count++;
    return TND_OK;
}

/*  Whether another instance before this one is of the same lane: a lane may have several readers.
 */
static bool is_first(const tnd_plan_t *plan, uint32_t index)
{
    const tnd_instance_t *own = &plan->instances[index];
    for (uint32_t i = 0; i < index; i++) {
        const tnd_instance_t *other = &plan->instances[i];
        if (other->host == own->host && other->lane == own->lane &&
            strcmp(other->actor, own->actor) == 0)
            return false;
    }
    return true;
}

/*  Opens the files of every lane that is read on the host of `instance`. */
static tnd_status_t open_lanes(opened_t *opened, const tnd_plan_t *plan,
                               const tnd_instance_t *instance, tnd_error_t *error)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *other = &plan->instances[i];
        if (other->host == instance->host && strcmp(other->actor, instance->actor) == 0 &&
            is_first(plan, i))
            TND_TRY(open_part(opened, instance->options, other->lane, plan->lanes, error));
    }
    for (uint32_t i = 1; i < opened->count; i++) {
        tnd_error_t differs;
        if (tnd_schema_compare(&opened->parts[0].facts.schema, &opened->parts[i].facts.schema,
                               &differs) != TND_OK)
            return tnd_fail(error, "the files of lanes %u and %u hold different data: %.300s",
                            opened->parts[0].lane, opened->parts[i].lane, differs.text);
    }
    return TND_OK;
}

static void say_facts(const opened_t *opened, tnd_stream_t *stream)
{
    const tnd_source_facts_t *first = &opened->parts[0].facts;
    stream->read = first->schema;
    stream->count = first->count;
    stream->data = first->identity;
    for (uint32_t i = 0; i < opened->count; i++)
        if (opened->parts[i].facts.copied > stream->copied)
            stream->copied = opened->parts[i].facts.copied;
    if (opened->parts[0].lane == ALL_LANES)
        return;
    stream->by_file = true;
    stream->found = first->found;
    stream->count = TND_UNKNOWN;
    stream->data = 0;
    for (uint32_t i = 0; i < opened->count; i++) {
        const part_t *part = &opened->parts[i];
        stream->lane[part->lane] = (tnd_stream_lane_t){
            .count = part->facts.count, .data = part->facts.identity, .known = true};
    }
}

static tnd_status_t reader_facts(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                 tnd_stream_t *stream, void **shared_p, tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    bool by_file = options->shard == TND_SHARD_FILE && plan->lanes > 1;
    uint32_t parts = by_file ? plan->lanes : 1;
    opened_t *opened = calloc(1, sizeof *opened + parts * sizeof opened->parts[0]);
    if (opened == NULL)
        abort();
    opened->source = tnd_source_of(tnd_source_spec_of(options->source.table));
    tnd_status_t status = by_file ? open_lanes(opened, plan, instance, error)
                                  : open_part(opened, options, ALL_LANES, 1, error);
    if (status != TND_OK) {
        close_all(opened);
        return status;
    }
    say_facts(opened, stream);
    *shared_p = opened;
    return TND_OK;
}

static void reader_unshare(const tnd_instance_t *instance, void *shared)
{
    (void)instance;
    close_all(shared);
}

static tnd_status_t check_window(const tnd_stream_t *stream, tnd_error_t *error)
{
    bool bounded = stream->skip > 0 || stream->take > 0 || stream->repeat > 1;
    uint64_t all;
    if (stream->count == TND_UNKNOWN && !stream->by_file && bounded)
        return tnd_fail(error, "`skip`, `take` and `repeat` need a source whose length is known");
    if (stream->count == TND_UNKNOWN)
        return TND_OK;
    if (stream->skip > 0 && stream->skip >= stream->count)
        return tnd_fail(error,
                        "`skip: %" PRIu64 "` leaves no row: the source has %" PRIu64 " of them",
                        stream->skip, stream->count);
    if (__builtin_mul_overflow(stream->count, stream->repeat, &all) || all > INT64_MAX)
        return tnd_fail(error,
                        "`repeat: %" PRIu64 "` of %" PRIu64 " rows are more than can be "
                        "counted",
                        stream->repeat, stream->count);
    return TND_OK;
}

static tnd_status_t reader_derive(const tnd_instance_t *instance, tnd_stream_t *stream,
                                  tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    stream->epochs = (uint32_t)options->epochs;
    stream->skip = options->skip;
    stream->take = options->take == UINT64_MAX ? 0 : options->take;
    stream->repeat = options->repeat;
    stream->fed = stream->read;
    return check_window(stream, error);
}

/*  What this reader's lane reads from. */
static const part_t *part_of(const opened_t *opened, uint32_t lane)
{
    uint32_t i = 0;
    while (opened->parts[i].lane != ALL_LANES && opened->parts[i].lane != lane)
        i++;
    assert(i < opened->count);
    return &opened->parts[i];
}

static tnd_status_t reader_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    reader_t *reader = state;
    (void)error;
    reader->options = tnd_actor_options(self);
    reader->stream = tnd_actor_stream(self);
    const opened_t *opened = tnd_actor_shared(self);
    reader->lane = tnd_actor_instance(self)->lane;
    reader->source = opened->source;
    reader->part = part_of(opened, reader->lane);
    if (reader->stream->count != TND_UNKNOWN)
        reader->window = tnd_stream_window(reader->stream, reader->lane);
    reader->rack = tnd_rack_new();
    tnd_peers_t joins = tnd_peers_of(self, "batcher", reader->lane);
    if (reader->source->fill != NULL) {
        tnd_intake_config_t intake = {
            .source = reader->source,
            .state = reader->part->state,
            .schema = &reader->stream->read,
            .name = tnd_actor_name(self),
            .caps = tnd_source_spec_of(reader->options->source.table)->caps,
            .first = reader->window.first,
            .retain_bytes = reader->options->retain_bytes,
        };
        reader->intake = tnd_intake_new(&intake);
    }
    tnd_dispatch_config_t config = {
        .self = tnd_actor_id(self),
        .join = joins.ids[0],
        .lane = reader->lane,
        .tickets_max = TICKETS_MAX,
        .workers_max = tnd_actor_plan(self)->instance_count,
    };
    tnd_peers_free(&joins);
    reader->machine_memory = calloc(1, tnd_dispatch_bytes(&config));
    if (reader->machine_memory == NULL)
        abort();
    reader->machine = tnd_dispatch_init(reader->machine_memory, &config);
    return TND_OK;
}

static tnd_status_t take_ticket(reader_t *reader, const tnd_actor_t *self, const tnd_msg_t *msg,
                                tnd_error_t *error)
{
    if (tnd_dispatch_full(reader->machine))
        return tnd_fail(error, "%s: %s asks for more than %d blocks at a time",
                        tnd_actor_name(self), tnd_actor_plan(self)->instances[msg->from].name,
                        TICKETS_MAX);
    tnd_dispatch_ticket(reader->machine, msg);
    return TND_OK;
}

static tnd_status_t reader_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                  tnd_error_t *error)
{
    reader_t *reader = state;
    const tnd_msg_t *msg = &arrival->msg;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (arrival->peer < tnd_actor_plan(self)->instance_count)
            tnd_dispatch_worker_up(reader->machine, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (arrival->peer < tnd_actor_plan(self)->instance_count)
            tnd_dispatch_worker_lost(reader->machine, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        if (msg->kind == TND_MSG_REWIND)
            tnd_dispatch_rewind(reader->machine, msg->generation);
        else if (msg->kind == TND_MSG_TICKET)
            return take_ticket(reader, self, msg, error);
        else if (msg->kind == TND_MSG_CREDIT)
            tnd_dispatch_credit(reader->machine, arrival->peer, msg->credit.blocks,
                                msg->credit.bytes);
        break;
    }
    return TND_OK;
}

/*  The shuffle of an epoch; two epochs may be under way, but tickets of one come in runs.  Lanes
 *  with files of their own are shuffled each for itself, in different ways; by TensorFlow's shuffle
 *  in the same way, as its workers do.
 */
static void shuffle_epoch(reader_t *reader, uint32_t epoch)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    if (reader->shuffled && reader->shuffled_epoch == epoch)
        return;
    reader->shuffled = true;
    reader->shuffled_epoch = epoch;
    uint64_t seed = reader->stream->seed, count = reader->window.count * reader->window.repeat;
    uint32_t key[3];
    switch ((tnd_shuffle_t)reader->options->shuffle) {
    case TND_SHUFFLE_NONE:
        break;
    case TND_SHUFFLE_GLOBAL:
        if (reader->stream->by_file)
            seed ^= odd * reader->lane;
        tnd_permute_init(&reader->permutation, count, seed, epoch);
        break;
    case TND_SHUFFLE_TENSORFLOW:
        tnd_index_shuffle_data_key(seed, 0, true, epoch, key);
        tnd_index_shuffle_init(&reader->index_shuffle, key, count, TND_INDEX_SHUFFLE_DATA_ROUNDS);
        break;
    }
}

/*  What stands at positions [first, first + count) of the lane, counted from the begin of the rows
 *  that are used, over all repeats.
 */
static void fill_places(reader_t *reader, uint32_t epoch, uint64_t first, uint32_t count,
                        uint64_t *places)
{
    bool alone = reader->stream->lanes == 1 || reader->stream->by_file;
    uint64_t lanes = alone ? 1 : reader->stream->lanes, lane = alone ? 0 : reader->lane;
    shuffle_epoch(reader, epoch);
    if (reader->options->shuffle == TND_SHUFFLE_GLOBAL && count > 0) {
        tnd_permute_range(&reader->permutation, first * lanes + lane, lanes, count, places);
        return;
    }
    bool plain = reader->options->shuffle == TND_SHUFFLE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t position = (first + i) * lanes + lane;
        places[i] = plain ? position : tnd_index_shuffle_at(&reader->index_shuffle, position);
    }
}

/*  Indices of the samples at positions [first, first + count) of the lane. */
static void fill_indices(reader_t *reader, uint32_t epoch, uint64_t first, uint32_t count,
                         uint64_t *indices)
{
    fill_places(reader, epoch, first, count, indices);
    const tnd_window_t *window = &reader->window;
    if (window->repeat > 1)
        for (uint32_t i = 0; i < count; i++)
            indices[i] %= window->count;
    if (window->first > 0)
        for (uint32_t i = 0; i < count; i++)
            indices[i] += window->first;
}

/*  NULL where nothing is needed. */
static tnd_buffer_t *store_take(store_t *self, size_t need)
{
    if (need == 0)
        return NULL;
    if (need > self->size) {
        tnd_pool_destroy(&self->pool);
        self->size = need < 4096 ? 4096 : need;
        self->pool = tnd_pool_new(self->size);
    }
    return tnd_pool_take(self->pool);
}

static tnd_status_t read_ticket(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                                tnd_error_t *error)
{
    uint64_t began = tnd_actor_now(self);
    uint32_t count = ticket->ticket.count;
    const tnd_source_facts_t *facts = &reader->part->facts;
    tnd_source_call_t call = {
        .indices =
            store_take(&reader->indices, (1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .room = store_take(&reader->room, tnd_source_room(facts, count)),
        .count = count,
    };
    fill_indices(reader, ticket->ticket.epoch, ticket->ticket.first, count,
                 tnd_buffer_data(call.indices));

    tnd_block_t *block = tnd_rack_take(reader->rack, &reader->stream->read);
    bool end = false;
    tnd_status_t status =
        reader->intake != NULL
            ? tnd_intake_read(reader->intake, ticket->ticket.epoch, tnd_buffer_data(call.indices),
                              &count, block, &end, error)
            : reader->source->read(reader->part->state, &call, block, error);
    tnd_buffer_drop(&call.indices);
    tnd_buffer_drop(&call.room);
    if (status != TND_OK) {
        tnd_block_drop(&block);
        return status;
    }
    size_t bytes = tnd_schema_row_bytes(&reader->stream->read) * count;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK,
                     .generation = ticket->generation,
                     .from = tnd_actor_id(self),
                     .to = ticket->to};
    msg.block = (tnd_block_note_t){
        .first = ticket->ticket.first,
        .lane = reader->lane,
        .epoch = ticket->ticket.epoch,
        .count = count,
        .asked = ticket->ticket.count,
        .attempt = ticket->ticket.attempt,
        .rows = count,
        .end = end,
        .bytes = bytes,
        .work_ns = tnd_actor_now(self) - began,
        .payload = block,
    };
    block->note = msg.block;
    tnd_block_seal(block);
    /* A worker that went away just now is LOST in a moment, and the ticket with it. */
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&block);
    tnd_dispatch_sent(reader->machine, ticket->to, bytes);
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_in, count);
    tnd_count(&statistics->rows_out, count);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, bytes);
    tnd_count(&statistics->bytes_copied, facts->copied * count);
    return TND_OK;
}

static tnd_status_t reader_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    reader_t *reader = state;
    tnd_effect_t effect;
    while (tnd_dispatch_next(reader->machine, tnd_actor_now(self), &effect)) {
        if (effect.kind == TND_EFFECT_READ) {
            *more_p = true;
            return read_ticket(reader, self, &effect.msg, error);
        }
        tnd_actor_control(self, &effect.msg, TND_CARRY_NOTHING);
    }
    return TND_OK;
}

static uint32_t reader_blocked_on(const void *state)
{
    return tnd_dispatch_blocked_on(((const reader_t *)state)->machine);
}

static void reader_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const tnd_dispatch_t *machine = ((const reader_t *)state)->machine;
    *queue_p = tnd_dispatch_waiting(machine);
    *credit_p = tnd_dispatch_room(machine);
}

static void reader_fini(void *state)
{
    reader_t *reader = state;
    free(reader->machine_memory);
    tnd_pool_destroy(&reader->indices.pool);
    tnd_pool_destroy(&reader->room.pool);
    tnd_intake_destroy(&reader->intake);
    tnd_rack_destroy(&reader->rack);
}

const tnd_kind_t tnd_kind_reader = {
    .spec = &tnd_kind_reader_spec,
    .state_bytes = sizeof(reader_t),
    .facts = reader_facts,
    .unshare = reader_unshare,
    .derive = reader_derive,
    .init = reader_init,
    .arrive = reader_arrive,
    .work = reader_work,
    .blocked_on = reader_blocked_on,
    .depth = reader_depth,
    .fini = reader_fini,
};
