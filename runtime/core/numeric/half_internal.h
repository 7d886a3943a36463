/*  runtime/core/numeric/half_internal.h - casts of one number, for loops over many.
 *
 *  Without branches, so that the compiler can use vectors.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_HALF_INTERNAL_H
#define TND_RUNTIME_CORE_NUMERIC_HALF_INTERNAL_H

#include <stdint.h>
#include <string.h>

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

/*  Below the least normal half, adding 0.5 rounds to its multiples of 2^-24, which are the denormal
 *  halves. */
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

#endif
