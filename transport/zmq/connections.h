/*  transport/zmq/connections.h - the peers of a hub: one end of a connection each, and what to tell
 * the user.
 *
 *  Every hub, real or simulated, keeps its peers here.  Opening and closing connections and sending
 *  the words of the handshake is the hub's, by four callbacks; when to do it is decided by the
 *  ends (runtime/core/protocol/link_end.h).  What the user must hear (UP, LOST, REFUSED) waits here
 * as a notice, in the order in which it happened.
 *
 *  A connecting peer's `wire` is given at its beginning and stays; a binding one's is the
 *  connection by which its last HELLO came, NULL when there is none.
 *
 *  Threads: the hub's.
 */
#ifndef TND_TRANSPORT_ZMQ_CONNECTIONS_H
#define TND_TRANSPORT_ZMQ_CONNECTIONS_H

#include "runtime/interface/link.h"

typedef struct tnd_connection {
    tnd_end_t end;
    uint32_t port;
    tnd_actor_id_t id;
    bool refused; /* nothing listened when a connection to it was tried last */
    bool parting; /* GOODBYE was said on its connection, which the other side may close */
    void *wire;
} tnd_connection_t;

typedef struct {
    /*  Opens a connection under (end.life, end.connection); false: at once in vain. */
    bool (*open)(tnd_hub_t *hub, tnd_connection_t *peer);
    /*  Closes the connection of the peer: nothing of it will be heard any more. */
    void (*shut)(tnd_hub_t *hub, tnd_connection_t *peer);
    /*  Sends one word of the handshake; false: not now, it is asked again at the next flush. */
    bool (*say)(tnd_hub_t *hub, tnd_connection_t *peer, const tnd_msg_t *msg);
    /*  What the transport sees of the peer's connection beside its messages; false: nothing. */
    bool (*moved)(tnd_hub_t *hub, tnd_connection_t *peer, uint64_t now, tnd_movement_t *movement);
} tnd_connection_ops_t;

typedef struct {
    tnd_hub_t *hub;
    const tnd_connection_ops_t *carrier;
    tnd_hub_config_t config;
    tnd_life_t birth; /* the first life */
    tnd_hub_counts_t counts;
    tnd_connection_t **peers;
    uint32_t count, room;
    tnd_arrival_t *notices; /* a ring of `notice_room` */
    uint32_t notice_first, notice_count, notice_room;
    uint64_t deadline; /* at the latest, something must be done */
} tnd_connections_t;

void tnd_connections_init(tnd_connections_t *self, tnd_hub_t *hub,
                          const tnd_connection_ops_t *carrier, const tnd_hub_config_t *config);
/*  Shuts all connections. */
void tnd_connections_fini(tnd_connections_t *self);

/*  A peer that this hub connects to. */
tnd_connection_t *tnd_connections_connect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                          const tnd_terms_t *terms, void *wire, uint64_t now);
/*  It listens, as far as is known. */
void tnd_connections_connect_now(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 uint64_t now);
/*  Shuts the connection that this hub keeps to that peer and forgets the peer; returns its wire,
 * the caller's again.  NULL: there is none.
 */
void *tnd_connections_disconnect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id);
tnd_connection_t *tnd_connections_find(const tnd_connections_t *self, uint32_t port,
                                       tnd_actor_id_t id);

/*  A HELLO came to a bound port by `wire`.  Returns the peer that the wire now belongs to; NULL: it
 *  is stale, or was refused, and told so; then the wire is still the caller's.
 */
tnd_connection_t *tnd_connections_hello(tnd_connections_t *self, uint32_t port,
                                        const tnd_terms_t *terms, void *wire, const tnd_msg_t *msg,
                                        uint64_t now);
/*  Anything came by the peer's connection.  True: it is the user's. */
bool tnd_connections_heard(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                           uint64_t now);
/*  The same, and the arrival that tells the user of it. */
bool tnd_connections_deliver(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                             tnd_carry_t carry, uint64_t now, tnd_arrival_t *arrival);
/*  The transport saw the peer's connection end; `why` is for the user. */
void tnd_connections_gone(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                          uint64_t now);
/*  A peer that is up is to be ended because of what its messages say. */
void tnd_connections_disconnect_peer(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                     const char *why, uint64_t now);
/*  What came by its connection cannot be: it is to be ended, like one that is expelled. */
void tnd_connections_violated(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                              uint64_t now);
/*  It does not read what it asks for. */
void tnd_connections_does_not_read(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now);
/*  The answer to a HELLO that is not accepted; the message points to `why`. */
typedef struct {
    tnd_msg_t msg;
    char why[160];
} tnd_connections_refusal_t;
/*  Whether this HELLO may come to a port that was bound with `terms`; if not, `refusal` is the
 *  answer.  The user is told, unless the connector only came to the wrong listener.
 */
bool tnd_connections_expects(tnd_connections_t *self, uint32_t port, const tnd_terms_t *terms,
                             const tnd_msg_t *hello, tnd_connections_refusal_t *refusal);
/*  Messages that one end of a connection of that port may leave unread. */
uint32_t tnd_connections_unread(const tnd_connections_t *self, uint32_t port);
/*  Somebody without a name was turned away. */
void tnd_connections_turned_away(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 const char *why);

/*  Sends what is due on the peer's connection. */
void tnd_connections_flush(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now);
/*  Lets time pass for all peers if the deadline has come. */
void tnd_connections_tick(tnd_connections_t *self, uint64_t now);
void tnd_connections_rebirth(tnd_connections_t *self, tnd_life_t life, uint64_t now);

/*  The oldest notice, or false. */
bool tnd_connections_notice(tnd_connections_t *self, tnd_arrival_t *arrival);

#endif
