/*  actors/image/pixel_loops.h - the loops that resizing spends its time in, for each width of
 *  vector.
 *
 *  Each is written once, plainly, and compiled for every set of instructions that pays.  All do the
 *  same operations in the same order and give the same bits.
 *
 *  A line is resized down first, which makes one line of several, then across.
 *
 *  `in` and `out` never overlap, and are aligned to their elements.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_PIXEL_LOOPS_H
#define TND_ACTORS_IMAGE_PIXEL_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/*  Numbers after the end of a middle line that the loops across may read. */
enum { TND_PIXEL_SLACK = 4 };

/*  One line across: pixel i is the sum of `taps` pixels from first[i] on. */
typedef struct {
    uint32_t count, channels, taps;
    const uint32_t *first;
    const int16_t *fixed;
    const float *weights;
} tnd_across_t;

typedef struct {
    const char *name;
    /*  out[i] = sum of weights[k] * rows[k][i] over k < taps, times 2^6, rounded. */
    void (*down_fixed)(size_t count, uint32_t taps, int16_t *out, const uint8_t *const *rows,
                       const int16_t *weights);
    /*  The same in f32, from k = 0 on. */
    void (*down_u8)(size_t count, uint32_t taps, float *out, const uint8_t *const *rows,
                    const float *weights);
    void (*down_f32)(size_t count, uint32_t taps, float *out, const float *const *rows,
                     const float *weights);
    /*  Rounded to the nearest of 0 to 255. */
    void (*across_fixed)(const tnd_across_t *across, uint8_t *out, const int16_t *in);
    void (*across_f32)(const tnd_across_t *across, float *out, const float *in);
    /*  out = the nearest of 0 to 255; a half is rounded up, and a NaN is 0. */
    void (*round_u8)(size_t count, uint8_t *out, const float *in);
} tnd_pixel_loops_t;

/*  All paths, of which this machine can run the first tnd_vector_paths() (vector_paths.h). */
const tnd_pixel_loops_t *const *tnd_pixel_loops_paths(void);

/*  The last of those, the fastest. */
const tnd_pixel_loops_t *tnd_pixel_loops(void);

#endif
