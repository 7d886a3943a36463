/*  actors/op/cast.c - a column in another type: cast.  What every cast gives is described in
 *  runtime/core/numeric/numeric.h. */
#include "actors/op/elements.h"
#include "runtime/core/numeric/numeric.h"

typedef struct {
    const char *column;
    const char *to;
    bool saturate;
} cast_options_t;

typedef struct {
    tnd_elements_t made;
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
    TND_TRY(tnd_elements_find(&self->made, in, chosen->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &self->made.to, error));
    self->saturate = chosen->saturate;
    return tnd_elements_replace(&self->made, in, facts, error);
}

static void run(const void *op, size_t count, void *out, const void *in)
{
    const cast_t *self = op;
    (self->saturate ? tnd_cast_saturate : tnd_cast)(self->made.to, self->made.from, count, out, in);
}

static tnd_status_t cast_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const cast_t *self = state;
    tnd_elements_apply(&self->made, run, self, in, out);
    return TND_OK;
}

const tnd_op_t tnd_op_cast = {
    .spec = &tnd_op_cast_spec,
    .state_bytes = sizeof(cast_t),
    .open = cast_open,
    .apply = cast_apply,
};
