/*  runtime/feed/device_workers_reduce.c - how device threads reduce what their replicas posted.
 *
 *  The threads meet when all have posted.  If all replicas are here, each thread then claims chunks
 *  of the elements until none is left, and continues when all chunks are done.  A thread that the
 *  system interrupts delays the others by at most one chunk.  Otherwise each reduces its share, and
 *  they meet again before the first of them uses the result. */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  Long enough that the cost of claiming a chunk is negligible, short enough to wait for. */
enum { CHUNK_BYTES = 16384 };

static const uint64_t exchange_spin_ns = 0, chunks_spin_ns = 50000;

static bool fit(const tnd_posting_t *one, uint32_t one_count, const tnd_posting_t *other,
                uint32_t other_count)
{
    bool fits = one_count == other_count;
    for (uint32_t p = 0; fits && p < one_count; p++)
        fits = tnd_posting_fits(&one[p], &other[p]);
    return fits;
}

/*  Fails: the first replica of the group and that of worker `other` posted differently. */
static bool refuse_posts(tnd_device_workers_t *group, const job_t *job, uint32_t other)
{
    return tnd_device_workers_fail(
        group,
        "%s: in step %" PRIu64 " replicas %" PRIu32 " and %" PRIu32
        " posted different reductions: all replicas post the same ones in the "
        "same order",
        group->config.name, job->note.step, group->replicas[0].id,
        group->replicas[group->workers[other].first].id);
}

/*  Whether all workers posted the same.  Call it between two meetings, where no worker posts. */
static bool posts_fit(worker_t *worker, const job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    const tnd_replica_t *one = &group->replicas[0];
    for (uint32_t w = 1; w < group->worker_count; w++) {
        const tnd_replica_t *other = &group->replicas[group->workers[w].first];
        if (!fit(one->posts, one->post_count, other->posts, other->post_count))
            return refuse_posts(group, job, w);
    }
    return true;
}

/*  The local replicas' values of one posting from element `begin` on, as leaves of the tree. */
static void gather_inputs(worker_t *worker, uint32_t posting, size_t begin)
{
    tnd_device_workers_t *group = worker->group;
    for (uint32_t i = 0; i < group->config.count; i++) {
        const tnd_posting_t *post = &group->replicas[i].posts[posting];
        void *data = (char *)post->data + begin * tnd_dtype_size(post->dtype);
        worker->outs[i] = data;
        worker->inputs[i] = (tnd_reduction_tree_input_t){
            .node = {group->config.first + i, 1},
            .data = data,
            .rows = post->rows,
            .weight = post->weight,
        };
    }
}

/*  Whether this worker's replicas gather, or use weights.  Then the posts of the others must be
 *  known before memory for them is allocated. */
static bool posts_late(const worker_t *worker, bool weighing)
{
    const tnd_replica_t *own = &worker->group->replicas[worker->first];
    bool late = false;
    for (uint32_t p = 0; p < own->post_count; p++)
        late = late || own->posts[p].reduce == TND_GATHER || (weighing && own->posts[p].weighted);
    return late;
}

/*  Publishes what this worker posted.  It stays valid when the worker posts again, and is
 *  overwritten only after the workers have met once more. */
static posted_t *show_posts(worker_t *worker)
{
    const tnd_replica_t *own = &worker->group->replicas[worker->first];
    posted_t *posted = &worker->posted[worker->rounds++ % 2];
    posted->count = own->post_count;
    memcpy(posted->posts, own->posts, own->post_count * sizeof own->posts[0]);
    return posted;
}

/*  Whether all workers showed the same in this round. */
static bool shown_fit(const worker_t *worker, const job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    uint64_t turn = (worker->rounds - 1) % 2;
    const posted_t *one = &group->workers[0].posted[turn];
    for (uint32_t w = 1; w < group->worker_count; w++) {
        const posted_t *other = &group->workers[w].posted[turn];
        if (!fit(one->posts, one->count, other->posts, other->count))
            return refuse_posts(group, job, w);
    }
    return true;
}

