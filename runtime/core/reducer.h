/*  runtime/core/reducer.h - decides when a reduction is complete, and which feeders get it.
 *
 *  A round has one value a logical replica.  Feeders post nodes of the fixed tree (tree.h): one
 *  leaf, or an aligned subtree that they own whole.  When all leaves are covered the root is
 *  computed (REDUCE) and sent to every feeder; a feeder that has it says GOT and still keeps its
 *  input; when all have it the reducer says CLOSED and both sides forget the round.  So a reducer
 *  that dies is rebuilt by its feeders posting again what is not closed, and the same bits come
 *  out.  Posting twice is harmless.
 *
 *  A replica posts in ascending order of (round, reducer_slot), and a feeder that has a new
 *  connection posts all its unclosed rounds again in that order before any other.  Hence a replica
 *  that goes on without posting to an open round has seen it closed by a reducer that is gone: all
 *  have its result, and the round is closed for those who posted.
 *
 *  A replica that leaves a reduction out would keep the others waiting for ever.  So feeders say
 *  PASSED: how many slots a step had, when it had another number than the one before (the first
 *  one too), and when they have no other step to run; and which slots went to other reducers,
 *  where there are several.  A later post says the same of all steps in between.  Who posted to a
 *  slot that another one has passed without is told so by TND_FAILED.  Steps that all post the same
 *  cost nothing.  A feeder says PASSED of a step before it posts to a later one, and behind all
 *  that it posts to that step, on a new connection too.
 *
 *  A feeder that hears CLOSED of a round without ever having got its root has found a replica that
 *  left out a reduction where all that said so is lost with reducers.
 *
 *  A feeder keeps at most `rounds_max` rounds that are not closed.
 */
#ifndef TND_RUNTIME_CORE_REDUCER_H
#define TND_RUNTIME_CORE_REDUCER_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t replicas;
    const tnd_actor_id_t *feeders; /* by replica; kept by the caller */
    const char *const *names;      /* of those feeders, for texts: by replica; kept likewise */
    uint32_t rounds_max;           /* open at the same time: (depth + 1) x reductions of a step */
} tnd_reducer_core_config_t;

typedef struct tnd_reducer_core tnd_reducer_core_t;

size_t tnd_reducer_core_bytes(const tnd_reducer_core_config_t *config);
tnd_reducer_core_t *tnd_reducer_core_init(void *memory, const tnd_reducer_core_config_t *config);

/*  Takes the payload of a POST, whatever it returns: it is kept until FORGET, or comes back as DROP
 *  (a duplicate, or a round that is closed: the feeder is told so again).  TND_FAILED: no node of
 *  the tree, another feeder's replicas, a node that overlaps another, too many rounds, or one that
 *  another replica has left out.
 */
tnd_status_t tnd_reducer_core_post(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error);
/*  TND_FAILED: a replica has left out a reduction that others posted. */
tnd_status_t tnd_reducer_core_passed(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                     tnd_error_t *error);
/*  The root of a round asked for by REDUCE, a payload of its own: kept until FORGET, or comes back
 *  as DROP if nobody waits for it.
 */
void tnd_reducer_core_reduced(tnd_reducer_core_t *self, const tnd_msg_t *msg, void *root);
void tnd_reducer_core_got(tnd_reducer_core_t *self, const tnd_msg_t *msg);
/*  A feeder that is back gets the results again that it has not said it has. */
void tnd_reducer_core_feeder_up(tnd_reducer_core_t *self, tnd_actor_id_t feeder);
void tnd_reducer_core_feeder_lost(tnd_reducer_core_t *self, tnd_actor_id_t feeder);

/*  The posted nodes of a round in order of `first`: fills `posts`, returns how many. */
uint32_t tnd_reducer_core_nodes(const tnd_reducer_core_t *self, uint64_t round,
                                uint32_t reducer_slot, tnd_post_note_t *posts, uint32_t room);

/*  REDUCE, RESULT and CLOSED to feeders, FORGET (of each node of a closed round, and of its root as
 *  msg.kind RESULT; also in `payload`), DROP.  To be drained before the next event.
 */
bool tnd_reducer_core_next(tnd_reducer_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  Ends all rounds, complete or not.  The machine sends no further messages;
 *  tnd_reducer_core_next returns each payload it still holds by FORGET and DROP.
 */
void tnd_reducer_core_end(tnd_reducer_core_t *self);
uint32_t tnd_reducer_core_blocked_on(const tnd_reducer_core_t *self);
uint32_t tnd_reducer_core_open(const tnd_reducer_core_t *self); /* rounds under way */
/*  The replicas that the oldest open round misses: fills `ids`, returns how many there are. */
uint32_t tnd_reducer_core_missing(const tnd_reducer_core_t *self, uint32_t *ids, uint32_t room);

#endif
