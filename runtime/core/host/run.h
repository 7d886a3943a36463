/*  runtime/core/host/run.h - a run, as its leader decides it: which hosts there are and how they count.
 *
 *  It joins what is decided apart: which hosts are there (presence.h), what they are told at the start
 *  (run_start.h), what users ask (run_touches.h), and the stream of the running chain (leader.h), and of the
 *  first one while it rests.  The
 *  caller carries messages: it calls what fits a message, tells hosts what that returns, and takes the
 *  steps of `touches` and the effects of `session`, which may follow from every call.
 *
 *  Threads: one.  The caller provides the memory.  Units: nanoseconds of the caller's clock. */
#ifndef TND_RUNTIME_CORE_HOST_RUN_H
#define TND_RUNTIME_CORE_HOST_RUN_H

#include "runtime/core/host/presence.h"
#include "runtime/core/host/run_start.h"
#include "runtime/core/host/run_touches.h"
#include "runtime/core/leader.h"

/*  Zeroed but for what the caller sets: `session`, `presences` (zeroed), `pools`, and of `start` and `touches`
 *  what these name. */
typedef struct {
    tnd_leader_core_t *session;     /* of the running chain */
    tnd_leader_core_t *resting;     /* of the first chain, if it rests meanwhile; NULL */
    tnd_host_presence_t *presences; /* by host */
    tnd_run_start_t start;
    tnd_run_touches_t touches;
    const char *const *pools; /* by host: whose place it is for processes that ask to join; NULL */
    bool ended;               /* set by the caller: hosts that come now are told how */
} tnd_run_t;

/*  A host is connected, by a process of that life.  `why`: why the process before it was lost, if
 *  another one has taken its place.  What that one had said holds no more unless the same one RETURNS. */
tnd_host_entry_t tnd_run_up(tnd_run_t *self, uint32_t host, tnd_life_t life, const char *why,
                            uint64_t now);
/*  A process asks for a place in `pool`: reserves one for a while.  A lost host that has not returned for
 *  `restart_timeout_ns` is one.  Returns the host; host_count: all are in use. */
uint32_t tnd_run_reserve(tnd_run_t *self, const char *pool, uint64_t restart_timeout_ns,
                         uint64_t now);
/*  Counts a host that is connected.  Returns what it is to be told. */
tnd_greeting_t tnd_run_greet(tnd_run_t *self, uint32_t host, uint64_t now);
/*  A host opens `what` of its data, and has reported progress of that so many times; ignored if it
 *  has opened all. */
void tnd_run_opening(tnd_run_t *self, uint32_t host, uint64_t reports, const char *what,
                     uint64_t now);
/*  A host has said what it has found in its data.  Returns which hosts to tell what the streams are. */
tnd_audience_t tnd_run_opened(tnd_run_t *self, uint32_t host, uint64_t now);
/*  A host has said that its actors run. */
void tnd_run_ready(tnd_run_t *self, uint32_t host, uint64_t now);

/*  Whether a host that is away is lost; `fate`: what is known of its process. */
bool tnd_run_misses(const tnd_run_t *self, uint32_t host, tnd_fate_t fate, uint64_t now);
/*  The process of a host that is still to come has ended, as far as its system tells: it may be lost soon.
 *  Returns false if the run does not wait for it. */
bool tnd_run_ends_early(tnd_run_t *self, uint32_t host, const tnd_absence_limits_t *limits,
                        uint64_t now);
/*  A host is lost.  Returns false if the run ends by that before it has begun. */
bool tnd_run_lose(tnd_run_t *self, uint32_t host, const char *why, uint64_t now);
/*  A host leaves on its own. */
void tnd_run_leave(tnd_run_t *self, uint32_t host, uint64_t now);
/*  An actor hangs, or is dead.  `session`: of its chain; NULL: that is not fed now.  Returns whether it has
 *  to be restarted at once, so that the chain can be fed again: no session will ask for that. */
bool tnd_run_actor_down(tnd_leader_core_t *session, tnd_actor_id_t actor, const char *why,
                        uint64_t now);
/*  Whether a chain cannot do without a host, which is away. */
bool tnd_run_needs(const tnd_run_t *self, uint32_t host);
/*  A host has failed; `unfit`: because it cannot take part.  Returns whether the run continues without
 *  it. */
bool tnd_run_spares(tnd_run_t *self, uint32_t host, bool unfit, const char *why, uint64_t now);
/*  A host has failed, and the run with it (tnd_leader_core_host_failed), `at_once` or when what was done before is booked.
 *  Returns whether it ends now. */
bool tnd_run_ends_with_failure(tnd_run_t *self, uint32_t host, bool at_once, uint64_t now);
/*  The leader was away until now. */
void tnd_run_excuse(tnd_run_t *self, uint64_t away_ns, uint64_t now);

/*  The next chain begins, in which no host is counted yet; a run that is paused stays so.  Then
 *  each host that is connected is counted in it, and it does not wait for those that were lost
 *  and are not needed. */
void tnd_run_next_chain(tnd_run_t *self, tnd_leader_core_t *session);
void tnd_run_enter(tnd_run_t *self, uint32_t host, uint64_t now);
void tnd_run_go_without(tnd_run_t *self, uint64_t now);
/*  The running chain rests, and the next one is another, as above / it has ended, and the first one is the
 *  running one again. */
void tnd_run_rest(tnd_run_t *self, tnd_leader_core_t *session);
void tnd_run_return(tnd_run_t *self);

/*  Carries out what a user asks for: RESTART of the actor `value`, SET to `value` slots.  Errors: why
 *  it cannot be done now. */
tnd_status_t tnd_run_carry_out(tnd_run_t *self, tnd_verb_t verb, uint32_t value, uint64_t now,
                               tnd_error_t *error) TND_CHECKED;
/*  The program of a host has ended its loop after that many steps of a chain, the running one or the one
 *  that rests / a host wants the run to drain. */
void tnd_run_finish(tnd_run_t *self, tnd_leader_core_t *session, uint32_t host, uint64_t steps);
void tnd_run_drain(tnd_run_t *self);

#endif
