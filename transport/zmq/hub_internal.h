/*  transport/zmq/hub_internal.h - the parts of the hub over ZeroMQ.
 *
 *  A bound port is a ROUTER per endpoint.  A dialled connection is a DEALER of its own with a
 *  random identity that is never reused.  Reconnecting by libzmq is disabled: it would reuse the
 *  identity, and a half-open connection would stay dead while sends succeed.  A connection that
 *  gives an identity in use takes its place in libzmq, but does not become its peer: a peer is
 *  known by its identity and its descriptor.
 *
 *  The hub uses libzmq itself: it needs single message parts, SRCFD and the monitor.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_HUB_INTERNAL_H
#define TND_TRANSPORT_ZMQ_HUB_INTERNAL_H

#include <zmq.h>

#include "runtime/interface/link.h"
#include "transport/address.h"
#include "transport/inproc/mailbox.h"
#include "transport/zmq/connections.h"
#include "transport/zmq/context.h"
#include "transport/zmq/frames.h"
#include "transport/zmq/monitor.h"
#include "transport/zmq/peer_memory.h"
#include "transport/zmq/routes.h"
#include "transport/zmq/sockets.h"
#include "transport/zmq/unauthenticated.h"

/*  A bound port. */
typedef struct tnd_binder {
    tnd_socket_t socket;
    uint32_t port;
    tnd_terms_t terms;
    char endpoint[TND_ADDRESS_SIZE];
    tnd_routes_t routes;
    tnd_unauthenticated_t unauthenticated;
    uint32_t cut; /* connections that were cut and are not known to have ended */
} tnd_binder_t;

/*  A dialled connection. */
typedef struct tnd_dial {
    tnd_socket_t socket;
    tnd_pipe_t *pipe; /* instead of the socket, to a peer in this process; NULL: closed */
    tnd_connection_t *peer;
    bool made;        /* the transport has established the connection */
    bool greets;      /* messages can be sent */
    int fd;           /* -1: none, or ended */
    tnd_peer_t other; /* the process that listens, once messages can be sent */
    tnd_monitor_seen_t seen;
    tnd_peer_memory_t memory;
    char endpoint[TND_ADDRESS_SIZE];
} tnd_dial_t;

typedef struct {
    tnd_hub_t base;
    tnd_context_t *context;
    tnd_hub_config_t config;
    tnd_connections_t peers;
    tnd_frames_t frames;
    tnd_pool_t *messages; /* to hubs of this process */
    char name[32];
    tnd_sockets_t sockets;
    tnd_mailbox_t *mailbox;
    tnd_sleepers_t sleepers; /* receivers that a later flush wakes */
    uint32_t mail_budget;
    uint64_t now, linger_ns;
    uint64_t dismiss_ns; /* when an unauthenticated connection is late */
    tnd_binder_t **binders;
    uint32_t binder_count;
    bool looked;        /* a round of receives has begun and ends with TND_AGAIN */
    uint64_t looked_ns; /* when a receive last polled because it knew of no message */
} tnd_zmq_hub_t;

static inline tnd_zmq_hub_t *tnd_zmq_hub(tnd_hub_t *hub)
{
    return (tnd_zmq_hub_t *)(void *)hub;
}

/* --- hub_sockets.c */

uint64_t tnd_zmq_now(void);
/*  What is known of a peer in this process. */
tnd_peer_t tnd_zmq_inside(const tnd_zmq_hub_t *self);
/*  Sets an option that libzmq never refuses. */
void tnd_zmq_set(void *handle, int option, int value);
/*  A socket with the options of this hub; NULL, with errno, if all descriptors are in use. */
void *tnd_zmq_open(tnd_zmq_hub_t *self, int type, const char *endpoint, uint32_t port);
void tnd_zmq_close(tnd_zmq_hub_t *self, tnd_socket_t *socket);
/*  Handles all events of the socket's monitor. */
void tnd_zmq_watch(tnd_zmq_hub_t *self, tnd_socket_t *socket);
/*  Reports the peers whose connections ended, once all their messages were read. */
void tnd_zmq_sweep(tnd_zmq_hub_t *self, tnd_socket_t *socket);

/* --- carrier.c */

extern const tnd_connection_ops_t tnd_zmq_carrier;
/*  Returns TND_AGAIN, with errno, if the message cannot be sent now. */
tnd_status_t tnd_zmq_send(tnd_zmq_hub_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                          tnd_carry_t carry);
/*  The pipe to a peer in this process; NULL if the peer is elsewhere or away. */
tnd_pipe_t *tnd_zmq_pipe(const tnd_connection_t *peer);
/*  Of the connection of a peer in another process. */
tnd_peer_memory_t *tnd_zmq_memory(const tnd_connection_t *peer);
/*  Takes a note of peer_memory.h and answers it.  Errors: TND_FAILED if it is not valid. */
tnd_status_t tnd_zmq_note(tnd_connection_t *peer, zmq_msg_t *part, tnd_error_t *error) TND_CHECKED;
void tnd_zmq_close_parts(zmq_msg_t *parts, int count);

/* --- arrivals.c */

typedef enum { TND_ZMQ_EMPTY, TND_ZMQ_INSIDE, TND_ZMQ_MESSAGE } tnd_zmq_taken_t;

/*  Reads one message of a socket.  INSIDE: the hub has used it. */
tnd_zmq_taken_t tnd_zmq_take(tnd_zmq_hub_t *self, tnd_socket_t *socket, tnd_arrival_t *arrival);
/*  Reads a message of this process; false: the hub has used it. */
bool tnd_zmq_take_inproc(tnd_zmq_hub_t *self, tnd_inproc_message_t *message,
                         tnd_arrival_t *arrival);

/* --- binder.c */

tnd_status_t tnd_binder_bind(tnd_zmq_hub_t *self, tnd_binder_t *binder, const char *endpoint,
                             tnd_error_t *error);
/*  The endpoint can be bound again when this returns. */
void tnd_binder_close(tnd_zmq_hub_t *self, tnd_binder_t *binder);
/*  Cuts unauthenticated connections that are late or too many. */
void tnd_binder_dismiss(tnd_zmq_hub_t *self, tnd_binder_t *binder);
/*  The connection with this descriptor has ended. */
void tnd_binder_left(tnd_binder_t *self, int fd);
/*  Handles a HELLO of a connection, or of a pipe of this process. */
void tnd_binder_greet(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash, zmq_msg_t *id,
                      int fd, const tnd_msg_t *msg);
void tnd_binder_greet_pipe(tnd_zmq_hub_t *self, tnd_pipe_t *pipe, const tnd_msg_t *msg);
/*  Ends a connection that sent an invalid message, and reports it once. */
void tnd_binder_reject(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash, zmq_msg_t *id,
                       zmq_msg_t *from, bool answered, const char *why);
/*  Refuses a peer of another version.  Every header begins with the version, so it can read why. */
void tnd_binder_answer_version(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash,
                               zmq_msg_t *id, const char *why);

#endif
