/*  tools/cli/terminal.h - the capabilities of a terminal.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CLI_TERMINAL_H
#define TND_TOOLS_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool line;   /* a line can be redrawn: the file is a terminal */
    bool colour; /* and NO_COLOR is not set */
    bool wide;   /* characters beyond ASCII */
    size_t columns;
} tnd_terminal_t;

/*  `file`: STDOUT_FILENO or STDERR_FILENO.  Queries again on each call: a window may be resized. */
tnd_terminal_t tnd_terminal_look(int file);

#endif
