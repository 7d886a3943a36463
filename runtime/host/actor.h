/*  runtime/host/actor.h - one actor: its thread, its hub, its place in the plan.
 *
 *  An actor is an instance of the plan that lives on this host.  Its thread runs one loop: take
 *  what arrived, let the kind work, wait when there is nothing to do.  Its connections follow from
 *  the plan; its control messages go to its host (host.h), which routes them.
 *
 *  Threads: functions of the first part on the actor's own thread, by its kind; those of the second
 *  by its host.
 */
#ifndef TND_RUNTIME_HOST_ACTOR_H
#define TND_RUNTIME_HOST_ACTOR_H

#include "runtime/host/actor_services.h"
#include "runtime/interface/kind.h"
#include "runtime/observe/statistics.h"

/* --- for kinds ---------------------------------------------------------------------------------
 */

tnd_actor_id_t tnd_actor_id(const tnd_actor_t *self);
const char *tnd_actor_name(const tnd_actor_t *self);
const tnd_plan_t *tnd_actor_plan(const tnd_actor_t *self);
const tnd_instance_t *tnd_actor_instance(const tnd_actor_t *self);
/*  The struct that the kind's option table fills. */
const void *tnd_actor_options(const tnd_actor_t *self);
const tnd_stream_t *tnd_actor_stream(const tnd_actor_t *self);
tnd_statistics_t *tnd_actor_statistics(tnd_actor_t *self);
/*  Monotonic, nanoseconds. */
uint64_t tnd_actor_now(const tnd_actor_t *self);
/*  The same clock when the actor last began to look at what has arrived: enough for machines that
 *  see many events in between.
 */
uint64_t tnd_actor_round(const tnd_actor_t *self);

/*  Sends over the data link to msg->to.  TND_OK takes the payload; TND_AGAIN: that peer is not up.
 */
tnd_status_t tnd_actor_send(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry);
/*  Sends by control, to an actor, TND_LEADER or (TND_NOBODY) all that it concerns.  Takes the
 *  payload.
 */
void tnd_actor_control(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry);
/*  Closes every connection this actor opened and begins a new life. */
void tnd_actor_rebirth(tnd_actor_t *self);
/*  Whether the actor was asked to stop: long work looks at it between rows. */
bool tnd_actor_stopping(const tnd_actor_t *self);
/*  Whether the run ends because that was asked for (a drain, a stop), once its outcome is known. */
bool tnd_actor_was_asked_to_end(const tnd_actor_t *self);
/*  This feeder has done its last step: programs may destroy the session without breaking it off. */
void tnd_actor_over(tnd_actor_t *self);
/*  Wakes the receivers of what was sent; the end of each round does so too.  For use before long
 *  work, which they need not wait for.
 */
void tnd_actor_flush(tnd_actor_t *self);
/*  Ends the wait of the actor's thread; any thread. */
void tnd_actor_wake(tnd_actor_t *self);
/*  What the kind's `facts` opened on this host for all instances of the actor; NULL: nothing. */
void *tnd_actor_shared(tnd_actor_t *self);
/*  Where the model of this actor's chain is to be saved when it has ended; NULL: nowhere. */
const char *tnd_actor_save(const tnd_actor_t *self);
/*  It could not be: the run ends as it would, and this host says why (tnd_session_unsaved). */
void tnd_actor_unsaved(tnd_actor_t *self, const char *why);
/*  Where the state of this actor's chain is kept, and what it goes on from; NULL: nowhere, nothing.
 */
const char *tnd_actor_keep(const tnd_actor_t *self);
const tnd_resume_t *tnd_actor_resume(const tnd_actor_t *self);
/*  What the actor called `actor` (as in the file) of this host hands out (tnd_kind_t.handle); NULL:
 *  not here, or nothing.
 */
void *tnd_actor_sibling(const tnd_actor_t *self, const char *actor);

/* --- for the host ------------------------------------------------------------------------------
 */

typedef enum {
    TND_ACTOR_STARTING, /* opening, binding, kind's init */
    TND_ACTOR_BOUND,    /* its endpoints are known; waits for tnd_actor_go */
    TND_ACTOR_RUNNING,
    TND_ACTOR_FAILED, /* its thread has ended, see tnd_actor_error */
    TND_ACTOR_ENDED   /* its thread has ended as asked */
} tnd_actor_phase_t;

enum { TND_ACTOR_ENDPOINTS_MAX = 6 };

typedef struct {
    tnd_host_t *host;
    const tnd_kind_t *kind;
    const tnd_instance_t *instance;
    const tnd_stream_t *stream;
    tnd_statistics_t *statistics;
    void *shared;
    uint32_t birth; /* how many actors had this place in this process before */
} tnd_actor_config_t;

/*  Starts the actor's thread, which opens its hub, binds its ports, connects to its host and lets
 *  the kind make itself ready.
 */
tnd_actor_t *tnd_actor_start(const tnd_actor_config_t *config);
tnd_actor_phase_t tnd_actor_phase(const tnd_actor_t *self);
/*  Of a bound actor: fills `endpoints`, returns how many there are. */
uint32_t tnd_actor_endpoints(const tnd_actor_t *self, tnd_endpoint_t *endpoints);
/*  Lets a bound actor connect to its peers (tnd_host_endpoint) and run. */
void tnd_actor_go(tnd_actor_t *self);
/*  Some peer may listen elsewhere now. */
void tnd_actor_look(tnd_actor_t *self);
void tnd_actor_stop(tnd_actor_t *self);
/*  Waits for its thread at most `wait_ns`; false: it is still inside a hook. */
bool tnd_actor_join(tnd_actor_t *self, uint64_t wait_ns);
/*  Of a failed actor: why; "" otherwise. */
const char *tnd_actor_error(const tnd_actor_t *self);
/*  Of a failed actor: whether a peer did not want it. */
bool tnd_actor_refused(const tnd_actor_t *self);
/*  Whether the kind said tnd_actor_over. */
bool tnd_actor_is_over(const tnd_actor_t *self);
/*  See tnd_kind_t.handle. */
void *tnd_actor_handle(tnd_actor_t *self);
/*  The actor's thread must have ended. */
void tnd_actor_destroy(tnd_actor_t **self_p);

#endif
