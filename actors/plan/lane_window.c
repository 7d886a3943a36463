/*  actors/plan/lane_window.c - how much of a lane is under way at the same time. */
#include "actors/plan/lane_window.h"

#include "actors/plan/kind_options.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "runtime/base/bounds.h"
#include "runtime/core/batcher.h"
#include "runtime/option/spec.h"
#include "runtime/tundish/tundish.h"

/*  The size of a block if all edges of the lane stay inside the process, and if one does not. */
static const uint64_t block_bytes_inside = 128 << 10, block_bytes_between = 1 << 20;

/*  Rows that are used where they are stored, by feeders of the process: a block is a list of them,
 *  and what it costs besides copying is divided among so many rows or bytes. */
enum { STORED_ROWS = 1024 };
static const uint64_t stored_bytes = 4 << 20;

/*  Rows of the first blocks, which show how long a row takes: a slow one should not be waited for
 *  thousands of times until another worker is seen to be needed. */
enum { FIRST_ROWS = 16 };

/*  Blocks of a lane under way at the same time where rows come straight from the readers. */
enum { BLOCKS_STRAIGHT = 8 };

/*  Blocks of a lane with a budget take at most this part of `memory`, unless that is less than
 *  BLOCKS_STRAIGHT of them. */
enum { BLOCKS_PART = 32 };

/*  The size of a ragged row that a ticket may ask for at most so many of. */
enum { RAGGED_LEAST = 64 };

/*  Whether the instance answers tickets, and so belongs to a lane. */
static bool answers(const tnd_instance_t *instance)
{
    return instance->kind->role == TND_ROLE_READER || instance->kind->role == TND_ROLE_CACHE;
}

/*  Whether an edge of this lane leaves the process. */
static bool leaves_process(const tnd_plan_t *plan, uint32_t batcher)
{
    const tnd_instance_t *own = &plan->instances[batcher];
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        if (edge->to == batcher && edge->transport != TND_TRANSPORT_INPROC)
            return true;
        const tnd_instance_t *from = &plan->instances[edge->from];
        const tnd_instance_t *to = &plan->instances[edge->to];
        bool is_of_lane =
            (answers(from) && from->lane == own->lane) || (answers(to) && to->lane == own->lane);
        if (from->chain == own->chain && is_of_lane && edge->transport != TND_TRANSPORT_INPROC)
            return true;
    }
    return false;
}

bool tnd_lane_window_straight(const tnd_plan_t *plan, uint32_t batcher)
{
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        if (edge->to == batcher && plan->instances[edge->from].kind->role == TND_ROLE_READER)
            return true;
    }
    return false;
}

bool tnd_lane_window_feeders_only(const tnd_plan_t *plan, uint32_t batcher,
                                  const tnd_stream_t *stream)
{
    return tnd_lane_window_straight(plan, batcher) && !leaves_process(plan, batcher) &&
           !tnd_plan_goes_out(plan, batcher) && stream->batch.copied == 0 &&
           stream->batch.skip == 0 && stream->batch.remainder != TND_REMAINDER_DROP;
}

/*  Whether the blocks of the lane have no copy of their rows. */
static bool uses_stored(const tnd_plan_t *plan, uint32_t batcher, const tnd_stream_t *stream)
{
    if (stream->copied > 0 || stream->custom || leaves_process(plan, batcher))
        return false;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *from = &plan->instances[plan->edges[e].from];
        if (plan->edges[e].to == batcher && from->kind->role != TND_ROLE_READER)
            return false;
    }
    return true;
}

/*  The least `memory` of the hosts, 0: none has one. */
static uint64_t least_memory(const tnd_plan_t *plan)
{
    uint64_t least = 0;
    for (uint32_t i = 0; i < plan->host_count; i++) {
        uint64_t memory = plan->hosts[i].memory;
        least = memory != 0 && (least == 0 || memory < least) ? memory : least;
    }
    return least;
}

