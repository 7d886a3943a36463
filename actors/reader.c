/*  actors/reader.c - answers tickets: maps positions to samples and reads them in blocks.
 *
 *  What goes to whom is decided by the dispatch machine; here positions become indices of the
 *  source (by the shuffle of the epoch, what is skipped, taken and repeated, and the shard of the
 *  lane) and indices become blocks.
 */
#include "actors/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/batcher.h"
#include "actors/stream_reader.h"
#include "actors/plan_queries.h"
#include "actors/peers.h"
#include "actors/quarantine/quarantine.h"
#include "actors/source/content.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/core/reader.h"
#include "runtime/core/numeric/index_shuffle.h"
#include "runtime/core/numeric/permute.h"
#include "runtime/base/limits.h"
#include "runtime/text/quantity.h"
#include "runtime/interface/kind.h"
#include "runtime/host/actor.h"
#include "runtime/host/text_payload.h"
#include "runtime/observe/observer.h"
#include "runtime/host/guarded_call.h"
#include "runtime/option/registry.h"

/*  Tickets of one lane at the same time: more than any join's window. */
enum { TICKETS_MAX = 65536 };

/*  Bad records that are told by name in one life; more are only counted. */
enum { BAD_SAID = 8, BAD_AT_ONCE = 256 };

enum { AHEAD_AT_ONCE = 128 };

/*  How long a worker that was late gets nothing: then one block shows whether it still is, which
 *  may cost a quarter of a second.
 */
static const uint64_t rest_ns = 4000000000;

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

/*  A bad record that somebody told of, and what is done about it. */
typedef struct {
    tnd_bad_note_t note;
    uint32_t generation;
    tnd_actor_id_t from;
    tnd_buffer_t *text;
} bad_t;

typedef struct {
    const tnd_reader_options_t *options;
    const tnd_stream_t *stream;
    const tnd_source_t *source;
    const part_t *part;
    tnd_stream_reader_t *intake; /* of a source that writes its rows, else NULL */
    void *machine_memory;
    tnd_reader_core_t *machine;
    store_t indices, room;
    tnd_rack_t *rack;
    uint32_t lane, shuffled_epoch;
    tnd_window_t window;
    bool shuffled;
    tnd_permute_t permutation;
    tnd_index_shuffle_t index_shuffle;
    tnd_quarantine_t *quarantine; /* of the lane's first reader, if anybody sets records aside */
    bad_t *bad;
    size_t bad_count, bad_room;
    uint32_t generation, bad_said;
    /* Positions [ahead_from, ahead_to) of an epoch were requested ahead. */
    bool alone; /* the lane has no other reader, so that all its positions are read here */
    uint32_t ahead_epoch;
    uint64_t ahead_from, ahead_to;
} reader_t;

static void close_all(opened_t *opened)
{
    for (uint32_t i = 0; i < opened->count; i++) {
        opened->source->close(opened->parts[i].state);
        free(opened->parts[i].state);
    }
    free(opened);
}

/*  Who opens a source, and for whom. */
typedef struct {
    tnd_guarded_call_t *trial;
    const void *about;
} hearer_t;

static void hear(void *teller, const tnd_error_t *error)
{
    const hearer_t *self = teller;
    tnd_error_t heard = *error;
    if (heard.about == NULL)
        heard.about = self->about;
    tnd_guarded_call_tell(self->trial, &heard);
}

/*  In which order rows are asked for, and whether every row of the files is: `whole` says whether
 *  all lanes that share them are read here.
 */
static tnd_access_pattern_t pattern_of(const tnd_reader_options_t *options, bool whole)
{
    if (options->shuffle == TND_SHUFFLE_NONE)
        return TND_PATTERN_FORWARD;
    bool all = whole && options->skip == 0 && options->take == UINT64_MAX;
    return all ? TND_PATTERN_ALL : TND_PATTERN_SOME;
}

/*  What the page cache may use for one of `parts` parts; 0: unknown. */
static uint64_t room_for(uint32_t parts)
{
    tnd_group_limits_t limits;
    tnd_group_limits_read("", &limits);
    return limits.cache_bytes != UINT64_MAX ? limits.cache_bytes / parts + 1 : 0;
}

