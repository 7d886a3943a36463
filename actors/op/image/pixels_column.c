/*  actors/op/image/pixels_column.c - a column of pictures of u8 or f32, channels last. */
#include "actors/op/image/pixels_column.h"

tnd_status_t tnd_pixels_find(tnd_pixels_column_t *self, const tnd_schema_t *in, const char *name,
                             uint32_t channels, tnd_error_t *error)
{
    TND_TRY(tnd_op_find(in, name, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    if (column->rank < 2 || column->rank > 3)
        return tnd_fail(error,
                        "column `%s` has %u dimensions; a picture has 2 (height, width) or 3 "
                        "(height, width, channels)",
                        name, column->rank);
    if (column->dtype != TND_U8 && column->dtype != TND_F32)
        return tnd_fail(error, "column `%s` is %s; pictures are u8 or f32, which `cast` makes",
                        name, tnd_dtype_name(column->dtype));
    uint64_t found = column->rank == 2 ? 1 : column->shape[2];
    if (channels != 0 && found != channels)
        return tnd_fail(error, "column `%s` has %llu channels, and this is for pictures of %u%s",
                        name, (unsigned long long)found, channels,
                        channels == 3 ? ", with the channels last" : "");
    if (column->shape[0] > UINT32_MAX || column->shape[1] > UINT32_MAX || found > UINT32_MAX)
        return tnd_fail(error, "column `%s` has pictures of more than 2^32 pixels", name);
    self->columns = in->count;
    self->rank = column->rank;
    self->in = (tnd_pixels_t){.height = (uint32_t)column->shape[0],
                              .width = (uint32_t)column->shape[1],
                              .channels = (uint32_t)found,
                              .floats = column->dtype == TND_F32};
    return TND_OK;
}

tnd_status_t tnd_pixels_replace(const tnd_pixels_column_t *self, const tnd_schema_t *in,
                                const tnd_pixels_t *out, tnd_op_facts_t *facts, tnd_error_t *error)
{
    const uint64_t shape[] = {out->height, out->width, out->channels};
    uint32_t rank = self->rank == 2 && out->channels == 1 ? 2 : 3;
    return tnd_op_replace(facts, in, self->column, out->floats ? TND_F32 : TND_U8, rank, shape,
                          error);
}
