/*  actors/feeder/cast_columns.h - the columns that a feeder casts for its steps: option `cast`.
 *
 *  Ownership: zeroed memory casts nothing; tnd_cast_columns_free frees it.  `by_column` points into
 *  the struct, which must not be moved.
 *  Threads: one; read-only afterwards. */
#ifndef TND_ACTORS_FEEDER_CAST_COLUMNS_H
#define TND_ACTORS_FEEDER_CAST_COLUMNS_H

#include "actors/plan/kind_options.h"
#include "runtime/core/numeric/row_cast.h"
#include "runtime/data/schema.h"

typedef struct {
    bool any;
    tnd_row_cast_t casts[TND_COLUMNS_MAX];
    const tnd_row_cast_t *by_column[TND_COLUMNS_MAX]; /* NULL: not cast */
    float *factors[TND_COLUMNS_MAX];                  /* scales, then biases */
} tnd_cast_columns_t;

extern const tnd_table_t tnd_cast_columns_table;

/*  The columns as steps read them.  Errors: TND_FAILED, about the value in the topology: a column
 *  that does not exist or cannot be cast, lists that do not fit its channels. */
tnd_status_t tnd_cast_columns_schema(const tnd_pairs_t *options, const tnd_schema_t *fed,
                                     tnd_schema_t *shown, tnd_error_t *error) TND_CHECKED;
/*  The casts, of options and a schema that passed tnd_cast_columns_schema. */
void tnd_cast_columns_make(tnd_cast_columns_t *self, const tnd_pairs_t *options,
                           const tnd_schema_t *fed);
void tnd_cast_columns_free(tnd_cast_columns_t *self);

#endif
