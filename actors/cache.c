/*  actors/cache.c - stores the rows that were made of each sample, for later epochs.
 *
 *  The cache's state machine (runtime/core/cache.h) decides which tickets it answers itself.  Here
 *  positions become samples, as in the reader, and samples become rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "actors/cache/cache_options.h"
#include "actors/cache/mixed_block.h"
#include "actors/cache/sample_files.h"
#include "actors/cache/sample_store.h"
#include "actors/cache/sample_writer.h"
#include "actors/cache/store_folder.h"
#include "actors/plan/kind_options.h"
#include "actors/plan/lane_window.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/reader/sample_order.h"
#include "runtime/base/allocation.h"
#include "runtime/core/cache.h"
#include "runtime/core/lane/mixed_rows.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"

extern const tnd_kind_t tnd_kind_cache;

/*  As of a reader. */
enum { TICKETS_MAX = 65536 };
static const uint64_t rest_ns = 4000000000;

typedef struct {
    const tnd_stream_t *stream;
    uint32_t lane;
    tnd_sample_store_t *store;   /* in memory; NULL: in a folder */
    char *folder;                /* of this lane */
    tnd_sample_files_t *files;   /* in it, if it is complete */
    tnd_sample_writer_t *writer; /* until it is */
    tnd_sample_order_t order;
    uint64_t *samples;     /* of one ticket */
    uint32_t *held;        /* positions of a ticket */
    uint32_t samples_room; /* of both */
    tnd_block_pool_t *block_pool;
    tnd_pool_t *lists; /* of mixed blocks */
    tnd_peers_t readers, makers, before, after;
    void *machine_memory;
    tnd_cache_core_t *machine;
} cache_t;

/*  NULL: it stores rows in memory. */
static const char *folder_of(const tnd_cache_options_t *options)
{
    const tnd_store_dir_options_t *dir = options->store.options;
    return dir != NULL && options->store.table->size > 0 ? dir->path : NULL;
}

static tnd_status_t cache_derive(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                 tnd_guarded_call_t *call, tnd_stream_t *stream, tnd_error_t *error)
{
    const tnd_cache_options_t *options = instance->options;
    (void)plan, (void)call;
    if (stream->caches)
        return tnd_fail(error, "a chain has one cache; leave out this one");
    if (stream->sequential || (stream->count == TND_UNKNOWN && !stream->by_file))
        return tnd_fail(error, "a cache needs a source that can read any row and whose length is "
                               "known; compressed files become one with `spool:`");
    for (uint32_t i = 0; i < stream->order.count; i++) {
        tnd_place_kind_t kind = stream->order.maps[i].kind;
        if ((kind == TND_PLACE_INTERLEAVE && !tnd_sample_order_is_steady(&stream->order)) ||
            kind == TND_PLACE_WINDOW)
            return tnd_fail(error,
                            "a cache does not know which samples `%s` of the reader puts at "
                            "a position",
                            tnd_place_name(kind));
    }
    /* Their names depend on the order, which another run may change. */
    if (folder_of(options) != NULL && tnd_sample_order_is_steady(&stream->order))
        return tnd_fail(error,
                        "a store in a folder does not know which samples `interleave` of the "
                        "reader puts at a position: use `store: memory`");
    /* There the samples of a lane change from epoch to epoch. */
    if (folder_of(options) != NULL && stream->lanes > 1 && !stream->by_file)
        return tnd_fail(error,
                        "a store in a folder needs lanes that have samples of their own; set "
                        "`shard: file` on the reader, or use `store: memory`");
    if (stream->drawn != NULL && !options->freeze)
        return tnd_fail_about(error, stream->drawn->value,
                              "`%s` makes other rows in each epoch, and the cache after it would "
                              "repeat those of one; move it to a preprocessor after the cache, or "
                              "set `freeze: true` on the cache",
                              stream->drawn->table->name);
    stream->frozen = stream->drawn != NULL;
    stream->caches = true;
    stream->cached = stream->fed;
    return TND_OK;
}

/*  Samples of the lane's source. */
static uint64_t samples_of(const tnd_stream_t *stream, uint32_t lane)
{
    uint64_t rows = stream->by_file ? stream->lane[lane].count : stream->count;
    return rows * tnd_places_unit(&stream->order);
}

