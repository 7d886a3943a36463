/*  runtime/core/feeder.h - a feeder's decisions: slots, whole steps, commits.
 *
 *  A feeder has `depth` slots; a slot takes the rows of one step for all replicas of this feeder.
 *  It sends each active join WINDOW(`until`): steps below `until` have a slot.  A join that sent
 *  neither a slice nor a WINDOW for TND_WINDOW_QUIET steps must ask.  A step is held when every
 *  replica has all its rows.  Held steps are handed out in step order, run by the device threads,
 *  and committed when those are done; then the slot is free.
 *
 *  The number of slots can be changed between two steps: the feeder gives no further slot until all
 *  are free, and begins again with the new ones.
 *
 *  After a rewind partial steps are dropped and held ones stay.  Slices of steps that are held or
 *  committed are ignored, because they carry the same rows.  HELD and COMMIT are sent again after a
 *  rewind and until the leader has booked them, so that none is lost with a control connection.
 *
 *  A program may end an epoch early (tnd_feeder_core_cut).  Then the steps that follow its last one are
 *  dropped, held ones too, and so is every slice that was made before the leader's rewind to the next
 *  epoch.  Epochs that were cut are counted, so that what comes before that rewind and what comes after
 *  it can be told apart, however late it arrives.
 *
 *  A stream that was fed whole may begin again, with steps that follow those before: that is a rewind
 *  which counts one epoch more as cut than this feeder.  The leader's words about the end and the limit
 *  of the stream before do not count any more, however late they arrive.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_FEEDER_H
#define TND_RUNTIME_CORE_FEEDER_H

#include "runtime/core/protocol/effect.h"

/*  The most that `unbooked_max` may be; the leader has room for what is said of so many steps. */
enum { TND_UNBOOKED_MOST = 512 };

typedef struct {
    tnd_actor_id_t self;
    const tnd_actor_id_t *joins; /* the caller keeps them alive */
    uint32_t join_count;
    uint32_t first_replica, replicas; /* carried by this feeder */
    uint32_t depth;
    uint32_t unbooked_max; /* commits that the leader has not booked; no further step is started */
} tnd_feeder_core_config_t;

typedef struct tnd_feeder_core tnd_feeder_core_t;

size_t tnd_feeder_core_bytes(const tnd_feeder_core_config_t *config);
tnd_feeder_core_t *tnd_feeder_core_init(void *memory, const tnd_feeder_core_config_t *config);

/*  `step` is the cursor's, the first that may come now; at later rewinds it is not above what this
 *  feeder holds, unless it has cut an epoch and `cuts` does not count it yet.  Nothing is sent before
 *  the first rewind.  An older generation is ignored.  If a batcher already announced this generation,
 *  the feeder only repeats HELD and COMMIT, and begins again if the stream does: a WINDOW does not say so.
 *  `before`: the last generation of the stream before that was fed whole, or 0. */
void tnd_feeder_core_rewind_to(tnd_feeder_core_t *self, uint32_t generation, uint64_t step,
                               uint32_t cuts, uint32_t before);
/*  Takes the payload in any case: it comes back as PLACE (the driver owns it then) or DROP.  A
 *  slice of an older generation is dropped; one of a newer generation counts as the rewind.
 *  TND_FAILED: a replica of another feeder, a step without a slot, or rows that overflow the
 *  replica's or contradict another lane's. */
tnd_status_t tnd_feeder_core_slice(tnd_feeder_core_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error);
/*  WINDOW of a join: it waits for a slot. */
void tnd_feeder_core_asked(tnd_feeder_core_t *self, const tnd_msg_t *msg);
void tnd_feeder_core_join_up(tnd_feeder_core_t *self, tnd_actor_id_t join);
void tnd_feeder_core_join_lost(tnd_feeder_core_t *self, tnd_actor_id_t join);
/*  The devices ran step `step`, handed out by READY, in step order.  `payload` is their report: it
 *  travels with each COMMIT of the step and comes back as DROP once the step is booked. */
void tnd_feeder_core_done(tnd_feeder_core_t *self, uint64_t step, const uint64_t digest[2],
                          uint32_t rows, void *payload);
void tnd_feeder_core_booked(tnd_feeder_core_t *self, uint64_t below);
/*  The stream ends before `step` (LAST, relayed by the leader), or must end before it (drain).  The
 *  earliest of all counts, since an epoch that is cut only makes the stream shorter. */
void tnd_feeder_core_end(tnd_feeder_core_t *self, uint64_t step);

/*  The program ends the epoch with step `step`, which is started, not done and not the last of it.  No
 *  other step is started; those that were come back unused, in step order.  When all have, and `step`
 *  is done, its COMMIT says so. */
void tnd_feeder_core_cut(tnd_feeder_core_t *self, uint64_t step);
void tnd_feeder_core_withdrawn(tnd_feeder_core_t *self, uint64_t step);
/*  Whether steps may still come back. */
bool tnd_feeder_core_is_cutting(const tnd_feeder_core_t *self);
/*  Epochs that were cut so far. */
uint32_t tnd_feeder_core_cuts(const tnd_feeder_core_t *self);
/*  The latest that it has heard of; MODEL names it. */
uint32_t tnd_feeder_core_generation(const tnd_feeder_core_t *self);

/*  Starts no further step and answers the question of that number with HALT (steps started). */
void tnd_feeder_core_halt(tnd_feeder_core_t *self, uint32_t number);
/*  The leader's word: the steps below `step` (TND_UNKNOWN: all) of epochs below `epoch` (TND_ENDLESS: all)
 *  may be started. */
void tnd_feeder_core_limit(tnd_feeder_core_t *self, uint64_t step, uint32_t epoch);

/*  The user wants so many slots, at least one.  Only the last wish counts. */
void tnd_feeder_core_depth(tnd_feeder_core_t *self, uint32_t depth);
/*  Answers RESIZE: returns the same machine in other memory, for `config`, which is that of init but
 *  for `depth`, and that may be as before.  The driver frees the memory of `self`. */
tnd_feeder_core_t *tnd_feeder_core_resized(const tnd_feeder_core_t *self, void *memory,
                                           const tnd_feeder_core_config_t *config);

/*  PLACE (rows of a step, which may be incomplete, in its slot), READY (in step order, after the
 *  last PLACE; `msg.slice` describes the whole step), FREE (of step `msg.slice.step`), RESIZE, WINDOW
 *  to joins, HELD, COMMIT and HALT by control, DROP (`msg.kind`: SLICE, or COMMIT for a report).
 *  Drain it before the next event. */
bool tnd_feeder_core_next_effect(tnd_feeder_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  Whether every step before the end is committed, until the stream begins again. */
bool tnd_feeder_core_over(const tnd_feeder_core_t *self);
uint64_t tnd_feeder_core_started(const tnd_feeder_core_t *self);   /* steps handed out by READY */
uint64_t tnd_feeder_core_committed(const tnd_feeder_core_t *self); /* steps done */
uint64_t tnd_feeder_core_held(const tnd_feeder_core_t *self);      /* all below are held or done */
uint32_t tnd_feeder_core_blocked_on(const tnd_feeder_core_t *self);

/*  WINDOW of a join, BOOKED, LAST, HALT, LIMIT and DEPTH of the leader; others are ignored, and so is what
 *  the leader said of the stream before. */
void tnd_feeder_core_message(tnd_feeder_core_t *self, const tnd_msg_t *msg);

#endif
