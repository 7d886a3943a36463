/*  runtime/observe/thread_state.h - what the kernel reports of a thread.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OBSERVE_THREAD_STATE_H
#define TND_RUNTIME_OBSERVE_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/core/host/hang_watch.h"

/*  What is known of a thread of this process that works. */
void tnd_thread_state_progress(pid_t thread, tnd_thread_progress_t *progress);
/*  Bytes that a thread has read so far. */
uint64_t tnd_thread_state_read(pid_t thread);
/*  Where a thread is, as far as the kernel reports it to this user: "thread 71 (running), wait
 *  channel futex_wait_queue, system call 202, stack: ... < ..."; one line. */
void tnd_thread_state_describe(pid_t thread, char *text, size_t room);
/*  The same of a thread of another process; returns false if it does not exist. */
bool tnd_thread_state_describe_other(pid_t process, pid_t thread, char *text, size_t room);

/*  Whether a thread of a process of this machine exists and neither runs, is ready to, nor waits for a disk. */
bool tnd_thread_state_rests(pid_t process, pid_t thread);

/*  How long the calling thread was ready but did not run.  `schedstat`: its file of this name, opened;
 *  `before`: the result if that cannot be read. */
uint64_t tnd_thread_ready(int schedstat, uint64_t before);
/*  Page faults of the calling thread that waited for a disk. */
uint64_t tnd_thread_disk_faults(void);

#endif