static tnd_cache_core_config_t core_config(const tnd_plan_t *plan)
{
    return (tnd_cache_core_config_t){.reader_count = 1,
                                     .makers_max = plan->instance_count,
                                     .tickets_max = TICKETS_MAX,
                                     .workers_max = plan->instance_count,
                                     .rest_ns = rest_ns};
}

static void cache_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                         tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *instance = &plan->instances[index];
    const tnd_cache_options_t *options = instance->options;
    const char *name = instance->name;
    uint32_t batcher = tnd_plan_batcher(plan, instance->chain, instance->lane);
    if (batcher == plan->instance_count)
        return;
    tnd_cache_core_config_t core = core_config(plan);
    tnd_sample_order_config_t order =
        tnd_sample_order_planned(plan, instance->chain, instance->lane, stream);
    tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
    uint64_t rows = tnd_lane_window_alive(plan, batcher, stream) + window.block_rows;
    uint64_t samples = samples_of(stream, instance->lane);
    if (folder_of(options) == NULL) {
        tnd_memory_estimate_add_allowed(estimate, name, "limit", options->limit,
                                        "stored rows (`limit:`)");
        tnd_memory_estimate_add(estimate, name, tnd_sample_store_list_bytes(samples),
                                "where the rows of %" PRIu64 " samples are", samples);
    } else {
        tnd_memory_estimate_add(
            estimate, name,
            tnd_sample_files_list_bytes(samples) +
                tnd_sample_writer_bytes(&stream->cached.schema, samples,
                                        tnd_stream_lane_count(stream, instance->lane),
                                        options->limit),
            "where the rows of %" PRIu64 " samples are, and rows to write", samples);
    }
    tnd_memory_estimate_add(estimate, name, tnd_cache_core_bytes(&core), "its lists of tickets");
    tnd_memory_estimate_add(estimate, name, tnd_sample_order_bytes(&order), "the order of rows");
    tnd_memory_estimate_add(estimate, name, window.open_held,
                            "blocks that wait until they are sent");
    tnd_memory_estimate_add(
        estimate, name,
        rows * stream->cached.rows_max *
                ((1 + 2 * (uint64_t)tnd_schema_ragged(&stream->cached.schema)) * sizeof(uint64_t) +
                 sizeof(uint32_t)) +
            tnd_mixed_block_lists(&stream->cached.schema, rows * stream->cached.rows_max),
        "which rows are in %" PRIu64 " rows of blocks", rows);
    if (tnd_plan_goes_out(plan, index))
        tnd_memory_estimate_add(estimate, name, window.open_held,
                                "these blocks, packed while they are sent");
}

static uint32_t cache_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                             const tnd_stream_t *stream)
{
    (void)plan, (void)instance, (void)stream;
    return TND_LANE_WINDOW_BLOCKS;
}

/*  The samples at positions, in cache->samples. */
static const uint64_t *find_samples(cache_t *cache, uint32_t epoch, uint64_t first, uint32_t count)
{
    if (count > cache->samples_room) {
        free(cache->samples);
        free(cache->held);
        cache->samples = tnd_allocate(count, sizeof *cache->samples);
        cache->held = tnd_allocate(count, sizeof *cache->held);
        cache->samples_room = count;
    }
    tnd_sample_order_fill(&cache->order, epoch, first, count, cache->samples);
    return cache->samples;
}

static bool has(const cache_t *cache, uint64_t sample)
{
    return cache->store != NULL   ? tnd_sample_store_has(cache->store, sample)
           : cache->files != NULL ? tnd_sample_files_has(cache->files, sample)
                                  : false;
}

/*  The stored samples at positions come first in cache->samples, and their positions in cache->held;
 *  returns how many they are. */
static uint32_t find_held(cache_t *cache, uint32_t epoch, uint64_t first, uint32_t count)
{
    const uint64_t *samples = find_samples(cache, epoch, first, count);
    uint32_t held = 0;
    for (uint32_t i = 0; i < count; i++)
        if (has(cache, samples[i])) {
            cache->samples[held] = samples[i];
            cache->held[held++] = i;
        }
    return held;
}

