/*  runtime/host/leader_internal.h - the state of the leader, shared by its files.
 *
 *  leader.c handles messages and effects, leader_chains.c which chain runs, leader_touch.c what users ask of the run, leader_hosts.c
 *  hosts that come and go, leader_start.c the barriers of the start, and leader_steps.c the reports of
 *  steps until they are booked, and what inspection shows of the run. */
#ifndef TND_RUNTIME_HOST_LEADER_INTERNAL_H
#define TND_RUNTIME_HOST_LEADER_INTERNAL_H

#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/core/feeder.h"
#include "runtime/core/host/run.h"
#include "runtime/core/session/refusal_log.h"
#include "runtime/core/session/validation.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/leader.h"
#include "runtime/observe/process.h"
#include "runtime/plan/actor_names.h"
#include "runtime/plan/membership.h"
#include "runtime/timing/time_left.h"
#include "runtime/touch/touch.h"

/*  Steps that may be composed but not booked: more than the depth of any feeder, and the steps that it
 *  may have committed before they are booked.  Feeders are told what is booked every so many steps,
 *  which wakes them. */
enum { STEPS_OPEN = 2048, BOOKED_EVERY = 64 };

/*  Steps that feeders may hold beyond the booked ones. */
enum { HELD_MOST = 16 };

/*  The metrics of one step, by replica, and the bytes of ragged rows that the lanes reported. */
typedef struct {
    uint64_t step;
    uint64_t ragged, ragged_lanes[TND_LANES_MAX / 64];
    uint32_t rows, metric_count;
    char names[TND_METRICS_MAX][TND_METRIC_NAME];
    double *sum, *weight; /* [metric][replica] */
} report_t;

/*  Bad records of one kind: all booked ones, or those of one step that is not booked. */
typedef struct {
    uint64_t step; /* COUNTED: all that are booked */
    uint32_t lane;
    tnd_reason_t reason;
} reasons_t;

#define COUNTED UINT64_MAX

/*  Kinds of bad records whose first place is kept. */
enum { PLACES = 8 };

typedef struct {
    tnd_leader_core_t *session;
    reasons_t *reasons;
    size_t reason_count, reason_room;
    tnd_reason_t places[PLACES]; /* the first reported record of each kind */
    uint32_t place_count;
    tnd_bad_limit_t bad_limit;
    uint64_t epoch_rows;
    uint64_t epoch_read, run_read; /* rows that an epoch, and all, read; TND_UNKNOWN */
    tnd_time_left_t left;
    uint64_t batch_ragged; /* most bytes of ragged rows in a batch; 0: any */
    tnd_member_t *members;
    uint32_t member_count;
    tnd_leader_core_state_t shown;
    uint32_t shown_missing;
    bool facts_known, model_known, over;
    tnd_validation_t validation; /* when it is fed, of a chain with `after:` */
    tnd_stream_t facts;
    tnd_bounds_t bounds; /* of the stream; no epochs: not known yet */
    uint32_t facts_host; /* the first host that reported the facts */
    tnd_epoch_metrics_t sums;
    uint64_t rank;       /* rows booked so far */
    uint64_t fed;        /* likewise, of the ledger */
    uint64_t first;      /* steps before this session, and where the chain was fed before */
    tnd_ledger_t before; /* of them */
    report_t *reports;   /* ring by step */
    double *numbers;     /* of all reports */
} chain_t;

typedef struct {
    uint64_t reports;      /* of progress of opening its data */
    char opens[320];       /* what it opens, for messages */
    tnd_process_t process; /* as reported with its endpoints */
    tnd_fate_t fate;       /* state of its process, read at `fate_ns` */
    uint64_t fate_ns;
    bool has_ended;     /* its process, before the run has connected it */
    uint64_t said_life; /* whose last words, its statistics, came; 0: none */
    char why[256];
    tnd_adapted_t *adapted; /* that it reported; its facts follow */
    tnd_buffer_t *endpoints;
} member_host_t;

