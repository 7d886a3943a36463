/*  actors/op/text/to_number.c - texts as the numbers that they say: to_number. */
#include "actors/op/text/bytes_column.h"
#include "actors/text/number_text.h"

typedef struct {
    const char *column, *into, *to;
} number_options_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_dtype_t dtype;
} number_t;

static const tnd_option_t options[] = {
    TND_BYTES_OPTIONS(number_options_t, "the ragged column of u8 with a number per row, as text"),
    {TND_OPTION(number_options_t, to, STRING, GRAPH), .unit = "type", .fallback = "f32",
     .help = "the type of the numbers: u8, i8 ... i64, f32 or f64"},
};

const tnd_op_spec_t tnd_op_to_number_spec = {
    .table = {.name = "to_number",
              .help = "Reads numbers that are written as text, as tf.strings.to_number does in "
                      "TensorFlow.",
              TND_OPTIONS(options, number_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t number_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    number_t *self = state;
    const number_options_t *chosen = given;
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &self->dtype, error));
    if (!tnd_number_text_reads(self->dtype))
        return tnd_fail(error, "texts become integers, f32 or f64; `cast` makes them %s",
                        chosen->to);
    const tnd_column_t made = {.dtype = self->dtype};
    return tnd_bytes_make(&self->bytes, in, chosen->into, &made, facts, error);
}

static tnd_status_t number_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const number_t *self = state;
    tnd_excerpt_t excerpt;
    tnd_op_pass(in, out, self->bytes.columns, self->bytes.to);
    for (uint32_t row = 0; row < in->rows; row++) {
        const tnd_ragged_t *text = &in->columns[self->bytes.column].ragged[row];
        if (!tnd_number_text(self->dtype, text->data, text->length,
                             tnd_tile_row(out, self->bytes.to, row)))
            return tnd_fail(error, "column `%s` has `%s`, which is not a number of type %s",
                            self->bytes.name, tnd_excerpt(&excerpt, text->data, text->length),
                            tnd_dtype_name(self->dtype));
    }
    return TND_OK;
}

static tnd_ragged_t number_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    (void)room;
    *column_p = ((const number_t *)state)->bytes.column;
    return (tnd_ragged_t){(void *)(uintptr_t) "1", 1};
}

const tnd_op_t tnd_op_to_number = {
    .spec = &tnd_op_to_number_spec,
    .state_bytes = sizeof(number_t),
    .open = number_open,
    .apply = number_apply,
    .record = number_record,
};
