/*  runtime/core/numeric/row_cast.c - y = x * scale + bias, per channel, with the same bits anywhere.
 *
 *  Scales and biases are laid out beside the elements that they belong to, a tile at a time, so that
 *  the inner loops are plain loops over arrays, which the compiler turns into vectors. */
#include "runtime/core/numeric/row_cast.h"

#include <assert.h>

#include "runtime/core/numeric/half_internal.h"
#include "runtime/core/numeric/vector_paths.h"

/*  The elements of a tile, at least; the arrays of one stay in the nearest cache. */
enum { TILE = 1024 };

bool tnd_row_cast_takes(tnd_dtype_t from, tnd_dtype_t to)
{
    return (from == TND_U8 || from == TND_I16 || from == TND_U16 || from == TND_F32) &&
           (to == TND_F32 || to == TND_F16 || to == TND_BF16);
}

/* --- one element ------------------------------------------------------------------------------ */

static inline float to_f32(float y)
{
    return float_of(y != y ? 0x7fc00000 : bits_of(y));
}

static inline uint16_t to_f16(float y)
{
    return y != y ? 0x7e00 : f16_of(y);
}

static inline uint16_t to_bf16(float y)
{
    return bf16_of(y);
}

/* --- loops ------------------------------------------------------------------------------------ */

typedef void loop_t(size_t count, void *out, const void *in, const float *scale, const float *bias);

/*  The loops of one path, by source and target. */
typedef struct {
    loop_t *loops[4][3];
} path_t;

#define LOOP(path, target, from, from_t, to, to_t)                                                 \
    target static void from##_##to##_##path(size_t count, void *out_p, const void *in_p,           \
                                            const float *restrict scale,                           \
                                            const float *restrict bias)                            \
    {                                                                                              \
        to_t *restrict out = out_p;                                                                \
        const from_t *restrict in = in_p;                                                          \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = to_##to(__builtin_fmaf((float)in[i], scale[i], bias[i]));                     \
    }

#define LOOPS(path, target, from, from_t)                                                          \
    LOOP(path, target, from, from_t, f32, float)                                                   \
    LOOP(path, target, from, from_t, f16, uint16_t)                                                \
    LOOP(path, target, from, from_t, bf16, uint16_t)

#define ROW(path, from)                                                                            \
    {                                                                                              \
        from##_f32_##path, from##_f16_##path, from##_bf16_##path                                   \
    }

#define PATH(path, target, has)                                                                    \
    LOOPS(path, target, u8, uint8_t)                                                               \
    LOOPS(path, target, i16, int16_t)                                                              \
    LOOPS(path, target, u16, uint16_t)                                                             \
    LOOPS(path, target, f32, float)                                                                \
    static const path_t path = {{ROW(path, u8), ROW(path, i16), ROW(path, u16), ROW(path, f32)}};

