/*  actors/stored/npy_file.h - a .npy file as a column, for use outside of the source.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_STORED_NPY_FILE_H
#define TND_ACTORS_STORED_NPY_FILE_H

#include "actors/stored/stored.h"

/*  Maps the file and finds its array, whose first axis counts rows.  Errors: TND_FAILED if it is
 *  truncated or not an array of numbers. */
tnd_status_t tnd_npy_open(tnd_stored_t *stored, const char *path, tnd_error_t *error) TND_CHECKED;
/*  The same of a file whose descriptor is taken; -1: it is opened. */
tnd_status_t tnd_npy_adopt(tnd_stored_t *stored, const char *path, int file,
                           tnd_error_t *error) TND_CHECKED;

/*  An array in memory: its type, axes and elements. */
typedef struct {
    tnd_dtype_t dtype;
    uint32_t axes;
    uint64_t shape[TND_RANK_MAX + 1];
    const uint8_t *data;
    size_t bytes;
} tnd_npy_array_t;

/*  Finds the array in the bytes of a .npy file, with any number of axes; `name` is for errors.
 *  Errors: TND_FAILED as of tnd_npy_open. */
tnd_status_t tnd_npy_find(tnd_npy_array_t *array, const char *name, const void *bytes, size_t size,
                          tnd_error_t *error) TND_CHECKED;

/*  Says what is in an open file, as tnd_stored_open_fn; `context` is NULL. */
tnd_status_t tnd_npy_read_header(tnd_stored_t *stored, const void *context,
                                 tnd_error_t *error) TND_CHECKED;

#endif
