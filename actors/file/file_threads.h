/*  actors/file/file_threads.h - work on many files by several threads, because each may wait for a
 *  disk or a server.
 *
 *  Threads: the caller's, and others that end before tnd_file_threads returns. */
#ifndef TND_ACTORS_FILE_FILE_THREADS_H
#define TND_ACTORS_FILE_FILE_THREADS_H

#include <stddef.h>
#include <stdint.h>

/*  Calls work(context, i) for each i below `count`, on at most TND_PARALLEL_WAITS threads.  Each call
 *  needs `descriptors` at the same time: they are reserved, and there are fewer threads where the limit
 *  of this process is too low for that. */
void tnd_file_threads(size_t count, uint32_t descriptors, void (*work)(void *context, size_t index),
                      void *context);

#endif
