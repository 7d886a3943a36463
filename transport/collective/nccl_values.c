/*  transport/collective/nccl_values.c - cuts values into parts, adds them on the host and gives them back.
 *
 *  The values of a thread's replicas are added along the tree before they go to the device, in the type of
 *  nodes: f16 and bf16 as f32.  What comes back is the sum of all, which is divided and rounded here. */
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/nccl_internal.h"
#include "transport/collective/tree_inputs.h"

/*  The smallest and the largest of floats are left to the collective `host`: NCCL does not say what it
 *  makes of a NaN. */
static bool find_type(const tnd_posting_t *post, ncclDataType_t *type_p, ncclRedOp_t *operation_p)
{
    bool sum = post->reduce == TND_SUM || post->reduce == TND_MEAN;
    *operation_p = sum ? ncclSum : post->reduce == TND_MIN ? ncclMin : ncclMax;
    switch (post->dtype) {
    case TND_F16:
    case TND_BF16:
    case TND_F32:
        *type_p = ncclFloat32;
        return sum;
    case TND_F64:
        *type_p = ncclFloat64;
        return sum;
    case TND_I32:
        *type_p = sum ? ncclUint32 : ncclInt32; /* sums wrap around */
        return true;
    case TND_I64:
        *type_p = sum ? ncclUint64 : ncclInt64;
        return true;
    default:
        return false;
    }
}

bool tnd_nccl_carries(const tnd_posting_t *post)
{
    ncclDataType_t type;
    ncclRedOp_t operation;
    return post->reduce != TND_GATHER && post->root == 0 && post->sharing == TND_SHARE_NONE &&
           find_type(post, &type, &operation);
}

/* --- parts ------------------------------------------------------------------------------------ */

size_t tnd_nccl_part_size(const tnd_posting_t *post)
{
    return tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
}

/*  The elements of a posting that NCCL reduces. */
static size_t carried(const tnd_postings_t *posts, uint32_t posting)
{
    const tnd_posting_t *post = &posts->items[posting];
    return tnd_nccl_carries(post) ? post->count : 0;
}

/*  Moves `part` to what follows its elements. */
static void pass(const tnd_postings_t *posts, nccl_part_t *part)
{
    size_t passed = part->begin + part->count;
    for (; part->posting < posts->count && passed >= carried(posts, part->posting); part->posting++)
        passed -= carried(posts, part->posting);
    part->begin = passed;
    part->count = 0;
}

bool tnd_nccl_part_next(const tnd_postings_t *posts, uint32_t nodes, nccl_part_t *part)
{
    pass(posts, part);
    if (part->posting >= posts->count)
        return false;
    (void)find_type(&posts->items[part->posting], &part->type, &part->operation);
    size_t most = TND_NCCL_PART_BYTES / nodes / tnd_nccl_part_size(&posts->items[part->posting]),
           begin = part->begin;
    for (uint32_t p = part->posting; p < posts->count && part->count < most; p++, begin = 0) {
        ncclDataType_t type;
        ncclRedOp_t operation;
        if (carried(posts, p) == 0)
            continue;
        (void)find_type(&posts->items[p], &type, &operation);
        if (type != part->type || operation != part->operation)
            break;
        size_t left = carried(posts, p) - begin;
        part->count += left < most - part->count ? left : most - part->count;
    }
    return true;
}

bool tnd_nccl_part_segment(const tnd_postings_t *posts, const nccl_part_t *part,
                           nccl_segment_t *segment)
{
    size_t at = segment->at + segment->count;
    uint32_t p = segment->post != NULL ? segment->posting + 1 : part->posting;
    while (at < part->count && carried(posts, p) == 0)
        p++;
    if (at == part->count)
        return false;
    *segment = (nccl_segment_t){.post = &posts->items[p],
                                .posting = p,
                                .begin = p == part->posting ? part->begin : 0,
                                .at = at};
    size_t left = segment->post->count - segment->begin;
    segment->count = left < part->count - at ? left : part->count - at;
    return true;
}

/* --- adding ----------------------------------------------------------------------------------- */

/*  Values of replicas that take no part. */
static void fill_none(const tnd_posting_t *post, size_t count, void *out)
{
    const tnd_reduction_tree_input_t none = {.node = {0, 1}};
    const tnd_reduction_tree_job_t job = {.reduce = post->reduce,
                                          .dtype = post->dtype,
                                          .node = {0, 1},
                                          .inputs = &none,
                                          .input_count = 1};
    if (post->reduce == TND_SUM || post->reduce == TND_MEAN)
        memset(out, 0, count * tnd_nccl_part_size(post));
    else
        tnd_reduction_tree_root(&job, 0, count, out);
}

