/*  runtime/base/thread.h - starts threads, and how those that carry rows or compute are scheduled.
 *
 *  Actors and hosts wake up thousands of times a second for a little work each.  If several devices
 *  reduce, they use SCHED_BATCH and do not preempt device threads: a preempted device thread delays
 *  all others at the next reduction.  Otherwise they use the normal policy, because a batch thread
 *  is scheduled milliseconds late on a busy machine.  Device threads, which an actor starts, are
 *  what the program itself is.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_THREAD_H
#define TND_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/status.h"

/*  Starts a thread for `what`: "actor read.0".
 *  Errors: TND_FAILED if the system allows no further thread, with the limits and what to do. */
tnd_status_t tnd_thread_create(pthread_t *thread, const char *what, void *(*run)(void *),
                               void *context, tnd_error_t *error) TND_CHECKED;

/*  The same for a thread that leaves the signals of the process to the others.  Those of a fault stay:
 *  the thread that made it receives them. */
tnd_status_t tnd_thread_create_without_signals(pthread_t *thread, const char *what,
                                               void *(*run)(void *), void *context,
                                               tnd_error_t *error) TND_CHECKED;

/*  Starts and ends so many threads.  For a library that aborts if it cannot start its own.
 *  Errors: as above. */
tnd_status_t tnd_thread_try(uint32_t count, const char *what, tnd_error_t *error) TND_CHECKED;

/*  Initialises a condition whose waits with an end (pthread_cond_timedwait) go by CLOCK_MONOTONIC. */
void tnd_condition_init_monotonic(pthread_cond_t *condition);

/*  Names the calling thread, cut to 15 letters. */
static inline void tnd_thread_name(const char *name)
{
    char cut[16];
    snprintf(cut, sizeof cut, "%.15s", name);
    pthread_setname_np(pthread_self(), cut);
}

/*  Names the calling thread and makes it a batch thread where that is allowed. */
static inline void tnd_thread_begin(const char *name)
{
    struct sched_param none = {.sched_priority = 0};
    tnd_thread_name(name);
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

/*  Names the calling thread and makes it what the program's first thread is. */
static inline void tnd_thread_begin_computing(const char *name)
{
    struct sched_param param;
    tnd_thread_name(name);
    if (sched_getparam(getpid(), &param) == 0)
        (void)pthread_setschedparam(pthread_self(), sched_getscheduler(getpid()), &param);
}

#endif
