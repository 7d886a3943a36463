/*  runtime/core/leader_internal.h - the state of the leader's machine, shared by its files.
 *
 *  leader.c decides about start, rewind, booking and end, leader_failure.c about how a run fails, leader_touch.c about what the user asks of
 *  a run that is under way. */
#ifndef TND_RUNTIME_CORE_LEADER_INTERNAL_H
#define TND_RUNTIME_CORE_LEADER_INTERNAL_H

#include "runtime/core/leader.h"
#include "runtime/core/session/assembly.h"
#include "runtime/core/session/halt.h"
#include "runtime/core/session/opening.h"

typedef struct {
    uint64_t held, committed, booked_told;
    uint64_t cut;        /* the epoch ends before this step, as its program wants; 0: none */
    uint32_t depth_told; /* 0: none, or it may not have heard it */
    bool end_told;
    bool began;  /* it has sent something, so it knows where the stream begins */
    bool parted; /* it has sent its last message, MODEL */
} feeder_t;

/*  Why the run will fail, once what was done before is booked. */
typedef struct {
    bool pending;
    uint32_t host;     /* where it happened */
    uint64_t until_ns; /* by then at the latest */
    tnd_error_t why;
} failure_t;

struct tnd_leader_core {
    tnd_leader_core_config_t config;
    tnd_leader_core_state_t state;
    tnd_members_t members;
    feeder_t *feeders; /* by member; those of other roles are not used */
    tnd_assembly_t steps;
    tnd_cursor_t anchor; /* of the last rewind */
    tnd_opening_t opening;
    tnd_halt_t halt;              /* a pause or a drain */
    uint32_t depth;               /* slots of each feeder; 0: as they began */
    uint64_t drain_end;           /* a drained stream ends before this step; TND_UNKNOWN */
    uint64_t finish_end;          /* programs end their loops before this step; TND_UNKNOWN */
    uint32_t finish_host;         /* the first that said so */
    uint64_t rewind_ns, pause_ns; /* of the next rewind, at the earliest; the pause before it */
    uint64_t progress;            /* at the last rewind */
    uint64_t over_at; /* steps, if a feeder has done the last one of the stream; TND_UNKNOWN */
    uint32_t generation;
    uint32_t cuts;           /* epochs that programs have ended early */
    uint32_t cut_generation; /* reports of older ones are of the rest of such an epoch */
    bool was_complete;       /* before the start: all hosts and actors were up */
    bool asked_to_go, started, want_rewind, want_drain, tell, outcome_said;
    failure_t failure;
    tnd_leader_core_cause_t cause;
    tnd_error_t why;
};

static inline bool tnd_leader_core_is_over(const tnd_leader_core_t *self)
{
    return self->state == TND_LEADER_CORE_DONE || self->state == TND_LEADER_CORE_FAILED;
}

/*  Whether nothing but the booking of what was done can follow. */
static inline bool tnd_leader_core_ends(const tnd_leader_core_t *self)
{
    return tnd_leader_core_is_over(self) || self->failure.pending;
}

/* --- leader.c --------------------------------------------------------------------------------- */

/*  The stream ends before this step, as far as that is known; TND_UNKNOWN. */
uint64_t tnd_leader_core_end_of(const tnd_leader_core_t *self);

/*  Whether a report names a step that is too far ahead; then the run has failed. */
bool tnd_leader_core_beyond(tnd_leader_core_t *self, uint64_t step);
/*  Feeders must be told the end, which may be earlier than the one they know. */
void tnd_leader_core_tell_end(tnd_leader_core_t *self);

/* --- leader_failure.c ------------------------------------------------------------------------- */

/*  The run fails by self->why, at once; where it is, is added / is not. */
void tnd_leader_core_fail_by(tnd_leader_core_t *self, tnd_leader_core_cause_t cause);
void tnd_leader_core_fail_plainly(tnd_leader_core_t *self);
/*  The run fails by self->why, which happened on that host, once what was done before is booked. */
void tnd_leader_core_fail_later(tnd_leader_core_t *self, uint32_t host,
                                tnd_leader_core_cause_t cause, uint64_t now);
/*  It fails if that is booked, cannot be, or was waited for long enough. */
void tnd_leader_core_check_failure(tnd_leader_core_t *self, uint64_t now);

/* --- leader_touch.c --------------------------------------------------------------------------- */

/*  Ends the epoch with the step that was booked, if programs want it; they must all. */
void tnd_leader_core_take_cut(tnd_leader_core_t *self);
/*  A run that drains ends where its stream rests: of the steps that feeders had started, those after the end
 *  of an epoch that programs wanted came back unused, and none of later ones is started. */
void tnd_leader_core_drain_at_rest(tnd_leader_core_t *self);
/*  HALT of a feeder. */
void tnd_leader_core_take_halt(tnd_leader_core_t *self, const tnd_msg_t *msg);

#endif
