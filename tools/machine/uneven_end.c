/*  tools/machine/uneven_end.c - warns of a last batch that leaves replicas without rows. */
#include "tools/machine/uneven_end.h"

#include <inttypes.h>

#include "actors/plan/kind_options.h"
#include "actors/plan/plan_queries.h"
#include "runtime/core/batcher.h"
#include "runtime/core/stream/split.h"

/*  Whether each row that is read enters a batch. */
static bool keeps_rows(const tnd_plan_t *plan, uint32_t chain)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_part_list_t *ops =
            tnd_options_field(&instance->kind->table, instance->options, "ops", TND_OPTION_PARTS);
        for (size_t o = 0; instance->chain == chain && ops != NULL && o < ops->count; o++) {
            const tnd_op_spec_t *spec = tnd_op_spec_of(ops->items[o].table);
            if ((spec->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0)
                return false;
        }
    }
    return true;
}

/*  Rows of an epoch, or of a run whose batches span epochs; TND_UNKNOWN. */
static uint64_t rows_of(const tnd_batcher_options_t *options, const tnd_stream_t *stream)
{
    uint64_t rows = tnd_stream_positions(stream);
    if (rows == TND_UNKNOWN || (options->span_epochs && stream->epochs == TND_ENDLESS))
        return TND_UNKNOWN;
    rows *= options->span_epochs ? stream->epochs : 1;
    return stream->batched != 0 && stream->batched < rows ? stream->batched : rows;
}

void tnd_uneven_end_check(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics)
{
    uint32_t batcher = tnd_plan_batcher(plan, chain, 0);
    if (batcher == plan->instance_count || !keeps_rows(plan, chain))
        return;
    const tnd_instance_t *instance = &plan->instances[batcher];
    const tnd_batcher_options_t *options = instance->options;
    uint64_t rows = rows_of(options, stream);
    if (tnd_plan_feed(plan, chain) == TND_FEED_APART || /* the lanes end apart */
        options->deal == TND_DEAL_WHOLE)
        return;
    if (options->remainder != TND_REMAINDER_KEEP || options->bucket != NULL ||
        options->pack != NULL || rows == TND_UNKNOWN)
        return;
    uint64_t last = rows % options->size;
    uint32_t with = 0, replicas = (uint32_t)options->replicas;
    while (with < replicas &&
           tnd_split_rows((tnd_split_t)options->split, options->size, last, replicas, with) > 0)
        with++;
    if (last == 0 || with == replicas || options->size < replicas)
        return;
    tnd_error_t text;
    (void)tnd_fail(&text,
                   "the last batch%s has %" PRIu64 " of %" PRIu64 " rows, all for %s%" PRIu32
                   " of %" PRIu32 " replicas: the others get no rows and weight 0",
                   options->span_epochs ? "" : " of an epoch", last, options->size,
                   tnd_plan_feed(plan, chain) == TND_FEED_PIECES ? "" : "the first ", with,
                   replicas);
    text.about = NULL;
    tnd_placement_report(instance, TND_T079_NO_ROWS, &text, diagnostics);
    tnd_diagnostics_help(
        diagnostics, "a step divides by its weight only if that is not 0; or `remainder: drop`");
}
