/*  actors/image/geometry.c - what becomes of the rectangle of a picture, one step after the other. */
#include "actors/image/geometry.h"

#include <math.h>

#include "runtime/core/numeric/elementary.h"

/*  Tries of a random part; if none fits, the middle is taken. */
enum { TRIES = 10 };

bool tnd_picture_step_shape(const tnd_picture_step_t *self, uint32_t *height_p, uint32_t *width_p)
{
    *height_p = self->height;
    *width_p = self->width;
    return self->kind != TND_STEP_CENTRAL_CROP &&
           !(self->kind == TND_STEP_RESIZE && self->keep_aspect);
}

static uint32_t at_least_one(float size)
{
    return size < 1 ? 1 : (uint32_t)size;
}

static tnd_geometry_t whole(uint32_t height, uint32_t width)
{
    return (tnd_geometry_t){.part = {0, 0, height, width},
                            .height = height,
                            .width = width,
                            .out_height = height,
                            .out_width = width};
}

static void resize_to(tnd_geometry_t *self, uint32_t height, uint32_t width)
{
    self->height = self->out_height = height;
    self->width = self->out_width = width;
}

/*  Keeps the part alone, as it is. */
static void cut(tnd_geometry_t *self, tnd_window_t part)
{
    self->part = part;
    resize_to(self, part.height, part.width);
}

/*  Both sides by the same factor, so that the picture just fits. */
static void keep_aspect(const tnd_picture_step_t *self, tnd_geometry_t *out)
{
    float down = (float)self->height / (float)out->height;
    float across = (float)self->width / (float)out->width;
    float scale = down < across ? down : across;
    resize_to(out, at_least_one(rintf(scale * (float)out->height)),
              at_least_one(rintf(scale * (float)out->width)));
}

static void resize_with_pad(const tnd_picture_step_t *self, tnd_geometry_t *out)
{
    float height = (float)out->height, width = (float)out->width;
    float down = height / (float)self->height, across = width / (float)self->width;
    float ratio = down > across ? down : across;
    out->height = at_least_one(floorf(height / ratio));
    out->width = at_least_one(floorf(width / ratio));
    out->top = self->height > out->height ? (self->height - out->height) / 2 : 0;
    out->left = self->width > out->width ? (self->width - out->width) / 2 : 0;
    out->out_height = self->height;
    out->out_width = self->width;
}

/*  One axis of resize_with_crop_or_pad. */
static void fit(uint32_t in, uint32_t out, uint32_t *first_p, uint32_t *kept_p, uint32_t *pad_p)
{
    *first_p = in > out ? (in - out) / 2 : 0;
    *kept_p = in < out ? in : out;
    *pad_p = in < out ? (out - in) / 2 : 0;
}

static void crop_or_pad(const tnd_picture_step_t *self, tnd_geometry_t *out)
{
    tnd_window_t part;
    uint32_t top, left;
    fit(out->height, self->height, &part.top, &part.height, &top);
    fit(out->width, self->width, &part.left, &part.width, &left);
    cut(out, part);
    out->top = top;
    out->left = left;
    out->out_height = self->height;
    out->out_width = self->width;
}

static tnd_window_t middle(uint32_t height, uint32_t width, uint32_t part_height,
                           uint32_t part_width)
{
    return (tnd_window_t){(height - part_height) / 2, (width - part_width) / 2, part_height,
                          part_width};
}

static tnd_window_t central(const tnd_picture_step_t *self, uint32_t height, uint32_t width)
{
    uint32_t top = (uint32_t)((height - height * self->fraction) / 2);
    uint32_t left = (uint32_t)((width - width * self->fraction) / 2);
    return (tnd_window_t){top, left, height - 2 * top, width - 2 * left};
}

/*  The part of the picture that comes nearest to the aspects. */
static tnd_window_t widest(const tnd_picture_step_t *self, uint32_t height, uint32_t width)
{
    double aspect = (double)width / height;
    if (aspect < self->aspect[0])
        return middle(height, width, at_least_one((float)rint(width / self->aspect[0])), width);
    if (aspect > self->aspect[1])
        return middle(height, width, height, at_least_one((float)rint(height * self->aspect[1])));
    return (tnd_window_t){0, 0, height, width};
}

/*  A part whose area and aspect are drawn; the logarithm of the aspect is uniform. */
static tnd_window_t random_part(const tnd_picture_step_t *self, uint32_t height, uint32_t width,
                                tnd_random_t *random)
{
    double low = tnd_log(self->aspect[0]), high = tnd_log(self->aspect[1]);
    for (int i = 0; i < TRIES; i++) {
        double share = tnd_random_f64(random), turn = tnd_random_f64(random);
        double area = self->area[0] + (self->area[1] - self->area[0]) * share;
        double aspect = tnd_exp(low + (high - low) * turn), pixels = area * height * width;
        double across = rint(sqrt(pixels * aspect)), down = rint(sqrt(pixels / aspect));
        if (across < 1 || down < 1 || across > width || down > height)
            continue;
        tnd_window_t part = {.height = (uint32_t)down, .width = (uint32_t)across};
        part.top = (uint32_t)tnd_random_below(random, height - part.height + 1);
        part.left = (uint32_t)tnd_random_below(random, width - part.width + 1);
        return part;
    }
    return widest(self, height, width);
}

static tnd_status_t crop_to(const tnd_picture_step_t *self, tnd_geometry_t *out, tnd_error_t *error)
{
    if ((uint64_t)self->top + self->height > out->height ||
        (uint64_t)self->left + self->width > out->width)
        return tnd_fail(error,
                        "crop_to: %u x %u (height x width) from line %u and pixel %u on reach "
                        "beyond the picture, %u x %u",
                        self->height, self->width, self->top, self->left, out->height, out->width);
    cut(out, (tnd_window_t){self->top, self->left, self->height, self->width});
    return TND_OK;
}

static tnd_status_t pad_to(const tnd_picture_step_t *self, tnd_geometry_t *out, tnd_error_t *error)
{
    if ((uint64_t)self->top + out->height > self->height ||
        (uint64_t)self->left + out->width > self->width)
        return tnd_fail(
            error,
            "pad_to: the picture, %u x %u (height x width), reaches beyond %u x %u from "
            "line %u and pixel %u on",
            out->height, out->width, self->height, self->width, self->top, self->left);
    out->top = self->top;
    out->left = self->left;
    out->out_height = self->height;
    out->out_width = self->width;
    return TND_OK;
}

tnd_status_t tnd_picture_step_plan(const tnd_picture_step_t *self, uint32_t height, uint32_t width,
                                   tnd_random_t *random, tnd_geometry_t *out, tnd_error_t *error)
{
    *out = whole(height, width);
    switch (self->kind) {
    case TND_STEP_RESIZE:
        if (self->keep_aspect)
            keep_aspect(self, out);
        else
            resize_to(out, self->height, self->width);
        return TND_OK;
    case TND_STEP_RANDOM_RESIZED_CROP:
        cut(out, random_part(self, height, width, random));
        resize_to(out, self->height, self->width);
        return TND_OK;
    case TND_STEP_CENTRAL_CROP:
        cut(out, central(self, height, width));
        return TND_OK;
    case TND_STEP_CROP_TO:
        return crop_to(self, out, error);
    case TND_STEP_PAD_TO:
        return pad_to(self, out, error);
    case TND_STEP_RESIZE_WITH_PAD:
        resize_with_pad(self, out);
        return TND_OK;
    case TND_STEP_RESIZE_WITH_CROP_OR_PAD:
        crop_or_pad(self, out);
        return TND_OK;
    }
    return TND_OK;
}
