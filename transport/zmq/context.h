/*  transport/zmq/context.h - the one ZeroMQ context of a process.
 *
 *  libzmq 4.3.4 crashes with several contexts per process when keys are used.  Inproc endpoints are
 *  the context's own, because messages inside a process do not pass through libzmq.
 *
 *  Lifecycle: all hubs are closed before the context is destroyed.  Destroying waits for lingering
 *  messages.  Installs no signal handler.
 *
 *  Threads: any, except new and destroy.
 *  Errors: see tnd_context_start; libzmq aborts if memory is exhausted. */
#ifndef TND_TRANSPORT_ZMQ_CONTEXT_H
#define TND_TRANSPORT_ZMQ_CONTEXT_H

#include "runtime/base/status.h"
#include "transport/inproc/mailbox.h"

typedef struct tnd_context tnd_context_t;

/*  `io_threads`: about one per GB/s between processes. */
tnd_context_t *tnd_context_new(unsigned io_threads);
void tnd_context_destroy(tnd_context_t **self_p);

/*  Makes libzmq's context and starts its threads, before the first socket: libzmq aborts if the system
 *  allows it no thread, so as many are tried first.  Repeated calls have no effect.
 *  Errors: TND_FAILED if the system allows no further threads or descriptors. */
tnd_status_t tnd_context_start(tnd_context_t *self, tnd_error_t *error) TND_CHECKED;

/*  libzmq's context, after tnd_context_start. */
void *tnd_context_zmq(tnd_context_t *self);

/*  A number that is unique in this context. */
uint64_t tnd_context_number(tnd_context_t *self);

/*  Registers an inproc endpoint of `mailbox` for `port`; false if it is in use. */
bool tnd_context_enter(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                       void *port);
void tnd_context_leave(tnd_context_t *self, const char *endpoint);
/*  A new pipe from `mailbox` to an inproc endpoint; NULL if it is not bound. */
tnd_pipe_t *tnd_context_connect(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                                void *dial);

#endif
