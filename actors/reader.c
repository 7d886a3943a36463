/*  actors/reader.c - answers tickets: maps positions to samples and reads them in blocks.
 *
 *  The reader's state machine (runtime/core/reader.h) decides which worker gets which ticket.  Here
 *  positions become indices of the source, by its order, and these become blocks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/adapt/adaptation.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/reader/bad_reports.h"
#include "actors/reader/order_options.h"
#include "actors/reader/refused_rows.h"
#include "actors/reader/row_reader.h"
#include "actors/reader/sample_order.h"
#include "actors/reader/shared_source.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/core/reader.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"
#include "runtime/option/registry.h"
#include "runtime/text/quantity.h"

/*  Tickets of one lane at the same time: more than any join's window. */
enum { TICKETS_MAX = 65536 };

/*  How long a worker that was late gets nothing: then one block shows whether it still is, which
 *  may cost a quarter of a second. */
static const uint64_t rest_ns = 4000000000;

/*  A drawing that takes longer is reported. */
static const uint64_t draw_report_ns = 1000000000;

/*  How often it shows what it reads. */
static const uint64_t show_every_ns = 1000000;

/*  Positions that are drawn only to get past them. */
typedef struct {
    tnd_actor_t *actor;
    uint64_t all, left; /* at first; now */
    uint64_t begun_ns;
    bool reported;
    bool ends, ended; /* if the actor has to stop */
} drawing_t;

typedef struct {
    const tnd_stream_t *stream;
    const tnd_source_facts_t *facts;
    int on_error; /* tnd_bad_way_t */
    uint32_t lane;
    tnd_row_reader_t *rows;
    drawing_t drawing;
    tnd_bad_reports_t bad;
    uint64_t shown_ns; /* when it last showed what it reads */
    void *machine_memory;
    tnd_reader_core_t *machine;
} reader_t;

/*  Whether `order` can be used on a number of rows, which is known or not. */
static tnd_status_t check_list(const tnd_reader_options_t *options, const tnd_stream_t *stream,
                               uint64_t rows, tnd_error_t *error)
{
    tnd_places_fault_t fault;
    if (tnd_places_check(&stream->order, rows, &fault))
        return TND_OK;
    if (fault.map < options->order.count)
        error->about = options->order.items[fault.map].value;
    return tnd_fail(error, "`order`: %s", fault.why.text);
}

static tnd_status_t check_order(const tnd_reader_options_t *options, const tnd_stream_t *stream,
                                tnd_error_t *error)
{
    if (stream->order.count == 0)
        return TND_OK;
    if (stream->count == TND_UNKNOWN && !stream->by_file)
        return tnd_fail(error, "`order` needs a source whose length is known");
    for (uint32_t lane = 0; lane < TND_LANES_MAX && stream->by_file; lane++)
        if (stream->lane[lane].known)
            TND_TRY(check_list(options, stream, stream->lane[lane].count, error));
    return stream->by_file ? TND_OK : check_list(options, stream, stream->count, error);
}

