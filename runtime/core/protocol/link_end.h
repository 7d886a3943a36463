/*  runtime/core/protocol/link_end.h - one end of a connection: handshake, silence, back-off.
 *
 *  An end has one socket, one connection and one identity (life, connection).  libzmq never
 *  reconnects.  The connecting end gives up a connection that ended, whose HELLO is unanswered, or
 *  that is silent for `link_timeout`, and opens a new one with a new identity.  The interval
 *  between attempts is a quarter of the time without a connection, from 10 ms to 1 s; an end that
 *  knows that its peer listens connects at once (connect_now).  The binding end has one end per
 *  peer.  It drops the connection when it is silent or ended, or when a HELLO of the same peer has
 *  a later identity.
 *
 *  Silence is the absence of bytes, not of messages: on a slow link one message may take minutes.
 *  The driver asks the transport for bytes when no message came or went for a quarter of
 *  `link_timeout` (quiet), and passes on what it saw (moved).  Bytes show that the path and the
 *  peer's system work, not its process: the buffers of a stopped process may empty slowly.  Control
 *  decides whether a process is alive (`dead_after`).
 *
 *  Patience is added to `link_timeout`:
 *  - two round trips, as far as the transport knows them: a sender that suspects a lost packet on a
 *    slow link stops for as long as its buffers hold data;
 *  - TND_END_OVERDUE while the other system does not acknowledge bytes: the path itself is slow or
 *    broken, and a new connection would not be faster;
 *  - before the handshake, half of the time without a connection, or what the last handshake took.
 *  The sum is at most TND_END_PATIENCE: a long delay makes a connection late, but neither ends nor
 *  prevents it.
 *
 *  A proxy may acknowledge at once what it delivers late, so the transport sees a short path.  The
 *  connecting end therefore pings from its HELLO on: both ends receive a message every quarter of
 *  `link_timeout`, each as late as the one before.
 *
 *  Silence is not counted while the peer runs a work hook (`busy`).  A late tick counts as a quarter
 *  of `link_timeout`, because this process was not running and has unread messages.  It leaves at
 *  least a quarter to read them.  If the peer has been silent for too long then, this happens once.
 *
 *  An end that has sent no byte for a quarter of `link_timeout` pings, and answers a ping only then,
 *  because bytes that leave count as a sign of life.  It stops pinging after TND_END_PINGS unanswered
 *  pings, because the peer does not read.
 *
 *  An end that gives up an open connection as silent says GOODBYE on it, so the peer knows that the
 *  process lives.
 *
 *  Drivers of both ends act on the change that an event returned.  Then they send all messages of
 *  `next` before any of the actor's, so WELCOME precedes the first block.  They send nothing else
 *  of the kinds HELLO ... PONG, and call `tick` at each deadline.
 *
 *  A HELLO is hostile until it is accepted.  It must state all terms that the binding end requires,
 *  and a possible life.  A refused HELLO neither ends a connection nor changes the known life.  A
 *  peer with matching terms and a later life replaces the known peer.  Without authentication
 *  Tundish cannot detect an impostor.
 *
 *  A connecting end passes on only messages of its one socket.  A binding end belongs to an actor:
 *  its driver finds it by `from` of a HELLO and notes the routing id.  Messages of other routing
 *  ids are not passed on unless they are a HELLO.  When `heard` returns TND_END_LOST, the driver
 *  drops the old connection and passes the same message again, as the new connection's.
 *
 *  A HELLO of an earlier identity is late and changes nothing.  One of an earlier life is answered
 *  (STALE), because lives begin with the time of day and a clock may have gone back.  After STALE,
 *  a process that was never welcomed retries with a later life.  Among such lives the order is that
 *  of births, 65 us apart or more.  One that was welcomed before is refused: the later of two
 *  processes with one name replaces the earlier.
 *
 *  Endpoints are reused: a restarted actor may bind a port that peers still know as another one.
 *  So HELLO names its listener, and the driver of a binding end calls tnd_end_is_meant first.  A
 *  connector that reached another listener dials again, with back-off, until its driver learns the
 *  new endpoint.  After `search_ns` without an answer of the peer it is refused.
 *
 *  Threads: the driver's. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_LINK_END_H
#define TND_RUNTIME_CORE_PROTOCOL_LINK_END_H

#include "runtime/core/protocol/effect.h"

enum {
    TND_END_PATIENCE = 8, /* maximum extra patience for a slow link, in multiples of link_timeout */
    TND_END_OVERDUE = 3,  /* likewise, while acknowledgements are overdue */
    TND_END_PINGS = 4 * (1 + TND_END_PATIENCE) /* unanswered pings until a silent peer is lost */
};

/*  What the transport knows of a connection besides its messages. */
typedef struct {
    uint64_t came_ns;  /* when bytes came last; 0: none have since the last look */
    uint64_t went_ns;  /* when bytes went last, likewise */
    uint64_t round_ns; /* what a round trip takes at most, as a rule; 0: not known */
    bool overdue;      /* bytes that went are not acknowledged by the other system */
} tnd_movement_t;

typedef enum {
    TND_END_CLOSED,  /* no connection; a connecting end opens one at its deadline */
    TND_END_OPENING, /* socket asked for, HELLO sent */
    TND_END_OPEN,    /* welcomed */
    TND_END_REFUSED  /* connector: final, with a text; binder: until a later HELLO of the peer */
} tnd_end_state_t;

