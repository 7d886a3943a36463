/*  actors/stored/npy_column.h - writes a column to .npy files, row by row.
 *
 *  A ragged column has two: its values, one row after the other, and its splits (splits.h).  The
 *  header of a file has room for any number of rows, and is written when they are counted.
 *
 *  Ownership: the files are the caller's, and the column outlives the struct.  Threads: one at a
 *  time.  Errors: returns false, with the reason in errno. */
#ifndef TND_ACTORS_STORED_NPY_COLUMN_H
#define TND_ACTORS_STORED_NPY_COLUMN_H

#include <stdbool.h>

#include "actors/stored/chunk_hasher.h"
#include "runtime/data/schema.h"

enum { TND_NPY_COLUMN_HEADER = 320 }; /* bytes */

/*  Bytes at the end of a file that are not written yet. */
typedef struct {
    uint8_t *bytes; /* NULL: every row is written at once */
    size_t count;
    tnd_chunk_hasher_t *hasher; /* of all bytes after the header; NULL: none; borrowed */
} tnd_npy_pending_t;

typedef struct {
    const tnd_column_t *column;
    int file, splits; /* -1: not open */
    uint64_t rows;
    uint64_t values; /* of a ragged column, along the first axis */
    tnd_npy_pending_t pending, pending_splits;
} tnd_npy_column_t;

void tnd_npy_column_init(tnd_npy_column_t *self, const tnd_column_t *column);
/*  Collects rows and writes many at once. */
void tnd_npy_column_collect(tnd_npy_column_t *self);
void tnd_npy_column_free(tnd_npy_column_t *self);

/*  Appends a row of `bytes` bytes; `length` is that of its first axis, if it is ragged. */
bool tnd_npy_column_add(tnd_npy_column_t *self, const void *row, size_t bytes, uint64_t length);
/*  Adds a value without a row to a ragged column whose rows are all empty: a file needs an element.  No
 *  row follows. */
bool tnd_npy_column_pad(tnd_npy_column_t *self);
/*  Writes what is pending, and headers for the rows so far. */
bool tnd_npy_column_complete(tnd_npy_column_t *self);
/*  Cuts the files after `rows` rows, which is what the column then has; *has_p: they had so many. */
bool tnd_npy_column_cut(tnd_npy_column_t *self, uint64_t rows, bool *has_p);

#endif
