/*  transport/context.h - the one ZeroMQ context of a process.
 *
 *  More than one context a process crashes libzmq 4.3.4 when keys are used, and inproc endpoints
 *  of different contexts do not see each other.  All hubs of a process are opened on this.
 *
 *  An inproc endpoint that nobody has bound accepts connections all the same in libzmq, and keeps
 *  them for ever; so the context knows which are bound.
 *
 *  Lifecycle: hubs are closed before the context is destroyed; destroying waits until what lingers
 *  has left.  Installs no signal handler.
 *
 *  Threads: any, but for new and destroy.
 */
#ifndef TND_TRANSPORT_CONTEXT_H
#define TND_TRANSPORT_CONTEXT_H

#include "runtime/status.h"

typedef struct tnd_context tnd_context_t;

/*  `io_threads`: one for about each GB/s between processes.  Exhaustion aborts. */
tnd_context_t *tnd_context_new(unsigned io_threads);
void tnd_context_destroy(tnd_context_t **self_p);

/*  libzmq's context. */
void *tnd_context_zmq(tnd_context_t *self);

/*  A number that this context has not given before. */
uint64_t tnd_context_number(tnd_context_t *self);

/*  Inproc endpoints: enters one (false: it is taken), removes one, says whether one is bound. */
bool tnd_context_enter(tnd_context_t *self, const char *endpoint);
void tnd_context_leave(tnd_context_t *self, const char *endpoint);
bool tnd_context_bound(tnd_context_t *self, const char *endpoint);

#endif
