/*  runtime/data/program_array.c - arrays of the program. */
#include "runtime/data/program_array.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/dtype.h"

tnd_status_t tnd_program_array_set(tnd_program_array_t *self, const char *actor, const char *column,
                                   tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                                   const void *data, tnd_error_t *error)
{
    if ((unsigned)dtype > TND_BOOL)
        return tnd_fail(error, "array `%.63s` of actor `%.63s`: %d is not a type of tnd_dtype_t",
                        column, actor, (int)dtype);
    if (rank < 1 || rank > TND_RANK_MAX + 1)
        return tnd_fail(error,
                        "array `%.63s` of actor `%.63s` has %" PRIu32
                        " dimensions: expected the rows, then at most %d dimensions of a row",
                        column, actor, rank, TND_RANK_MAX);
    if (data == NULL && shape[0] > 0)
        return tnd_fail(error, "array `%.63s` of actor `%.63s`: its data are NULL", column, actor);
    if ((uintptr_t)data % tnd_dtype_size(dtype) != 0)
        return tnd_fail(error,
                        "array `%.63s` of actor `%.63s` is not aligned to its elements (%s): copy "
                        "it to aligned memory",
                        column, actor, tnd_dtype_name(dtype));
    *self = (tnd_program_array_t){.actor = actor,
                                  .column = column,
                                  .dtype = dtype,
                                  .rank = rank - 1,
                                  .rows = shape[0],
                                  .data = data};
    memcpy(self->shape, shape + 1, self->rank * sizeof *shape);
    return TND_OK;
}

const tnd_program_array_t *tnd_program_array_find(const tnd_program_array_t *first,
                                                  const char *actor, const char *column)
{
    for (; first != NULL; first = first->next)
        if (strcmp(first->actor, actor) == 0 && strcmp(first->column, column) == 0)
            return first;
    return NULL;
}

tnd_status_t tnd_program_array_fits(const tnd_program_array_t *self,
                                    const tnd_program_array_t *first, tnd_error_t *error)
{
    if (tnd_program_array_find(first, self->actor, self->column) != NULL)
        return tnd_fail(error, "array `%.63s` of actor `%.63s` is passed twice", self->column,
                        self->actor);
    for (; first != NULL; first = first->next)
        if (strcmp(first->actor, self->actor) == 0 && first->rows != self->rows)
            return tnd_fail(error,
                            "the arrays of actor `%.63s` must have the same number of rows: "
                            "`%.63s` has %" PRIu64 ", `%.63s` has %" PRIu64,
                            self->actor, first->column, first->rows, self->column, self->rows);
    return TND_OK;
}
