/*  actors/image/color.c - colours of pictures, as tf.image computes them. */
#include "actors/image/color.h"

#include <math.h>
#include <string.h>

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

static float greatest(const float rgb[3])
{
    float most = rgb[0] > rgb[1] ? rgb[0] : rgb[1];
    return most > rgb[2] ? most : rgb[2];
}

static float least(const float rgb[3])
{
    float less = rgb[0] < rgb[1] ? rgb[0] : rgb[1];
    return less < rgb[2] ? less : rgb[2];
}

/*  The distances from the greatest change by the same factor, which makes the saturation at most 1. */
static void saturate(float rgb[3], float factor)
{
    float high = greatest(rgb), chroma = high - least(rgb);
    if (high <= 0 || chroma <= 0)
        return;
    float limit = high / chroma;
    factor = factor < limit ? factor : limit;
    factor = factor > 0 ? factor : 0;
    for (int c = 0; c < 3; c++)
        rgb[c] = high - (high - rgb[c]) * factor;
}

/*  The hue in sixths of a turn: between which two of the six colours, and how far. */
static float hue_of(const float rgb[3], float high, float chroma)
{
    if (rgb[0] == high) {
        float hue = (rgb[1] - rgb[2]) / chroma;
        return hue < 0 ? hue + 6.0f : hue;
    }
    return rgb[1] == high ? (rgb[2] - rgb[0]) / chroma + 2.0f : (rgb[0] - rgb[1]) / chroma + 4.0f;
}

static void turn(float rgb[3], float turns)
{
    static const float centre[3] = {3.0f, 2.0f, 4.0f};
    float high = greatest(rgb), low = least(rgb), chroma = high - low;
    if (!(chroma > 0))
        return;
    float hue = hue_of(rgb, high, chroma) + turns * 6.0f;
    hue = hue - floorf(hue / 6.0f) * 6.0f;
    for (int c = 0; c < 3; c++) {
        float away = hue - centre[c];
        away = away < 0 ? -away : away;
        float share = c == 0 ? away - 1.0f : 2.0f - away;
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        rgb[c] = low + chroma * share;
    }
}

static void adjust_pixels(tnd_color_kind_t kind, float value, const tnd_pixels_t *in, void *out)
{
    size_t pixels = (size_t)in->height * in->width;
    for (size_t i = 0; i < pixels; i++) {
        float rgb[3];
        for (size_t c = 0; c < 3; c++)
            rgb[c] = in->floats ? ((const float *)in->data)[3 * i + c]
                                : (float)((const uint8_t *)in->data)[3 * i + c] * inverse_255;
        if (kind == TND_COLOR_HUE)
            turn(rgb, value);
        else
            saturate(rgb, value);
        for (size_t c = 0; c < 3; c++)
            if (in->floats)
                ((float *)out)[3 * i + c] = rgb[c];
            else
                ((uint8_t *)out)[3 * i + c] = to_byte(rgb[c]);
    }
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

float tnd_color_uniform(uint32_t word, float low, float high)
{
    uint32_t bits = (word & 0x7fffff) | 0x3f800000;
    float value;
    memcpy(&value, &bits, sizeof value);
    value = (value - 1.0f) * (high - low);
    return value + low;
}
