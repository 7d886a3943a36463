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

/*  TND_FAILED, with the reason, if the lists do not fit each other, or the options beside them. */
tnd_status_t tnd_plan_buckets_check(const tnd_batcher_options_t *options, uint32_t lanes,
                                    tnd_error_t *error) TND_CHECKED;
/*  Finds the column in rows as they are fed; TND_FAILED if it cannot be bucketed. */
tnd_status_t tnd_plan_buckets_column(const tnd_bucket_options_t *options, const tnd_schema_t *fed,
                                     uint32_t *column_p, tnd_error_t *error) TND_CHECKED;

#endif
