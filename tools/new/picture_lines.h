/*  tools/new/picture_lines.h - the operations of a new topology that make pictures of JPEG and PNG files.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_PICTURE_LINES_H
#define TND_TOOLS_NEW_PICTURE_LINES_H

#include <stdint.h>
#include <stdio.h>

/*  The length of both sides of the pictures that the operations make of files like the one at
 *  `path`: that of a usual model, or less if this picture is smaller. */
uint32_t tnd_picture_lines_side(const char *path);

/*  Writes the operations, indented as in a new topology. */
void tnd_picture_lines_print(const char *column, uint32_t side, FILE *out);

#endif
