/*  runtime/feed/feed_turns.c - feeds that follow another one: at its end, or while it rests.
 *
 *  With `every:` the stream of a feed rests after some steps, and those that follow are fed, one after the
 *  other.  It goes on when they were fed whole, so a program that pulls it again discards the rest of them
 *  first.  Whose turn it is shows where the next step is: nothing else tells a program. */
#include "runtime/feed/feed_internal.h"

#include <inttypes.h>
#include <stdio.h>

bool tnd_feed_is_elsewhere(const tnd_feed_t *self)
{
    return atomic_load(&self->pulled) && !pthread_equal(self->puller, pthread_self());
}

/*  The feed after `lead` whose step it is, unless another thread pulls it; NULL: none.  `lead` waits for the
 *  program to pull it. */
static tnd_feed_t *next_turn(const tnd_feed_t *lead)
{
    for (tnd_feed_t *at = lead->followers; at != NULL; at = at->sibling)
        if (!tnd_feed_is_elsewhere(at) && tnd_device_workers_has_step(at->workers) &&
            !tnd_device_workers_dead(at->workers))
            return at;
    return NULL;
}

static bool is_others_turn(const void *lead)
{
    return next_turn(lead) != NULL;
}

static void join(tnd_feed_t *self, tnd_feed_t *lead)
{
    tnd_feed_t **last = &lead->followers;
    while (*last != NULL)
        last = &(*last)->sibling;
    *last = self;
    tnd_device_workers_wake_too(self->workers, lead->workers);
    tnd_device_workers_watch(lead->workers, is_others_turn, lead);
}

void tnd_feed_follow(tnd_feed_t *self, tnd_feed_t *before, const _Atomic bool *stopping)
{
    bool is_new = before != NULL && atomic_load(&self->before) == NULL;
    self->stopping = stopping;
    if (is_new && self->facts.repeats)
        join(self, before);
    atomic_store(&self->before, before);
}

/*  The first feed before this one that has not ended; NULL: all have. */
static const tnd_feed_t *open_before(const tnd_feed_t *self)
{
    const tnd_feed_t *open = NULL;
    for (const tnd_feed_t *at = atomic_load(&self->before); at != NULL;
         at = atomic_load(&at->before))
        open = tnd_feed_over(at) ? open : at;
    return open;
}

/*  Whether no thread but this one, or none at all, pulls that feed, which runs no step by itself. */
static bool is_left_to_caller(const tnd_feed_t *open)
{
    uint64_t steps;
    return tnd_device_workers_steps(open->workers, &steps) && !tnd_feed_failed(open) &&
           (!atomic_load(&open->pulled) || pthread_equal(open->puller, pthread_self()));
}

static tnd_status_t refuse_early(tnd_feed_t *self, const char *before)
{
    char why[256];
    snprintf(
        why, sizeof why,
        "comes after %.64s, which this program has not pulled to its end: pull all steps of "
        "that feed first, write `every: 1 epoch` in %.64s to validate while it trains, or feed "
        "these rows from a graph of their own",
        before, self->facts.name);
    return tnd_feed_refuse(self, why);
}

tnd_status_t tnd_feed_check_order(tnd_feed_t *self)
{
    const tnd_feed_t *open = self->facts.repeats ? NULL : open_before(self);
    if (open == NULL || atomic_load(self->stopping) || !is_left_to_caller(open))
        return TND_OK;
    return refuse_early(self, open->facts.name);
}

/* --- feeds with `every:` ---------------------------------------------------------------------- */

/*  Whether its own turn, or its end, is what it waits for. */
static bool is_own_turn(const void *feed)
{
    const tnd_feed_t *self = feed;
    return tnd_device_workers_dead(self->workers) || tnd_device_workers_has_turn(self->workers);
}

/*  Or that of the feed before it, or of another one that follows that. */
static bool is_a_turn(const void *feed)
{
    const tnd_feed_t *self = feed, *lead = atomic_load(&self->before);
    return is_own_turn(self) || tnd_device_workers_has_step(lead->workers) ||
           next_turn(lead) != NULL;
}

/*  Whether it had all its steps since the last one that was taken of the feed before. */
static bool is_through(const tnd_feed_t *self)
{
    const tnd_feed_t *lead = atomic_load(&self->before);
    return self->through && lead != NULL &&
           self->through_at == tnd_device_workers_taken(lead->workers);
}

