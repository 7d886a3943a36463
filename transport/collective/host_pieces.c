/*  transport/collective/host_pieces.c - what was posted as pieces that travel between processes.
 *
 *  One large posting makes several pieces, and small ones that follow one another make one together. */
#include <inttypes.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"

/*  The bytes of a share that is sent by itself, at least. */
enum { SHARE_BYTES = 4096 };

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
        .started = piece->started,
        .whole = post->whole > 0                                      ? post->whole
                 : piece->count < post->count && piece->postings == 1 ? post->count
                                                                      : 0,
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
    piece->started = exchange->started;
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

/*  The bucket that begins at a posting: this one, and those after it, before `end`, that fit. */
static piece_t bucket_at(const host_t *host, uint32_t posting, uint32_t end)
{
    const tnd_postings_t *posts = posts_of(host, 0);
    const tnd_posting_t *post = &posts->items[posting];
    piece_t bucket = {.posting = posting, .postings = 1, .count = post->count};
    size_t size = tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
    if (has_shares(host, post))
        return bucket;
    size_t most =
        host->config.buckets != NULL ? (size_t)host->config.buckets[post->reducer] / size : 0;
    for (uint32_t p = posting + 1; p < end; p++) {
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

/*  The next exchange has no pieces yet. */
static void begin_exchange(host_t *host, uint64_t step)
{
    exchange_t *exchange = &host->exchange;
    exchange->step = step;
    exchange->before += exchange->piece_count;
    exchange->piece_count = exchange->node_count = exchange->taken = exchange->cut = 0;
    atomic_store_explicit(&exchange->begun, 0, memory_order_relaxed);
    atomic_store_explicit(&exchange->computed, 0, memory_order_relaxed);
}

void tnd_host_collective_cut(host_t *host, tnd_collective_round_t *round, uint32_t end)
{
    exchange_t *exchange = &host->exchange;
    piece_t bucket;
    if (exchange->cut == 0)
        begin_exchange(host, round->step);
    for (; exchange->cut < end; exchange->cut += bucket.postings) {
        uint32_t p = exchange->cut;
        const tnd_posting_t *post = &posts_of(host, 0)->items[p];
        bucket = bucket_at(host, p, end);
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

void tnd_host_collective_compute_node(thread_t *thread, const node_t *node)
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
                        thread->number, thread->sharing, &begin, &end);
    for (uint32_t p = piece->posting; p < piece->posting + piece->postings; p++) {
        size_t count = elements_of(host, piece, p);
        size_t from = begin > at ? begin - at : 0, to = end < at + count ? end : at + count;
        if (to > at + from)
            compute_segment(thread, node, p, at, from, to - at);
        at += count;
    }
}
/*  Takes memory for what will be sent. */
void tnd_host_collective_begin_piece(host_t *host, uint32_t number)
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

void tnd_host_collective_take_values(const thread_t *thread, const piece_t *piece)
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
