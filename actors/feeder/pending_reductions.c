/*  actors/feeder/pending_reductions.c - what a feeder has posted to reducers that is not closed. */
#include "actors/feeder/pending_reductions.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

static void send(const tnd_posted_t *posted, tnd_actor_t *actor)
{
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = tnd_actor_id(actor), .to = posted->reducer};
    msg.post = posted->post;
    tnd_buffer_t *payload = tnd_buffer_hold(posted->post.payload);
    /* A reducer that is away gets it when it is there again. */
    if (tnd_actor_send(actor, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_buffer_drop(&payload);
}

/*  A step that is repeated begins with earlier slots. */
static bool begins_step(const tnd_exchange_t *exchange, const tnd_post_note_t *post)
{
    return !exchange->any || exchange->note.first != post->round ||
           (!exchange->open && post->reducer_slot < exchange->note.end);
}

static void note_posted(tnd_exchange_t *exchange, uint32_t to, const tnd_post_note_t *post)
{
    tnd_passed_note_t *note = &exchange->note;
    if (begins_step(exchange, post))
        *exchange =
            (tnd_exchange_t){.note = {.first = post->round, .last = post->round}, .any = true};
    exchange->open = true;
    if (note->end <= post->reducer_slot)
        note->end = post->reducer_slot + 1;
    if (note->reductions <= post->reduction)
        note->reductions = post->reduction + 1;
    if (to < 64)
        exchange->got[to] = post->reducer_slot + 1;
}

void tnd_pending_reductions_add(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                const tnd_peers_t *reducers, uint32_t to,
                                const tnd_post_note_t *post)
{
    note_posted(&self->exchange, to, post);
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    tnd_posted_t *posted = &self->items[self->count++];
    *posted = (tnd_posted_t){.reducer = reducers->ids[to], .post = *post};
    send(posted, actor);
}

static void say_passed(tnd_actor_t *actor, tnd_actor_id_t reducer, const tnd_passed_note_t *note)
{
    tnd_msg_t msg = {.kind = TND_MSG_PASSED, .from = tnd_actor_id(actor), .to = reducer};
    msg.passed = *note;
    /* A reducer that is away gets it when it is there again. */
    (void)tnd_actor_send(actor, &msg, TND_CARRY_NOTHING);
}

static void tell(tnd_pending_reductions_t *self, tnd_actor_t *actor, const tnd_peers_t *reducers)
{
    self->passed.told = self->passed.note.last;
    for (uint32_t i = 0; i < reducers->count; i++)
        say_passed(actor, reducers->ids[i], &self->passed.note);
}

/*  Tells a reducer which slots after its last one went to others.  Those before it are known: a
 *  replica posts in their order. */
static void say_aside(const tnd_exchange_t *exchange, tnd_actor_t *actor,
                      const tnd_peers_t *reducers, uint32_t reducer)
{
    tnd_passed_note_t note = exchange->note;
    if (!exchange->any || exchange->open || reducer >= 64 || exchange->got[reducer] >= note.end)
        return;
    note.begin = exchange->got[reducer];
    say_passed(actor, reducers->ids[reducer], &note);
}

void tnd_pending_reductions_sent(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers)
{
    self->exchange.open = false;
    for (uint32_t i = 0; i < reducers->count; i++)
        say_aside(&self->exchange, actor, reducers, i);
}

void tnd_pending_reductions_done(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers, uint64_t step, uint32_t slots,
                                 uint32_t reductions)
{
    tnd_passed_note_t *note = &self->passed.note;
    bool same = self->passed.any && note->begin == slots && note->reductions == reductions;
    if (!same)
        *note = (tnd_passed_note_t){
            .first = step, .begin = slots, .end = TND_PASSED_DONE, .reductions = reductions};
    note->last = step;
    self->passed.any = true;
    if (!same)
        tell(self, actor, reducers);
}

void tnd_pending_reductions_idle(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                 const tnd_peers_t *reducers)
{
    if (self->passed.any && self->passed.told < self->passed.note.last)
        tell(self, actor, reducers);
}

void tnd_pending_reductions_again(tnd_pending_reductions_t *self, tnd_actor_t *actor,
                                  const tnd_peers_t *reducers, tnd_actor_id_t reducer)
{
    bool unsaid = self->passed.any;
    for (uint32_t i = 0; i < self->count; i++) {
        const tnd_posted_t *posted = &self->items[i];
        if (posted->reducer != reducer)
            continue;
        if (unsaid && posted->post.round > self->passed.note.last) {
            say_passed(actor, reducer, &self->passed.note);
            unsaid = false;
        }
        send(posted, actor);
    }
    if (unsaid)
        say_passed(actor, reducer, &self->passed.note);
    for (uint32_t i = 0; i < reducers->count; i++)
        if (reducers->ids[i] == reducer)
            say_aside(&self->exchange, actor, reducers, i);
}

bool tnd_pending_reductions_close(tnd_pending_reductions_t *self, tnd_actor_id_t reducer,
                                  const tnd_post_note_t *post)
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
    bool any = kept < self->count;
    self->count = kept;
    return any;
}

void tnd_pending_reductions_free(tnd_pending_reductions_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_buffer_t *payload = self->items[i].post.payload;
        tnd_buffer_drop(&payload);
    }
    free(self->items);
    *self = (tnd_pending_reductions_t){0};
}
