/*  runtime/core/leader.h - the leader's decisions: start, rewind, book, drain, end.
 *
 *  One session is one chain of one run.  It waits for its hosts, starts the stream by the first
 *  rewind, assembles the cursor of each step from the lanes' parts, books a step once every feeder
 *  has committed it and its cursor is whole, and answers every fault that the soft middle cannot
 *  heal alone by one primitive: rewind to the lesser of the first step that some feeder lacks and
 *  the first step whose cursor is not assembled.
 *
 *  What is lost on a control connection is healed the same way: a host that comes back makes the
 *  leader rewind, and feeders say again what is not booked.
 *
 *  Who may die is DESIGN's table: preprocessor, reader, batcher and reducer are started again
 *  within their limits; a feeder, its host's process or the leader ends the run with one sentence
 *  that names it and the last committed cursor.
 */
#ifndef TND_RUNTIME_CORE_LEADER_H
#define TND_RUNTIME_CORE_LEADER_H

#include "runtime/core/protocol/effect.h"
#include "runtime/core/members.h"

typedef enum {
    TND_LEADER_CORE_JOINING, /* hosts are missing */
    TND_LEADER_CORE_READY,   /* all there; nothing asked for yet */
    TND_LEADER_CORE_RUNNING,
    TND_LEADER_CORE_DRAINING, /* feeders finish the highest step that one of them has started */
    TND_LEADER_CORE_DONE,
    TND_LEADER_CORE_FAILED
} tnd_leader_core_state_t;

typedef struct {
    const tnd_member_t *members; /* kept by the caller */
    uint32_t member_count;
    const char *const *hosts;  /* names; kept by the caller */
    const uint8_t *host_flags; /* by host: TND_HOST_*; kept by the caller; NULL: none */
    uint32_t host_count, lanes;
    uint64_t start_timeout_ns; /* all must have come by then */
    uint64_t dead_after_ns;    /* a lost host that the stream needs must be back by then */
    uint32_t steps_open_max;   /* cursors kept: window of steps between booked and composed */
    uint64_t steps_max;        /* the run ends before this step; TND_UNKNOWN */
    uint32_t booked_every;     /* steps between two BOOKED to a feeder, which waits for none of them
                                  as long as it may have twice as many unbooked; 0: 1 */
    tnd_limits_t restarts;     /* of one soft actor or host; max 0: any death ends the run */
} tnd_leader_core_config_t;

typedef struct tnd_leader_core tnd_leader_core_t;

size_t tnd_leader_core_bytes(const tnd_leader_core_config_t *config);
tnd_leader_core_t *tnd_leader_core_init(void *memory, const tnd_leader_core_config_t *config,
                                        const tnd_cursor_t *from, uint64_t now);

/*  A host's control connection is up and its terms fit / is gone and has not come back within
 *  dead_after, or its process is known to be dead.
 */
void tnd_leader_core_host_up(tnd_leader_core_t *self, uint32_t host, uint64_t now);
void tnd_leader_core_host_lost(tnd_leader_core_t *self, uint32_t host, const char *why,
                               uint64_t now);
/*  Another process has taken the place of the one that was there: that one is lost, which counts
 *  towards its limit, and the new one has start_timeout to make itself ready (host_up).
 */
void tnd_leader_core_host_again(tnd_leader_core_t *self, uint32_t host, const char *why,
                                uint64_t now);
/*  The user took it away: nobody waits for it any more.  Of a host that the stream needs it is as
 *  host_lost.
 */
void tnd_leader_core_host_left(tnd_leader_core_t *self, uint32_t host, uint64_t now);
/*  A life of an actor has begun / ended, maybe one whose beginning was never heard of.  A life that
 *  nobody saw end is ended first.
 */
void tnd_leader_core_actor_up(tnd_leader_core_t *self, tnd_actor_id_t actor, uint64_t now);
void tnd_leader_core_actor_down(tnd_leader_core_t *self, tnd_actor_id_t actor, const char *why,
                                uint64_t now);
/*  Whoever drives this was away for so long (stopped, without a processor) and could hear nobody:
 *  hosts that are waited for have so much longer to come.
 */
void tnd_leader_core_excuse(tnd_leader_core_t *self, uint64_t away_ns);
/*  The identity of the data set, for the cursors.  Before the stream begins. */
void tnd_leader_core_data(tnd_leader_core_t *self, uint64_t data);
/*  Begins the stream as soon as everybody, hosts and actors, is there. */
void tnd_leader_core_go(tnd_leader_core_t *self);
/*  PART, LAST, BROKEN, HELD, COMMIT, DRAIN of actors, and MODEL, the last word of a feeder: a host
 *  that is lost before that fails the run even when the stream is done.
 */
void tnd_leader_core_message(tnd_leader_core_t *self, const tnd_msg_t *msg, uint64_t now);
/*  Asks for an orderly end: TND_LEADER_CORE_DRAINING. */
void tnd_leader_core_ask_drain(tnd_leader_core_t *self);
/*  Something final: the run has failed, for this reason.  The first one counts. */
void tnd_leader_core_fail(tnd_leader_core_t *self, const char *why);

/*  REWIND (to TND_NOBODY: all actors of the chain; its cursor says where, its digest and ledger are
 *  those of the last booked step), BOOKED, DRAIN (which step did you start last?) and LAST (the
 * end, of the stream or of a drain) to feeders, BOOK once a step in step order (with the cursor
 * after it, digest and ledger included), RESTART, OUTCOME once.
 */
bool tnd_leader_core_next(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect);
uint64_t tnd_leader_core_deadline(const tnd_leader_core_t *self);

tnd_leader_core_state_t tnd_leader_core_state(const tnd_leader_core_t *self);
/*  Of the last booked step; once the run is DONE at the end of the stream, with all that was read
 *  behind it.
 */
const tnd_cursor_t *tnd_leader_core_cursor(const tnd_leader_core_t *self);
uint32_t tnd_leader_core_generation(const tnd_leader_core_t *self);
/*  The sentence that says why a run failed; "" otherwise. */
const char *tnd_leader_core_why(const tnd_leader_core_t *self);
/*  Hosts that are waited for: fills `hosts`, returns how many there are. */
uint32_t tnd_leader_core_missing(const tnd_leader_core_t *self, uint32_t *hosts, uint32_t room);
/*  Of a failed run: whether it failed because a host did not come or went away. */
bool tnd_leader_core_absent(const tnd_leader_core_t *self);
/*  Of a host that is away: whether the run ends if it stays so. */
bool tnd_leader_core_needs(const tnd_leader_core_t *self, uint32_t host);
/*  Whether the run fails as soon as that host is lost (host_lost). */
bool tnd_leader_core_ends_with(const tnd_leader_core_t *self, uint32_t host);

#endif
