/*  actors/adapt/adapted_file.h - what an operation has learned of some rows, in a file.
 *
 *  It is called auto-KEY-ROWS.txt: KEY is that of the operation, ROWS a hash of the rows and of what is
 *  done to them before, so a file that exists fits.  It is in the folder of the checkpoints, beside
 *  them, else in the folder of the indexes.  Its last line has a hash of the others.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_ADAPT_ADAPTED_FILE_H
#define TND_ACTORS_ADAPT_ADAPTED_FILE_H

#include "runtime/plan/placement.h"

/*  The words of the file on a host of the plan, in either folder, which the caller frees; NULL: there is
 *  none, or it is damaged. */
char *tnd_adapted_file_read(const tnd_plan_t *plan, uint32_t host, uint64_t key, uint64_t rows);
/*  Replaces the file.  Where it cannot be written, a later run computes the same once more. */
void tnd_adapted_file_write(const tnd_plan_t *plan, uint32_t host, uint64_t key, uint64_t rows,
                            const char *words);

#endif