static tnd_status_t check_window(const tnd_stream_t *stream, tnd_error_t *error)
{
    uint64_t all;
    bool bounded = stream->skip > 0 || stream->take > 0;
    for (uint32_t lane = 0; bounded && lane < stream->lanes; lane++)
        if (stream->lane[lane].known && stream->lane[lane].count == TND_UNKNOWN)
            return tnd_fail(error,
                            "`skip` and `take` count the rows of all lanes in turn, but the source "
                            "of lane %" PRIu32 " does not report how many it has",
                            lane);
    if (stream->count == TND_UNKNOWN)
        return TND_OK;
    if (stream->count > 0 && stream->skip >= stream->count)
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

static tnd_status_t reader_derive(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                  tnd_guarded_call_t *call, tnd_stream_t *stream,
                                  tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    (void)plan, (void)call;
    stream->bad.read = (tnd_bad_way_t)options->on_error;
    TND_TRY(read_limit(options, &stream->bad.limit, error));
    stream->epochs = (uint32_t)options->epochs;
    bool written = options->part == NULL;
    stream->skip = written ? options->skip : 0;
    stream->take = written && options->take != UINT64_MAX ? options->take : 0;
    stream->repeat = written ? options->repeat : 1;
    stream->read.numeric = tnd_source_spec_of(options->source.table)->build;
    stream->fed = stream->read;
    tnd_places_fault_t refused; /* which the check reports */
    if (written)
        tnd_order_list(&options->order, stream->seed, &stream->order);
    else if (tnd_order_part_usable(options->part, &refused))
        tnd_order_short(options, stream->seed, &stream->order);
    TND_TRY(tnd_order_resolve(instance, stream, error));
    stream->pieces = options->shard == TND_SHARD_PIECES;
    stream->undivided = options->shard == TND_SHARD_OFF || stream->pieces;
    if (!written && stream->by_file && (options->skip > 0 || options->take != UINT64_MAX))
        return tnd_fail(error,
                        "`skip` and `take` count the rows of all lanes in turn, and `part` divides "
                        "those of each: write both as maps of `order`");
    TND_TRY(check_order(options, stream, error));
    const tnd_source_spec_t *source = tnd_source_spec_of(options->source.table);
    stream->sized = source->custom == NULL && tnd_source_of(source)->sizes != NULL &&
                    !stream->sequential && tnd_schema_ragged(&stream->read.schema) > 0;
    stream->custom = source->custom != NULL;
    stream->budget = 0;
    return check_window(stream, error);
}

static tnd_reader_core_config_t core_config(const tnd_plan_t *plan, const tnd_stream_t *stream)
{
    return (tnd_reader_core_config_t){.tickets_max = TICKETS_MAX,
                                      .workers_max = plan->instance_count,
                                      .rest_ns = rest_ns,
                                      .before_cache = stream->caches};
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

/*  Positions that a lane may ask for again, and those that are requested ahead of them. */
static uint64_t recall_of(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    uint32_t batcher = tnd_plan_batcher(plan, instance->chain, instance->lane);
    return batcher == plan->instance_count ? 0
                                           : tnd_lane_window_alive(plan, batcher, stream) + 1024;
}

/*  Bytes of `rows` rows that are copied; of those with a budget, the blocks under way and the rows
 *  that wait as they were read. */
static uint64_t copied_bytes(const tnd_stream_t *stream, const tnd_lane_window_t *window,
                             uint64_t rows)
{
    uint64_t longest = tnd_schema_ragged_bytes(&stream->read.schema);
    if (stream->budget == 0 || stream->copied < longest)
        return stream->copied * rows;
    bool waits = tnd_schema_ragged(&stream->fed.schema) > 0;
    uint64_t waiting = rows > window->open ? rows - window->open : 0;
    return (stream->copied - longest) * rows + window->open_held + (waits ? waiting * longest : 0);
}

/*  A lane's tickets go to its readers in turn, so that each has its part of them. */
static void reader_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                          tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *instance = &plan->instances[index];
    const tnd_reader_options_t *options = instance->options;
    const tnd_source_spec_t *source = tnd_source_spec_of(options->source.table);
    const char *name = instance->name;
    uint32_t batcher = tnd_plan_batcher(plan, instance->chain, instance->lane);
    if (batcher == plan->instance_count)
        return;
    tnd_reader_core_config_t core = core_config(plan, stream);
    tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
    uint32_t readers = tnd_plan_alike(plan, index);
    uint64_t rows = tnd_lane_window_alive(plan, batcher, stream) / readers + window.block_rows;
    size_t row_bytes = tnd_schema_row_bytes(&stream->read.schema);
    tnd_memory_estimate_add(estimate, name, tnd_reader_core_bytes(&core), "its list of tickets");
    const tnd_sample_order_config_t order = {.shuffle = (tnd_shuffle_t)options->shuffle,
                                             .stream = stream,
                                             .lane = instance->lane,
                                             .file_count = stream->own.files,
                                             .recall = recall_of(plan, index, stream)};
    if (stream->order.count > 0)
        tnd_memory_estimate_add(estimate, name, tnd_sample_order_bytes(&order),
                                "the order of rows");
    if (is_first_here(plan, index)) {
        tnd_memory_estimate_add(estimate, name, stream->own.loaded,
                                "interpreters, or data that cannot be used as stored in its files");
        tnd_adaptation_memory(plan, instance, stream, estimate);
    }
    tnd_memory_estimate_add(estimate, name, (1 + stream->lists) * sizeof(uint64_t) * rows,
                            "which rows are in %" PRIu64 " rows of blocks", rows);
    tnd_memory_estimate_add(estimate, name, copied_bytes(stream, &window, rows),
                            "the rows of these blocks, of files that are read and not mapped");
    /* A source of the user's, and a stream, write rows to memory of ours; the last may be kept. */
    bool writes = tnd_source_of(source)->read == NULL || stream->sequential;
    if (writes)
        tnd_memory_estimate_add(estimate, name,
                                (row_bytes + tnd_schema_list_bytes(&stream->read.schema)) * rows,
                                "the rows of these blocks, which the source writes");
    if (tnd_source_of(source)->read == NULL && stream->own.caps == 0)
        tnd_memory_estimate_add_allowed(
            estimate, name, "retain", options->retain_bytes,
            "the last rows of a source that can be read only once (`retain:`)");
    if (!writes && stream->copied < row_bytes && tnd_plan_goes_out(plan, index)) {
        uint64_t blocks = window.open / window.block_rows / readers + 1;
        tnd_memory_estimate_add(
            estimate, name,
            stream->budget > 0 ? window.open_held
                               : blocks * tnd_plan_packed(&stream->read.schema, window.block_rows),
            "%" PRIu64 " blocks of %" PRIu64 " rows, packed while they are sent", blocks,
            window.block_rows);
    }
}

static void report_drawing(const drawing_t *self, uint64_t spent_ns)
{
    double spent = (double)spent_ns * 1e-9;
    uint64_t done = self->all - self->left;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of(
        "%s draws the order of its rows up to where it continues: %.0f of %.0f "
        "million positions after %.1f s, about %.0f s left",
        tnd_actor_name(self->actor), (double)done * 1e-6, (double)self->all * 1e-6, spent,
        spent * (double)self->left / (double)(done > 0 ? done : 1));
    tnd_actor_control(self->actor, &msg, TND_CARRY_BUFFER);
    tnd_actor_flush(self->actor);
}

/*  A shuffle draws positions again, which may take long after a resume but does not hang. */
static bool watch_drawing(void *watcher, uint64_t left)
{
    drawing_t *self = watcher;
    uint64_t now = tnd_actor_now(self->actor);
    if (left > self->left)
        *self = (drawing_t){.actor = self->actor, .all = left, .begun_ns = now, .ends = self->ends};
    self->left = left;
    /* Its work begins again, for those who watch how long that takes. */
    tnd_statistics_state(tnd_actor_statistics(self->actor), TND_STATE_RUNNING, 0, now);
    tnd_statistics_state(tnd_actor_statistics(self->actor), TND_STATE_WORKING, 0, now);
    if (!self->reported && now - self->begun_ns > draw_report_ns) {
        self->reported = true;
        report_drawing(self, now - self->begun_ns);
    }
    self->ended = self->ends && tnd_actor_stopping(self->actor);
    return !self->ended;
}

static void make_machine(reader_t *reader, const tnd_actor_t *self)
{
    tnd_reader_core_config_t config = core_config(tnd_actor_plan(self), reader->stream);
    tnd_peers_t caches = tnd_peers_of(self, TND_ROLE_CACHE, reader->lane);
    tnd_peers_t batchers = tnd_peers_of(self, TND_ROLE_JOIN, reader->lane);
    config.self = tnd_actor_id(self);
    config.join = caches.count > 0 ? caches.ids[0] : batchers.ids[0];
    config.lane = reader->lane;
    tnd_peers_free(&batchers);
    tnd_peers_free(&caches);
    reader->machine_memory = tnd_allocate_zeroed(1, tnd_reader_core_bytes(&config));
    reader->machine = tnd_reader_core_init(reader->machine_memory, &config);
}

/*  Whether this is the first reader of its source, which all lanes may share, on its host. */
static bool is_first_of_source(const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_instance_t *own = tnd_actor_instance(self);
    for (uint32_t i = 0; i < tnd_actor_id(self); i++) {
        const tnd_instance_t *other = &plan->instances[i];
        bool shares = !tnd_actor_stream(self)->by_file || other->lane == own->lane;
        if (other->host == own->host && shares && strcmp(other->actor, own->actor) == 0)
            return false;
    }
    return true;
}

/*  Whether a feeder may check the rows as it copies them.  Bad ones then end the run; where they are
 *  left out, the reader has to find them. */
static bool checks_late(const tnd_actor_t *self, const tnd_reader_options_t *options)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    const tnd_instance_t *own = tnd_actor_instance(self);
    return options->on_error == TND_BAD_STOP &&
           tnd_lane_window_feeders_only(plan, tnd_plan_batcher(plan, own->chain, own->lane),
                                        tnd_actor_stream(self));
}