static uint32_t find_stored(void *store, uint32_t epoch, uint64_t first, uint32_t count,
                            tnd_held_t *held)
{
    cache_t *cache = store;
    uint32_t stored = find_held(cache, epoch, first, count);
    for (uint32_t i = 0; i < stored; i++)
        tnd_held_add(held, cache->held[i]);
    return stored;
}

/* --- a store in a folder ---------------------------------------------------------------------- */

static void warn(tnd_actor_t *self, const char *what, const char *why)
{
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of("%s %s: %.400s", tnd_actor_name(self), what, why);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  How many different samples an epoch has. */
static uint64_t needed_of(const tnd_stream_t *stream, uint32_t lane)
{
    return stream->order.count == 0 ? tnd_stream_window(stream, lane).count : UINT64_MAX;
}

/*  What cannot be written is made again in each epoch. */
static void give_up(cache_t *cache, tnd_actor_t *self, const char *why)
{
    tnd_sample_writer_close(&cache->writer);
    tnd_cache_core_store_full(cache->machine);
    warn(self, "its rows are not stored", why);
}

static void begin_writing(cache_t *cache, tnd_actor_t *self)
{
    const tnd_cache_options_t *options = tnd_actor_options(self);
    tnd_sample_writer_config_t config = {.folder = cache->folder,
                                         .schema = &cache->stream->cached.schema,
                                         .samples = samples_of(cache->stream, cache->lane),
                                         .needed = needed_of(cache->stream, cache->lane),
                                         .positions =
                                             tnd_stream_lane_count(cache->stream, cache->lane),
                                         .limit = options->limit};
    uint32_t left;
    tnd_error_t why;
    if (tnd_sample_writer_open(&cache->writer, &config, &left, &why) != TND_OK)
        give_up(cache, self, why.text);
    else if (left > 0)
        warn(self, "its store was not completed by the process that began it, and is made again",
             cache->folder);
}

static void open_folder(cache_t *cache, tnd_actor_t *self, const char *dir)
{
    tnd_error_t why;
    cache->folder = tnd_store_folder(tnd_actor_plan(self), tnd_actor_id(self), cache->stream, dir);
    if (access(cache->folder, F_OK) == 0) {
        if (tnd_sample_files_open(&cache->files, cache->folder, &cache->stream->cached.schema,
                                  samples_of(cache->stream, cache->lane), &why) == TND_OK)
            return;
        warn(self, "its store is damaged, and is made again", why.text);
        tnd_sample_writer_discard(cache->folder);
    }
    begin_writing(cache, self);
}

static void publish(cache_t *cache, tnd_actor_t *self)
{
    tnd_error_t why;
    tnd_status_t status = tnd_sample_writer_publish(cache->writer, &why);
    if (status == TND_OK)
        status = tnd_sample_files_open(&cache->files, cache->folder, &cache->stream->cached.schema,
                                       samples_of(cache->stream, cache->lane), &why);
    if (status != TND_OK)
        give_up(cache, self, why.text);
    tnd_sample_writer_close(&cache->writer);
}

static tnd_status_t cache_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    cache_t *cache = state;
    const tnd_cache_options_t *options = tnd_actor_options(self);
    const tnd_plan_t *plan = tnd_actor_plan(self);
    (void)error;
    cache->stream = tnd_actor_stream(self);
    cache->lane = tnd_actor_instance(self)->lane;
    uint64_t samples = needed_of(cache->stream, cache->lane);
    tnd_count(&tnd_actor_statistics(self)->samples, samples != UINT64_MAX ? samples : 0);
    cache->block_pool = tnd_block_pool_new();
    cache->readers = tnd_peers_answering(self, cache->lane);
    cache->makers = tnd_peers_before(self, TND_ROLE_WORKER);
    cache->before = tnd_peers_before(self, TND_ROLE_NONE);
    cache->after = tnd_peers_after(self, TND_ROLE_NONE);
    if (folder_of(options) == NULL)
        cache->store = tnd_sample_store_new(&cache->stream->cached.schema,
                                            samples_of(cache->stream, cache->lane), options->limit);
    tnd_sample_order_config_t order =
        tnd_sample_order_planned(plan, tnd_actor_instance(self)->chain, cache->lane, cache->stream);
    tnd_sample_order_init(&cache->order, &order);
    tnd_cache_core_config_t config = core_config(plan);
    config.self = tnd_actor_id(self);
    config.join = tnd_plan_batcher(plan, tnd_actor_instance(self)->chain, cache->lane);
    config.lane = cache->lane;
    config.readers = cache->readers.ids;
    config.reader_count = cache->readers.count;
    config.stored = find_stored;
    config.store = cache;
    cache->machine_memory = tnd_allocate_zeroed(1, tnd_cache_core_bytes(&config));
    cache->machine = tnd_cache_core_init(cache->machine_memory, &config);
    if (folder_of(options) != NULL)
        open_folder(cache, self, folder_of(options));
    return TND_OK;
}

