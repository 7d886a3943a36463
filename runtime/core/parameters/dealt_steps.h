/*  runtime/core/parameters/dealt_steps.h - the steps that one replica has of those that a holder deals.
 *
 *  The joins send the rows of a step, whole, to the replica that the holder (holder.h) has dealt it to.
 *  When all its rows are in a slot, the replica asks for its parameters (READ).  Of the steps that were
 *  served, it runs the least one (RUN), one at a time, and pushes what results (PUSH).  Then the slot is
 *  free.  The gradient stays until the holder has taken it.
 *
 *  On each new connection to the holder, it asks and pushes again what was not served and not taken.
 *
 *  After a rewind, steps that lack rows are dropped, because they are sent again, and those that are
 *  whole stay.  Rows of these are ignored, and so are rows of steps that it has pushed: a rewind may
 *  have sent them before the holder had the push.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_PARAMETERS_DEALT_STEPS_H
#define TND_RUNTIME_CORE_PARAMETERS_DEALT_STEPS_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    uint32_t replica;
    uint32_t joins;         /* each sends one slice of a step, or none */
    uint32_t slots, window; /* as of the holder; there is memory for one more slot */
} tnd_dealt_steps_config_t;

typedef enum {
    TND_DEALT_STEPS_PLACE, /* copy the rows of `slice` into `slot` */
    TND_DEALT_STEPS_DROP,  /* release the rows of `slice` */
    TND_DEALT_STEPS_READ,  /* to the holder: `step` waits for its parameters */
    TND_DEALT_STEPS_RUN,   /* compute `step`, whose rows are in `slot`, on `payload` */
    TND_DEALT_STEPS_PUSH,  /* to the holder: `payload` is the gradient of `step` */
    TND_DEALT_STEPS_FORGET /* release `payload`: a gradient, or parameters that no step uses */
} tnd_dealt_steps_effect_kind_t;

typedef struct {
    tnd_dealt_steps_effect_kind_t kind;
    uint32_t slot;
    uint64_t step;
    tnd_slice_note_t slice;
    void *payload;
} tnd_dealt_steps_effect_t;

typedef struct tnd_dealt_steps tnd_dealt_steps_t;

size_t tnd_dealt_steps_bytes(const tnd_dealt_steps_config_t *config);
tnd_dealt_steps_t *tnd_dealt_steps_init(void *memory, const tnd_dealt_steps_config_t *config);

/*  Takes the payload in any case: it comes back as PLACE or DROP.  A slice of an older generation is
 *  dropped; one of a newer generation counts as the rewind.  TND_FAILED: rows of another replica, rows
 *  that contradict those before or are not all those of the step, or no slot for the step. */
tnd_status_t tnd_dealt_steps_slice(tnd_dealt_steps_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error) TND_CHECKED;
void tnd_dealt_steps_holder_up(tnd_dealt_steps_t *self);
void tnd_dealt_steps_holder_lost(tnd_dealt_steps_t *self);
/*  The parameters for a step; the payload comes back as RUN, which the driver then owns, or FORGET. */
void tnd_dealt_steps_served(tnd_dealt_steps_t *self, uint64_t step, void *payload);
/*  The step that RUN was for has resulted in this gradient; it comes back as FORGET. */
void tnd_dealt_steps_done(tnd_dealt_steps_t *self, void *gradient);
/*  The holder has the push of a step. */
void tnd_dealt_steps_taken(tnd_dealt_steps_t *self, uint64_t step);
/*  After it, the only effects are FORGET, of all that it still has. */
void tnd_dealt_steps_stop(tnd_dealt_steps_t *self);

/*  Drain it before the next event. */
bool tnd_dealt_steps_next(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect);

/*  Whether all rows of the step are in a slot. */
bool tnd_dealt_steps_holds(const tnd_dealt_steps_t *self, uint64_t step);
/*  INPUT: it has no step, or lacks rows; CREDIT: its steps lack their parameters; STEP: one runs; PEER:
 *  the holder is not connected. */
uint32_t tnd_dealt_steps_blocked_on(const tnd_dealt_steps_t *self);

#endif