/*  `here`: how many lanes are read on this host. */
static tnd_status_t open_part(opened_t *opened, const tnd_reader_options_t *options, uint32_t lane,
                              uint32_t lanes, uint32_t here, tnd_guarded_call_t *trial,
                              tnd_error_t *error)
{
    hearer_t hearer = {trial, options->source.value};
    part_t *part = &opened->parts[opened->count];
    bool all = lane == ALL_LANES;
    const tnd_source_scope_t scope = {.lane = all ? 0 : lane,
                                      .lanes = all ? 1 : lanes,
                                      .access = (tnd_access_t)options->access,
                                      .pattern = pattern_of(options, !all || here == lanes),
                                      .room = room_for(all ? 1 : here),
                                      .retry_ns = options->retry_ns,
                                      .tell = hear,
                                      .teller = &hearer};
    part->lane = lane;
    part->state = tnd_allocate_zeroed(1, opened->source->state_bytes + 1);
    tnd_status_t status =
        opened->source->open(part->state, options->source.options, &scope, &part->facts, error);
    if (status != TND_OK) {
        if (error->about == NULL)
            error->about = options->source.value;
        free(part->state);
        return status;
    }
    opened->count++;
    return TND_OK;
}

/*  Whether no instance of the actor before this one is in its process, which opens data once. */
static bool is_first_here(const tnd_plan_t *plan, uint32_t index)
{
    const tnd_instance_t *own = &plan->instances[index];
    for (uint32_t i = 0; i < index; i++)
        if (plan->instances[i].host == own->host &&
            strcmp(plan->instances[i].actor, own->actor) == 0)
            return false;
    return true;
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

/*  Whether instance `index` is the first of a lane that is read on the host of `instance`. */
static bool is_part(const tnd_plan_t *plan, const tnd_instance_t *instance, uint32_t index)
{
    const tnd_instance_t *other = &plan->instances[index];
    return other->host == instance->host && strcmp(other->actor, instance->actor) == 0 &&
           is_first(plan, index);
}

static uint32_t lanes_here(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += is_part(plan, instance, i);
    return count;
}

/*  Opens the files of every lane that is read on the host of `instance`. */
static tnd_status_t open_lanes(opened_t *opened, const tnd_plan_t *plan,
                               const tnd_instance_t *instance, tnd_guarded_call_t *trial,
                               tnd_error_t *error)
{
    uint32_t here = lanes_here(plan, instance);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (is_part(plan, instance, i))
            TND_TRY(open_part(opened, instance->options, plan->instances[i].lane, plan->lanes, here,
                              trial, error));
    for (uint32_t i = 1; i < opened->count; i++) {
        tnd_error_t differs;
        if (tnd_schema_compare(&opened->parts[0].facts.schema, &opened->parts[i].facts.schema,
                               &differs) != TND_OK)
            return tnd_fail(error, "the files of lanes %u and %u hold different data: %.300s%s",
                            opened->parts[0].lane, opened->parts[i].lane, differs.text,
                            tnd_schema_ragged(&opened->parts[0].facts.schema) > 0
                                ? "; of a ragged column say `max:`, which is then that of all files"
                                : "");
    }
    return TND_OK;
}

static void say_facts(const opened_t *opened, tnd_stream_t *stream)
{
    const tnd_source_facts_t *first = &opened->parts[0].facts;
    stream->read = first->schema;
    stream->count = first->count;
    stream->data = first->identity;
    for (uint32_t i = 0; i < opened->count; i++) {
        const tnd_source_facts_t *facts = &opened->parts[i].facts;
        stream->copied = facts->copied > stream->copied ? facts->copied : stream->copied;
        stream->lists = facts->lists > stream->lists ? facts->lists : stream->lists;
        stream->loaded += facts->loaded;
        stream->mapped += facts->mapped;
        stream->copied_files += facts->read;
        stream->room += facts->room;
        stream->access = facts->access;
    }
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
                                 tnd_guarded_call_t *trial, tnd_stream_t *stream, void **shared_p,
                                 tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    bool by_file = options->shard == TND_SHARD_FILE && plan->lanes > 1;
    uint32_t parts = by_file ? plan->lanes : 1;
    opened_t *opened = tnd_allocate_zeroed(1, sizeof *opened + parts * sizeof opened->parts[0]);
    opened->source = tnd_source_of(tnd_source_spec_of(options->source.table));
    tnd_guarded_call_at(trial, options->source.value, "source `%s`", options->source.table->name);
    tnd_status_t status = by_file ? open_lanes(opened, plan, instance, trial, error)
                                  : open_part(opened, options, ALL_LANES, plan->lanes,
                                              lanes_here(plan, instance), trial, error);
    if (status != TND_OK) {
        close_all(opened);
        return status;
    }
    say_facts(opened, stream);
    *shared_p = opened;
    return TND_OK;
}

/*  The files of one part; of a source without files, what its rows are. */
static tnd_status_t list_part(const part_t *part, const tnd_reader_options_t *options,
                              const char *data, tnd_data_table_t *table, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &part->facts;
    uint32_t lane = part->lane == ALL_LANES ? 0 : part->lane;
    for (size_t i = 0; i < facts->file_count; i++) {
        const tnd_source_file_t *from = &facts->files[i];
        tnd_data_file_t file = {.lane = lane,
                                .place = (uint32_t)i,
                                .size = from->size,
                                .modified_ns = from->modified_ns,
                                .ends = from->ends,
                                .file = true,
                                .hashed = options->verify == TND_VERIFY_FULL,
                                .name = from->path};
        if (file.hashed)
            TND_TRY(
                tnd_content_whole(from->path, from->size, options->retry_ns, file.whole, error));
        tnd_data_table_add(table, &file, data);
    }
    if (facts->file_count > 0)
        return TND_OK;
    char name[128];
    snprintf(name, sizeof name, "source `%.100s`", options->source.table->name);
    tnd_data_table_add(
        table,
        &(tnd_data_file_t){
            .lane = lane, .size = facts->count, .ends = facts->identity, .name = name},
        NULL);
    return TND_OK;
}

static tnd_status_t reader_list(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                const void *shared, tnd_data_table_t *table, tnd_error_t *error)
{
    const opened_t *opened = shared;
    for (uint32_t i = 0; i < opened->count; i++)
        TND_TRY(list_part(&opened->parts[i], instance->options, plan->hosts[instance->host].data,
                          table, error));
    return TND_OK;
}

/*  Whether somebody in the chain sets records aside, which its first reader of each lane does. */
static bool sets_aside(const tnd_stream_t *stream)
{
    return stream->bad_read == TND_BAD_QUARANTINE || stream->bad_made == TND_BAD_QUARANTINE;
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

/*  "0.1%" or "100". */
static tnd_status_t read_limit(const tnd_reader_options_t *options, tnd_bad_limit_t *limit,
                               tnd_error_t *error)
{
    char number[64];
    size_t length = strlen(options->max_bad);
    *limit = (tnd_bad_limit_t){.set = true};
    limit->is_part = length > 0 && options->max_bad[length - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int)(length - limit->is_part), options->max_bad);
    bool reads = limit->is_part ? tnd_quantity_f64(number, &limit->part) == TND_QUANTITY_OK &&
                                      limit->part >= 0 && limit->part <= 100
                                : tnd_quantity_u64(number, &limit->count) == TND_QUANTITY_OK;
    limit->part /= 100;
    if (reads)
        return TND_OK;
    return tnd_fail(error, "`max_bad: %.100s`: a number such as 100, or a part such as 0.1%%",
                    options->max_bad);
}

static tnd_status_t reader_derive(const tnd_instance_t *instance, tnd_guarded_call_t *trial,
                                  tnd_stream_t *stream, tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    (void)trial;
    stream->bad_read = (tnd_bad_way_t)options->on_error;
    TND_TRY(read_limit(options, &stream->bad_limit, error));
    stream->epochs = (uint32_t)options->epochs;
    stream->skip = options->skip;
    stream->take = options->take == UINT64_MAX ? 0 : options->take;
    stream->repeat = options->repeat;
    stream->fed = stream->read;
    return check_window(stream, error);
}

static tnd_reader_core_config_t dispatch_config(const tnd_plan_t *plan)
{
    return (tnd_reader_core_config_t){
        .tickets_max = TICKETS_MAX, .workers_max = plan->instance_count, .rest_ns = rest_ns};
}

/*  A lane's tickets go to its readers in turn, so that each has its part of them. */
static void reader_needs(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                         tnd_memory_estimate_t *needs)
{
    const tnd_instance_t *instance = &plan->instances[index];
    const tnd_reader_options_t *options = instance->options;
    const tnd_source_spec_t *source = tnd_source_spec_of(options->source.table);
    const char *name = instance->name;
    uint32_t batcher = tnd_plan_batcher(plan, instance->chain, instance->lane);
    if (batcher == plan->instance_count)
        return;
    tnd_reader_core_config_t dispatch = dispatch_config(plan);
    tnd_batcher_window_t window = tnd_batcher_window(plan, batcher, stream);
    uint32_t readers = tnd_plan_alike(plan, index);
    uint64_t rows = tnd_batcher_alive(plan, batcher, stream) / readers + window.block_rows;
    size_t row_bytes = tnd_schema_row_bytes(&stream->read);
    tnd_memory_estimate_add(needs, name, tnd_reader_core_bytes(&dispatch), "its list of tickets");
    if (is_first_here(plan, index))
        tnd_memory_estimate_add(needs, name, stream->loaded,
                                "data that cannot be used as it lies in its files");
    tnd_memory_estimate_add(needs, name, (1 + stream->lists) * sizeof(uint64_t) * rows,
                            "which rows are in %" PRIu64 " rows of blocks", rows);
    tnd_memory_estimate_add(needs, name, stream->copied * rows,
                            "the rows of these blocks, of files that are read and not mapped");
    /* A source of the user's writes its rows to memory of ours; the last ones may be kept. */
    if (source->given != NULL)
        tnd_memory_estimate_add(needs, name,
                                (row_bytes + tnd_schema_list_bytes(&stream->read)) * rows,
                                "the rows of these blocks, which the source writes");
    if (source->given != NULL && source->caps == 0)
        tnd_memory_estimate_add(needs, name, options->retain_bytes,
                                "the last rows of a source that can be read only once (`retain:`)");
    if (source->given == NULL && stream->copied < row_bytes && tnd_plan_goes_out(plan, index)) {
        uint64_t blocks = window.open / window.block_rows / readers + 1;
        tnd_memory_estimate_add(
            needs, name, blocks * tnd_plan_packed(&stream->read, window.block_rows),
            "%" PRIu64 " blocks of %" PRIu64 " rows, packed while they are sent", blocks,
            window.block_rows);
    }
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

static tnd_status_t open_quarantine(reader_t *reader, tnd_actor_t *self, tnd_error_t *error)
{
    tnd_peers_t readers = tnd_peers_of(self, "reader", reader->lane);
    bool is_first = readers.ids[0] == tnd_actor_id(self);
    tnd_peers_free(&readers);
    if (!is_first || !sets_aside(reader->stream))
        return TND_OK;
    TND_TRY(tnd_quarantine_check(reader->options->quarantine, error));
    reader->quarantine =
        tnd_quarantine_new(reader->options->quarantine, reader->lane, &reader->stream->read);
    return TND_OK;
}

static tnd_status_t reader_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    reader_t *reader = state;
    reader->options = tnd_actor_options(self);
    reader->stream = tnd_actor_stream(self);
    const opened_t *opened = tnd_actor_shared(self);
    reader->lane = tnd_actor_instance(self)->lane;
    reader->source = opened->source;
    reader->part = part_of(opened, reader->lane);
    if (reader->stream->count != TND_UNKNOWN)
        reader->window = tnd_stream_window(reader->stream, reader->lane);
    reader->alone = tnd_plan_alike(tnd_actor_plan(self), tnd_actor_id(self)) == 1;
    reader->rack = tnd_rack_new();
    tnd_peers_t joins = tnd_peers_of(self, "batcher", reader->lane);
    if (reader->source->fill != NULL) {
        tnd_stream_reader_config_t intake = {
            .source = reader->source,
            .state = reader->part->state,
            .schema = &reader->stream->read,
            .name = tnd_actor_name(self),
            .caps = tnd_source_spec_of(reader->options->source.table)->caps,
            .first = reader->window.first,
            .retain_bytes = reader->options->retain_bytes,
        };
        reader->intake = tnd_stream_reader_new(&intake);
    }
    tnd_reader_core_config_t config = dispatch_config(tnd_actor_plan(self));
    config.self = tnd_actor_id(self);
    config.join = joins.ids[0];
    config.lane = reader->lane;
    tnd_peers_free(&joins);
    reader->machine_memory = tnd_allocate_zeroed(1, tnd_reader_core_bytes(&config));
    reader->machine = tnd_reader_core_init(reader->machine_memory, &config);
    return open_quarantine(reader, self, error);
}

/* --- what arrives ------------------------------------------------------------------------------
 */

static void forget_bad(reader_t *reader, size_t count)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        tnd_buffer_drop(&reader->bad[i].text);
    reader->bad_count -= count;
    if (reader->bad_count > 0)
        memmove(reader->bad, reader->bad + count, reader->bad_count * sizeof *reader->bad);
}

