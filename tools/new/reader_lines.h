/*  tools/new/reader_lines.h - the lines of a topology that read data files.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_READER_LINES_H
#define TND_TOOLS_NEW_READER_LINES_H

#include <stdio.h>

#include "tools/new/detect_format.h"

/*  The common directory of all files, "/" at the end. */
const char *tnd_reader_directory(tnd_arena_t *arena, const tnd_detected_format_list_t *found);

/*  Prints `SOURCE:` and its options, each line after `indent` spaces.  `directory` is written as
 *  ${data}; NULL: paths are absolute. */
void tnd_reader_lines_print(tnd_arena_t *arena, const tnd_detected_format_list_t *found,
                            const char *directory, int indent, FILE *out);

#endif
