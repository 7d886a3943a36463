/*  runtime/data/mapping.h - a file mapped for reading, whose loss is an error and not a signal.
 *
 *  A mapped file that shrinks answers the next access with SIGBUS, which mapped.h turns into zeros
 *  and a mark.  A reader brings rows in before it hands them out, with tnd_mapping_bring or one of
 *  the functions beside it, so that the reader and not a thread downstream waits for the disk.  A
 *  thread that has read rows calls tnd_mapping_intact before it uses them, or tnd_mapped_check if it
 *  has only their address.
 *
 *  What is promised of a file that changes while it is used, once it was advised:
 *
 *  - It shrinks: rows that are brought in more than 10 ms later are an error, unless all bytes that
 *    it lost are zeros; then the error comes within a second of use.  Rows whose pages are lost are
 *    always an error.  On a network file system a change by another machine is noticed once the
 *    server tells of it.
 *  - It grows: no error; the rows are those that it had when it was opened.
 *  - It is removed, or replaced by another file of its name: no error, and the old bytes.
 *  - Its bytes are overwritten: noticed only where that changes its last byte that was not zero, or
 *    where it is truncated first and used before it has its size again.  Rows may have old or new
 *    bytes.
 *
 *  This costs no system call per row, and one per second and file.  Where pages do not stay in
 *  memory, so that each row is requested by itself, it costs at most one per row.
 *
 *  Threads: open, check, populate on the owner's; the rest on any that holds the buffer. */
#ifndef TND_RUNTIME_DATA_MAPPING_H
#define TND_RUNTIME_DATA_MAPPING_H

#include <sys/stat.h>

#include "runtime/core/tuning/access.h"
#include "runtime/data/buffer.h"
#include "runtime/data/mapped.h"

typedef struct tnd_mapping tnd_mapping_t;

/*  Opens a file to be read, without waiting, and looks at it.  If *file_p is not -1, the file is open
 *  already.  Errors: those of tnd_mapping_open that are not about mapping; *file_p is -1 then. */
tnd_status_t tnd_mapping_open_file(const char *path, int *file_p, struct stat *status_p,
                                   tnd_error_t *error) TND_CHECKED;
/*  Maps the whole file and keeps no descriptor. The caller owns the mapping; pages stay mapped
 *  until tnd_mapping_destroy and the last drop of a buffer. Errors: TND_FAILED if the file does not
 *  exist, is not a regular file or may not be read; the text names the path and what to do.  A file
 *  without bytes is mapped too. */
tnd_status_t tnd_mapping_open(tnd_mapping_t **self_p, const char *path,
                              tnd_error_t *error) TND_CHECKED;
/*  The same of a file whose descriptor is taken; -1: it is opened. */
tnd_status_t tnd_mapping_adopt(tnd_mapping_t **self_p, const char *path, int file,
                               tnd_error_t *error) TND_CHECKED;
void tnd_mapping_destroy(tnd_mapping_t **self_p);

/*  Fails because the file does not exist; the text names the folder of a relative path. */
tnd_status_t tnd_mapping_missing(const char *path, tnd_error_t *error);

const uint8_t *tnd_mapping_data(const tnd_mapping_t *self);
size_t tnd_mapping_size(const tnd_mapping_t *self);
/*  When the file was modified, in nanoseconds since 1970, as of tnd_mapping_open. */
int64_t tnd_mapping_modified(const tnd_mapping_t *self);

/*  The mapped pages as a sealed buffer; a new reference. */
tnd_buffer_t *tnd_mapping_buffer(tnd_mapping_t *self);

/*  Errors: TND_FAILED if the file no longer has the bytes that were mapped. A file that was removed
 *  or replaced by another of its name still has them. One system call. */
tnd_status_t tnd_mapping_check(const tnd_mapping_t *self, tnd_error_t *error) TND_CHECKED;

/*  Errors: TND_FAILED if pages were lost, so that zeros may have been read in their place. */
tnd_status_t tnd_mapping_intact(const tnd_mapping_t *self, tnd_error_t *error) TND_CHECKED;

/*  Sets how the file will be used, and remembers how it ends; call it before the first populate or
 *  ahead, and before other threads use it. Forward: populate also reads ahead. At random: the kernel reads only what is
 *  requested. `fits`: the page cache has room for all files, so pages are read in larger pieces
 *  until they prove not to stay. Otherwise the kernel decides. */
void tnd_mapping_advise(tnd_mapping_t *self, tnd_access_pattern_t pattern, bool fits);

/*  Requests bytes [offset, offset + size), which will be populated soon, and returns at once.
 *  Returns false if all of them were requested before. */
bool tnd_mapping_ahead(tnd_mapping_t *self, size_t offset, size_t size);
/*  Whether each row has to be requested ahead, because pages do not stay in memory. */
bool tnd_mapping_by_rows(const tnd_mapping_t *self);

/*  Reads bytes [offset, offset + size) into memory and waits for them. Cheap for bytes that were
 *  requested before. Errors: TND_FAILED if the disk fails. */
tnd_status_t tnd_mapping_populate(tnd_mapping_t *self, size_t offset, size_t size,
                                  tnd_error_t *error) TND_CHECKED;
/*  The same for `count` rows of `size` bytes, given by their numbers; row 0 begins at `offset`.  A
 *  file that was advised is also looked at.  Errors: TND_FAILED also if it has changed, as promised
 *  above. */
tnd_status_t tnd_mapping_populate_rows(tnd_mapping_t *self, size_t offset, size_t size,
                                       const uint64_t *rows, uint32_t count,
                                       tnd_error_t *error) TND_CHECKED;

/*  The same for bytes of any files. */
typedef struct {
    tnd_mapping_t *mapping; /* NULL: there is nothing to do */
    size_t offset, size;
} tnd_mapping_part_t;
tnd_status_t tnd_mapping_bring(const tnd_mapping_part_t *parts, uint32_t count,
                               tnd_error_t *error) TND_CHECKED;

/*  The number of the present span of 4 ms, and whether tnd_mapping_bring would do nothing for any
 *  byte of a file while that lasts: a reader of many files spares its rows the search for it. */
uint32_t tnd_mapping_tick(void);
bool tnd_mapping_is_there(const tnd_mapping_t *self, uint32_t tick);

#endif