/*  Takes the text. */
static void take_bad(reader_t *reader, tnd_msg_t *msg)
{
    if (msg->bad.payload == NULL ||
        (msg->bad.way != TND_BAD_STOP && msg->generation != reader->generation))
        return;
    reader->bad = tnd_grow(reader->bad, reader->bad_count, &reader->bad_room, sizeof *reader->bad);
    reader->bad[reader->bad_count++] = (bad_t){.note = msg->bad,
                                               .generation = msg->generation,
                                               .from = msg->from,
                                               .text = msg->bad.payload};
    msg->bad.payload = NULL;
}

static tnd_status_t rewind_to(reader_t *reader, const tnd_msg_t *msg, const tnd_cursor_t *cursor,
                              tnd_error_t *error)
{
    tnd_reader_core_rewind(reader->machine, msg->generation);
    reader->generation = msg->generation;
    size_t kept = 0;
    for (size_t i = 0; i < reader->bad_count; i++)
        if (reader->bad[i].note.way == TND_BAD_STOP)
            reader->bad[kept++] = reader->bad[i];
        else
            tnd_buffer_drop(&reader->bad[i].text);
    reader->bad_count = kept;
    if (reader->quarantine == NULL)
        return TND_OK;
    return tnd_quarantine_cut(reader->quarantine, cursor->part[reader->lane], error);
}

