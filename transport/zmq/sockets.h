/*  transport/zmq/sockets.h - the sockets of a hub: polling, and whose turn it is.
 *
 *  libzmq's descriptor of a socket reports changes, not states, and any call on the socket may
 *  consume one.  A socket stays `ready` until a receive finds it empty.  Other calls set `touched`,
 *  and the state of a touched socket is read before a wait.  So a wait is one poll, where zmq_poll
 *  makes one or two more system calls per socket.
 *
 *  Callers set `touched` after any call on `data` except receive.  They clear `ready` when it is
 *  empty, and `watch_ready` when all events were handled.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_SOCKETS_H
#define TND_TRANSPORT_ZMQ_SOCKETS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct tnd_binder;
struct tnd_dial;

/*  A socket and its monitor, of a bound port or of a dialled connection. */
typedef struct {
    struct tnd_binder *binder; /* exactly one of these two */
    struct tnd_dial *dial;
    void *data;  /* NULL: closed */
    void *watch; /* of monitor.h; NULL: none */
    int data_fd, watch_fd;
    bool ready, watch_ready, touched;
    bool gone; /* a connection has ended; its peer is lost once its messages are read */
} tnd_socket_t;

typedef struct {
    tnd_socket_t **items;
    struct pollfd *polled;
    uint32_t count, room;
    uint32_t turn, budget; /* the socket in turn, and its messages left */
    uint32_t since_look;   /* calls of tnd_sockets_next */
    int wake_fd;
} tnd_sockets_t;

/*  `wake_fd`: an eventfd of the caller that ends a wait. */
void tnd_sockets_init(tnd_sockets_t *self, int wake_fd);
/*  All sockets were closed. */
void tnd_sockets_fini(tnd_sockets_t *self);

/*  Polls this socket too; its address must not change until it is closed. */
void tnd_sockets_add(tnd_sockets_t *self, tnd_socket_t *socket);
/*  How long sent messages may linger after a close or unbind. */
void tnd_socket_linger(tnd_socket_t *socket, uint64_t linger_ms);
/*  Closes the socket and its monitor; sent messages may leave for `linger_ms`. */
void tnd_sockets_close(tnd_sockets_t *self, tnd_socket_t *socket, uint64_t linger_ms);

/*  Marks the sockets that are ready; false if none is. */
bool tnd_sockets_look(tnd_sockets_t *self);
/*  Marks the sockets that are ready, and waits at most `wait_ms` for a socket or a wake (-1: without limit). */
bool tnd_sockets_wait(tnd_sockets_t *self, int wait_ms);
/*  The next ready socket, in turn: each for some messages.  Polls from time to time, so that no
 *  socket starves.  NULL if none is known to be ready. */
tnd_socket_t *tnd_sockets_next(tnd_sockets_t *self);
bool tnd_sockets_are_ready(const tnd_sockets_t *self);

/*  Whether there is a message, according to libzmq, which also handles pending events. */
bool tnd_socket_has_input(tnd_socket_t *socket);

#endif
