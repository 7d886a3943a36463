/*  runtime/base/fork_count.c - how often this process was made by a fork. */
#include "runtime/base/fork_count.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch(void)
{
    (void)pthread_atfork(NULL, NULL, count);
}

unsigned tnd_fork_count(void)
{
    pthread_once(&once, watch);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
