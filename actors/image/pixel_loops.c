/*  actors/image/pixel_loops.c - the loops that resizing spends its time in. */
#include "actors/image/pixel_loops.h"

#include "actors/image/resize_axis.h"
#include "runtime/core/numeric/vector_paths.h"

/*  Sums of so many numbers are made at a time; they stay in the first level of the cache. */
enum { CHUNK = 512, LANES = 4 };

enum {
    DOWN_SHIFT = TND_RESIZE_WEIGHT_BITS - TND_RESIZE_MIDDLE_BITS,
    ACROSS_SHIFT = TND_RESIZE_WEIGHT_BITS + TND_RESIZE_MIDDLE_BITS
};

#define BODY static inline __attribute__((always_inline)) void

static inline __attribute__((always_inline)) int16_t to_middle(int32_t sum)
{
    sum = (sum + (1 << (DOWN_SHIFT - 1))) >> DOWN_SHIFT;
    return (int16_t)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
}

static inline __attribute__((always_inline)) uint8_t to_byte(int32_t sum)
{
    sum = (sum + (1 << (ACROSS_SHIFT - 1))) >> ACROSS_SHIFT;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/*  Of two lines and of any number. */
BODY down_fixed(size_t count, uint32_t taps, int16_t *restrict out, const uint8_t *const *rows,
                const int16_t *weights)
{
    if (taps == 2) {
        const uint8_t *restrict a = rows[0], *restrict b = rows[1];
        int32_t wa = weights[0], wb = weights[1];
        for (size_t i = 0; i < count; i++)
            out[i] = to_middle(wa * a[i] + wb * b[i]);
        return;
    }
    for (size_t done = 0; done < count; done += CHUNK) {
        int32_t sums[CHUNK];
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        for (size_t i = 0; i < now; i++)
            sums[i] = 0;
        for (uint32_t k = 0; k < taps; k++) {
            const uint8_t *restrict row = rows[k] + done;
            int32_t weight = weights[k];
            for (size_t i = 0; i < now; i++)
                sums[i] += weight * row[i];
        }
        for (size_t i = 0; i < now; i++)
            out[done + i] = to_middle(sums[i]);
    }
}

#define DOWN_FLOAT(type, name)                                                                     \
    BODY down_##name(size_t count, uint32_t taps, float *restrict out, const type *const *rows,    \
                     const float *weights)                                                         \
    {                                                                                              \
        for (size_t done = 0; done < count; done += CHUNK) {                                       \
            size_t now = count - done < CHUNK ? count - done : CHUNK;                              \
            float *restrict to = out + done;                                                       \
            for (size_t i = 0; i < now; i++)                                                       \
                to[i] = 0;                                                                         \
            for (uint32_t k = 0; k < taps; k++) {                                                  \
                const type *restrict row = rows[k] + done;                                         \
                float weight = weights[k];                                                         \
                for (size_t i = 0; i < now; i++)                                                   \
                    to[i] = to[i] + weight * (float)row[i];                                        \
            }                                                                                      \
        }                                                                                          \
    }

DOWN_FLOAT(uint8_t, u8)
DOWN_FLOAT(float, f32)

/*  Pixels of three numbers, which are computed as four; the next pixel overwrites the last of them. */
#define ACROSS(sum_t, lanes, weight_of, finish)                                                    \
    for (; i < end; i++) {                                                                         \
        sum_t sums[LANES] = {0};                                                                   \
        size_t first = (size_t)self->first[i] * channels;                                          \
        for (uint32_t k = 0; k < taps; k++) {                                                      \
            sum_t weight = self->weight_of[(size_t)i * taps + k];                                  \
            for (uint32_t c = 0; c < (lanes); c++)                                                 \
                sums[c] = sums[c] + weight * in[first + k * channels + c];                         \
        }                                                                                          \
        for (uint32_t c = 0; c < (lanes); c++)                                                     \
            out[(size_t)i * channels + c] = finish(sums[c]);                                       \
    }

