/*  transport/zmq/sockets.h - the sockets of a hub: which have something to read, and waiting for
 * it.
 *
 *  libzmq's descriptor of a socket tells of changes, not of states, and any call on the socket may
 *  swallow one.  A line is ready until a receive finds it empty; one that was `touched` by another
 *  call is asked for its state before anybody sleeps.  So a wait costs one poll, where zmq_poll
 *  costs a system call or two a socket before and after.
 *
 *  Who does anything on `data` but receive says that the line is `touched`; who finds it empty, or
 *  has seen all its events, says that it is not `ready`, not `watch_ready`.
 *
 *  Threads: the hub's.
 */
#ifndef TND_TRANSPORT_ZMQ_SOCKETS_H
#define TND_TRANSPORT_ZMQ_SOCKETS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct tnd_binder;
struct tnd_dial;

/*  A socket with what it is polled for, of a bound port or of a connection that a hub keeps. */
typedef struct {
    struct tnd_binder *binder; /* exactly one of these two */
    struct tnd_dial *dial;
    void *data;  /* NULL: closed */
    void *watch; /* of watch.h; NULL: none */
    int data_fd, watch_fd;
    bool ready, watch_ready, touched;
    bool gone; /* some connection of it has ended: once all it brought is read, its peer is lost */
} tnd_socket_t;

typedef struct {
    tnd_socket_t **items;
    struct pollfd *polled;
    uint32_t count, room;
    uint32_t turn, budget; /* whose turn it is, for how many messages yet */
    uint32_t since_look;   /* how often a line was asked for */
    int wake_fd;
} tnd_sockets_t;

/*  `wake_fd`: an eventfd, the caller's, that ends a wait when it is written to. */
void tnd_sockets_init(tnd_sockets_t *self, int wake_fd);
/*  All lines are closed. */
void tnd_sockets_fini(tnd_sockets_t *self);

/*  Reads from this line too, whose sockets are open; it stays where it is until it is closed. */
void tnd_sockets_add(tnd_sockets_t *self, tnd_socket_t *line);
/*  What was sent may still leave for so long when the line is closed, or its socket unbound. */
void tnd_socket_linger(tnd_socket_t *line, uint64_t linger_ms);
/*  Closes its sockets; what was sent may still leave for `linger_ms`.  The line can be opened and
 *  added again.
 */
void tnd_sockets_close(tnd_sockets_t *self, tnd_socket_t *line, uint64_t linger_ms);

/*  Marks the lines that have something; false: none has. */
bool tnd_sockets_look(tnd_sockets_t *self);
/*  The same, and waits for one, or for a wake, at most `wait_ms` (-1: as long as it takes). */
bool tnd_sockets_wait(tnd_sockets_t *self, int wait_ms);
/*  The next line that is ready in any way, in turn: each for some messages.  Looks by itself from
 *  time to time, so that lines that were not ready have theirs.  NULL: none is known to be ready.
 */
tnd_socket_t *tnd_sockets_next(tnd_sockets_t *self);
bool tnd_sockets_are_ready(const tnd_sockets_t *self);

/*  Whether there is something to read, asked of libzmq itself, which then takes note of all that it
 *  would put off.
 */
bool tnd_socket_has_input(tnd_socket_t *line);

#endif
