/*  transport/collective/host_exchange.c - reductions with replicas of other processes.
 *
 *  What was posted is cut into pieces (host_pieces.c).  Each thread computes its share of a piece, the
 *  actor sends it, and results are copied while later pieces are computed.  Pieces that were started
 *  while steps ran (host_started.c) come first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"

/*  Whether the replicas of all workers start postings, or of none. */
static bool starts_fit(const thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    const thread_t *one = &host->threads[0];
    for (uint32_t w = 1; w < host->config.thread_count; w++) {
        const thread_t *other = &host->threads[w];
        if (one->starts != other->starts)
            return tnd_host_collective_fail(
                host,
                "%s: in step %" PRIu64 " replica %" PRIu32 " calls tnd_replica_begin and replica "
                "%" PRIu32 " does not: all replicas call it after the same postings",
                host->config.name, round->step,
                host->config.first + (one->starts ? one : other)->first,
                host->config.first + (one->starts ? other : one)->first);
    }
    return true;
}

/*  Whether all workers posted the same.  Call it between two meetings, where no thread posts. */
static bool posts_fit(thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    for (uint32_t w = 1, first; w < host->config.thread_count; w++) {
        uint32_t other = host->threads[w].first;
        if (!tnd_postings_fit(host->posted[0], host->posted[other], &first))
            return tnd_host_collective_refuse(host, round, 0, other, first);
    }
    return starts_fit(thread, round);
}

static bool may_compute(const thread_t *thread)
{
    const exchange_t *exchange = &thread->host->exchange;
    if (thread->computed == exchange->piece_count)
        return false;
    if (thread->number > 0)
        return thread->computed < atomic_load_explicit(&exchange->begun, memory_order_acquire);
    return exchange->before + thread->computed -
               atomic_load_explicit(&exchange->closed, memory_order_acquire) <
           TND_PIECES_OPEN;
}

static bool may_copy(const thread_t *thread)
{
    const exchange_t *exchange = &thread->host->exchange;
    return thread->copied < exchange->piece_count &&
           atomic_load_explicit(&exchange->pieces[thread->copied].arrived, memory_order_acquire);
}

static bool may_continue(const void *context)
{
    const thread_t *thread = context;
    return is_over(thread->host) || may_copy(thread) || may_compute(thread);
}

