/*  transport/collective/host_exchange.c - reductions with replicas of other processes.
 *
 *  What was posted is cut into pieces: one large posting makes several, and small ones that follow
 *  one another make one together.  Each thread computes its share of a piece, the actor sends it,
 *  and results are copied while later pieces are computed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"

/*  The bytes of a share that is sent by itself, at least. */
enum { SHARE_BYTES = 4096 };

/*  Whether all workers posted the same.  Call it between two meetings, where no thread posts. */
static bool posts_fit(thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    for (uint32_t w = 1, first; w < host->config.thread_count; w++) {
        uint32_t other = host->threads[w].first;
        if (!tnd_postings_fit(posts_of(host, 0), posts_of(host, other), &first))
            return tnd_host_collective_refuse(host, round, 0, other, first);
    }
    return true;
}

static tnd_buffer_t *take_tensor(host_t *host, size_t bytes)
{
    exchange_t *exchange = &host->exchange;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    if (bytes > TND_PIECE_BYTES)
        return tnd_buffer_new(bytes);
    if (exchange->pool == NULL)
        exchange->pool = tnd_pool_new_shared(
            TND_PIECE_BYTES,
            TND_PIECES_OPEN * tnd_reduction_tree_cover(host->config.replicas, host->config.first,
                                                       host->config.count, nodes));
    tnd_buffer_t *tensor = tnd_pool_take(exchange->pool);
    tnd_buffer_trim(tensor, bytes);
    return tensor;
}

/*  What the leaves of a node weigh together. */
static double weight_of(const host_t *host, tnd_reduction_tree_node_t node, uint32_t posting)
{
    thread_t *thread = &host->threads[0];
    tnd_host_collective_list_parts(thread, posting, 0);
    tnd_reduction_tree_job_t job = tnd_host_collective_node_job(thread, posting, node);
    return tnd_reduction_tree_weight(&job);
}

/*  The rows of a node's replicas that take part in a posting. */
static uint64_t rows_of(const host_t *host, const tnd_collective_round_t *round,
                        tnd_reduction_tree_node_t node, uint32_t posting)
{
    const tnd_posting_t *post = &posts_of(host, 0)->items[posting];
    uint64_t rows = 0;
    for (uint32_t i = 0; i < node.count; i++) {
        uint32_t local = node.first - host->config.first + i;
        rows += post->weighted ? posts_of(host, local)->items[posting].rows : round->rows[local];
    }
    return rows;
}

/*  The elements that a piece has of one of its postings. */
static size_t elements_of(const host_t *host, const piece_t *piece, uint32_t posting)
{
    return piece->postings == 1 ? piece->count : posts_of(host, 0)->items[posting].count;
}

/*  The rows of a piece's node: those of the posting that has most. */
static uint64_t rows_of_piece(const host_t *host, const tnd_collective_round_t *round,
                              tnd_reduction_tree_node_t node, const piece_t *piece)
{
    const tnd_posting_t *post = &posts_of(host, 0)->items[piece->posting];
    uint64_t most = 0;
    if (post->reduce == TND_GATHER)
        return 1; /* it always sends a message, even an empty one */
    if (piece->root > 0)
        return piece->root > node.first && piece->root <= node.first + node.count;
    for (uint32_t s = 0; s < piece->postings && (s == 0 || post->weighted); s++) {
        uint64_t rows = rows_of(host, round, node, piece->posting + s);
        most = rows > most ? rows : most;
    }
    return most;
}

static void begin_reduced(host_t *host, node_t *node, const piece_t *piece)
{
    const tnd_posting_t *post = &posts_of(host, 0)->items[piece->posting];
    tnd_segment_t *segments;
    tnd_tensor_head_t head = {
        .reduce = (uint8_t)post->reduce,
        .dtype = (uint8_t)post->dtype,
        .partial = 1,
        .weighted = post->weighted,
        .count = piece->count,
        .segments = piece->postings,
        .first = piece->reduction,
        .root = piece->root > 0 ? piece->root : piece->owner,
        .sharing = post->sharing,
        .whole = piece->count < post->count && piece->postings == 1 ? post->count : 0,
        .postings = piece->reduction - piece->posting + posts_of(host, 0)->count};
    node->tensor = take_tensor(host, tnd_tensor_bytes(post->dtype, true, piece->postings,
                                                      node->rows > 0 ? piece->count : 0));
    node->values = tnd_tensor_begin(node->tensor, &head, &segments);
    for (uint32_t s = 0; s < piece->postings; s++) {
        uint32_t p = piece->posting + s;
        segments[s] = (tnd_segment_t){.count = elements_of(host, piece, p)};
        if (post->weighted)
            segments[s].weight = weight_of(host, node->node, p);
    }
}

