/*  runtime/feed/feed_internal.h - a feed, shared by its files.
 *
 *  feed.c has the functions that programs call, feed_turns.c the order of feeds that follow one another. */
#ifndef TND_RUNTIME_FEED_FEED_INTERNAL_H
#define TND_RUNTIME_FEED_FEED_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/feed/feed.h"

struct tnd_feed {
    tnd_device_workers_t *workers;
    tnd_feed_facts_t facts;
    tnd_task_t task; /* of the step that is pulled */
    tnd_step_fn *step, *apply, *post;
    void *user;
    _Atomic bool busy, pulled;    /* a thread of the program is inside; one has been */
    pthread_t puller;             /* the last thread that was, if `pulled` */
    uint64_t saved;               /* steps done at the last save; 0: none */
    unsigned forks;               /* of this process when the feed was made */
    _Atomic(tnd_feed_t *) before; /* whose end, or rest, this one waits for; NULL: none */
    const _Atomic bool *stopping; /* whether the program has asked for the end; of `before` */
    tnd_feed_t *followers,
        *sibling;        /* feeds that are fed while it rests; the next one of `before` */
    bool through;        /* it has had all steps that are fed ... */
    uint64_t through_at; /* after so many of `before` that it took */
    tnd_status_t how;    /* and how they ended */
    bool finished;       /* the program has ended the run before the end of the stream */
    bool shares;         /* it knows how many replicas share a model */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    uint64_t written, closed; /* checkpoints: the newest complete one; the newest that is decided */
    bool ended;
    char refused[256];
};

/*  Says why a call of the program is refused.  Returns TND_FAILED. */
tnd_status_t tnd_feed_refuse(tnd_feed_t *self, const char *what);

/* --- feed_turns.c ----------------------------------------------------------------------------- */

/*  Whether another thread than this one pulls it. */
bool tnd_feed_is_elsewhere(const tnd_feed_t *self);
/*  Refuses a feed whose first step comes when another one has ended that only this thread can pull. */
tnd_status_t tnd_feed_check_order(tnd_feed_t *self);
/*  Of a feed that is fed again and again: waits until it is its turn, or that of the feed before.  TND_OK:
 *  its turn, or the run ends; TND_END: it had all steps already; TND_FAILED: it is refused. */
tnd_status_t tnd_feed_await_turn(tnd_feed_t *self);
/*  The feeds that are fed while this one rests are, and the program pulls none of them: discards what is
 *  left of that.  Returns TND_OK. */
tnd_status_t tnd_feed_skip_turns(tnd_feed_t *self);
/*  A step was pulled of it, or how that ended: returns `status`. */
tnd_status_t tnd_feed_end_turn(tnd_feed_t *self, tnd_status_t status);
/*  The next step, whichever feed's turn it was. */
tnd_status_t tnd_feed_take_turn(tnd_feed_t *self);
bool tnd_feed_is_due(tnd_feed_t *self);

#endif
