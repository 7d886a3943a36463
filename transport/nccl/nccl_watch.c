/*  transport/nccl/nccl_watch.c - a thread that notices calls that do not return. */
#include "transport/nccl/nccl_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

struct tnd_nccl_watch {
    _Atomic uint64_t *since_ns; /* by thread; 0: it makes no call */
    bool *calling;              /* by thread: it made one when that was looked at */
    uint32_t count;
    uint64_t patience_ns;
    void (*late)(void *context, const bool *threads);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; /* guards `over` */
    pthread_cond_t changed;
    bool over;
};

void tnd_nccl_watch_begin(tnd_nccl_watch_t *self, uint32_t thread)
{
    atomic_store_explicit(&self->since_ns[thread], tnd_clock_now(), memory_order_relaxed);
}

void tnd_nccl_watch_end(tnd_nccl_watch_t *self, uint32_t thread)
{
    atomic_store_explicit(&self->since_ns[thread], 0, memory_order_relaxed);
}

/*  Looks at all threads; whether one is late. */
static bool look(const tnd_nccl_watch_t *self)
{
    uint64_t now = tnd_clock_now();
    bool late = false;
    for (uint32_t thread = 0; thread < self->count; thread++) {
        uint64_t since = atomic_load_explicit(&self->since_ns[thread], memory_order_relaxed);
        self->calling[thread] = since != 0;
        late = late || (since != 0 && now > since && now - since > self->patience_ns);
    }
    return late;
}

static void *watch(void *context)
{
    tnd_nccl_watch_t *self = context;
    bool late = false;
    pthread_mutex_lock(&self->lock);
    while (!self->over && !late) {
        uint64_t until = tnd_clock_now() + self->patience_ns / 4;
        const struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                                    .tv_nsec = (long)(until % 1000000000)};
        (void)pthread_cond_timedwait(&self->changed, &self->lock, &at);
        late = look(self);
    }
    bool over = self->over;
    pthread_mutex_unlock(&self->lock);
    if (!over)
        self->late(self->context, self->calling);
    return NULL;
}

static void destroy(tnd_nccl_watch_t *self)
{
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->since_ns);
    free(self->calling);
    free(self);
}

tnd_status_t tnd_nccl_watch_new(tnd_nccl_watch_t **self_p, uint32_t count, uint64_t patience_ns,
                                void (*late)(void *context, const bool *threads), void *context,
                                tnd_error_t *error)
{
    tnd_nccl_watch_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->since_ns = tnd_allocate_zeroed(count, sizeof *self->since_ns);
    self->calling = tnd_allocate_zeroed(count, sizeof *self->calling);
    self->count = count;
    self->patience_ns = patience_ns;
    self->late = late;
    self->context = context;
    pthread_mutex_init(&self->lock, NULL);
    tnd_condition_init_monotonic(&self->changed);
    tnd_status_t status =
        tnd_thread_create(&self->thread, "the watch over calls of NCCL", watch, self, error);
    if (status != TND_OK) {
        destroy(self);
        return status;
    }
    *self_p = self;
    return TND_OK;
}

void tnd_nccl_watch_free(tnd_nccl_watch_t **self_p)
{
    tnd_nccl_watch_t *self = *self_p;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->over = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    destroy(self);
    *self_p = NULL;
}
