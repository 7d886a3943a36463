/*  actors/feeder/pending_reductions.h - values that a feeder posts, perhaps again.
 *
 *  A restarted reducer has lost its state.  Its feeders post again the values of all rounds that it
 *  had not closed, and the result is the same.  So values are kept until the message CLOSED.
 *
 *  Reducers also learn how many slots each step had (PASSED).  So a replica that leaves out a
 *  reduction ends the run, and the others do not wait for it.
 *
 *  Threads: the feeder's actor. */
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

/*  What the step under way, or the last one, has posted: up to which slot, and for each of the first
 *  64 reducers the slot after the last one that it got. */
typedef struct {
    tnd_passed_note_t note; /* without `begin` */
    uint32_t got[64];
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
/*  A step now waits for all that was added since the last call.  Tells each reducer that others got
 *  what follows the last value that it got. */
void tnd_pending_reductions_sent(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers);
/*  A step is done, with so many slots and reductions. Sends PASSED if these numbers differ from
 *  those of the step before. */
void tnd_pending_reductions_done(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers, uint64_t step, uint32_t slots,
                                 uint32_t reductions);
/*  No other step is ready: sends PASSED for the steps that it was not sent for. */
void tnd_pending_reductions_idle(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers);
/*  A reducer is connected again: posts the values that it has not closed, and sends PASSED. */
void tnd_pending_reductions_again(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                  const tnd_peers_t *reducers, tnd_actor_id_t reducer);
/*  A reducer sent CLOSED.  Returns whether values were pending for it. */
bool tnd_pending_reductions_close(tnd_pending_reductions_t *self, tnd_actor_id_t reducer,
                                  const tnd_post_note_t *post);
void tnd_pending_reductions_free(tnd_pending_reductions_t *self);

#endif
