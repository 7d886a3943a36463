/*  actors/op/ops.h - what the operations of the list do, and what they share.
 *
 *  Threads: any.
 */
#ifndef TND_ACTORS_OP_OPS_H
#define TND_ACTORS_OP_OPS_H

#include "runtime/interface/operation.h"

#define OP(name, file)                                                                             \
    extern const tnd_op_spec_t tnd_op_##name##_spec;                                               \
    extern const tnd_op_t tnd_op_##name;
#include "actors/op/ops.def"
#undef OP

/*  The operation that a spec belongs to; never NULL for one of the registry, or given to a
 *  graph.
 */
const tnd_op_t *tnd_op_of(const tnd_op_spec_t *spec);

/*  The index of a column that must be there: TND_FAILED names those that are.  Of one that is to be
 *  looked at: TND_FAILED too if it is ragged, with what makes it fixed.
 */
tnd_status_t tnd_op_find_any(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                             tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_op_find(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                         tnd_error_t *error) TND_CHECKED;

/*  The type called `name`; TND_FAILED says which there are. */
tnd_status_t tnd_op_dtype(const char *name, tnd_dtype_t *dtype_p, tnd_error_t *error) TND_CHECKED;

/*  One element of a column's type from text, into `out`, which has room for 8 bytes and is aligned
 *  to them.  Floats are rounded; what is too large, and an integer that the type lacks, is
 *  TND_FAILED.
 */
tnd_status_t tnd_op_number(const char *option, const char *text, const tnd_column_t *column,
                           void *out, tnd_error_t *error) TND_CHECKED;

/*  The numbers of an option as integers from `least` on: TND_FAILED for fractions, others, and more
 *  than `room`.
 */
tnd_status_t tnd_op_whole(const char *option, const tnd_numbers_t *numbers, int64_t least,
                          int64_t *values, size_t room, tnd_error_t *error) TND_CHECKED;

/*  *facts become those of an operation that changes type and shape of one column, and reads it. */
tnd_status_t tnd_op_replace(tnd_op_facts_t *facts, const tnd_schema_t *in, uint32_t index,
                            tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                            tnd_error_t *error) TND_CHECKED;

/*  Passes every column but one on, with the rows. */
void tnd_op_pass(const tnd_tile_t *in, tnd_tile_t *out, uint32_t columns, uint32_t but);

/*  Where row `row` of a column of a tile begins. */
static inline uint8_t *tnd_tile_row(const tnd_tile_t *tile, uint32_t column, uint32_t row)
{
    return tile->columns[column].base + row * tile->columns[column].stride;
}

#endif
