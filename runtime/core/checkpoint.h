/*  runtime/core/checkpoint.h - the leader's decisions about checkpoints.
 *
 *  It says behind which steps feeders keep their models, gathers what they say of it, and asks for
 *  the manifest once the step is booked and every replica has kept its part: then, and only then,
 *  model and cursor are one checkpoint.  One that lacks a part is not written; the run goes on.
 *  If nobody said why, that is said only when the next step is booked: behind the last one feeders
 *  keep their models when they know that it was the last, which may be after it is booked.
 *  Once a manifest is written the newest `keep` stay, and all that is older may go.
 *
 *  Models are kept behind every so many steps, or after so much time.  For the latter a step is
 *  named that no feeder can have begun, which follows from how many may be unbooked; if some feeder
 *  was past it all the same, the next one is named further ahead, at once.
 *
 *  Lifecycle: in the caller's memory (zeroed), no end.  Threads: one at a time.  Steps are counts:
 *  "behind step 5" is said as 5 of those that are done.
 */
#ifndef TND_RUNTIME_CORE_CHECKPOINT_H
#define TND_RUNTIME_CORE_CHECKPOINT_H

#include "runtime/core/protocol/message.h"

/*  What one replica's model is where it is kept; all 0: there is none, nothing is computed. */
typedef struct {
    uint64_t bytes;
    uint64_t hash[2]; /* XXH3-128: low, high */
} tnd_saved_t;

typedef struct {
    uint32_t replicas;
    uint64_t every_steps, every_ns; /* one of them, or neither: at the end of the run alone */
    uint64_t keep;                  /* whole ones that stay; at least 1 */
    uint32_t depth;                 /* steps that a feeder holds */
    uint32_t ahead; /* a feeder has not begun the step so many behind the booked ones */
    uint64_t from;  /* the run goes on behind so many steps */
} tnd_checkpoint_config_t;

typedef enum {
    TND_CHECKPOINT_WRITE,  /* the manifest of `step`, with `parts` by replica */
    TND_CHECKPOINT_LACKS,  /* none behind `step`: `have` parts of all, and `why` if somebody said */
    TND_CHECKPOINT_FORGET, /* what lies below `step` may go, whole or not */
    TND_CHECKPOINT_KEEP    /* `word` to all feeders, before anything else that they are told */
} tnd_checkpoint_kind_t;

typedef struct {
    tnd_checkpoint_kind_t kind;
    uint64_t step;
    const tnd_saved_t *parts; /* valid until the machine is called again */
    uint32_t have;
    const char *why; /* likewise; "": nobody said */
    tnd_keep_note_t word;
} tnd_checkpoint_effect_t;

typedef struct tnd_checkpoint tnd_checkpoint_t;

size_t tnd_checkpoint_bytes(const tnd_checkpoint_config_t *config);
tnd_checkpoint_t *tnd_checkpoint_init(void *memory, const tnd_checkpoint_config_t *config);

/*  A whole one that an earlier run has left; in ascending order, before all else. */
void tnd_checkpoint_found(tnd_checkpoint_t *self, uint64_t step);
/*  A feeder says that a replica's model is kept / could not be kept behind `step`, and why.  Words
 *  that come again, too late or of steps too far away change nothing.
 */
void tnd_checkpoint_part(tnd_checkpoint_t *self, uint64_t step, uint32_t replica,
                         const tnd_saved_t *part);
void tnd_checkpoint_unkept(tnd_checkpoint_t *self, uint64_t step, uint32_t replica,
                           const char *why);
/*  `step` steps are booked: every feeder has said of the last of them what it says. */
void tnd_checkpoint_booked(tnd_checkpoint_t *self, uint64_t step, uint64_t now);
/*  The run is over behind `step`, and all feeders have said their last words. */
void tnd_checkpoint_end(tnd_checkpoint_t *self, uint64_t step);
/*  The manifest of `step` that was asked for is in its place. */
void tnd_checkpoint_written(tnd_checkpoint_t *self, uint64_t step);

/*  To be drained after every event: what WRITE names belongs to the cursor of that moment. */
bool tnd_checkpoint_next(tnd_checkpoint_t *self, tnd_checkpoint_effect_t *effect);
/*  The last word to feeders, for one that may have missed it. */
tnd_keep_note_t tnd_checkpoint_word(const tnd_checkpoint_t *self);

/*  Steps behind the newest whole one; 0: there is none. */
uint64_t tnd_checkpoint_last(const tnd_checkpoint_t *self);

/*  Whether a feeder that has this word keeps its models behind `step`. */
static inline bool tnd_checkpoint_asks(const tnd_keep_note_t *word, uint64_t step)
{
    return step == word->step || (word->every > 0 && step % word->every == 0);
}

#endif
