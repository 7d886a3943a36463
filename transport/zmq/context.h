/*  transport/zmq/context.h - the one ZeroMQ context of a process.
 *
 *  More than one context a process crashes libzmq 4.3.4 when keys are used, and inproc endpoints
 *  of different contexts do not see each other.  All hubs of a process are opened on this.
 *
 *  Inproc endpoints are the context's own: inside a process messages do not pass through libzmq.
 *
 *  Lifecycle: hubs are closed before the context is destroyed; destroying waits until what lingers
 *  has left.  Installs no signal handler.
 *
 *  Threads: any, but for new and destroy.
 */
#ifndef TND_TRANSPORT_ZMQ_CONTEXT_H
#define TND_TRANSPORT_ZMQ_CONTEXT_H

#include "runtime/base/status.h"
#include "transport/inproc/mailbox.h"

typedef struct tnd_context tnd_context_t;

/*  `io_threads`: one for about each GB/s between processes.  Exhaustion aborts. */
tnd_context_t *tnd_context_new(unsigned io_threads);
void tnd_context_destroy(tnd_context_t **self_p);

/*  libzmq's context. */
void *tnd_context_zmq(tnd_context_t *self);

/*  A number that this context has not given before. */
uint64_t tnd_context_number(tnd_context_t *self);

/*  Enters an inproc endpoint, whose messages go to `mailbox` for `port`; false: it is taken. */
bool tnd_context_enter(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                       void *port);
void tnd_context_leave(tnd_context_t *self, const char *endpoint);
/*  A new pipe from `mailbox` to an inproc endpoint; NULL: none of that name is bound. */
tnd_pipe_t *tnd_context_connect(tnd_context_t *self, const char *endpoint, tnd_mailbox_t *mailbox,
                                void *dial);

#endif
