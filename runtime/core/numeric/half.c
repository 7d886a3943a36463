/*  runtime/core/numeric/half.c - f32 from and to f16 and bf16, for each width of vector. */
#include "runtime/core/numeric/half.h"

#include "runtime/core/numeric/half_internal.h"
#include "runtime/core/numeric/vector_paths.h"

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
