/*  actors/plan/buckets.c - the option `bucket` of a batcher as a rule for the core. */
#include "actors/plan/buckets.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/core/lane/batch_room.h"

/*  Rows of a batch, as for `size`. */
static const double size_most = 1073741824;
/*  Rows that may wait in buckets. */
static const double rows_most = 1 << 24;

static const tnd_option_t bucket_options[] = {
    {TND_OPTION(tnd_bucket_options_t, column, COLUMN, GRAPH),
     .help = "the ragged column whose lengths decide about the bucket"},
    {TND_OPTION(tnd_bucket_options_t, bounds, F64S, GRAPH),
     .help = "where buckets begin, ascending: bucket i has rows of a length from bounds[i - 1] to "
             "before bounds[i]"},
    {TND_OPTION(tnd_bucket_options_t, sizes, F64S, GRAPH),
     .help = "rows of a global batch, by bucket: one more than bounds"},
    {TND_OPTION(tnd_bucket_options_t, pad, ENUM, GRAPH), .fallback = "longest",
     .choices = "longest|bound",
     .help = "what rows of ragged columns are padded to: the longest of the replica's rows, or one "
             "less "
             "than the bound, byte strings excepted; a row of the last bucket is then bad, by "
             "`on_error` "
             "of the reader"},
    {TND_OPTION(tnd_bucket_options_t, value, STRING, GRAPH), .unit = "number", .fallback = "0",
     .help = "what follows a shorter row, as a number of the column's type"},
    {TND_OPTION(tnd_bucket_options_t, drop_remainder, BOOL, GRAPH), .fallback = "false",
     .help = "whether rows that are left in buckets at the end of a window are dropped, or become "
             "smaller batches in the order of buckets"},
    {TND_OPTION(tnd_bucket_options_t, window, U64, GRAPH), .unit = "rows", .fallback = "epoch",
     .range = "1..4503599627370496", .choices = "epoch=0",
     .help =
         "rows after which all buckets are emptied; a run that resumes reads those of its window "
         "again"},
};

const tnd_table_t tnd_bucket_table = {
    .name = "bucket",
    .help = "batches of rows of about one length, as bucket_by_sequence_length in TensorFlow",
    TND_OPTIONS(bucket_options, tnd_bucket_options_t),
};

void tnd_plan_buckets(tnd_plan_buckets_t *self, const tnd_batcher_options_t *options)
{
    const tnd_bucket_options_t *bucket = options->bucket;
    memset(&self->rule, 0, sizeof self->rule);
    if (bucket == NULL)
        return;
    self->rule = (tnd_bucket_rule_t){.bounds = self->bounds,
                                     .sizes = self->sizes,
                                     .count = (uint32_t)bucket->sizes.count,
                                     .drop_remainder = bucket->drop_remainder,
                                     .bounded = bucket->pad == TND_BUCKET_PAD_BOUND,
                                     .window = bucket->window};
    for (size_t i = 0; i < bucket->bounds.count && i < TND_BUCKETS_MAX; i++)
        self->bounds[i] = (uint64_t)bucket->bounds.items[i];
    for (size_t i = 0; i < bucket->sizes.count && i < TND_BUCKETS_MAX; i++)
        self->sizes[i] = (uint64_t)bucket->sizes.items[i];
}

uint64_t tnd_plan_batch_size(const tnd_batcher_options_t *options)
{
    double most = 1;
    if (options->bucket == NULL) /* without one it is refused, and not divided by */
        return options->size > 0 ? options->size : 1;
    for (size_t i = 0; i < options->bucket->sizes.count; i++)
        most = options->bucket->sizes.items[i] > most ? options->bucket->sizes.items[i] : most;
    return (uint64_t)most;
}

const char *tnd_plan_pad_value(const tnd_batcher_options_t *options)
{
    return options->bucket != NULL ? options->bucket->value : options->pad_value;
}

/*  Where each column of a batch begins. */
enum { COLUMN_ALIGN = 64 };

