/*  runtime/host/leader.h - what the first host does beside being a host: it leads.
 *
 *  It holds the barriers of the start, one session machine a chain, and the account of what steps
 *  reported.  A process that takes the place of one that died passes the same barriers alone, while
 *  the run goes on; all are told anew where everybody listens.  It decides nothing that a machine
 * of runtime/core/ decides; it carries messages between them and the hosts.
 *
 *  Threads: the host's.
 */
#ifndef TND_RUNTIME_HOST_LEADER_H
#define TND_RUNTIME_HOST_LEADER_H

#include "runtime/host/host.h"

typedef struct tnd_leader tnd_leader_t;

/*  How a leader speaks: `send` takes the payload; `msg->to` is an instance or a host's id. */
typedef struct {
    void *context;
    void (*send)(void *context, const tnd_msg_t *msg, tnd_carry_t carry);
    void (*end)(void *context, tnd_outcome_t outcome, const char *why);
    void (*wake)(void *context); /* any thread: there is work for the leader */
} tnd_leader_voice_t;

tnd_leader_t *tnd_leader_new(const tnd_host_config_t *config, const tnd_leader_voice_t *voice,
                             uint64_t now);
void tnd_leader_destroy(tnd_leader_t **self_p);

/*  A host's control connection is there / has ended (it may come back). */
void tnd_leader_host_up(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now);
void tnd_leader_host_away(tnd_leader_t *self, uint32_t host, tnd_loss_t loss, const char *why,
                          uint64_t now);
/*  The leader itself was away for so long: hosts that are away have so much longer to come back. */
void tnd_leader_excuse(tnd_leader_t *self, uint64_t away_ns, uint64_t now);
/*  Somebody who came as that host did not fit, and was told so. */
void tnd_leader_refused(tnd_leader_t *self, uint32_t host, const char *why);
/*  A host of the range `pool` that nobody runs, kept for who asks for it; UINT32_MAX and a text:
 * none.
 */
uint32_t tnd_leader_seat(tnd_leader_t *self, const char *pool, uint64_t now, char *why,
                         size_t room);
/*  Once the run has ended: whether a host may still say something.  One that is away may come back
 *  and must hear how it ended, unless it was given up.
 */
bool tnd_leader_awaits(const tnd_leader_t *self, uint32_t host);
/*  The streams are known: what is reported is held against them.  By chain; kept by the caller. */
void tnd_leader_streams(tnd_leader_t *self, const tnd_stream_t *streams);
/*  A message to the leader; takes its payload. */
void tnd_leader_message(tnd_leader_t *self, const tnd_msg_t *msg, uint64_t now);
void tnd_leader_drain(tnd_leader_t *self, uint64_t now);
void tnd_leader_fail(tnd_leader_t *self, tnd_outcome_t outcome, const char *why);
/*  Performs what the machines want; returns when to be called again at the latest. */
uint64_t tnd_leader_work(tnd_leader_t *self, uint64_t now);

#endif