static uint32_t chunks_of(const tnd_posting_t *post)
{
    size_t bytes = post->reduce != TND_GATHER ? post->count * tnd_dtype_size(post->dtype) : 0;
    return (uint32_t)((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES);
}

static void reduce_chunk(worker_t *worker, const posted_t *posted, uint64_t chunk)
{
    uint32_t p = 0;
    for (; chunk >= chunks_of(&posted->posts[p]); p++)
        chunk -= chunks_of(&posted->posts[p]);
    const tnd_posting_t *post = &posted->posts[p];
    size_t begin, end;
    tnd_collective_share(post->count, tnd_dtype_size(post->dtype), (uint32_t)chunk, chunks_of(post),
                         &begin, &end);
    gather_inputs(worker, p, 0);
    tnd_collective_reduce(post, worker->inputs, worker->group->config.count, worker->outs, begin,
                          end);
}

/*  The next chunk that no worker has claimed, counted over all rounds; false: none before `end`. */
static bool claim(tnd_device_workers_t *group, uint64_t end, uint64_t *chunk_p)
{
    *chunk_p = atomic_load_explicit(&group->chunks_claimed, memory_order_relaxed);
    while (*chunk_p < end)
        if (atomic_compare_exchange_weak_explicit(&group->chunks_claimed, chunk_p, *chunk_p + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static bool chunks_are_done(const void *context)
{
    const worker_t *worker = context;
    return tnd_device_workers_dead(worker->group) ||
           atomic_load_explicit(&worker->group->chunks_done, memory_order_acquire) >=
               worker->chunks;
}

/*  Reduces together with the other workers.  Until all chunks of the round are done no worker posts
 *  again, and a worker looks at what others posted only while it has claimed one that is not. */
static bool reduce_chunks(worker_t *worker, const posted_t *posted)
{
    tnd_device_workers_t *group = worker->group;
    uint64_t before = worker->chunks, done = 0, chunk;
    for (uint32_t p = 0; p < posted->count; p++)
        worker->chunks += chunks_of(&posted->posts[p]);
    for (; claim(group, worker->chunks, &chunk); done++)
        reduce_chunk(worker, posted, chunk - before);
    if (done > 0 &&
        atomic_fetch_add_explicit(&group->chunks_done, done, memory_order_acq_rel) + done ==
            worker->chunks)
        tnd_futex_open(&group->meet);
    tnd_futex_wait(&group->meet, chunks_are_done, worker, chunks_spin_ns);
    return !tnd_device_workers_dead(group);
}

static bool reduce_alone(worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    const tnd_replica_t *own = &group->replicas[worker->first];
    if (posts_late(worker, false)) {
        tnd_device_workers_gather_room(group);
        tnd_device_workers_gather_own(worker);
    }
    for (uint32_t p = 0; p < own->post_count; p++) {
        const tnd_posting_t *post = &own->posts[p];
        if (post->reduce == TND_GATHER)
            continue;
        gather_inputs(worker, p, 0);
        tnd_collective_reduce(post, worker->inputs, group->config.count, worker->outs, 0,
                              post->count);
    }
    return !tnd_device_workers_dead(group);
}

static bool reduce_here(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    if (group->worker_count == 1)
        return reduce_alone(worker);
    const posted_t *posted = show_posts(worker);
    if (!tnd_device_workers_meet(worker, job) || !shown_fit(worker, job))
        return false;
    if (!posts_late(worker, false))
        return reduce_chunks(worker, posted);
    if (worker->number == 0)
        tnd_device_workers_gather_room(group);
    if (!tnd_device_workers_meet(worker, job))
        return false;
    tnd_device_workers_gather_own(worker);
    return reduce_chunks(worker, posted) && tnd_device_workers_meet(worker, job);
}

/* --- with replicas elsewhere ------------------------------------------------------------------ */

static tnd_buffer_t *take_tensor(exchange_t *exchange, size_t bytes)
{
    uint32_t at = 0;
    while (exchange->pools[at] != NULL && exchange->pool_bytes[at] != bytes)
        if (++at == sizeof exchange->pools / sizeof exchange->pools[0])
            return tnd_buffer_new(bytes);
    if (exchange->pools[at] == NULL) {
        exchange->pools[at] = tnd_pool_new(bytes);
        exchange->pool_bytes[at] = bytes;
    }
    return tnd_pool_take(exchange->pools[at]);
}

/*  What the leaves of a node weigh together. */
static double weight_of(const tnd_device_workers_t *group, tnd_reduction_tree_node_t node,
                        uint32_t posting)
{
    worker_t *worker = &group->workers[0];
    gather_inputs(worker, posting, 0);
    tnd_reduction_tree_job_t job = {
        .reduce = TND_MEAN,
        .node = node,
        .inputs = worker->inputs + (node.first - group->config.first),
        .input_count = node.count,
        .weighted = true,
    };
    return tnd_reduction_tree_weight(&job);
}

static void add_reduced(tnd_device_workers_t *group, const job_t *job, node_t *node,
                        uint32_t posting, size_t count)
{
    const tnd_posting_t *post = &group->replicas[0].posts[posting];
    const share_t *shares = &group->shares[(size_t)job->slot * group->config.count];
    for (uint32_t i = 0; i < node->node.count; i++) {
        uint32_t local = node->node.first - group->config.first + i;
        node->rows +=
            post->weighted ? group->replicas[local].posts[posting].rows : shares[local].rows;
    }
    node->tensor = take_tensor(&group->exchange,
                               tnd_tensor_bytes(post->dtype, true, node->rows > 0 ? count : 0));
    node->values = tnd_tensor_begin(node->tensor, post->reduce, post->dtype, true, count);
    if (post->weighted)
        tnd_tensor_weigh(node->tensor, weight_of(group, node->node, posting));
}

static void add_gathered(tnd_device_workers_t *group, node_t *node, uint32_t posting)
{
    size_t count = 0;
    for (uint32_t i = 0; i < node->node.count; i++)
        count += group->replicas[node->node.first - group->config.first + i].posts[posting].count;
    size_t bytes =
        tnd_gather_bytes(group->replicas[0].posts[posting].dtype, node->node.count, count);
    node->rows = 1; /* it always sends a message, even an empty one */
    tnd_device_workers_gather_begin(group, node, posting, take_tensor(&group->exchange, bytes));
}

static void add_piece(tnd_device_workers_t *group, job_t *job, uint32_t posting, size_t begin,
                      size_t count)
{
    exchange_t *exchange = &group->exchange;
    const tnd_posting_t *post = &group->replicas[0].posts[posting];
    exchange->pieces = tnd_grow(exchange->pieces, exchange->piece_count, &exchange->piece_room,
                                sizeof *exchange->pieces);
    uint32_t piece = exchange->piece_count++;
    exchange->pieces[piece] =
        (piece_t){.posting = posting, .slot = job->tensors++, .begin = begin, .count = count};
    exchange->pieces[piece].reduction = job->reductions + posting;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t covers = tnd_reduction_tree_cover(group->config.replicas, group->config.first,
                                               group->config.count, nodes);
    for (uint32_t n = 0; n < covers; n++) {
        exchange->nodes = tnd_grow(exchange->nodes, exchange->node_count, &exchange->node_room,
                                   sizeof *exchange->nodes);
        node_t *node = &exchange->nodes[exchange->node_count++];
        *node = (node_t){.piece = piece, .node = nodes[n]};
        if (post->reduce == TND_GATHER)
            add_gathered(group, node, posting);
        else
            add_reduced(group, job, node, posting, count);
    }
}

/*  Whether the gathered values fit one tensor. */
static bool gather_fits(tnd_device_workers_t *group, const job_t *job, uint32_t posting)
{
    size_t size = tnd_dtype_size(group->replicas[0].posts[posting].dtype), most = TND_TENSOR_BYTES;
    for (uint32_t i = 0; i < group->config.count; i++) {
        size_t count = group->replicas[i].posts[posting].count;
        if (count > most / size)
            return tnd_device_workers_fail(
                group,
                "%s: in step %" PRIu64 " more is gathered than %d MiB, which "
                "travel at a time: gather it in parts",
                group->config.name, job->note.step, TND_TENSOR_BYTES >> 20);
        most -= count * size;
    }
    return true;
}

/*  Allocates memory for what will be sent; called by the first worker before the others meet. */
static void prepare(tnd_device_workers_t *group, job_t *job)
{
    exchange_t *exchange = &group->exchange;
    exchange->round = job->note.step;
    exchange->piece_count = exchange->node_count = exchange->taken = 0;
    for (uint32_t p = 0; p < group->replicas[0].post_count; p++) {
        const tnd_posting_t *post = &group->replicas[0].posts[p];
        if (post->reduce == TND_GATHER) {
            if (!gather_fits(group, job, p))
                return;
            add_piece(group, job, p, 0, post->count);
            continue;
        }
        size_t most =
            TND_TENSOR_BYTES / tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
        for (size_t begin = 0; begin < post->count; begin += most)
            add_piece(group, job, p, begin,
                      post->count - begin < most ? post->count - begin : most);
    }
    job->reductions += group->replicas[0].post_count;
}

static void compute_node(worker_t *worker, const node_t *node)
{
    tnd_device_workers_t *group = worker->group;
    const piece_t *piece = &group->exchange.pieces[node->piece];
    const tnd_posting_t *post = &group->replicas[0].posts[piece->posting];
    if (node->rows == 0)
        return;
    if (post->reduce == TND_GATHER) {
        tnd_device_workers_gather_node(worker, node, piece->posting);
        return;
    }
    gather_inputs(worker, piece->posting, piece->begin);
    tnd_reduction_tree_job_t job = {
        .reduce = post->reduce,
        .dtype = post->dtype,
        .node = node->node,
        .inputs = worker->inputs + (node->node.first - group->config.first),
        .input_count = node->node.count,
        .weighted = post->weighted,
    };
    size_t begin, end;
    tnd_collective_share(piece->count,
                         tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype)),
                         worker->number, group->worker_count, &begin, &end);
    tnd_reduction_tree_partial(&job, begin, end, node->values);
}

static bool is_complete(const void *context)
{
    const worker_t *worker = context;
    return tnd_device_workers_dead(worker->group) ||
           atomic_load_explicit(&worker->group->exchange.complete, memory_order_acquire) >=
               worker->exchanges;
}

static void complete(exchange_t *exchange)
{
    atomic_fetch_add_explicit(&exchange->complete, 1, memory_order_release);
}

static void drop_results(exchange_t *exchange)
{
    for (uint32_t p = 0; p < exchange->piece_count; p++)
        tnd_buffer_drop(&exchange->pieces[p].result);
}

static bool reduce_between(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    exchange_t *exchange = &group->exchange;
    worker->exchanges++;
    if (posts_late(worker, true) &&
        (!tnd_device_workers_meet(worker, job) || !posts_fit(worker, job)))
        return false;
    if (worker->number == 0)
        prepare(group, job);
    if (!tnd_device_workers_meet(worker, job) || !posts_fit(worker, job))
        return false;
    for (uint32_t n = 0; n < exchange->node_count; n++)
        compute_node(worker, &exchange->nodes[n]);
    if (!tnd_device_workers_meet(worker, job))
        return false;
    if (worker->number == 0 && exchange->piece_count == 0) {
        complete(exchange);
        tnd_futex_open(&group->meet);
    } else if (worker->number == 0) {
        for (uint32_t n = 0; n < exchange->node_count; n++)
            tnd_buffer_seal(exchange->nodes[n].tensor);
        atomic_store_explicit(&exchange->missing, exchange->piece_count, memory_order_release);
        tnd_device_workers_wake(group);
    }
    tnd_futex_wait(&group->meet, is_complete, worker, exchange_spin_ns);
    if (tnd_device_workers_dead(group))
        return false;
    if (worker->number == 0)
        group->gathers.count = 0;
    for (uint32_t p = 0; p < exchange->piece_count; p++) {
        const piece_t *piece = &exchange->pieces[p];
        if (group->replicas[0].posts[piece->posting].reduce == TND_GATHER) {
            if (worker->number == 0)
                tnd_device_workers_gather_take(group, piece);
            continue;
        }
        for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
            const tnd_posting_t *post = &group->replicas[i].posts[piece->posting];
            size_t size = tnd_dtype_size(post->dtype);
            memcpy((char *)post->data + piece->begin * size, piece->values, piece->count * size);
        }
    }
    /* No worker posts again while another one copies. */
    if (!tnd_device_workers_meet(worker, job))
        return false;
    if (worker->number == 0)
        drop_results(exchange);
    return true;
}

bool tnd_device_workers_reduce(worker_t *worker, job_t *job)
{
    const tnd_device_workers_config_t *config = &worker->group->config;
    return config->count == config->replicas ? reduce_here(worker, job)
                                             : reduce_between(worker, job);
}

bool tnd_device_workers_waits(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->exchange.missing, memory_order_acquire) > 0;
}

