/*  runtime/data/file_lock.h - one process at a time writes a file.
 *
 *  The lock ends with the process, or as soon as it closes any descriptor of the file.  It does not
 *  keep threads of one process apart.
 *
 *  Threads: any.  Waits for up to 2 s, because a process that was killed may take a moment to end. */
#ifndef TND_RUNTIME_DATA_FILE_LOCK_H
#define TND_RUNTIME_DATA_FILE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/*  Locks an open file for writing.  True also where the file system has no locks.  False: another process
 *  has locked it, *holder_p (0: not known). */
bool tnd_file_lock(int file, pid_t *holder_p);

#endif