static void send_note(tnd_actor_t *self, tnd_log_level_t level, const char *text)
{
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = level;
    msg.note.payload = tnd_text_payload_of("%s %s", tnd_actor_name(self), text);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  The size of a message to the leader is limited. */
enum { LABELS_BYTES = 32 << 10 };

static void send_labels(const tnd_source_facts_t *facts, tnd_actor_t *self)
{
    for (size_t i = 0; i < facts->class_count;) {
        tnd_msg_t msg = {.kind = TND_MSG_LABELS, .to = TND_LEADER};
        tnd_text_payload_writer_t writer;
        msg.note.number = i;
        tnd_text_payload_begin(&writer);
        for (int used = 0; i < facts->class_count && used < LABELS_BYTES; i++)
            used += fprintf(writer.stream, "%s\n", facts->classes[i]);
        msg.note.payload = tnd_text_payload_end(&writer);
        tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
    }
}

/*  Tells the user what the source has noted about its data; before the start, because a run without
 *  rows may end before this reader has its first message. */
static void send_notes(const tnd_source_facts_t *facts, tnd_actor_t *self)
{
    char classes[512];
    for (size_t i = 0; i < facts->note_count; i++)
        send_note(self, TND_LOG_WARNING, facts->notes[i]);
    if (facts->count == 0)
        send_note(self, TND_LOG_WARNING, "its source has no rows");
    if (facts->class_count > 0)
        send_note(self, TND_LOG_INFO, tnd_source_classes(facts, classes, sizeof classes));
    send_labels(facts, self);
}

/*  Rows that a column divides are divided before the start. */
static tnd_status_t check_divided(const tnd_stream_t *stream, tnd_error_t *error)
{
    for (uint32_t i = 0; i < stream->order.count && stream->count > 0; i++)
        if (stream->order.maps[i].kind == TND_PLACE_PART && stream->order.maps[i].part.list != 0 &&
            stream->order.maps[i].part.rows == 0)
            return tnd_fail(error, "`part`: how a column divides the rows is not known");
    return TND_OK;
}

static tnd_status_t reader_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    reader_t *reader = state;
    const tnd_reader_options_t *options = tnd_actor_options(self);
    reader->stream = tnd_actor_stream(self);
    reader->lane = tnd_actor_instance(self)->lane;
    reader->on_error = options->on_error;
    reader->facts = &tnd_shared_source_part(tnd_actor_shared(self), reader->lane)->facts;
    tnd_row_reader_config_t rows = {
        .name = tnd_actor_name(self),
        .options = options,
        .stream = reader->stream,
        .shared = tnd_actor_shared(self),
        .lane = reader->lane,
        .alone = tnd_plan_alike(tnd_actor_plan(self), tnd_actor_id(self)) == 1,
        .late = checks_late(self, options),
        .recall = recall_of(tnd_actor_plan(self), tnd_actor_id(self), reader->stream),
        .watch = watch_drawing,
        .watcher = &reader->drawing,
    };
    reader->drawing.actor = self;
    TND_TRY(check_divided(reader->stream, error));
    reader->rows = tnd_row_reader_new(&rows);
    make_machine(reader, self);
    if (is_first_of_source(self))
        send_notes(reader->facts, self);
    return tnd_bad_reports_init(&reader->bad, self, reader->rows, error);
}

