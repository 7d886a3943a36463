/*  actors/plan/batcher_config.c - what the plan and the options tell the state machine of a batcher. */
#include "actors/plan/batcher_config.h"

#include "actors/plan/lane_window.h"
#include "runtime/tundish/tundish.h"

/*  A block should not take its slowest stage longer: stop, stragglers and order wait for it. */
static const uint64_t block_time_ns = 20000000;

/*  With `speculate` a block may take this long, however fast the others come. */
static const uint64_t overdue_ns = 250000000;

static uint32_t limited(uint64_t rows)
{
    return (uint32_t)(rows < UINT32_MAX ? rows : UINT32_MAX);
}

/*  Whether every position of every lane is one row for certain; then how many an epoch has. */
static bool know_rows(const tnd_stream_t *stream, uint32_t lanes, uint64_t rows[TND_LANES_MAX])
{
    bool exact = (stream->work.caps & (TND_OP_DROPS | TND_OP_EXPANDS)) == 0 &&
                 stream->bad.read == TND_BAD_STOP && stream->bad.made == TND_BAD_STOP;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        rows[lane] = tnd_stream_lane_count(stream, lane);
        exact = exact && rows[lane] != TND_UNKNOWN;
    }
    return exact;
}

void tnd_batcher_config(tnd_batcher_config_t *self, const tnd_plan_t *plan, uint32_t index,
                        const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    const tnd_batcher_options_t *options = instance->options;
    tnd_lane_window_t window = tnd_lane_window_of(plan, index, stream);
    bool copied = stream->batch.copied > 0, sized = stream->budget > 0;
    tnd_plan_buckets(&self->buckets, options);
    self->core = (tnd_batcher_core_config_t){
        .order = {.self = index,
                  .lane = instance->lane,
                  .epochs = stream->epochs,
                  .count = tnd_stream_lane_count(stream, instance->lane),
                  .block_rows = limited(window.block_rows),
                  .first_rows = limited(window.first_rows),
                  .block_ns = block_time_ns,
                  .bytes = window.row,
                  .made_max = sized ? tnd_stream_made_max(stream) : window.row.fixed,
                  .window_bytes = window.bytes,
                  .measured = stream->measured,
                  .window_blocks = (uint32_t)window.blocks,
                  .overdue_ns = options->speculate ? overdue_ns : 0},
        .lanes = plan->lanes,
        .size = stream->batch.size,
        .bucket = self->buckets.rule,
        .pack = tnd_plan_pack_rule(options),
        .made_ragged = sized ? tnd_stream_made_ragged(stream) : 0,
        .batch_ragged = !copied && sized ? options->bytes : 0,
        .replicas = (uint32_t)options->replicas,
        .deal_window = options->deal == TND_DEAL_WHOLE ? TND_DEALT_MOST : 0,
        .split = (tnd_split_t)options->split,
        .feed = plan->chains[instance->chain].feed,
        .remainder = (tnd_remainder_t)options->remainder,
        .span_epochs = options->span_epochs,
        .skip = options->skip,
        .take = options->take == UINT64_MAX ? 0 : options->take,
    };
    if (!copied && know_rows(stream, plan->lanes, self->lane_rows))
        self->core.lane_rows = self->lane_rows;
}
