/*  actors/image/color_loops.c - the loops that saturation and hue spend their time in. */
#include "actors/image/color_loops.h"

#include "runtime/core/numeric/vector_paths.h"

/*  Pixels at a time, channel by channel; they stay in the first level of the cache. */
enum { CHUNK = 256 };

typedef struct {
    float red[CHUNK], green[CHUNK], blue[CHUNK];
} planes_t;

typedef struct {
    float hue[CHUNK], from[CHUNK], low[CHUNK], chroma[CHUNK];
} hues_t;

static const float inverse_255 = (float)(1.0 / 255.0);

#define INLINE static inline __attribute__((always_inline))

INLINE float fraction_of(uint8_t x)
{
    return (float)x * inverse_255;
}

/*  A NaN is 0. */
INLINE uint8_t byte_of(float x)
{
    x = x * 255.5f;
    x = x > 0.0f ? x : 0.0f;
    return (uint8_t)(int32_t)(x < 255.0f ? x : 255.0f);
}

INLINE float greatest(float r, float g, float b)
{
    float most = r > g ? r : g;
    return most > b ? most : b;
}

INLINE float least(float r, float g, float b)
{
    float less = r < g ? r : g;
    return less < b ? less : b;
}

/*  The distances from the greatest change by the same factor, which makes the saturation at most 1. */
INLINE void saturate(size_t count, float value, planes_t *rgb)
{
    float *red = rgb->red, *green = rgb->green, *blue = rgb->blue;
    for (size_t i = 0; i < count; i++) {
        float r = red[i], g = green[i], b = blue[i];
        float high = greatest(r, g, b), chroma = high - least(r, g, b);
        float limit = high / chroma;
        float factor = value < limit ? value : limit;
        factor = factor > 0 ? factor : 0;
        int same = (high <= 0) | (chroma <= 0);
        red[i] = same ? r : high - (high - r) * factor;
        green[i] = same ? g : high - (high - g) * factor;
        blue[i] = same ? b : high - (high - b) * factor;
    }
}

/*  The least channel, the distance of the greatest one from it, and of the two others from each
 *  other. */
INLINE void compare_channels(size_t count, const planes_t *rgb, hues_t *out)
{
    for (size_t i = 0; i < count; i++) {
        float r = rgb->red[i], g = rgb->green[i], b = rgb->blue[i];
        float high = greatest(r, g, b), low = least(r, g, b);
        float above = g == high ? b : r, below = g == high ? r : g;
        float from = g == high ? 2.0f : 4.0f;
        above = r == high ? g : above;
        below = r == high ? b : below;
        out->from[i] = r == high ? 0.0f : from;
        out->hue[i] = above - below;
        out->low[i] = low;
        out->chroma[i] = high - low;
    }
}

/*  The hue in sixths of the circle: from which of three colours, and how far. */
INLINE void find_hues(size_t count, float value, const planes_t *rgb, hues_t *out)
{
    const float sixths = value * 6.0f;
    compare_channels(count, rgb, out);
    for (size_t i = 0; i < count; i++) {
        float side = out->hue[i] / out->chroma[i] + out->from[i], around = side + 6.0f;
        float hue = (side < 0 ? around : side) + sixths;
        /* The least whole number of circles; the value is at most one, so it is a small one. */
        float circles = hue / 6.0f;
        float small = circles > -8.0f ? circles : 0.0f;
        small = small < 8.0f ? small : 0.0f;
        float whole = (float)(int32_t)small;
        out->hue[i] = hue - (whole - (whole > small ? 1.0f : 0.0f)) * 6.0f;
    }
}

/*  A channel is there in the third of the circle around its middle, and fades in the sixths beside
 *  it; red, whose middle is where the circle closes, is the other way round.  Loops of their own are
 *  what the compiler can vectorise. */
INLINE void turn_channel(size_t count, const hues_t *hues, float middle, float offset, float sign,
                         float *channel)
{
    float part[CHUNK];
    for (size_t i = 0; i < count; i++) {
        float distance = hues->hue[i] - middle;
        distance = distance < 0 ? -distance : distance;
        part[i] = offset + sign * distance;
    }
    for (size_t i = 0; i < count; i++) {
        float more = part[i] < 0 ? 0 : part[i];
        part[i] = more > 1 ? 1 : more;
    }
    for (size_t i = 0; i < count; i++) {
        float turned = hues->low[i] + hues->chroma[i] * part[i];
        channel[i] = hues->chroma[i] > 0 ? turned : channel[i];
    }
}

INLINE void turn(size_t count, float value, planes_t *rgb)
{
    hues_t hues;
    find_hues(count, value, rgb, &hues);
    turn_channel(count, &hues, 3.0f, -1.0f, 1.0f, rgb->red);
    turn_channel(count, &hues, 2.0f, 2.0f, -1.0f, rgb->green);
    turn_channel(count, &hues, 4.0f, 2.0f, -1.0f, rgb->blue);
}

#define LOOP(rule, name, type, load, store)                                                        \
    INLINE void rule##_##name(size_t count, float value, type *restrict out,                       \
                              const type *restrict in)                                             \
    {                                                                                              \
        planes_t rgb;                                                                              \
        for (size_t done = 0; done < count; done += CHUNK, in += 3 * CHUNK, out += 3 * CHUNK) {    \
            size_t now = count - done < CHUNK ? count - done : CHUNK;                              \
            for (size_t i = 0; i < now; i++) {                                                     \
                rgb.red[i] = load(in[3 * i]);                                                      \
                rgb.green[i] = load(in[3 * i + 1]);                                                \
                rgb.blue[i] = load(in[3 * i + 2]);                                                 \
            }                                                                                      \
            rule(now, value, &rgb);                                                                \
            for (size_t i = 0; i < now; i++) {                                                     \
                out[3 * i] = store(rgb.red[i]);                                                    \
                out[3 * i + 1] = store(rgb.green[i]);                                              \
                out[3 * i + 2] = store(rgb.blue[i]);                                               \
            }                                                                                      \
        }                                                                                          \
    }

LOOP(saturate, u8, uint8_t, fraction_of, byte_of)
LOOP(saturate, f32, float, , )
LOOP(turn, u8, uint8_t, fraction_of, byte_of)
LOOP(turn, f32, float, , )

#define ONE(path, target, name, type)                                                              \
    target static void name##_##path(size_t count, float value, type *out, const type *in)         \
    {                                                                                              \
        name(count, value, out, in);                                                               \
    }

/*  One path: every loop, compiled for a set of instructions. */
#define PATH(path, target, has)                                                                    \
    ONE(path, target, saturate_u8, uint8_t)                                                        \
    ONE(path, target, saturate_f32, float)                                                         \
    ONE(path, target, turn_u8, uint8_t)                                                            \
    ONE(path, target, turn_f32, float)                                                             \
    static const tnd_color_loops_t path = {#path, saturate_u8_##path, saturate_f32_##path,         \
                                           turn_u8_##path, turn_f32_##path};

TND_VECTOR_PATHS(PATH)

static const tnd_color_loops_t *const paths[] = {TND_VECTOR_PATHS(TND_VECTOR_PATH_ADDRESS)};

const tnd_color_loops_t *const *tnd_color_loops_paths(void)
{
    return paths;
}

const tnd_color_loops_t *tnd_color_loops(void)
{
    return paths[tnd_vector_paths() - 1];
}
