/*  runtime/host/actor.h - an actor: its thread, its hub, its place in the plan.
 *
 *  An actor is an instance of the plan on this host.  Its thread runs one loop: it takes arrivals,
 *  lets the kind work, and waits if there is nothing to do.  Its connections follow from the plan.
 *  Its control messages go to its host, which routes them.
 *
 *  Threads: the kind calls the first part on the actor's thread; the host calls the second part. */
#ifndef TND_RUNTIME_HOST_ACTOR_H
#define TND_RUNTIME_HOST_ACTOR_H

#include "runtime/host/actor_services.h"
#include "runtime/interface/kind.h"
#include "runtime/observe/recorder.h"
#include "runtime/observe/statistics.h"

typedef struct tnd_run_record tnd_run_record_t;
typedef struct tnd_tap tnd_tap_t;

/* --- for kinds -------------------------------------------------------------------------------- */

tnd_actor_id_t tnd_actor_id(const tnd_actor_t *self);
const char *tnd_actor_name(const tnd_actor_t *self);
const tnd_plan_t *tnd_actor_plan(const tnd_actor_t *self);
const tnd_instance_t *tnd_actor_instance(const tnd_actor_t *self);
/*  The struct that the kind's option table fills. */
const void *tnd_actor_options(const tnd_actor_t *self);
const tnd_stream_t *tnd_actor_stream(const tnd_actor_t *self);
tnd_statistics_t *tnd_actor_statistics(tnd_actor_t *self);
/*  Records events of this actor.  Blocks, slices and tickets that it sends and receives, its work
 *  and its waits are recorded already. */
tnd_recorder_t *tnd_actor_recorder(tnd_actor_t *self);
/*  The event rings of its devices, and their number. */
tnd_event_ring_t *tnd_actor_device_rings(tnd_actor_t *self, uint32_t *count_p);
/*  The histograms of its devices, as many as rings. */
tnd_timing_t *tnd_actor_device_timings(tnd_actor_t *self);
/*  Its options, operations and file, for inspection. */
tnd_actor_detail_t *tnd_actor_detail(tnd_actor_t *self);
/*  Monotonic, nanoseconds. */
uint64_t tnd_actor_now(const tnd_actor_t *self);
/*  The start time of the current loop iteration.  State machines use it instead of the clock. */
uint64_t tnd_actor_round(const tnd_actor_t *self);

/*  Sends over the data link to msg->to.  TND_OK takes the payload; TND_AGAIN: that peer is not
 *  connected. */
tnd_status_t tnd_actor_send(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry);
/*  Sends by control to an actor, to TND_LEADER, or with TND_NOBODY to all actors concerned.  Takes
 *  the payload. */
void tnd_actor_control(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry);
/*  Closes every connection that this actor opened and starts a new life. */
void tnd_actor_rebirth(tnd_actor_t *self);
/*  How many of the workers after this actor may get blocks of it, the first ones in the plan.  Wakes
 *  the actor when it changes. */
uint32_t tnd_actor_awake(const tnd_actor_t *self);
/*  Whether the actor must stop.  Long work checks this between rows. */
bool tnd_actor_stopping(const tnd_actor_t *self);
/*  How the run has ended; TND_OUTCOME_NONE while it runs. */
tnd_outcome_t tnd_actor_outcome(const tnd_actor_t *self);
/*  Before init fails: the error is about the file, at `mark`, and this machine.  It ends the run as
 *  what is found before the start does.  `help`: a constant that says what to do, or NULL. */