/*  How a host has failed, as it says (TND_LEADER_CORE_TOLD). */
typedef struct {
    tnd_outcome_t outcome;
    char why[1024];
} told_t;

struct tnd_leader {
    tnd_host_config_t config;
    tnd_leader_output_t output;
    const tnd_plan_t *plan;
    chain_t *chains;
    uint32_t chain;                /* the running one */
    tnd_validations_t validations; /* of chains with `every:` */
    tnd_best_t best;               /* of those of this chain; 0: none is wanted */
    uint32_t best_chain;
    tnd_error_t unmeasured; /* the text, if a validation lacked the metric of `best` */
    member_host_t *hosts;
    tnd_buffer_t *stream_note;
    tnd_run_t run;
    const char **host_names, **pools; /* by host */
    uint8_t *host_flags;
    void **memories;
    tnd_data_table_t data;           /* of the first chain, as reported by hosts */
    tnd_checkpoint_writer_t *writer; /* of the first chain; NULL: no checkpoints */
    tnd_error_t unusable;            /* why the checkpoints cannot be used; "": they can */
    bool closed;                     /* the writer knows the end of the chain */
    uint64_t kept_step;              /* the last checkpoint in the record */
    tnd_refusal_log_t refusals;
    uint64_t ended_look_ns; /* when to look next for processes that have ended early */
    tnd_plan_t *changed;    /* the plan with the options that users set; NULL: none was */
    char paused_by[32];     /* the user who asked for the pause */
    tnd_resumption_end_t resumption_end; /* of TND_OUTCOME_AGAIN */
    bool preempted;                      /* a host, by a launcher */
    told_t told;
    tnd_outcome_t outcome; /* once ended */
    char why[1024];
};

static inline tnd_leader_core_t *tnd_leader_session(const tnd_leader_t *self)
{
    return self->run.session;
}

void tnd_leader_tell_outcome(tnd_leader_t *self, uint32_t host);
void tnd_leader_log(tnd_leader_t *self, tnd_log_level_t level, const char *host, const char *actor,
                    const char *text);
