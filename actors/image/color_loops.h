/*  actors/image/color_loops.h - the loops that saturation and hue spend their time in, for each width
 *  of vector.
 *
 *  Each is written once, without branches, and compiled for every set of instructions that pays
 *  (runtime/core/numeric/vector_paths.h).  All do the same operations in the same order and give the
 *  same bits.
 *
 *  `in` and `out` never overlap, and are aligned to their elements.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_COLOR_LOOPS_H
#define TND_ACTORS_IMAGE_COLOR_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/*  `count` pixels of three numbers: multiplies the saturation by the value, or turns the hue by the
 *  value, in circles from -1 to 1.  Bytes and fractions as in color.h. */
typedef struct {
    const char *name;
    void (*saturate_u8)(size_t count, float value, uint8_t *out, const uint8_t *in);
    void (*saturate_f32)(size_t count, float value, float *out, const float *in);
    void (*turn_u8)(size_t count, float value, uint8_t *out, const uint8_t *in);
    void (*turn_f32)(size_t count, float value, float *out, const float *in);
} tnd_color_loops_t;

/*  All paths, of which this machine can run the first tnd_vector_paths() (vector_paths.h). */
const tnd_color_loops_t *const *tnd_color_loops_paths(void);

/*  The last of those, the fastest. */
const tnd_color_loops_t *tnd_color_loops(void);

#endif
