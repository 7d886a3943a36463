/*  actors/plan/row_step.c - in which step of an epoch a position is, and which replica gets it. */
#include "actors/plan/row_step.h"

#include <stdlib.h>

#include "actors/plan/plan_queries.h"
#include "runtime/base/allocation.h"
#include "runtime/core/lane/batch_room.h"
#include "runtime/core/stream/compose.h"

typedef struct {
    uint32_t lanes;
    uint64_t size;
    tnd_left_t left[TND_LANES_MAX];
    uint64_t take[TND_LANES_MAX];
    tnd_composition_t made;
} batches_t;

static tnd_row_step_t no_step(tnd_row_step_kind_t kind, const char *why)
{
    return (tnd_row_step_t){.kind = kind, .why = why};
}

/*  Composes batches up to the one with position `at` of `lane`, which becomes that within its rows. */
static uint64_t find_batch(batches_t *self, uint32_t lane, uint64_t *at)
{
    for (uint64_t step = 0;; step++) {
        tnd_compose_t made =
            tnd_compose(self->size, self->lanes, step, self->left, self->take, &self->made);
        if (made != TND_COMPOSE_BATCH || *at < self->take[lane])
            return step;
        *at -= self->take[lane];
        for (uint32_t l = 0; l < self->lanes; l++)
            self->left[l].left -= self->take[l];
    }
}

/*  The replica that has a row of the batch. */
static uint32_t replica_of(const batches_t *self, const tnd_stream_batch_t *batch, uint64_t row)
{
    bool pads = batch->remainder == TND_REMAINDER_PAD;
    uint64_t rows = pads ? self->size : self->made.rows;
    uint32_t replica = 0, replicas = batch->replicas;
    while (replica + 1 < replicas &&
           tnd_split_offset(batch->split, self->size, rows, replicas, replica) +
                   tnd_split_rows(batch->split, self->size, rows, replicas, replica) <=
               row)
        replica++;
    return replica;
}

static tnd_row_step_t find(batches_t *self, const tnd_stream_batch_t *batch, uint32_t lane,
                           uint64_t position)
{
    uint64_t step = find_batch(self, lane, &position), row = position;
    for (uint32_t l = 0; l < lane; l++)
        row += self->take[l];
    if (self->made.rows < self->size && batch->remainder == TND_REMAINDER_DROP)
        return no_step(TND_ROW_STEP_LEFT_OUT, "the last batch is short, and `remainder: drop`");
    if (step < batch->skip)
        return no_step(TND_ROW_STEP_LEFT_OUT, "`skip` of the batcher leaves its batch out");
    if (step - batch->skip >= batch->take)
        return no_step(TND_ROW_STEP_LEFT_OUT, "`take` of the batcher leaves its batch out");
    return (tnd_row_step_t){.kind = TND_ROW_STEP_KNOWN,
                            .step = step - batch->skip,
                            .row = row,
                            .replica = replica_of(self, batch, row)};
}

tnd_row_step_t tnd_row_step_of(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream,
                               uint32_t lane, uint64_t position)
{
    uint32_t batcher = tnd_plan_batcher(plan, chain, 0);
    if (batcher == plan->instance_count)
        return no_step(TND_ROW_STEP_LATER, "the graph has no batcher");
    const tnd_stream_batch_t *batch = &stream->batch;
    if (batch->copied > 0)
        return no_step(TND_ROW_STEP_LATER, "batches are made by the lengths of rows");
    if (batch->spans)
        return no_step(TND_ROW_STEP_LATER, "batches span epochs");
    if (stream->work.reshapes)
        return no_step(TND_ROW_STEP_LATER, "operations drop or add rows");
    batches_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->lanes = plan->lanes;
    self->size = batch->size;
    for (uint32_t l = 0; l < plan->lanes; l++)
        self->left[l] = (tnd_left_t){.left = tnd_stream_lane_count(stream, l), .ended = true};
    tnd_row_step_t found = find(self, batch, lane, position);
    free(self);
    return found;
}