/* --- what arrives ----------------------------------------------------------------------------- */

static tnd_status_t take_ticket(cache_t *cache, const tnd_actor_t *self, const tnd_msg_t *msg,
                                tnd_error_t *error)
{
    if (tnd_cache_core_full(cache->machine))
        return tnd_fail(error, "%s: %s asks for more than %d blocks at a time",
                        tnd_actor_name(self), tnd_actor_plan(self)->instances[msg->from].name,
                        TICKETS_MAX);
    tnd_cache_core_ticket(cache->machine, msg);
    return TND_OK;
}

/*  Returns false if the rows do not fit. */
static bool store_sample(cache_t *cache, tnd_actor_t *self, uint64_t sample,
                         const tnd_block_t *block, uint32_t first, uint32_t rows)
{
    bool fits = true;
    tnd_error_t why;
    if (cache->store != NULL)
        return tnd_sample_store_put(cache->store, sample, block, first, rows);
    if (cache->writer != NULL &&
        tnd_sample_writer_put(cache->writer, sample, block, first, rows, &fits, &why) != TND_OK)
        give_up(cache, self, why.text);
    return fits;
}

/*  Stores the samples of a block that are not stored yet and fit.  A sample with a bad row is made
 *  again in each epoch, and so reported in each. */
static void store_block(cache_t *cache, tnd_actor_t *self, const tnd_block_t *block,
                        const tnd_block_note_t *note)
{
    const uint64_t *samples = find_samples(cache, note->epoch, note->first, note->count);
    uint64_t before = cache->store != NULL ? tnd_sample_store_bytes(cache->store) : 0;
    tnd_mixed_rows_t rows = {.made = note};
    uint32_t bad = 0, kept = 0, unkept = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        bool stored = has(cache, samples[i]);
        uint32_t first, some = tnd_mixed_rows_next(&rows, stored, &first);
        if (bad == note->bad_count || note->bad[bad] != i) {
            bool fits = !stored && store_sample(cache, self, samples[i], block, first, some);
            kept += fits;
            unkept += !stored && !fits;
            continue;
        }
        bad++;
        if (cache->writer != NULL)
            tnd_sample_writer_skip(cache->writer, samples[i]);
    }
    if (unkept > 0)
        tnd_cache_core_store_full(cache->machine);
    if (cache->writer != NULL)
        tnd_sample_writer_cover(cache->writer, note->epoch, note->first, note->count);
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    uint64_t more = cache->store != NULL ? tnd_sample_store_bytes(cache->store) - before : 0;
    tnd_count(&statistics->bytes_copied, more);
    tnd_count(&statistics->kept, more);
    tnd_count(&statistics->kept_samples, kept);
    tnd_count(&statistics->unkept, unkept);
}

static tnd_status_t take_block(cache_t *cache, tnd_actor_t *self, tnd_arrival_t *arrival,
                               tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    tnd_block_t *block = msg->block.payload;
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_in, msg->block.rows);
    tnd_count(&statistics->blocks_in, 1);
    tnd_count(&statistics->bytes_in, msg->block.bytes);
    if (tnd_cache_core_block(cache->machine, msg)) {
        arrival->carry = TND_CARRY_NOTHING;
        block->note = msg->block;
        store_block(cache, self, block, &msg->block);
        /* Rows of files that were lost meanwhile are not rows of the sample. */
        if (tnd_block_intact(block, 0, msg->block.rows, error) != TND_OK) {
            tnd_sample_writer_close(&cache->writer);
            return TND_FAILED;
        }
    }
    return TND_OK;
}

