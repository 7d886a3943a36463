/*  actors/image/png.h - decodes PNG by libspng.
 *
 *  As in TensorFlow, palettes become colours, u8 has the high byte of 16 bits per channel, and of
 *  u16, 8 bits are multiplied by 257.  Grey from colours is that of JPEG in u8, and that of libpng
 *  in u16; the exponent of a gAMA chunk is not used for it.
 *
 *  The CRC-32 of every chunk is compared, also where only a part is decoded.  The Adler-32 of the
 *  pixels, which the CRCs cover, is not.
 *
 *  Usage: new, then for each picture open and decode; then free.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_IMAGE_PNG_H
#define TND_ACTORS_IMAGE_PNG_H

#include "actors/image/picture_format.h"

typedef struct tnd_png tnd_png_t;

/*  The format must outlive the decoder. */
tnd_png_t *tnd_png_new(const tnd_picture_format_t *format);
void tnd_png_free(tnd_png_t **self_p);

/*  Whether these bytes begin a PNG. */
bool tnd_png_is(const uint8_t *bytes, size_t size);

/*  Reads the header. The bytes are used until the next call. Errors: TND_FAILED. */
tnd_status_t tnd_png_open(tnd_png_t *self, const uint8_t *bytes, size_t size, uint32_t *height_p,
                          uint32_t *width_p, tnd_error_t *error) TND_CHECKED;

/*  Whether the open picture has 16 bits per channel. */
bool tnd_png_is_deep(const tnd_png_t *self);

/*  Decodes a part, which is inside the picture, to height x width x channels samples. Errors:
 *  TND_FAILED. */
tnd_status_t tnd_png_decode(tnd_png_t *self, const tnd_window_t *window, tnd_sample_t sample,
                            void *out, tnd_error_t *error) TND_CHECKED;

/*  The version of the library. */
const char *tnd_png_library(void);

#endif
