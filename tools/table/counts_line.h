/*  tools/table/counts_line.h - the first line of the tables of scikit-learn, which is not a header: how many rows
 *  follow, how many numbers each has before its class, and the names of the classes,
 *  `150,4,setosa,versicolor,virginica`.
 *
 *  Lifecycle: zeroed; read; free.  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_COUNTS_LINE_H
#define TND_TOOLS_TABLE_COUNTS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t rows;
    uint32_t numbers, classes;
    char names[160]; /* "0 setosa, 1 versicolor", perhaps cut */
    uint8_t *record; /* a copy of the line; NULL: nothing was read */
    size_t size;
} tnd_counts_line_t;

/*  Reads a record that may be such a line: two whole numbers and at least two different texts.  False:
 *  it is not one, and nothing is changed. */
bool tnd_counts_line_read(tnd_counts_line_t *self, const uint8_t *record, size_t size,
                          uint8_t delimiter);
/*  Idempotent. */
void tnd_counts_line_free(tnd_counts_line_t *self);

#endif