static void begin_gathered(host_t *host, node_t *node, uint32_t posting)
{
    size_t count = 0;
    for (uint32_t i = 0; i < node->node.count; i++)
        count += posts_of(host, node->node.first - host->config.first + i)->items[posting].count;
    size_t bytes =
        tnd_gather_bytes(posts_of(host, 0)->items[posting].dtype, node->node.count, count);
    tnd_host_collective_gather_begin(host, node, posting, take_tensor(host, bytes));
}

static void add_piece(host_t *host, tnd_collective_round_t *round, const piece_t *wanted)
{
    exchange_t *exchange = &host->exchange;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t covers = tnd_reduction_tree_cover(host->config.replicas, host->config.first,
                                               host->config.count, nodes);
    exchange->pieces = tnd_grow(exchange->pieces, exchange->piece_count, &exchange->piece_room,
                                sizeof *exchange->pieces);
    piece_t *piece = &exchange->pieces[exchange->piece_count];
    *piece = *wanted;
    piece->slot = round->tensors++;
    piece->reduction = round->reductions + wanted->posting;
    if (piece->root == 0)
        piece->root = posts_of(host, 0)->items[wanted->posting].root;
    piece->first_node = exchange->node_count;
    piece->node_count = covers;
    piece->computing = piece->copying = host->config.thread_count;
    for (uint32_t n = 0; n < covers; n++) {
        exchange->nodes = tnd_grow(exchange->nodes, exchange->node_count, &exchange->node_room,
                                   sizeof *exchange->nodes);
        exchange->nodes[exchange->node_count++] =
            (node_t){.piece = exchange->piece_count,
                     .node = nodes[n],
                     .rows = rows_of_piece(host, round, nodes[n], piece)};
    }
    exchange->piece_count++;
}

/*  Whether the gathered values fit one tensor. */
static bool gather_fits(host_t *host, const tnd_collective_round_t *round, uint32_t posting)
{
    size_t size = tnd_dtype_size(posts_of(host, 0)->items[posting].dtype), most = TND_TENSOR_BYTES;
    for (uint32_t i = 0; i < host->config.count; i++) {
        size_t count = posts_of(host, i)->items[posting].count;
        if (count > most / size)
            return tnd_host_collective_fail(host,
                                            "%s: in step %" PRIu64
                                            " more is gathered than %d MiB, which "
                                            "travel at a time: gather it in parts",
                                            host->config.name, round->step, TND_TENSOR_BYTES >> 20);
        most -= count * size;
    }
    return true;
}

/*  The bytes of a tensor that has so many elements of the type of a posting. */
static size_t piece_bytes(const tnd_posting_t *post, uint32_t postings, size_t count)
{
    return tnd_tensor_bytes(post->dtype, true, postings, count);
}

/*  Whether it is sent by shares: bytes of all, or an array whose shares are worth a message each. */
static bool has_shares(const host_t *host, const tnd_posting_t *post)
{
    if (post->sharing == TND_SHARE_OUT)
        return piece_bytes(post, 1, post->count) / host->config.replicas >= SHARE_BYTES;
    return post->sharing == TND_SHARE_IN && post->count > 0;
}

/*  The bucket that begins at a posting: this one, and those after it that fit. */
static piece_t bucket_at(const host_t *host, uint32_t posting)
{
    const tnd_postings_t *posts = posts_of(host, 0);
    const tnd_posting_t *post = &posts->items[posting];
    piece_t bucket = {.posting = posting, .postings = 1, .count = post->count};
    size_t size = tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
    if (has_shares(host, post))
        return bucket;
    size_t most =
        host->config.buckets != NULL ? (size_t)host->config.buckets[post->reducer] / size : 0;
    for (uint32_t p = posting + 1; p < posts->count; p++) {
        const tnd_posting_t *next = &posts->items[p];
        if (!tnd_posting_follows(next, post) || has_shares(host, next) || bucket.count > most ||
            next->count > most - bucket.count ||
            piece_bytes(post, bucket.postings + 1, bucket.count + next->count) > TND_PIECE_BYTES)
            break;
        bucket.postings++;
        bucket.count += next->count;
    }
    return bucket;
}

/*  A posting that is too large for one piece. */
static void add_parts(host_t *host, tnd_collective_round_t *round, uint32_t posting)
{
    const tnd_posting_t *post = &posts_of(host, 0)->items[posting];
    size_t most = (TND_PIECE_BYTES - piece_bytes(post, 1, 0)) /
                  tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
    piece_t part = {.posting = posting, .postings = 1};
    for (; part.begin < post->count; part.begin += part.count) {
        size_t left = post->count - part.begin;
        part.count = left < most ? left : most;
        add_piece(host, round, &part);
    }
}

