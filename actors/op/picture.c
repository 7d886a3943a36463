/*  actors/op/picture.c - a column of pictures, with its channels last, first, or none. */
#include "actors/op/picture.h"

tnd_status_t tnd_picture_find(tnd_picture_t *self, const tnd_schema_t *in, const char *name,
                              int layout, tnd_error_t *error)
{
    TND_TRY(tnd_op_find(in, name, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    if (column->rank < 2 || column->rank > 3)
        return tnd_fail(error,
                        "column `%s` has %u dimensions; a picture has 2 (height, width) or 3 "
                        "(channels last, or first with `layout: chw`)",
                        column->name, column->rank);
    self->columns = in->count;
    self->layout = (tnd_layout_t)layout;
    self->dtype = column->dtype;
    self->rank = column->rank;
    bool first = column->rank == 3 && layout == TND_LAYOUT_CHW;
    self->channels = column->rank == 2 ? 1 : column->shape[first ? 0 : 2];
    self->planes = first ? self->channels : 1;
    self->height = column->shape[first ? 1 : 0];
    self->width = column->shape[first ? 2 : 1];
    self->pixel_bytes = tnd_dtype_size(column->dtype) * (first ? 1 : self->channels);
    return TND_OK;
}

tnd_status_t tnd_picture_replace(const tnd_picture_t *self, const tnd_schema_t *in, uint64_t height,
                                 uint64_t width, tnd_op_facts_t *facts, tnd_error_t *error)
{
    const uint64_t last[3] = {height, width, self->channels};
    const uint64_t first[3] = {self->channels, height, width};
    bool is_first = self->rank == 3 && self->layout == TND_LAYOUT_CHW;
    return tnd_op_replace(facts, in, self->column, self->dtype, self->rank, is_first ? first : last,
                          error);
}
