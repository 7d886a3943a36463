/*  actors/stored/record_index.h - where the records of a data file begin, kept in a file beside it
 *  or in a cache.
 *
 *  An index is a .npy file of u64: the offset of each record, and last the offset where the last
 *  record ends, so record i is bytes [index[i], index[i + 1]).  It is built where it is missing,
 *  and published by giving a complete file its name, so a process that is killed leaves nothing
 *  half-written, and two that build the same index end with one.  Its name has a hash of the data
 *  file's size, modification time and first and last 64 KiB; another file, or the same file
 *  changed, has another index.
 *
 *  A finder knows the format.  It walks over the file by a window, in ascending order.
 *
 *  Threads: any; different files at once. */
#ifndef TND_ACTORS_STORED_RECORD_INDEX_H
#define TND_ACTORS_STORED_RECORD_INDEX_H

#include "actors/stored/stored.h"

typedef enum { TND_INDEX_CACHE, TND_INDEX_BESIDE } tnd_index_place_t;

/*  Shows bytes of a file from a moving offset on. */
typedef struct {
    tnd_content_t *content;
    size_t populated; /* of a mapped file: bytes before it are in memory */
} tnd_record_window_t;

/*  Bytes from `at` on: `least`, or fewer at the end of the file, and maybe more.  Valid until the
 *  next call. */
tnd_status_t tnd_record_window(tnd_record_window_t *self, size_t at, size_t least,
                               const uint8_t **data_p, size_t *size_p,
                               tnd_error_t *error) TND_CHECKED;

typedef struct tnd_offsets tnd_offsets_t;
/*  Appends an offset; none is below the one before. */
void tnd_offsets_add(tnd_offsets_t *self, uint64_t offset);

typedef struct {
    const char *name; /* of the format, in the names of its indexes */
    size_t stray_max; /* so many bytes after the last record are ignored */
    bool skips_head;  /* the first record need not begin the file */
    const void *context;
    /*  Appends the offset of each record in a file of `size` bytes, and then that of the end of the
     *  last one.  Errors: the file cannot be read. */
    tnd_status_t (*find)(const void *context, tnd_record_window_t *window, size_t size,
                         tnd_offsets_t *offsets, tnd_error_t *error);
} tnd_record_finder_t;

/*  Opens the index of an open data file, and builds it first where there is none that fits.
 *  *longest_p: bytes of the longest record.  Errors: TND_FAILED if the data cannot be read or no
 *  index can be written. */
tnd_status_t tnd_record_index_open(tnd_stored_t *index, tnd_stored_t *data,
                                   const tnd_record_finder_t *finder, tnd_index_place_t place,
                                   uint64_t *longest_p, tnd_error_t *error) TND_CHECKED;
/*  Closes the index and frees its path. */
void tnd_record_index_close(tnd_stored_t *index);

#endif