/*  A step was taken of a feed, so those that follow it have had their turns. */
static void end_turns(const tnd_feed_t *self)
{
    for (tnd_feed_t *at = self->followers; at != NULL; at = at->sibling)
        if (!tnd_feed_is_elsewhere(at))
            tnd_device_workers_see_end(at->workers);
}

tnd_status_t tnd_feed_end_turn(tnd_feed_t *self, tnd_status_t status)
{
    const tnd_feed_t *lead = atomic_load(&self->before);
    if (status == TND_OK)
        end_turns(self);
    if (!self->facts.repeats || (status != TND_END && status != TND_STOPPED) || is_through(self))
        return status;
    tnd_device_workers_see_end(self->workers);
    self->through = true;
    self->through_at = lead != NULL ? tnd_device_workers_taken(lead->workers) : 0;
    self->how = status;
    return status;
}

/*  Discards what is left of its turn. */
static void skip(tnd_feed_t *self)
{
    tnd_status_t status;
    do
        status = tnd_device_workers_next(self->workers);
    while (status == TND_OK);
    (void)tnd_feed_end_turn(self, status);
}

tnd_status_t tnd_feed_skip_turns(tnd_feed_t *self)
{
    tnd_feed_t *turn = next_turn(self);
    if (turn != NULL)
        skip(turn);
    return TND_OK;
}

static tnd_status_t refuse_undue(tnd_feed_t *self, const char *before)
{
    char why[256];
    snprintf(why, sizeof why,
             "it is not its turn: `every: %" PRIu64 " %s` says after which steps of %.64s it is "
             "pulled, and tnd_feed_due tells when",
             self->facts.every, self->facts.every_what, before);
    return tnd_feed_refuse(self, why);
}

/*  Whether it is fed before another one that follows the same feed. */
static bool is_earlier(const tnd_feed_t *self, const tnd_feed_t *other)
{
    const tnd_feed_t *at = self;
    while (at != NULL && at != other)
        at = at->sibling;
    return at != NULL;
}

/*  The feed before it is left to this thread: ends its last step, so that it can rest. */
static tnd_status_t await_beside(tnd_feed_t *self, tnd_feed_t *lead, bool skips)
{
    if (!tnd_device_workers_has_step(lead->workers))
        tnd_device_workers_end_step(lead->workers);
    for (;;) {
        tnd_device_workers_await(lead->workers, is_a_turn, self);
        if (is_own_turn(self))
            return TND_OK;
        tnd_feed_t *turn = next_turn(lead);
        if (turn == NULL || !skips || !is_earlier(turn, self))
            return TND_AGAIN;
        skip(turn);
    }
}

/*  The last step of a turn that the program leaves. */
static void end_followers(const tnd_feed_t *self)
{
    for (tnd_feed_t *at = self->followers; at != NULL; at = at->sibling)
        if (!tnd_feed_is_elsewhere(at) && !tnd_device_workers_is_ended(at->workers))
            tnd_device_workers_end_step(at->workers);
}

/*  As tnd_feed_await_turn, and discards what is left of the turn of another one, if it `skips`.  TND_AGAIN:
 *  it is not its turn. */
static tnd_status_t await_turn(tnd_feed_t *self, bool skips)
{
    tnd_feed_t *lead = atomic_load(&self->before);
    end_followers(self);
    if (!self->facts.repeats)
        return TND_OK;
    if (is_through(self))
        return self->how;
    if (!tnd_device_workers_has_step(self->workers))
        tnd_device_workers_end_step(self->workers); /* which may be the last of its turn */
    if (lead != NULL && !atomic_load(self->stopping) && is_left_to_caller(lead))
        return await_beside(self, lead, skips);
    tnd_device_workers_await(self->workers, is_own_turn, self);
    return TND_OK;
}

tnd_status_t tnd_feed_await_turn(tnd_feed_t *self)
{
    tnd_status_t status = await_turn(self, true);
    return status == TND_AGAIN ? refuse_undue(self, atomic_load(&self->before)->facts.name)
                               : status;
}

bool tnd_feed_is_due(tnd_feed_t *self)
{
    return await_turn(self, false) == TND_OK && tnd_device_workers_has_turn(self->workers);
}

tnd_status_t tnd_feed_take_turn(tnd_feed_t *self)
{
    tnd_status_t status = tnd_feed_await_turn(self);
    while (status == TND_OK && (status = tnd_device_workers_next(self->workers)) == TND_AGAIN)
        status = tnd_feed_skip_turns(self);
    return tnd_feed_end_turn(self, status);
}