bool tnd_device_workers_outgoing(tnd_device_workers_t *self, tnd_outgoing_t *outgoing)
{
    exchange_t *exchange = &self->exchange;
    if (!tnd_device_workers_waits(self) || exchange->taken == exchange->node_count)
        return false;
    node_t *node = &exchange->nodes[exchange->taken++];
    const piece_t *piece = &exchange->pieces[node->piece];
    *outgoing = (tnd_outgoing_t){
        .reducer = self->replicas[0].posts[piece->posting].reducer,
        .post =
            {
                .round = exchange->round,
                .reducer_slot = piece->slot,
                .reduction = piece->reduction,
                .first = node->node.first,
                .count = node->node.count,
                .weight = node->rows,
                .payload = node->tensor,
            },
    };
    node->tensor = NULL;
    return true;
}

static piece_t *find_awaited(const tnd_device_workers_t *self, uint64_t round,
                             uint32_t reducer_slot)
{
    const exchange_t *exchange = &self->exchange;
    if (!tnd_device_workers_waits(self) || exchange->round != round)
        return NULL;
    for (uint32_t p = 0; p < exchange->piece_count; p++)
        if (exchange->pieces[p].slot == reducer_slot && exchange->pieces[p].result == NULL)
            return &exchange->pieces[p];
    return NULL;
}

