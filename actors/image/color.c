/*  actors/image/color.c - colours of pictures, as tf.image computes them. */
#include "actors/image/color.h"

#include <math.h>

#include "actors/image/color_loops.h"
#include "runtime/core/numeric/elementary.h"

enum { BYTES = 256 };

static const float inverse_255 = (float)(1.0 / 255.0);

static uint8_t to_byte(float x)
{
    x = x * 255.5f;
    return x >= 255.0f ? 255 : x > 0.0f ? (uint8_t)x : 0;
}

static size_t count_of(const tnd_pixels_t *in)
{
    return (size_t)in->height * in->width * in->channels;
}

/*  One number, which is not below 0 or is a NaN of what comes out. */
static float power(float x, float value, float gain)
{
    return gain * (float)tnd_pow((double)x, (double)value);
}

static float spread(float x, float mean, float factor)
{
    float distance = x - mean;
    float scaled = distance * factor;
    return scaled + mean;
}

/*  What depends on the number alone. */
static float adjust_one(tnd_color_kind_t kind, float x, float value, float other)
{
    switch (kind) {
    case TND_COLOR_BRIGHTNESS:
        return x + value;
    case TND_COLOR_CONTRAST:
        return spread(x, other, value);
    default:
        return power(x, value, other);
    }
}

/*  Each number of channel `first`, `first` + step ... by itself. */
static void adjust_each(tnd_color_kind_t kind, float value, float other, const tnd_pixels_t *in,
                        size_t first, size_t step, void *out)
{
    size_t count = count_of(in);
    if (in->floats) {
        const float *from = in->data;
        float *to = out;
        for (size_t i = first; i < count; i += step)
            to[i] = adjust_one(kind, from[i], value, other);
        return;
    }
    uint8_t table[BYTES];
    for (int i = 0; i < BYTES; i++)
        table[i] = to_byte(adjust_one(kind, (float)i * inverse_255, value, other));
    const uint8_t *from = in->data;
    uint8_t *to = out;
    for (size_t i = first; i < count; i += step)
        to[i] = table[from[i]];
}

static float mean_of(const tnd_pixels_t *in, size_t channel)
{
    size_t count = count_of(in);
    double pixels = (double)in->height * in->width;
    if (in->floats) {
        const float *from = in->data;
        double sum = 0;
        for (size_t i = channel; i < count; i += in->channels)
            sum += (double)from[i];
        return (float)(sum / pixels);
    }
    const uint8_t *from = in->data;
    uint64_t sum = 0;
    for (size_t i = channel; i < count; i += in->channels)
        sum += from[i];
    return (float)((double)sum / 255.0 / pixels);
}

static void adjust_pixels(tnd_color_kind_t kind, float value, const tnd_pixels_t *in, void *out)
{
    const tnd_color_loops_t *loops = tnd_color_loops();
    size_t pixels = (size_t)in->height * in->width;
    bool turns = kind == TND_COLOR_HUE;
    if (in->floats)
        (turns ? loops->turn_f32 : loops->saturate_f32)(pixels, value, out, in->data);
    else
        (turns ? loops->turn_u8 : loops->saturate_u8)(pixels, value, out, in->data);
}

void tnd_color_adjust(tnd_color_kind_t kind, float value, float gain, const tnd_pixels_t *in,
                      void *out)
{
    switch (kind) {
    case TND_COLOR_BRIGHTNESS:
    case TND_COLOR_GAMMA:
        adjust_each(kind, value, gain, in, 0, 1, out);
        return;
    case TND_COLOR_CONTRAST:
        for (size_t c = 0; c < in->channels; c++)
            adjust_each(kind, value, mean_of(in, c), in, c, in->channels, out);
        return;
    case TND_COLOR_SATURATION:
    case TND_COLOR_HUE:
        adjust_pixels(kind, value, in, out);
        return;
    }
}

static float gray(float red, float green, float blue)
{
    float sum = red * 0.2989f;
    sum = sum + green * 0.587f;
    return sum + blue * 0.114f;
}

void tnd_color_grayscale(const tnd_pixels_t *in, void *out)
{
    size_t pixels = (size_t)in->height * in->width;
    if (in->floats) {
        const float *from = in->data;
        for (size_t i = 0; i < pixels; i++)
            ((float *)out)[i] = gray(from[3 * i], from[3 * i + 1], from[3 * i + 2]);
        return;
    }
    const uint8_t *from = in->data;
    for (size_t i = 0; i < pixels; i++)
        ((uint8_t *)out)[i] =
            to_byte(gray((float)from[3 * i] * inverse_255, (float)from[3 * i + 1] * inverse_255,
                         (float)from[3 * i + 2] * inverse_255));
}

void tnd_color_standardize(const tnd_pixels_t *in, float *out)
{
    size_t count = count_of(in);
    const float *floats = in->floats ? in->data : NULL;
    const uint8_t *bytes = in->floats ? NULL : in->data;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += floats != NULL ? (double)floats[i] : bytes[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double away = (floats != NULL ? (double)floats[i] : bytes[i]) - mean;
        squares += away * away;
    }
    double deviation = sqrt(squares / (double)count), floor_of = 1.0 / sqrt((double)count);
    float by = (float)(deviation > floor_of ? deviation : floor_of), middle = (float)mean;
    for (size_t i = 0; i < count; i++)
        out[i] = ((floats != NULL ? floats[i] : (float)bytes[i]) - middle) / by;
}