/*  Adds the values of another node to `out`. */
static void add_node(const tnd_posting_t *post, size_t count, const void *values, void *out)
{
    const tnd_reduction_tree_input_t both[] = {
        {.node = {0, 1}, .data = out, .rows = 1, .partial = true, .weight = 1},
        {.node = {1, 1}, .data = values, .rows = 1, .partial = true, .weight = 1}};
    const tnd_reduction_tree_job_t job = {.reduce = post->reduce,
                                          .dtype = post->dtype,
                                          .node = {0, 2},
                                          .inputs = both,
                                          .input_count = 2,
                                          .weighted = post->weighted};
    tnd_reduction_tree_partial(&job, 0, count, out);
}

static void fill_segment(nccl_thread_t *thread, const nccl_segment_t *segment, void *out)
{
    const tnd_collective_config_t *config = &thread->nccl->config;
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t covers = tnd_reduction_tree_cover(config->replicas, config->first + thread->first,
                                               thread->count, nodes);
    bool any = false;
    (void)tnd_tree_inputs_list(config, thread->first, thread->count, segment->posting,
                               segment->begin, thread->inputs);
    for (uint32_t n = 0; n < covers; n++) {
        tnd_reduction_tree_job_t job = tnd_tree_inputs_job(segment->post, thread->inputs, nodes[n]);
        if (tnd_reduction_tree_rows(&job) == 0)
            continue;
        if (any && thread->sum == NULL)
            thread->sum = tnd_allocate(1, TND_NCCL_PART_BYTES);
        tnd_reduction_tree_partial(&job, 0, segment->count, any ? thread->sum : out);
        if (any)
            add_node(segment->post, segment->count, thread->sum, out);
        any = true;
    }
    if (!any)
        fill_none(segment->post, segment->count, out);
}

void tnd_nccl_part_fill(nccl_thread_t *thread, const nccl_part_t *part, void *values)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    nccl_segment_t segment = {0};
    while (tnd_nccl_part_segment(posts, part, &segment))
        fill_segment(thread, &segment,
                     (char *)values + segment.at * tnd_nccl_part_size(segment.post));
}

void tnd_nccl_part_fill_node(nccl_thread_t *thread, const nccl_part_t *part,
                             tnd_reduction_tree_node_t node, void *values)
{
    const tnd_collective_config_t *config = &thread->nccl->config;
    nccl_segment_t segment = {0};
    while (tnd_nccl_part_segment(config->posts[thread->first], part, &segment)) {
        (void)tnd_tree_inputs_list(config, thread->first, thread->count, segment.posting,
                                   segment.begin, thread->inputs);
        tnd_reduction_tree_job_t job = tnd_tree_inputs_job(segment.post, thread->inputs, node);
        if (tnd_reduction_tree_rows(&job) > 0)
            tnd_reduction_tree_partial(&job, 0, segment.count,
                                       (char *)values +
                                           segment.at * tnd_nccl_part_size(segment.post));
    }
}

/* --- giving ----------------------------------------------------------------------------------- */

/*  Where a posting's results go; replicas that follow one another may share memory. */
static uint32_t list_outs(const nccl_thread_t *thread, const nccl_segment_t *segment)
{
    const void *before = NULL;
    uint32_t count = 0;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        char *data = thread->nccl->config.posts[i]->items[segment->posting].data;
        if (count == 0 || data != before)
            thread->outs[count++] = data + segment->begin * tnd_dtype_size(segment->post->dtype);
        before = data;
    }
    return count;
}

void tnd_nccl_part_give(nccl_thread_t *thread, const nccl_part_t *part, const void *values)
{
    const tnd_collective_config_t *config = &thread->nccl->config;
    nccl_segment_t segment = {0};
    while (tnd_nccl_part_segment(config->posts[thread->first], part, &segment)) {
        const tnd_partial_weight_t *total = &thread->totals[segment.posting];
        const tnd_reduction_tree_input_t sum = {
            .node = {0, config->replicas},
            .data = (const char *)values + segment.at * tnd_nccl_part_size(segment.post),
            .rows = total->rows,
            .partial = true,
            .weight = total->weight};
        const tnd_reduction_tree_job_t job = {.reduce = segment.post->reduce,
                                              .dtype = segment.post->dtype,
                                              .node = sum.node,
                                              .inputs = &sum,
                                              .input_count = 1,
                                              .weighted = segment.post->weighted};
        tnd_reduction_tree_root_over(&job, 0, segment.count, thread->outs,
                                     list_outs(thread, &segment));
    }
}
