/*  runtime/feed/device_workers_reduce.c - how device threads reduce what their replicas posted.
 *
 *  The threads meet when all have posted.  If all replicas are here, each thread then claims chunks
 *  of the elements until none is left, and continues when all chunks are done.  A thread that the
 *  system interrupts delays the others by at most one chunk.  Otherwise the values
 *  travel in pieces: each thread computes its share of a piece, the actor sends it, and results are
 *  copied while later pieces are computed. */
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

static tnd_buffer_t *take_tensor(tnd_device_workers_t *group, size_t bytes)
{
    exchange_t *exchange = &group->exchange;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    if (bytes > TND_PIECE_BYTES)
        return tnd_buffer_new(bytes);
    if (exchange->pool == NULL)
        exchange->pool = tnd_pool_new_shared(
            TND_PIECE_BYTES,
            TND_PIECES_OPEN * tnd_reduction_tree_cover(group->config.replicas, group->config.first,
                                                       group->config.count, nodes));
    tnd_buffer_t *tensor = tnd_pool_take(exchange->pool);
    tnd_buffer_trim(tensor, bytes);
    return tensor;
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

/*  The rows of a node; a GATHER always sends a message, even an empty one. */
static uint64_t rows_of(const tnd_device_workers_t *group, const job_t *job,
                        tnd_reduction_tree_node_t node, uint32_t posting)
{
    const tnd_posting_t *post = &group->replicas[0].posts[posting];
    const share_t *shares = &group->shares[(size_t)job->slot * group->config.count];
    uint64_t rows = 0;
    if (post->reduce == TND_GATHER)
        return 1;
    for (uint32_t i = 0; i < node.count; i++) {
        uint32_t local = node.first - group->config.first + i;
        rows += post->weighted ? group->replicas[local].posts[posting].rows : shares[local].rows;
    }
    return rows;
}

static void begin_reduced(tnd_device_workers_t *group, node_t *node, const piece_t *piece)
{
    const tnd_posting_t *post = &group->replicas[0].posts[piece->posting];
    node->tensor =
        take_tensor(group, tnd_tensor_bytes(post->dtype, true, node->rows > 0 ? piece->count : 0));
    node->values = tnd_tensor_begin(node->tensor, post->reduce, post->dtype, true, piece->count);
    if (post->weighted)
        tnd_tensor_weigh(node->tensor, weight_of(group, node->node, piece->posting));
}

static void begin_gathered(tnd_device_workers_t *group, node_t *node, uint32_t posting)
{
    size_t count = 0;
    for (uint32_t i = 0; i < node->node.count; i++)
        count += group->replicas[node->node.first - group->config.first + i].posts[posting].count;
    size_t bytes =
        tnd_gather_bytes(group->replicas[0].posts[posting].dtype, node->node.count, count);
    tnd_device_workers_gather_begin(group, node, posting, take_tensor(group, bytes));
}

static void add_piece(tnd_device_workers_t *group, job_t *job, uint32_t posting, size_t begin,
                      size_t count)
{
    exchange_t *exchange = &group->exchange;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t covers = tnd_reduction_tree_cover(group->config.replicas, group->config.first,
                                               group->config.count, nodes);
    exchange->pieces = tnd_grow(exchange->pieces, exchange->piece_count, &exchange->piece_room,
                                sizeof *exchange->pieces);
    exchange->pieces[exchange->piece_count] = (piece_t){.posting = posting,
                                                        .slot = job->tensors++,
                                                        .reduction = job->reductions + posting,
                                                        .first_node = exchange->node_count,
                                                        .node_count = covers,
                                                        .begin = begin,
                                                        .count = count,
                                                        .computing = group->worker_count,
                                                        .copying = group->worker_count};
    for (uint32_t n = 0; n < covers; n++) {
        exchange->nodes = tnd_grow(exchange->nodes, exchange->node_count, &exchange->node_room,
                                   sizeof *exchange->nodes);
        exchange->nodes[exchange->node_count++] =
            (node_t){.piece = exchange->piece_count,
                     .node = nodes[n],
                     .rows = rows_of(group, job, nodes[n], posting)};
    }
    exchange->piece_count++;
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

/*  Cuts what was posted into pieces; called by the first worker before the others meet. */
static void prepare(tnd_device_workers_t *group, job_t *job)
{
    exchange_t *exchange = &group->exchange;
    exchange->round = job->note.step;
    exchange->before += exchange->piece_count;
    exchange->piece_count = exchange->node_count = exchange->taken = 0;
    atomic_store_explicit(&exchange->begun, 0, memory_order_relaxed);
    atomic_store_explicit(&exchange->computed, 0, memory_order_relaxed);
    for (uint32_t p = 0; p < group->replicas[0].post_count; p++) {
        const tnd_posting_t *post = &group->replicas[0].posts[p];
        if (post->reduce == TND_GATHER) {
            if (!gather_fits(group, job, p))
                return;
            add_piece(group, job, p, 0, post->count);
            continue;
        }
        size_t most = (TND_PIECE_BYTES - sizeof(tnd_tensor_head_t)) /
                      tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
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

/*  How far a worker has come with the pieces of an exchange. */
typedef struct {
    worker_t *worker;
    uint32_t computed, copied;
} progress_t;

static bool may_compute(const progress_t *self)
{
    const exchange_t *exchange = &self->worker->group->exchange;
    if (self->computed == exchange->piece_count)
        return false;
    if (self->worker->number > 0)
        return self->computed < atomic_load_explicit(&exchange->begun, memory_order_acquire);
    return exchange->before + self->computed -
               atomic_load_explicit(&exchange->closed, memory_order_acquire) <
           TND_PIECES_OPEN;
}

static bool may_copy(const progress_t *self)
{
    const exchange_t *exchange = &self->worker->group->exchange;
    return atomic_load_explicit(&exchange->pieces[self->copied].arrived, memory_order_acquire);
}

static bool may_continue(const void *context)
{
    const progress_t *self = context;
    return tnd_device_workers_dead(self->worker->group) || may_copy(self) || may_compute(self);
}

/*  Takes memory for what will be sent. */
static void begin_piece(tnd_device_workers_t *group, uint32_t number)
{
    exchange_t *exchange = &group->exchange;
    const piece_t *piece = &exchange->pieces[number];
    for (uint32_t n = 0; n < piece->node_count; n++) {
        node_t *node = &exchange->nodes[piece->first_node + n];
        if (group->replicas[0].posts[piece->posting].reduce == TND_GATHER)
            begin_gathered(group, node, piece->posting);
        else
            begin_reduced(group, node, piece);
    }
    atomic_store_explicit(&exchange->begun, number + 1, memory_order_release);
    if (group->worker_count > 1)
        tnd_futex_open(&group->meet);
}

/*  Computes this worker's part of a piece; the last worker lets the actor send it. */
static void compute_piece(worker_t *worker, uint32_t number)
{
    tnd_device_workers_t *group = worker->group;
    exchange_t *exchange = &group->exchange;
    piece_t *piece = &exchange->pieces[number];
    node_t *nodes = &exchange->nodes[piece->first_node];
    if (worker->number == 0)
        begin_piece(group, number);
    for (uint32_t n = 0; n < piece->node_count; n++)
        compute_node(worker, &nodes[n]);
    if (atomic_fetch_sub_explicit(&piece->computing, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t n = 0; n < piece->node_count; n++)
        tnd_buffer_seal(nodes[n].tensor);
    atomic_store_explicit(&exchange->computed, number + 1, memory_order_release);
    tnd_device_workers_wake(group);
}

static void take_values(const worker_t *worker, const piece_t *piece)
{
    tnd_device_workers_t *group = worker->group;
    if (group->replicas[0].posts[piece->posting].reduce == TND_GATHER) {
        if (worker->number == 0)
            tnd_device_workers_gather_take(group, piece);
        return;
    }
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        const tnd_posting_t *post = &group->replicas[i].posts[piece->posting];
        size_t size = tnd_dtype_size(post->dtype);
        memcpy((char *)post->data + piece->begin * size, piece->values, piece->count * size);
    }
}

/*  Copies a result to this worker's replicas; the last worker lets the reducer forget it. */
static void copy_piece(worker_t *worker, uint32_t number)
{
    exchange_t *exchange = &worker->group->exchange;
    piece_t *piece = &exchange->pieces[number];
    take_values(worker, piece);
    if (atomic_fetch_sub_explicit(&piece->copying, 1, memory_order_acq_rel) != 1)
        return;
    tnd_buffer_drop(&piece->result);
    atomic_store_explicit(&exchange->copied, exchange->before + number + 1, memory_order_release);
    tnd_device_workers_wake(worker->group);
}

/*  Results are copied first: their memory is used for later pieces. */
static bool exchange_pieces(worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    progress_t self = {.worker = worker};
    while (self.copied < group->exchange.piece_count) {
        if (may_copy(&self))
            copy_piece(worker, self.copied++);
        else if (may_compute(&self))
            compute_piece(worker, self.computed++);
        else
            tnd_futex_wait(&group->meet, may_continue, &self, exchange_spin_ns);
        if (tnd_device_workers_dead(group))
            return false;
    }
    return true;
}

static bool reduce_between(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    exchange_t *exchange = &group->exchange;
    if (posts_late(worker, true) &&
        (!tnd_device_workers_meet(worker, job) || !posts_fit(worker, job)))
        return false;
    if (worker->number == 0)
        prepare(group, job);
    if (!tnd_device_workers_meet(worker, job) || !posts_fit(worker, job))
        return false;
    if (worker->number == 0) {
        group->gathers.count = 0;
        atomic_store_explicit(&exchange->missing, exchange->piece_count, memory_order_release);
    }
    /* No worker posts again while another one copies. */
    return exchange_pieces(worker) && tnd_device_workers_meet(worker, job);
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
    node_t *node = &exchange->nodes[exchange->taken];
    if (node->piece >= atomic_load_explicit(&exchange->computed, memory_order_acquire))
        return false;
    exchange->taken++;
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
        .last = exchange->taken == exchange->node_count,
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
        if (exchange->pieces[p].slot == reducer_slot &&
            !atomic_load_explicit(&exchange->pieces[p].arrived, memory_order_relaxed))
            return &exchange->pieces[p];
    return NULL;
}

bool tnd_device_workers_awaits(const tnd_device_workers_t *self, uint64_t round,
                               uint32_t reducer_slot)
{
    return find_awaited(self, round, reducer_slot) != NULL;
}

static tnd_status_t check_result(const tnd_device_workers_t *self, piece_t *piece,
                                 tnd_buffer_t *result, tnd_error_t *error)
{
    tnd_tensor_head_t head;
    const tnd_posting_t *post = &self->replicas[0].posts[piece->posting];
    if (post->reduce == TND_GATHER)
        return tnd_device_workers_gather_check(self, piece, result, error);
    TND_TRY(tnd_tensor_read(result, false, &head, &piece->values, error));
    if (head.count == piece->count && head.dtype == post->dtype && head.reduce == post->reduce &&
        head.partial == 0)
        return TND_OK;
    return tnd_fail(error,
                    "%s: the result of a reduction of step %" PRIu64 " has another shape "
                    "than what was posted",
                    self->config.name, self->exchange.round);
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

tnd_status_t tnd_device_workers_incoming(tnd_device_workers_t *self, tnd_actor_id_t reducer,
                                         const tnd_post_note_t *result, tnd_error_t *error)
{
    exchange_t *exchange = &self->exchange;
    tnd_buffer_t *buffer = result->payload;
    piece_t *piece = find_awaited(self, result->round, result->reducer_slot);
    if (piece == NULL) {
        tnd_buffer_drop(&buffer);
        note_arrival(exchange, reducer, result, 0);
        return TND_OK;
    }
    tnd_status_t status = check_result(self, piece, buffer, error);
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
    tnd_futex_open(&self->meet);
    return TND_OK;
}

bool tnd_device_workers_used(tnd_device_workers_t *self, tnd_used_t *used)
{
    exchange_t *exchange = &self->exchange;
    uint64_t copied = atomic_load_explicit(&exchange->copied, memory_order_acquire);
    for (size_t i = 0; i < exchange->arrival_count; i++)
        if (exchange->arrivals[i].number <= copied) {
            *used = exchange->arrivals[i].used;
            exchange->arrivals[i] = exchange->arrivals[--exchange->arrival_count];
            return true;
        }
    return false;
}

void tnd_device_workers_closed(tnd_device_workers_t *self)
{
    atomic_fetch_add_explicit(&self->exchange.closed, 1, memory_order_release);
    tnd_futex_open(&self->meet);
}

void tnd_device_workers_forget_exchange(tnd_device_workers_t *self)
{
    exchange_t *exchange = &self->exchange;
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
