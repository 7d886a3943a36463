/*  Covers actors/op/fraction.h: every path divides as the machine does, for every byte, at every
 *  length and alignment.
 */
#include "actors/op/fraction.h"

#include <string.h>

#include <criterion/criterion.h>

enum { COUNT = 1027 };

Test(fraction, every_path_gives_the_bits_of_the_division)
{
    static const tnd_fraction_t kinds[] = {
        {.has_span = false}, {true, 2.0f, -1.0f}, {true, 0.3f, 17.7f}, {true, 255.0f, 0.0f}};
    tnd_fraction_fn *paths[TND_FRACTION_PATHS];
    size_t count = tnd_fraction_paths(paths);
    uint8_t in[COUNT];
    float out[COUNT + 1];
    cr_assert(count >= 1 && count <= TND_FRACTION_PATHS);
    for (size_t i = 0; i < COUNT; i++)
        in[i] = (uint8_t)(i * 37);
    for (size_t p = 0; p < count; p++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (size_t length = 0; length < COUNT; length += length < 70 ? 1 : 53) {
                size_t start = length % 5;
                out[length] = -5.0f;
                paths[p](&kinds[k], length > start ? length - start : 0, out + start, in + start);
                cr_assert_eq(out[length], -5.0f, "nothing is written behind the end");
                for (size_t i = start; i < length; i++) {
                    volatile float expected = (float)in[i] / 255.0f;
                    if (kinds[k].has_span) {
                        expected = expected * kinds[k].span;
                        expected = expected + kinds[k].low;
                    }
                    float wanted = expected;
                    cr_assert_eq(memcmp(&out[i], &wanted, sizeof wanted), 0, "path %zu, byte %u", p,
                                 in[i]);
                }
            }
}
