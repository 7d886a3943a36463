/*  runtime/interface/link.h - an actor's connections: the interface of a hub.
 *
 *  A hub is all the sockets of one actor (or of one host's control).  Preprocessors and feeders
 *  connect to the ports that readers, batchers and reducers bind; any number of peers may connect
 *  to a port.  In other links the downstream actor connects, for example a batcher to its reader.
 *  A hub does the handshake, the pings, the timeouts and the reconnection of every connection
 *  (link_end.h).  Its user sees only four things: a peer is UP, a peer is LOST, a peer REFUSED us
 *  or was refused, a MESSAGE.  Messages of one connection arrive in order, between UP and LOST, or
 *  not at all.
 *
 *  Nothing waits inside send: for a peer that is not up it returns TND_AGAIN, and the caller keeps
 *  the message.  Memory is bounded by credit, above this layer.  A peer of another process that
 *  asks for more than it reads is disconnected: the unread messages of each port are bounded, and a
 *  peer that exceeds the limit is LOST and must reconnect.
 *
 *  Payloads pass by pointer inside a process (no copy, no encoding) and are packed once between
 *  processes.
 *
 *  Implementations: transport/hub/ (inproc://, ipc://, tcp://, and sim:// on a simulated network);
 *  one conformance suite runs on all.
 *
 *  Threads: a hub belongs to one thread at a time (starting a thread hands it over); only
 *  tnd_hub_wake may be called elsewhere. */
#ifndef TND_RUNTIME_INTERFACE_LINK_H
#define TND_RUNTIME_INTERFACE_LINK_H

#include "runtime/core/protocol/absence.h"
#include "runtime/core/protocol/admission.h"
#include "runtime/core/protocol/link_end.h"
#include "runtime/core/protocol/message_table.h"
#include "runtime/data/block.h"

typedef struct tnd_hub tnd_hub_t;

enum {
    TND_WIRE_ABI = 19,         /* of the wire header and of what messages mean */
    TND_FRAME_MAX = 256 << 20, /* bytes of one frame: a larger one ends its connection */
    TND_LINK_ROOM_MIN = 64,    /* bytes */
    TND_UNREAD = 1024,         /* messages that may be unread, by default */
    TND_GUESTS_MAX = 8,        /* see is_guest */
    TND_UNREAD_WORDS = 64      /* of the handshake, pings and answers beside them: see link_end.h */
};

enum { TND_ENDPOINT_SIZE = 128 }; /* of the text of an endpoint */

/*  The actor id of the control of a host. */
static inline tnd_actor_id_t tnd_host_id(uint32_t host)
{
    return 0x80000000u + host;
}

/*  Drops the payload that travels with a message, if it is still there. */
void tnd_msg_drop(tnd_msg_t *msg, tnd_carry_t carry);
/*  Call this after reading the rows: TND_FAILED means that a mapped file lost some of them
 *  (runtime/data/mapped.h). */
tnd_status_t tnd_msg_intact(const tnd_msg_t *msg, tnd_carry_t carry,
                            tnd_error_t *error) TND_CHECKED;

typedef enum {
    TND_ARRIVAL_UP,
    TND_ARRIVAL_LOST,
    TND_ARRIVAL_REFUSED,
    TND_ARRIVAL_MESSAGE
} tnd_arrival_kind_t;

typedef struct {
    tnd_arrival_kind_t kind;
    uint32_t port;
    tnd_actor_id_t peer;
    tnd_life_t life;  /* of the peer, with UP (binding side) */
    tnd_life_t birth; /* the first of the lives that resume one another */
    tnd_carry_t carry;
    tnd_msg_t msg;              /* of a MESSAGE; its payload belongs to the receiver */
    const tnd_cursor_t *cursor; /* of a REWIND; valid until the next receive */
    tnd_loss_t loss;            /* of LOST */
    bool is_foreign;  /* REFUSED because of its user or machine: it may be no peer of this run */
    char why[256];    /* of REFUSED and LOST: for texts */
    char address[48]; /* of REFUSED, at the binding side; "": not known */
} tnd_arrival_t;

