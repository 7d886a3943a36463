/*  actors/postings.c - what a feeder has posted to reducers that is not closed. */
#include "actors/postings.h"

#include <stdlib.h>

static void send(const tnd_posted_t *posted, tnd_actor_t *actor)
{
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = tnd_actor_id(actor), .to = posted->reducer};
    msg.post = posted->post;
    tnd_buffer_t *payload = tnd_buffer_hold(posted->post.payload);
    /* A reducer that is away gets it when it is there again. */
    if (tnd_actor_send(actor, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_buffer_drop(&payload);
}

void tnd_postings_add(tnd_postings_t *self, tnd_actor_t *actor, tnd_actor_id_t reducer,
                      const tnd_post_note_t *post)
{
    if (self->count == self->room) {
        self->room = self->room > 0 ? 2 * self->room : 16;
        self->items = realloc(self->items, self->room * sizeof *self->items);
        if (self->items == NULL)
            abort();
    }
    tnd_posted_t *posted = &self->items[self->count++];
    *posted = (tnd_posted_t){.reducer = reducer, .post = *post};
    send(posted, actor);
}

void tnd_postings_again(tnd_postings_t *self, tnd_actor_t *actor, tnd_actor_id_t reducer)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i].reducer == reducer)
            send(&self->items[i], actor);
}

void tnd_postings_close(tnd_postings_t *self, tnd_actor_id_t reducer, const tnd_post_note_t *post)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_posted_t *posted = &self->items[i];
        if (posted->reducer == reducer && posted->post.round == post->round &&
            posted->post.reducer_slot == post->reducer_slot) {
            tnd_buffer_t *payload = posted->post.payload;
            tnd_buffer_drop(&payload);
        } else {
            self->items[kept++] = *posted;
        }
    }
    self->count = kept;
}

void tnd_postings_free(tnd_postings_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_buffer_t *payload = self->items[i].post.payload;
        tnd_buffer_drop(&payload);
    }
    free(self->items);
    *self = (tnd_postings_t){0};
}
