/*  Covers runtime/core/numeric/half.h: every path that this machine can run gives what one number
 *  at a time gives (which numeric_test.c holds against TensorFlow), at all lengths; and nothing
 *  after it. */
#include "runtime/core/numeric/half.h"

#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/vector_paths.h"

#include "runtime/core/numeric/numeric.h"

enum { ALL = 1 << 16, FLOATS = 1 << 18, FEW = 70 };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

Test(half, every_path_widens_all_halves_alike)
{
    static uint16_t in[ALL];
    static float f16[ALL], bf16[ALL];
    const tnd_half_t *const *paths = tnd_half_paths();
    size_t count = tnd_vector_paths();
    cr_assert(count >= 1 && count <= TND_VECTOR_PATHS_MAX && tnd_half() == paths[count - 1]);
    for (size_t i = 0; i < ALL; i++)
        in[i] = (uint16_t)i;
    for (size_t p = 0; p < count; p++) {
        paths[p]->f32_from_f16(ALL, f16, in);
        paths[p]->f32_from_bf16(ALL, bf16, in);
        for (size_t i = 0; i < ALL; i++) {
            cr_assert_eq(bits_of(f16[i]), bits_of(tnd_f32_from_f16(in[i])), "%s, f16 %04x",
                         paths[p]->name, in[i]);
            cr_assert_eq(bits_of(bf16[i]), bits_of(tnd_f32_from_bf16(in[i])), "%s, bf16 %04x",
                         paths[p]->name, in[i]);
        }
    }
}

/*  Bits all over the range, with those at which something is rounded, flushed or overflows. */
static float some_float(size_t i)
{
    static const uint32_t edges[] = {0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x477fefff,
                                     0x477ff000, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7f7fffff,
                                     0x00000001, 0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000};
    size_t count = sizeof edges / sizeof edges[0];
    uint32_t bits = i < 2 * count ? edges[i / 2] | (uint32_t)(i % 2) << 31
                                  : (uint32_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(half, every_path_rounds_floats_alike_at_every_length)
{
    static float in[FLOATS];
    static uint16_t f16[FLOATS + 1], bf16[FLOATS + 1];
    const tnd_half_t *const *paths = tnd_half_paths();
    size_t count = tnd_vector_paths();
    for (size_t i = 0; i < FLOATS; i++)
        in[i] = some_float(i);
    for (size_t p = 0; p < count; p++)
        for (size_t length = 0; length <= FLOATS; length = length < FEW ? length + 1 : FLOATS) {
            f16[length] = bf16[length] = 0x5aa5;
            paths[p]->f16_from_f32(length, f16, in);
            paths[p]->bf16_from_f32(length, bf16, in);
            cr_assert(f16[length] == 0x5aa5 && bf16[length] == 0x5aa5);
            for (size_t i = 0; i < length; i++) {
                cr_assert_eq(f16[i], tnd_f16_from_f32(in[i]), "%s, f16 of %08x", paths[p]->name,
                             bits_of(in[i]));
                cr_assert_eq(bf16[i], tnd_bf16_from_f32(in[i]), "%s, bf16 of %08x", paths[p]->name,
                             bits_of(in[i]));
            }
            if (length == FLOATS)
                break;
        }
}
