/*  actors/op/crop.c - pictures of another size, of the same pixels: crop, random_crop, pad.
 *
 *  The middle is TensorFlow's: of an odd rest, the greater half is cut at the bottom and at the
 *  right.  A random corner is made as TensorFlow's of two words, top and left, of the generator of
 *  (seed, epoch, sample, operation). */
#include <stdlib.h>
#include <string.h>

#include "actors/op/picture.h"

typedef struct {
    const char *column;
    int layout;
    uint64_t height, width;
    tnd_numbers_t at; /* of crop alone */
} crop_options_t;

typedef struct {
    tnd_picture_t picture;
    size_t height, width, top, left;
} crop_t;

#define SIZE_OPTION(field, what)                                                                   \
    {                                                                                              \
        TND_OPTION(crop_options_t, field, U64, GRAPH), .unit = "pixels", .range = "1..",           \
                                                       .help = what                                \
    }
#define SIZE_OPTIONS                                                                               \
    SIZE_OPTION(height, "lines that are kept"), SIZE_OPTION(width, "pixels of a line that are "    \
                                                                   "kept")

static const tnd_option_t crop_options[] = {
    TND_PICTURE_OPTIONS(crop_options_t),
    SIZE_OPTIONS,
    {TND_OPTION(crop_options_t, at, F64S, GRAPH), .unit = "pixels", .fallback = "",
     .help = "the first line and the first pixel that are kept, [top, left]; without it the "
             "middle is"},
};

static const tnd_option_t random_crop_options[] = {TND_PICTURE_OPTIONS(crop_options_t),
                                                   SIZE_OPTIONS};

const tnd_op_spec_t tnd_op_crop_spec = {
    .table = {.name = "crop",
              .help = "Cuts the same part out of every picture: the middle, or where it says, as "
                      "tf.image.crop_to_bounding_box.",
              TND_OPTIONS(crop_options, crop_options_t)},
};

const tnd_op_spec_t tnd_op_random_crop_spec = {
    .table = {.name = "random_crop",
              .help = "Cuts a part out of each picture, at random, as "
                      "tf.image.stateless_random_crop; `pad` first to shift pictures.",
              TND_OPTIONS(random_crop_options, crop_options_t)},
    .caps = TND_OP_RANDOM,
};

static tnd_status_t crop_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    crop_t *self = state;
    const crop_options_t *chosen = given;
    tnd_picture_t *picture = &self->picture;
    TND_TRY(tnd_picture_find(picture, in, chosen->column, chosen->layout, error));
    if (chosen->height > picture->height || chosen->width > picture->width)
        return tnd_fail(error,
                        "column `%s` has pictures of %zu x %zu (height x width), of which %llu x "
                        "%llu cannot be cut out",
                        chosen->column, picture->height, picture->width,
                        (unsigned long long)chosen->height, (unsigned long long)chosen->width);
    self->height = chosen->height;
    self->width = chosen->width;
    self->top = (picture->height - self->height) / 2;
    self->left = (picture->width - self->width) / 2;
    if (chosen->at.count != 0) {
        int64_t at[2];
        TND_TRY(tnd_op_whole("at", &chosen->at, 0, at, 2, error));
        if (chosen->at.count != 2)
            return tnd_fail(error, "`at` is two numbers, [top, left]");
        self->top = (size_t)at[0];
        self->left = (size_t)at[1];
        if (self->top > picture->height - self->height || self->left > picture->width - self->width)
            return tnd_fail(error,
                            "%zu x %zu (height x width) from line %zu and pixel %zu on reach "
                            "beyond the pictures of column `%s`, %zu x %zu",
                            self->height, self->width, self->top, self->left, chosen->column,
                            picture->height, picture->width);
    }
    return tnd_picture_replace(picture, in, self->height, self->width, facts, error);
}

static void cut(const crop_t *self, size_t top, size_t left, uint8_t *out, const uint8_t *in)
{
    const tnd_picture_t *picture = &self->picture;
    size_t line = picture->width * picture->pixel_bytes, kept = self->width * picture->pixel_bytes;
    for (size_t plane = 0; plane < picture->planes; plane++) {
        const uint8_t *from =
            in + (plane * picture->height + top) * line + left * picture->pixel_bytes;
        for (size_t y = 0; y < self->height; y++, out += kept, from += line)
            memcpy(out, from, kept);
    }
}

static tnd_status_t crop_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const crop_t *self = state;
    uint32_t column = self->picture.column;
    tnd_op_pass(in, out, self->picture.columns, column);
    for (uint32_t row = 0; row < in->rows; row++)
        cut(self, self->top, self->left, tnd_tile_row(out, column, row),
            tnd_tile_row(in, column, row));
    return TND_OK;
}

static tnd_status_t random_crop_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                      tnd_tile_t *out, tnd_error_t *error)
{
    (void)error;
    const crop_t *self = state;
    const tnd_picture_t *picture = &self->picture;
    tnd_op_pass(in, out, picture->columns, picture->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        size_t top = tnd_random_place(tnd_random_u32(&random), picture->height - self->height + 1);
        size_t left = tnd_random_place(tnd_random_u32(&random), picture->width - self->width + 1);
        cut(self, top, left, tnd_tile_row(out, picture->column, row),
            tnd_tile_row(in, picture->column, row));
    }
    return TND_OK;
}