static tnd_status_t take_ticket(reader_t *reader, const tnd_actor_t *self, const tnd_msg_t *msg,
                                tnd_error_t *error)
{
    if (tnd_reader_core_full(reader->machine))
        return tnd_fail(error, "%s: %s asks for more than %d blocks at a time",
                        tnd_actor_name(self), tnd_actor_plan(self)->instances[msg->from].name,
                        TICKETS_MAX);
    tnd_reader_core_ticket(reader->machine, msg);
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
            tnd_reader_core_worker_up(reader->machine, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (arrival->peer < tnd_actor_plan(self)->instance_count)
            tnd_reader_core_worker_lost(reader->machine, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        if (msg->kind == TND_MSG_REWIND)
            return rewind_to(reader, msg, arrival->cursor, error);
        else if (msg->kind == TND_MSG_BAD)
            take_bad(reader, &arrival->msg);
        else if (msg->kind == TND_MSG_TICKET)
            return take_ticket(reader, self, msg, error);
        else if (msg->kind == TND_MSG_CREDIT)
            tnd_reader_core_credit(reader->machine, arrival->peer, msg->credit.blocks,
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

static tnd_source_call_t make_call(reader_t *reader, uint32_t count)
{
    const tnd_source_facts_t *facts = &reader->part->facts;
    return (tnd_source_call_t){
        .indices =
            store_take(&reader->indices, (1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .room = store_take(&reader->room, tnd_source_room(facts, count)),
        .count = count,
    };
}

/*  Takes the call.  *count_p becomes fewer, with *end_p, where the source ends. */
static tnd_status_t read_call(reader_t *reader, uint32_t epoch, tnd_source_call_t *call,
                              uint32_t *count_p, bool *end_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    tnd_status_t status =
        reader->intake != NULL
            ? tnd_stream_reader_read(reader->intake, epoch, tnd_buffer_data(call->indices), count_p,
                                     block, end_p, error)
            : reader->source->read(reader->part->state, call, block, error);
    tnd_buffer_drop(&call->indices);
    tnd_buffer_drop(&call->room);
    return status;
}

/*  Of some rows, by their indices. */
static tnd_status_t read_some(reader_t *reader, uint32_t epoch, const uint64_t *indices,
                              uint32_t count, tnd_block_t *block, tnd_error_t *error)
{
    bool end = false;
    tnd_source_call_t call = make_call(reader, count);
    memcpy(tnd_buffer_data(call.indices), indices, count * sizeof *indices);
    return read_call(reader, epoch, &call, &count, &end, block, error);
}

/*  Requests the rows of positions that follow, so that a disk always has many requests.  Of a lane
 *  with several readers those of this ticket only: the next one may be another reader's.
 */
static void look_ahead(reader_t *reader, uint32_t epoch, uint64_t first, uint32_t count)
{
    uint64_t indices[AHEAD_AT_ONCE];
    const tnd_source_t *source = reader->source;
    uint32_t rows = source->ahead_rows != NULL ? source->ahead_rows(reader->part->state) : 0;
    if (rows == 0)
        return;
    uint64_t end = first + count + (reader->alone ? rows : 0);
    uint64_t most = tnd_stream_lane_count(reader->stream, reader->lane);
    end = end < most ? end : most;
    bool known =
        epoch == reader->ahead_epoch && first >= reader->ahead_from && first <= reader->ahead_to;
    uint64_t at = known ? reader->ahead_to : first;
    if (!known)
        reader->ahead_from = first;
    reader->ahead_epoch = epoch;
    reader->ahead_to = at > end ? at : end;
    for (uint32_t some; at < end; at += some) {
        some = end - at < AHEAD_AT_ONCE ? (uint32_t)(end - at) : AHEAD_AT_ONCE;
        fill_indices(reader, epoch, at, some, indices);
        source->ahead(reader->part->state, indices, some);
    }
}

/* --- bad records -------------------------------------------------------------------------------
 */

/*  Where a sample lies, as people say it. */
static void say_place(const reader_t *reader, uint64_t sample, tnd_quarantine_place_t *place,
                      char *text, size_t room)
{
    tnd_source_place_t where = {.record = sample};
    if (reader->source->where != NULL)
        reader->source->where(reader->part->state, sample, &where);
    place->sample = sample;
    place->file = where.file;
    place->record = where.record;
    place->offset = where.offset;
    if (where.file != NULL)
        snprintf(text, room, "record %" PRIu64 " of %.200s, at byte %" PRIu64, where.record,
                 where.file, where.offset);
    else
        snprintf(text, room, "record %" PRIu64, sample);
}

static tnd_status_t set_aside(reader_t *reader, const tnd_quarantine_place_t *place,
                              const char *who, const char *what, tnd_error_t *error)
{
    tnd_block_t *row = tnd_rack_take(reader->rack, &reader->stream->read);
    tnd_status_t status = read_some(reader, place->position.epoch, &place->sample, 1, row, error);
    row->note.count = row->note.rows = 1;
    tnd_block_seal(row);
    if (status == TND_OK || status == TND_REFUSED)
        status = tnd_quarantine_add(reader->quarantine, place, status == TND_OK ? row : NULL, who,
                                    what, error);
    tnd_block_drop(&row);
    return status;
}

static void say_aside(tnd_actor_t *self, const bad_t *bad)
{
    tnd_msg_t msg = {.kind = TND_MSG_ASIDE,
                     .generation = bad->generation,
                     .from = tnd_actor_id(self),
                     .to = bad->from,
                     .bad = bad->note};
    msg.bad.payload = NULL;
    tnd_actor_control(self, &msg, TND_CARRY_NOTHING);
}

static void warn(const reader_t *reader, tnd_actor_t *self, const char *where, const char *who,
                 const char *what)
{
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of(
        "%s %s is bad: %.100s: %.200s%s", tnd_actor_name(self), where, who, what,
        reader->bad_said == BAD_SAID ? "; more such records are only counted" : "");
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  Does what is asked about a record that somebody told of. */
static tnd_status_t answer_one(reader_t *reader, tnd_actor_t *self, const bad_t *bad,
                               tnd_error_t *error)
{
    tnd_text_payload_reader_t lines;
    char who[160], what[320], where[320];
    tnd_text_payload_read(&lines, bad->text);
    const char *line = tnd_text_payload_line(&lines);
    snprintf(who, sizeof who, "%s", line != NULL ? line : "");
    line = tnd_text_payload_line(&lines);
    snprintf(what, sizeof what, "%s", line != NULL ? line : "");
    tnd_quarantine_place_t place = {
        .position = {.epoch = bad->note.epoch, .index = bad->note.position}};
    uint64_t sample;
    fill_indices(reader, bad->note.epoch, bad->note.position, 1, &sample);
    say_place(reader, sample, &place, where, sizeof where);
    if (bad->note.way == TND_BAD_STOP)
        return tnd_fail(error,
                        "%s: %s is bad: %.100s: %.160s; `on_error: skip` or `quarantine` goes on "
                        "without such records",
                        tnd_actor_name(self), where, who, what);
    if (reader->bad_said < BAD_SAID) {
        reader->bad_said++;
        warn(reader, self, where, who, what);
    }
    if (bad->note.way == TND_BAD_QUARANTINE && reader->quarantine != NULL)
        return set_aside(reader, &place, who, what, error);
    return TND_OK;
}

/*  Of all that were told of so far, which one sync takes to the disk. */
static tnd_status_t answer_bad(reader_t *reader, tnd_actor_t *self, tnd_error_t *error)
{
    size_t count = reader->bad_count < BAD_AT_ONCE ? reader->bad_count : BAD_AT_ONCE;
    for (size_t i = 0; i < count; i++)
        TND_TRY(answer_one(reader, self, &reader->bad[i], error));
    if (reader->quarantine != NULL)
        TND_TRY(tnd_quarantine_sync(reader->quarantine, error));
    for (size_t i = 0; i < count; i++)
        if (reader->bad[i].note.way == TND_BAD_QUARANTINE)
            say_aside(self, &reader->bad[i]);
    forget_bad(reader, count);
    return TND_OK;
}

/*  The rows of a block that are bad, while it is read. */
typedef struct {
    uint32_t *offsets;
    char *why;
    uint32_t count, why_bytes;
} refused_t;

/*  A source refused some rows: finds them one by one, and reads the others. */
static tnd_status_t read_others(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                                refused_t *refused, tnd_block_t *block, tnd_error_t *error)
{
    uint32_t count = ticket->ticket.count, good = 0;
    uint32_t epoch = ticket->ticket.epoch;
    uint64_t *indices = tnd_allocate(count, sizeof *indices);
    refused->offsets = tnd_allocate(count, sizeof *refused->offsets);
    refused->why = tnd_allocate(1, (size_t)count * TND_BAD_TEXT_MAX);
    fill_indices(reader, epoch, ticket->ticket.first, count, indices);
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < count && status == TND_OK; i++) {
        tnd_block_t *row = tnd_rack_take(reader->rack, &reader->stream->read);
        tnd_error_t why = {.text = "it is no record"};
        status = read_some(reader, epoch, &indices[i], 1, row, &why);
        tnd_block_drop(&row);
        if (status == TND_OK) {
            indices[good++] = indices[i];
        } else if (status == TND_REFUSED) {
            int size =
                snprintf(refused->why + refused->why_bytes, TND_BAD_TEXT_MAX, "%d%.63s\t%s",
                         reader->options->on_error, tnd_actor_instance(self)->actor, why.text);
            refused->why_bytes +=
                size < TND_BAD_TEXT_MAX ? (uint32_t)size + 1 : (uint32_t)TND_BAD_TEXT_MAX;
            refused->offsets[refused->count++] = i;
            status = TND_OK;
        } else {
            *error = why;
        }
    }
    if (status == TND_OK && good > 0)
        status = read_some(reader, epoch, indices, good, block, error);
    if (status == TND_REFUSED)
        status = tnd_fail(error, "%s: the source refuses rows together that it gave one by one",
                          tnd_actor_name(self));
    free(indices);
    return status;
}

/*  The marks of a block that lacks the bad rows. */
static void mark(tnd_block_t *block, tnd_block_note_t *note, const refused_t *refused)
{
    note->rows = note->count - refused->count;
    size_t offsets = note->count * sizeof(uint32_t);
    block->marks = tnd_buffer_new(offsets + refused->why_bytes);
    uint32_t *origin = tnd_buffer_data(block->marks), *bad = origin + note->rows;
    char *why = (char *)(bad + refused->count);
    for (uint32_t i = 0, at = 0; i < note->count; i++)
        if (at < refused->count && refused->offsets[at] == i)
            bad[at++] = i;
        else
            origin[i - at] = i;
    memcpy(why, refused->why, refused->why_bytes);
    note->origin = origin;
    note->bad = bad;
    note->bad_count = refused->count;
    note->why = why;
    note->why_bytes = refused->why_bytes;
    tnd_buffer_seal(block->marks);
}

/*  A source refused a row and the run is to stop: says which it is. */
static tnd_status_t stop_at(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                            const refused_t *refused, tnd_error_t *error)
{
    tnd_quarantine_place_t place;
    char where[320];
    uint64_t sample;
    fill_indices(reader, ticket->ticket.epoch, ticket->ticket.first + refused->offsets[0], 1,
                 &sample);
    say_place(reader, sample, &place, where, sizeof where);
    return tnd_fail(error,
                    "%s: %s is bad: %.160s; `on_error: skip` or `quarantine` goes on without such "
                    "records",
                    tnd_actor_name(self), where, strchr(refused->why, '\t') + 1);
}

static tnd_status_t read_ticket(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                                tnd_error_t *error)
{
    uint64_t began = tnd_actor_now(self);
    uint32_t count = ticket->ticket.count;
    const tnd_source_facts_t *facts = &reader->part->facts;
    look_ahead(reader, ticket->ticket.epoch, ticket->ticket.first, count);
    tnd_source_call_t call = make_call(reader, count);
    fill_indices(reader, ticket->ticket.epoch, ticket->ticket.first, count,
                 tnd_buffer_data(call.indices));

    refused_t refused = {0};
    tnd_block_t *block = tnd_rack_take(reader->rack, &reader->stream->read);
    bool end = false;
    tnd_status_t status =
        read_call(reader, ticket->ticket.epoch, &call, &count, &end, block, error);
    if (status == TND_REFUSED)
        status = read_others(reader, self, ticket, &refused, block, error);
    if (status == TND_OK && refused.count > 0 && reader->options->on_error == TND_BAD_STOP)
        status = stop_at(reader, self, ticket, &refused, error);
    if (status != TND_OK) {
        free(refused.offsets);
        free(refused.why);
        tnd_block_drop(&block);
        return status;
    }
    uint32_t rows = count - refused.count;
    block->note.rows = rows;
    size_t bytes = tnd_block_bytes(block);
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
    if (refused.count > 0)
        mark(block, &msg.block, &refused);
    free(refused.offsets);
    free(refused.why);
    block->note = msg.block;
    tnd_block_seal(block);
    /* A worker that went away just now is LOST in a moment, and the ticket with it. */
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&block);
    tnd_reader_core_sent(reader->machine, ticket->to, bytes);
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_in, count);
    tnd_count(&statistics->rows_out, rows);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, bytes);
    /* Of ragged rows it is the most that they may have. */
    size_t copied = facts->copied * count;
    bool most = tnd_schema_ragged(&facts->schema) > 0 && bytes < copied;
    tnd_count(&statistics->bytes_copied, most ? bytes : copied);
    return TND_OK;
}

static tnd_status_t reader_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    reader_t *reader = state;
    tnd_effect_t effect;
    if (reader->bad_count > 0) {
        *more_p = true;
        return answer_bad(reader, self, error);
    }
    while (tnd_reader_core_next(reader->machine, tnd_actor_now(self), &effect)) {
        if (effect.kind == TND_EFFECT_READ) {
            *more_p = true;
            return read_ticket(reader, self, &effect.msg, error);
        }
        tnd_actor_control(self, &effect.msg, TND_CARRY_NOTHING);
    }
    return TND_OK;
}

static uint64_t reader_deadline(const void *state)
{
    return tnd_reader_core_deadline(((const reader_t *)state)->machine);
}

static uint32_t reader_blocked_on(const void *state)
{
    return tnd_reader_core_blocked_on(((const reader_t *)state)->machine);
}

static void reader_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const tnd_reader_core_t *machine = ((const reader_t *)state)->machine;
    *queue_p = tnd_reader_core_waiting(machine);
    *credit_p = tnd_reader_core_room(machine);
}

static void reader_fini(void *state)
{
    reader_t *reader = state;
    free(reader->machine_memory);
    tnd_pool_destroy(&reader->indices.pool);
    tnd_pool_destroy(&reader->room.pool);
    tnd_stream_reader_destroy(&reader->intake);
    tnd_quarantine_destroy(&reader->quarantine);
    forget_bad(reader, reader->bad_count);
    free(reader->bad);
    tnd_rack_destroy(&reader->rack);
}

const tnd_kind_t tnd_kind_reader = {
    .spec = &tnd_kind_reader_spec,
    .state_bytes = sizeof(reader_t),
    .facts = reader_facts,
    .list = reader_list,
    .unshare = reader_unshare,
    .derive = reader_derive,
    .needs = reader_needs,
    .init = reader_init,
    .arrive = reader_arrive,
    .work = reader_work,
    .deadline = reader_deadline,
    .blocked_on = reader_blocked_on,
    .depth = reader_depth,
    .fini = reader_fini,
};
