/*  actors/op/elements.c - the column of an operation that makes one element of each. */
#include "actors/op/elements.h"

tnd_status_t tnd_elements_find(tnd_elements_t *self, const tnd_schema_t *in, const char *column,
                               tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, column, &self->column, error));
    const tnd_column_t *found = &in->columns[self->column];
    self->columns = in->count;
    self->from = self->to = found->dtype;
    self->elements = found->ragged ? tnd_column_unit(found) / tnd_dtype_size(found->dtype)
                                   : tnd_column_elements(found);
    return TND_OK;
}

/*  The ragged bytes of a row grow most if all of them are of this column. */
static void set_growth(const tnd_schema_t *in, uint32_t column, tnd_op_facts_t *facts)
{
    double made = (double)tnd_column_bytes(&facts->schema.columns[column]);
    double taken = (double)tnd_column_bytes(&in->columns[column]);
    double all = (double)tnd_schema_ragged_bytes(in);
    facts->growth_usual = (all - taken + made) / all;
    facts->growth_max = made / taken;
    if (tnd_schema_ragged(in) > 1 && facts->growth_max < 1)
        facts->growth_max = 1;
}

tnd_status_t tnd_elements_replace(const tnd_elements_t *self, const tnd_schema_t *in,
                                  tnd_op_facts_t *facts, tnd_error_t *error)
{
    const tnd_column_t *column = &in->columns[self->column];
    TND_TRY(tnd_op_replace(facts, in, self->column, self->to, column->rank, column->shape, error));
    facts->schema.columns[self->column].ragged = column->ragged;
    if (column->ragged)
        set_growth(in, self->column, facts);
    return TND_OK;
}

static void apply_fixed(const tnd_elements_t *self, tnd_elements_fn *run, const void *op,
                        const tnd_tile_t *in, tnd_tile_t *out)
{
    uint32_t column = self->column;
    if (in->columns[column].stride == self->elements * tnd_dtype_size(self->from)) {
        run(op, in->rows * self->elements, out->columns[column].base, in->columns[column].base);
        return;
    }
    for (uint32_t row = 0; row < in->rows; row++)
        run(op, self->elements, tnd_tile_row(out, column, row), tnd_tile_row(in, column, row));
}

/*  The rows of a tile are made one after the other; those that also come in so, at once. */
static void apply_ragged(const tnd_elements_t *self, tnd_elements_fn *run, const void *op,
                         const tnd_tile_t *in, tnd_tile_t *out)
{
    const tnd_ragged_t *from = in->columns[self->column].ragged;
    size_t from_size = tnd_dtype_size(self->from), to_size = tnd_dtype_size(self->to), all = 0;
    for (uint32_t row = 0; row < in->rows; row++)
        all += from[row].length * self->elements;
    uint8_t *to = tnd_room_take(out->room, all * to_size, to_size);
    for (uint32_t row = 0, next; row < in->rows; row = next) {
        const uint8_t *first = from[row].data;
        size_t count = 0;
        for (next = row; next < in->rows; next++) {
            size_t more = from[next].length * self->elements;
            if (next > row && more > 0 && from[next].data != first + count * from_size)
                break;
            out->columns[self->column].ragged[next] =
                (tnd_ragged_t){to + count * to_size, from[next].length};
            count += more;
        }
        if (count > 0)
            run(op, count, to, first);
        to += count * to_size;
    }
}

void tnd_elements_apply(const tnd_elements_t *self, tnd_elements_fn *run, const void *op,
                        const tnd_tile_t *in, tnd_tile_t *out)
{
    tnd_op_pass(in, out, self->columns, self->column);
    if (in->columns[self->column].ragged != NULL)
        apply_ragged(self, run, op, in, out);
    else
        apply_fixed(self, run, op, in, out);
}
