/*  runtime/host/host_internal.h - the state of a host, shared by its files.
 *
 *  host.c runs the loop, host_start.c handles the barriers of the start, host_control.c control
 *  messages, host_touch.c what users ask of the run, host_record.c what inspection shows of the run, host_watch.c actors that hang, and
 *  host_tuning.c how many workers are awake.  Fields that `lock` does not guard belong to the host's thread. */
#ifndef TND_RUNTIME_HOST_HOST_INTERNAL_H
#define TND_RUNTIME_HOST_HOST_INTERNAL_H

#include "runtime/host/host.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/core/host/leader_presence.h"
#include "runtime/core/host/wish.h"
#include "runtime/host/leader.h"
#include "runtime/looks/look_service.h"
#include "runtime/resources/resources.h"

enum { PORT_ACTORS = 0, PORT_HOSTS = 1 };

/*  Of a chain. */
typedef struct {
    _Atomic uint32_t generation; /* as last announced by the leader */
    tnd_msg_t model;             /* the last MODEL of the feeder here; its payload may be NULL */
} tnd_host_chain_t;

/*  Which actors elsewhere are inside a work hook, and when others are told of those here. */
typedef struct {
    uint8_t *elsewhere; /* by instance */
    uint64_t every_ns, due_ns;
} tnd_host_busy_t;

typedef struct {
    struct tnd_touch_socket *socket; /* NULL: no command can touch this run from here */
    uint64_t due_ns;
} tnd_host_touches_t;

/*  That this host failed, and how. */
typedef struct {
    uint64_t at_ns; /* 0: it has not */
    tnd_outcome_t outcome;
    char why[1024];
    uint64_t said_ns; /* when it was said to the leader; 0: it was not */
    bool stuck;       /* memory is leaked, because a hook may still access it */
} tnd_host_failure_t;

/*  What the program, or a signal, wants of the run. */
typedef struct {
    _Atomic bool drain, finish, stop, leave, fail, notice; /* set by any thread */
    uint64_t *last_steps; /* by chain, see tnd_host_finish; written before `finish` is set */
    tnd_wish_t drain_wish, finish_wish; /* as the leader was told */
} tnd_host_wishes_t;

/*  How far the run is, and how it ended, as the program is told. */
typedef struct {
    bool running;
    uint64_t *ends; /* on the leader, by chain: how many of its ends the observer knows */
    tnd_outcome_t outcome;
    char why[1024];
    char cause[100];   /* of a drain, or "" */
    bool preempted;    /* the cause is a signal of a launcher */
    char broken[512];  /* why the program wants it to fail, or "" */
    char unsaved[512]; /* why the model could not be saved, or "" */
    char leaked[256];  /* why memory was, or "" */
} tnd_host_end_t;

/*  The endpoints of all connected hosts. */
typedef struct {
    tnd_endpoint_t *endpoints;
    uint32_t count;
} tnd_host_table_t;

/*  What was refused of others. */
typedef struct {
    uint32_t *violations; /* messages, by host */
    bool *left_out;       /* by host: this connection is of an earlier session */
    bool stranger_said;   /* a process that is none of the hosts was reported */
} tnd_host_refused_t;