static bool is_named(const tnd_bucket_options_t *bucket, const tnd_column_t *column)
{
    return strcmp(column->name, bucket->column) == 0;
}

static bool is_bounded(const tnd_bucket_options_t *bucket, const tnd_column_t *column)
{
    bool string = column->dtype == TND_U8 && column->rank == 1;
    return bucket->pad == TND_BUCKET_PAD_BOUND && column->ragged &&
           (!string || is_named(bucket, column));
}

uint64_t tnd_plan_bucket_bounded(const tnd_batcher_options_t *options, const tnd_schema_t *fed)
{
    uint64_t columns = 0;
    for (uint32_t c = 0; c < fed->count; c++)
        columns |= (uint64_t)is_bounded(options->bucket, &fed->columns[c]) << c;
    return columns;
}

static uint64_t longest_of(const tnd_bucket_options_t *bucket, const tnd_column_t *column,
                           uint32_t which)
{
    bool bounded = is_bounded(bucket, column);
    if (which == bucket->bounds.count) /* with `pad: bound`, it has no rows */
        return bounded ? 0 : column->shape[0];
    if (!bounded && !is_named(bucket, column))
        return column->shape[0];
    return tnd_least((uint64_t)bucket->bounds.items[which] - 1, column->shape[0]);
}

tnd_bucket_batch_layout_t tnd_plan_bucket_layout(const tnd_batcher_options_t *options,
                                                 const tnd_schema_t *fed, uint32_t bucket)
{
    tnd_bucket_batch_layout_t layout = {.rows = (uint64_t)options->bucket->sizes.items[bucket]};
    for (uint32_t c = 0; c < fed->count; c++) {
        const tnd_column_t *column = &fed->columns[c];
        uint64_t bytes = tnd_column_bytes(column);
        if (column->ragged) {
            layout.lists[c] = tnd_round_up(layout.bytes, COLUMN_ALIGN);
            layout.bytes = layout.lists[c] + 2 * layout.rows * sizeof(uint64_t);
            layout.longest[c] = longest_of(options->bucket, column, bucket);
            bytes = layout.longest[c] * tnd_column_unit(column);
            layout.ragged += bytes;
        }
        layout.data[c] = tnd_round_up(layout.bytes, COLUMN_ALIGN);
        layout.bytes = layout.data[c] + layout.rows * bytes;
    }
    return layout;
}

