/*  actors/plan/lane_window.c - how much of a lane is under way at the same time. */
#include "actors/plan/lane_window.h"

#include "actors/plan/kind_options.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "runtime/core/batcher.h"
#include "runtime/option/spec.h"

/*  The size of a block if all edges of the lane stay inside the process, and if one does not. */
static const uint64_t block_bytes_inside = 128 << 10, block_bytes_between = 1 << 20;

/*  Rows that are used where they are stored, by feeders of the process: a block is a list of them,
 *  and what it costs besides copying is divided among so many rows or bytes. */
enum { STORED_ROWS = 1024 };
static const uint64_t stored_bytes = 4 << 20;

/*  Blocks of a lane under way at the same time where rows come straight from the readers. */
enum { BLOCKS_STRAIGHT = 8 };

/*  Whether an edge of this lane leaves the process. */
static bool leaves_process(const tnd_plan_t *plan, uint32_t batcher)
{
    const tnd_instance_t *own = &plan->instances[batcher];
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        if (edge->to == batcher && edge->transport != TND_TRANSPORT_INPROC)
            return true;
        const tnd_instance_t *from = &plan->instances[edge->from];
        if (from->chain == own->chain && from->lane == own->lane &&
            from->kind->role == TND_ROLE_READER && edge->transport != TND_TRANSPORT_INPROC)
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

/*  Whether the blocks of the lane have no copy of their rows. */
static bool uses_stored(const tnd_plan_t *plan, uint32_t batcher, const tnd_stream_t *stream)
{
    if (stream->copied > 0 || leaves_process(plan, batcher))
        return false;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *from = &plan->instances[plan->edges[e].from];
        const tnd_reader_options_t *reader = from->options;
        if (plan->edges[e].to == batcher &&
            (from->kind->role != TND_ROLE_READER ||
             tnd_source_spec_of(reader->source.table)->custom != NULL))
            return false;
    }
    return true;
}

/*  Rows a block: inside the process so many that they leave the operations in the cache of a core,
 *  and never more than a message between processes has, whatever the operations make of them. */
static uint64_t rows_by_default(const tnd_plan_t *plan, uint32_t batcher, uint64_t read_bytes,
                                uint64_t row_bytes)
{
    uint64_t rows = block_bytes_between / row_bytes;
    bool inside = !tnd_lane_window_straight(plan, batcher) && !leaves_process(plan, batcher);
    return inside && block_bytes_inside / read_bytes < rows ? block_bytes_inside / read_bytes
                                                            : rows;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*  Whole shares of a replica, so that a step can read its rows where they lie. */
static uint64_t whole_shares(const tnd_batcher_options_t *options, uint64_t rows)
{
    uint64_t share = options->size / options->replicas;
    if (share > 0 && rows > share)
        rows -= rows % share;
    return rows > 0 ? rows : 1;
}

static void size_blocks(tnd_lane_window_t *window, const tnd_plan_t *plan, uint32_t batcher,
                        const tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options = plan->instances[batcher].options;
    uint64_t read_bytes = tnd_schema_row_bytes(&stream->read);
    if (options->block.rows != 0 || options->block.bytes != 0) {
        uint64_t rows = options->block.rows != 0 ? options->block.rows
                                                 : options->block.bytes / window->row_bytes;
        window->first_rows = window->block_rows = rows > 0 ? rows : 1;
        return;
    }
    uint64_t rows = rows_by_default(plan, batcher, read_bytes, window->row_bytes);
    window->first_rows = window->block_rows = whole_shares(options, rows);
    if (rows < STORED_ROWS && uses_stored(plan, batcher, stream))
        window->block_rows =
            whole_shares(options, least(STORED_ROWS, stored_bytes / window->row_bytes));
}

tnd_lane_window_t tnd_lane_window_of(const tnd_plan_t *plan, uint32_t batcher,
                                     const tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options = plan->instances[batcher].options;
    tnd_lane_window_t window = {.blocks = TND_LANE_WINDOW_BLOCKS};
    if (tnd_lane_window_straight(plan, batcher))
        window.blocks = BLOCKS_STRAIGHT;
    uint64_t read_bytes = tnd_schema_row_bytes(&stream->read);
    uint64_t row_bytes = tnd_schema_row_bytes(&stream->fed) * stream->rows_max;
    window.row_bytes = row_bytes > read_bytes ? row_bytes : read_bytes;
    size_blocks(&window, plan, batcher, stream);
    window.wanted =
        tnd_batcher_core_rows_wanted(options->size, (tnd_remainder_t)options->remainder);
    window.rows = window.wanted + window.blocks * window.block_rows;
    window.bytes = window.rows * window.row_bytes;
    window.open = window.blocks * window.block_rows * (options->speculate ? 2 : 1);
    bool marked =
        (stream->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0 || stream->bad_read != TND_BAD_STOP;
    uint64_t made = row_bytes + (marked ? stream->rows_max * sizeof(uint32_t) : 0) +
                    stream->rows_max * tnd_schema_list_bytes(&stream->fed);
    uint64_t read = read_bytes + tnd_schema_list_bytes(&stream->read);
    window.held = made > read ? made : read;
    return window;
}

uint64_t tnd_lane_window_alive(const tnd_plan_t *plan, uint32_t batcher, const tnd_stream_t *stream)
{
    const tnd_batcher_options_t *options = plan->instances[batcher].options;
    tnd_lane_window_t window = tnd_lane_window_of(plan, batcher, stream);
    uint32_t feeder = tnd_plan_feeder(plan, plan->instances[batcher].chain);
    uint64_t alive = window.rows + window.open - window.blocks * window.block_rows;
    if (feeder == plan->instance_count)
        return alive;
    uint64_t depth = tnd_prefetch_depth(plan, plan->instances[batcher].chain, stream);
    return alive + depth * options->size + 2 * window.block_rows;
}
