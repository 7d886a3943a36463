/*  runtime/core/link_end.h - one end of a connection: handshake, silence, back-off.
 *
 *  One socket, one connection, one identity (life, connection).  libzmq never reconnects for us: a
 *  connection that ended, whose HELLO is unanswered or that is silent for `link_timeout` is given
 *  up by the connecting end, which then opens a new one under a new identity, after a back-off that
 *  doubles from 10 ms to 1 s and starts anew once a connection was welcomed.  The binding end keeps
 * one end a peer and lets it go when it is silent, when the same actor says HELLO again from a
 * later connection or life, or when the transport saw the connection end.
 *
 *  Silence is not counted while the peer is inside a work hook (`busy`): it cannot answer then.  An
 *  end that has sent nothing for a quarter of `link_timeout` pings; a ping is answered by a pong.
 *
 *  Used by every link, real or simulated; the driver sends what `next` says on the socket of this
 *  end and nothing else of the kinds HELLO ... PONG.
 */
#ifndef TND_RUNTIME_CORE_LINK_END_H
#define TND_RUNTIME_CORE_LINK_END_H

#include "runtime/core/effect.h"

typedef enum {
    TND_END_CLOSED,  /* no connection; a connecting end opens one at its deadline */
    TND_END_OPENING, /* socket open, HELLO sent */
    TND_END_OPEN,    /* welcomed */
    TND_END_REFUSED  /* the binder does not want us: final, with a text */
} tnd_end_state_t;

/*  What changed with an event: at most one thing. */
typedef enum {
    TND_END_NOTHING,
    TND_END_CONNECT, /* open a new socket under (life, connection) and call tnd_end_connected */
    TND_END_UP,      /* rows may flow */
    TND_END_LOST,    /* close the socket: what was in flight is lost */
    TND_END_REFUSAL  /* close the socket; `why` says why */
} tnd_end_change_t;

typedef struct {
    tnd_actor_id_t self, peer;
    tnd_terms_t terms;
    uint64_t link_timeout_ns;
    bool binder;
} tnd_end_config_t;

typedef struct {
    tnd_end_config_t config;
    tnd_end_state_t state;
    tnd_life_t life;     /* the connecting actor's */
    uint32_t connection; /* of that life: this one, or the next one when closed */
    uint32_t failures;   /* since the last UP: sets the back-off */
    uint64_t heard_ns, said_ns, retry_ns;
    bool hello_due, welcome_due, refuse_due, ping_due, pong_due;
    char why[160];
} tnd_end_t;

void tnd_end_init(tnd_end_t *self, const tnd_end_config_t *config, tnd_life_t life, uint64_t now);

/*  A connecting end: begins a new life (all connections of the old one are void). */
void tnd_end_rebirth(tnd_end_t *self, tnd_life_t life, uint64_t now);

/*  The socket asked for by TND_END_CONNECT is open. */
void tnd_end_connected(tnd_end_t *self, uint64_t now);

/*  The transport saw the connection end. */
tnd_end_change_t tnd_end_disconnected(tnd_end_t *self, uint64_t now);

/*  Any message of the peer on this connection.  HELLO ... PONG are used up here; of the others only
 *  the fact that they came counts, and they are the actor's if the end is open.
 *  A binder's end for a peer takes HELLO of a later identity as: LOST (call again), then UP.
 */
tnd_end_change_t tnd_end_heard(tnd_end_t *self, const tnd_msg_t *msg, uint64_t now);

/*  Time has passed.  `busy`: the peer is inside a work hook. */
tnd_end_change_t tnd_end_tick(tnd_end_t *self, bool busy, uint64_t now);

/*  The next message of the kinds HELLO ... PONG to send on the socket, or false. */
bool tnd_end_next(tnd_end_t *self, uint64_t now, tnd_msg_t *msg);

/*  The driver sent something else: that counts as a sign of life. */
void tnd_end_said(tnd_end_t *self, uint64_t now);

/*  When tick must be called at the latest; TND_NEVER for a refused end. */
uint64_t tnd_end_deadline(const tnd_end_t *self);

#endif