struct tnd_host {
    tnd_host_config_t config;
    const tnd_plan_t *plan;
    tnd_plan_t *changed_plan; /* with the options that the leader has changed here; NULL: none */
    char nonce[48], control[128];
    tnd_life_t life;  /* of this process in the run */
    uint64_t session; /* the life of the leader, as it has told; 0: not yet */
    tnd_hub_t *hub;
    pthread_t thread;
    tnd_pages_t *pages;
    tnd_host_touches_t touches;
    char unseen[192];      /* why others cannot see the pages; empty: no reason, or it was sent */
    tnd_leader_t *leader;  /* of the first host */
    tnd_actor_t **actors;  /* by instance; NULL: not here */
    tnd_stream_t *streams; /* by chain */
    tnd_resume_t resume;   /* no steps: the run begins at the start */
    tnd_resources_t resources;
    tnd_data_table_t data;        /* of the first chain, where it keeps checkpoints */
    struct tnd_host_start *start; /* the barriers of the start */
    tnd_host_chain_t *chains;     /* by chain */
    struct tnd_host_watch *watch; /* what hangs here */
    uint64_t round_ns;            /* when the control thread last woke up, or took an arrival */
    struct tnd_host_recorder *recorder;
    struct tnd_host_tuner *tuner; /* how many workers are awake */
    uint32_t tuning_most;         /* workers of an actor that its memory allows */
    tnd_host_busy_t busy;
    tnd_look_service_t *looks; /* for inspectors without access to the pages */
    tnd_membership_t membership;
    tnd_host_refused_t refused;
    uint64_t link_timeout_ns; /* of this run: see pace.h */
    tnd_leader_presence_t leader_presence;
    tnd_host_failure_t failure;
    char leader_why[256]; /* why the leader is away */
    uint64_t booked;      /* steps that are booked, as announced to feeders here */
    uint32_t port;        /* of the leader's, for other hosts */
    tnd_host_wishes_t wishes;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    tnd_host_end_t end;
    tnd_host_table_t table;
};

static inline bool tnd_host_leads(const tnd_host_t *self)
{
    return self->config.host == 0;
}

/*  Whether the leader can be told something now. */
static inline bool tnd_host_reaches_leader(const tnd_host_t *self)
{
    return tnd_leader_presence_reaches(&self->leader_presence);
}

/*  Whether the leader is there, or comes, and waits for this host.  It has to hear of a drain. */
bool tnd_host_is_expected(const tnd_host_t *self);

/*  Whether an actor of the run is inside a work hook. */
bool tnd_host_busy(const tnd_host_t *self, tnd_actor_id_t actor);
/*  Records how the run ended here; only the first call counts. */
void tnd_host_settle(tnd_host_t *self, tnd_outcome_t outcome, const char *why);
bool tnd_host_settled(tnd_host_t *self);
/*  Reports a failure of this host to the leader and ends. */
void tnd_host_fail_here(tnd_host_t *self, tnd_outcome_t outcome, const char *why);
void tnd_host_say_failure(tnd_host_t *self, uint64_t now);
/*  Tells the leader why memory was leaked, if it was. */
void tnd_host_say_leak(tnd_host_t *self);

/* --- host_start.c ----------------------------------------------------------------------------- */

/*  Once the resources are listed / all threads of this host have ended. */
void tnd_host_begin_start(tnd_host_t *self);
void tnd_host_end_start(tnd_host_t *self);
/*  Starts to open the data. */
tnd_status_t tnd_host_try_data(tnd_host_t *self, tnd_error_t *error) TND_CHECKED;
/*  As tnd_guarded_call_show, of what the start has called; 0: it calls nothing. */
uint64_t tnd_host_show_trial(tnd_host_t *self, uint64_t now, char *text, size_t room);
/*  Waits for user code that the start has called, not long; false if it was abandoned. */
bool tnd_host_end_trial(tnd_host_t *self);
/*  Whether the streams are known and fit this host; whether its actors were made. */
bool tnd_host_knows_streams(const tnd_host_t *self);
bool tnd_host_has_actors(const tnd_host_t *self);
/*  The leader is connected: what it was told before may be lost. */
void tnd_host_repeat_start(tnd_host_t *self);
/*  An actor was made again: the leader is told where it listens. */
void tnd_host_move_actor(tnd_host_t *self);
/*  Starts the actor of an instance of this host. */
void tnd_host_make_actor(tnd_host_t *self, uint32_t instance);
/*  STREAM and TABLE of the leader. */
void tnd_host_take_stream(tnd_host_t *self, uint64_t number, tnd_buffer_t *note);
void tnd_host_take_table(tnd_host_t *self, tnd_buffer_t *note);
/*  A message of that kind has said a generation. */
void tnd_host_learn_generation(tnd_host_t *self, uint32_t chain, tnd_msg_kind_t kind,
                               uint32_t said);
/*  Reports progress to the leader: facts, endpoints, ready, a requested end. */
void tnd_host_make_progress(tnd_host_t *self);

/* --- host_control.c --------------------------------------------------------------------------- */

