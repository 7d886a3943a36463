/*  runtime/data/file_prefetch.h - brings files that will be read soon into the page cache.
 *
 *  Some threads open files and request their content, so that many reads are in flight at the same
 *  time.  The files stay open until they are taken, as far as there are descriptors.  Nothing is
 *  copied to memory of this process.  They fail silently: the thread that reads a
 *  file later reports the error.  Requests that exceed the queue are dropped.
 *
 *  The threads start with the first request, if there are enough file descriptors for them.
 *
 *  Ownership: borrows `context`.  Threads: new and destroy on one; the others on any; they call
 *  `path_of` on threads of their own. */
#ifndef TND_RUNTIME_DATA_FILE_PREFETCH_H
#define TND_RUNTIME_DATA_FILE_PREFETCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/data/open_files.h"

typedef struct tnd_file_prefetch tnd_file_prefetch_t;

/*  `path_of` writes the path of file `index`. */
tnd_file_prefetch_t *tnd_file_prefetch_new(void (*path_of)(const void *context, uint64_t index,
                                                           char path[PATH_MAX]),
                                           const void *context);
/*  Whether requests help: not if the latest hundreds of files were in the page cache. */
bool tnd_file_prefetch_helps(const tnd_file_prefetch_t *self);
/*  Requests files index[0 ... count). */
void tnd_file_prefetch_add(tnd_file_prefetch_t *self, const uint64_t *index, uint32_t count);
/*  Returns a requested file that was opened, which the caller destroys; waits for it while a thread
 *  opens it.  NULL: the caller opens it itself. */
tnd_kept_file_t *tnd_file_prefetch_take(tnd_file_prefetch_t *self, uint64_t index);
/*  Records that an open file is about to be read; if it is not in the page cache, requests help. */
void tnd_file_prefetch_note(tnd_file_prefetch_t *self, int file);
void tnd_file_prefetch_destroy(tnd_file_prefetch_t **self_p);

#endif