typedef struct {
    const char *column;
    int layout;
    tnd_numbers_t by;
    const char *value;
} pad_options_t;

typedef struct {
    tnd_picture_t picture;
    size_t top, bottom, left, right;
    uint8_t *line; /* one of what comes out, all padding */
    size_t line_bytes;
} pad_t;

static const tnd_option_t pad_options[] = {
    TND_PICTURE_OPTIONS(pad_options_t),
    {TND_OPTION(pad_options_t, by, F64S, GRAPH), .unit = "pixels",
     .help = "one number for all sides, or [vertical, horizontal], or [top, bottom, left, right]"},
    {TND_OPTION(pad_options_t, value, STRING, GRAPH), .unit = "number", .fallback = "0",
     .help = "the value of the new pixels, in every channel, as a number of the column's type"},
};

const tnd_op_spec_t tnd_op_pad_spec = {
    .table = {.name = "pad",
              .help = "Puts an edge of one value around pictures, as tf.pad.",
              TND_OPTIONS(pad_options, pad_options_t)},
};

static tnd_status_t read_sides(pad_t *self, const tnd_numbers_t *by, tnd_error_t *error)
{
    int64_t sides[4] = {0};
    TND_TRY(tnd_op_whole("by", by, 0, sides, 4, error));
    if (by->count != 1 && by->count != 2 && by->count != 4)
        return tnd_fail(error,
                        "`by` has %zu numbers; it is one for all sides, or [vertical, "
                        "horizontal], or [top, bottom, left, right]",
                        by->count);
    self->top = (size_t)sides[0];
    self->bottom = (size_t)sides[by->count == 4 ? 1 : 0];
    self->left = (size_t)sides[by->count == 4 ? 2 : by->count - 1];
    self->right = (size_t)sides[by->count == 4 ? 3 : by->count - 1];
    return TND_OK;
}

static tnd_status_t pad_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    pad_t *self = state;
    const pad_options_t *chosen = given;
    const tnd_picture_t *picture = &self->picture;
    uint64_t value;
    TND_TRY(tnd_picture_find(&self->picture, in, chosen->column, chosen->layout, error));
    TND_TRY(read_sides(self, &chosen->by, error));
    TND_TRY(tnd_op_number("value", chosen->value, &in->columns[picture->column], &value, error));
    size_t height = self->top + picture->height + self->bottom;
    size_t width = self->left + picture->width + self->right;
    TND_TRY(tnd_picture_replace(picture, in, height, width, facts, error));
    size_t size = tnd_dtype_size(picture->dtype);
    self->line_bytes = width * picture->pixel_bytes;
    self->line = malloc(self->line_bytes);
    if (self->line == NULL)
        return tnd_fail(error, "cannot allocate a line of %zu pixels", width);
    for (size_t at = 0; at < self->line_bytes; at += size)
        memcpy(self->line + at, &value, size);
    return TND_OK;
}

static uint8_t *fill_lines(const pad_t *self, uint8_t *out, size_t lines)
{
    for (size_t y = 0; y < lines; y++, out += self->line_bytes)
        memcpy(out, self->line, self->line_bytes);
    return out;
}

static void pad_picture(const pad_t *self, uint8_t *out, const uint8_t *in)
{
    const tnd_picture_t *picture = &self->picture;
    size_t inner = picture->width * picture->pixel_bytes;
    size_t left = self->left * picture->pixel_bytes, right = self->right * picture->pixel_bytes;
    for (size_t plane = 0; plane < picture->planes; plane++) {
        out = fill_lines(self, out, self->top);
        for (size_t y = 0; y < picture->height; y++, out += self->line_bytes, in += inner) {
            memcpy(out, self->line, left);
            memcpy(out + left, in, inner);
            memcpy(out + left + inner, self->line, right);
        }
        out = fill_lines(self, out, self->bottom);
    }
}

static tnd_status_t pad_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const pad_t *self = state;
    uint32_t column = self->picture.column;
    tnd_op_pass(in, out, self->picture.columns, column);
    for (uint32_t row = 0; row < in->rows; row++)
        pad_picture(self, tnd_tile_row(out, column, row), tnd_tile_row(in, column, row));
    return TND_OK;
}

static void pad_close(void *state)
{
    free(((pad_t *)state)->line);
}

const tnd_op_t tnd_op_crop = {
    .spec = &tnd_op_crop_spec,
    .state_bytes = sizeof(crop_t),
    .open = crop_open,
    .apply = crop_apply,
};

const tnd_op_t tnd_op_random_crop = {
    .spec = &tnd_op_random_crop_spec,
    .state_bytes = sizeof(crop_t),
    .open = crop_open,
    .apply = random_crop_apply,
};

const tnd_op_t tnd_op_pad = {
    .spec = &tnd_op_pad_spec,
    .state_bytes = sizeof(pad_t),
    .open = pad_open,
    .apply = pad_apply,
    .close = pad_close,
};
