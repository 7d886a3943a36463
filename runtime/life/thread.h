/*  runtime/life/thread.h - how the threads that carry rows are scheduled.
 *
 *  Actors and hosts wake up thousands of times a second for a little work each.  As batch threads
 *  they wait for their turn instead of interrupting whoever computes: a device thread that is
 *  interrupted keeps all the others waiting at the next reduction.
 *
 *  Threads: the calling one.
 */
#ifndef TND_RUNTIME_LIFE_THREAD_H
#define TND_RUNTIME_LIFE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

/*  Names the calling thread, cut to 15 letters, and makes it a batch thread where that is allowed.
 */
static inline void tnd_thread_begin(const char *name)
{
    char cut[16];
    snprintf(cut, sizeof cut, "%.15s", name);
    pthread_setname_np(pthread_self(), cut);
    struct sched_param none = {.sched_priority = 0};
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

#endif
