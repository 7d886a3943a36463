/*  runtime/core/reducer.h - decides when a reduction is complete, and which feeders get the result.
 *
 *  A round has one value per logical replica.  Feeders post nodes of the fixed tree
 *  (numeric/reduction_tree.h): one leaf, or an aligned subtree of which they own all leaves.  When
 *  all leaves are covered the root is computed (REDUCE) and sent to every feeder.  A feeder that
 *  does not need it any more answers GOT and keeps its input; when all have it the reducer sends CLOSED and both sides
 *  forget the round.  So feeders rebuild a reducer that died by posting again what is not closed,
 *  and the result has the same bits.  Posting twice is harmless.
 *
 *  A replica posts in ascending order of (round, reducer_slot), and on a new connection a feeder
 *  first posts all its open rounds again in that order.  So a replica that continues without
 *  posting to an open round has seen it closed by a reducer that died: all feeders have its result,
 *  and the round is closed.
 *
 *  A replica that leaves a reduction out would make the others wait for ever.  So feeders send
 *  PASSED: how many slots a step had, whenever that number changes (for the first step too) and
 *  when they have no other step to run; and, if there are several reducers, which slots went to
 *  other ones.  A later post repeats the same for all steps in between.  If a replica posted to a
 *  slot that another one has passed, TND_FAILED names both.  Steps that all post alike cost
 *  nothing.  A feeder sends PASSED of a step before it posts to a later one and after everything
 *  that it posts to that step, on a new connection too.
 *
 *  A feeder that receives CLOSED of a round without its root has found a replica that left out a
 *  reduction, where all reports of it were lost with reducers.
 *
 *  A feeder keeps at most `rounds_max` rounds that are not closed.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_REDUCER_H
#define TND_RUNTIME_CORE_REDUCER_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t replicas;
    const tnd_actor_id_t *feeders; /* by replica; the caller keeps them alive */
    const char *const *names;      /* of those feeders, for messages; likewise */
    uint32_t rounds_max;           /* open at the same time: what a feeder may keep */
} tnd_reducer_core_config_t;

typedef struct tnd_reducer_core tnd_reducer_core_t;

size_t tnd_reducer_core_bytes(const tnd_reducer_core_config_t *config);
tnd_reducer_core_t *tnd_reducer_core_init(void *memory, const tnd_reducer_core_config_t *config);

/*  Takes the payload of a POST in any case: it is kept until FORGET, or comes back as DROP (a
 *  duplicate, or a closed round, of which the feeder is told again).  TND_FAILED: not a node of the
 *  tree, replicas of another feeder, a node that overlaps another, too many rounds, or a round that
 *  another replica has left out. */
tnd_status_t tnd_reducer_core_post(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error);
/*  TND_FAILED: a replica has left out a reduction that others posted. */
tnd_status_t tnd_reducer_core_passed(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                     tnd_error_t *error);
/*  The root of a round, as asked for by REDUCE; a payload of its own.  It is kept until FORGET, or
 *  comes back as DROP if no feeder waits for it. */
void tnd_reducer_core_reduced(tnd_reducer_core_t *self, const tnd_msg_t *msg, void *root);
void tnd_reducer_core_got(tnd_reducer_core_t *self, const tnd_msg_t *msg);
/*  A feeder that is back gets the results again for which it has not sent GOT. */
void tnd_reducer_core_feeder_up(tnd_reducer_core_t *self, tnd_actor_id_t feeder);
void tnd_reducer_core_feeder_lost(tnd_reducer_core_t *self, tnd_actor_id_t feeder);

/*  Fills `posts` with the posted nodes of a round in order of `first`; returns how many there are. */
uint32_t tnd_reducer_core_nodes(const tnd_reducer_core_t *self, uint64_t round,
                                uint32_t reducer_slot, tnd_post_note_t *posts, uint32_t room);

/*  REDUCE, RESULT and CLOSED to feeders, FORGET (of each node of a closed round, and of its root as
 *  msg.kind RESULT; also in `payload`), DROP.  Drain it before the next event. */
bool tnd_reducer_core_next(tnd_reducer_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  Ends all rounds, complete or not.  The machine sends no further messages; tnd_reducer_core_next
 *  returns each payload it still holds by FORGET and DROP. */
void tnd_reducer_core_end(tnd_reducer_core_t *self);
uint32_t tnd_reducer_core_blocked_on(const tnd_reducer_core_t *self);
uint32_t tnd_reducer_core_open(const tnd_reducer_core_t *self); /* rounds under way */

#endif
