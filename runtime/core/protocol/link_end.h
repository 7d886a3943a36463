/*  runtime/core/protocol/link_end.h - one end of a connection: handshake, silence, back-off.
 *
 *  One socket, one connection, one identity (life, connection).  libzmq never reconnects for us: a
 *  connection that ended, whose HELLO is unanswered or that is silent for `link_timeout` is given
 *  up by the connecting end, which then opens a new one under a new identity.  Between the
 *  beginnings of two attempts lies a quarter of the time that it has had none, from 10 ms to 1 s:
 *  who comes back is found soon in proportion, and at once if that is known (hurry).  The binding
 *  end keeps one end a peer and lets it go when it is silent, when the same actor says HELLO again
 *  from a later connection or life, or when the transport saw the connection end.
 *
 *  Silence is the absence of bytes, not of messages: on a slow link one message may take minutes.
 *  The transport is asked for bytes when no message has come or gone for a quarter of
 *  `link_timeout` (quiet), and says when it saw some (moved).  Bytes show that the link works and
 *  the peer's system lives, not that its process does: the buffers of a stopped process may take
 *  long to empty.  Whether a process is alive is decided by control (`dead_after`).
 *
 *  What two round trips take comes on top of `link_timeout`, as far as the transport knows it:
 * where the buffers of a slow link hold two seconds of data, a sender that lost a packet, or fears
 * so, stops for as long.  While bytes that went are not acknowledged by the other system, the path
 *  itself is slow or broken, and a new connection would fare no better: TND_END_OVERDUE.  Before
 * the handshake nothing is known, so an attempt may also be silent for half of the time that the
 * end has had no connection, or for as long as the last handshake took.  All of this is bounded
 *  (TND_END_PATIENCE): a long delay makes a connection late, but neither ends nor prevents it.
 *
 *  A proxy may acknowledge at once what it delivers late, so the transport sees a short path.  The
 *  connecting end therefore pings from its HELLO on, not only from WELCOME on: both ends hear a
 * word every quarter of `link_timeout`, each as late as the one before.
 *
 *  Silence is not counted while the peer is inside a work hook (`busy`): it cannot answer then. Nor
 *  is the time by which a tick comes later than it was due: this end was away itself (in a hook,
 *  stopped, without a processor), and what was said meanwhile still lies unread.  An end whose
 * bytes have not moved for a quarter of `link_timeout` pings; it answers a ping by a pong on the
 * same condition.  What is still on its way out is as good a sign of life, and a word queued after
 * it would tell nothing.  After TND_END_PINGS pings without a word it waits for one: they lie
 * unread, more tell nothing.
 *
 *  An end that gives up an open connection because it is silent says GOODBYE on it: so the other
 *  end knows that the process lives, which the end of a connection does not tell.
 *
 *  What a driver does, at both ends.  After every event it acts on the change that the event
 *  returned, then sends all that `next` says on this connection, before anything of the actor's: so
 *  WELCOME precedes the first block.  It sends nothing else of the kinds HELLO ... PONG, and calls
 *  `tick` whenever the deadline has come.
 *
 *  A HELLO is hostile until it fits.  What a binding end requires must be said: a zero is no
 * answer. A life that no clock can name is refused, and a HELLO that is refused neither ends a
 * connection that is up nor makes a binding end forget the life that it knows.  A stranger that
 * knows the terms and names a later life takes the peer's place: only keys could tell it apart.
 *
 *  A connecting end has one socket at a time and passes on only what that socket brings.  A binding
 *  end belongs to a peer actor, not to a connection: the driver finds it by `from` of a HELLO and
 *  remembers the routing id that the HELLO came from; what comes from other routing ids, or from
 * one that was let go, is not passed on unless it is a HELLO.  When `heard` returns TND_END_LOST,
 * the old connection is let go and the same message is passed once more, now as the new
 * connection's. A HELLO that is not of a later identity than one heard before changes nothing: it
 * is the late message of a dead connection.  Only if it is of an earlier life is it answered
 *  (STALE), for lives begin with the time of day, and a clock may have gone back: a process that
 *  was never welcomed takes a later life then and comes again.  One that was welcomed has been
 *  replaced, however late it finds out, and is refused; so of two that run under one name the one
 *  that came later stays.
 *
 *  Endpoints are reused: a restarted actor may bind a port of its own, or of another actor, where a
 *  stale announcement still sends peers.  So HELLO names the listener that it means, and the driver
 *  of a binding end asks tnd_end_is_meant first.  A connector that reached another listener was not
 *  refused by its peer: it closes and dials again, with back-off, until the driver learns the new
 *  endpoint and makes a new end.  Only after `search_ns` without an answer of the peer is it final.
 */
#ifndef TND_RUNTIME_CORE_PROTOCOL_LINK_END_H
#define TND_RUNTIME_CORE_PROTOCOL_LINK_END_H

#include "runtime/core/protocol/effect.h"

enum {
    TND_END_PATIENCE = 8, /* times link_timeout, at most, that a slow link is given beyond it */
    TND_END_OVERDUE = 3,  /* times link_timeout, likewise, while acknowledgements are overdue */
    TND_END_PINGS = 4 * (1 + TND_END_PATIENCE) /* as many as are sent until a silent peer is lost */
};

/*  What the transport knows of a connection beside its messages. */
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
    TND_END_REFUSED  /* connector: the binder does not want us, final, with a text; binder: the peer
                        does not fit, until it says HELLO from a later connection */
} tnd_end_state_t;