static tnd_status_t rewind_to(reader_t *reader, const tnd_msg_t *msg, const tnd_cursor_t *cursor,
                              tnd_error_t *error)
{
    tnd_reader_core_rewind(reader->machine, msg->generation);
    return tnd_bad_reports_rewind(&reader->bad, msg->generation, cursor->part[reader->lane], error);
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
        if (msg->kind == TND_MSG_BAD)
            tnd_bad_reports_add(&reader->bad, &arrival->msg);
        else if (msg->kind == TND_MSG_TICKET)
            return take_ticket(reader, self, msg, error);
        else if (msg->kind == TND_MSG_CREDIT)
            tnd_reader_core_credit(reader->machine, arrival->peer, msg->credit.blocks,
                                   msg->credit.bytes);
        break;
    }
    return TND_OK;
}

static void count_block(const reader_t *reader, tnd_actor_t *self, uint32_t count, uint32_t rows,
                        size_t bytes)
{
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_in, count);
    tnd_count(&statistics->rows_out, rows);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, bytes);
    /* For ragged rows `copied` is the most that they may have. */
    size_t copied = reader->facts->copied * count;
    bool less = tnd_schema_ragged(&reader->facts->schema) > 0 && bytes < copied;
    tnd_count(&statistics->bytes_copied, less ? bytes : copied);
}