/*  Forwards a control message to msg->to; takes the payload. */
void tnd_host_route(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry);
void tnd_host_tell_leader(tnd_host_t *self, tnd_msg_kind_t kind, uint64_t number,
                          tnd_buffer_t *note);
void tnd_host_take_arrival(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now);
/*  Tells other hosts which actors here are inside a work hook; the leader forwards all reports. */
void tnd_host_tell_busy(tnd_host_t *self, uint64_t now);
/*  Lets inspectors look by the control connection. */
void tnd_host_begin_looks(tnd_host_t *self);

/* --- host_touch.c ----------------------------------------------------------------------------- */

/*  Opens the socket for touches, if the pages are visible.  A failure is logged. */
void tnd_host_open_touches(tnd_host_t *self);
/*  Frees what belongs to touches; may be called twice. */
void tnd_host_close_touches(tnd_host_t *self);
/*  Passes on what was asked for, at intervals.  Returns when to call it again at the latest. */
uint64_t tnd_host_touch(tnd_host_t *self, uint64_t now);
/*  TOUCH of the leader. */
void tnd_host_take_touch(tnd_host_t *self, const tnd_msg_t *msg);
/*  SCALE of the leader. */
void tnd_host_take_scale(tnd_host_t *self, const tnd_msg_t *msg);
/*  For the leader (leader.h); `context` is the host. */
bool tnd_host_fits(void *context, const tnd_plan_t *plan, uint32_t *workers_p, tnd_error_t *why);

/* --- host_watch.c ----------------------------------------------------------------------------- */

void tnd_host_begin_watch(tnd_host_t *self);
/*  All threads must have ended, also those of actors that were abandoned. */
void tnd_host_end_watch(tnd_host_t *self);
/*  Looks for actors and devices that hang, at intervals.  Returns when to call it again. */
uint64_t tnd_host_watch(tnd_host_t *self, uint64_t now);
/*  How often an actor was replaced. */
uint32_t tnd_host_births(const tnd_host_t *self, uint32_t instance);
/*  Whether the run ends because something hangs that cannot be replaced. */
bool tnd_host_hangs(const tnd_host_t *self);
/*  Whether the threads of all actors that were abandoned have ended. */
bool tnd_host_join_abandoned(tnd_host_t *self);
/*  Replaces an actor that hangs, or if `asked` one that works, on request of the leader. */
void tnd_host_replace(tnd_host_t *self, uint32_t instance, bool asked);
/*  Lets replacements of actors run, past the barriers of the start. */
void tnd_host_raise(tnd_host_t *self);
/*  Repeats reports of hangs that may be lost. */
void tnd_host_forget_hangs(tnd_host_t *self);

/* --- host_record.c ---------------------------------------------------------------------------- */

/*  Creates the pages.  A full disk, or a folder that cannot be written, hides a run; it does not keep
 *  it from running. */
void tnd_host_open_pages(tnd_host_t *self);
void tnd_host_close_pages(tnd_host_t *self);
/*  Writes what the host knows about the run, at intervals.  Returns when to call it again. */
uint64_t tnd_host_record(tnd_host_t *self, uint64_t now);
/*  Writes how the run ended here. */
void tnd_host_record_end(tnd_host_t *self, uint64_t now);
/*  The stream of a chain, once it is known; a tnd_stream_of_t. */
const tnd_stream_t *tnd_host_stream(const void *host, uint32_t chain);
/*  Writes the most memory that this process may use, once its streams are known. */
void tnd_host_record_memory(const tnd_host_t *self);
/*  Records what the control thread does. */
void tnd_host_record_control(tnd_host_t *self, tnd_control_state_t state, uint64_t now);

/* --- host_tuning.c ---------------------------------------------------------------------------- */

void tnd_host_begin_tuning(tnd_host_t *self);
/*  Lets the tuners decide, twice a second. */
void tnd_host_tune(tnd_host_t *self, uint64_t now);
/*  A user wants so many workers of an actor awake, at most; `first` is the first of all. */
void tnd_host_scale(tnd_host_t *self, uint32_t first, uint32_t workers);
void tnd_host_end_tuning(tnd_host_t *self);

#endif