void tnd_lane_window_budget(const tnd_plan_t *plan, const tnd_instance_t *batcher,
                            tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options = batcher->options;
    bool stored = true;
    if (!stream->sized || options->block.bytes != 0) {
        stream->budget = stream->sized ? options->block.bytes : 0;
        return;
    }
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].kind == batcher->kind && plan->instances[i].chain == batcher->chain)
            stored = stored && uses_stored(plan, i, stream);
    const uint64_t memory = least_memory(plan);
    bool fits = memory == 0 || BLOCKS_STRAIGHT * stored_bytes <= memory / BLOCKS_PART;
    stream->budget = stored && fits ? stored_bytes : block_bytes_between;
}

/*  Rows a block: inside the process so many that they leave the operations in the cache of a core,
 *  and never more than a message between processes has, whatever the operations make of them.
 *  Ragged rows are counted by the reader. */
static uint64_t rows_by_default(const tnd_plan_t *plan, uint32_t batcher, uint64_t read_bytes,
                                uint64_t row_bytes)
{
    uint64_t rows = block_bytes_between / row_bytes;
    bool inside = !tnd_lane_window_straight(plan, batcher) && !leaves_process(plan, batcher);
    return inside && block_bytes_inside / read_bytes < rows ? block_bytes_inside / read_bytes
                                                            : rows;
}

/*  Whole shares of a replica, so that a step can read its rows where they lie. */
static uint64_t whole_shares(const tnd_stream_batch_t *batch, uint64_t rows)
{
    uint64_t share = batch->size / batch->replicas;
    if (share > 0 && rows > share)
        rows -= rows % share;
    return rows > 0 ? rows : 1;
}

/*  More positions than a cache can leave out of a ticket would be made although it has their rows. */
static void limit_blocks(tnd_lane_window_t *window, const tnd_stream_batch_t *batch)
{
    if (window->block_rows > TND_HELD_MAX)
        window->block_rows = whole_shares(batch, TND_HELD_MAX);
    window->first_rows = tnd_least(window->first_rows, window->block_rows);
}

static void size_blocks(tnd_lane_window_t *window, const tnd_plan_t *plan, uint32_t batcher,
                        const tnd_stream_t *stream, uint64_t read_bytes, uint64_t row_bytes)
{
    const tnd_batcher_options_t *options = plan->instances[batcher].options;
    const tnd_stream_batch_t *batch = &stream->batch;
    if (options->block.rows != 0 || options->block.bytes != 0) {
        uint64_t rows =
            options->block.rows != 0 ? options->block.rows : options->block.bytes / row_bytes;
        window->first_rows = window->block_rows = rows > 0 ? rows : 1;
        return;
    }
    uint64_t rows = rows_by_default(plan, batcher, read_bytes, row_bytes);
    window->block_rows = whole_shares(batch, rows);
    window->first_rows = tnd_least(window->block_rows, FIRST_ROWS);
    if (stream->budget == 0 && rows < STORED_ROWS && uses_stored(plan, batcher, stream))
        window->block_rows = whole_shares(batch, tnd_least(STORED_ROWS, stored_bytes / row_bytes));
}

/*  The most that a block takes which has no row above the budget. */
static uint64_t usual_block(const tnd_lane_window_t *window, uint64_t row_bytes,
                            uint64_t ragged_max, uint64_t list_bytes)
{
    tnd_row_bytes_t row = {.fixed = row_bytes - ragged_max, .ragged_max = ragged_max};
    return tnd_row_bytes_most(&row, (uint32_t)window->block_rows, window->row.budget) +
           window->block_rows * list_bytes;
}

/*  With a budget rows travel at their size as read and wait at their size as made.  A lane holds one
 *  block above the budget at a time, see lane/order.h, beside a head that is partly taken.  The
 *  blocks under way take a small part of a host's memory. */
static void add_bytes(tnd_lane_window_t *window, uint64_t made_list, uint64_t usual,
                      uint64_t memory)
{
    uint64_t one =
        tnd_row_bytes_most(&window->row, (uint32_t)window->block_rows, window->row.budget);
    uint64_t most = tnd_most(window->read_most, window->made_most);
    while (memory != 0 && window->blocks > BLOCKS_STRAIGHT &&
           window->blocks * usual > memory / BLOCKS_PART)
        window->blocks /= 2;
    uint64_t open = window->blocks * usual;
    window->bytes = window->wanted_bytes + window->blocks * one + 2 * most;
    window->bytes_held =
        window->wanted_bytes + window->wanted * made_list + open + most + window->made_most;
    window->open_held = open + most;
}

