/*  runtime/core/checkpoint.h - the leader's decisions about checkpoints.
 *
 *  It decides after which steps feeders save their models, collects the results, and asks for the
 *  manifest once the step is booked and every replica has saved its part.  Only then model and
 *  cursor are one checkpoint.  A checkpoint that lacks a part is not written; the run continues.
 *  If no feeder reported why, the missing part is reported only when the next step is booked: after
 *  the last step feeders save their models when they learn that it was the last, which may be after
 *  it is booked.  Once a manifest is written, the newest `keep` checkpoints stay and older ones are
 *  deleted.  Where a disk is slower than the run, manifests wait to be written: one that as many later ones
 *  would delete at once is not, so that a run does not wait for them at its end.
 *
 *  Models are saved every so many steps, or every so much time.  For the latter the leader names a
 *  step that no feeder can have begun, which follows from how many steps may be unbooked.  If a
 *  feeder was past it all the same, the leader names the next one further ahead, at once.
 *
 *  Where the best of several validations is wanted, models are also saved after each step after which one
 *  is due, and the checkpoint of the best one stays.
 *
 *  Lifecycle: in the caller's memory (zeroed), no end.  Threads: one at a time.  Units: `step`
 *  counts steps that are done, so step 5 is the state after five steps. */
#ifndef TND_RUNTIME_CORE_CHECKPOINT_H
#define TND_RUNTIME_CORE_CHECKPOINT_H

#include "runtime/core/protocol/message_notes.h"

/*  A saved model of one replica; all 0: there is none, or nothing is computed. */
typedef struct {
    uint64_t bytes;
    uint64_t hash[2]; /* XXH3-128: low, high */
} tnd_saved_t;

typedef struct {
    uint32_t replicas;
    uint64_t every_steps, every_ns; /* one of them, or neither: only at the end of the run */
    uint64_t rest_steps,
        rest_epochs; /* between validations of which the best is kept; both 0: none */
    uint64_t keep;   /* checkpoints that stay; at least 1 */
    uint32_t depth;  /* steps that a feeder holds */
    uint32_t ahead;  /* no feeder has begun a step this far after the booked ones */
    uint64_t from;   /* steps before the run resumes */
} tnd_checkpoint_config_t;

typedef enum {
    TND_CHECKPOINT_WRITE, /* the manifest of `step`, with `parts` by replica */
    TND_CHECKPOINT_GIVE_UP, /* of the manifest of `step`, unless its writing has begun, and of its parts */
    TND_CHECKPOINT_LACKS, /* none after `step`: `have` parts of all; `why` if a feeder reported it */
    TND_CHECKPOINT_FORGET, /* delete what is below `step`, complete or not, but for `best` */
    TND_CHECKPOINT_KEEP    /* send `word` to all feeders before any other message */
} tnd_checkpoint_kind_t;

typedef struct {
    tnd_checkpoint_kind_t kind;
    uint64_t step, best;
    const tnd_saved_t *parts; /* valid until the machine is called again */
    uint32_t have;
    const char *why; /* likewise; "": not reported */
    tnd_keep_note_t word;
} tnd_checkpoint_effect_t;

typedef struct tnd_checkpoint tnd_checkpoint_t;

size_t tnd_checkpoint_bytes(const tnd_checkpoint_config_t *config);
tnd_checkpoint_t *tnd_checkpoint_init(void *memory, const tnd_checkpoint_config_t *config);

/*  A checkpoint of an earlier run; in ascending order, before all other calls. */
void tnd_checkpoint_found(tnd_checkpoint_t *self, uint64_t step);
/*  A feeder has saved a replica's model after `step`, or could not save it for the reason `why`.
 *  Reports that are repeated, late or too far ahead are ignored. */
void tnd_checkpoint_part(tnd_checkpoint_t *self, uint64_t step, uint32_t replica,
                         const tnd_saved_t *part);
void tnd_checkpoint_unkept(tnd_checkpoint_t *self, uint64_t step, uint32_t replica,
                           const char *why);
/*  `step` steps are booked: every feeder has sent its reports up to the last of them. */
void tnd_checkpoint_booked(tnd_checkpoint_t *self, uint64_t step, uint64_t now);
/*  The run is over after `step`, and all feeders have sent MODEL. */
void tnd_checkpoint_end(tnd_checkpoint_t *self, uint64_t step);
/*  The manifest of `step` is written / could not be written. */
void tnd_checkpoint_written(tnd_checkpoint_t *self, uint64_t step);
void tnd_checkpoint_failed(tnd_checkpoint_t *self, uint64_t step);

/*  The checkpoint of `step`, which has the best value, stays, in place of the one before.  If it is not
 *  written yet, the one before stays until then.  Before tnd_checkpoint_found: one of an earlier run. */
void tnd_checkpoint_pin(tnd_checkpoint_t *self, uint64_t step);

/*  Drain it after every event: WRITE refers to the cursor of that moment. */
bool tnd_checkpoint_next(tnd_checkpoint_t *self, tnd_checkpoint_effect_t *effect);
/*  The latest KEEP for feeders, for a feeder that may have missed it. */
tnd_keep_note_t tnd_checkpoint_word(const tnd_checkpoint_t *self);

/*  Steps of the newest checkpoint; 0: there is none. */
uint64_t tnd_checkpoint_last(const tnd_checkpoint_t *self);

static inline bool tnd_checkpoint_is_multiple(uint64_t number, uint64_t of)
{
    return of > 0 && number > 0 && number % of == 0;
}

/*  What a feeder does of a KEEP.  If epochs may have no step (`uneven`), it saves its models after each one: whether the next
 *  step is of an epoch before which a validation is due is known only when it comes. */
tnd_keep_note_t tnd_checkpoint_word_of_feeder(const tnd_keep_note_t *word, bool uneven);

/*  Whether a feeder with this KEEP saves its models after `step`; `epochs`: that have ended with it, 0 if
 *  it ends none. */
static inline bool tnd_checkpoint_asks(const tnd_keep_note_t *word, uint64_t step, uint64_t epochs)
{
    return step == word->step || tnd_checkpoint_is_multiple(step, word->every) ||
           tnd_checkpoint_is_multiple(step, word->rest_steps) ||
           tnd_checkpoint_is_multiple(epochs, word->rest_epochs);
}

#endif
