/*  actors/op/random_flip.c - pictures mirrored at random: random_flip.
 *
 *  As TensorFlow's stateless flips, a picture is mirrored if one uniform draw in [0, 1) is below
 * the probability.  The draw is the first f32 of the generator of (seed, epoch, sample, operation),
 * so it belongs to the picture, not to the worker or the batch.
 */
#include <string.h>

#include "actors/op/ops.h"

enum { HORIZONTAL, VERTICAL };

typedef struct {
    const char *column;
    int axis;
    double probability;
} flip_options_t;

typedef struct {
    uint32_t columns, column;
    int axis;
    double probability;
    size_t height, width, pixel_bytes;
} flip_t;

static const tnd_option_t options[] = {
    {.name = "column",
     .type = TND_OPTION_COLUMN,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(flip_options_t, column),
     .help = "pictures: height, width and perhaps channels"},
    {.name = "axis",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "horizontal",
     .choices = "horizontal|vertical",
     .offset = offsetof(flip_options_t, axis),
     .help = "left and right change places, or top and bottom"},
    {.name = "probability",
     .type = TND_OPTION_F64,
     .role = TND_ROLE_GRAPH,
     .fallback = "0.5",
     .range = "0..1",
     .offset = offsetof(flip_options_t, probability),
     .help = "how often a picture is mirrored"},
};

const tnd_op_spec_t tnd_op_random_flip_spec = {
    .table = {.name = "random_flip",
              .help = "Mirrors pictures at random.",
              TND_OPTIONS(options),
              .size = sizeof(flip_options_t)},
    .caps = TND_OP_RANDOM,
};

static tnd_status_t flip_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    flip_t *self = state;
    const flip_options_t *chosen = given;
    TND_TRY(tnd_op_find(in, chosen->column, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    if (column->rank < 2 || column->rank > 3)
        return tnd_fail(error,
                        "column `%s` has %u dimensions; a picture has 2 (height, width) or 3 "
                        "(channels last)",
                        column->name, column->rank);
    self->columns = in->count;
    self->axis = chosen->axis;
    self->probability = chosen->probability;
    self->height = column->shape[0];
    self->width = column->shape[1];
    self->pixel_bytes = tnd_column_bytes(column) / (self->height * self->width);
    return tnd_op_replace(facts, in, self->column, column->dtype, column->rank, column->shape,
                          error);
}

static void mirror_line(uint8_t *out, const uint8_t *in, size_t width, size_t pixel_bytes)
{
    if (pixel_bytes == 1) {
        for (size_t x = 0; x < width; x++)
            out[x] = in[width - 1 - x];
        return;
    }
    for (size_t x = 0; x < width; x++)
        memcpy(out + x * pixel_bytes, in + (width - 1 - x) * pixel_bytes, pixel_bytes);
}

static void mirror(const flip_t *self, uint8_t *out, const uint8_t *in)
{
    size_t line = self->width * self->pixel_bytes;
    for (size_t y = 0; y < self->height; y++)
        if (self->axis == HORIZONTAL)
            mirror_line(out + y * line, in + y * line, self->width, self->pixel_bytes);
        else
            memcpy(out + y * line, in + (self->height - 1 - y) * line, line);
}

static tnd_status_t flip_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)error;
    const flip_t *self = state;
    tnd_op_pass(in, out, self->columns, self->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        uint8_t *to = tnd_tile_row(out, self->column, row);
        const uint8_t *from = tnd_tile_row(in, self->column, row);
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        if ((double)tnd_random_f32(&random) < self->probability)
            mirror(self, to, from);
        else
            memcpy(to, from, self->height * self->width * self->pixel_bytes);
    }
    return TND_OK;
}

static void flip_close(void *state)
{
    (void)state;
}

const tnd_op_t tnd_op_random_flip = {
    .spec = &tnd_op_random_flip_spec,
    .state_bytes = sizeof(flip_t),
    .open = flip_open,
    .apply = flip_apply,
    .close = flip_close,
};