typedef struct {
    tnd_actor_id_t self;
    const char *name; /* "read.0", for identities and texts */
    tnd_life_t life;
    uint64_t link_timeout_ns;
    uint64_t search_ns; /* how long a peer is searched for at its endpoint */
    /*  Whether a peer is inside a work hook now, so that its silence does not count; NULL: never.
     */
    bool (*busy)(void *context, tnd_actor_id_t peer);
    void *context;
    /*  The schema of rows that come in by a port, for decoding; NULL: no rows come in there. */
    const tnd_schema_t *(*schema)(void *context, uint32_t port, const tnd_msg_t *msg);
    uint64_t frame_max; /* bytes; a larger one ends its connection */
    /*  Whether `peer` may come to a bound port; others are refused.  NULL: every peer with matching
     *  terms. */
    bool (*expects)(void *context, uint32_t port, tnd_actor_id_t peer);
    /*  The maximum number of unread messages in each direction between this hub and a remote peer
     *  on that port, within credit.  NULL: TND_UNREAD. */
    uint32_t (*unread)(void *context, uint32_t port);
    /*  How many peers may come to one bound port, all at once at the start of a run. */
    uint32_t callers;
    /*  Whether a peer is a guest, which takes no part in the run: it need not know the graph.  Only
     *  TND_GUESTS_MAX are accepted at a time.  A guest is forgotten when its connection ends.  NULL:
     *  none is. */
    bool (*is_guest)(void *context, uint32_t port, tnd_actor_id_t peer);
    /*  Which processes may be at the other end, whichever end has connected; outlives the hub.
     *  NULL: all. */
    const tnd_admission_t *admission;
} tnd_hub_config_t;

/*  Counters of a hub, for statistics; read by its thread. */
typedef struct {
    uint64_t messages_in, messages_out, bytes_in, bytes_out, bytes_copied, refused, lost;
} tnd_hub_counts_t;

typedef struct tnd_hub_ops {
    const char *name;
    tnd_status_t (*open)(tnd_hub_t **self_p, void *context, const tnd_hub_config_t *config,
                         tnd_error_t *error);
    tnd_status_t (*bind)(tnd_hub_t *self, uint32_t port, const char *endpoint,
                         const tnd_terms_t *terms, char *actual, size_t room, tnd_error_t *error);
    tnd_status_t (*connect)(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer,
                            const char *endpoint, const tnd_terms_t *terms, tnd_error_t *error);
    void (*disconnect)(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer);
    void (*connect_now)(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer);
    bool (*refused)(const tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer);
    uint64_t (*round_trip)(const tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer);
    void (*disconnect_peer)(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer, const char *why);
    void (*rebirth)(tnd_hub_t *self, tnd_life_t life);
    tnd_status_t (*send)(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer, const tnd_msg_t *msg,
                         tnd_carry_t carry);
    tnd_status_t (*receive)(tnd_hub_t *self, tnd_arrival_t *arrival);
    void (*flush)(tnd_hub_t *self);
    tnd_status_t (*wait)(tnd_hub_t *self, uint64_t until_ns);
    void (*wake)(tnd_hub_t *self);
    void (*counts)(const tnd_hub_t *self, tnd_hub_counts_t *counts);
    void (*close)(tnd_hub_t **self_p, uint64_t linger_ns);
} tnd_hub_ops_t;

/*  How many file descriptors connections take.  Inside a process they take none. */
typedef struct {
    uint32_t context;  /* of a session */
    uint32_t hub;      /* of each hub */
    uint32_t listener; /* an endpoint that other processes connect to */
    uint32_t dialled;  /* a connection at the end that opened it */
    uint32_t accepted; /* and at the other end */
} tnd_link_cost_t;

/*  What the hubs of a session share.  transport/hub/hubs.def lists the implementations. */
typedef struct tnd_network {
    const tnd_hub_ops_t *hub;
    void *(*create)(void);                /* the context of one session's hubs */
    void (*destroy)(void **context_p);    /* after all hubs were closed */
    uint64_t (*now)(const void *context); /* the clock of deadlines and waits */
    const char *const *endpoints; /* for tests: one per scheme, %ld: the process; NULL ends */
    bool is_simulated;            /* one thread; a wait advances the clock */
    tnd_link_cost_t cost;
} tnd_network_t;

/*  The one that sessions use. */
extern const tnd_network_t *const tnd_network;

/*  Every implementation begins with this. */
struct tnd_hub {
    const tnd_hub_ops_t *ops;
};

/*  Opens a hub of the process's transport (`context`: transport/zmq/context.h, or a simulated net).
 */
static inline tnd_status_t tnd_hub_open(const tnd_hub_ops_t *ops, tnd_hub_t **self_p, void *context,
                                        const tnd_hub_config_t *config, tnd_error_t *error)
{
    return ops->open(self_p, context, config, error);
}

/*  Bytes of the buffer that a hub packs so many bytes into, for another process. */
static inline size_t tnd_link_room(size_t bytes)
{
    size_t room = TND_LINK_ROOM_MIN;
    while (room < bytes)
        room *= 2;
    return room;
}

