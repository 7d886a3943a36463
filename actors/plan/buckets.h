/*  actors/plan/buckets.h - the option `bucket` of a batcher as a rule for the core.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_BUCKETS_H
#define TND_ACTORS_PLAN_BUCKETS_H

#include "actors/plan/kind_options.h"
#include "runtime/core/stream/buckets.h"
#include "runtime/data/schema.h"

/*  The rule, and the lists that it points to: it may not be copied. */
typedef struct {
    tnd_bucket_rule_t rule;
    uint64_t bounds[TND_BUCKETS_MAX], sizes[TND_BUCKETS_MAX];
} tnd_plan_buckets_t;

extern const tnd_table_t tnd_bucket_table;

/*  Writes the rule of a batcher; without `bucket` it has no buckets. */
void tnd_plan_buckets(tnd_plan_buckets_t *self, const tnd_batcher_options_t *options);
/*  Rows of a global batch, at most. */
uint64_t tnd_plan_batch_size(const tnd_batcher_options_t *options);
/*  What follows shorter rows in a batch, as text. */
const char *tnd_plan_pad_value(const tnd_batcher_options_t *options);

/*  The columns that `pad: bound` pads, as a set of bits: the named one and the other ragged ones, as
 *  TensorFlow pads every unknown dimension; not byte strings, which are scalars there. */
uint64_t tnd_plan_bucket_bounded(const tnd_batcher_options_t *options, const tnd_schema_t *fed);

/*  What the rows of a bucket may take.  A row of a bucket is shorter than its bound; with `pad: bound`
 *  so are the other columns that it pads. */
typedef struct {
    uint64_t rows;                     /* of a batch */
    uint64_t longest[TND_COLUMNS_MAX]; /* of a row of a ragged column, along its first axis */
    uint64_t ragged;                   /* bytes of the ragged columns of a row, padding included */
    /*  Where a batch has its columns, and the lists of the ragged ones: two of `rows` u64 each. */
    size_t data[TND_COLUMNS_MAX], lists[TND_COLUMNS_MAX], bytes;
} tnd_bucket_batch_layout_t;

tnd_bucket_batch_layout_t tnd_plan_bucket_layout(const tnd_batcher_options_t *options,
                                                 const tnd_schema_t *fed, uint32_t bucket);
/*  Bytes of a batch, of the largest bucket; batches that are being filled or sent. */
uint64_t tnd_plan_bucket_batch_bytes(const tnd_batcher_options_t *options, const tnd_schema_t *fed);
uint32_t tnd_plan_bucket_places(const tnd_batcher_options_t *options);
/*  Bytes of the ragged columns, padding included, of what one of `parts` parts of a batch has. */
uint64_t tnd_plan_bucket_ragged(const tnd_batcher_options_t *options, const tnd_schema_t *fed,
                                uint64_t parts);

/*  TND_FAILED, with the reason, if the lists do not fit each other, or the options beside them. */
tnd_status_t tnd_plan_buckets_check(const tnd_batcher_options_t *options, uint32_t lanes,
                                    tnd_error_t *error) TND_CHECKED;
/*  Finds the column in rows as they are fed; TND_FAILED if it cannot be bucketed. */
tnd_status_t tnd_plan_buckets_column(const tnd_bucket_options_t *options, const tnd_schema_t *fed,
                                     uint32_t *column_p, tnd_error_t *error) TND_CHECKED;

#endif
