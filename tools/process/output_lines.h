/*  tools/process/output_lines.h - the lines that a process writes to a pipe, and how they are shown with its name.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_PROCESS_OUTPUT_LINES_H
#define TND_TOOLS_PROCESS_OUTPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TND_OUTPUT_LINE = 4096 }; /* a longer line is divided */

typedef struct {
    int file; /* does not block; owned; -1: closed */
    char text[TND_OUTPUT_LINE];
    size_t used;
} tnd_output_lines_t;

/*  Takes a line, which ends with a zero instead of a newline. */
typedef void (*tnd_output_line_t)(void *context, const char *line, size_t size);

/*  Reads once.  At the end of the output it closes the file, after a line without an end.  False:
 *  nothing was read. */
bool tnd_output_lines_read(tnd_output_lines_t *self, tnd_output_line_t take, void *context);
/*  Reads what is left, without waiting, and closes the file. */
void tnd_output_lines_finish(tnd_output_lines_t *self, tnd_output_line_t take, void *context);

/*  Prints a line as "NAME | line".  `index` is for the colour of the name, if `colour`. */
void tnd_output_lines_print(FILE *to, bool colour, uint32_t index, const char *name, size_t width,
                            const char *line, size_t size);

#endif