static void say_go(const cache_t *cache, tnd_actor_t *self, const tnd_msg_t *heard)
{
    tnd_msg_t go;
    if (tnd_cache_core_go(cache->machine, heard, &go))
        (void)tnd_actor_send(self, &go, TND_CARRY_NOTHING);
}

static tnd_status_t take_message(cache_t *cache, tnd_actor_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        tnd_cache_core_rewind(cache->machine, msg->generation);
        break;
    case TND_MSG_TICKET:
        return take_ticket(cache, self, msg, error);
    case TND_MSG_BLOCK:
        say_go(cache, self, msg);
        return take_block(cache, self, arrival, error);
    case TND_MSG_LOST:
        tnd_cache_core_lost(cache->machine, msg);
        break;
    case TND_MSG_BEGIN:
        tnd_cache_core_begin(cache->machine, msg);
        say_go(cache, self, msg);
        break;
    case TND_MSG_CREDIT:
        tnd_cache_core_credit(cache->machine, arrival->peer, msg->credit.blocks, msg->credit.bytes);
        break;
    default:
        break;
    }
    return TND_OK;
}

static void peer_up(cache_t *cache, tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    if (tnd_peers_include(&cache->after, arrival->peer)) {
        tnd_cache_core_worker_up(cache->machine, arrival->peer);
    } else if (tnd_peers_include(&cache->makers, arrival->peer)) {
        tnd_cache_core_maker_up(cache->machine, arrival->peer, arrival->birth);
    } else if (tnd_peers_include(&cache->before, arrival->peer)) {
        /* Straight from a reader: a ticket is credit enough. */
        tnd_msg_t msg = {.kind = TND_MSG_CREDIT, .from = tnd_actor_id(self), .to = arrival->peer};
        msg.credit.blocks = msg.credit.bytes = UINT64_MAX;
        (void)tnd_actor_send(self, &msg, TND_CARRY_NOTHING);
    }
}

static tnd_status_t cache_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    cache_t *cache = state;
    tnd_status_t status = TND_OK;
    if (arrival->kind == TND_ARRIVAL_UP)
        peer_up(cache, self, arrival);
    else if (arrival->kind == TND_ARRIVAL_LOST && tnd_peers_include(&cache->after, arrival->peer))
        tnd_cache_core_worker_lost(cache->machine, arrival->peer);
    else if (arrival->kind == TND_ARRIVAL_MESSAGE)
        status = take_message(cache, self, arrival, error);
    for (tnd_block_t *block; (block = tnd_cache_core_drop(cache->machine)) != NULL;)
        tnd_block_drop(&block);
    return status;
}

/* --- what is sent ----------------------------------------------------------------------------- */

/*  The rows of the first samples that fit the budget; *count_p: how many. */
static tnd_status_t fill_block(cache_t *cache, const uint64_t *samples, uint32_t *count_p,
                               uint64_t budget, uint64_t *ragged_p, tnd_block_t *block,
                               tnd_error_t *error)
{
    if (cache->files != NULL) {
        if (cache->stream->budget > 0)
            TND_TRY(tnd_sample_files_fit(cache->files, samples, count_p, budget, ragged_p, error));
        return tnd_sample_files_fill(cache->files, samples, *count_p, block, error);
    }
    if (cache->stream->budget > 0)
        *count_p = tnd_sample_store_fit(cache->store, samples, *count_p, budget, ragged_p);
    tnd_sample_store_fill(cache->store, samples, *count_p, block);
    return TND_OK;
}

