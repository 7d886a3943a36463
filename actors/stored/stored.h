/*  actors/stored/stored.h - one file of records of one size: where they are, and the type of a row.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_STORED_STORED_H
#define TND_ACTORS_STORED_STORED_H

#include "actors/file/decompress.h"

/*  Record i is at byte offset + i * its size. */
typedef struct {
    const char *path; /* for errors; borrowed */
    tnd_dtype_t dtype;
    uint32_t rank; /* of a row */
    uint64_t shape[TND_RANK_MAX];
    uint64_t rows;
    size_t offset;
    tnd_buffer_t *buffer;  /* sealed; held; NULL: the file is read */
    tnd_content_t content; /* closed if the rows are in memory */
    uint64_t identity;     /* hash of its size and its first and last 64 KiB */
    uint64_t size;         /* of the file on the disk, in bytes; 0: the rows have no file */
    int64_t modified_ns;
    tnd_compression_t compression; /* of a file of records; `rows` are then bytes of its content */
} tnd_stored_t;

/*  Describes the file in stored->content: type, shape, rows, offset.  Puts rows that must be
 *  converted into stored->buffer. */
typedef tnd_status_t tnd_stored_open_fn(tnd_stored_t *stored, const void *context,
                                        tnd_error_t *error);

typedef struct {
    tnd_stored_open_fn *open;
    const void *context;
    /*  Of tnd_content_t, until the file is open; NULL: none. */
    void (*watch)(void *watcher, size_t at);
    void *watcher;
} tnd_stored_opener_t;

/*  Opens a single file; on failure nothing has to be released. */
tnd_status_t tnd_stored_open(tnd_stored_t *self, const char *path,
                             const tnd_stored_opener_t *opener, const tnd_source_scope_t *scope,
                             tnd_error_t *error) TND_CHECKED;
/*  A file whose descriptor is taken; -1: it is opened by its path. */
tnd_status_t tnd_stored_adopt(tnd_stored_t *self, const char *path, int file,
                              const tnd_stored_opener_t *opener, const tnd_source_scope_t *scope,
                              tnd_error_t *error) TND_CHECKED;
void tnd_stored_close(tnd_stored_t *self);

#endif
