/*  actors/op/ops.h - what the operations of the list do, and what they share.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_OPS_H
#define TND_ACTORS_OP_OPS_H

#include "runtime/interface/operation.h"

#define OP(name, file)                                                                             \
    extern const tnd_op_spec_t tnd_op_##name##_spec;                                               \
    extern const tnd_op_t tnd_op_##name;
#include "actors/op/ops.def"
#undef OP

/*  The operation of a spec of the registry, or of one that was given to a graph; never NULL. */
const tnd_op_t *tnd_op_of(const tnd_op_spec_t *spec);

/*  The index of a column. tnd_op_find is for columns whose rows are read: it refuses ragged ones.
 *  Errors: TND_FAILED; the text lists the columns, or the operation that makes a ragged column
 *  fixed. */
tnd_status_t tnd_op_find_any(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                             tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_op_find(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                         tnd_error_t *error) TND_CHECKED;

/*  The type called `name`. Errors: TND_FAILED; the text lists the types. */
tnd_status_t tnd_op_dtype(const char *name, tnd_dtype_t *dtype_p, tnd_error_t *error) TND_CHECKED;

/*  Parses one element of a column's type into `out`, which has room for 8 bytes and is aligned to
 *  them. Floats are rounded. Errors: TND_FAILED if the number is too large or not of the type. */
tnd_status_t tnd_op_number(const char *option, const char *text, const tnd_column_t *column,
                           void *out, tnd_error_t *error) TND_CHECKED;

/*  The numbers of an option as integers, at least `least`. Errors: TND_FAILED for fractions,
 *  smaller numbers, and more than `room` of them. */
tnd_status_t tnd_op_whole(const char *option, const tnd_numbers_t *numbers, int64_t least,
                          int64_t *values, size_t room, tnd_error_t *error) TND_CHECKED;

/*  Sets *facts to those of an operation that reads one column and changes its type and shape. */
tnd_status_t tnd_op_replace(tnd_op_facts_t *facts, const tnd_schema_t *in, uint32_t index,
                            tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                            tnd_error_t *error) TND_CHECKED;

/*  Sets *facts to those of an operation that passes all columns and makes one after them. */
tnd_status_t tnd_op_add(tnd_op_facts_t *facts, const tnd_schema_t *in, const char *name,
                        tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                        tnd_error_t *error) TND_CHECKED;

/*  The sample of the n-th copy of a row, from 0: it draws its own random numbers, the first as the row
 *  itself. */
uint64_t tnd_op_sample_of_copy(uint64_t sample, uint64_t copy);

/*  Passes on the rows and every column but one. */
void tnd_op_pass(const tnd_tile_t *in, tnd_tile_t *out, uint32_t columns, uint32_t but);

#endif
