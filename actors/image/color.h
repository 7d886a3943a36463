/*  actors/image/color.h - brightness, contrast, saturation, hue, gamma, grey and standard pictures, as
 *  tf.image computes them.
 *
 *  Pixels are u8, or f32 from 0 to 1, channels last.  Bytes are computed as fractions of 255 in f32
 *  and become bytes again as TensorFlow's convert_image_dtype does: times 255.5, the fraction cut
 *  off.  What depends on one byte alone comes from a table.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_COLOR_H
#define TND_ACTORS_IMAGE_COLOR_H

#include "actors/image/resize.h"

typedef enum {
    TND_COLOR_BRIGHTNESS, /* adds the value */
    TND_COLOR_CONTRAST,   /* multiplies the distance from the mean of the channel */
    TND_COLOR_SATURATION, /* multiplies the saturation; three channels */
    TND_COLOR_HUE,        /* adds the value, in turns of the circle; three channels */
    TND_COLOR_GAMMA       /* x to the power of the value, times the gain */
} tnd_color_kind_t;

/*  Writes a picture of the same size and type. */
void tnd_color_adjust(tnd_color_kind_t kind, float value, float gain, const tnd_pixels_t *in,
                      void *out);

/*  0.2989 R + 0.587 G + 0.114 B, of pictures with three channels, in the same type. */
void tnd_color_grayscale(const tnd_pixels_t *in, void *out);

/*  Less the mean of all numbers, divided by their deviation or, if that is greater, by
 *  1 / sqrt(count). */
void tnd_color_standardize(const tnd_pixels_t *in, float *out);

#endif
