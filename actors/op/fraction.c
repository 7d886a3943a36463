/*  actors/op/fraction.c - bytes as fractions of 255.
 *
 *  A division costs ten times a product, so x / 255 is x * HIGH + x * LOW, where HIGH is 1 / 255
 * cut after 16 bits and LOW the rest.  x has 8 bits, so x * HIGH is exact, and the sum is rounded
 * as the division would be: so it is for all 256 values, which the test goes through.
 */
#include "actors/op/fraction.h"

#define HIGH 0x1.0100p-8f
#define LOW 0x1.010102p-24f

static inline __attribute__((always_inline)) void
run(const tnd_fraction_t *self, size_t count, float *restrict out, const uint8_t *restrict in)
{
    float span = self->span, low = self->low;
    if (!self->has_span) {
        for (size_t i = 0; i < count; i++)
            out[i] = (float)in[i] * HIGH + (float)in[i] * LOW;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float fraction = (float)in[i] * HIGH + (float)in[i] * LOW;
        out[i] = fraction * span + low;
    }
}

static void run_plain(const tnd_fraction_t *self, size_t count, float *out, const uint8_t *in)
{
    run(self, count, out, in);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void run_avx2(const tnd_fraction_t *self, size_t count,
                                                     float *out, const uint8_t *in)
{
    run(self, count, out, in);
}

size_t tnd_fraction_paths(tnd_fraction_fn *paths[TND_FRACTION_PATHS])
{
    size_t count = 0;
    paths[count++] = run_plain;
    if (__builtin_cpu_supports("avx2"))
        paths[count++] = run_avx2;
    return count;
}
#else
size_t tnd_fraction_paths(tnd_fraction_fn *paths[TND_FRACTION_PATHS])
{
    paths[0] = run_plain;
    return 1;
}
#endif
