/*  actors/image/decoder.h - decodes a part of a JPEG or PNG picture.
 *
 *  Usage: new, then for each picture open, perhaps scale, and decode; then free.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_IMAGE_DECODER_H
#define TND_ACTORS_IMAGE_DECODER_H

#include "actors/image/picture_format.h"

typedef struct tnd_decoder tnd_decoder_t;

/*  The format must outlive the decoder. */
tnd_decoder_t *tnd_decoder_new(const tnd_picture_format_t *format);
void tnd_decoder_free(tnd_decoder_t **self_p);

/*  Reads the header; the bytes are used until the next call. Stores the size of the picture,
 *  turned if it is `oriented`. Errors: TND_FAILED if it is too large, damaged or of another
 *  format. */
tnd_status_t tnd_decoder_open(tnd_decoder_t *self, const uint8_t *bytes, size_t size,
                              uint32_t *height_p, uint32_t *width_p,
                              tnd_error_t *error) TND_CHECKED;

/*  Decodes a JPEG at 1 / ratio of the size, 2, 4 or 8, and stores that size; false for a PNG,
 *  which stays as it is. */
bool tnd_decoder_scale(tnd_decoder_t *self, uint32_t ratio, uint32_t *height_p, uint32_t *width_p);

/*  Whether the open picture has 16 bits per channel, of which u8 has the high byte only. */
bool tnd_decoder_is_deep(const tnd_decoder_t *self);

/*  Decodes a part, which is inside the picture, to height x width x channels samples. Pixels of a
 *  JPEG are multiplied by 256 for types of 16 bits, as by TensorFlow. Errors: TND_FAILED. */
tnd_status_t tnd_decoder_decode(tnd_decoder_t *self, const tnd_window_t *window,
                                tnd_sample_t sample, void *out, tnd_error_t *error) TND_CHECKED;

#endif
