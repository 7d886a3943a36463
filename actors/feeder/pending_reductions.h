/*  actors/feeder/pending_reductions.h - what a feeder has posted to reducers that is not closed.
 *
 *  A reducer that dies has nothing to say any more: its feeders post again what it had not closed,
 *  and the same result comes out.  So values are kept until the word CLOSED.
 *
 *  Reducers also learn how many slots each step had (round.h): a replica that leaves a reduction
 * out ends the run and does not let the others wait.
 *
 *  Threads: the feeder's actor.
 */
#ifndef TND_ACTORS_FEEDER_PENDING_REDUCTIONS_H
#define TND_ACTORS_FEEDER_PENDING_REDUCTIONS_H

#include "actors/plan/peers.h"
#include "runtime/data/buffer.h"
#include "runtime/host/actor.h"

typedef struct {
    tnd_actor_id_t reducer;
    tnd_post_note_t post; /* holds the payload */
} tnd_posted_t;

/*  The steps that had as many reductions as the last one, and what of that reducers know. */
typedef struct {
    tnd_passed_note_t note;
    uint64_t told; /* the last step that they were told of */
    bool any;
} tnd_passed_t;

/*  The exchange that was posted last: its slots, and which of the first 64 reducers got some. */
typedef struct {
    tnd_passed_note_t note;
    uint64_t posted;
    bool any, open;
} tnd_exchange_t;

typedef struct {
    tnd_posted_t *items; /* in order of posting */
    uint32_t count;
    size_t room;
    tnd_passed_t passed;
    tnd_exchange_t exchange;
} tnd_pending_reductions_t;

/*  Posts a value to reducer number `to` and keeps it; takes the payload. */
void tnd_pending_reductions_add(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                const tnd_peers_t *reducers, uint32_t to,
                                const tnd_post_note_t *post);
/*  All that was added since the last call is what a step waits for now: tells the reducers to which
 *  nothing of it went that it went to others.
 */
void tnd_pending_reductions_sent(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers);
/*  A step is done, with so many slots and reductions: says PASSED where that is another number than
 *  before.
 */
void tnd_pending_reductions_done(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers, uint64_t step, uint32_t slots,
                                 uint32_t reductions);
/*  There is no other step to run: says PASSED of what was not said yet. */
void tnd_pending_reductions_idle(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers);
/*  A reducer is there again: posts to it what it has not closed, and says PASSED. */
void tnd_pending_reductions_again(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                  const tnd_peers_t *reducers, tnd_actor_id_t reducer);
/*  A reducer said CLOSED. */
void tnd_pending_reductions_close(tnd_pending_reductions_t *self, tnd_actor_id_t reducer,
                                  const tnd_post_note_t *post);
void tnd_pending_reductions_free(tnd_pending_reductions_t *self);

#endif
