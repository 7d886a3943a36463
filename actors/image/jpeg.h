/*  actors/image/jpeg.h - decodes JPEG by libjpeg-turbo, with the bits of TensorFlow.
 *
 *  A part of a picture has the same bits as that part of the whole picture; only the rows and
 *  blocks that it needs are decoded.
 *
 *  Unless `recover` is set, a file that ends early or whose coded data are damaged is refused.
 *  TensorFlow refuses the former only.
 *
 *  Usage: new, then for each picture open, perhaps scale, and decode; then free.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_IMAGE_JPEG_H
#define TND_ACTORS_IMAGE_JPEG_H

#include "actors/image/picture_format.h"

typedef struct tnd_jpeg tnd_jpeg_t;

/*  The format must outlive the decoder. */
tnd_jpeg_t *tnd_jpeg_new(const tnd_picture_format_t *format);
void tnd_jpeg_free(tnd_jpeg_t **self_p);

/*  Whether these bytes begin a JPEG. */
bool tnd_jpeg_is(const uint8_t *bytes, size_t size);

/*  Reads the header. The bytes are used until the next call. Stores the size of the decoded
 *  picture, before it is turned. Errors: TND_FAILED. */
tnd_status_t tnd_jpeg_open(tnd_jpeg_t *self, const uint8_t *bytes, size_t size, uint32_t *height_p,
                           uint32_t *width_p, tnd_error_t *error) TND_CHECKED;

/*  Of the picture that is open: the channels that the file has, 1, 3 or 4; and its orientation in
 *  EXIF, 1 to 8. */
uint32_t tnd_jpeg_channels(const tnd_jpeg_t *self);
uint32_t tnd_jpeg_orientation(const tnd_jpeg_t *self);

/*  Decodes at 1 / ratio of the size from now on: 1, 2, 4 or 8. Stores the new size. */
void tnd_jpeg_scale(tnd_jpeg_t *self, uint32_t ratio, uint32_t *height_p, uint32_t *width_p);

/*  Decodes a part, which is inside the picture, to height x width x channels bytes. Errors:
 *  TND_FAILED. */
tnd_status_t tnd_jpeg_decode(tnd_jpeg_t *self, const tnd_window_t *window, uint8_t *out,
                             tnd_error_t *error) TND_CHECKED;

/*  The version of the library that this was built with. */
const char *tnd_jpeg_library(void);

#endif
