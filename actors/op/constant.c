/*  actors/op/constant.c - a column with the same number in each row: constant. */
#include <string.h>

#include "actors/op/ops.h"

typedef struct {
    const char *into, *value, *dtype;
} constant_options_t;

typedef struct {
    uint32_t columns;
    size_t size;
    uint64_t value; /* one element */
} constant_t;

static const tnd_option_t options[] = {
    {TND_OPTION(constant_options_t, into, COLUMN, GRAPH), .help = "the new column"},
    {TND_OPTION(constant_options_t, value, STRING, GRAPH), .unit = "number", .example = "1",
     .help = "the number of every row"},
    {TND_OPTION(constant_options_t, dtype, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "f32", .help = "its type: u8, i8 ... i64, f16, bf16, f32, f64 or bool"},
};

const tnd_op_spec_t tnd_op_constant_spec = {
    .table = {.name = "constant",
              .help = "Adds a column with the same number in each row, as Dataset.map with "
                      "tf.constant.",
              TND_OPTIONS(options, constant_options_t)},
};

static tnd_status_t constant_open(void *state, const void *given, const tnd_schema_t *in,
                                  tnd_op_facts_t *facts, tnd_error_t *error)
{
    constant_t *self = state;
    const constant_options_t *chosen = given;
    tnd_dtype_t dtype;
    TND_TRY(tnd_op_dtype(chosen->dtype, &dtype, error));
    TND_TRY(tnd_op_add(facts, in, chosen->into, dtype, 0, NULL, error));
    TND_TRY(tnd_op_number("value", chosen->value, &facts->schema.columns[in->count], &self->value,
                          error));
    self->columns = in->count;
    self->size = tnd_dtype_size(dtype);
    return TND_OK;
}

static tnd_status_t constant_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                   tnd_tile_t *out, tnd_error_t *error)
{
    const constant_t *self = state;
    (void)key, (void)error;
    tnd_op_pass(in, out, self->columns, self->columns);
    for (uint32_t row = 0; row < in->rows; row++)
        memcpy(tnd_tile_row(out, self->columns, row), &self->value, self->size);
    return TND_OK;
}

const tnd_op_t tnd_op_constant = {
    .spec = &tnd_op_constant_spec,
    .state_bytes = sizeof(constant_t),
    .open = constant_open,
    .apply = constant_apply,
};
