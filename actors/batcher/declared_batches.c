/*  actors/batcher/declared_batches.c - what a batcher tells others of its batches. */
#include "actors/batcher/declared_batches.h"

#include <stdio.h>
#include <string.h>

#include "actors/op/ops.h"
#include "actors/plan/buckets.h"
#include "actors/plan/packing.h"
#include "runtime/base/bounds.h"

static void name_drops(const tnd_batcher_options_t *options, char text[TND_BATCH_DROPS])
{
    const struct {
        bool set;
        const char *name;
    } dropping[] = {
        {options->remainder == TND_REMAINDER_DROP, "`remainder: drop`"},
        {options->bucket != NULL && options->bucket->drop_remainder,
         "`drop_remainder: true` of `bucket`"},
        {options->pack != NULL && options->pack->drop_remainder,
         "`drop_remainder: true` of `pack`"},
        {options->skip > 0, "`skip`"},
    };
    int used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof dropping / sizeof *dropping; i++)
        if (dropping[i].set)
            used += snprintf(text + used, TND_BATCH_DROPS - (size_t)used, "%s%s",
                             used > 0 ? ", " : "", dropping[i].name);
}

static tnd_status_t pad_columns(const tnd_batcher_options_t *options, tnd_stream_t *stream,
                                tnd_error_t *error)
{
    const tnd_schema_t *fed = &stream->fed.schema;
    for (uint32_t c = 0; c < fed->count; c++)
        if (fed->columns[c].ragged)
            TND_TRY(tnd_op_number("pad_value", tnd_plan_pad_value(options), &fed->columns[c],
                                  &stream->batch.pads[c], error));
    return TND_OK;
}

/*  The lengths that rows of bucketed columns are padded to with `pad: bound`. */
static void bound_columns(const tnd_batcher_options_t *options, tnd_stream_t *stream)
{
    tnd_plan_buckets_t buckets;
    tnd_stream_batch_t *batch = &stream->batch;
    tnd_plan_buckets(&buckets, options);
    if (!buckets.rule.bounded)
        return;
    batch->bounded = tnd_plan_bucket_bounded(options, &stream->fed.schema);
    batch->deciding = stream->measured - 1;
    batch->bound_count = buckets.rule.count - 1;
    memcpy(batch->bounds, buckets.bounds, sizeof batch->bounds);
}

/*  Bytes of the ragged columns of one of `parts` parts of a batch. */
static uint64_t ragged_most(const tnd_batcher_options_t *options, const tnd_schema_t *fed,
                            uint64_t parts)
{
    if (options->bucket == NULL || options->bucket->sizes.count == 0)
        return options->bytes;
    uint64_t most = tnd_plan_bucket_ragged(options, fed, parts);
    return options->bytes > 0 ? tnd_least(options->bytes, most) : most;
}

static void declare(const tnd_batcher_options_t *options, uint32_t replicas, tnd_stream_t *stream)
{
    const tnd_schema_t *fed = &stream->fed.schema;
    uint64_t size = tnd_plan_batch_size(options);
    bool dealt = options->deal == TND_DEAL_WHOLE;
    uint32_t parts = dealt ? 1 : replicas;
    uint64_t copied = options->bucket != NULL ? tnd_plan_bucket_batch_bytes(options, fed)
                      : options->pack != NULL ? tnd_plan_pack_layout(options, fed).bytes
                                              : 0;
    stream->batch = (tnd_stream_batch_t){
        .size = size,
        .share = tnd_split_rows((tnd_split_t)options->split, size, size, parts, 0),
        .replicas = (uint32_t)options->replicas,
        .dealt = dealt,
        .split = (tnd_split_t)options->split,
        .remainder = (tnd_remainder_t)options->remainder,
        .spans = options->span_epochs,
        .skip = options->skip,
        .take = options->take,
        .copied = copied,
        .limit = options->bytes,
        .ragged = ragged_most(options, fed, 1),
        .ragged_part = ragged_most(options, fed, parts),
        .packs = options->ragged == TND_RAGGED_PACK,
        .pads_least = options->bytes > 0 || options->bucket != NULL,
    };
    if (copied == 0 && options->take != UINT64_MAX &&
        __builtin_mul_overflow(options->skip + options->take, options->size,
                               &stream->batch.positions))
        stream->batch.positions = 0;
    name_drops(options, stream->batch.drops);
}

tnd_status_t tnd_batches_declare(const tnd_batcher_options_t *options, uint32_t replicas,
                                 tnd_stream_t *stream, tnd_error_t *error)
{
    uint32_t column;
    if (options->bucket != NULL) {
        TND_TRY(tnd_plan_buckets_column(options->bucket, &stream->fed.schema, &column, error));
        stream->measured = column + 1;
    }
    stream->joined = stream->fed;
    if (options->pack != NULL) {
        TND_TRY(tnd_plan_pack_schema(options->pack, &stream->joined.schema, &stream->fed.schema,
                                     error));
        stream->measured =
            (uint32_t)tnd_schema_find(&stream->joined.schema, options->pack->column) + 1;
    }
    declare(options, replicas, stream);
    bound_columns(options, stream);
    return pad_columns(options, stream, error);
}
