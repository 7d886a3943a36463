/*  tools/new/picture_lines.h - the operations of a new topology that make pictures of JPEG and PNG files.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_PICTURE_LINES_H
#define TND_TOOLS_NEW_PICTURE_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/new/picture_size.h"

/*  The length of both sides of the pictures that the operations make of pictures like one of `size`:
 *  that of a usual model, or less if this picture is smaller. */
uint32_t tnd_picture_lines_side(tnd_picture_size_t size);

/*  Writes the operations, indented as in a new topology, of a chain that trains or one that validates;
 *  `largest` needs `max_pixels` if it has more than are decoded by default. */
void tnd_picture_lines_print(const char *column, uint32_t side, tnd_picture_size_t largest,
                             bool validates, FILE *out);

#endif