/*  An array of which each replica has a share: pieces of one share each, which go only where they are
 *  needed. */
static void add_shares(host_t *host, tnd_collective_round_t *round, uint32_t posting)
{
    const tnd_posting_t *post = &posts_of(host, 0)->items[posting];
    size_t end, most = (TND_PIECE_BYTES - piece_bytes(post, 1, 0)) /
                       tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
    for (uint32_t replica = 0; replica < host->config.replicas; replica++) {
        piece_t part = {.posting = posting,
                        .postings = 1,
                        .root = post->sharing == TND_SHARE_IN ? replica + 1 : 0,
                        .owner = replica + 1};
        tnd_posting_share(post, host->config.replicas, replica, &part.begin, &end);
        for (; part.begin < end; part.begin += part.count) {
            part.count = end - part.begin < most ? end - part.begin : most;
            add_piece(host, round, &part);
        }
    }
}

/*  Cuts what was posted into pieces; called by the first thread before the others meet. */
static void prepare(host_t *host, tnd_collective_round_t *round)
{
    const tnd_postings_t *posts = posts_of(host, 0);
    exchange_t *exchange = &host->exchange;
    piece_t bucket;
    exchange->step = round->step;
    exchange->before += exchange->piece_count;
    exchange->piece_count = exchange->node_count = exchange->taken = 0;
    atomic_store_explicit(&exchange->begun, 0, memory_order_relaxed);
    atomic_store_explicit(&exchange->computed, 0, memory_order_relaxed);
    for (uint32_t p = 0; p < posts->count; p += bucket.postings) {
        const tnd_posting_t *post = &posts->items[p];
        bucket = bucket_at(host, p);
        if (post->reduce == TND_GATHER && !gather_fits(host, round, p))
            return;
        if (has_shares(host, post))
            add_shares(host, round, p);
        else if (post->reduce != TND_GATHER && bucket.postings == 1 &&
                 piece_bytes(post, 1, post->count) > TND_PIECE_BYTES)
            add_parts(host, round, p);
        else
            add_piece(host, round, &bucket);
    }
    round->reductions += posts->count;
}

/*  Elements [begin, end) of a piece that belong to posting `posting`, which begins at element `at`
 *  of the piece. */
static void compute_segment(thread_t *thread, const node_t *node, uint32_t posting, size_t at,
                            size_t begin, size_t end)
{
    host_t *host = thread->host;
    const piece_t *piece = &host->exchange.pieces[node->piece];
    const tnd_posting_t *post = &posts_of(host, 0)->items[posting];
    size_t size = tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
    char *values = (char *)node->values + at * size;
    tnd_host_collective_list_parts(thread, posting, piece->begin);
    for (uint32_t i = 0; piece->root > 0 && i < thread->parts.input_count; i++) {
        tnd_reduction_tree_input_t *input = &thread->parts.inputs[i];
        input->rows = piece->root - 1 - input->node.first < input->node.count;
    }
    tnd_reduction_tree_job_t job = tnd_host_collective_node_job(thread, posting, node->node);
    if (post->weighted && tnd_reduction_tree_rows(&job) == 0)
        memset(values + begin * size, 0, (end - begin) * size);
    else
        tnd_reduction_tree_partial(&job, begin, end, values);
}

static void compute_node(thread_t *thread, const node_t *node)
{
    host_t *host = thread->host;
    const piece_t *piece = &host->exchange.pieces[node->piece];
    const tnd_posting_t *post = &posts_of(host, 0)->items[piece->posting];
    size_t begin, end, at = 0;
    if (node->rows == 0)
        return;
    if (post->reduce == TND_GATHER) {
        tnd_host_collective_gather_node(thread, node, piece->posting);
        return;
    }
    tnd_reduction_share(piece->count, tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype)),
                        thread->number, host->config.thread_count, &begin, &end);
    for (uint32_t p = piece->posting; p < piece->posting + piece->postings; p++) {
        size_t count = elements_of(host, piece, p);
        size_t from = begin > at ? begin - at : 0, to = end < at + count ? end : at + count;
        if (to > at + from)
            compute_segment(thread, node, p, at, from, to - at);
        at += count;
    }
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

/*  Takes memory for what will be sent. */
static void begin_piece(host_t *host, uint32_t number)
{
    exchange_t *exchange = &host->exchange;
    const piece_t *piece = &exchange->pieces[number];
    for (uint32_t n = 0; n < piece->node_count; n++) {
        node_t *node = &exchange->nodes[piece->first_node + n];
        if (posts_of(host, 0)->items[piece->posting].reduce == TND_GATHER)
            begin_gathered(host, node, piece->posting);
        else
            begin_reduced(host, node, piece);
    }
    atomic_store_explicit(&exchange->begun, number + 1, memory_order_release);
    if (host->config.thread_count > 1)
        tnd_futex_open(&host->gate);
}

