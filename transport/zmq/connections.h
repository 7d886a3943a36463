/*  transport/zmq/connections.h - the peers of a hub: one link end per peer, and notices to the user.
 *
 *  All hubs, real or simulated, use this.  A hub opens and closes connections and sends the
 *  messages of the handshake, by four callbacks.  The ends (runtime/core/protocol/link_end.h)
 *  decide when.  Notices to the user (UP, LOST, REFUSED) wait here in order.
 *
 *  The `wire` of a peer that this hub connects to is set at its creation.  That of a peer of a
 *  bound port is the connection of its last HELLO; NULL: none.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_CONNECTIONS_H
#define TND_TRANSPORT_ZMQ_CONNECTIONS_H

#include "runtime/interface/link.h"

typedef struct tnd_connection {
    tnd_end_t end;
    uint32_t port;
    tnd_actor_id_t id;
    bool refused; /* nothing listened at the last attempt to connect */
    bool guest;   /* see is_guest of tnd_hub_config_t */
    bool parting; /* GOODBYE was sent on its connection, which the peer may close */
    void *wire;
} tnd_connection_t;

typedef struct {
    /*  Opens a connection as (end.life, end.connection); false if it fails at once. */
    bool (*open)(tnd_hub_t *hub, tnd_connection_t *peer);
    /*  Closes the connection of the peer, whose messages are then dropped. */
    void (*shut)(tnd_hub_t *hub, tnd_connection_t *peer);
    /*  Sends one message of the handshake; false: the next flush retries. */
    bool (*say)(tnd_hub_t *hub, tnd_connection_t *peer, const tnd_msg_t *msg);
    /*  What the transport knows of bytes that move on the peer's connection; false: nothing. */
    bool (*moved)(tnd_hub_t *hub, tnd_connection_t *peer, uint64_t now, tnd_movement_t *movement);
    /*  What it knows of the process at the other end of a connection that this hub opened.  NULL:
     *  all processes are of one user. */
    tnd_peer_t (*other)(tnd_hub_t *hub, const tnd_connection_t *peer);
} tnd_connection_ops_t;

typedef struct {
    tnd_hub_t *hub;
    const tnd_connection_ops_t *carrier;
    tnd_hub_config_t config;
    tnd_life_t birth; /* the first life */
    tnd_hub_counts_t counts;
    const char *address; /* of the connection whose HELLO is handled; NULL: not known */
    tnd_connection_t **peers;
    uint32_t count, room;
    tnd_arrival_t *notices; /* a ring of `notice_room` */
    uint32_t notice_first, notice_count, notice_room;
    uint64_t deadline; /* time of the next tick */
} tnd_connections_t;

void tnd_connections_init(tnd_connections_t *self, tnd_hub_t *hub,
                          const tnd_connection_ops_t *carrier, const tnd_hub_config_t *config);
/*  Shuts all connections. */
void tnd_connections_fini(tnd_connections_t *self);

/*  Adds a peer that this hub connects to. */
tnd_connection_t *tnd_connections_connect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                          const tnd_terms_t *terms, void *wire, uint64_t now);
/*  The peer listens: connects without waiting for the next attempt. */
void tnd_connections_connect_now(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 uint64_t now);
/*  Shuts the dialled connection and forgets the peer.  Returns its wire, which the caller owns
 *  again; NULL if there is none. */
void *tnd_connections_disconnect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id);
tnd_connection_t *tnd_connections_find(const tnd_connections_t *self, uint32_t port,
                                       tnd_actor_id_t id);

/*  Handles a HELLO that arrived at a bound port by `wire`.  Returns the peer that now owns the
 *  wire, or NULL if the HELLO was stale or refused; then the caller still owns the wire. */
tnd_connection_t *tnd_connections_hello(tnd_connections_t *self, uint32_t port,
                                        const tnd_terms_t *terms, void *wire, const tnd_msg_t *msg,
                                        uint64_t now);
/*  Handles a message of the peer's connection.  Returns whether it is for the user. */
bool tnd_connections_heard(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                           uint64_t now);
/*  Handles a message of the peer's connection, and writes the arrival for the user. */
bool tnd_connections_deliver(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                             tnd_carry_t carry, uint64_t now, tnd_arrival_t *arrival);
/*  Handles the end of the peer's connection; `why` is for the user. */
void tnd_connections_gone(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                          uint64_t now);
/*  Ends the connection of a peer whose messages the user rejects. */
void tnd_connections_disconnect_peer(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                     const char *why, uint64_t now);
/*  Ends the connection of a peer that sent an invalid message. */
void tnd_connections_violated(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                              uint64_t now);
/*  Ends the connection of a peer that does not read. */
void tnd_connections_does_not_read(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now);
/*  The answer to a HELLO that is not accepted; the message points to `why`. */
typedef struct {
    tnd_msg_t msg;
    char why[256];
} tnd_connections_refusal_t;
/*  Whether a port that was bound with `terms` accepts this HELLO of the process `other`.  If not,
 *  `refusal` is the answer, and the user is told unless the connector only reached the wrong
 *  listener or has gone. */
bool tnd_connections_expects(tnd_connections_t *self, uint32_t port, const tnd_terms_t *terms,
                             tnd_peer_t other, const tnd_msg_t *hello,
                             tnd_connections_refusal_t *refusal);
/*  Messages that may be unread at one end of a connection of that port. */
uint32_t tnd_connections_unread(const tnd_connections_t *self, uint32_t port);
/*  Reports to the user that a connection was refused. */
void tnd_connections_turned_away(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 const char *why);

/*  Sends the messages of the end that are due. */
void tnd_connections_flush(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now);
/*  Ticks all ends if the deadline has passed. */
void tnd_connections_tick(tnd_connections_t *self, uint64_t now);
void tnd_connections_rebirth(tnd_connections_t *self, tnd_life_t life, uint64_t now);

/*  Removes the oldest notice; false: there is none. */
bool tnd_connections_notice(tnd_connections_t *self, tnd_arrival_t *arrival);

#endif