/*  Fused multiply-add is not in every machine with AVX2, so the paths are this file's own. */
#if defined(__x86_64__)
#define ROW_CAST_PATHS(PATH)                                                                       \
    PATH(plain, , true)                                                                            \
    PATH(fused, __attribute__((target("avx2,fma"))),                                               \
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define ROW_CAST_PATHS(PATH) PATH(plain, , true)
#endif

ROW_CAST_PATHS(PATH)

static const path_t *const paths[] = {ROW_CAST_PATHS(TND_VECTOR_PATH_ADDRESS)};

size_t tnd_row_cast_paths(void)
{
    const bool has[] = {ROW_CAST_PATHS(TND_VECTOR_PATH_HAS)};
    size_t count = 1;
    while (count < sizeof has / sizeof has[0] && has[count])
        count++;
    return count;
}

static loop_t *loop_of(const path_t *path, const tnd_row_cast_t *cast)
{
    size_t from = cast->from == TND_U8    ? 0
                  : cast->from == TND_I16 ? 1
                  : cast->from == TND_U16 ? 2
                                          : 3;
    return path->loops[from][cast->to == TND_F32 ? 0 : cast->to == TND_F16 ? 1 : 2];
}

/* --- rows ------------------------------------------------------------------------------------- */

/*  Scales and biases of `count` elements that begin with channel 0: a tile, or fewer if no more are
 *  cast at a time. */
typedef struct {
    const float *scale, *bias;
    size_t count;
    float room[2][2 * TILE];
} tile_t;

static void lay_out(tile_t *self, const tnd_row_cast_t *cast, uint64_t elements)
{
    size_t channels = cast->channels, most = elements < TILE ? (size_t)elements : TILE;
    if (channels > TILE) {
        self->scale = cast->scale;
        self->bias = cast->bias;
        self->count = channels;
        return;
    }
    self->count = (most + channels - 1) / channels * channels;
    for (size_t i = 0; i < self->count; i++) {
        self->room[0][i] = i < channels ? cast->scale[i] : self->room[0][i - channels];
        self->room[1][i] = i < channels ? cast->bias[i] : self->room[1][i - channels];
    }
    self->scale = self->room[0];
    self->bias = self->room[1];
}

/*  Moves pixels of `channels` elements to where the channels of a row are apart. */
#define SCATTER(name, type)                                                                        \
    static inline __attribute__((always_inline)) void name(                                        \
        type *restrict out, size_t apart, const type *restrict in, size_t pixels, size_t channels) \
    {                                                                                              \
        for (size_t c = 0; c < channels; c++)                                                      \
            for (size_t p = 0; p < pixels; p++)                                                    \
                out[c * apart + p] = in[p * channels + c];                                         \
    }

SCATTER(scatter_words, uint32_t)
SCATTER(scatter_halves, uint16_t)

/*  The compiler knows how far apart the elements of usual pictures are. */
static void scatter(size_t size, void *out, size_t apart, const void *in, size_t pixels,
                    size_t channels)
{
    if (size == sizeof(uint32_t) && channels == 3)
        scatter_words(out, apart, in, pixels, 3);
    else if (size == sizeof(uint32_t))
        scatter_words(out, apart, in, pixels, channels);
    else if (channels == 3)
        scatter_halves(out, apart, in, pixels, 3);
    else
        scatter_halves(out, apart, in, pixels, channels);
}

/*  One row, whose channels come first: so many of its elements at a time that they have a place. */
static void cast_apart(loop_t *loop, const tnd_row_cast_t *cast, const tile_t *tile, uint8_t *out,
                       const uint8_t *in)
{
    size_t from = tnd_dtype_size(cast->from), to = tnd_dtype_size(cast->to);
    size_t channels = cast->channels, pixels = cast->elements / channels;
    uint32_t cells[2 * TILE];
    if (channels > TILE) { /* a part of a pixel at a time */
        for (size_t p = 0; p < pixels; p++)
            for (size_t c = 0, some; c < channels; c += some) {
                some = channels - c < TILE ? channels - c : TILE;
                loop(some, cells, in + (p * channels + c) * from, tile->scale + c, tile->bias + c);
                scatter(to, out + (c * pixels + p) * to, pixels, cells, 1, some);
            }
        return;
    }
    for (size_t p = 0, some; p < pixels; p += some) {
        size_t most = tile->count / channels;
        some = pixels - p < most ? pixels - p : most;
        loop(some * channels, cells, in + p * channels * from, tile->scale, tile->bias);
        scatter(to, out + p * to, pixels, cells, some, channels);
    }
}

void tnd_row_cast_by(size_t path, const tnd_row_cast_t *cast, uint64_t rows, void *out,
                     const void *in)
{
    loop_t *loop = loop_of(paths[path], cast);
    size_t from = tnd_dtype_size(cast->from), to = tnd_dtype_size(cast->to);
    tile_t tile;
    assert(tnd_row_cast_takes(cast->from, cast->to) && cast->elements % cast->channels == 0);
    uint64_t count = cast->channels_first ? cast->elements : rows * cast->elements;
    lay_out(&tile, cast, count);
    if (cast->channels_first) {
        for (uint64_t r = 0; r < rows; r++)
            cast_apart(loop, cast, &tile, (uint8_t *)out + r * cast->elements * to,
                       (const uint8_t *)in + r * cast->elements * from);
        return;
    }
    for (uint64_t at = 0, some; at < count; at += some) {
        some = count - at < tile.count ? count - at : tile.count;
        loop(some, (uint8_t *)out + at * to, (const uint8_t *)in + at * from, tile.scale,
             tile.bias);
    }
}

void tnd_row_cast(const tnd_row_cast_t *cast, uint64_t rows, void *out, const void *in)
{
    tnd_row_cast_by(tnd_row_cast_paths() - 1, cast, rows, out, in);
}