bool tnd_device_workers_awaits(const tnd_device_workers_t *self, uint64_t round,
                               uint32_t reducer_slot)
{
    return find_awaited(self, round, reducer_slot) != NULL;
}

tnd_status_t tnd_device_workers_incoming(tnd_device_workers_t *self, uint64_t round,
                                         uint32_t reducer_slot, tnd_buffer_t *result,
                                         tnd_error_t *error)
{
    exchange_t *exchange = &self->exchange;
    piece_t *piece = find_awaited(self, round, reducer_slot);
    if (piece == NULL) {
        tnd_buffer_drop(&result);
        return TND_OK;
    }
    tnd_tensor_head_t head;
    const tnd_posting_t *post = &self->replicas[0].posts[piece->posting];
    bool gathers = post->reduce == TND_GATHER;
    tnd_status_t status = gathers ? tnd_device_workers_gather_check(self, piece, result, error)
                                  : tnd_tensor_read(result, false, &head, &piece->values, error);
    if (!gathers && status == TND_OK &&
        (head.count != piece->count || head.dtype != post->dtype || head.reduce != post->reduce ||
         head.partial != 0))
        status = tnd_fail(error,
                          "%s: the result of a reduction of step %" PRIu64 " has another shape "
                          "than what was posted",
                          self->config.name, round);
    if (status != TND_OK) {
        tnd_buffer_drop(&result);
        return status;
    }
    piece->result = result;
    if (atomic_fetch_sub_explicit(&exchange->missing, 1, memory_order_acq_rel) == 1) {
        complete(exchange);
        tnd_futex_open(&self->meet);
    }
    return TND_OK;
}

void tnd_device_workers_forget_exchange(tnd_device_workers_t *self)
{
    exchange_t *exchange = &self->exchange;
    drop_results(exchange);
    for (uint32_t n = 0; n < exchange->node_count; n++)
        tnd_buffer_drop(&exchange->nodes[n].tensor);
    for (uint32_t p = 0; p < sizeof exchange->pools / sizeof exchange->pools[0]; p++)
        tnd_pool_destroy(&exchange->pools[p]);
    free(exchange->pieces);
    free(exchange->nodes);
    exchange->pieces = NULL;
    exchange->nodes = NULL;
    exchange->piece_count = exchange->node_count = 0;
}
