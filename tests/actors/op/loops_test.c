/*  Covers actors/op/loops.h: every path that this machine can run gives, at every length and
 *  alignment, the bits that one number at a time gives, and writes nothing after the end. */
#include "actors/op/loops.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/vector_paths.h"

enum { COUNT = 1027, FEW = 70 };

/*  The next of lengths and starts that are tried. */
static size_t longer(size_t length)
{
    return length + (length < FEW ? 1 : 53);
}

static size_t all_paths(const tnd_loops_t *const *paths)
{
    size_t count = tnd_vector_paths();
    cr_assert(count >= 1 && count <= TND_VECTOR_PATHS_MAX);
    cr_assert_str_eq(paths[0]->name, "plain");
    cr_assert_eq(tnd_loops(), paths[count - 1]);
    return count;
}

static void compare(const void *out, const void *wanted, size_t first, size_t end, size_t size,
                    const char *path, const char *loop)
{
    for (size_t i = first; i < end; i++)
        cr_assert_eq(memcmp((const char *)out + i * size, (const char *)wanted + i * size, size), 0,
                     "%s, %s: number %zu of %zu to %zu", path, loop, i, first, end);
}

Test(loops, fractions_are_divisions_by_255)
{
    static const tnd_fraction_t kinds[] = {
        {.has_span = false}, {true, 2.0f, -1.0f}, {true, 0.3f, 17.7f}, {true, 255.0f, 0.0f}};
    const tnd_loops_t *const *paths = tnd_loops_paths();
    uint8_t in[COUNT];
    float out[COUNT + 1], wanted[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        in[i] = (uint8_t)(i * 37);
    for (size_t p = all_paths(paths); p-- > 0;)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            for (size_t i = 0; i < COUNT; i++) {
                volatile float expected = (float)in[i] / 255.0f;
                if (kinds[k].has_span) {
                    expected = expected * kinds[k].span;
                    expected = expected + kinds[k].low;
                }
                wanted[i] = expected;
            }
            for (size_t end = 5; end < COUNT; end = longer(end)) {
                size_t start = end % 5;
                out[end] = -5.0f;
                paths[p]->fraction(&kinds[k], end - start, out + start, in + start);
                cr_assert_eq(out[end], -5.0f, "nothing is written after the end");
                compare(out, wanted, start, end, sizeof *out, paths[p]->name, "fraction");
            }
        }
}

/*  Floats of all sizes, some of them denormal, infinite or no number. */
static float some_float(size_t i)
{
    uint32_t bits = (uint32_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    float value;
    memcpy(&value, &bits, sizeof value);
    return i % 11 == 0 ? NAN : i % 13 == 0 ? -INFINITY : i % 7 == 0 ? (float)i - 500 : value;
}

/*  The NaN that an operation makes may have either sign. */
static float one_nan(float value)
{
    return isnan(value) ? NAN : value;
}

Test(loops, normalizing_is_one_subtraction_and_one_division)
{
    const tnd_loops_t *const *paths = tnd_loops_paths();
    uint8_t bytes[COUNT];
    float floats[COUNT], mean[COUNT], std[COUNT], out[COUNT + 1];
    float of_bytes[COUNT], of_floats[COUNT], all_bytes[COUNT], all_floats[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        bytes[i] = (uint8_t)(i * 37);
        floats[i] = some_float(i);
        mean[i] = 123.675f + (float)(i % 3);
        std[i] = 58.395f - 0.1f * (float)(i % 7);
        volatile float byte = (float)bytes[i] - mean[i], number = floats[i] - mean[i];
        of_bytes[i] = byte / std[i];
        of_floats[i] = one_nan(number / std[i]);
        byte = (float)bytes[i] - 0.45f;
        number = floats[i] - 0.45f;
        all_bytes[i] = byte / -0.225f;
        all_floats[i] = one_nan(number / -0.225f);
    }
    for (size_t p = all_paths(paths); p-- > 0;)
        for (size_t end = 5; end < COUNT; end = longer(end)) {
            const tnd_loops_t *path = paths[p];
            size_t at = end % 5, count = end - at;
            out[end] = -5.0f;
            path->normalize_each_u8(count, out + at, bytes + at, mean + at, std + at);
            compare(out, of_bytes, at, end, sizeof *out, path->name, "each u8");
            path->normalize_all_u8(count, out + at, bytes + at, 0.45f, -0.225f);
            compare(out, all_bytes, at, end, sizeof *out, path->name, "all u8");
            path->normalize_each_f32(count, out + at, floats + at, mean + at, std + at);
            for (size_t i = at; i < end; i++)
                out[i] = one_nan(out[i]);
            compare(out, of_floats, at, end, sizeof *out, path->name, "each f32");
            path->normalize_all_f32(count, out + at, floats + at, 0.45f, -0.225f);
            for (size_t i = at; i < end; i++)
                out[i] = one_nan(out[i]);
            compare(out, all_floats, at, end, sizeof *out, path->name, "all f32");
            cr_assert_eq(out[end], -5.0f, "nothing is written after the end");
        }
}

Test(loops, clipping_keeps_nan)
{
    const tnd_loops_t *const *paths = tnd_loops_paths();
    float in[COUNT], wanted[COUNT], out[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++) {
        in[i] = i == 5 ? -0.0f : some_float(i);
        wanted[i] = in[i] < -0.0f ? -0.0f : in[i] > 300 ? 300 : in[i];
    }
    for (size_t p = all_paths(paths); p-- > 0;)
        for (size_t end = 5; end < COUNT; end = longer(end)) {
            size_t at = end % 5;
            out[end] = -5.0f;
            paths[p]->clip_f32(end - at, out + at, in + at, -0.0f, 300);
            compare(out, wanted, at, end, sizeof *out, paths[p]->name, "clip");
            cr_assert_eq(out[end], -5.0f, "nothing is written after the end");
        }
}

Test(loops, the_last_comes_first)
{
    const tnd_loops_t *const *paths = tnd_loops_paths();
    uint8_t in[COUNT], out[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++)
        in[i] = (uint8_t)(i * 37 + (i >> 8));
    for (size_t p = all_paths(paths); p-- > 0;)
        for (size_t end = 5; end < COUNT; end = longer(end)) {
            size_t at = end % 5;
            out[end] = 0xee;
            paths[p]->reverse_u8(end - at, out + at, in + at);
            for (size_t i = at; i < end; i++)
                cr_assert_eq(out[i], in[end - 1 - (i - at)], "%s", paths[p]->name);
            cr_assert_eq(out[end], 0xee);
        }
}