uint64_t tnd_plan_bucket_batch_bytes(const tnd_batcher_options_t *options, const tnd_schema_t *fed)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < options->bucket->sizes.count; i++) {
        uint64_t bytes = tnd_plan_bucket_layout(options, fed, i).bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint32_t tnd_plan_bucket_places(const tnd_batcher_options_t *options)
{
    tnd_plan_buckets_t buckets;
    tnd_plan_buckets(&buckets, options);
    return tnd_buckets_places(&buckets.rule);
}

uint64_t tnd_plan_bucket_ragged(const tnd_batcher_options_t *options, const tnd_schema_t *fed,
                                uint64_t parts)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < options->bucket->sizes.count; i++) {
        tnd_bucket_batch_layout_t layout = tnd_plan_bucket_layout(options, fed, i);
        uint64_t bytes = (layout.rows + parts - 1) / parts * layout.ragged;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool is_whole(double number, double least, double most)
{
    return number >= least && number <= most && number == (double)(uint64_t)number;
}

static tnd_status_t check_lists(const tnd_bucket_options_t *bucket, tnd_error_t *error)
{
    double rows = 0;
    if (bucket->bounds.count == 0 || bucket->sizes.count != bucket->bounds.count + 1 ||
        bucket->sizes.count > TND_BUCKETS_MAX)
        return tnd_fail(
            error,
            "`bucket` has %zu bounds and %zu sizes; it needs one size more than bounds, "
            "at most %d sizes",
            bucket->bounds.count, bucket->sizes.count, TND_BUCKETS_MAX);
    for (size_t i = 0; i < bucket->bounds.count; i++)
        if (!is_whole(bucket->bounds.items[i], i > 0 ? bucket->bounds.items[i - 1] + 1 : 1, 1e15))
            return tnd_fail(error, "`bounds` of `bucket` are whole numbers from 1 on, in ascending "
                                   "order");
    for (size_t i = 0; i < bucket->sizes.count; i++) {
        if (!is_whole(bucket->sizes.items[i], 1, size_most))
            return tnd_fail(error, "`sizes` of `bucket` are whole numbers of rows, from 1 on");
        rows += bucket->sizes.items[i];
    }
    if (rows > rows_most)
        return tnd_fail(error,
                        "up to %.0f rows may wait in the buckets, but %.0f are possible: "
                        "use smaller `sizes`",
                        rows, rows_most);
    return TND_OK;
}

tnd_status_t tnd_plan_buckets_check(const tnd_batcher_options_t *options, uint32_t lanes,
                                    tnd_error_t *error)
{
    const tnd_bucket_options_t *bucket = options->bucket;
    if (bucket == NULL)
        return TND_OK;
    TND_TRY(check_lists(bucket, error));
    uint64_t most = tnd_plan_batch_size(options);
    const char *beside = options->remainder != (int)TND_REMAINDER_KEEP ? "remainder"
                         : options->span_epochs                        ? "span_epochs"
                         : options->skip > 0                           ? "skip"
                         : strcmp(options->pad_value, "0") != 0        ? "pad_value"
                                                                       : NULL;
    if (beside != NULL)
        return tnd_fail(error, "`%s` is not possible beside `bucket`%s", beside,
                        beside[0] == 'r'   ? ", which has `drop_remainder`"
                        : beside[0] == 'p' ? ", which has `value`"
                                           : "");
    if (options->size != 0 && options->size != most)
        return tnd_fail(error,
                        "`size` is %" PRIu64 ", but the largest of `sizes` is %" PRIu64
                        ": leave `size` out",
                        options->size, most);
    if (bucket->pad == TND_BUCKET_PAD_BOUND && options->ragged == TND_RAGGED_PACK)
        return tnd_fail(error,
                        "`pad: bound` pads rows, but `ragged: pack` does not: leave one out");
    if (lanes > 1)
        return tnd_fail(error,
                        "`bucket` needs the lengths of all rows in one order, but the graph has "
                        "%" PRIu32 " lanes: each knows those of its own rows only; use `lanes: 1`",
                        lanes);
    return TND_OK;
}

/*  With `pad: bound`, rows of any ragged column may be as long as the last bound allows. */
static tnd_status_t check_longest(const tnd_bucket_options_t *options, const tnd_column_t *column,
                                  tnd_error_t *error)
{
    double last = options->bounds.items[options->bounds.count - 1];
    if (!is_bounded(options, column) || last - 1 <= (double)column->shape[0])
        return TND_OK;
    return tnd_fail(error,
                    "`pad: bound` pads rows of `%s` to %.0f, but the longest that is stored has "
                    "%" PRIu64 ": lower the last bound to %" PRIu64 ", or raise `max`",
                    column->name, last - 1, column->shape[0], column->shape[0] + 1);
}

tnd_status_t tnd_plan_buckets_column(const tnd_bucket_options_t *options, const tnd_schema_t *fed,
                                     uint32_t *column_p, tnd_error_t *error)
{
    int found = tnd_schema_find(fed, options->column);
    if (found < 0)
        return tnd_fail(error, "`bucket` names column `%s`, which does not exist", options->column);
    const tnd_column_t *column = &fed->columns[found];
    if (!column->ragged)
        return tnd_fail(error, "`bucket` names column `%s`, whose rows all have one length",
                        options->column);
    for (uint32_t c = 0; c < fed->count; c++)
        TND_TRY(check_longest(options, &fed->columns[c], error));
    *column_p = (uint32_t)found;
    return TND_OK;
}
