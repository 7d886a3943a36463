/*  runtime/text/printable.h - texts of other processes and users, made safe to print.
 *
 *  A control character would move the cursor of a terminal, or do more.  Threads: any. */
#ifndef TND_RUNTIME_TEXT_PRINTABLE_H
#define TND_RUNTIME_TEXT_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/*  Terminates `text`, an array of `room` bytes, and replaces control characters and bytes that are
 *  not valid UTF-8 by `?`.  Returns `text`. */
char *tnd_printable(char *text, size_t room);
/*  Writes `text` with the same replaced. */
void tnd_printable_print(const char *text, FILE *out);

#endif
