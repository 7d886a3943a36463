/*  tools/inspect/sample_kind.h - what the files of one extension in an archive are, by their bytes.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_INSPECT_SAMPLE_KIND_H
#define TND_TOOLS_INSPECT_SAMPLE_KIND_H

#include <stddef.h>

#include "tools/new/picture_size.h"

/*  How many of the files seen are of each kind. */
typedef struct {
    uint64_t files, pictures, arrays, integers, numbers;
    tnd_picture_size_t first, largest; /* of the pictures; 0 x 0: none has a sound header */
} tnd_sample_kind_t;

void tnd_sample_kind_take(tnd_sample_kind_t *self, const uint8_t *bytes, size_t size);

#endif
