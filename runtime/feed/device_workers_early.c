/*  runtime/feed/device_workers_early.c - steps, and `apply`, run while what was posted is on its way.
 *
 *  A step may start what it has posted so far; the round of the step begins when all have run.
 *
 *  The round of a step is begun, not awaited.  `apply` waits for the results that it uses, in their order; what
 *  it leaves is awaited after it.  One that uses a result without waiting would compute with any values, so it
 *  has to wait for all. */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/clock.h"

bool tnd_device_workers_is_early(const tnd_device_workers_t *self)
{
    return self->config.early && self->exchange.collective->ops->begin != NULL;
}

bool tnd_device_workers_start_posts(tnd_replica_t *replica)
{
    worker_t *worker = replica->worker;
    tnd_device_workers_t *group = worker->group;
    tnd_collective_t *collective = group->exchange.collective;
    if (collective->ops->start == NULL || group->config.accumulate > 1)
        return true;
    bool may =
        tnd_device_workers_use_posts(group) &&
        collective->ops->start(collective, worker->number, replica->local, &worker->job->round);
    tnd_device_workers_end_use(group);
    return may;
}

static void open_round(worker_t *worker, tnd_collective_round_t *round)
{
    worker->open = round;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++)
        worker->group->replicas[i].awaited = 0, worker->group->replicas[i].under_way = true;
}

bool tnd_device_workers_begin_round(worker_t *worker, tnd_collective_round_t *round)
{
    tnd_device_workers_t *group = worker->group;
    tnd_collective_t *collective = group->exchange.collective;
    bool begun = tnd_device_workers_use_posts(group) &&
                 collective->ops->begin(collective, worker->number, round);
    tnd_device_workers_end_use(group);
    if (begun)
        open_round(worker, round);
    return begun;
}

static bool await(worker_t *worker, uint32_t posting)
{
    tnd_device_workers_t *group = worker->group;
    tnd_collective_t *collective = group->exchange.collective;
    bool there = tnd_device_workers_use_posts(group) &&
                 collective->ops->await(collective, worker->number, worker->open, posting);
    tnd_device_workers_end_use(group);
    return there;
}

bool tnd_device_workers_end_round(worker_t *worker)
{
    if (worker->open == NULL)
        return true;
    if (!await(worker, TND_POSTINGS_MAX))
        return false;
    worker->open = NULL;
    tnd_device_workers_clear_posts(worker);
    return true;
}

/*  A thread that waits is shown as such. */
static void show(worker_t *worker, tnd_device_state_t state, const tnd_replica_t *replica)
{
    tnd_device_workers_show(worker, state, replica->id, replica->note->step, tnd_clock_now());
}

/*  Counts for all replicas of its model. */
static void note_awaited(tnd_replica_t *replica, uint32_t posting, uint32_t share)
{
    tnd_replica_t *first = replica - replica->local % share;
    for (uint32_t i = 0; i < share; i++)
        if (posting >= first[i].awaited)
            first[i].awaited = posting + 1;
}

bool tnd_device_workers_await_posting(tnd_replica_t *replica, uint32_t posting)
{
    worker_t *worker = replica->worker;
    if (worker->open == NULL)
        return true;
    show(worker, TND_DEVICE_REDUCE, replica);
    bool there =
        posting == TND_POSTINGS_MAX ? tnd_device_workers_end_round(worker) : await(worker, posting);
    if (there)
        note_awaited(replica, posting, worker->group->config.accumulate);
    show(worker, TND_DEVICE_APPLY, replica);
    return there;
}

/*  The postings up to the last one that has a result; barriers and checks have none. */
static uint32_t with_results(const tnd_postings_t *posts)
{
    uint32_t count = posts->count;
    while (count > 0 &&
           (posts->items[count - 1].same != NULL ||
            (posts->items[count - 1].count == 0 && posts->items[count - 1].reduce != TND_GATHER)))
        count--;
    return count;
}

tnd_status_t tnd_device_workers_check_awaited(worker_t *worker, tnd_replica_t *replica)
{
    char text[TND_POSTING_TEXT];
    uint32_t needed = worker->open != NULL ? with_results(&replica->posts) : 0;
    if (replica->awaited >= needed)
        return TND_OK;
    snprintf(
        replica->error, sizeof replica->error,
        "with `apply: early` it waits for each posting before it uses the result, and it returned "
        "without that for number %" PRIu32 ", %s: call tnd_replica_await, or leave `apply: early` "
        "out",
        needed - 1, tnd_postings_text(&replica->posts, needed - 1, text));
    return TND_FAILED;
}
