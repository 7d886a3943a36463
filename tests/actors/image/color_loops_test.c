/*  Covers actors/image/color_loops.h: every path that this machine can run gives the bits of one pixel
 *  at a time with branches, also for floats that are not colours, and writes nothing after the end. */
#include "actors/image/color_loops.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/vector_paths.h"

enum { PIXELS = 1203, NUMBERS = 3 * PIXELS };

static const float values[] = {0, 1, -1, 0.25f, -0.5f, 0.999f, 1.0f / 3, -1e-30f, 2.75f};

static float greatest_of(const float rgb[3])
{
    float most = rgb[0] > rgb[1] ? rgb[0] : rgb[1];
    return most > rgb[2] ? most : rgb[2];
}

static float least_of(const float rgb[3])
{
    float less = rgb[0] < rgb[1] ? rgb[0] : rgb[1];
    return less < rgb[2] ? less : rgb[2];
}

/*  As tf.image.adjust_saturation: the distances from the greatest channel are scaled, and the
 *  saturation stays at most 1. */
static void saturate(float rgb[3], float factor)
{
    float high = greatest_of(rgb), chroma = high - least_of(rgb);
    if (high <= 0 || chroma <= 0)
        return;
    float limit = high / chroma;
    factor = factor < limit ? factor : limit;
    factor = factor > 0 ? factor : 0;
    for (int c = 0; c < 3; c++)
        rgb[c] = high - (high - rgb[c]) * factor;
}

static float hue_of(const float rgb[3], float high, float chroma)
{
    if (rgb[0] == high) {
        float hue = (rgb[1] - rgb[2]) / chroma;
        return hue < 0 ? hue + 6.0f : hue;
    }
    return rgb[1] == high ? (rgb[2] - rgb[0]) / chroma + 2.0f : (rgb[0] - rgb[1]) / chroma + 4.0f;
}

/*  As tf.image.adjust_hue. */
static void turn(float rgb[3], float turns)
{
    static const float centre[3] = {3.0f, 2.0f, 4.0f};
    float high = greatest_of(rgb), low = least_of(rgb), chroma = high - low;
    if (!(chroma > 0))
        return;
    float hue = hue_of(rgb, high, chroma) + turns * 6.0f;
    hue = hue - floorf(hue / 6.0f) * 6.0f;
    for (int c = 0; c < 3; c++) {
        float away = fabsf(hue - centre[c]);
        float share = c == 0 ? away - 1.0f : 2.0f - away;
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        rgb[c] = low + chroma * share;
    }
}

static uint8_t byte_of(float x)
{
    x = x * 255.5f;
    return x >= 255.0f ? 255 : x > 0.0f ? (uint8_t)x : 0;
}

/*  Numbers all over the range, greys, equal channels, and floats that are not colours. */
static float some_number(size_t i)
{
    static const float edges[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, 1e-45f, 3e38f, -3e38f, NAN};
    uint64_t draw = (i / 3 * 7 + (i % 3) * (i / 3 % 5 > 0)) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    if (i / 3 % 11 == 10)
        return edges[draw % (sizeof edges / sizeof edges[0])];
    return (float)(draw % 1000) / (i / 3 % 2 == 0 ? 999.0f : 3.0f);
}

static bool same_bits(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void check_floats(const tnd_color_loops_t *path, size_t pixels, float value, bool turns)
{
    static float in[NUMBERS], out[NUMBERS + 1];
    for (size_t i = 0; i < NUMBERS; i++)
        in[i] = some_number(i);
    out[3 * pixels] = 12345;
    (turns ? path->turn_f32 : path->saturate_f32)(pixels, value, out, in);
    cr_assert_eq(out[3 * pixels], 12345.0f);
    for (size_t i = 0; i < pixels; i++) {
        float rgb[3] = {in[3 * i], in[3 * i + 1], in[3 * i + 2]};
        (turns ? turn : saturate)(rgb, value);
        for (size_t c = 0; c < 3; c++)
            cr_assert(same_bits(out[3 * i + c], rgb[c]), "%s, %s by %g, %g %g %g: %a, not %a",
                      path->name, turns ? "hue" : "saturation", (double)value, (double)in[3 * i],
                      (double)in[3 * i + 1], (double)in[3 * i + 2], (double)out[3 * i + c],
                      (double)rgb[c]);
    }
}

static void check_bytes(const tnd_color_loops_t *path, size_t pixels, float value, bool turns)
{
    static uint8_t in[NUMBERS], out[NUMBERS + 1];
    for (size_t i = 0; i < NUMBERS; i++)
        in[i] = (uint8_t)((i / 3 * 7 + (i % 3) * (i / 3 % 5)) * 2654435761u >> 13);
    out[3 * pixels] = 77;
    (turns ? path->turn_u8 : path->saturate_u8)(pixels, value, out, in);
    cr_assert_eq(out[3 * pixels], 77);
    for (size_t i = 0; i < pixels; i++) {
        float rgb[3];
        for (size_t c = 0; c < 3; c++)
            rgb[c] = (float)in[3 * i + c] * (float)(1.0 / 255.0);
        (turns ? turn : saturate)(rgb, value);
        for (size_t c = 0; c < 3; c++)
            cr_assert_eq(out[3 * i + c], byte_of(rgb[c]), "%s, %s by %g, pixel %zu", path->name,
                         turns ? "hue" : "saturation", (double)value, i);
    }
}

Test(color_loops, every_path_gives_the_bits_of_one_pixel_at_a_time)
{
    static const size_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 31, 255, 256, 257, 512, PIXELS};
    const tnd_color_loops_t *const *paths = tnd_color_loops_paths();
    cr_assert_str_eq(paths[0]->name, "plain");
    cr_assert_eq(tnd_color_loops(), paths[tnd_vector_paths() - 1]);
    for (size_t p = 0; p < tnd_vector_paths(); p++)
        for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++)
            for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
                for (int turns = 0; turns < 2; turns++) {
                    if (turns && fabsf(values[v]) > 1)
                        continue;
                    check_floats(paths[p], lengths[n], values[v], turns);
                    check_bytes(paths[p], lengths[n], values[v], turns);
                }
}
