/*  actors/op/text/bytes_column.c - a column of byte strings, and the column that is made of it. */
#include "actors/op/text/bytes_column.h"

#include <string.h>

tnd_status_t tnd_bytes_find(tnd_bytes_column_t *self, const tnd_schema_t *in, const char *column,
                            tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, column, &self->column, error));
    const tnd_column_t *found = &in->columns[self->column];
    if (!found->ragged || found->dtype != TND_U8 || found->rank != 1)
        return tnd_fail(error,
                        "column `%s` has no byte strings; they are a ragged column of u8, as the "
                        "sources tfrecord, csv, text, folder and tar make",
                        column);
    self->columns = in->count;
    self->longest = found->shape[0];
    memcpy(self->name, found->name, sizeof self->name);
    return TND_OK;
}

tnd_status_t tnd_bytes_make(tnd_bytes_column_t *self, const tnd_schema_t *in, const char *into,
                            const tnd_column_t *made, tnd_op_facts_t *facts, tnd_error_t *error)
{
    bool replaces = into == NULL || strcmp(into, self->name) == 0;
    self->to = replaces ? self->column : in->count;
    for (uint32_t i = 0; i < in->count + !replaces; i++) {
        facts->passes[i] = i == self->to ? -1 : (int8_t)i;
        if (i == self->to)
            TND_TRY(tnd_schema_add_like(&facts->schema, replaces ? self->name : into, made, error));
        else
            TND_TRY(
                tnd_schema_add_like(&facts->schema, in->columns[i].name, &in->columns[i], error));
    }
    facts->reads = UINT64_C(1) << self->column;
    if (made->ragged && !replaces)
        facts->growth_max = facts->growth_usual = 2;
    return TND_OK;
}

tnd_status_t tnd_bytes_leave_out(const tnd_bytes_column_t *self, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error)
{
    facts->reads = UINT64_C(1) << self->column;
    for (uint32_t i = 0; i < in->count; i++) {
        if (i == self->column)
            continue;
        facts->passes[facts->schema.count] = (int8_t)i;
        TND_TRY(tnd_schema_add_like(&facts->schema, in->columns[i].name, &in->columns[i], error));
    }
    return TND_OK;
}

void tnd_bytes_pass(const tnd_bytes_column_t *self, const tnd_tile_t *in, tnd_tile_t *out)
{
    out->rows = in->rows;
    for (uint32_t i = 0, to = 0; i < self->columns; i++)
        if (i != self->column)
            out->columns[to++] = in->columns[i];
}

tnd_status_t tnd_bytes_shape(const tnd_numbers_t *shape, tnd_column_t *column, tnd_error_t *error)
{
    int64_t axes[TND_RANK_MAX];
    uint64_t elements = 1;
    TND_TRY(tnd_op_whole("shape", shape, 1, axes, TND_RANK_MAX, error));
    column->rank = (uint32_t)shape->count;
    for (uint32_t i = 0; i < column->rank; i++) {
        column->shape[i] = (uint64_t)axes[i];
        if (column->shape[i] > (UINT64_C(1) << 40) / elements)
            return tnd_fail(error, "`shape` has more than 2^40 elements");
        elements *= column->shape[i];
    }
    return TND_OK;
}

const char *tnd_excerpt(tnd_excerpt_t *self, const void *bytes, size_t size)
{
    enum { MOST = 40 };
    size_t shown = size < MOST ? size : MOST;
    for (size_t i = 0; i < shown; i++) {
        uint8_t byte = ((const uint8_t *)bytes)[i];
        self->text[i] = byte >= ' ' && byte <= '~' ? (char)byte : '?';
    }
    strcpy(self->text + shown, size > MOST ? " ..." : "");
    return self->text;
}
