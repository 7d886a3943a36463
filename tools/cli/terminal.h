/*  tools/cli/terminal.h - what the other side of stdout can show.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_TERMINAL_H
#define TUNDISH_TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool line;   /* a line can be drawn again: it is a terminal */
    bool colour; /* and NO_COLOR does not stand in the way */
    bool wide;   /* characters beyond ASCII */
    size_t columns;
} tnd_terminal_t;

/*  Asks again each time: a window may be resized. */
tnd_terminal_t tnd_terminal_look(void);

#endif
