/*  Covers actors/image/pixel_loops.h: every path that this machine can run gives the bits that one
 *  number at a time gives, and writes nothing after the end. */
#include "actors/image/pixel_loops.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/vector_paths.h"

enum { COUNT = 1203, ROWS = 7, WIDTH = 61 };

static size_t all_paths(const tnd_pixel_loops_t *const *paths)
{
    size_t count = tnd_vector_paths();
    cr_assert(count >= 1 && count <= TND_VECTOR_PATHS_MAX);
    cr_assert_str_eq(paths[0]->name, "plain");
    cr_assert_eq(tnd_pixel_loops(), paths[count - 1]);
    return count;
}

/*  Weights of 1, some of them negative. */
static const int16_t fixed_weights[ROWS] = {-1200, 9000, 8584, -900, 1500, 0, -600};

static int32_t shifted(int32_t sum, int shift, int32_t low, int32_t high)
{
    int32_t value = (int32_t)floor((double)sum / (1 << shift) + 0.5);
    return value < low ? low : value > high ? high : value;
}

Test(pixel_loops, lines_are_summed_down_alike)
{
    const tnd_pixel_loops_t *const *paths = tnd_pixel_loops_paths();
    static uint8_t bytes[ROWS][COUNT];
    static float floats[ROWS][COUNT], weights[ROWS], out[COUNT + 1];
    static int16_t middle[COUNT + 1];
    const uint8_t *byte_rows[ROWS];
    const float *float_rows[ROWS];
    for (int k = 0; k < ROWS; k++) {
        byte_rows[k] = bytes[k];
        float_rows[k] = floats[k];
        weights[k] = (float)fixed_weights[k] / 16384.0f;
        for (int i = 0; i < COUNT; i++) {
            bytes[k][i] = (uint8_t)(i * 37 + k * 101 + i * i % 11 * k);
            floats[k][i] = (float)bytes[k][i] * 1.7f - 50.0f;
        }
    }
    for (size_t p = all_paths(paths); p-- > 0;)
        for (uint32_t taps = 1; taps <= ROWS; taps++)
            for (size_t count = 1; count < COUNT; count = count * 2 + 5) {
                middle[count] = 77;
                out[count] = -5.0f;
                paths[p]->down_fixed(count, taps, middle, byte_rows, fixed_weights);
                for (size_t i = 0; i < count; i++) {
                    int32_t sum = 0;
                    for (uint32_t k = 0; k < taps; k++)
                        sum += fixed_weights[k] * bytes[k][i];
                    cr_assert_eq(middle[i], shifted(sum, 8, -32768, 32767), "%s, %u taps, %zu",
                                 paths[p]->name, taps, i);
                }
                for (int kind = 0; kind < 2; kind++) {
                    if (kind == 0)
                        paths[p]->down_u8(count, taps, out, byte_rows, weights);
                    else
                        paths[p]->down_f32(count, taps, out, float_rows, weights);
                    for (size_t i = 0; i < count; i++) {
                        volatile float sum = 0;
                        for (uint32_t k = 0; k < taps; k++) {
                            volatile float part =
                                weights[k] * (kind == 0 ? (float)bytes[k][i] : floats[k][i]);
                            sum = sum + part;
                        }
                        cr_assert_eq(out[i], sum, "%s, %u taps, %zu", paths[p]->name, taps, i);
                    }
                }
                cr_assert_eq(middle[count], 77);
                cr_assert_eq(out[count], -5.0f);
            }
}

Test(pixel_loops, lines_are_summed_across_alike)
{
    const tnd_pixel_loops_t *const *paths = tnd_pixel_loops_paths();
    static int16_t fixed[WIDTH * ROWS], in[WIDTH * 6 + TND_PIXEL_SLACK];
    static float weights[WIDTH * ROWS], numbers[WIDTH * 6 + TND_PIXEL_SLACK];
    static uint32_t first[WIDTH];
    for (int i = 0; i < WIDTH * 6; i++) {
        in[i] = (int16_t)(i * 7919 % 16320 - (i % 5 == 0 ? 900 : 0));
        numbers[i] = (float)in[i] * 0.013f;
    }
    for (size_t p = all_paths(paths); p-- > 0;)
        for (uint32_t taps = 1; taps <= ROWS; taps++)
            for (uint32_t channels = 1; channels <= 6; channels++)
                for (uint32_t count = 1; count <= WIDTH - ROWS; count += 13) {
                    for (uint32_t i = 0; i < count; i++) {
                        first[i] = i * (WIDTH - taps) / count;
                        for (uint32_t k = 0; k < taps; k++) {
                            fixed[i * taps + k] = fixed_weights[(k + i) % ROWS];
                            weights[i * taps + k] = (float)fixed[i * taps + k] / 16384.0f;
                        }
                    }
                    const tnd_across_t across = {count, channels, taps, first, fixed, weights};
                    uint8_t bytes[WIDTH * 6 + 1];
                    float out[WIDTH * 6 + 1];
                    bytes[count * channels] = 0xee;
                    out[count * channels] = -5.0f;
                    paths[p]->across_fixed(&across, bytes, in);
                    paths[p]->across_f32(&across, out, numbers);
                    for (uint32_t i = 0; i < count * channels; i++) {
                        int32_t sum = 0;
                        volatile float total = 0;
                        for (uint32_t k = 0; k < taps; k++) {
                            size_t at = (first[i / channels] + k) * channels + i % channels;
                            sum += fixed[i / channels * taps + k] * in[at];
                            volatile float part = weights[i / channels * taps + k] * numbers[at];
                            total = total + part;
                        }
                        cr_assert_eq(bytes[i], shifted(sum, 20, 0, 255), "%s", paths[p]->name);
                        cr_assert_eq(out[i], total, "%s: %u channels, %u taps", paths[p]->name,
                                     channels, taps);
                    }
                    cr_assert_eq(bytes[count * channels], 0xee);
                    cr_assert_eq(out[count * channels], -5.0f);
                }
}

Test(pixel_loops, floats_are_rounded_to_bytes_alike)
{
    const tnd_pixel_loops_t *const *paths = tnd_pixel_loops_paths();
    static float in[COUNT];
    static uint8_t out[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(i - 300) * 0.5f;
    in[5] = NAN;
    in[6] = INFINITY;
    in[7] = -INFINITY;
    in[8] = 1e30f;
    for (size_t p = all_paths(paths); p-- > 0;) {
        out[COUNT] = 0xee;
        paths[p]->round_u8(COUNT, out, in);
        for (int i = 0; i < COUNT; i++) {
            double wanted = isnan(in[i]) ? 0 : fmin(fmax(floor((double)in[i] + 0.5), 0), 255);
            cr_assert_eq(out[i], wanted, "%s: %g", paths[p]->name, (double)in[i]);
        }
        cr_assert_eq(out[COUNT], 0xee);
    }
}
