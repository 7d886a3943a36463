/*  runtime/core/numeric/half.c - f32 from and to f16 and bf16, for each width of vector. */
#include "runtime/core/numeric/half.h"

#include <string.h>

#include "runtime/core/numeric/vector_paths.h"

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*  Without branches, so that the compiler can use vectors.  Below the least normal half, adding 0.5
 *  rounds to its multiples of 2^-24, which are the denormal halves. */
static inline uint16_t f16_of(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7fffffff;
    uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t denormal = bits_of(float_of(size) + 0.5f) - 0x3f000000;
    uint32_t half = size < 0x38800000 ? denormal : normal;
    half = size >= 0x477ff000 ? 0x7c00 : half;
    half = size > 0x7f800000 ? 0x7e00 | (size >> 13 & 0x3ff) : half;
    return (uint16_t)(sign | half);
}

/*  A denormal half is a multiple of 2^-24, and a normal f32. */
static inline float f32_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t size = half & 0x7fff;
    uint32_t special = size >= 0x7c00 ? 0x38000000 : 0;
    uint32_t quiet = size > 0x7c00 ? 0x400000 : 0;
    uint32_t normal = ((size << 13) + 0x38000000 + special) | quiet;
    uint32_t denormal = bits_of((float)(int32_t)size * 0x1p-24f);
    return float_of(sign | (size < 0x400 ? denormal : normal));
}

static inline uint16_t bf16_of(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float f32_of_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

#define LOOP(name, out_t, in_t, rule)                                                              \
    static inline __attribute__((always_inline)) void name(size_t count, out_t *restrict out,      \
                                                           const in_t *restrict in)                \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = rule(in[i]);                                                                  \
    }

LOOP(f16_from_f32, uint16_t, float, f16_of)
LOOP(bf16_from_f32, uint16_t, float, bf16_of)
LOOP(f32_from_f16, float, uint16_t, f32_of_f16)
LOOP(f32_from_bf16, float, uint16_t, f32_of_bf16)

/*  One path: every loop, compiled for a set of instructions. */
#define ONE(path, target, name, out_t, in_t)                                                       \
    target static void name##_##path(size_t count, out_t *out, const in_t *in)                     \
    {                                                                                              \
        name(count, out, in);                                                                      \
    }

#define PATH(path, target, has)                                                                    \
    ONE(path, target, f16_from_f32, uint16_t, float)                                               \
    ONE(path, target, bf16_from_f32, uint16_t, float)                                              \
    ONE(path, target, f32_from_f16, float, uint16_t)                                               \
    ONE(path, target, f32_from_bf16, float, uint16_t)                                              \
    static const tnd_half_t path = {#path, f16_from_f32_##path, bf16_from_f32_##path,              \
                                    f32_from_f16_##path, f32_from_bf16_##path};

TND_VECTOR_PATHS(PATH)

static const tnd_half_t *const paths[] = {TND_VECTOR_PATHS(TND_VECTOR_PATH_ADDRESS)};

const tnd_half_t *const *tnd_half_paths(void)
{
    return paths;
}

const tnd_half_t *tnd_half(void)
{
    return paths[tnd_vector_paths() - 1];
}

uint16_t tnd_f16_from_f32(float value)
{
    return f16_of(value);
}

float tnd_f32_from_f16(uint16_t bits)
{
    return f32_of_f16(bits);
}

uint16_t tnd_bf16_from_f32(float value)
{
    return bf16_of(value);
}

float tnd_f32_from_bf16(uint16_t bits)
{
    return f32_of_bf16(bits);
}
