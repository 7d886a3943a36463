/*  runtime/core/host/hang_watch.h - decides whether work hangs: that of a thread, or of a device.
 *
 *  Work (a read, an operation, a step, a copy) that takes longer than `hung_after` hangs, unless its
 *  thread waits for a disk or has read something in the last half of that time: a slow disk is not
 *  a hang.
 *
 *  Only time in which the process ran counts.  The caller looks at the work at intervals.  What passes
 *  between two looks beyond the interval is not counted: the process was stopped or had no processor,
 *  and so had the thread.
 *
 *  Threads: any; a plain value. */
#ifndef TND_RUNTIME_CORE_HOST_HANG_WATCH_H
#define TND_RUNTIME_CORE_HOST_HANG_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*  Zeroed: no work was seen yet. */
typedef struct {
    uint64_t since_ns;  /* start of the work; 0: none */
    uint64_t looked_ns; /* the last look */
    uint64_t took_ns;   /* by the work so far */
    uint64_t due_ns;    /* how long it may take before it is judged next */
    uint64_t read;      /* what its thread had read when it was judged last */
    bool judged;
} tnd_hang_watch_t;

/*  What is known of the thread that works. */
typedef struct {
    uint64_t read;       /* bytes, so far */
    bool waits_for_disk; /* now */
} tnd_thread_progress_t;

/*  How often to look. */
uint64_t tnd_hang_watch_every(uint64_t hung_after_ns);
/*  A look at work that began at `since_ns`, which names it; 0: there is none.  Returns whether it is
 *  to be judged now. */
bool tnd_hang_watch_look(tnd_hang_watch_t *self, uint64_t since_ns, uint64_t hung_after_ns,
                         uint64_t now);
/*  Judges the work of the last look.  Returns whether it hangs; it is judged again at the next look
 *  then, and otherwise after half of `hung_after`. */
bool tnd_hang_watch_judge(tnd_hang_watch_t *self, const tnd_thread_progress_t *progress,
                          uint64_t hung_after_ns);

#endif