/*  Sends the rows of a ticket, with `ragged` bytes and read in `work_ns`; takes the block. */
static void send_block(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                       const tnd_refused_rows_t *refused, tnd_block_t *block, uint32_t count,
                       uint64_t ragged, bool end, uint64_t work_ns)
{
    uint32_t read = tnd_held_asked(&ticket->ticket.held, count);
    block->note.rows = read - refused->count;
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
        .budget = ticket->ticket.budget,
        .ragged = ragged,
        .work_ns = work_ns,
        .payload = block,
    };
    if (block->note.rows < count)
        tnd_refused_rows_mark(refused, &ticket->ticket.held, block, &msg.block);
    uint32_t measured = tnd_actor_stream(self)->measured;
    if (measured > 0 && tnd_actor_plan(self)->instances[ticket->to].kind->role == TND_ROLE_JOIN)
        tnd_block_measure(block, measured - 1, &msg.block);
    block->note = msg.block;
    tnd_block_seal(block);
    tnd_recorder_made(tnd_actor_recorder(self), &msg, work_ns);
    /* A worker that has just gone away is LOST in a moment, and the ticket with it. */
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&block);
    tnd_reader_core_sent(reader->machine, ticket->to, bytes);
    count_block(reader, self, read, read - refused->count, bytes);
}

/*  Shows which file is read, before a read that may hang. */
static void show_place(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket, uint64_t now)
{
    tnd_source_place_t place;
    if (now - reader->shown_ns < show_every_ns)
        return;
    reader->shown_ns = now;
    if (tnd_row_reader_where(reader->rows, ticket->ticket.epoch, ticket->ticket.first, &place))
        tnd_actor_detail_read(tnd_actor_detail(self), place.file, place.record, place.offset);
}

static tnd_status_t read_ticket(reader_t *reader, tnd_actor_t *self, const tnd_msg_t *ticket,
                                tnd_error_t *error)
{
    reader->drawing.ends = true;
    tnd_row_reader_seek(reader->rows, ticket->ticket.epoch, ticket->ticket.first);
    reader->drawing.ends = false;
    if (reader->drawing.ended)
        return TND_STOPPED;
    uint64_t ragged, began = tnd_actor_now(self);
    show_place(reader, self, ticket, began);
    tnd_msg_t fits = *ticket;
    TND_TRY(tnd_row_reader_fit(reader->rows, ticket->ticket.epoch, ticket->ticket.first,
                               &ticket->ticket.held, ticket->ticket.budget, &fits.ticket.count,
                               &ragged, error));
    tnd_refused_rows_t refused = {0};
    tnd_block_t *block = tnd_row_reader_block(reader->rows);
    bool end = false;
    tnd_status_t status =
        tnd_row_reader_read(reader->rows, ticket->ticket.epoch, ticket->ticket.first,
                            &ticket->ticket.held, &fits.ticket.count, &end, block, error);
    if (status == TND_OK)
        tnd_refused_rows_take(&refused, reader->rows, self);
    if (status == TND_REFUSED)
        status = tnd_refused_rows_read(&refused, reader->rows, self, &fits, block, error);
    if (status == TND_OK && refused.count > 0 && reader->on_error == TND_BAD_STOP)
        status = tnd_refused_rows_fail(&refused, reader->rows, self, ticket, error);
    uint64_t now = tnd_actor_now(self);
    tnd_recorder_time(tnd_actor_recorder(self), now);
    if (status == TND_OK)
        send_block(reader, self, ticket, &refused, block, fits.ticket.count, ragged, end,
                   now - began);
    else
        tnd_block_drop(&block);
    tnd_refused_rows_free(&refused);
    return status;
}

