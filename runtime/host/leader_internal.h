/*  runtime/host/leader_internal.h - what the files of the leader share among themselves.
 *
 *  leader.c has its life, the hosts and their messages; leader_start.c brings all hosts to the
 *  point where the stream can begin; leader_steps.c keeps what steps reported until they are
 * booked.
 */
#ifndef TND_RUNTIME_HOST_LEADER_INTERNAL_H
#define TND_RUNTIME_HOST_LEADER_INTERNAL_H

#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/host/leader.h"
#include "runtime/host/text_payload.h"
#include "runtime/observe/process.h"

/*  Steps that may be committed somewhere and not yet booked: more than any feeder's depth; and how
 *  often feeders are told what is booked, which wakes them.
 */
enum { STEPS_OPEN = 1024, BOOKED_EVERY = 64 };

/*  Steps that feeders may hold or have done beyond what is booked. */
enum { HELD_MOST = 16, AHEAD_MOST = 256 };

/*  What one step reported, by metric and replica. */
typedef struct {
    uint64_t step;
    uint32_t rows, metric_count;
    char names[TND_METRICS_MAX][TND_METRIC_NAME];
    double *sum, *weight; /* [metric][replica] */
} report_t;

/*  Bad records of one kind, and those of a step that is not booked yet. */
typedef struct {
    uint64_t step; /* COUNTED: all that were booked */
    uint32_t lane;
    tnd_reason_t reason;
} reasons_t;

#define COUNTED UINT64_MAX

typedef struct {
    tnd_leader_core_t *session;
    reasons_t *reasons;
    size_t reason_count, reason_room;
    tnd_bad_limit_t bad_limit;
    uint64_t epoch_rows;
    tnd_member_t *members;
    uint32_t member_count;
    tnd_leader_core_state_t shown;
    uint32_t shown_missing;
    bool facts_known, model_known, over;
    tnd_stream_t facts;
    tnd_bounds_t bounds; /* of the stream; no epochs: not known yet */
    uint32_t facts_host; /* who said them first */
    uint64_t rank;       /* rows booked so far */
    report_t *reports;   /* ring by step */
    double *numbers;     /* of all reports */
} chain_t;

typedef struct {
    bool up, facts_said, ready;
    bool left;             /* by itself; its place is free */
    bool late;             /* it came when the run was under way */
    tnd_life_t life;       /* of its process */
    tnd_process_t process; /* as it said with its endpoints */
    tnd_fate_t fate;       /* of its process, at `fate_ns` */
    uint64_t fate_ns;
    tnd_absence_t absence; /* its `until_ns` is 0: it is not away, or is lost already */
    bool replaced;         /* its last connection was lost since it came by another */
    uint64_t lost_ns;      /* since when; 0: it is not lost */
    uint64_t kept_ns;      /* its place is kept until then for who asked for it */
    char why[256];
    tnd_buffer_t *endpoints;
} member_host_t;

struct tnd_leader {
    tnd_host_config_t config;
    tnd_leader_voice_t voice;
    const tnd_plan_t *plan;
    chain_t *chains;
    uint32_t chain; /* that runs */
    member_host_t *hosts;
    tnd_buffer_t *stream_note;
    bool tabled; /* all hosts were there once and know where everybody listens */
    const char **host_names;
    uint8_t *host_flags;
    void **memories;
    tnd_data_table_t data;            /* of the first chain, as hosts list it */
    tnd_checkpoint_writer_t *archive; /* of the first chain; NULL: its state is not kept */
    tnd_error_t unusable;             /* its checkpoints are; "": they are not */
    bool *model_said;                 /* by instance: the first chain's feeders */
    bool closed;                      /* the archive knows the end of the chain */
    bool ended, drain;
    tnd_outcome_t outcome; /* once ended */
    char why[512];
};

/*  The run has ended, and every host is told so; only the first time counts. */
void tnd_leader_end(tnd_leader_t *self, tnd_outcome_t outcome, const char *why);
/*  Something for who wants to see how the run goes. */
void tnd_leader_inform(tnd_leader_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  Of the chain that runs. */
const char *tnd_leader_chain_name(const tnd_leader_t *self);

/* --- the start --- */

void tnd_leader_tell(tnd_leader_t *self, uint32_t host, tnd_msg_kind_t kind, tnd_buffer_t *note);
bool tnd_leader_has_data(const tnd_leader_t *self, uint32_t host);
void tnd_leader_take_facts(tnd_leader_t *self, uint32_t host, tnd_buffer_t *note);
void tnd_leader_take_endpoints(tnd_leader_t *self, uint32_t host, tnd_buffer_t *note);
void tnd_leader_tell_table(tnd_leader_t *self, uint32_t host);

/* --- steps --- */

void tnd_leader_take_report(tnd_leader_t *self, chain_t *chain, const tnd_msg_t *msg);
void tnd_leader_take_reasons(chain_t *chain, const tnd_msg_t *msg);
void tnd_leader_count_reasons(chain_t *chain, uint64_t step);
void tnd_leader_book(tnd_leader_t *self, const tnd_effect_t *effect, uint64_t now);

#endif
