/*  actors/op/image/channels.c - grey, RGB and standard pictures of one shape: grayscale, rgb,
 *  standardize. */
#include <string.h>

#include "actors/image/color.h"
#include "actors/op/image/pixels_column.h"

typedef struct {
    const char *column;
} channels_options_t;

static const tnd_option_t channels_options[] = {TND_PIXELS_OPTION(channels_options_t)};

const tnd_op_spec_t tnd_op_grayscale_spec = {
    .table = {.name = "grayscale",
              .help = "Makes RGB pictures grey, as tf.image.rgb_to_grayscale.",
              TND_OPTIONS(channels_options, channels_options_t)},
};

const tnd_op_spec_t tnd_op_rgb_spec = {
    .table = {.name = "rgb",
              .help = "Gives grey pictures three equal channels, as tf.image.grayscale_to_rgb.",
              TND_OPTIONS(channels_options, channels_options_t)},
};

const tnd_op_spec_t tnd_op_standardize_spec = {
    .table = {.name = "standardize",
              .help = "Gives each picture mean 0 and deviation 1, as "
                      "tf.image.per_image_standardization.",
              TND_OPTIONS(channels_options, channels_options_t)},
};

static tnd_status_t open_as(void *state, const void *given, const tnd_schema_t *in,
                            tnd_op_facts_t *facts, uint32_t from, uint32_t to, bool floats,
                            tnd_error_t *error)
{
    tnd_pixels_column_t *self = state;
    const channels_options_t *chosen = given;
    TND_TRY(tnd_pixels_find(self, in, chosen->column, from, error));
    tnd_pixels_t out = self->in;
    out.channels = to != 0 ? to : out.channels;
    out.floats = floats || out.floats;
    return tnd_pixels_replace(self, in, &out, facts, error);
}

static tnd_status_t grayscale_open(void *state, const void *given, const tnd_schema_t *in,
                                   tnd_op_facts_t *facts, tnd_error_t *error)
{
    return open_as(state, given, in, facts, 3, 1, false, error);
}

static tnd_status_t rgb_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    return open_as(state, given, in, facts, 1, 3, false, error);
}

static tnd_status_t standardize_open(void *state, const void *given, const tnd_schema_t *in,
                                     tnd_op_facts_t *facts, tnd_error_t *error)
{
    return open_as(state, given, in, facts, 0, 0, true, error);
}

static void repeat_channel(const tnd_pixels_t *in, uint8_t *out)
{
    size_t size = in->floats ? sizeof(float) : 1, count = (size_t)in->height * in->width;
    const uint8_t *from = in->data;
    for (size_t i = 0; i < count; i++, from += size)
        for (int c = 0; c < 3; c++, out += size)
            memcpy(out, from, size);
}

typedef enum { GRAYSCALE, RGB, STANDARDIZE } change_t;

static tnd_status_t apply_as(void *state, const tnd_tile_t *in, tnd_tile_t *out, change_t change)
{
    const tnd_pixels_column_t *self = state;
    tnd_op_pass(in, out, self->columns, self->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_pixels_t from = self->in;
        uint8_t *to = tnd_tile_row(out, self->column, row);
        from.data = tnd_tile_row(in, self->column, row);
        if (change == GRAYSCALE)
            tnd_color_grayscale(&from, to);
        else if (change == RGB)
            repeat_channel(&from, to);
        else
            tnd_color_standardize(&from, (float *)(void *)to);
    }
    return TND_OK;
}

#define CHANNELS(op, change)                                                                       \
    static tnd_status_t op##_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,     \
                                   tnd_tile_t *out, tnd_error_t *error)                            \
    {                                                                                              \
        (void)key, (void)error;                                                                    \
        return apply_as(state, in, out, change);                                                   \
    }                                                                                              \
    const tnd_op_t tnd_op_##op = {                                                                 \
        .spec = &tnd_op_##op##_spec,                                                               \
        .state_bytes = sizeof(tnd_pixels_column_t),                                                \
        .open = op##_open,                                                                         \
        .apply = op##_apply,                                                                       \
    };

CHANNELS(grayscale, GRAYSCALE)
CHANNELS(rgb, RGB)
CHANNELS(standardize, STANDARDIZE)
