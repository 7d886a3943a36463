/*  tools/machine/uneven_end.c - warns of a last batch that leaves replicas without rows. */
#include "tools/machine/uneven_end.h"

#include <inttypes.h>

#include "actors/plan/plan_queries.h"
#include "runtime/base/bounds.h"
#include "runtime/core/stream/split.h"

/*  Rows of an epoch, or of a run whose batches span epochs; TND_UNKNOWN. */
static uint64_t rows_of(const tnd_stream_t *stream)
{
    uint64_t rows = tnd_stream_positions(stream);
    if (rows == TND_UNKNOWN || (stream->batch.spans && stream->epochs == TND_ENDLESS))
        return TND_UNKNOWN;
    rows *= stream->batch.spans ? stream->epochs : 1;
    return stream->batch.positions != 0 ? tnd_least(stream->batch.positions, rows) : rows;
}

void tnd_uneven_end_check(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics)
{
    uint32_t batcher = tnd_plan_batcher(plan, chain, 0);
    if (batcher == plan->instance_count || stream->work.reshapes)
        return;
    const tnd_stream_batch_t *batch = &stream->batch;
    uint64_t rows = rows_of(stream);
    if (plan->chains[chain].feed == TND_FEED_APART || /* the lanes end apart */
        batch->dealt)
        return;
    if (batch->remainder != TND_REMAINDER_KEEP || batch->copied > 0 || rows == TND_UNKNOWN)
        return;
    uint64_t last = rows % batch->size;
    uint32_t with = 0, replicas = batch->replicas;
    while (with < replicas && tnd_split_rows(batch->split, batch->size, last, replicas, with) > 0)
        with++;
    if (last == 0 || with == replicas || batch->size < replicas)
        return;
    tnd_error_t text;
    (void)tnd_fail(&text,
                   "the last batch%s has %" PRIu64 " of %" PRIu64 " rows, all for %s%" PRIu32
                   " of %" PRIu32 " replicas: the others get no rows and weight 0",
                   batch->spans ? "" : " of an epoch", last, batch->size,
                   plan->chains[chain].feed == TND_FEED_PIECES ? "" : "the first ", with, replicas);
    text.about = NULL;
    tnd_placement_report(&plan->instances[batcher], TND_T079_NO_ROWS, &text, diagnostics);
    tnd_diagnostics_help(
        diagnostics, "a step divides by its weight only if that is not 0; or `remainder: drop`");
}