/*  Logs the progress of the run. */
void tnd_leader_inform(tnd_leader_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  Whether the chain runs, or is the first and rests. */
static inline bool tnd_leader_is_open(const tnd_leader_t *self, uint32_t chain)
{
    return chain == self->chain || (chain == 0 && self->run.resting != NULL);
}
/*  Returns the name of the running chain. */
static inline const char *tnd_leader_chain_name(const tnd_leader_t *self)
{
    return tnd_plan_chain_name(self->plan, self->chain);
}

/* --- leader_touch.c --------------------------------------------------------------------------- */

/*  TOUCH of a host: a user asks for something. */
void tnd_leader_touch(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now);
void tnd_leader_end_touches(tnd_leader_t *self);
/*  Tells a host that was counted what users have set, and how many workers they want awake. */
void tnd_leader_follow_touches(tnd_leader_t *self);

/* --- leader.c ---------------------------------------------------------------------------------- */

/*  Has an actor replaced; `asked`: why, although it may work; NULL: it does not. */
void tnd_leader_restart(tnd_leader_t *self, tnd_actor_id_t actor, const char *asked);

/* --- leader_chains.c --------------------------------------------------------------------------- */

/*  Makes the session of a chain and starts its clock. */
void tnd_leader_open_session(tnd_leader_t *self, uint32_t chain, uint64_t now);
/*  What was validated before the run was resumed. */
void tnd_leader_resume_validations(tnd_leader_t *self);
/*  Tells the observer which validation was the best one. */
void tnd_leader_report_best(tnd_leader_t *self);
/*  The stream of the running chain has ended: the next one begins, or the first one continues, or the run
 *  ends. */
void tnd_leader_close_chain(tnd_leader_t *self, uint64_t now);
/*  The first chain begins a validation if it rests where one is due, and goes on if none is. */
void tnd_leader_check_rest(tnd_leader_t *self, uint64_t now);
/*  Ends the run if a validation lacked the metric of `best` and its checkpoint is written, or cannot be;
 *  false: it did. */
bool tnd_leader_check_measured(tnd_leader_t *self);

/* --- leader_hosts.c --------------------------------------------------------------------------- */

/*  All connected hosts are counted in the chain that begins; `rests`: the first one does meanwhile. */
void tnd_leader_begin_chain(tnd_leader_t *self, bool rests, uint64_t now);
void tnd_leader_take_leave(tnd_leader_t *self, uint32_t host, uint64_t now);
/*  Gives up hosts that are away for too long; returns when to call it again. */
uint64_t tnd_leader_check_hosts(tnd_leader_t *self, uint64_t now);
/*  Writes the records of all hosts. */
void tnd_leader_record_hosts(const tnd_leader_t *self, uint64_t now);

/* --- leader_start.c --------------------------------------------------------------------------- */

void tnd_leader_tell(tnd_leader_t *self, uint32_t host, tnd_msg_kind_t kind, tnd_buffer_t *note);
/*  Sets what the plan says about the start. */
void tnd_leader_begin_start(tnd_leader_t *self);
/*  A host is connected: counts it, and tells it what it may have missed. */
void tnd_leader_greet(tnd_leader_t *self, uint32_t host, uint64_t now);
void tnd_leader_take_opening(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now);
/*  Shows how far a host is with opening data; NULL: it has opened all, or is lost. */
void tnd_leader_show_opening(const tnd_leader_t *self, uint32_t host,
                             const tnd_open_progress_t *progress);
/*  The session of the running chain learns that a connected host opens its data, if it does. */
void tnd_leader_enter_opening(tnd_leader_t *self, uint32_t host, uint64_t now);
void tnd_leader_take_facts(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now);
void tnd_leader_take_endpoints(tnd_leader_t *self, uint32_t host, tnd_buffer_t *note);

/* --- leader_notes.c --------------------------------------------------------------------------- */

/*  Logs a bad record that a reader reports, and keeps it. */
void tnd_leader_take_bad_record(tnd_leader_t *self, const tnd_msg_t *msg);
/*  Adds to what was counted where one such record is, and shows the counts in the pages. */
void tnd_leader_note_reasons(const tnd_leader_t *self, chain_t *chain);
/*  Does so, and reports the counted ones to the observer. */
void tnd_leader_report_reasons(const tnd_leader_t *self, chain_t *chain);
/*  Keeps that a host or an actor was started again, and why. */
void tnd_leader_note_restart(tnd_leader_t *self, const char *who, const char *why);

/* --- leader_steps.c --------------------------------------------------------------------------- */

void tnd_leader_take_report(tnd_leader_t *self, chain_t *chain, const tnd_msg_t *msg);
void tnd_leader_take_reasons(chain_t *chain, const tnd_msg_t *msg);
/*  The bytes of the ragged rows of a lane in a step. */
void tnd_leader_take_bytes(chain_t *chain, const tnd_msg_t *msg);
void tnd_leader_count_reasons(chain_t *chain, uint64_t step);
/*  The chain has ended: counts the rest, or, where it was cut, what the ledger has. */
void tnd_leader_count_last_reasons(chain_t *chain, const tnd_cursor_t *end);
void tnd_leader_book(tnd_leader_t *self, chain_t *chain, const tnd_effect_t *effect, uint64_t now);
/*  Ends the run if its chain has ended without the steps that it should have had.  Returns whether. */
bool tnd_leader_fail_without_steps(tnd_leader_t *self, const chain_t *chain,
                                   const tnd_cursor_t *end);
/*  The run ends: the observer learns of checkpoints that could not be written. */
void tnd_leader_report_unwritten(tnd_leader_t *self);

#endif