tnd_lane_window_t tnd_lane_window_of(const tnd_plan_t *plan, uint32_t batcher,
                                     const tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options = plan->instances[batcher].options;
    const tnd_stream_batch_t *batch = &stream->batch;
    tnd_lane_window_t window = {.blocks = TND_LANE_WINDOW_BLOCKS,
                                .row = tnd_stream_row_bytes(stream)};
    if (tnd_lane_window_straight(plan, batcher))
        window.blocks = BLOCKS_STRAIGHT;
    /* Rows as they leave a cache count as those that are read. */
    uint64_t read_bytes =
        tnd_most(tnd_schema_row_bytes(&stream->read.schema), tnd_stream_cached_max(stream));
    uint64_t made_bytes = tnd_stream_made_max(stream);
    uint64_t read_ragged =
        tnd_most(tnd_schema_ragged_bytes(&stream->read.schema), tnd_stream_cached_ragged(stream));
    uint64_t made_ragged = tnd_stream_made_ragged(stream);
    bool budgeted = stream->budget > 0;
    if (budgeted)
        size_blocks(&window, plan, batcher, stream, read_bytes - read_ragged + RAGGED_LEAST,
                    window.row.fixed + RAGGED_LEAST);
    else
        size_blocks(&window, plan, batcher, stream, read_bytes, window.row.fixed);
    if (stream->caches)
        limit_blocks(&window, batch);
    bool copied = batch->copied > 0; /* as soon as a row is joined */
    window.wanted = copied ? 1 : tnd_batch_room_rows(batch->size, batch->remainder);
    window.wanted_bytes = copied ? made_bytes
                                 : tnd_batch_room_bytes(batch->size, batch->remainder, made_bytes,
                                                        made_ragged, budgeted ? batch->limit : 0);
    bool marked = (stream->work.caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0 ||
                  stream->bad.read != TND_BAD_STOP;
    uint64_t made_list = (marked ? stream->joined.rows_max * sizeof(uint32_t) : 0) +
                         stream->joined.rows_max * tnd_schema_list_bytes(&stream->joined.schema);
    uint64_t read_list = tnd_most(tnd_schema_list_bytes(&stream->read.schema),
                                  stream->caches ? stream->cached.rows_max *
                                                       tnd_schema_list_bytes(&stream->cached.schema)
                                                 : 0);
    uint64_t made = made_bytes + made_list, read = read_bytes + read_list;
    window.held = budgeted || made > read ? made : read;
    if (budgeted) {
        uint64_t usual_read = usual_block(&window, read_bytes, read_ragged, read_list);
        uint64_t usual_made = usual_block(&window, made_bytes, made_ragged, made_list);
        window.read_most = tnd_most(usual_read, read);
        window.made_most = tnd_most(usual_made, made);
        add_bytes(&window, made_list, tnd_most(usual_read, usual_made), least_memory(plan));
    } else {
        window.read_most = window.block_rows * read;
        window.made_most = window.block_rows * window.held;
    }
    window.rows = window.wanted + window.blocks * window.block_rows;
    window.open = window.blocks * window.block_rows * (options->speculate ? 2 : 1);
    if (budgeted) {
        window.open_held *= options->speculate ? 2 : 1;
    } else {
        window.bytes = window.rows * window.row.fixed;
        window.bytes_held = window.rows * window.held;
        window.open_held = window.open * window.held;
    }
    return window;
}

uint64_t tnd_lane_window_alive(const tnd_plan_t *plan, uint32_t batcher, const tnd_stream_t *stream)
{
    tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
    uint32_t feeder = tnd_plan_feeder(plan, plan->instances[batcher].chain);
    uint64_t alive = window.rows + window.open - window.blocks * window.block_rows;
    if (feeder == plan->instance_count)
        return alive;
    uint64_t depth = tnd_prefetch_depth(plan, plan->instances[batcher].chain, stream);
    return alive + depth * stream->batch.size + 2 * window.block_rows;
}
