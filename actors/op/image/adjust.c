/*  actors/op/image/adjust.c - colours of pictures of one shape: brightness, contrast, saturation, hue,
 *  gamma, and at random.
 *
 *  A random value is one draw of the generator of (seed, epoch, sample, operation), made uniform as
 *  TensorFlow does. */
#include "actors/image/color.h"
#include "actors/op/image/pixels_column.h"

typedef struct {
    const char *column;
    double value, gain, low, high;
} adjust_options_t;

typedef struct {
    tnd_pixels_column_t pixels;
    tnd_color_kind_t kind;
    float low, high, gain; /* low is the value if it is not random */
} adjust_t;

#define VALUE_OPTIONS(name, range_text, text)                                                      \
    static const tnd_option_t name##_options[] = {                                                 \
        TND_PIXELS_OPTION(adjust_options_t),                                                       \
        {TND_OPTION_NAMED("value", adjust_options_t, value, F64, GRAPH), .range = range_text,      \
         .help = text},                                                                            \
    }

#define MAX_OPTIONS(name, range_text, text)                                                        \
    static const tnd_option_t random_##name##_options[] = {                                        \
        TND_PIXELS_OPTION(adjust_options_t),                                                       \
        {TND_OPTION_NAMED("max", adjust_options_t, high, F64, GRAPH), .range = range_text,         \
         .help = text},                                                                            \
    }

#define RANGE_OPTIONS(name, text)                                                                  \
    static const tnd_option_t random_##name##_options[] = {                                        \
        TND_PIXELS_OPTION(adjust_options_t),                                                       \
        {TND_OPTION(adjust_options_t, low, F64, GRAPH), .range = "0..1000000",                     \
         .help = "the least " text},                                                               \
        {TND_OPTION(adjust_options_t, high, F64, GRAPH), .range = "0..1000000",                    \
         .help = "the greatest " text},                                                            \
    }

VALUE_OPTIONS(brightness, "-1..1", "what is added; 1 is the whole range of a byte");
VALUE_OPTIONS(contrast, "0..1000000",
              "what the distance from the mean of the channel is multiplied by");
VALUE_OPTIONS(saturation, "0..1000000", "what the saturation is multiplied by");
VALUE_OPTIONS(hue, "-1..1", "by how much of the circle of colours they are turned");
MAX_OPTIONS(brightness, "0..1", "the most that is added or subtracted");
MAX_OPTIONS(hue, "0..0.5", "the most that colours are turned, either way");
RANGE_OPTIONS(contrast, "factor");
RANGE_OPTIONS(saturation, "factor");

static const tnd_option_t gamma_options[] = {
    TND_PIXELS_OPTION(adjust_options_t),
    {TND_OPTION(adjust_options_t, value, F64, GRAPH), .range = "0..1000000",
     .help = "the power that fractions of the whole range are raised to"},
    {TND_OPTION(adjust_options_t, gain, F64, GRAPH), .fallback = "1",
     .help = "what they are multiplied by then"},
};

static tnd_status_t adjust_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_color_kind_t kind, bool ranged,
                                tnd_error_t *error)
{
    adjust_t *self = state;
    const adjust_options_t *chosen = given;
    bool rgb = kind == TND_COLOR_SATURATION || kind == TND_COLOR_HUE;
    TND_TRY(tnd_pixels_find(&self->pixels, in, chosen->column, rgb ? 3 : 0, error));
    if (ranged && chosen->low > chosen->high)
        return tnd_fail(error, "`low` is %g, more than `high`, %g", chosen->low, chosen->high);
    self->kind = kind;
    self->low = (float)chosen->value;
    self->gain = (float)chosen->gain;
    return tnd_pixels_replace(&self->pixels, in, &self->pixels.in, facts, error);
}

static tnd_status_t open_random(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_color_kind_t kind, bool ranged,
                                tnd_error_t *error)
{
    adjust_t *self = state;
    const adjust_options_t *chosen = given;
    TND_TRY(adjust_open(state, given, in, facts, kind, ranged, error));
    self->low = (float)(ranged ? chosen->low : -chosen->high);
    self->high = (float)chosen->high;
    return TND_OK;
}

static void adjust_row(const adjust_t *self, float value, const tnd_tile_t *in,
                       const tnd_tile_t *out, uint32_t row)
{
    tnd_pixels_t from = self->pixels.in;
    from.data = tnd_tile_row(in, self->pixels.column, row);
    tnd_color_adjust(self->kind, value, self->gain, &from,
                     tnd_tile_row(out, self->pixels.column, row));
}

static tnd_status_t adjust_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const adjust_t *self = state;
    tnd_op_pass(in, out, self->pixels.columns, self->pixels.column);
    for (uint32_t row = 0; row < in->rows; row++)
        adjust_row(self, self->low, in, out, row);
    return TND_OK;
}

static tnd_status_t random_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)error;
    const adjust_t *self = state;
    tnd_op_pass(in, out, self->pixels.columns, self->pixels.column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        adjust_row(self, tnd_random_scale(tnd_random_u32(&random), self->low, self->high), in, out,
                   row);
    }
    return TND_OK;
}

#define ADJUST(op, kind_name, random, ranged, open_with, apply_with, text)                         \
    const tnd_op_spec_t tnd_op_##op##_spec = {                                                     \
        .table = {.name = #op, .help = text, TND_OPTIONS(op##_options, adjust_options_t)},         \
        .caps = (random) ? TND_OP_RANDOM : 0,                                                      \
    };                                                                                             \
    static tnd_status_t op##_open(void *state, const void *given, const tnd_schema_t *in,          \
                                  tnd_op_facts_t *facts, tnd_error_t *error)                       \
    {                                                                                              \
        return open_with(state, given, in, facts, TND_COLOR_##kind_name, ranged, error);           \
    }                                                                                              \
    const tnd_op_t tnd_op_##op = {                                                                 \
        .spec = &tnd_op_##op##_spec,                                                               \
        .state_bytes = sizeof(adjust_t),                                                           \
        .open = op##_open,                                                                         \
        .apply = apply_with,                                                                       \
    };

ADJUST(brightness, BRIGHTNESS, false, false, adjust_open, adjust_apply,
       "Makes pictures brighter or darker, as tf.image.adjust_brightness.")
ADJUST(contrast, CONTRAST, false, false, adjust_open, adjust_apply,
       "Changes the contrast of pictures, as tf.image.adjust_contrast.")
ADJUST(saturation, SATURATION, false, false, adjust_open, adjust_apply,
       "Changes the saturation of RGB pictures, as tf.image.adjust_saturation.")
ADJUST(hue, HUE, false, false, adjust_open, adjust_apply,
       "Turns the colours of RGB pictures, as tf.image.adjust_hue.")
ADJUST(gamma, GAMMA, false, false, adjust_open, adjust_apply,
       "Raises the numbers of pictures to a power, as tf.image.adjust_gamma.")
ADJUST(random_brightness, BRIGHTNESS, true, false, open_random, random_apply,
       "Makes pictures brighter or darker at random, as tf.image.stateless_random_brightness.")
ADJUST(random_contrast, CONTRAST, true, true, open_random, random_apply,
       "Changes the contrast of pictures at random, as tf.image.stateless_random_contrast.")
ADJUST(random_saturation, SATURATION, true, true, open_random, random_apply,
       "Changes the saturation at random, as tf.image.stateless_random_saturation.")
ADJUST(random_hue, HUE, true, false, open_random, random_apply,
       "Turns the colours at random, as tf.image.stateless_random_hue.")
