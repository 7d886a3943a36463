/*  actors/image/resize_axis.h - which pixels of a line, with which weights, make the pixels of a
 *  shorter or longer one, as tf.image.resize computes them.
 *
 *  Positions are computed in f32, as TensorFlow does, which matters at the edge of a kernel.  Weights
 *  are computed in f64 and rounded once; their sum is 1.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_IMAGE_RESIZE_AXIS_H
#define TND_ACTORS_IMAGE_RESIZE_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TND_RESIZE_NEAREST,
    TND_RESIZE_BILINEAR,
    TND_RESIZE_AREA,
    TND_RESIZE_BICUBIC,
    TND_RESIZE_LANCZOS3,
    TND_RESIZE_LANCZOS5,
    TND_RESIZE_GAUSSIAN,
    TND_RESIZE_MITCHELL
} tnd_resize_method_t;

/*  The names, for an option. */
#define TND_RESIZE_METHODS "nearest|bilinear|area|bicubic|lanczos3|lanczos5|gaussian|mitchell"

/*  The bits of a fixed weight after the point, and of the numbers between the two passes. */
enum { TND_RESIZE_WEIGHT_BITS = 14, TND_RESIZE_MIDDLE_BITS = 6 };

/*  Output pixel i is the sum over k < taps of weights[i * taps + k] * input[first[i] + k]. All zero
 *  is ready for use. */
typedef struct {
    uint32_t out, taps;
    uint32_t *first;
    float *weights;
    int16_t *fixed; /* weights * 2^14, of which the sum is exact */
    double *exact;  /* of the pixel that is computed */
    size_t room, exact_room;
} tnd_resize_axis_t;

/*  Computes it for a line of `in` pixels that becomes one of `out`; both are not 0. */
void tnd_resize_axis_set(tnd_resize_axis_t *self, tnd_resize_method_t method, bool antialias,
                         uint32_t in, uint32_t out);
void tnd_resize_axis_fini(tnd_resize_axis_t *self);

#endif
