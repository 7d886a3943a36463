/*  actors/image/exif.h - how a camera was held, from the EXIF segment of a JPEG.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_EXIF_H
#define TND_ACTORS_IMAGE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  Whether the data of a segment APP1 are EXIF. */
bool tnd_exif_is(const uint8_t *data, size_t size);

/*  The tag Orientation, 1 to 8; 1 if there is none or the data are damaged. */
uint32_t tnd_exif_orientation(const uint8_t *data, size_t size);

#endif
