/*  actors/expression/expression.h - a formula over the columns of a row, such as "2 * x + 1".
 *
 *      or      and      not      == != < <= > >=      + -      * / %      -x      ( )
 *
 *  from the weakest to the strongest.  Integers are computed as i64 and wrap around; a column of
 *  floats keeps its type, f32 or f64, and numbers in the text take the type of what they meet.  An
 *  integer column and a float column meet as f64.  `/` of integers is f64; the remainder `%` has the
 *  sign of its right side, as in Python and TensorFlow.  A column whose name is not a word is
 *  written in backquotes.
 *
 *  All columns have one number per row, or the same shape, or are ragged with the same `max`; those with
 *  one number are then used for each element.  `length(x)` is how many values a row of a ragged column has.
 *  It is compiled once; running it allocates nothing but ragged rows.
 *
 *  Ownership: the text must stay valid until free.  Threads: one at a time. */
#ifndef TND_ACTORS_EXPRESSION_EXPRESSION_H
#define TND_ACTORS_EXPRESSION_EXPRESSION_H

#include "runtime/interface/operation.h"

typedef struct tnd_expression tnd_expression_t;

/*  Compiles a formula over these columns.  Errors: TND_FAILED; error->about is the character of
 *  `text` where it went wrong. */
tnd_status_t tnd_expression_new(tnd_expression_t **self_p, const char *text, const tnd_schema_t *in,
                                tnd_error_t *error) TND_CHECKED;
void tnd_expression_free(tnd_expression_t **self_p);

/*  What it gives per row: i64, f32, f64 or bool, its shape, and whether it is ragged; without a name. */
const tnd_column_t *tnd_expression_result(const tnd_expression_t *self);
/*  A bit for each column that it reads. */
uint64_t tnd_expression_reads(const tnd_expression_t *self);

/*  Writes the result, which is not ragged, for all rows of a tile, packed, as numbers of type `to`, which are cast as the
 *  operation `cast` does.  Errors: TND_FAILED if integers are divided by zero. */
tnd_status_t tnd_expression_run(tnd_expression_t *self, const tnd_tile_t *in, tnd_dtype_t to,
                                void *out, tnd_error_t *error) TND_CHECKED;
/*  Writes the ragged result of one row to memory of `room`.  Errors: TND_FAILED also if columns have
 *  rows of different lengths. */
tnd_status_t tnd_expression_run_ragged(tnd_expression_t *self, const tnd_tile_t *in, uint32_t row,
                                       tnd_dtype_t to, tnd_room_t *room, tnd_ragged_t *out,
                                       tnd_error_t *error) TND_CHECKED;

#endif
