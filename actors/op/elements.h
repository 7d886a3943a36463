/*  actors/op/elements.h - the column of an operation that makes one element of each.
 *
 *  The rows of a ragged column keep their lengths.
 *
 *  Threads: as the operation. */
#ifndef TND_ACTORS_OP_ELEMENTS_H
#define TND_ACTORS_OP_ELEMENTS_H

#include "actors/op/ops.h"

typedef struct {
    uint32_t columns, column;
    tnd_dtype_t from, to;
    size_t elements; /* of a row; of a ragged one, of a step along its first axis */
} tnd_elements_t;

/*  Makes elements of one or several rows, which are stored one after the other. */
typedef void tnd_elements_fn(const void *op, size_t count, void *out, const void *in);

/*  Sets *self to the column of that name.  Errors: TND_FAILED; the text lists the columns. */
tnd_status_t tnd_elements_find(tnd_elements_t *self, const tnd_schema_t *in, const char *column,
                               tnd_error_t *error) TND_CHECKED;

/*  Sets *facts to those of an operation that makes elements of type self->to.  Errors: TND_FAILED
 *  if rows become too large. */
tnd_status_t tnd_elements_replace(const tnd_elements_t *self, const tnd_schema_t *in,
                                  tnd_op_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  Makes all elements of a tile by `run`, which gets `op`, and passes the other columns on. */
void tnd_elements_apply(const tnd_elements_t *self, tnd_elements_fn *run, const void *op,
                        const tnd_tile_t *in, tnd_tile_t *out);

#endif
