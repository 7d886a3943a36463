/*  runtime/core/parameters/holder.h - decides which replica computes a step, on which parameters, and when what
 *  it pushes is applied.
 *
 *  The holder of the parameters deals each step, as a whole, to one replica.  The joins send the rows of
 *  the step there; the replica asks for the parameters (READ), computes on what it is served (SERVE),
 *  and pushes a gradient.  A push that was applied makes the next version of the parameters: version v
 *  is what v pushes have made.
 *
 *  - In the order of steps, step s computes on version s - `staleness` exactly, or on version 0, and
 *    pushes are applied in step order.  So neither replicas nor their pace change a bit.  The driver
 *    keeps the last `staleness` + 1 versions: the one that the next push replaces was served to no step
 *    whose push is missing.
 *  - In the order of arrival, pushes are applied as they come.  A step is served the newest version as
 *    soon as all steps below s - `staleness` are applied, or at once if that is unbounded.
 *
 *  A step that was dealt belongs to one life of a replica until it is pushed.  After a rewind
 *  (core/leader.h) the deals are repeated from its step on: a replica that lacks rows gets them again, and
 *  the joins drop those of steps that a replica holds or has pushed (TND_NOBODY).  A replica ignores rows
 *  of steps that it holds or has pushed in this life.  If it has died, its steps that were not pushed are
 *  open again, and REDO asks the leader for a rewind to the least of them.  So these are computed once
 *  more, by others.
 *
 *  A push is applied once.  A replica repeats it on each new connection until it is taken; what it pushes
 *  of a step that is not its own, or that was pushed, is dropped.
 *
 *  Progress: a replica holds at most `slots` steps, and the least step that is not applied beside them,
 *  for which it keeps one more slot.  Without that slot, others could wait in all slots for a step that
 *  a dead replica has left.
 *
 *  A step is committed when it and all steps before are applied.  COMMIT and HELD are repeated after a
 *  rewind until the leader has booked them, as those of a feeder (feeder.h).
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_PARAMETERS_HOLDER_H
#define TND_RUNTIME_CORE_PARAMETERS_HOLDER_H

#include "runtime/core/protocol/effect.h"

typedef enum { TND_PARAMETERS_STEPS, TND_PARAMETERS_ARRIVAL } tnd_parameters_order_t;

typedef struct {
    uint32_t replicas;
    uint32_t slots;  /* steps that a replica may hold, and one more; at least 1 */
    uint32_t window; /* steps from the first that is not booked on that may be dealt */
    tnd_parameters_order_t order;
    uint64_t
        staleness; /* less than `window`; in the order of arrival also TND_UNKNOWN: unbounded */
} tnd_parameters_core_config_t;

typedef enum {
    TND_PARAMETERS_DEAL, /* to all joins: the rows of `step` go to that life of `replica`, or to none */
    TND_PARAMETERS_SERVE,  /* to `replica`: `version` of the parameters, for `step` */
    TND_PARAMETERS_APPLY,  /* the gradient `payload` of `step` makes `version` of the one before */
    TND_PARAMETERS_TAKEN,  /* to `replica`: it need not push `step` again */
    TND_PARAMETERS_DROP,   /* release `payload` */
    TND_PARAMETERS_HELD,   /* to the leader: no rows of the steps below `step` are needed */
    TND_PARAMETERS_COMMIT, /* to the leader: `step` is committed */
    TND_PARAMETERS_REDO    /* to the leader: rows are needed again from `step` on */
} tnd_parameters_effect_kind_t;

typedef struct {
    tnd_parameters_effect_kind_t kind;
    uint32_t generation; /* of DEAL, HELD, COMMIT and REDO */
    uint32_t replica;    /* of DEAL also TND_NOBODY */
    tnd_life_t life;     /* of DEAL: of the replica */
    uint64_t step, version;
    void *payload;
} tnd_parameters_effect_t;

typedef struct tnd_parameters_core tnd_parameters_core_t;

