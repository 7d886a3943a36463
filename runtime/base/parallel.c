/*  runtime/base/parallel.c - independent work on several processors. */
#include "runtime/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct {
    size_t count;
    atomic_size_t next;
    void (*work)(void *context, size_t index);
    void *context;
} shared_t;

static void *run(void *given)
{
    shared_t *self = given;
    for (size_t i; (i = atomic_fetch_add(&self->next, 1)) < self->count;)
        self->work(self->context, i);
    return NULL;
}

static void start(size_t count, long most, void (*work)(void *context, size_t index), void *context)
{
    pthread_t threads[TND_PARALLEL_WAITS - 1];
    shared_t shared = {.count = count, .work = work, .context = context};
    long started = 0;
    while (started + 1 < TND_PARALLEL_WAITS && started + 1 < most && (size_t)started + 1 < count &&
           pthread_create(&threads[started], NULL, run, &shared) == 0)
        started++;
    (void)run(&shared);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
}

void tnd_parallel(size_t count, void (*work)(void *context, size_t index), void *context)
{
    start(count, sysconf(_SC_NPROCESSORS_ONLN), work, context);
}

void tnd_parallel_waits(size_t threads, size_t count, void (*work)(void *context, size_t index),
                        void *context)
{
    start(count, (long)threads, work, context);
}
