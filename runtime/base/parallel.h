/*  runtime/base/parallel.h - independent work on several processors, once.
 *
 *  Threads: the caller's, and others that end before tnd_parallel returns. */
#ifndef TND_RUNTIME_BASE_PARALLEL_H
#define TND_RUNTIME_BASE_PARALLEL_H

#include <stddef.h>

/*  Calls work(context, i) for each i below `count`, on at most as many threads as there are
 *  processors, and at most TND_PARALLEL_WAITS. */
void tnd_parallel(size_t count, void (*work)(void *context, size_t index), void *context);

/*  The same for work that waits for disks and servers, on `threads` threads, at most
 *  TND_PARALLEL_WAITS, whether or not there are so many processors. */
enum { TND_PARALLEL_WAITS = 16 };
void tnd_parallel_waits(size_t threads, size_t count, void (*work)(void *context, size_t index),
                        void *context);

#endif
