/*  actors/image/picture_format.h - how pictures are decoded, and which part of one.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_PICTURE_FORMAT_H
#define TND_ACTORS_IMAGE_PICTURE_FORMAT_H

#include "runtime/base/status.h"

/*  What stays the same for all pictures of an operation. */
typedef struct {
    uint32_t channels; /* 1 grey, 3 RGB, 4 RGB and alpha */
    bool accurate;     /* the accurate inverse DCT; otherwise the fast one, as in TensorFlow */
    bool fancy;        /* interpolates chroma that is stored at a lower resolution */
    bool recover;      /* what is missing or damaged in a JPEG is filled, not refused */
    bool oriented;     /* turns a JPEG as its EXIF data say */
    uint32_t ratio;    /* of JPEG: 1, 2, 4 or 8; decodes at 1 / ratio of the size */
    uint64_t pixels_max;
} tnd_picture_format_t;

/*  How the channels of decoded pixels are stored: u8 has 0 to 255; u16, and f32 without fractions,
 *  0 to 65535. */
typedef enum { TND_SAMPLE_U8, TND_SAMPLE_U16, TND_SAMPLE_F32 } tnd_sample_t;

/*  A rectangle of pixels. */
typedef struct {
    uint32_t top, left, height, width;
} tnd_window_t;

/*  Sizes of files that are too large for the memory that the operation reserves. */
tnd_status_t tnd_picture_format_check(const tnd_picture_format_t *self, uint32_t height,
                                      uint32_t width, tnd_error_t *error) TND_CHECKED;

/*  In bytes. */
static inline size_t tnd_sample_size(tnd_sample_t sample)
{
    return sample == TND_SAMPLE_U8 ? 1 : sample == TND_SAMPLE_U16 ? 2 : 4;
}

/*  The brightness of a colour, as in JPEG: 0.299 R + 0.587 G + 0.114 B, rounded. */
static inline uint8_t tnd_picture_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

#endif
