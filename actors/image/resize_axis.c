/*  actors/image/resize_axis.c - which pixels of a line, with which weights, make those of another. */
#include "actors/image/resize_axis.h"

#include <math.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/elementary.h"

/*  TensorFlow's bicubic weights without antialias come from a table of so many steps. */
enum { CUBIC_STEPS = 1024 };

/*  Pixels [low, high] of the input, with weights whose sum is not yet 1. */
typedef struct {
    int64_t low, high;
} span_t;

static double keys_near(double x)
{
    return (1.5 * x - 2.5) * x * x + 1.0;
}

static double keys_far(double x)
{
    return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0;
}

static double mitchell(double x)
{
    if (x >= 2.0)
        return 0.0;
    return x < 1.0 ? (7.0 / 6.0 * x - 2.0) * x * x + 8.0 / 9.0
                   : ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0;
}

static double lanczos(double x, double radius)
{
    static const double pi_squared = 9.8696044010893586188;
    if (x <= 1e-3)
        return 1.0;
    if (x > radius)
        return 0.0;
    return radius * tnd_sin_pi(x) * tnd_sin_pi(x / radius) / (pi_squared * x * x);
}

static double radius_of(tnd_resize_method_t method)
{
    switch (method) {
    case TND_RESIZE_BICUBIC:
    case TND_RESIZE_MITCHELL:
        return 2.0;
    case TND_RESIZE_LANCZOS3:
        return 3.0;
    case TND_RESIZE_LANCZOS5:
        return 5.0;
    case TND_RESIZE_GAUSSIAN:
        return 1.5;
    default:
        return 1.0;
    }
}

static double kernel(tnd_resize_method_t method, double x)
{
    x = x < 0 ? -x : x;
    switch (method) {
    case TND_RESIZE_BICUBIC:
        return x >= 2.0 ? 0.0 : x < 1.0 ? keys_near(x) : keys_far(x);
    case TND_RESIZE_MITCHELL:
        return mitchell(x);
    case TND_RESIZE_LANCZOS3:
    case TND_RESIZE_LANCZOS5:
        return lanczos(x, radius_of(method));
    case TND_RESIZE_GAUSSIAN:
        return x < 1.5 ? tnd_exp(-2.0 * x * x) : 0.0;
    default:
        return x < 1.0 ? 1.0 - x : 0.0;
    }
}

static double *room_for(tnd_resize_axis_t *self, int64_t taps)
{
    if (self->exact_room < (size_t)taps) {
        self->exact = tnd_resize(self->exact, (size_t)taps, sizeof *self->exact);
        self->exact_room = (size_t)taps;
    }
    return self->exact;
}

static span_t cut(int64_t low, int64_t high, uint32_t in)
{
    low = low < 0 ? 0 : low >= in ? in - 1 : low;
    high = high >= in ? (int64_t)in - 1 : high < low ? low : high;
    return (span_t){low, high};
}

static span_t nearest_span(tnd_resize_axis_t *self, uint32_t i, uint32_t in, uint32_t out)
{
    float scale = (float)in / (float)out, at = ((float)i + 0.5f) * scale;
    int64_t pixel = (int64_t)at;
    *room_for(self, 1) = 1.0;
    return cut(pixel, pixel, in);
}

static span_t bilinear_span(tnd_resize_axis_t *self, uint32_t i, uint32_t in, uint32_t out)
{
    float scale = (float)in / (float)out, at = ((float)i + 0.5f) * scale - 0.5f;
    float low = floorf(at), part = at - low;
    double *weights = room_for(self, 2);
    if (low < 0 || low + 1 >= (float)in) {
        weights[0] = 1.0;
        return cut((int64_t)low, (int64_t)low, in);
    }
    weights[0] = 1.0 - (double)part;
    weights[1] = (double)part;
    return cut((int64_t)low, (int64_t)low + 1, in);
}

static span_t area_span(tnd_resize_axis_t *self, uint32_t i, uint32_t in, uint32_t out)
{
    double scale = (double)in / out, begin = i * scale, end = (i + 1.0) * scale;
    end = end < in ? end : in;
    span_t span = cut((int64_t)begin, (int64_t)ceil(end) - 1, in);
    double *weights = room_for(self, span.high - span.low + 1);
    for (int64_t j = span.low; j <= span.high; j++) {
        double from = begin > (double)j ? begin : (double)j;
        double to = end < (double)j + 1 ? end : (double)j + 1;
        weights[j - span.low] = to > from ? to - from : 0.0;
    }
    return span;
}

/*  Taps outside the picture are dropped. */
static span_t cubic_span(tnd_resize_axis_t *self, uint32_t i, uint32_t in, uint32_t out)
{
    float scale = (float)in / (float)out, at = ((float)i + 0.5f) * scale - 0.5f;
    int64_t pixel = (int64_t)floorf(at);
    double part = nearbyint(((double)at - (double)pixel) * CUBIC_STEPS) / CUBIC_STEPS;
    const double four[4] = {keys_far(part + 1), keys_near(part), keys_near(1 - part),
                            keys_far(2 - part)};
    span_t span = cut(pixel - 1, pixel + 2, in);
    double *weights = room_for(self, 4);
    for (int64_t j = span.low; j <= span.high; j++)
        weights[j - span.low] = four[j - (pixel - 1)];
    return span;
}