static tnd_status_t reader_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    reader_t *reader = state;
    tnd_effect_t effect;
    if (reader->bad.count > 0) {
        *more_p = true;
        return tnd_bad_reports_handle(&reader->bad, self, error);
    }
    tnd_reader_core_awake(reader->machine, tnd_actor_awake(self));
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
    tnd_bad_reports_free(&reader->bad);
    tnd_row_reader_destroy(&reader->rows);
}

/* --- options and ports ------------------------------------------------------------------------ */

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_reader_options_t, source, PART, GRAPH), .parts = tnd_registry_source_table,
     .help = "what is read, `{FORMAT: {options}}`"},
    {TND_OPTION(tnd_reader_options_t, part, TABLE, GRAPH), .fallback = "",
     .table = &tnd_order_part_table,
     .help =
         "one of several disjoint parts of the rows, `{of: [80, 20], index: 0}`, before all that "
         "follows: the same rows in each epoch, on any number of hosts"},
    {TND_OPTION(tnd_reader_options_t, shuffle, ENUM, GRAPH), .fallback = "none",
     .choices = "none|global|tensorflow",
     .help = "the order of an epoch: as stored, a permutation of all samples, or TensorFlow's own "
             "index_shuffle"},
    {TND_OPTION(tnd_reader_options_t, order, PARTS, GRAPH), .fallback = "",
     .parts = tnd_order_map_table, .check = tnd_order_check,
     .help = "the order of an epoch as a list of maps, applied as written, as tf.data's calls are; "
             "`part`, `skip`, `take`, `repeat` and `shuffle` are short for one"},
    {TND_OPTION(tnd_reader_options_t, skip, U64, GRAPH), .unit = "rows", .fallback = "0",
     .range = "0..4503599627370496",
     .help = "rows at the start of the source that are left out, before the shuffle"},
    {TND_OPTION(tnd_reader_options_t, take, U64, GRAPH), .unit = "rows", .fallback = "all",
     .range = "1..4503599627370496", .choices = "all=18446744073709551615",
     .help = "rows that are used after the skipped ones, over all lanes; the others are left "
             "out before the shuffle"},
    {TND_OPTION(tnd_reader_options_t, repeat, U64, GRAPH), .unit = "times", .fallback = "1",
     .range = "1..4294967295",
     .help = "how often each of these rows occurs in an epoch; a shuffle mixes all of them"},
    {TND_OPTION(tnd_reader_options_t, epochs, U64, GRAPH), .unit = "epochs", .fallback = "1",
     .range = "1..4294967294", .choices = "forever=4294967295", .help = "passes over the data"},
    {TND_OPTION(tnd_reader_options_t, shard, ENUM, GRAPH), .fallback = "index",
     .choices = "index|file|source|off|pieces|auto",
     .help = "how lanes divide the data: by position; by file: the one at place i of the list is "
             "of lane i mod lanes, whose host alone needs it; by source: each lane opens its own, "
             "which is told its lane (sources of users only); off: each has all rows; pieces: each "
             "reads all rows, and its replicas get every lanes-th piece of each global batch, as "
             "with AutoShardPolicy.DATA; auto: file if TensorFlow has a dataset of such files, "
             "otherwise pieces, as AutoShardPolicy.AUTO"},
    {TND_OPTION(tnd_reader_options_t, workers, U64, PLACE), .unit = "readers", .fallback = "1",
     .range = "1..64", .help = "readers per lane, for a source that can read any index"},
    {TND_OPTION(tnd_reader_options_t, access, ENUM, TUNE), .fallback = "auto",
     .choices = "auto|map|read",
     .help = "how files are read: mapped, which copies nothing, or by read calls, where a server "
             "that goes away is an error and no signal; auto reads files on nfs, smb, lustre, fuse "
             "and the like, and files that are shuffled and larger than the page cache may be"},
    {TND_OPTION(tnd_reader_options_t, verify, ENUM, TUNE), .fallback = "quick",
     .choices = "quick|full",
     .help =
         "what a checkpoint stores to recognize the data on resume: of each file the size, the "
         "modification time and a hash of the first and last 64 KiB, or with full also a hash of "
         "all its bytes, for which every file is read once before the start; of a folder of the "
         "source `folder` names, sizes and the newest modification time, or with full also a "
         "hash of the bytes of all its files; with full the store of a cache is that of these "
         "bytes, too"},
    {TND_OPTION_NAMED("retry", tnd_reader_options_t, retry_ns, DURATION, TUNE), .fallback = "10s",
     .range = "0s..10min",
     .help = "how long a read call that fails for a moment (EIO, ESTALE, EAGAIN, ETIMEDOUT) is "
             "tried again before the run fails"},
    {TND_OPTION(tnd_reader_options_t, on_error, ENUM, GRAPH), .fallback = "stop",
     .choices = "stop|skip|quarantine",
     .help = "a record that the source can read but not decode: fails the run, is left out and "
             "counted, or is also set aside, see `quarantine`"},
    {TND_OPTION(tnd_reader_options_t, quarantine, PATH, PLACE), .example = "quarantine",
     .fallback = "quarantine",
     .help = "the folder that bad records are set aside in, with `on_error: quarantine` of the "
             "reader or the preprocessor: a file COLUMN.LANE.npy a column, as read, which `npy` "
             "reads back, and index.LANE.jsonl, which says where each came from and why; a record "
             "that is read in three epochs is there three times, and a new run begins them anew"},
    {TND_OPTION(tnd_reader_options_t, max_bad, STRING, TUNE), .fallback = "100%",
     .help = "the most bad records before the run ends: a number, or a part of those read such as "
             "0.1%, at least of one epoch"},
    {TND_OPTION(tnd_reader_options_t, isolate, ENUM, PLACE), .fallback = "thread",
     .choices = "thread|process",
     .help = "where it runs: in processes of its own a crash does not take the host with it"},
    {TND_OPTION_NAMED("retain", tnd_reader_options_t, retain_bytes, BYTES, TUNE),
     .fallback = "64MiB",
     .help = "of a source that can be read only once: the last rows, kept in case they are needed "
             "again"},
};

const tnd_kind_t tnd_kind_reader = {
    .spec =
        {
            .table = {.name = "reader",
                      .help = "reads samples from a source, in the order of the stream",
                      TND_OPTIONS(options, tnd_reader_options_t)},
            .role = TND_ROLE_READER,
            .instances = TND_INSTANCE_LANE,
            .accepts =
                TND_ACCEPT(REWIND) | TND_ACCEPT(TICKET) | TND_ACCEPT(CREDIT) | TND_ACCEPT(BAD),
            .outlets = {{.name = "out", .flow = TND_FLOW_ROWS, .required = true}},
            .outlet_count = 1,
        },
    .state_bytes = sizeof(reader_t),
    .facts = tnd_shared_source_open,
    .adapt = tnd_adaptation_run,
    .list = tnd_shared_source_list,
    .unshare = tnd_shared_source_close,
    .check = tnd_order_part_check,
    .derive = reader_derive,
    .estimate_memory = reader_memory,
    .init = reader_init,
    .arrive = reader_arrive,
    .work = reader_work,
    .deadline = reader_deadline,
    .blocked_on = reader_blocked_on,
    .depth = reader_depth,
    .fini = reader_fini,
};