/*  Computes this thread's part of a piece; the last thread lets the actor send it. */
static void compute_piece(thread_t *thread, uint32_t number)
{
    host_t *host = thread->host;
    exchange_t *exchange = &host->exchange;
    piece_t *piece = &exchange->pieces[number];
    node_t *nodes = &exchange->nodes[piece->first_node];
    if (thread->number == 0)
        begin_piece(host, number);
    for (uint32_t n = 0; n < piece->node_count; n++)
        compute_node(thread, &nodes[n]);
    if (atomic_fetch_sub_explicit(&piece->computing, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t n = 0; n < piece->node_count; n++)
        tnd_buffer_seal(nodes[n].tensor);
    atomic_store_explicit(&exchange->computed, number + 1, memory_order_release);
    tnd_host_collective_wake(host);
}

/*  Copies to a replica what the result of a piece has of one posting. */
static void take_posting(const host_t *host, const piece_t *piece, uint32_t local, uint32_t posting,
                         const char *values)
{
    const tnd_posting_t *post = &posts_of(host, local)->items[posting];
    size_t size = tnd_dtype_size(post->dtype), begin = piece->begin,
           end = begin + elements_of(host, piece, posting), from = begin, to = end;
    if (post->sharing == TND_SHARE_OUT) {
        tnd_posting_share(post, host->config.replicas, host->config.first + local, &from, &to);
        from = from < begin ? begin : from;
        to = to > end ? end : to;
    }
    char *out = (char *)post->data + from * size;
    values += (from - begin) * size;
    if (from < to && out != values)
        memcpy(out, values, (to - from) * size);
}

static void take_values(const thread_t *thread, const piece_t *piece)
{
    host_t *host = thread->host;
    const tnd_postings_t *posts = posts_of(host, 0);
    const char *values = piece->values;
    if (values == NULL)
        return;
    if (posts->items[piece->posting].reduce == TND_GATHER) {
        if (thread->number == 0)
            tnd_host_collective_gather_take(host, piece);
        return;
    }
    for (uint32_t p = piece->posting; p < piece->posting + piece->postings; p++) {
        for (uint32_t i = thread->first; i < thread->first + thread->count; i++)
            if (posts->items[p].sharing == TND_SHARE_OUT ||
                !tnd_host_collective_shares_out(host, i, p))
                take_posting(host, piece, i, p, values);
        values += elements_of(host, piece, p) * tnd_dtype_size(posts->items[p].dtype);
    }
}

/*  Copies a result to this thread's replicas; the last thread lets the reducer forget it. */
static void copy_piece(thread_t *thread, uint32_t number)
{
    exchange_t *exchange = &thread->host->exchange;
    piece_t *piece = &exchange->pieces[number];
    take_values(thread, piece);
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

static bool begin_round(thread_t *thread, tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    exchange_t *exchange = &host->exchange;
    if (tnd_host_collective_posts_late(thread, true) &&
        (!tnd_host_collective_meet(thread) || !posts_fit(thread, round)))
        return false;
    if (thread->number == 0)
        prepare(host, round);
    if (!tnd_host_collective_meet(thread) || !posts_fit(thread, round))
        return false;
    thread->computed = thread->copied = 0;
    if (thread->number == 0) {
        tnd_host_collective_gather_none(host);
        atomic_store_explicit(&exchange->missing, exchange->piece_count, memory_order_release);
    }
    return true;
}

/*  No thread posts again while another one copies. */
static bool end_round(thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    return take_pieces(thread, host->exchange.piece_count) &&
           (thread->number > 0 || tnd_host_collective_gather_equal(host, round)) &&
           tnd_host_collective_meet(thread);
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

bool tnd_host_collective_outgoing(tnd_collective_t *self, tnd_outgoing_t *outgoing)
{
    host_t *host = (host_t *)self;
    exchange_t *exchange = &host->exchange;
    if (!waits(host) || exchange->taken == exchange->node_count)
        return false;
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
    return find_awaited((const host_t *)self, step, reducer_slot) != NULL;
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

tnd_status_t tnd_host_collective_incoming(tnd_collective_t *self, tnd_actor_id_t reducer,
                                          const tnd_post_note_t *result, tnd_error_t *error)
{
    host_t *host = (host_t *)self;
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
    tnd_futex_open(&host->gate);
    return TND_OK;
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