/*  What changed with an event: at most one thing. */
typedef enum {
    TND_END_NOTHING,
    TND_END_CONNECT, /* open a new socket under (life, connection) and call tnd_end_connected, or
                        tnd_end_disconnected if that fails */
    TND_END_UP,      /* rows may flow, once what `next` says was sent */
    TND_END_LOST,    /* send what `next` says, close the socket: what was in flight is lost */
    TND_END_REFUTED, /* binder: a HELLO that cannot be the peer's, while that is up; nothing has
                        changed here; send tnd_end_refute by the connection that it came by, which
                        is not kept */
    TND_END_STALE,   /* binder: nothing has changed here; send tnd_end_stale by the connection that
                        the HELLO came by, which is not kept */
    TND_END_REFUSAL  /* `why` says why; send what `next` says (the binder's REFUSE), then close */
} tnd_end_change_t;

typedef struct {
    tnd_actor_id_t self, peer;
    tnd_terms_t terms;
    tnd_life_t birth; /* connector: the actor's first life, the same in all that follow it */
    uint64_t link_timeout_ns;
    uint64_t search_ns; /* connector: how long others may answer in place of the peer */
    bool binder;
} tnd_end_config_t;

typedef struct {
    tnd_end_config_t config;
    tnd_end_state_t state;
    tnd_life_t life;  /* the connecting actor's */
    tnd_life_t birth; /* binder: the connecting actor's; another one: another process or thread */
    uint32_t connection; /* of that life: this one, or the next one when closed (connector) */
    uint32_t pings;      /* since it was heard */
    uint64_t begun_ns;   /* when this connection was asked for, or its HELLO came */
    uint64_t heard_ns, said_ns, ticked_ns, retry_ns;
    uint64_t round_ns;     /* what a round trip takes, as far as is known */
    bool overdue;          /* the other system does not acknowledge what was sent */
    uint64_t handshake_ns; /* connector: what the last handshake took; 0: none was completed */
    uint64_t away_ns;      /* connector: since when it has not been up */
    /*  Connector: when another listener answered last in place of the peer (0: none did), and for
     *  how long such answers have come, the time that this end was away left out.
     */
    uint64_t elsewhere_ns, searched_ns;
    bool known;    /* binder: (life, connection) is the latest identity heard of */
    bool welcomed; /* connector: once at least, so that the peer knows it by name */
    bool hello_due, welcome_due, refuse_due, ping_due, pong_due, goodbye_due;
    char why[256];
} tnd_end_t;

/*  `life` is that of the connecting actor; a binding end learns it and ignores the argument. */
void tnd_end_init(tnd_end_t *self, const tnd_end_config_t *config, tnd_life_t life, uint64_t now);

/*  A connecting end: begins a new life (all connections of the old one are void, and the driver has
 *  closed its socket): this one, or a later one if it has raised its own.  A refused end stays
 *  refused.
 */
void tnd_end_rebirth(tnd_end_t *self, tnd_life_t life, uint64_t now);

/*  The socket asked for by TND_END_CONNECT is open. */
void tnd_end_connected(tnd_end_t *self, uint64_t now);

/*  The peer listens, as far as is known, maybe since now: a connecting end that waits to open a
 *  connection does it at once, and its back-off begins anew.
 */
void tnd_end_connect_now(tnd_end_t *self, uint64_t now);

/*  The transport saw the connection end: LOST, or nothing if there was none. */
tnd_end_change_t tnd_end_disconnected(tnd_end_t *self, uint64_t now);

/*  Any message of the peer on this connection.  HELLO ... PONG are used up here; of the others only
 *  the fact that they came counts, and they are the actor's if the end is open.
 *  LOST comes from a binding end for a HELLO of a later identity while it had a connection: call
 *  again with the same message, which then brings UP or REFUSAL.  From a connecting end it comes if
 *  that has to take a later life, or another listener answered, and from both for a GOODBYE.
 */
tnd_end_change_t tnd_end_heard(tnd_end_t *self, const tnd_msg_t *msg, uint64_t now);

/*  Whether a HELLO means the listener that was bound with `ours`.  If not, the driver answers with
 * a REFUSE that says `elsewhere`, and does not pass the HELLO on.
 */
bool tnd_end_is_meant(const tnd_terms_t *ours, const tnd_msg_t *hello);

/*  Whether no message has come, or none has gone, for so long that the driver looks for bytes
 * before it ticks or passes a PING on.
 */
bool tnd_end_is_quiet(const tnd_end_t *self, uint64_t now);

/*  What the transport sees of this connection: bytes may be of messages that are not complete. */
void tnd_end_moved(tnd_end_t *self, const tnd_movement_t *movement);

/*  Time has passed.  `busy`: the peer is inside a work hook; the time since the last tick does not
 *  count as silence then.  Of the time since a tick that was due a quarter of link_timeout after
 *  the last one, no more than that quarter does.
 */
tnd_end_change_t tnd_end_tick(tnd_end_t *self, bool busy, uint64_t now);

/*  The next message of the kinds HELLO ... PONG to send on the connection, or false.  The text of a
 *  REFUSE is valid until the next event.
 */
bool tnd_end_next(tnd_end_t *self, uint64_t now, tnd_msg_t *msg);

/*  What a binding end answers to a HELLO that cannot be its peer's; the text is `why`, valid until
 *  the next event.
 */
tnd_msg_t tnd_end_refute(const tnd_end_t *self);

/*  What a binding end answers to a HELLO of an earlier life than the one it knows. */
tnd_msg_t tnd_end_stale(const tnd_end_t *self);

/*  The driver sent something else: that counts as a sign of life. */
void tnd_end_said(tnd_end_t *self, uint64_t now);

/*  When tick must be called at the latest; TND_NEVER for a refused end and for a binding one that
 *  has no connection.
 */
uint64_t tnd_end_deadline(const tnd_end_t *self);

#endif
