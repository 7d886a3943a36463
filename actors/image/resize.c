/*  actors/image/resize.c - pictures of another size, as tf.image.resize makes them. */
#include "actors/image/resize.h"

#include <string.h>

#include "runtime/base/allocation.h"

/*  Fixed weights of more taps would add more than half a step of error. */
enum { FIXED_TAPS_MAX = 64 };

void tnd_resizer_init(tnd_resizer_t *self)
{
    *self = (tnd_resizer_t){.loops = tnd_pixel_loops()};
}

void tnd_resizer_fini(tnd_resizer_t *self)
{
    tnd_resize_axis_fini(&self->down);
    tnd_resize_axis_fini(&self->across);
    free(self->middle);
    free(self->rows);
}

static void copy_pixels(const tnd_pixel_loops_t *loops, size_t count, void *out, bool out_floats,
                        const void *in, bool in_floats)
{
    if (out_floats == in_floats) {
        memcpy(out, in, count * (in_floats ? sizeof(float) : 1));
    } else if (out_floats) {
        const uint8_t *bytes = in;
        float *to = out;
        for (size_t i = 0; i < count; i++)
            to[i] = (float)bytes[i];
    } else {
        loops->round_u8(count, out, in);
    }
}

static size_t line_bytes(const tnd_pixels_t *pixels)
{
    return (size_t)pixels->width * pixels->channels * (pixels->floats ? sizeof(float) : 1);
}

static uint8_t *line_at(const tnd_pixels_t *pixels, uint32_t y)
{
    return (uint8_t *)pixels->data + y * line_bytes(pixels);
}

static void copy_nearest(const tnd_resizer_t *self, const tnd_pixels_t *in, const tnd_pixels_t *out)
{
    size_t in_pixel = in->channels * (in->floats ? sizeof(float) : 1);
    size_t out_pixel = out->channels * (out->floats ? sizeof(float) : 1);
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *from = line_at(in, self->down.first[y]);
        uint8_t *to = line_at(out, y);
        for (uint32_t x = 0; x < out->width; x++, to += out_pixel)
            copy_pixels(self->loops, in->channels, to, out->floats,
                        from + self->across.first[x] * in_pixel, in->floats);
    }
}

static void reserve(tnd_resizer_t *self, const tnd_pixels_t *in, const tnd_pixels_t *out)
{
    size_t wide = in->width > out->width ? in->width : out->width;
    size_t room = (2 * wide * in->channels + 2 * TND_PIXEL_SLACK) * sizeof(float);
    if (self->middle_room < room) {
        free(self->middle);
        self->middle = tnd_allocate_zeroed(room, 1);
        self->middle_room = room;
    }
    if (self->rows_room < self->down.taps) {
        self->rows = tnd_resize(self->rows, self->down.taps, sizeof *self->rows);
        self->rows_room = self->down.taps;
    }
}

static void run_fixed(tnd_resizer_t *self, const tnd_across_t *across, const tnd_pixels_t *in,
                      const tnd_pixels_t *out)
{
    uint32_t taps = self->down.taps;
    const uint8_t **rows = (const uint8_t **)self->rows;
    for (uint32_t y = 0; y < out->height; y++) {
        for (uint32_t k = 0; k < taps; k++)
            rows[k] = line_at(in, self->down.first[y] + k);
        self->loops->down_fixed(line_bytes(in), taps, self->middle, rows,
                                self->down.fixed + (size_t)y * taps);
        self->loops->across_fixed(across, line_at(out, y), self->middle);
    }
}

static void run_floats(tnd_resizer_t *self, const tnd_across_t *across, const tnd_pixels_t *in,
                       const tnd_pixels_t *out)
{
    uint32_t taps = self->down.taps;
    size_t count = (size_t)in->width * in->channels, made = (size_t)out->width * out->channels;
    float *result = (float *)self->middle + count + TND_PIXEL_SLACK;
    for (uint32_t y = 0; y < out->height; y++) {
        const float *weights = self->down.weights + (size_t)y * taps;
        for (uint32_t k = 0; k < taps; k++)
            self->rows[k] = line_at(in, self->down.first[y] + k);
        if (in->floats)
            self->loops->down_f32(count, taps, self->middle, (const float *const *)self->rows,
                                  weights);
        else
            self->loops->down_u8(count, taps, self->middle, (const uint8_t *const *)self->rows,
                                 weights);
        float *to = out->floats ? (float *)(void *)line_at(out, y) : result;
        self->loops->across_f32(across, to, self->middle);
        if (!out->floats)
            self->loops->round_u8(made, line_at(out, y), result);
    }
}

void tnd_resizer_run(tnd_resizer_t *self, tnd_resize_method_t method, bool antialias,
                     const tnd_pixels_t *in, const tnd_pixels_t *out)
{
    if (in->height == out->height && in->width == out->width) {
        copy_pixels(self->loops, (size_t)in->height * in->width * in->channels, out->data,
                    out->floats, in->data, in->floats);
        return;
    }
    tnd_resize_axis_set(&self->down, method, antialias, in->height, out->height);
    tnd_resize_axis_set(&self->across, method, antialias, in->width, out->width);
    if (method == TND_RESIZE_NEAREST) {
        copy_nearest(self, in, out);
        return;
    }
    reserve(self, in, out);
    const tnd_across_t across = {.count = out->width,
                                 .channels = in->channels,
                                 .taps = self->across.taps,
                                 .first = self->across.first,
                                 .fixed = self->across.fixed,
                                 .weights = self->across.weights};
    bool fixed = !in->floats && !out->floats && self->down.taps <= FIXED_TAPS_MAX &&
                 self->across.taps <= FIXED_TAPS_MAX;
    if (fixed)
        run_fixed(self, &across, in, out);
    else
        run_floats(self, &across, in, out);
}
