/*  actors/image/resize.h - pictures of another size, as tf.image.resize makes them.
 *
 *  In f32 each pixel is within 2e-5 of TensorFlow's, relative to the largest.  In u8 it is that,
 *  rounded, computed in fixed point: at most 1 apart, and the same on every machine.  `nearest` copies
 *  pixels.  A picture that keeps its size keeps its pixels, whatever the method.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_IMAGE_RESIZE_H
#define TND_ACTORS_IMAGE_RESIZE_H

#include "actors/image/pixel_loops.h"
#include "actors/image/resize_axis.h"

/*  Pixels of u8 or f32, channels last, packed. */
typedef struct {
    void *data;
    uint32_t height, width, channels;
    bool floats;
} tnd_pixels_t;

/*  All zero but `loops` is ready for use. */
typedef struct {
    const tnd_pixel_loops_t *loops;
    tnd_resize_axis_t down, across;
    void *middle; /* one line */
    const void **rows;
    size_t middle_room, rows_room;
} tnd_resizer_t;

void tnd_resizer_init(tnd_resizer_t *self);
void tnd_resizer_fini(tnd_resizer_t *self);

/*  Fills `out`, whose size and type are chosen, from `in`; they have equal channels. */
void tnd_resizer_run(tnd_resizer_t *self, tnd_resize_method_t method, bool antialias,
                     const tnd_pixels_t *in, const tnd_pixels_t *out);

#endif
