/*  runtime/host/host_internal.h - what the files of a host share among themselves.
 *
 *  host.c has its birth, its loop and its end, host_start.c the barriers of the start, and
 *  host_control.c what is said by control.  All but what `lock` guards belongs to the host's
 * thread.
 */
#ifndef TND_RUNTIME_HOST_HOST_INTERNAL_H
#define TND_RUNTIME_HOST_HOST_INTERNAL_H

#include "runtime/host/host.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/host/leader.h"
#include "runtime/observe/hang_detector.h"
#include "runtime/resources/resources.h"

/*  An actor that hangs. */
enum {
    TND_HANG_NONE,
    TND_HANG_SAID,     /* the leader was told */
    TND_HANG_REPLACED, /* another has been started in its place */
    TND_HANG_RISING    /* which was let go */
};

enum { PORT_ACTORS = 0, PORT_HOSTS = 1 };

struct tnd_host {
    tnd_host_config_t config;
    const tnd_plan_t *plan;
    char nonce[48], control[128], text[640];
    tnd_life_t life; /* of this process in the run */
    tnd_hub_t *hub;
    pthread_t thread;
    tnd_pages_t *pages;
    tnd_leader_t *leader;  /* of the first host */
    tnd_actor_t **actors;  /* by instance; NULL: not here */
    tnd_stream_t *streams; /* by chain */
    tnd_resume_t resume;   /* no steps: the run begins at the start */
    tnd_resources_t stock;
    tnd_data_table_t data; /* of the first chain, where it keeps checkpoints */
    tnd_guarded_call_t
        *trial;         /* of what is other people's code, before the start; NULL: none is on */
    bool stocked, fits; /* all that this host needs is there; what the streams become fits */
    bool facts_known, derived; /* once that has ended */
    bool trial_hangs;
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics; /* what is wrong with data, plugins, devices, operations */
    _Atomic uint32_t *generations;  /* by chain: the leader's last word */
    uint8_t *hangs;                 /* by instance: TND_HANG_* */
    uint32_t *births;               /* by instance: how often it was replaced */
    tnd_hang_detector_t *watches;   /* by instance */
    tnd_hang_detector_t **device_watches; /* by instance and device; NULL: not a feeder's */
    tnd_actor_t **left;                   /* those that hung; their threads may never end */
    uint32_t left_count;
    uint64_t watch_due_ns;
    bool hung;      /* a device thread, which ends the run */
    uint8_t *words; /* by instance: inside a work hook elsewhere */
    tnd_membership_t census;
    uint32_t *violations;                     /* by host */
    uint64_t link_timeout_ns, words_every_ns; /* of this run: see pace.h */
    uint64_t words_due_ns;
    uint64_t exhausted_ns;  /* since when no file can be opened; 0: one can */
    uint64_t join_until_ns; /* the leader must have come by then; 0: it has */
    tnd_absence_t leader_absence;
    bool leader_up, leader_came, facts_said, endpoints_said, ready_said, made, gone, failure_said;
    bool stranger_said, stuck;
    uint64_t failed_ns;   /* when it failed here; 0: it has not */
    tnd_outcome_t failed; /* how */
    char failure[512];
    char leader_why[256];         /* it went away */
    uint64_t booked;              /* steps that the leader told feeders here to be committed */
    tnd_buffer_t *stream_note;    /* what the leader said of the stream, not taken yet */
    tnd_buffer_t **last_word;     /* by chain: the MODEL that the feeder here said; NULL: none */
    tnd_actor_id_t *last_speaker; /* that feeder */

    uint32_t port; /* of the leader's, for other hosts */
    _Atomic bool drain, stop, leave, breaking, noticed;
    bool drain_asked;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    char unsaved[512]; /* why the model could not be saved; "": it could */
    char broken[512];  /* why the run is to fail; "": it is not */
    tnd_outcome_t outcome;
    bool running;
    char why[512];
    tnd_endpoint_t *table; /* where everybody listens who is there */
    uint32_t table_count;
};

static inline bool tnd_host_leads(const tnd_host_t *self)
{
    return self->config.host == 0;
}

/*  Whether an actor of the run is inside a work hook. */
bool tnd_host_busy(const tnd_host_t *self, tnd_actor_id_t actor);
/*  Records how the run ended here; only the first call counts. */
void tnd_host_settle(tnd_host_t *self, tnd_outcome_t outcome, const char *why);
bool tnd_host_settled(tnd_host_t *self);
/*  This host cannot go on: it says so to the leader, then ends. */
void tnd_host_fail_here(tnd_host_t *self, tnd_outcome_t outcome, const char *why);
void tnd_host_say_failure(tnd_host_t *self, uint64_t now);

/* --- host_start.c ------------------------------------------------------------------------------
 */

/*  Begins to open the data. */
void tnd_host_try_data(tnd_host_t *self);
/*  Waits at most so long for what is tried; false: it is left behind. */
bool tnd_host_end_trial(tnd_host_t *self, uint64_t wait_ns);
/*  Starts the actor of an instance that belongs here. */
void tnd_host_make_actor(tnd_host_t *self, uint32_t instance);
void tnd_host_take_table(tnd_host_t *self, tnd_buffer_t *note);
/*  Says to the leader what has become true since: facts, endpoints, ready, the wish to end. */
void tnd_host_make_progress(tnd_host_t *self);

/* --- host_control.c ----------------------------------------------------------------------------
 */

/*  Sends a control message on towards msg->to; takes the payload. */
void tnd_host_route(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry);
void tnd_host_tell_leader(tnd_host_t *self, tnd_msg_kind_t kind, uint64_t number,
                          tnd_buffer_t *note);
void tnd_host_take_arrival(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now);
/*  Tells the others which actors here are inside a work hook; the leader passes on what it heard.
 */
void tnd_host_tell_words(tnd_host_t *self, uint64_t now);

/* --- host_watch.c ------------------------------------------------------------------------------
 */

/*  Looks for actors that hang, every so often. */
void tnd_host_watch(tnd_host_t *self, uint64_t now);
/*  The leader wants an actor to be replaced. */
void tnd_host_replace(tnd_host_t *self, uint32_t instance);
/*  Helps those that replace others to run. */
void tnd_host_raise(tnd_host_t *self);
/*  What was said of them may be lost. */
void tnd_host_forget_hangs(tnd_host_t *self);

#endif