/*  A block of rows that are stored. */
static tnd_status_t make_block(cache_t *cache, tnd_actor_t *self, const tnd_effect_t *effect,
                               tnd_block_t **block_p, tnd_error_t *error)
{
    const tnd_msg_t *ticket = &effect->msg;
    uint64_t began = tnd_actor_now(self), ragged = 0;
    uint32_t count = ticket->ticket.count;
    const uint64_t *samples =
        find_samples(cache, ticket->ticket.epoch, ticket->ticket.first, count);
    tnd_block_t *block = tnd_block_pool_take(cache->block_pool, &cache->stream->cached.schema);
    tnd_status_t status =
        fill_block(cache, samples, &count, ticket->ticket.budget, &ragged, block, error);
    if (status != TND_OK) {
        tnd_block_drop(&block);
        return status;
    }
    block->note.first = ticket->ticket.first;
    block->note.lane = cache->lane;
    block->note.epoch = ticket->ticket.epoch;
    block->note.count = count;
    block->note.asked = ticket->ticket.count;
    block->note.attempt = ticket->ticket.attempt;
    block->note.budget = ticket->ticket.budget;
    block->note.ragged = ragged;
    block->note.bytes = tnd_block_bytes(block);
    block->note.work_ns = tnd_actor_now(self) - began;
    tnd_block_seal(block);
    *block_p = block;
    return TND_OK;
}

/*  A block of rows that are stored and rows that were made; *stored_p: how many are stored. */
static tnd_status_t mix_block(cache_t *cache, tnd_actor_t *self, tnd_block_t *made,
                              uint64_t *stored_p, tnd_block_t **block_p, tnd_error_t *error)
{
    const tnd_block_note_t *note = &made->note;
    uint64_t began = tnd_actor_now(self), ragged;
    uint32_t held = find_held(cache, note->epoch, note->first, note->count), count = held;
    tnd_block_t *stored = tnd_block_pool_take(cache->block_pool, &cache->stream->cached.schema);
    tnd_status_t status =
        fill_block(cache, cache->samples, &count, UINT64_MAX, &ragged, stored, error);
    tnd_block_seal(stored);
    if (status == TND_OK) {
        const tnd_mixed_parts_t parts = {.stored = stored,
                                         .made = made,
                                         .held = cache->held,
                                         .held_count = held,
                                         .budget = cache->stream->budget > 0 ? note->budget : 0};
        tnd_block_t *block = tnd_mixed_block(cache->block_pool, &cache->lists, &parts, stored_p);
        block->note.work_ns += tnd_actor_now(self) - began;
        tnd_block_seal(block);
        *block_p = block;
    }
    tnd_block_drop(&stored);
    return status;
}

/*  The block that answers a ticket; *stored_p: how many of its rows are stored. */
static tnd_status_t find_block(cache_t *cache, tnd_actor_t *self, const tnd_effect_t *effect,
                               uint64_t *stored_p, tnd_block_t **block_p, tnd_error_t *error)
{
    tnd_block_t *kept = effect->payload;
    *stored_p = 0;
    if (kept != NULL && effect->at > 0 && kept->note.count > 0)
        return mix_block(cache, self, kept, stored_p, block_p, error);
    if (kept == NULL) {
        TND_TRY(make_block(cache, self, effect, block_p, error));
        *stored_p = (*block_p)->note.rows;
        return TND_OK;
    }
    *block_p = tnd_block_pool_prefix(cache->block_pool, kept, kept->note.count);
    return TND_OK;
}

static tnd_status_t send_block(cache_t *cache, tnd_actor_t *self, const tnd_effect_t *effect,
                               tnd_error_t *error)
{
    const tnd_msg_t *ticket = &effect->msg;
    const tnd_block_t *kept = effect->payload;
    uint64_t stored;
    tnd_block_t *block;
    TND_TRY(find_block(cache, self, effect, &stored, &block, error));
    block->note.end = kept != NULL && kept->note.end && block->note.count == kept->note.count;
    block->note.asked = ticket->ticket.count;
    block->note.attempt = ticket->ticket.attempt;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK,
                     .generation = ticket->generation,
                     .from = tnd_actor_id(self),
                     .to = ticket->to,
                     .block = block->note};
    msg.block.payload = block;
    if (cache->stream->measured > 0 &&
        tnd_actor_plan(self)->instances[ticket->to].kind->role == TND_ROLE_JOIN)
        tnd_block_measure(block, cache->stream->measured - 1, &msg.block);
    block->note = msg.block;
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_count(&statistics->rows_out, msg.block.rows);
    tnd_count(&statistics->stored, stored);
    tnd_count(&statistics->blocks_out, 1);
    tnd_count(&statistics->bytes_out, msg.block.bytes);
    uint64_t bytes = msg.block.bytes;
    /* A worker that has just gone away is LOST in a moment, and the ticket with it. */
    if (tnd_actor_send(self, &msg, TND_CARRY_BLOCK) != TND_OK)
        tnd_block_drop(&block);
    tnd_cache_core_sent(cache->machine, ticket->to, bytes);
    return TND_OK;
}

