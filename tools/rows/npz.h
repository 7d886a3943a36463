/*  tools/rows/npz.h - writes arrays to a file that NumPy loads: a zip of .npy, not compressed.
 *
 *  Rows are added step by step; the file is completed at the end, or not written at all.  NumPy
 *  lacks bf16, so it is written as u16 with the same bits.  The rows of a ragged column are
 *  concatenated, and COLUMN.splits has the start of each and the end of the last, so that the
 *  source `npy` can read both.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_ROWS_NPZ_H
#define TND_TOOLS_ROWS_NPZ_H

#include <stdio.h>

#include "tools/rows/capture.h"

typedef struct {
    FILE *out;
    char *bytes;
    size_t size;
} tnd_npz_array_t;

typedef struct {
    const char *path;
    tnd_schema_t schema; /* with _step and _replica at the end */
    uint64_t rows;
    tnd_npz_array_t arrays[TND_COLUMNS_MAX + 2];
    tnd_npz_array_t splits[TND_COLUMNS_MAX]; /* of ragged columns */
    uint64_t values[TND_COLUMNS_MAX];        /* in them, along the first axis */
} tnd_npz_t;

void tnd_npz_begin(tnd_npz_t *self, const char *path, const tnd_schema_t *schema);
void tnd_npz_add(tnd_npz_t *self, const tnd_capture_t *capture);
/*  Writes the file.  Errors: TND_FAILED if it cannot be written. */
tnd_status_t tnd_npz_end(tnd_npz_t *self, tnd_error_t *error) TND_CHECKED;
/*  Discards the file. */
void tnd_npz_abandon(tnd_npz_t *self);

#endif
