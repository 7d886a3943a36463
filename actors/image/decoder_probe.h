/*  actors/image/decoder_probe.h - a hash of what this machine's decoder makes of a built-in JPEG.
 *
 *  Builds of libjpeg that decode alike have equal hashes.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_DECODER_PROBE_H
#define TND_ACTORS_IMAGE_DECODER_PROBE_H

#include "actors/image/picture_format.h"
#include "runtime/data/block.h"
#include "runtime/tundish/tundish.h"

/*  `format` is how pictures are decoded; its limit of pixels does not count. */
uint64_t tnd_decoder_probe(const tnd_picture_format_t *format);

/*  The bytes of that JPEG, of 29 x 21 pixels; they are not written. */
tnd_ragged_t tnd_decoder_probe_file(void);

#endif
