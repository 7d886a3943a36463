/*  transport/collective/nccl_tree.c - adds along the tree by NCCL, with the bits of the collective `host`.
 *
 *  Each device thread adds the values of its own replicas to nodes of the tree.  A part of these is divided among
 *  all threads: each receives its shard of all nodes, adds that along the tree on its device, and all gather the
 *  sums.  NCCL moves bytes only, so it chooses no order. */
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "transport/collective/nccl_internal.h"

/*  Shards begin at multiples of so many elements, of 4 bytes or more. */
enum { LINE = 16, WIDEST = 8 };

/* --- the nodes of all threads ----------------------------------------------------------------- */

/*  Lists the nodes of the thread that begins with a replica; returns the replica after its last one. */
static uint32_t list_nodes(nccl_thread_t *thread, const tnd_gathered_t *gathered, uint32_t first)
{
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t replicas = thread->nccl->config.replicas, past = first + 1;
    while (past < replicas && !tnd_nccl_account_begins(gathered, past))
        past++;
    uint32_t count = tnd_reduction_tree_cover(replicas, first, past - first, nodes);
    uint32_t at = thread->first_node[thread->ranks];
    for (uint32_t n = 0; n < count; n++)
        thread->nodes[at + n] = nodes[n];
    thread->first_node[++thread->ranks] = at + count;
    thread->nodes_most = count > thread->nodes_most ? count : thread->nodes_most;
    return past;
}

tnd_nccl_told_t tnd_nccl_tree_begin(nccl_thread_t *thread, const tnd_gathered_t *gathered,
                                    tnd_nccl_member_config_t *config)
{
    uint32_t replicas = thread->nccl->config.replicas;
    tnd_nccl_tree_free(thread);
    thread->nodes = tnd_allocate_zeroed(replicas, sizeof *thread->nodes);
    thread->first_node = tnd_allocate_zeroed(replicas + (size_t)1, sizeof *thread->first_node);
    thread->leaves = tnd_allocate_zeroed(replicas, sizeof *thread->leaves);
    thread->received = tnd_allocate_zeroed(replicas, sizeof *thread->received);
    if (!tnd_nccl_account_begins(gathered, 0))
        return TND_NCCL_BROKEN;
    for (uint32_t first = 0; first < replicas;)
        first = list_nodes(thread, gathered, first);
    size_t uneven = (size_t)LINE * WIDEST * replicas;
    config->replicas = replicas;
    config->received = TND_NCCL_PART_BYTES + uneven;
    config->gathered = TND_NCCL_PART_BYTES + uneven;
    return thread->ranks == config->ranks ? TND_NCCL_ALIKE : TND_NCCL_BROKEN;
}

/*  What was kept of accounts is that of the round, and stays. */
void tnd_nccl_tree_free(nccl_thread_t *thread)
{
    free(thread->nodes);
    free(thread->first_node);
    free(thread->leaves);
    free(thread->received);
    thread->nodes = NULL;
    thread->first_node = NULL;
    thread->leaves = thread->received = NULL;
    thread->ranks = thread->nodes_most = 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

static tnd_nccl_shards_t shards_of(const nccl_thread_t *thread, const nccl_part_t *part)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    size_t shard = part->count / thread->ranks + (part->count % thread->ranks != 0);
    return (tnd_nccl_shards_t){.elements = part->count,
                               .size = tnd_nccl_part_size(&posts->items[part->posting]),
                               .shard = tnd_round_up(shard, LINE),
                               .first_node = thread->first_node};
}

static uint32_t rank_of(const nccl_thread_t *thread)
{
    uint32_t rank = 0, first = thread->nccl->config.first + thread->first;
    while (thread->nodes[thread->first_node[rank]].first != first)
        rank++;
    return rank;
}

static void fill(nccl_thread_t *thread, const nccl_part_t *part, const tnd_nccl_shards_t *shards,
                 char *values)
{
    const uint32_t *first = &thread->first_node[rank_of(thread)];
    for (uint32_t n = first[0]; n < first[1]; n++)
        tnd_nccl_part_fill_node(thread, part, thread->nodes[n],
                                values + (n - first[0]) * shards->elements * shards->size);
}