static span_t kernel_span(tnd_resize_axis_t *self, tnd_resize_method_t method, bool antialias,
                          uint32_t i, uint32_t in, uint32_t out)
{
    float scale = 1.0f / ((float)out / (float)in);
    float wide = antialias && scale > 1.0f ? scale : 1.0f, inverse = 1.0f / wide;
    float centre = ((float)i + 0.5f) * scale, radius = (float)radius_of(method) * wide;
    span_t span =
        cut((int64_t)ceilf(centre - radius - 0.5f), (int64_t)floorf(centre + radius - 0.5f), in);
    double *weights = room_for(self, span.high - span.low + 1);
    for (int64_t j = span.low; j <= span.high; j++)
        weights[j - span.low] = kernel(method, (double)(((float)j + 0.5f - centre) * inverse));
    return span;
}

static span_t span_of(tnd_resize_axis_t *self, tnd_resize_method_t method, bool antialias,
                      uint32_t i, uint32_t in, uint32_t out)
{
    if (method == TND_RESIZE_NEAREST)
        return nearest_span(self, i, in, out);
    if (method == TND_RESIZE_AREA)
        return area_span(self, i, in, out);
    if (method == TND_RESIZE_BILINEAR && !antialias)
        return bilinear_span(self, i, in, out);
    if (method == TND_RESIZE_BICUBIC && !antialias)
        return cubic_span(self, i, in, out);
    return kernel_span(self, method, antialias, i, in, out);
}

/*  The most pixels of any span. */
static uint32_t taps_of(tnd_resize_method_t method, bool antialias, uint32_t in, uint32_t out)
{
    double shrinks = out < in ? (double)in / out : 1.0, most = 4;
    if (method == TND_RESIZE_NEAREST)
        most = 1;
    else if (method == TND_RESIZE_AREA)
        most = ceil((double)in / out) + 1;
    else if (method == TND_RESIZE_BILINEAR && !antialias)
        most = 2;
    else if (method != TND_RESIZE_BICUBIC || antialias)
        most = floor(2 * radius_of(method) * (antialias ? shrinks : 1.0)) + 2;
    return most < in ? (uint32_t)most : in;
}

/*  Weights as integers whose sum is exactly 1: each is the step between two rounded sums. */
static void fix(const double *exact, uint32_t taps, int16_t *fixed)
{
    double sum = 0;
    int32_t before = 0;
    for (uint32_t k = 0; k < taps; k++) {
        sum += exact[k];
        int32_t rounded = (int32_t)floor(sum * (1 << TND_RESIZE_WEIGHT_BITS) + 0.5);
        fixed[k] = (int16_t)(rounded - before);
        before = rounded;
    }
}

static void store(tnd_resize_axis_t *self, uint32_t i, uint32_t in, span_t span)
{
    uint32_t taps = self->taps, count = (uint32_t)(span.high - span.low) + 1;
    /* A span is never longer than taps_of says but for a last weight of 0. */
    count = count < taps ? count : taps;
    uint32_t first = (uint32_t)span.low <= in - taps ? (uint32_t)span.low : in - taps;
    uint32_t shift = (uint32_t)span.low - first;
    double *exact = room_for(self, (int64_t)taps + shift), sum = 0;
    memmove(exact + shift, exact, count * sizeof *exact);
    for (uint32_t k = 0; k < shift; k++)
        exact[k] = 0.0;
    for (uint32_t k = shift + count; k < taps; k++)
        exact[k] = 0.0;
    for (uint32_t k = 0; k < taps; k++)
        sum += exact[k];
    for (uint32_t k = 0; k < taps; k++) {
        exact[k] /= sum;
        self->weights[(size_t)i * taps + k] = (float)exact[k];
    }
    fix(exact, taps, self->fixed + (size_t)i * taps);
    self->first[i] = first;
}

void tnd_resize_axis_set(tnd_resize_axis_t *self, tnd_resize_method_t method, bool antialias,
                         uint32_t in, uint32_t out)
{
    self->out = out;
    self->taps = taps_of(method, antialias, in, out);
    size_t room = (size_t)out * (self->taps + 1);
    if (self->room < room) {
        self->first = tnd_resize(self->first, room, sizeof *self->first);
        self->weights = tnd_resize(self->weights, room, sizeof *self->weights);
        self->fixed = tnd_resize(self->fixed, room, sizeof *self->fixed);
        self->room = room;
    }
    for (uint32_t i = 0; i < out; i++)
        store(self, i, in, span_of(self, method, antialias, i, in, out));
}

void tnd_resize_axis_fini(tnd_resize_axis_t *self)
{
    free(self->first);
    free(self->weights);
    free(self->fixed);
    free(self->exact);
    *self = (tnd_resize_axis_t){0};
}
