/*  transport/collective/host_started.c - pieces that travel while steps still run.
 *
 *  The device threads are in their steps, so the feeder's actor computes these pieces, sends them, and copies
 *  their results, with a window of TND_PIECES_OPEN as always.  A replica goes on to post meanwhile, and its
 *  list may move: what it starts is copied.  When the round begins, the threads continue where the actor is.
 *
 *  Each replica starts the same postings as the others of the run, in the same order.  So the least that is
 *  started takes the same values in all processes, and all cut the same pieces. */
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"

void tnd_host_collective_make_started(host_t *host)
{
    uint32_t count = host->config.count;
    pthread_mutex_init(&host->exchange.lock, NULL);
    host->posted = host->config.posts;
    host->started = tnd_allocate_zeroed(count, sizeof *host->started);
    host->started_list = tnd_allocate_zeroed(count, sizeof *host->started_list);
    for (uint32_t i = 0; i < count; i++)
        host->started_list[i] = &host->started[i];
    host->actor = (thread_t){.host = host, .count = count, .sharing = 1};
    host->actor.parts.replicas = host->config.replicas;
    host->actor.parts.inputs = tnd_allocate_zeroed(count, sizeof(tnd_reduction_tree_input_t));
    host->actor.parts.outs = tnd_allocate_zeroed(count, sizeof(void *));
}

void tnd_host_collective_free_started(host_t *host)
{
    for (uint32_t i = 0; i < host->config.count; i++)
        tnd_postings_free(&host->started[i]);
    free(host->started);
    free(host->started_list);
    free(host->actor.parts.inputs);
    free(host->actor.parts.outs);
    pthread_mutex_destroy(&host->exchange.lock);
}

static void begin_started(host_t *host)
{
    exchange_t *exchange = &host->exchange;
    if (exchange->started)
        return;
    exchange->started = true;
    exchange->computed_early = exchange->copied_early = 0;
    for (uint32_t i = 0; i < host->config.count; i++)
        host->started[i].count = 0;
    host->config.posts = host->started_list;
}

/*  Whether all replicas of the process have started this posting, and it is not a gather, which is as large
 *  as they make it. */
static bool may_cut(const host_t *host, uint32_t posting)
{
    const tnd_postings_t *one = &host->started[0];
    if (posting >= one->count || one->items[posting].reduce == TND_GATHER)
        return false;
    for (uint32_t i = 1; i < host->config.count; i++)
        if (posting >= host->started[i].count ||
            !tnd_posting_fits(&one->items[posting], &host->started[i].items[posting]))
            return false;
    return true;
}

/*  Cuts what all replicas have started; false: that is nothing more. */
static bool cut_started(host_t *host, tnd_collective_round_t *round)
{
    exchange_t *exchange = &host->exchange;
    uint32_t end = exchange->cut, before = end > 0 ? exchange->piece_count : 0;
    while (may_cut(host, end))
        end++;
    if (end == exchange->cut)
        return false;
    tnd_host_collective_cut(host, round, end);
    atomic_fetch_add_explicit(&exchange->missing, exchange->piece_count - before,
                              memory_order_release);
    return true;
}

static bool add_started(host_t *host, uint32_t replica, tnd_collective_round_t *round)
{
    const tnd_postings_t *posted = host->posted[replica];
    begin_started(host);
    for (uint32_t p = host->started[replica].count; p < posted->count; p++)
        tnd_postings_add(&host->started[replica], &posted->items[p]);
    return cut_started(host, round);
}

bool tnd_host_collective_start(tnd_collective_t *self, uint32_t number, uint32_t replica,
                               tnd_collective_round_t *round)
{
    host_t *host = (host_t *)self;
    exchange_t *exchange = &host->exchange;
    if (host->config.count == host->config.replicas)
        return !is_over(host);
    host->threads[number].starts = true;
    pthread_mutex_lock(&exchange->lock);
    bool any = !exchange->begins && add_started(host, replica, round);
    pthread_mutex_unlock(&exchange->lock);
    if (any)
        tnd_host_collective_wake(host);
    return !is_over(host);
}

static bool has_computed(const exchange_t *exchange)
{
    return exchange->nodes[exchange->taken].piece < exchange->computed_early;
}

void tnd_host_collective_compute_started(host_t *host)
{
    exchange_t *exchange = &host->exchange;
    uint32_t number = exchange->computed_early;
    if (!exchange->started || has_computed(exchange) ||
        exchange->before + number - atomic_load_explicit(&exchange->closed, memory_order_relaxed) >=
            TND_PIECES_OPEN)
        return;
    const piece_t *piece = &exchange->pieces[number];
    tnd_host_collective_begin_piece(host, number);
    for (uint32_t n = piece->first_node; n < piece->first_node + piece->node_count; n++) {
        tnd_host_collective_compute_node(&host->actor, &exchange->nodes[n]);
        tnd_buffer_seal(exchange->nodes[n].tensor);
    }
    exchange->computed_early++;
    atomic_store_explicit(&exchange->computed, number + 1, memory_order_release);
}

void tnd_host_collective_copy_started(host_t *host)
{
    exchange_t *exchange = &host->exchange;
    while (exchange->started && exchange->copied_early < exchange->piece_count) {
        piece_t *piece = &exchange->pieces[exchange->copied_early];
        if (!atomic_load_explicit(&piece->arrived, memory_order_relaxed))
            return;
        tnd_host_collective_take_values(&host->actor, piece);
        tnd_buffer_drop(&piece->result);
        exchange->copied_early++;
        atomic_store_explicit(&exchange->copied, exchange->before + exchange->copied_early,
                              memory_order_release);
    }
}

uint32_t tnd_host_collective_end_started(host_t *host)
{
    exchange_t *exchange = &host->exchange;
    uint32_t known = exchange->started && exchange->cut > 0 ? exchange->piece_count : 0;
    if (!exchange->started)
        exchange->computed_early = exchange->copied_early = 0;
    exchange->started = false;
    exchange->begins = true;
    host->config.posts = host->posted;
    return known;
}