#define ACROSS_ALL(sum_t, weight_of, finish)                                                       \
    uint32_t i = 0, end = self->count, taps = self->taps;                                          \
    if (self->channels == 3) {                                                                     \
        const uint32_t channels = 3;                                                               \
        end = end > 0 ? end - 1 : 0;                                                               \
        if (taps == 2) {                                                                           \
            taps = 2;                                                                              \
            ACROSS(sum_t, LANES, weight_of, finish)                                                \
        }                                                                                          \
        ACROSS(sum_t, LANES, weight_of, finish)                                                    \
        end = self->count;                                                                         \
        ACROSS(sum_t, 3, weight_of, finish)                                                        \
        return;                                                                                    \
    }                                                                                              \
    size_t step = self->channels;                                                                  \
    for (; i < end; i++)                                                                           \
        for (size_t c = 0; c < step; c++) {                                                        \
            sum_t sum = 0;                                                                         \
            for (uint32_t k = 0; k < taps; k++)                                                    \
                sum = sum +                                                                        \
                      self->weight_of[(size_t)i * taps + k] * in[(self->first[i] + k) * step + c]; \
            out[i * step + c] = finish(sum);                                                       \
        }

BODY across_fixed(const tnd_across_t *self, uint8_t *restrict out,
                  const int16_t *restrict in){ACROSS_ALL(int32_t, fixed, to_byte)}

BODY across_f32(const tnd_across_t *self, float *restrict out,
                const float *restrict in){ACROSS_ALL(float, weights, )}

BODY round_u8(size_t count, uint8_t *restrict out, const float *restrict in)
{
    for (size_t i = 0; i < count; i++) {
        float x = in[i] + 0.5f;
        x = x > 0.0f ? x : 0.0f;
        x = x < 255.5f ? x : 255.5f;
        out[i] = (uint8_t)(int32_t)x;
    }
}

/*  One path: every loop, compiled for a set of instructions. */
#define PATH(path, target, has)                                                                    \
    target static void down_fixed_##path(size_t count, uint32_t taps, int16_t *out,                \
                                         const uint8_t *const *rows, const int16_t *weights)       \
    {                                                                                              \
        down_fixed(count, taps, out, rows, weights);                                               \
    }                                                                                              \
    target static void down_u8_##path(size_t count, uint32_t taps, float *out,                     \
                                      const uint8_t *const *rows, const float *weights)            \
    {                                                                                              \
        down_u8(count, taps, out, rows, weights);                                                  \
    }                                                                                              \
    target static void down_f32_##path(size_t count, uint32_t taps, float *out,                    \
                                       const float *const *rows, const float *weights)             \
    {                                                                                              \
        down_f32(count, taps, out, rows, weights);                                                 \
    }                                                                                              \
    target static void across_fixed_##path(const tnd_across_t *across, uint8_t *out,               \
                                           const int16_t *in)                                      \
    {                                                                                              \
        across_fixed(across, out, in);                                                             \
    }                                                                                              \
    target static void across_f32_##path(const tnd_across_t *across, float *out, const float *in)  \
    {                                                                                              \
        across_f32(across, out, in);                                                               \
    }                                                                                              \
    target static void round_u8_##path(size_t count, uint8_t *out, const float *in)                \
    {                                                                                              \
        round_u8(count, out, in);                                                                  \
    }                                                                                              \
    static const tnd_pixel_loops_t path = {                                                        \
        .name = #path,                                                                             \
        .down_fixed = down_fixed_##path,                                                           \
        .down_u8 = down_u8_##path,                                                                 \
        .down_f32 = down_f32_##path,                                                               \
        .across_fixed = across_fixed_##path,                                                       \
        .across_f32 = across_f32_##path,                                                           \
        .round_u8 = round_u8_##path,                                                               \
    };

TND_VECTOR_PATHS(PATH)

static const tnd_pixel_loops_t *const paths[] = {TND_VECTOR_PATHS(TND_VECTOR_PATH_ADDRESS)};

const tnd_pixel_loops_t *const *tnd_pixel_loops_paths(void)
{
    return paths;
}

const tnd_pixel_loops_t *tnd_pixel_loops(void)
{
    return paths[tnd_vector_paths() - 1];
}
