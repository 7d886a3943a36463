/*  actors/file/file_progress.h - reports how far several files are read while a source opens.
 *
 *  Files may be read by several threads at once.  Both the bytes and the files that are done are
 *  reported; a byte that is read again counts once.
 *
 *  Lifecycle: init; begin and end of each file, on any threads; free.  Ownership: borrows the scope
 *  and the open files. */
#ifndef TND_ACTORS_FILE_FILE_PROGRESS_H
#define TND_ACTORS_FILE_FILE_PROGRESS_H

#include <stdatomic.h>

#include "actors/file/content.h"

typedef struct {
    struct tnd_file_progress *all;
    uint64_t seen; /* bytes */
} tnd_file_seen_t;

typedef struct tnd_file_progress {
    const tnd_source_scope_t *scope;
    tnd_file_seen_t *files;
    size_t count;
    uint64_t bytes_all;
    _Atomic uint64_t bytes, ended; /* done, of the files; how many of them are */
} tnd_file_progress_t;

/*  `bytes_all`: the sizes of all files. */
void tnd_file_progress_init(tnd_file_progress_t *self, const tnd_source_scope_t *scope,
                            size_t count, uint64_t bytes_all);
/*  Begins again with all files. */
void tnd_file_progress_restart(tnd_file_progress_t *self);
void tnd_file_progress_free(tnd_file_progress_t *self);

/*  Reports from now on what is read of file `i`; `doing`: "indexing". */
void tnd_file_progress_begin(tnd_file_progress_t *self, size_t i, const char *doing,
                             tnd_content_t *content);
/*  File `i`, of `size` bytes, is done; `content` may be another one by now. */
void tnd_file_progress_end(tnd_file_progress_t *self, size_t i, tnd_content_t *content,
                           uint64_t size);

#endif
