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
#include "runtime/base/thread.h"

enum { MAX_SOCKETS = 16384 };

/*  A bound inproc endpoint. */
typedef struct {
    char *name;
    tnd_mailbox_t *mailbox; /* of the hub that bound it; unbound before it is closed */
    void *port;
} entry_t;

struct tnd_context {
    void *zmq; /* NULL: not started */
    unsigned io_threads;
    atomic_uint_fast64_t number;
    pthread_mutex_t lock; /* of what follows */
    entry_t *entries;
    size_t count;
};

tnd_context_t *tnd_context_new(unsigned io_threads)
{
    tnd_context_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->io_threads = io_threads;
    pthread_mutex_init(&self->lock, NULL);
    return self;
}

void tnd_context_destroy(tnd_context_t **self_p)
{
    tnd_context_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    while (self->zmq != NULL && zmq_ctx_term(self->zmq) != 0)
        assert(zmq_errno() == EINTR);
    assert(self->count == 0);
    pthread_mutex_destroy(&self->lock);
    free(self->entries);
    free(self);
}

/*  The first socket of a context starts its threads.  As many again are tried: one that has ended may
 *  count for a moment. */
static tnd_status_t start(tnd_context_t *self, tnd_error_t *error)
{
    static const char what[] = "connections to other processes";
    uint32_t threads = self->io_threads + 1; /* one closes sockets */
    TND_TRY(tnd_thread_try(2 * threads, what, error));
    void *zmq = zmq_ctx_new();
    if (zmq == NULL)
        return tnd_fail(error, "%s cannot be made: %s", what, zmq_strerror(zmq_errno()));
    zmq_ctx_set(zmq, ZMQ_IO_THREADS, (int)self->io_threads);
    zmq_ctx_set(zmq, ZMQ_MAX_SOCKETS, MAX_SOCKETS);
    zmq_ctx_set(zmq, ZMQ_BLOCKY, 0);
    void *socket = zmq_socket(zmq, ZMQ_PAIR);
    int number = zmq_errno();
    if (socket != NULL)
        zmq_close(socket);
    else
        zmq_ctx_term(zmq);
    if (socket == NULL)
        return tnd_fail(error, "%s cannot be made: %s", what, zmq_strerror(number));
    self->zmq = zmq;
    return TND_OK;
}

tnd_status_t tnd_context_start(tnd_context_t *self, tnd_error_t *error)
{
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = self->zmq != NULL ? TND_OK : start(self, error);
    pthread_mutex_unlock(&self->lock);
    return status;
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
