/*  actors/op/flip.c - pictures mirrored, always or at random: flip, random_flip.
 *
 *  As TensorFlow's stateless flips, a picture is mirrored at random if one uniform draw in [0, 1)
 *  is below the probability.  It is made of the first word of the generator of (seed, epoch, sample,
 *  operation), so it belongs to the picture, not to the worker or the batch. */
#include <string.h>

#include "actors/op/loops.h"
#include "actors/op/picture.h"

enum { HORIZONTAL, VERTICAL };

typedef struct {
    const char *column;
    int layout, axis;
    double probability; /* of random_flip alone */
} flip_options_t;

typedef struct {
    tnd_picture_t picture;
    const tnd_loops_t *loops;
    int axis;
    double probability;
} flip_t;

#define AXIS_OPTION                                                                                \
    {                                                                                              \
        TND_OPTION(flip_options_t, axis, ENUM, GRAPH),                                             \
            .fallback = "horizontal", .choices = "horizontal|vertical",                            \
            .help = "left and right change places, or top and bottom"                              \
    }

static const tnd_option_t flip_options[] = {TND_PICTURE_OPTIONS(flip_options_t), AXIS_OPTION};

static const tnd_option_t random_flip_options[] = {
    TND_PICTURE_OPTIONS(flip_options_t),
    AXIS_OPTION,
    {TND_OPTION(flip_options_t, probability, F64, GRAPH), .fallback = "0.5", .range = "0..1",
     .help = "how often a picture is mirrored"},
};

const tnd_op_spec_t tnd_op_flip_spec = {
    .table = {.name = "flip",
              .help = "Mirrors every picture, as tf.image.flip_left_right or flip_up_down.",
              TND_OPTIONS(flip_options, flip_options_t)},
};

const tnd_op_spec_t tnd_op_random_flip_spec = {
    .table = {.name = "random_flip",
              .help = "Mirrors pictures at random, as tf.image.stateless_random_flip_left_right.",
              TND_OPTIONS(random_flip_options, flip_options_t)},
    .caps = TND_OP_RANDOM,
};

static tnd_status_t flip_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    flip_t *self = state;
    const flip_options_t *chosen = given;
    TND_TRY(tnd_picture_find(&self->picture, in, chosen->column, chosen->layout, error));
    self->loops = tnd_loops();
    self->axis = chosen->axis;
    self->probability = chosen->probability;
    return tnd_picture_replace(&self->picture, in, self->picture.height, self->picture.width, facts,
                               error);
}

/*  A size that is known when this is compiled costs no call. */
#define MIRROR(bytes)                                                                              \
    for (size_t x = 0; x < width; x++)                                                             \
        memcpy(out + x * (bytes), in + (width - 1 - x) * (bytes), bytes);

static void mirror_line(const flip_t *self, uint8_t *restrict out, const uint8_t *restrict in)
{
    size_t width = self->picture.width, pixel_bytes = self->picture.pixel_bytes;
    switch (pixel_bytes) {
    case 1:
        self->loops->reverse_u8(width, out, in);
        return;
    case 3:
        MIRROR(3)
        return;
    case 4:
        MIRROR(4)
        return;
    case 12:
        MIRROR(12)
        return;
    default:
        MIRROR(pixel_bytes)
    }
}

static void mirror(const flip_t *self, uint8_t *out, const uint8_t *in)
{
    const tnd_picture_t *picture = &self->picture;
    size_t line = picture->width * picture->pixel_bytes;
    for (size_t plane = 0; plane < picture->planes; plane++) {
        for (size_t y = 0; y < picture->height; y++)
            if (self->axis == HORIZONTAL)
                mirror_line(self, out + y * line, in + y * line);
            else
                memcpy(out + y * line, in + (picture->height - 1 - y) * line, line);
        out += picture->height * line;
        in += picture->height * line;
    }
}

static tnd_status_t flip_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const flip_t *self = state;
    uint32_t column = self->picture.column;
    tnd_op_pass(in, out, self->picture.columns, column);
    for (uint32_t row = 0; row < in->rows; row++)
        mirror(self, tnd_tile_row(out, column, row), tnd_tile_row(in, column, row));
    return TND_OK;
}

static tnd_status_t random_flip_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                      tnd_tile_t *out, tnd_error_t *error)
{
    (void)error;
    const flip_t *self = state;
    const tnd_picture_t *picture = &self->picture;
    size_t bytes = picture->planes * picture->height * picture->width * picture->pixel_bytes;
    tnd_op_pass(in, out, picture->columns, picture->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        uint8_t *to = tnd_tile_row(out, picture->column, row);
        const uint8_t *from = tnd_tile_row(in, picture->column, row);
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        if ((double)tnd_random_scale(tnd_random_u32(&random), 0, 1) < self->probability)
            mirror(self, to, from);
        else
            memcpy(to, from, bytes);
    }
    return TND_OK;
}

const tnd_op_t tnd_op_flip = {
    .spec = &tnd_op_flip_spec,
    .state_bytes = sizeof(flip_t),
    .open = flip_open,
    .apply = flip_apply,
};

const tnd_op_t tnd_op_random_flip = {
    .spec = &tnd_op_random_flip_spec,
    .state_bytes = sizeof(flip_t),
    .open = flip_open,
    .apply = random_flip_apply,
};
