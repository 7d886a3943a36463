/*  tools/table/normalize_line.h - the line of a new topology that normalizes a column of numbers.
 *
 *  Threads: any number at once. */
#ifndef TND_TOOLS_TABLE_NORMALIZE_LINE_H
#define TND_TOOLS_TABLE_NORMALIZE_LINE_H

#include <stdbool.h>
#include <stdio.h>

/*  Prints the operation, after six spaces.  `missing`: the column has NaNs, with which nothing can be
 *  trained, so they become the mean; without them the line is a suggestion, after a `#`. */
void tnd_normalize_line_print(const char *column, bool missing, FILE *out);

#endif