/*  Binds `port` at an endpoint ("tcp://10.0.0.1:*", "ipc://PATH", "ipc://@NAME", "inproc://NAME");
 *  peers must say HELLO with fitting `terms`.  A port may be bound once per transport.  Each
 *  binding has its own socket, because only messages from this process may contain pointers.
 *  `actual` gets the endpoint to connect to.
 *  Errors: TND_FAILED if the endpoint is in use or not an address of this machine. */
static inline tnd_status_t tnd_hub_bind(tnd_hub_t *self, uint32_t port, const char *endpoint,
                                        const tnd_terms_t *terms, char *actual, size_t room,
                                        tnd_error_t *error)
{
    return self->ops->bind(self, port, endpoint, terms, actual, room, error);
}

/*  Connects `port` to `peer` and reconnects after a loss.  Call tnd_hub_disconnect before
 *  connecting the same pair again. */
static inline tnd_status_t tnd_hub_connect(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer,
                                           const char *endpoint, const tnd_terms_t *terms,
                                           tnd_error_t *error)
{
    return self->ops->connect(self, port, peer, endpoint, terms, error);
}

/*  Ends a connection that this hub opened, without an arrival LOST. */
static inline void tnd_hub_disconnect(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer)
{
    self->ops->disconnect(self, port, peer);
}

/*  Opens a connection to a peer that is known to listen, if it is down, at once and not after its
 *  back-off. */
static inline void tnd_hub_connect_now(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer)
{
    self->ops->connect_now(self, port, peer);
}

/*  Whether the last attempt to open that connection was refused: nothing listens there. */
static inline bool tnd_hub_refused(const tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer)
{
    return self->ops->refused(self, port, peer);
}

/*  What a round trip to that peer takes at most, as a rule, when the connection was last quiet; 0:
 *  not known, as for peers on the same machine. */
static inline uint64_t tnd_hub_round_trip(const tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer)
{
    return self->ops->round_trip(self, port, peer);
}

/*  Disconnects a peer that broke the protocol.  LOST carries the reason, and the peer may
 *  reconnect.  Does nothing if the peer is not connected. */
static inline void tnd_hub_disconnect_peer(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer,
                                           const char *why)
{
    self->ops->disconnect_peer(self, port, peer, why);
}

/*  Closes all connections that this hub opened and opens them again in a new life. */
static inline void tnd_hub_rebirth(tnd_hub_t *self, tnd_life_t life)
{
    self->ops->rebirth(self, life);
}

/*  Sends to a peer; msg->to may name an actor that it routes to (control is routed by hosts).
 *  TND_OK takes the payload; TND_AGAIN: that peer is not up, nothing was taken.  TND_FAILED: rows
 *  in a mapped file were lost while they were packed (tnd_msg_intact says which), and nothing was
 *  sent or taken. */
static inline tnd_status_t tnd_hub_send(tnd_hub_t *self, uint32_t port, tnd_actor_id_t peer,
                                        const tnd_msg_t *msg, tnd_carry_t carry)
{
    return self->ops->send(self, port, peer, msg, carry);
}

/*  The next arrival without waiting; TND_AGAIN: none is known, or many messages were dropped that
 *  are not for the caller.  Repeated calls may report a message slightly late, because they avoid
 *  system calls.  The next tnd_hub_wait reports everything. */
static inline tnd_status_t tnd_hub_receive(tnd_hub_t *self, tnd_arrival_t *arrival)
{
    return self->ops->receive(self, arrival);
}

/*  Wakes the receivers of messages sent inside the process.  tnd_hub_wait does so too, and
 *  tnd_hub_receive where it returns TND_AGAIN; call this before long work. */
static inline void tnd_hub_flush(tnd_hub_t *self)
{
    self->ops->flush(self);
}

/*  Sleeps until something arrived, a connection needs care, a thread woke the hub or `until_ns`
 *  (monotonic clock) has come. */
static inline tnd_status_t tnd_hub_wait(tnd_hub_t *self, uint64_t until_ns)
{
    return self->ops->wait(self, until_ns);
}

/*  Ends the wait of the owner, now or the next one.  Any thread, signal-safe. */
static inline void tnd_hub_wake(tnd_hub_t *self)
{
    self->ops->wake(self);
}

static inline void tnd_hub_counts(const tnd_hub_t *self, tnd_hub_counts_t *counts)
{
    self->ops->counts(self, counts);
}

/*  Closes all connections.  Messages already sent have `linger_ns` to leave, and the peer receives
 *  them before it sees LOST. */
static inline void tnd_hub_close(tnd_hub_t **self_p, uint64_t linger_ns)
{
    if (*self_p != NULL)
        (*self_p)->ops->close(self_p, linger_ns);
}

#endif
