/*  tools/new/picture_size.h - the size of a JPEG or PNG file, from its header.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_PICTURE_SIZE_H
#define TND_TOOLS_NEW_PICTURE_SIZE_H

#include <stdint.h>

#include "runtime/base/status.h"

/*  Larger ones are left out: decode_image reserves memory for the largest. */
#define TND_PICTURE_PIXELS_MOST (UINT64_C(1) << 28)
/*  What decode_image takes without `max_pixels`, and the memory for a pixel of 3 channels. */
#define TND_PICTURE_PIXELS_DEFAULT (UINT64_C(1) << 24)
#define TND_PICTURE_PIXEL_BYTES 9

typedef struct {
    uint32_t height, width;
} tnd_picture_size_t;

/*  Errors: TND_FAILED if the file cannot be read or its header is damaged. */
tnd_status_t tnd_picture_size_read(tnd_picture_size_t *self, const char *path,
                                   tnd_error_t *error) TND_CHECKED;

static inline uint64_t tnd_picture_size_pixels(tnd_picture_size_t self)
{
    return (uint64_t)self.height * self.width;
}

#endif
