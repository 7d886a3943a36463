/*  runtime/base/thread.h - how the threads that carry rows, and those that compute, are scheduled.
 *
 *  Actors and hosts wake up thousands of times a second for a little work each.  If several devices
 *  reduce, they use SCHED_BATCH and do not preempt device threads: a preempted device thread delays
 *  all others at the next reduction.  Otherwise they use the normal policy, because a batch thread
 *  is scheduled milliseconds late on a busy machine.  Device threads, which an actor starts, are
 *  what the program itself is.
 *
 *  Threads: the calling one. */
#ifndef TND_RUNTIME_BASE_THREAD_H
#define TND_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*  Starts a thread; the process writes a line to stderr and aborts if it cannot. */
static inline void tnd_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
    int reason = pthread_create(thread, NULL, run, context);
    if (reason == 0)
        return;
    fprintf(stderr, "tundish: cannot start a thread: %s\n", strerror(reason));
    abort();
}

/*  Starts a thread that leaves the signals of the process to the others.  Those of a fault stay: the
 *  thread that made it receives them. */
static inline void tnd_thread_create_without_signals(pthread_t *thread, void *(*run)(void *),
                                                     void *context)
{
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    tnd_thread_create(thread, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

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
