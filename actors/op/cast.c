/*  actors/op/cast.c - a column in another type: cast.  What every cast gives is described in
 *  runtime/core/numeric/numeric.h. */
#include "actors/op/ops.h"
#include "runtime/core/numeric/numeric.h"

typedef struct {
    const char *column;
    const char *to;
    bool saturate;
} cast_options_t;

typedef struct {
    uint32_t columns, column;
    tnd_dtype_t from, to;
    size_t elements;
    bool saturate;
} cast_t;

static const tnd_option_t options[] = {
    {TND_OPTION(cast_options_t, column, COLUMN, GRAPH), .help = "the column to cast"},
    {TND_OPTION(cast_options_t, to, STRING, GRAPH), .unit = "type", .example = "i32",
     .help = "the new type: u8, i8 ... i64, f16, bf16, f32, f64 or bool"},
    {TND_OPTION(cast_options_t, saturate, BOOL, GRAPH), .fallback = "false",
     .help = "integers that do not fit become the nearest that does, instead of losing high bits"},
};

const tnd_op_spec_t tnd_op_cast_spec = {
    .table = {.name = "cast",
              .help = "Gives a column another element type, as tf.cast.",
              TND_OPTIONS(options, cast_options_t)},
};

static tnd_status_t cast_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    cast_t *self = state;
    const cast_options_t *chosen = given;
    TND_TRY(tnd_op_find(in, chosen->column, &self->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &self->to, error));
    const tnd_column_t *column = &in->columns[self->column];
    self->columns = in->count;
    self->from = column->dtype;
    self->elements = tnd_column_elements(column);
    self->saturate = chosen->saturate;
    return tnd_op_replace(facts, in, self->column, self->to, column->rank, column->shape, error);
}

static tnd_status_t cast_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const cast_t *self = state;
    void (*cast)(tnd_dtype_t, tnd_dtype_t, size_t, void *, const void *) =
        self->saturate ? tnd_cast_saturate : tnd_cast;
    tnd_op_pass(in, out, self->columns, self->column);
    size_t row_bytes = self->elements * tnd_dtype_size(self->from);
    if (in->columns[self->column].stride == row_bytes) {
        cast(self->to, self->from, in->rows * self->elements, out->columns[self->column].base,
             in->columns[self->column].base);
        return TND_OK;
    }
    for (uint32_t row = 0; row < in->rows; row++)
        cast(self->to, self->from, self->elements, tnd_tile_row(out, self->column, row),
             tnd_tile_row(in, self->column, row));
    return TND_OK;
}

const tnd_op_t tnd_op_cast = {
    .spec = &tnd_op_cast_spec,
    .state_bytes = sizeof(cast_t),
    .open = cast_open,
    .apply = cast_apply,
};