size_t tnd_parameters_core_bytes(const tnd_parameters_core_config_t *config);
tnd_parameters_core_t *tnd_parameters_core_init(void *memory,
                                                const tnd_parameters_core_config_t *config);

/*  Once, before all other events: the steps below `step` are applied, and `count` others, all below
 *  `step` + `window` (tnd_parameters_core_ahead; none in the order of steps). */
void tnd_parameters_core_begin(tnd_parameters_core_t *self, uint64_t step, const uint64_t *ahead,
                               size_t count);
/*  The joins send the rows from `step` on, once more.  An older generation is ignored. */
void tnd_parameters_core_rewind(tnd_parameters_core_t *self, uint32_t generation, uint64_t step);

/*  A connection of that life of a replica is up: the replica asks and pushes again what has not been
 *  served or taken.  Another life than the last one has none of its steps. */
void tnd_parameters_core_replica_up(tnd_parameters_core_t *self, uint32_t replica, tnd_life_t life);
/*  Its connection is lost: no further step is dealt to it, and it keeps those it has. */
void tnd_parameters_core_replica_away(tnd_parameters_core_t *self, uint32_t replica);
/*  The leader's word that this life and those before are over: their steps go to others, and what it still says is ignored, also
 *  if it lives.  Nothing happens to a later life. */
void tnd_parameters_core_replica_gone(tnd_parameters_core_t *self, uint32_t replica,
                                      tnd_life_t life);

/*  The replica has all rows of the step and waits for its parameters.  Ignored if the step is not its
 *  own or was pushed.  TND_FAILED: the replica does not exist, or the step was not dealt. */
tnd_status_t tnd_parameters_core_read(tnd_parameters_core_t *self, uint32_t replica, uint64_t step,
                                      tnd_error_t *error) TND_CHECKED;
/*  Takes the payload in any case: it comes back as APPLY or DROP.  Errors: as of `read`; and a step
 *  whose parameters were not served. */
tnd_status_t tnd_parameters_core_push(tnd_parameters_core_t *self, uint32_t replica, uint64_t step,
                                      void *payload, tnd_error_t *error) TND_CHECKED;

void tnd_parameters_core_booked(tnd_parameters_core_t *self, uint64_t below);
/*  No step is served from `step` on (TND_UNKNOWN: any is); not below tnd_parameters_core_started.  Later
 *  ones are still dealt, and replicas hold their rows. */
void tnd_parameters_core_limit(tnd_parameters_core_t *self, uint64_t step);
/*  The stream ends before `step`, which is not below tnd_parameters_core_started; later steps that were
 *  dealt do not exist, or are not run.  The earliest word counts. */
void tnd_parameters_core_end(tnd_parameters_core_t *self, uint64_t step);

/*  After it, the only effects are DROP, of what was pushed and is not applied. */
void tnd_parameters_core_stop(tnd_parameters_core_t *self);

/*  Drain it before the next event. */
bool tnd_parameters_core_next(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect);

/*  No step from this one on was served, nor applied before the run began. */
uint64_t tnd_parameters_core_started(const tnd_parameters_core_t *self);
/*  All steps below were dealt in some generation, no other one; also if the stream ends before. */
uint64_t tnd_parameters_core_dealt(const tnd_parameters_core_t *self);
/*  All steps below are committed, this one is not. */
uint64_t tnd_parameters_core_committed(const tnd_parameters_core_t *self);
/*  How many pushes were applied, over the run. */
uint64_t tnd_parameters_core_version(const tnd_parameters_core_t *self);
/*  The steps from the committed ones on that are applied, ascending, for a checkpoint: fills `steps`,
 *  which has room for `window`, and returns how many there are. */
size_t tnd_parameters_core_ahead(const tnd_parameters_core_t *self, uint64_t *steps);
/*  Whether all steps before the end are committed. */
bool tnd_parameters_core_over(const tnd_parameters_core_t *self);
uint32_t tnd_parameters_core_blocked_on(const tnd_parameters_core_t *self);

#endif