static tnd_status_t cache_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    cache_t *cache = state;
    tnd_effect_t effect;
    tnd_cache_core_awake(cache->machine, tnd_actor_awake(self));
    if (cache->writer != NULL && tnd_sample_writer_complete(cache->writer))
        publish(cache, self);
    while (tnd_cache_core_next(cache->machine, tnd_actor_now(self), &effect)) {
        if (effect.kind == TND_EFFECT_READ) {
            *more_p = true;
            return send_block(cache, self, &effect, error);
        }
        tnd_actor_control(self, &effect.msg, TND_CARRY_NOTHING);
    }
    return TND_OK;
}

static uint64_t cache_deadline(const void *state)
{
    return tnd_cache_core_deadline(((const cache_t *)state)->machine);
}

static uint32_t cache_blocked_on(const void *state)
{
    return tnd_cache_core_blocked_on(((const cache_t *)state)->machine);
}

static void cache_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const tnd_cache_core_t *machine = ((const cache_t *)state)->machine;
    *queue_p = tnd_cache_core_waiting(machine);
    *credit_p = tnd_cache_core_room(machine);
}

/*  A pass is also complete if only rows after the last batch were not read. */
static void publish_pass(const cache_t *cache)
{
    uint64_t batched = cache->stream->batch.positions;
    tnd_error_t why;
    if (cache->stream->lanes == 1 && batched > 0 &&
        tnd_sample_writer_covers(cache->writer, batched))
        /* The run is over, and the next one reports it. */
        (void)(tnd_sample_writer_publish(cache->writer, &why) == TND_OK);
}

static void cache_fini(void *state)
{
    cache_t *cache = state;
    if (cache->writer != NULL)
        publish_pass(cache);
    if (cache->machine != NULL) {
        /* A rewind past everything gives back what waits. */
        tnd_cache_core_rewind(cache->machine, UINT32_MAX);
        for (tnd_block_t *block; (block = tnd_cache_core_drop(cache->machine)) != NULL;)
            tnd_block_drop(&block);
        tnd_sample_order_free(&cache->order);
    }
    free(cache->machine_memory);
    free(cache->samples);
    free(cache->held);
    tnd_pool_destroy(&cache->lists);
    tnd_sample_store_destroy(&cache->store);
    tnd_sample_files_close(&cache->files);
    tnd_sample_writer_close(&cache->writer);
    free(cache->folder);
    tnd_peers_free(&cache->readers);
    tnd_peers_free(&cache->makers);
    tnd_peers_free(&cache->before);
    tnd_peers_free(&cache->after);
    tnd_block_pool_destroy(&cache->block_pool);
}

/* --- options and ports ------------------------------------------------------------------------ */

const tnd_kind_t tnd_kind_cache = {
    .spec =
        {
            .table = {.name = "cache",
                      .help = "stores the rows that were made of each sample, in memory or in a "
                              "folder, and feeds later epochs from them",
                      .options = tnd_cache_options,
                      .option_count = TND_CACHE_OPTIONS,
                      .size = sizeof(tnd_cache_options_t)},
            .role = TND_ROLE_CACHE,
            .instances = TND_INSTANCE_LANE,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(TICKET) | TND_ACCEPT(LOST) |
                       TND_ACCEPT(CREDIT) | TND_ACCEPT(BLOCK) | TND_ACCEPT(BEGIN),
            .inlets = {{.name = "in", .flow = TND_FLOW_ROWS, .required = true}},
            .inlet_count = 1,
            .outlets = {{.name = "out", .flow = TND_FLOW_ROWS, .required = true}},
            .outlet_count = 1,
        },
    .state_bytes = sizeof(cache_t),
    .derive = cache_derive,
    .estimate_memory = cache_memory,
    .credit = cache_credit,
    .init = cache_init,
    .arrive = cache_arrive,
    .work = cache_work,
    .deadline = cache_deadline,
    .blocked_on = cache_blocked_on,
    .depth = cache_depth,
    .fini = cache_fini,
};
