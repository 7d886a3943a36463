/*  actors/op/image/resize.c - pictures of one shape in another size: resize, rot90. */
#include <string.h>

#include "actors/image/geometry.h"
#include "actors/op/image/pixels_column.h"
#include "actors/op/picture.h"

typedef struct {
    const char *column;
    tnd_numbers_t size;
    int method, dtype;
    bool antialias, keep_aspect;
} resize_options_t;

typedef struct {
    tnd_pixels_column_t pixels;
    tnd_pixels_t out;
    tnd_resize_method_t method;
    bool antialias;
    tnd_resizer_t resizer;
} resize_t;

enum { DTYPE_AUTO, DTYPE_U8, DTYPE_F32, SIDE_MAX = 65535 };

static const tnd_option_t resize_options[] = {
    TND_PIXELS_OPTION(resize_options_t),
    {TND_OPTION(resize_options_t, size, F64S, GRAPH), .unit = "pixels",
     .help = "[height, width], or one number for both"},
    {TND_OPTION(resize_options_t, method, ENUM, GRAPH), .fallback = "bilinear",
     .choices = TND_RESIZE_METHODS, .help = "how pixels of another size are computed"},
    {TND_OPTION(resize_options_t, antialias, BOOL, GRAPH), .fallback = "false",
     .help = "whether all pixels count when a picture becomes smaller"},
    {TND_OPTION(resize_options_t, keep_aspect, BOOL, GRAPH), .fallback = "false",
     .help = "whether both sides change by the same factor, so that the picture just fits in"},
    {TND_OPTION(resize_options_t, dtype, ENUM, GRAPH), .fallback = "auto", .choices = "auto|u8|f32",
     .help = "the new type: `auto` is TensorFlow's, f32, and of `nearest` that of the column"},
};

const tnd_op_spec_t tnd_op_resize_spec = {
    .table = {.name = "resize",
              .help = "Resizes pictures, as tf.image.resize.",
              TND_OPTIONS(resize_options, resize_options_t)},
};

static tnd_status_t resize_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    resize_t *self = state;
    const resize_options_t *chosen = given;
    int64_t size[2];
    TND_TRY(tnd_pixels_find(&self->pixels, in, chosen->column, 0, error));
    TND_TRY(tnd_op_whole("size", &chosen->size, 1, size, 2, error));
    if (chosen->size.count == 0)
        return tnd_fail(error, "`size` is one number or two, [height, width]");
    size[1] = size[chosen->size.count - 1];
    if (size[0] > SIDE_MAX || size[1] > SIDE_MAX)
        return tnd_fail(error, "`size` has more than %d pixels in it", SIDE_MAX);
    tnd_picture_step_t step = {.kind = TND_STEP_RESIZE,
                               .height = (uint32_t)size[0],
                               .width = (uint32_t)size[1],
                               .keep_aspect = chosen->keep_aspect};
    tnd_geometry_t plan;
    TND_TRY(tnd_picture_step_plan(&step, self->pixels.in.height, self->pixels.in.width, NULL, &plan,
                                  error));
    self->out = self->pixels.in;
    self->out.height = plan.height;
    self->out.width = plan.width;
    self->method = (tnd_resize_method_t)chosen->method;
    self->antialias = chosen->antialias;
    if (chosen->dtype != DTYPE_AUTO || self->method != TND_RESIZE_NEAREST)
        self->out.floats = chosen->dtype != DTYPE_U8;
    TND_TRY(tnd_pixels_replace(&self->pixels, in, &self->out, facts, error));
    tnd_resizer_init(&self->resizer);
    return TND_OK;
}

static tnd_status_t resize_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    resize_t *self = state;
    tnd_op_pass(in, out, self->pixels.columns, self->pixels.column);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_pixels_t from = self->pixels.in, to = self->out;
        from.data = tnd_tile_row(in, self->pixels.column, row);
        to.data = tnd_tile_row(out, self->pixels.column, row);
        tnd_resizer_run(&self->resizer, self->method, self->antialias, &from, &to);
    }
    return TND_OK;
}

static void resize_close(void *state)
{
    tnd_resizer_fini(&((resize_t *)state)->resizer);
}

typedef struct {
    const char *column;
    int layout;
    int64_t times;
} rot90_options_t;

typedef struct {
    tnd_picture_t picture;
    uint32_t times;
} rot90_t;

static const tnd_option_t rot90_options[] = {
    TND_PICTURE_OPTIONS(rot90_options_t),
    {TND_OPTION(rot90_options_t, times, I64, GRAPH), .fallback = "1", .range = "-1000..1000",
     .help = "how many times by 90 degrees, against the clock"},
};

const tnd_op_spec_t tnd_op_rot90_spec = {
    .table = {.name = "rot90",
              .help = "Turns pictures by 90 degrees, as tf.image.rot90.",
              TND_OPTIONS(rot90_options, rot90_options_t)},
};

static tnd_status_t rot90_open(void *state, const void *given, const tnd_schema_t *in,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    rot90_t *self = state;
    const rot90_options_t *chosen = given;
    const tnd_picture_t *picture = &self->picture;
    TND_TRY(tnd_picture_find(&self->picture, in, chosen->column, chosen->layout, error));
    self->times = (uint32_t)((chosen->times % 4 + 4) % 4);
    bool across = self->times % 2 != 0;
    return tnd_picture_replace(picture, in, across ? picture->width : picture->height,
                               across ? picture->height : picture->width, facts, error);
}

/*  The first pixel of what comes out, and the steps from a line, and from a pixel, to the next. */
static void rotate(const rot90_t *self, uint8_t *out, const uint8_t *in)
{
    const tnd_picture_t *picture = &self->picture;
    ptrdiff_t pixel = (ptrdiff_t)picture->pixel_bytes, line = (ptrdiff_t)picture->width * pixel;
    ptrdiff_t last_line = (ptrdiff_t)(picture->height - 1) * line, last_pixel = line - pixel;
    const ptrdiff_t first[] = {0, last_pixel, last_line + last_pixel, last_line};
    const ptrdiff_t down[] = {line, -pixel, -line, pixel};
    const ptrdiff_t right[] = {pixel, line, -pixel, -line};
    bool across = self->times % 2 != 0;
    size_t height = across ? picture->width : picture->height;
    size_t width = across ? picture->height : picture->width;
    for (size_t plane = 0; plane < picture->planes; plane++, in += last_line + line) {
        for (size_t y = 0; y < height; y++) {
            const uint8_t *from = in + first[self->times] + (ptrdiff_t)y * down[self->times];
            for (size_t x = 0; x < width; x++, out += pixel, from += right[self->times])
                memcpy(out, from, picture->pixel_bytes);
        }
    }
}

static tnd_status_t rot90_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const rot90_t *self = state;
    uint32_t column = self->picture.column;
    tnd_op_pass(in, out, self->picture.columns, column);
    for (uint32_t row = 0; row < in->rows; row++)
        rotate(self, tnd_tile_row(out, column, row), tnd_tile_row(in, column, row));
    return TND_OK;
}

const tnd_op_t tnd_op_resize = {
    .spec = &tnd_op_resize_spec,
    .state_bytes = sizeof(resize_t),
    .open = resize_open,
    .apply = resize_apply,
    .close = resize_close,
};

const tnd_op_t tnd_op_rot90 = {
    .spec = &tnd_op_rot90_spec,
    .state_bytes = sizeof(rot90_t),
    .open = rot90_open,
    .apply = rot90_apply,
};