void tnd_actor_unusable(tnd_actor_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                        const char *help);
/*  Tells the host that this feeder has finished, so destroying the session interrupts nothing. */
void tnd_actor_over(tnd_actor_t *self);
/*  Wakes the receivers of sent messages, as the end of each round does.  Used before long work. */
void tnd_actor_flush(tnd_actor_t *self);
/*  Wakes the actor's thread.  Any thread. */
void tnd_actor_wake(tnd_actor_t *self);
/*  How long an actor may take to end after a stop; then it is abandoned. */
#define TND_ACTOR_STOP_NS UINT64_C(10000000000)
/*  What the kind's `facts` opened on this host for all instances of the actor, or NULL. */
void *tnd_actor_shared(tnd_actor_t *self);
/*  Where to save the model of this actor's chain at its end, or NULL. */
const char *tnd_actor_save(const tnd_actor_t *self);
/*  Reports that the model could not be saved (tnd_session_unsaved).  The outcome of the run does
 *  not change. */
void tnd_actor_unsaved(tnd_actor_t *self, const char *why);
/*  Reports that memory was leaked because something still accesses it, as this actor ends; NULL: it
 *  was not. */
void tnd_actor_leaked(tnd_actor_t *self, const char *why);
/*  The checkpoint folder that this actor's chain writes to, and what it resumes from; both may be NULL. */
const char *tnd_actor_keep(const tnd_actor_t *self);
const tnd_resume_t *tnd_actor_resume(const tnd_actor_t *self);
/*  The handle of the actor named `actor` on this host (tnd_kind_t.handle), or NULL. */
void *tnd_actor_sibling(const tnd_actor_t *self, const char *actor);

/* --- for the host ----------------------------------------------------------------------------- */

typedef enum {
    TND_ACTOR_STARTING, /* opening, binding, kind's init */
    TND_ACTOR_BOUND,    /* its endpoints are known; waits for tnd_actor_go */
    TND_ACTOR_RUNNING,
    TND_ACTOR_FAILED, /* its thread has ended, see tnd_actor_error */
    TND_ACTOR_ENDED   /* its thread has ended on request */
} tnd_actor_phase_t;

enum { TND_ACTOR_ENDPOINTS_MAX = 6 };

typedef struct {
    tnd_host_t *host;
    const tnd_kind_t *kind;
    const tnd_instance_t *instance;
    const tnd_stream_t *stream;
    tnd_statistics_t *statistics;
    const tnd_run_record_t *record;
    tnd_tap_t *tap; /* of the process */
    void *shared;
    uint32_t birth; /* how often this instance was replaced in this process */
} tnd_actor_config_t;

/*  Starts the actor's thread, which opens its hub, connects to its host, binds its ports and calls
 *  the kind's init. */
tnd_actor_t *tnd_actor_start(const tnd_actor_config_t *config);
tnd_actor_phase_t tnd_actor_phase(const tnd_actor_t *self);
/*  The endpoints of a bound actor; returns their number. */
uint32_t tnd_actor_endpoints(const tnd_actor_t *self, tnd_endpoint_t *endpoints);
/*  The first of its lives, which the peers that it connects to know it by.  Any thread. */
tnd_life_t tnd_actor_birth(const tnd_actor_t *self);
/*  Lets a bound actor connect to its peers and run. */
void tnd_actor_go(tnd_actor_t *self);
/*  Tells the actor that endpoints of peers may have changed. */
void tnd_actor_look(tnd_actor_t *self);
void tnd_actor_stop(tnd_actor_t *self);
/*  Waits at most `wait_ns` for the end of the thread.  False: it is still inside a hook. */
bool tnd_actor_join(tnd_actor_t *self, uint64_t wait_ns);
/*  Why the actor failed; "" if it did not. */
const char *tnd_actor_error(const tnd_actor_t *self);
/*  Whether the actor failed because a peer refused it. */
bool tnd_actor_refused(const tnd_actor_t *self);
/*  Whether it failed after tnd_actor_unusable; adds the error. */
bool tnd_actor_diagnose(const tnd_actor_t *self, tnd_diagnostics_t *diagnostics);
/*  Whether the kind called tnd_actor_over. */
bool tnd_actor_is_over(const tnd_actor_t *self);
/*  See tnd_kind_t.handle. */
void *tnd_actor_handle(tnd_actor_t *self);
/*  The actor's thread must have ended. */
void tnd_actor_destroy(tnd_actor_t **self_p);

#endif