/*  What the replicas below a node have: its rows, and its weight, which is added along the tree. */
static void weigh(const nccl_thread_t *thread, const nccl_segment_t *segment,
                  tnd_reduction_tree_input_t *node)
{
    for (uint32_t i = 0; i < node->node.count; i++) {
        tnd_partial_weight_t told =
            tnd_nccl_account_weight(thread, node->node.first + i, segment->posting);
        thread->leaves[i] = (tnd_reduction_tree_input_t){
            .node = {node->node.first + i, 1}, .rows = told.rows, .weight = told.weight};
    }
    const tnd_reduction_tree_job_t job = {
        .node = node->node, .inputs = thread->leaves, .input_count = node->node.count};
    node->rows = tnd_reduction_tree_rows(&job);
    node->weight = tnd_reduction_tree_weight(&job);
}

/*  The job over all nodes, of a segment's elements from `at` of this thread's shard on. */
static tnd_reduction_tree_job_t job_of(nccl_thread_t *thread, const nccl_segment_t *segment,
                                       const tnd_nccl_shards_t *shards, uint32_t part, size_t at)
{
    uint32_t nodes = thread->first_node[thread->ranks];
    for (uint32_t n = 0; n < nodes; n++) {
        const char *data = tnd_nccl_member_received(thread->member, part, shards, n);
        thread->received[n] = (tnd_reduction_tree_input_t){
            .node = thread->nodes[n], .data = data + at * shards->size, .partial = true};
        weigh(thread, segment, &thread->received[n]);
    }
    return (tnd_reduction_tree_job_t){.reduce = segment->post->reduce,
                                      .dtype = segment->post->dtype,
                                      .node = {0, thread->nccl->config.replicas},
                                      .inputs = thread->received,
                                      .input_count = nodes,
                                      .weighted = segment->post->weighted};
}

/*  Adds what this thread's shard has of a segment; the weight of all is that of the tree. */
static tnd_status_t add_segment(nccl_thread_t *thread, const nccl_segment_t *segment,
                                const tnd_nccl_shards_t *shards, uint32_t part, tnd_error_t *error)
{
    uint32_t rank = rank_of(thread);
    size_t first = tnd_nccl_shards_begin(shards, rank);
    size_t begin = segment->at > first ? segment->at : first;
    size_t past = tnd_nccl_shards_begin(shards, rank + 1);
    size_t end = segment->at + segment->count < past ? segment->at + segment->count : past;
    size_t at = begin > first ? begin - first : 0;
    tnd_reduction_tree_job_t job = job_of(thread, segment, shards, part, at);
    thread->totals[segment->posting].weight = tnd_reduction_tree_weight(&job);
    if (begin >= end || tnd_reduction_tree_rows(&job) == 0)
        return TND_OK;
    return tnd_nccl_member_add(thread->member, part, shards, &job, at, end - begin, error);
}

static tnd_status_t put(nccl_thread_t *thread, const nccl_part_t *part, uint32_t number,
                        tnd_error_t *error)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    const tnd_nccl_shards_t shards = shards_of(thread, part);
    uint32_t at = number % TND_NCCL_PARTS;
    nccl_segment_t segment = {0};
    fill(thread, part, &shards, tnd_nccl_member_part(thread->member, at));
    TND_TRY(tnd_nccl_member_exchange(thread->member, at, &shards, error));
    while (tnd_nccl_part_segment(posts, part, &segment))
        TND_TRY(add_segment(thread, &segment, &shards, at, error));
    return tnd_nccl_member_collect(thread->member, at, &shards, error);
}

static tnd_status_t finish(nccl_thread_t *thread, const nccl_part_t *part, uint32_t number,
                           tnd_error_t *error)
{
    number %= TND_NCCL_PARTS;
    TND_TRY(tnd_nccl_member_await(thread->member, number, error));
    tnd_nccl_part_give(thread, part, tnd_nccl_member_part(thread->member, number));
    return TND_OK;
}

/*  While one part is on its way, the next one is added and sent. */
tnd_status_t tnd_nccl_tree_carry(nccl_thread_t *thread, tnd_error_t *error)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    nccl_part_t part = {0}, before = {0};
    uint32_t number = 0;
    for (; tnd_nccl_part_next(posts, thread->nodes_most, &part); before = part, number++) {
        tnd_nccl_watch_begin(thread->nccl->watch, thread->number);
        TND_TRY(put(thread, &part, number, error));
        if (number > 0)
            TND_TRY(finish(thread, &before, number - 1, error));
    }
    return number > 0 ? finish(thread, &before, number - 1, error) : TND_OK;
}
