/*  actors/stored/npy_header.h - the header of a .npy file, version 1.0.
 *
 *  NumPy has no bf16: its bits are written, as u16.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_STORED_NPY_HEADER_H
#define TND_ACTORS_STORED_NPY_HEADER_H

#include "runtime/data/schema.h"

enum { TND_NPY_HEADER_MAX = 512 };

/*  Writes the header of an array of `rows` rows of that column, whose rank may be 0.  For a ragged
 *  column, the array is all its rows concatenated and `rows` counts steps along the first axis.
 *  Returns its size in bytes, a multiple of 64 and at least `least`, also a multiple of 64. */
size_t tnd_npy_header(char head[TND_NPY_HEADER_MAX], const tnd_column_t *column, uint64_t rows,
                      size_t least);

#endif
