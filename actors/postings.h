/*  actors/postings.h - what a feeder has posted to reducers that is not closed.
 *
 *  A reducer that dies has nothing to say any more: its feeders post again what it had not closed,
 *  and the same result comes out.  So values are kept until the word CLOSED.
 *
 *  Threads: the feeder's actor.
 */
#ifndef TND_ACTORS_POSTINGS_H
#define TND_ACTORS_POSTINGS_H

#include "runtime/data/buffer.h"
#include "runtime/life/actor.h"

typedef struct {
    tnd_actor_id_t reducer;
    tnd_post_note_t post; /* holds the payload */
} tnd_posted_t;

typedef struct {
    tnd_posted_t *items; /* in order of posting */
    uint32_t count, room;
} tnd_postings_t;

/*  Posts a value and keeps it; takes the payload. */
void tnd_postings_add(tnd_postings_t *self, tnd_actor_t *actor, tnd_actor_id_t reducer,
                      const tnd_post_note_t *post);
/*  A reducer is there again: posts to it what it has not closed. */
void tnd_postings_again(tnd_postings_t *self, tnd_actor_t *actor, tnd_actor_id_t reducer);
/*  A reducer said CLOSED. */
void tnd_postings_close(tnd_postings_t *self, tnd_actor_id_t reducer, const tnd_post_note_t *post);
void tnd_postings_free(tnd_postings_t *self);

#endif
