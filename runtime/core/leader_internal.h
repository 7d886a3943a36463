/*  runtime/core/leader_internal.h - the state of the leader's machine, shared by its files.
 *
 *  leader.c decides about start, rewind, booking and end, leader_touch.c about what the user asks of
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
    tnd_leader_core_cause_t cause;
    tnd_error_t why;
};

static inline bool tnd_leader_core_is_over(const tnd_leader_core_t *self)
{
    return self->state == TND_LEADER_CORE_DONE || self->state == TND_LEADER_CORE_FAILED;
}

/* --- leader.c --------------------------------------------------------------------------------- */

/*  Whether a report names a step that is too far ahead; then the run has failed. */
bool tnd_leader_core_beyond(tnd_leader_core_t *self, uint64_t step);
/*  Feeders must be told the end, which may be earlier than the one they know. */
void tnd_leader_core_tell_end(tnd_leader_core_t *self);

/* --- leader_touch.c --------------------------------------------------------------------------- */

/*  Ends the epoch with the step that was booked, if programs want it; they must all. */
void tnd_leader_core_take_cut(tnd_leader_core_t *self);
/*  HALT of a feeder. */
void tnd_leader_core_take_halt(tnd_leader_core_t *self, const tnd_msg_t *msg);

#endif