/*  What an event changed: at most one thing. */
typedef enum {
    TND_END_NOTHING,
    TND_END_CONNECT, /* open a new socket under (life, connection) and call tnd_end_connected, or
                        tnd_end_disconnected if that fails */
    TND_END_UP,      /* rows may flow after the messages of `next` */
    TND_END_LOST, /* send the messages of `next`, close the socket; messages in flight are lost */
    TND_END_REFUTED, /* binder: a HELLO that cannot be the peer's, which is up; answer with
                        tnd_end_refute and close that connection */
    TND_END_STALE,   /* binder: answer with tnd_end_stale and close that connection */
    TND_END_REFUSAL  /* because of `why`: send the messages of `next`, then close */
} tnd_end_change_t;

typedef struct {
    tnd_actor_id_t self, peer;
    tnd_terms_t terms;
    tnd_life_t birth; /* connector: the actor's first life, the same in all that follow it */
    uint64_t link_timeout_ns;
    uint64_t search_ns; /* connector: how long other listeners may answer */
    bool binder;
} tnd_end_config_t;

typedef struct {
    tnd_end_config_t config;
    tnd_end_state_t state;
    tnd_life_t life;  /* the connecting actor's */
    tnd_life_t birth; /* binder: the connecting actor's; it differs for another process or thread */
    uint32_t connection; /* of that life; of a closed connector, the next one */
    uint32_t pings;      /* since the last message */
    bool spared;         /* likewise: it was silent for too long when this end was away itself */
    uint64_t begun_ns;   /* when this connection was asked for, or its HELLO came */
    uint64_t heard_ns, said_ns, ticked_ns, retry_ns;
    uint64_t round_ns;     /* what a round trip takes, as far as is known */
    bool overdue;          /* the other system does not acknowledge what was sent */
    uint64_t handshake_ns; /* connector: what the last handshake took; 0: none was completed */
    uint64_t away_ns;      /* connector: since when it has not been up */
    /*  Connector: when another listener last answered (0: none did), and for how long, without the
     *  time that this end was away. */
    uint64_t elsewhere_ns, searched_ns;
    bool known;    /* binder: (life, connection) is valid */
    bool welcomed; /* connector: at least once */
    bool hello_due, welcome_due, refuse_due, ping_due, pong_due, goodbye_due;
    char why[256];
} tnd_end_t;

/*  `life` is that of the connecting actor; a binding end learns it and ignores the argument. */
void tnd_end_init(tnd_end_t *self, const tnd_end_config_t *config, tnd_life_t life, uint64_t now);

/*  A connecting end whose socket was closed begins a new life: this one, or a later one if it has
 *  raised its own.  A refused end stays refused. */
void tnd_end_rebirth(tnd_end_t *self, tnd_life_t life, uint64_t now);

/*  The socket asked for by TND_END_CONNECT is open. */
void tnd_end_connected(tnd_end_t *self, uint64_t now);

/*  The peer listens: a connecting end without a connection opens one at once, and its back-off
 *  restarts. */
void tnd_end_connect_now(tnd_end_t *self, uint64_t now);

/*  The transport saw the connection end: LOST, or nothing if there was none. */
tnd_end_change_t tnd_end_disconnected(tnd_end_t *self, uint64_t now);

/*  Any message of the peer on this connection.  Messages after PONG are the actor's if the end is
 *  open.  LOST: a binding end heard a HELLO of a later identity (call again with the same message,
 *  which brings UP or REFUSAL), a connecting end takes a later life or reached another listener, or
 *  either heard GOODBYE. */
tnd_end_change_t tnd_end_heard(tnd_end_t *self, const tnd_msg_t *msg, uint64_t now);

/*  Whether a HELLO means the listener that was bound with `ours`.  If not, the driver answers with
 *  a REFUSE that has `elsewhere` set, and does not pass the HELLO on. */
bool tnd_end_is_meant(const tnd_terms_t *ours, const tnd_msg_t *hello);

/*  Whether the driver must ask for bytes before it ticks or passes a PING on. */
bool tnd_end_is_quiet(const tnd_end_t *self, uint64_t now);

/*  What the transport sees of this connection, also of incomplete messages. */
void tnd_end_moved(tnd_end_t *self, const tnd_movement_t *movement);

/*  Time has passed.  `busy`: the peer runs a work hook, so the time since the last tick is not
 *  silence.  At most a quarter of `link_timeout` is counted per tick. */
tnd_end_change_t tnd_end_tick(tnd_end_t *self, bool busy, uint64_t now);

/*  The next message of the kinds HELLO ... PONG to send on the connection, or false.  The text of a
 *  REFUSE is valid until the next event. */
bool tnd_end_next(tnd_end_t *self, uint64_t now, tnd_msg_t *msg);

/*  The answer of a binding end after TND_END_REFUTED; its text is valid until the next event. */
tnd_msg_t tnd_end_refute(const tnd_end_t *self);

/*  The answer of a binding end after TND_END_STALE. */
tnd_msg_t tnd_end_stale(const tnd_end_t *self);

/*  The driver sent another message, which counts as a sign of life. */
void tnd_end_said(tnd_end_t *self, uint64_t now);

/*  When tick must be called at the latest; TND_NEVER for a refused end and for a binding one that
 *  has no connection. */
uint64_t tnd_end_deadline(const tnd_end_t *self);

#endif
