/*  runtime/base/fork_count.h - how often this process was made by a fork after its first session.
 *
 *  A child has the memory of its parent and none of its threads, so an object of the parent that
 *  waits for a thread would wait for ever.  Such an object stores the count when it is made.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_FORK_COUNT_H
#define TND_RUNTIME_BASE_FORK_COUNT_H

/*  A number that is another one in a forked child than it was in its parent.  No system call. */
unsigned tnd_fork_count(void);

#endif
