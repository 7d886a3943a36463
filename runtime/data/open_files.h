/*  runtime/data/open_files.h - the file descriptors that this process may have.
 *
 *  What needs many of them reserves them first, so that a limit that is too low is an error before
 *  anything is opened.  A reservation raises the soft limit of the process where the hard one
 *  allows it, and never lowers it.
 *
 *  Files of data stay open as far as there is room beside the reservations.  Where a reservation
 *  needs their descriptors, they are closed, and opened again when they are read.  So a run needs no
 *  more descriptors if its sources have more files.
 *
 *  The limit belongs to the process, and so does the sum of the reservations.
 *
 *  Errors: those of reserve and left say how many are needed and allowed, and how to raise the
 *  limit. Threads: any. */
#ifndef TND_RUNTIME_DATA_OPEN_FILES_H
#define TND_RUNTIME_DATA_OPEN_FILES_H

#include <stdint.h>

#include "runtime/base/status.h"

/*  Reserves `count` descriptors beside those reserved already and those that were open before the
 *  first reservation.  TND_FAILED: the hard limit is lower, and nothing was reserved. */
tnd_status_t tnd_open_files_reserve(uint64_t count, tnd_error_t *error) TND_CHECKED;
void tnd_open_files_release(uint64_t count);
/*  How many more can be reserved. */
uint64_t tnd_open_files_unreserved(void);

/*  A file that stays open as long as no reservation needs its descriptor.  At most
 *  TND_OPEN_FILES_KEPT of a process do. */
enum { TND_OPEN_FILES_KEPT = 16384 };
typedef struct tnd_kept_file tnd_kept_file_t;

/*  Takes over an open descriptor.  Closes it and returns NULL if there are no descriptors left. */
tnd_kept_file_t *tnd_kept_file_new(int file);
/*  Returns the descriptor, which stays open until tnd_kept_file_return; -1: it was closed, and there
 *  is nothing to return. */
int tnd_kept_file_borrow(tnd_kept_file_t *self);
void tnd_kept_file_return(tnd_kept_file_t *self);
/*  While no other thread has borrowed it. */
void tnd_kept_file_destroy(tnd_kept_file_t **self_p);

/*  TND_FAILED: this process, or the system, cannot open another file now. */
tnd_status_t tnd_open_files_left(tnd_error_t *error) TND_CHECKED;

#endif