/*  Computes this thread's part of a piece; the last thread lets the actor send it. */
static void compute_piece(thread_t *thread, uint32_t number)
{
    host_t *host = thread->host;
    exchange_t *exchange = &host->exchange;
    piece_t *piece = &exchange->pieces[number];
    node_t *nodes = &exchange->nodes[piece->first_node];
    if (thread->number == 0)
        tnd_host_collective_begin_piece(host, number);
    for (uint32_t n = 0; n < piece->node_count; n++)
        tnd_host_collective_compute_node(thread, &nodes[n]);
    if (atomic_fetch_sub_explicit(&piece->computing, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t n = 0; n < piece->node_count; n++)
        tnd_buffer_seal(nodes[n].tensor);
    atomic_store_explicit(&exchange->computed, number + 1, memory_order_release);
    tnd_host_collective_wake(host);
}

/*  Copies a result to this thread's replicas; the last thread lets the reducer forget it. */
static void copy_piece(thread_t *thread, uint32_t number)
{
    exchange_t *exchange = &thread->host->exchange;
    piece_t *piece = &exchange->pieces[number];
    tnd_host_collective_take_values(thread, piece);
    if (atomic_fetch_sub_explicit(&piece->copying, 1, memory_order_acq_rel) != 1)
        return;
    tnd_buffer_drop(&piece->result);
    atomic_store_explicit(&exchange->copied, exchange->before + number + 1, memory_order_release);
    tnd_host_collective_wake(thread->host);
}

/*  Takes results until this thread has those of so many pieces.  They are copied first: their memory is
 *  used for later pieces. */
static bool take_pieces(thread_t *thread, uint32_t pieces)
{
    host_t *host = thread->host;
    while (thread->copied < pieces) {
        if (may_copy(thread))
            copy_piece(thread, thread->copied++);
        else if (may_compute(thread))
            compute_piece(thread, thread->computed++);
        else
            tnd_futex_wait(&host->gate, may_continue, thread, 0);
        if (is_over(host))
            return false;
    }
    return true;
}

/*  Cuts what is posted and was not started; called by the first thread before the others meet, and if they
 *  started some, after they have met once. */
static void prepare(host_t *host, tnd_collective_round_t *round)
{
    exchange_t *exchange = &host->exchange;
    uint32_t postings = host->posted[0]->count;
    pthread_mutex_lock(&exchange->lock);
    exchange->known = tnd_host_collective_end_started(host);
    tnd_host_collective_cut(host, round, postings);
    exchange->cut = 0;
    round->reductions += postings;
    pthread_mutex_unlock(&exchange->lock);
}

static bool begin_round(thread_t *thread, tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    exchange_t *exchange = &host->exchange;
    if ((thread->starts || tnd_host_collective_posts_late(thread, true)) &&
        (!tnd_host_collective_meet(thread) || !posts_fit(thread, round)))
        return false;
    if (thread->number == 0)
        prepare(host, round);
    if (!tnd_host_collective_meet(thread) || !posts_fit(thread, round))
        return false;
    thread->computed = exchange->computed_early;
    thread->copied = exchange->copied_early;
    if (thread->number == 0) {
        pthread_mutex_lock(&exchange->lock);
        exchange->begins = false;
        pthread_mutex_unlock(&exchange->lock);
        tnd_host_collective_gather_none(host);
        atomic_fetch_add_explicit(&exchange->missing, exchange->piece_count - exchange->known,
                                  memory_order_release);
    }
    return true;
}

/*  No thread posts again while another one copies. */
static bool end_round(thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    bool met = take_pieces(thread, host->exchange.piece_count) &&
               (thread->number > 0 || tnd_host_collective_gather_equal(host, round)) &&
               tnd_host_collective_meet(thread);
    thread->starts = false;
    return met;
}

bool tnd_host_collective_exchange(thread_t *thread, tnd_collective_round_t *round)
{
    return begin_round(thread, round) && end_round(thread, round);
}

bool tnd_host_collective_begin_exchange(thread_t *thread, tnd_collective_round_t *round)
{
    if (!begin_round(thread, round))
        return false;
    while (!is_over(thread->host) && may_compute(thread))
        compute_piece(thread, thread->computed++);
    return !is_over(thread->host);
}

/*  What another thread writes is there for all when the round has ended: gathers, and results in memory that
 *  replicas of several threads share. */
static bool needs_others(const thread_t *thread, uint32_t posting)
{
    const host_t *host = thread->host;
    const tnd_postings_t *posts = posts_of(host, thread->first);
    for (uint32_t p = 0; p <= posting && host->config.thread_count > 1; p++)
        if (posts->items[p].reduce == TND_GATHER ||
            tnd_host_collective_shares_out(host, thread->first, p))
            return true;
    return false;
}

bool tnd_host_collective_await_exchange(thread_t *thread, tnd_collective_round_t *round,
                                        uint32_t posting)
{
    const exchange_t *exchange = &thread->host->exchange;
    uint32_t pieces = thread->copied;
    if (posting == TND_POSTINGS_MAX || needs_others(thread, posting)) {
        thread->ended = true;
        return end_round(thread, round);
    }
    while (pieces < exchange->piece_count && exchange->pieces[pieces].posting <= posting)
        pieces++;
    return take_pieces(thread, pieces);
}

static bool waits(const host_t *host)
{
    return atomic_load_explicit(&host->exchange.missing, memory_order_acquire) > 0;
}

/*  Whether results may have to arrive before more is computed: nothing follows, or TND_PIECES_OPEN
 *  pieces have been sent. */
static bool ends_batch(const exchange_t *exchange, const node_t *node)
{
    if (exchange->taken == exchange->node_count)
        return true;
    return exchange->nodes[exchange->taken].piece > node->piece &&
           (node->piece + 1) % TND_PIECES_OPEN == 0;
}

static bool take_outgoing(host_t *host, tnd_outgoing_t *outgoing)
{
    exchange_t *exchange = &host->exchange;
    if (!waits(host) || exchange->taken == exchange->node_count)
        return false;
    tnd_host_collective_compute_started(host);
    node_t *node = &exchange->nodes[exchange->taken];
    if (node->piece >= atomic_load_explicit(&exchange->computed, memory_order_acquire))
        return false;
    exchange->taken++;
    const piece_t *piece = &exchange->pieces[node->piece];
    *outgoing = (tnd_outgoing_t){
        .reducer = posts_of(host, 0)->items[piece->posting].reducer,
        .post =
            {
                .round = exchange->step,
                .reducer_slot = piece->slot,
                .reduction = piece->reduction + piece->postings - 1,
                .first = node->node.first,
                .count = node->node.count,
                .weight = node->rows,
                .payload = node->tensor,
            },
        .last = ends_batch(exchange, node),
    };
    node->tensor = NULL;
    return true;
}

bool tnd_host_collective_outgoing(tnd_collective_t *self, tnd_outgoing_t *outgoing)
{
    host_t *host = (host_t *)self;
    pthread_mutex_lock(&host->exchange.lock);
    bool any = take_outgoing(host, outgoing);
    pthread_mutex_unlock(&host->exchange.lock);
    return any;
}

/*  The bytes that a replica of this process gives to all; NULL: another process has what is scattered. */
static const void *own_share(const host_t *host, const piece_t *piece)
{
    if (piece->root == 0)
        return NULL;
    const tnd_posting_t *post =
        &posts_of(host, piece->root - 1 - host->config.first)->items[piece->posting];
    return (const char *)post->from + piece->begin;
}

static piece_t *find_awaited(const host_t *host, uint64_t step, uint32_t reducer_slot)
{
    const exchange_t *exchange = &host->exchange;
    if (!waits(host) || exchange->step != step)
        return NULL;
    uint32_t number = reducer_slot - exchange->pieces[0].slot; /* their slots are consecutive */
    if (number >= exchange->piece_count ||
        atomic_load_explicit(&exchange->pieces[number].arrived, memory_order_relaxed))
        return NULL;
    return &exchange->pieces[number];
}

bool tnd_host_collective_waits(const tnd_collective_t *self)
{
    return waits((const host_t *)self);
}

bool tnd_host_collective_awaits(const tnd_collective_t *self, uint64_t step, uint32_t reducer_slot)
{
    host_t *host = (host_t *)self;
    pthread_mutex_lock(&host->exchange.lock);
    bool any = find_awaited(host, step, reducer_slot) != NULL;
    pthread_mutex_unlock(&host->exchange.lock);
    return any;
}

/*  Whether a replica of this process owns the share that a piece is. */
static bool is_own(const host_t *host, const piece_t *piece)
{
    return piece->owner > host->config.first &&
           piece->owner <= host->config.first + host->config.count;
}

/*  Whether a result comes without values: no replica here needs them, or the one that has given them. */
static bool lacks_values(const host_t *host, const piece_t *piece)
{
    return piece->owner > 0 && is_own(host, piece) == (piece->root > 0);
}

static tnd_status_t check_result(const host_t *host, piece_t *piece, tnd_buffer_t *result,
                                 tnd_error_t *error)
{
    tnd_tensor_head_t head;
    const tnd_posting_t *post = &posts_of(host, 0)->items[piece->posting];
    if (post->reduce == TND_GATHER)
        return tnd_host_collective_gather_check(host, piece, result, error);
    TND_TRY(tnd_tensor_read(result, lacks_values(host, piece), &head, &piece->values, error));
    if (lacks_values(host, piece))
        piece->values = own_share(host, piece);
    if (head.count == piece->count && head.dtype == post->dtype && head.reduce == post->reduce &&
        head.partial == 0)
        return TND_OK;
    return tnd_fail(error,
                    "%s: the result of a reduction of step %" PRIu64 " has another shape "
                    "than what was posted",
                    host->config.name, host->exchange.step);
}

/*  Whether a result arrived before and is still read. */
static bool is_read(const exchange_t *exchange, tnd_actor_id_t reducer,
                    const tnd_post_note_t *result)
{
    for (size_t i = 0; i < exchange->arrival_count; i++) {
        const tnd_used_t *used = &exchange->arrivals[i].used;
        if (used->reducer == reducer && used->result.round == result->round &&
            used->result.reducer_slot == result->reducer_slot)
            return true;
    }
    return false;
}

static void note_arrival(exchange_t *exchange, tnd_actor_id_t reducer,
                         const tnd_post_note_t *result, uint64_t number)
{
    if (is_read(exchange, reducer, result))
        return;
    exchange->arrivals = tnd_grow(exchange->arrivals, exchange->arrival_count,
                                  &exchange->arrival_room, sizeof *exchange->arrivals);
    arrived_t *arrived = &exchange->arrivals[exchange->arrival_count++];
    *arrived = (arrived_t){.number = number, .used = {.reducer = reducer, .result = *result}};
    arrived->used.result.payload = NULL;
}

static tnd_status_t take_incoming(host_t *host, tnd_actor_id_t reducer,
                                  const tnd_post_note_t *result, tnd_error_t *error)
{
    exchange_t *exchange = &host->exchange;
    tnd_buffer_t *buffer = result->payload;
    piece_t *piece = find_awaited(host, result->round, result->reducer_slot);
    if (piece == NULL) {
        tnd_buffer_drop(&buffer);
        note_arrival(exchange, reducer, result, 0);
        return TND_OK;
    }
    tnd_status_t status = check_result(host, piece, buffer, error);
    if (status != TND_OK) {
        tnd_buffer_drop(&buffer);
        return status;
    }
    note_arrival(exchange, reducer, result,
                 exchange->before + (uint64_t)(piece - exchange->pieces) + 1);
    piece->result = buffer;
    /* Once the last one is there, the workers may begin another exchange. */
    atomic_fetch_sub_explicit(&exchange->missing, 1, memory_order_acq_rel);
    atomic_store_explicit(&piece->arrived, true, memory_order_release);
    tnd_host_collective_copy_started(host);
    tnd_futex_open(&host->gate);
    return TND_OK;
}

tnd_status_t tnd_host_collective_incoming(tnd_collective_t *self, tnd_actor_id_t reducer,
                                          const tnd_post_note_t *result, tnd_error_t *error)
{
    host_t *host = (host_t *)self;
    pthread_mutex_lock(&host->exchange.lock);
    tnd_status_t status = take_incoming(host, reducer, result, error);
    pthread_mutex_unlock(&host->exchange.lock);
    return status;
}

bool tnd_host_collective_used(tnd_collective_t *self, tnd_used_t *used)
{
    exchange_t *exchange = &((host_t *)self)->exchange;
    uint64_t copied = atomic_load_explicit(&exchange->copied, memory_order_acquire);
    for (size_t i = 0; i < exchange->arrival_count; i++)
        if (exchange->arrivals[i].number <= copied) {
            *used = exchange->arrivals[i].used;
            exchange->arrivals[i] = exchange->arrivals[--exchange->arrival_count];
            return true;
        }
    return false;
}

void tnd_host_collective_closed(tnd_collective_t *self)
{
    host_t *host = (host_t *)self;
    atomic_fetch_add_explicit(&host->exchange.closed, 1, memory_order_release);
    tnd_futex_open(&host->gate);
}

void tnd_host_collective_forget_exchange(host_t *host)
{
    exchange_t *exchange = &host->exchange;
    for (uint32_t p = 0; p < exchange->piece_count; p++)
        tnd_buffer_drop(&exchange->pieces[p].result);
    for (uint32_t n = 0; n < exchange->node_count; n++)
        tnd_buffer_drop(&exchange->nodes[n].tensor);
    tnd_pool_destroy(&exchange->pool);
    free(exchange->pieces);
    free(exchange->nodes);
    free(exchange->arrivals);
    exchange->pieces = NULL;
    exchange->nodes = NULL;
    exchange->arrivals = NULL;
    exchange->piece_count = exchange->node_count = 0;
    exchange->arrival_count = 0;
}
