/*  runtime/host/host.h - this process's part of a run: its actors, and control.
 *
 *  A host has one thread that runs no user code.  It holds the control connections (to its actors,
 *  and from the leader to every other host), routes control messages by the plan, tells who is
 *  inside a work hook, and on the first host drives the session (leader.h).
 *
 *  A run begins in four steps, each a barrier at the leader: facts (who has the data says what is
 *  in it), stream (all derive the same schemas and make their actors), endpoints (who listens
 *  where), ready.  A host that reconnects says its part again.
 *
 *  Threads: new, wait and destroy on the caller's; drain and stop on any, signal-safe; what stands
 *  under "for actors" on theirs.
 */
#ifndef TND_RUNTIME_HOST_HOST_H
#define TND_RUNTIME_HOST_HOST_H

#include "runtime/host/actor.h"
#include "runtime/host/membership.h"
#include "runtime/observe/observer.h"

typedef enum {
    TND_OUTCOME_NONE, /* still running */
    TND_OUTCOME_DONE,
    TND_OUTCOME_DRAINED, /* as asked, at the end of a step */
    TND_OUTCOME_STOPPED, /* left at once, as asked */
    TND_OUTCOME_FAILED,
    TND_OUTCOME_LOST,     /* a peer was refused, never came or went away */
    TND_OUTCOME_UNUSABLE, /* failed before it began: data that cannot be used as the graph says */
    TND_OUTCOME_MAX = TND_OUTCOME_UNUSABLE
} tnd_outcome_t;

/*  What a caller wants to know before the actors start. */
typedef struct {
    /*  Whether this host may run its part of the plan, now that the streams of all chains are
     *  known; reports why not.  On a thread of its own.
     */
    bool (*fits)(const tnd_plan_t *plan, uint32_t host, const tnd_stream_t *streams,
                 tnd_diagnostics_t *found);
} tnd_review_t;

typedef struct {
    const tnd_hub_ops_t *transport;
    void *transport_context;
    const tnd_plan_t *plan;
    uint32_t host;                  /* index in the plan */
    uint64_t steps_max;             /* of the first chain; TND_UNKNOWN: all */
    const char *save;               /* where the first chain's model goes; NULL: nowhere */
    const tnd_observer_t *observer; /* kept by the caller; NULL: none */
    const tnd_review_t *review;     /* kept by the caller; NULL: none */
} tnd_host_config_t;

/*  Starts the host's thread.  TND_FAILED: its control port is in use, say. */
tnd_status_t tnd_host_new(tnd_host_t **self_p, const tnd_host_config_t *config,
                          tnd_error_t *error) TND_CHECKED;
/*  Until the run has ended here, at most `wait_ns`; TND_OUTCOME_NONE: it has not. */
tnd_outcome_t tnd_host_wait(tnd_host_t *self, uint64_t wait_ns);
/*  Until this host's actors run, or the run has ended. */
tnd_outcome_t tnd_host_wait_running(tnd_host_t *self);
/*  Whether they do, or did. */
bool tnd_host_running(tnd_host_t *self);
void tnd_host_drain(tnd_host_t *self);
/*  This host ends, the run goes on: for one that nobody waits for. */
void tnd_host_leave(tnd_host_t *self);
void tnd_host_stop(tnd_host_t *self);
/*  The run fails, for this reason; any thread. */
void tnd_host_break(tnd_host_t *self, const char *why);
/*  The port that other hosts connect to; 0: there are none, or it is not the leader. */
uint32_t tnd_host_port(const tnd_host_t *self);
/*  The sentence that says why the run failed or was stopped; "" if it was not.  Waits for it if a
 *  step here has failed.
 */
const char *tnd_host_why(tnd_host_t *self);
/*  Once the run has ended: what was wrong with data, plugins, devices and operations here. */
const tnd_diagnostics_t *tnd_host_diagnostics(const tnd_host_t *self);
/*  Whether all feeders of this host have done their last step. */
bool tnd_host_over(const tnd_host_t *self);
/*  What the actor called `actor` (as in the file) of this host hands to programs, or NULL. */
void *tnd_host_handle(tnd_host_t *self, const char *actor);
/*  Once running: no program will pull from the feeders of this host. */
void tnd_host_discard(tnd_host_t *self);
/*  What instance `instance` of this host counts. */
const tnd_statistics_t *tnd_host_page(const tnd_host_t *self, uint32_t instance);
/*  Stops what still runs and frees everything.  False: an actor does not leave its hook; then all
 *  that it may touch stays, the transport's context and the plan included.
 */
bool tnd_host_destroy(tnd_host_t **self_p);

/* --- for actors --------------------------------------------------------------------------------
 */

const tnd_host_config_t *tnd_host_config(const tnd_host_t *self);
/*  The model could not be saved; and why, "" if it was not to be, or could. */
void tnd_host_unsaved(tnd_host_t *self, const char *why);
void tnd_host_unsaved_why(tnd_host_t *self, char *text, size_t room);
/*  Where to connect for control: an inproc endpoint; the peer is TND_HOST_ID. */
const char *tnd_host_control(const tnd_host_t *self);
/*  How long the peer of a connection of this run may be silent. */
uint64_t tnd_host_link_timeout(const tnd_host_t *self);
/*  The actor id of a host's control. */
static inline tnd_actor_id_t tnd_host_id(uint32_t host)
{
    return 0x80000000u + host;
}
/*  Where a peer's port listens now: fills in the rest of an endpoint of which instance, port and
 *  transport are given.  False: it is not known yet.
 */
bool tnd_host_endpoint(tnd_host_t *self, tnd_endpoint_t *endpoint);
/*  The generation of a chain when the actors of this host were let go. */
uint32_t tnd_host_generation(const tnd_host_t *self, uint32_t chain);
/*  Whether an actor of the run is inside a work hook. */
bool tnd_host_busy(const tnd_host_t *self, tnd_actor_id_t actor);
/*  Whether the silence of a peer says nothing: it is inside a work hook, or in this process, where
 *  no link is cut and every end is said, however long the process was stopped.
 */
bool tnd_host_excuses(const tnd_host_t *self, tnd_actor_id_t peer);
/*  What the run goes on from, once the streams are known; NULL: it begins at the start. */
const tnd_resume_t *tnd_host_resume(const tnd_host_t *self);
/*  An actor's phase has changed. */
void tnd_host_notice(tnd_host_t *self);
/*  How long a host may be away from control. */
tnd_absence_limits_t tnd_host_absence_limits(const tnd_plan_t *plan);
/*  Who is who in the run. */
const tnd_membership_t *tnd_host_census(const tnd_host_t *self);
/*  A number for inproc and ipc names, unlike that of any other host on this machine. */
const char *tnd_host_nonce(const tnd_host_t *self);

#endif
