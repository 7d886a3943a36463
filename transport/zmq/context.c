/*  transport/zmq/context.c - the one ZeroMQ context of a process.  */
#include "transport/zmq/context.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "runtime/base/allocation.h"

enum { MAX_SOCKETS = 16384 };

/*  A bound inproc endpoint. */
typedef struct {
    char *name;
    tnd_mailbox_t *mailbox; /* of the hub that bound it; unbound before it is closed */
    void *port;
} entry_t;

struct tnd_context {
    void *zmq;
    atomic_uint_fast64_t number;
    pthread_mutex_t lock; /* of the entries */
    entry_t *entries;
    size_t count;
};

tnd_context_t *tnd_context_new(unsigned io_threads)
{
    tnd_context_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->zmq = tnd_require_memory(zmq_ctx_new());
    zmq_ctx_set(self->zmq, ZMQ_IO_THREADS, (int)io_threads);
    zmq_ctx_set(self->zmq, ZMQ_MAX_SOCKETS, MAX_SOCKETS);
    zmq_ctx_set(self->zmq, ZMQ_BLOCKY, 0);
    pthread_mutex_init(&self->lock, NULL);
    return self;
}

void tnd_context_destroy(tnd_context_t **self_p)
{
    tnd_context_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    while (zmq_ctx_term(self->zmq) != 0)
        assert(zmq_errno() == EINTR);
    assert(self->count == 0);
    pthread_mutex_destroy(&self->lock);
    free(self->entries);
    free(self);
}

void *tnd_context_zmq(tnd_context_t *self)
{
    return self->zmq;
}

uint64_t tnd_context_number(tnd_context_t *self)
{
    return atomic_fetch_add_explicit(&self->number, 1, memory_order_relaxed);
}

static size_t find(const tnd_context_t *self, const char *endpoint)
{
    size_t i = 0;
    while (i < self->count && strcmp(self->entries[i].name, endpoint) != 0)
        i++;
    return i;
}

bool tnd_context_enter(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                       void *port)
{
    pthread_mutex_lock(&self->lock);
    bool is_free = find(self, endpoint) == self->count;
    if (is_free) {
        self->entries = tnd_resize(self->entries, self->count + 1, sizeof *self->entries);
        self->entries[self->count++] = (entry_t){tnd_copy_string(endpoint), mailbox, port};
    }
    pthread_mutex_unlock(&self->lock);
    return is_free;
}

void tnd_context_leave(tnd_context_t *self, const char *endpoint)
{
    pthread_mutex_lock(&self->lock);
    size_t i = find(self, endpoint);
    assert(i < self->count);
    free(self->entries[i].name);
    self->entries[i] = self->entries[--self->count];
    pthread_mutex_unlock(&self->lock);
}

tnd_pipe_t *tnd_context_connect(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                                void *dial)
{
    tnd_pipe_t *pipe = NULL;
    pthread_mutex_lock(&self->lock);
    size_t i = find(self, endpoint);
    if (i < self->count)
        pipe = tnd_pipe_new(mailbox, dial, self->entries[i].mailbox, self->entries[i].port);
    pthread_mutex_unlock(&self->lock);
    return pipe;
}
