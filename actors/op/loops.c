/*  actors/op/loops.c - the loops that operations spend their time in, for each width of vector. */
#include "actors/op/loops.h"

#include "runtime/core/numeric/vector_paths.h"

/*  A division costs ten times a product, so x / 255 is x * HIGH + x * LOW, where HIGH is 1 / 255
 *  cut after 16 bits and LOW the rest.  x has 8 bits, so x * HIGH is exact, and the sum is rounded
 *  as the division would be: so it is for all 256 values, which the test goes through. */
#define HIGH 0x1.0100p-8f
#define LOW 0x1.010102p-24f

#define BODY static inline __attribute__((always_inline)) void

BODY fraction(const tnd_fraction_t *self, size_t count, float *restrict out,
              const uint8_t *restrict in)
{
    float span = self->span, low = self->low;
    if (!self->has_span) {
        for (size_t i = 0; i < count; i++)
            out[i] = (float)in[i] * HIGH + (float)in[i] * LOW;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float part = (float)in[i] * HIGH + (float)in[i] * LOW;
        out[i] = part * span + low;
    }
}

#define NORMALIZE(type, name)                                                                      \
    BODY normalize_each_##name(size_t count, float *restrict out, const type *restrict in,         \
                               const float *restrict mean, const float *restrict std)              \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = ((float)in[i] - mean[i]) / std[i];                                            \
    }                                                                                              \
    BODY normalize_all_##name(size_t count, float *restrict out, const type *restrict in,          \
                              float mean, float std)                                               \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = ((float)in[i] - mean) / std;                                                  \
    }

NORMALIZE(uint8_t, u8)
NORMALIZE(float, f32)

BODY clip_f32(size_t count, float *restrict out, const float *restrict in, float low, float high)
{
    for (size_t i = 0; i < count; i++) {
        float x = in[i];
        x = x < low ? low : x;
        out[i] = x > high ? high : x;
    }
}

BODY reverse_u8(size_t count, uint8_t *restrict out, const uint8_t *restrict in)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[count - 1 - i];
}

/*  One path: every loop, compiled for a set of instructions. */
#define PATH(path, target, has)                                                                    \
    target static void fraction_##path(const tnd_fraction_t *self, size_t count, float *out,       \
                                       const uint8_t *in)                                          \
    {                                                                                              \
        fraction(self, count, out, in);                                                            \
    }                                                                                              \
    target static void normalize_each_u8_##path(size_t count, float *out, const uint8_t *in,       \
                                                const float *mean, const float *std)               \
    {                                                                                              \
        normalize_each_u8(count, out, in, mean, std);                                              \
    }                                                                                              \
    target static void normalize_each_f32_##path(size_t count, float *out, const float *in,        \
                                                 const float *mean, const float *std)              \
    {                                                                                              \
        normalize_each_f32(count, out, in, mean, std);                                             \
    }                                                                                              \
    target static void normalize_all_u8_##path(size_t count, float *out, const uint8_t *in,        \
                                               float mean, float std)                              \
    {                                                                                              \
        normalize_all_u8(count, out, in, mean, std);                                               \
    }                                                                                              \
    target static void normalize_all_f32_##path(size_t count, float *out, const float *in,         \
                                                float mean, float std)                             \
    {                                                                                              \
        normalize_all_f32(count, out, in, mean, std);                                              \
    }                                                                                              \
    target static void clip_f32_##path(size_t count, float *out, const float *in, float low,       \
                                       float high)                                                 \
    {                                                                                              \
        clip_f32(count, out, in, low, high);                                                       \
    }                                                                                              \
    target static void reverse_u8_##path(size_t count, uint8_t *out, const uint8_t *in)            \
    {                                                                                              \
        reverse_u8(count, out, in);                                                                \
    }                                                                                              \
    static const tnd_loops_t path = {                                                              \
        .name = #path,                                                                             \
        .fraction = fraction_##path,                                                               \
        .normalize_each_u8 = normalize_each_u8_##path,                                             \
        .normalize_each_f32 = normalize_each_f32_##path,                                           \
        .normalize_all_u8 = normalize_all_u8_##path,                                               \
        .normalize_all_f32 = normalize_all_f32_##path,                                             \
        .clip_f32 = clip_f32_##path,                                                               \
        .reverse_u8 = reverse_u8_##path,                                                           \
    };

TND_VECTOR_PATHS(PATH)

static const tnd_loops_t *const paths[] = {TND_VECTOR_PATHS(TND_VECTOR_PATH_ADDRESS)};

const tnd_loops_t *const *tnd_loops_paths(void)
{
    return paths;
}

const tnd_loops_t *tnd_loops(void)
{
    return paths[tnd_vector_paths() - 1];
}
