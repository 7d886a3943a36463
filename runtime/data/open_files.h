/*  runtime/data/open_files.h - the file descriptors that this process may have.
 *
 *  What needs many of them reserves them first, so that a limit that is too low is an error before
 *  anything is opened.  A reservation raises the soft limit of the process where the hard one
 *  allows it, and never lowers it.
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

/*  TND_FAILED: this process, or the system, cannot open another file now. */
tnd_status_t tnd_open_files_left(tnd_error_t *error) TND_CHECKED;

#endif
