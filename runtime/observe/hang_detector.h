/*  runtime/observe/hang_detector.h - detects threads that hang.
 *
 *  A work hook (a read, an operation, a step) that takes longer than `hung_after` hangs, unless the
 *  thread waits for a disk or has read something in the last half of that time: a slow disk is not
 *  a hang.  Waiting for other actors has states of its own and is not a hang either.
 *
 *  Threads: the host's. */
#ifndef TND_RUNTIME_OBSERVE_HANG_DETECTOR_H
#define TND_RUNTIME_OBSERVE_HANG_DETECTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/observe/statistics.h"

typedef struct {
    uint64_t since_ns; /* start of the observed work */
    uint64_t read;     /* bytes that its thread had read at the last check */
    uint64_t look_ns;  /* time of the next check; 0: not yet checked */
} tnd_hang_detector_t;

/*  Whether work that began at `since_ns` on thread `thread` hangs; 0: not on a thread. */
bool tnd_hang_detector_hangs(tnd_hang_detector_t *self, uint64_t since_ns, pid_t thread,
                             uint64_t hung_after_ns, uint64_t now);
/*  Bytes that a thread has read so far. */
uint64_t tnd_hang_detector_read(pid_t thread);
/*  Where a thread is, as far as the kernel reports it to this user: "thread 71 (running), wait
 *  channel futex_wait_queue, system call 202, stack: ... < ..."; one line. */
void tnd_hang_detector_describe(pid_t thread, char *text, size_t room);
/*  The same of a thread of another process; returns false if it does not exist. */
bool tnd_hang_detector_describe_other(pid_t process, pid_t thread, char *text, size_t room);

#endif
