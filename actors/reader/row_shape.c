/*  actors/reader/row_shape.c - the rows of positions, where they are not the rows as stored. */
#include "actors/reader/row_shape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bounds.h"

tnd_row_shape_t tnd_row_shape_of(const tnd_place_list_t *order)
{
    tnd_row_shape_t shape = {.unit = tnd_places_unit(order), .width = tnd_places_width(order)};
    const tnd_place_map_t *last = order->count > 0 ? &order->maps[order->count - 1] : NULL;
    shape.windows = last != NULL && last->kind == TND_PLACE_WINDOW;
    shape.ragged = shape.windows && !last->window.drop_remainder;
    return shape;
}

/*  The column of one row inside a stored row. */
static tnd_status_t unbatch(const tnd_row_shape_t *self, const tnd_column_t *stored,
                            tnd_column_t *column, tnd_error_t *error)
{
    *column = *stored;
    if (self->unit == 1)
        return TND_OK;
    if (stored->ragged || stored->rank == 0 || stored->shape[0] != self->unit)
        return tnd_fail(error,
                        "column `%s` does not have %" PRIu64
                        " rows in each stored row: the first axis of every column must have this "
                        "length",
                        stored->name, self->unit);
    column->rank--;
    memmove(column->shape, column->shape + 1, column->rank * sizeof column->shape[0]);
    return TND_OK;
}

static tnd_status_t add_window(const tnd_row_shape_t *self, const tnd_column_t *row,
                               tnd_schema_t *made, tnd_error_t *error)
{
    uint64_t shape[TND_RANK_MAX] = {self->width};
    if (row->ragged)
        return tnd_fail(error,
                        "column `%s` is ragged, and a window of such rows would be ragged twice; "
                        "select other columns",
                        row->name);
    if (row->rank == TND_RANK_MAX)
        return tnd_fail(error, "column `%s` has %d axes already", row->name, TND_RANK_MAX);
    memcpy(shape + 1, row->shape, row->rank * sizeof shape[0]);
    return self->ragged
               ? tnd_schema_add_ragged(made, row->name, row->dtype, row->rank + 1, shape, error)
               : tnd_schema_add(made, row->name, row->dtype, row->rank + 1, shape, error);
}

tnd_status_t tnd_row_shape_schema(const tnd_row_shape_t *self, const tnd_schema_t *stored,
                                  tnd_schema_t *made, const char **map_p, tnd_error_t *error)
{
    *made = (tnd_schema_t){0};
    for (uint32_t i = 0; i < stored->count; i++) {
        tnd_column_t row;
        *map_p = "unbatch";
        TND_TRY(unbatch(self, &stored->columns[i], &row, error));
        *map_p = "window";
        if (self->windows)
            TND_TRY(add_window(self, &row, made, error));
        else
            TND_TRY(tnd_schema_add_like(made, row.name, &row, error));
    }
    return TND_OK;
}

/*  Bytes of the row at a place, in a column of stored rows. */
static size_t bytes_of(const tnd_row_shape_t *self, const tnd_block_t *stored, uint32_t column)
{
    return tnd_column_bytes(&stored->schema->columns[column]) / self->unit;
}

static const uint8_t *row_at(const tnd_row_shape_t *self, const tnd_block_t *stored,
                             uint32_t column, const uint64_t *places, uint32_t i)
{
    return (const uint8_t *)tnd_block_row(stored, column, i) +
           places[i] % self->unit * bytes_of(self, stored, column);
}

/*  Rows inside stored rows are found by their offsets. */
static void point(const tnd_row_shape_t *self, tnd_block_t *stored, const uint64_t *places,
                  uint32_t count, tnd_block_t *block)
{
    uint32_t columns = stored->column_count;
    block->index = tnd_buffer_new((size_t)columns * count * sizeof(uint64_t));
    uint64_t *offsets = tnd_buffer_data(block->index);
    for (uint32_t c = 0; c < columns; c++, offsets += count) {
        uintptr_t base = UINTPTR_MAX;
        for (uint32_t i = 0; i < count; i++) {
            offsets[i] = (uintptr_t)row_at(self, stored, c, places, i);
            base = offsets[i] < base ? offsets[i] : base;
        }
        for (uint32_t i = 0; i < count; i++)
            offsets[i] -= base;
        block->columns[c] = (tnd_block_column_t){.base = (const uint8_t *)base,
                                                 .stride = 1,
                                                 .index = offsets,
                                                 .buffer = stored->columns[c].buffer};
        stored->columns[c].buffer = NULL;
    }
    tnd_buffer_seal(block->index);
}

/*  Copies the rows of windows; `lists` has the offsets and lengths of each column. */
static void copy(const tnd_row_shape_t *self, const tnd_block_t *stored, const uint64_t *places,
                 const uint32_t *pieces, uint32_t count, tnd_block_t *block)
{
    size_t used = 0, rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += pieces[i];
    for (uint32_t c = 0; c < stored->column_count; c++)
        used += tnd_round_up(rows * bytes_of(self, stored, c), TND_BUFFER_ALIGN);
    tnd_buffer_t *data = tnd_buffer_new(used);
    block->index = self->ragged
                       ? tnd_buffer_new(2 * (size_t)stored->column_count * count * sizeof(uint64_t))
                       : NULL;
    uint64_t *lists = self->ragged ? tnd_buffer_data(block->index) : NULL;
    uint8_t *at = tnd_buffer_data(data);
    for (uint32_t c = 0; c < stored->column_count; c++) {
        size_t bytes = bytes_of(self, stored, c);
        for (uint32_t i = 0; i < rows; i++)
            memcpy(at + i * bytes, row_at(self, stored, c, places, i), bytes);
        block->columns[c] = (tnd_block_column_t){.base = at, .stride = self->width * bytes};
        if (self->ragged) {
            uint64_t offset = 0;
            for (uint32_t i = 0; i < count; i++) {
                lists[i] = offset;
                lists[count + i] = pieces[i];
                offset += pieces[i] * bytes;
            }
            block->columns[c].stride = 1;
            block->columns[c].index = lists;
            block->columns[c].lengths = lists + count;
            lists += 2 * (size_t)count;
        }
        at += tnd_round_up(rows * bytes, TND_BUFFER_ALIGN);
    }
    tnd_buffer_seal(data);
    if (block->index != NULL)
        tnd_buffer_seal(block->index);
    for (uint32_t c = 0; c < stored->column_count; c++)
        block->columns[c].buffer = tnd_buffer_hold(data);
    tnd_buffer_drop(&data);
}

tnd_status_t tnd_row_shape_make(const tnd_row_shape_t *self, tnd_block_t *stored,
                                const uint64_t *places, const uint32_t *pieces, uint32_t count,
                                tnd_block_t *block, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    if (self->windows) {
        uint32_t rows = 0;
        copy(self, stored, places, pieces, count, block);
        for (uint32_t i = 0; i < count; i++)
            rows += pieces[i];
        status = tnd_block_intact(stored, 0, rows, error);
    } else {
        point(self, stored, places, count, block);
    }
    for (uint32_t c = 0; c < stored->column_count; c++)
        tnd_buffer_drop(&stored->columns[c].buffer);
    tnd_buffer_drop(&stored->index);
    return status;
}
