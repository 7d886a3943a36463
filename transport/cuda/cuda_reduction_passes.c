/*  transport/cuda/cuda_reduction_passes.c - divides the work of a reduction tree among launches. */
#include "transport/cuda/cuda_reduction_passes.h"

#include <assert.h>

enum { LEVELS = 4 }; /* of one launch */

typedef struct {
    const tnd_cuda_reduction_work_t *work;
    tnd_status_t (*launch)(void *context, const tnd_cuda_reduction_t *pass, tnd_error_t *error);
    void *context;
    uint32_t next;  /* input */
    uint32_t taken; /* arrays of the scratch memory */
    tnd_error_t *error;
} walk_t;

const char *tnd_cuda_reduction_type(tnd_dtype_t dtype)
{
    static const char *const names[TND_DTYPE_COUNT] = {
        [TND_F16] = "f16", [TND_BF16] = "bf16", [TND_F32] = "f32",
        [TND_F64] = "f64", [TND_I32] = "i32",   [TND_I64] = "i64"};
    return names[dtype];
}

static size_t partial_size(const tnd_reduction_tree_job_t *job)
{
    return tnd_dtype_size(tnd_reduction_tree_partial_dtype(job->dtype));
}

/*  What the values of a leaf are multiplied by, as a number of the type that is computed in. */
static double factor_of(const tnd_reduction_tree_job_t *job,
                        const tnd_reduction_tree_input_t *input)
{
    bool narrow = tnd_reduction_tree_partial_dtype(job->dtype) == TND_F32;
    if (job->reduce != TND_MEAN || input->partial)
        return 1;
    double factor = job->weighted ? input->weight : (double)input->rows;
    return narrow ? (double)(float)factor : factor;
}

static double divisor_of(const tnd_reduction_tree_job_t *job)
{
    return job->weighted ? tnd_reduction_tree_weight(job) : (double)tnd_reduction_tree_rows(job);
}

static void put(tnd_cuda_reduction_t *pass, uint32_t slot, const void *in, bool partial,
                double factor)
{
    pass->in[slot] = in;
    pass->factor[slot] = factor;
    pass->present |= 1u << slot;
    pass->partial |= (unsigned)partial << slot;
}

/*  The next input, unless it takes no part. */
static void take(walk_t *walk, tnd_cuda_reduction_t *pass, uint32_t slot)
{
    const tnd_reduction_tree_job_t *job = walk->work->job;
    const tnd_reduction_tree_input_t *input = &job->inputs[walk->next++];
    size_t size = input->partial ? partial_size(job) : tnd_dtype_size(job->dtype);
    if (input->rows > 0)
        put(pass, slot, (const char *)input->data + walk->work->begin * size, input->partial,
            factor_of(job, input));
}

static tnd_status_t compute(walk_t *walk, tnd_reduction_tree_node_t node, char *out, bool *any_p);

/*  A node whose children are below what one launch computes. */
static tnd_status_t take_below(walk_t *walk, tnd_reduction_tree_node_t node,
                               tnd_cuda_reduction_t *pass, uint32_t slot)
{
    char *out = walk->work->scratch + walk->taken++ * walk->work->block;
    bool any;
    assert(walk->work->scratch != NULL && walk->taken <= TND_CUDA_PASS_BLOCKS);
    TND_TRY(compute(walk, node, out, &any));
    if (any)
        put(pass, slot, out, true, 1);
    return TND_OK;
}

/*  Places what the node is made of in 2^levels slots, from `slot` on. */
static tnd_status_t place(walk_t *walk, tnd_reduction_tree_node_t node, tnd_cuda_reduction_t *pass,
                          uint32_t slot, uint32_t levels)
{
    const tnd_reduction_tree_node_t *next = &walk->work->job->inputs[walk->next].node;
    if (next->first == node.first && next->count == node.count) {
        take(walk, pass, slot);
        return TND_OK;
    }
    if (levels == 0)
        return take_below(walk, node, pass, slot);
    uint32_t left = tnd_reduction_tree_left(node.count);
    TND_TRY(place(walk, (tnd_reduction_tree_node_t){node.first, left}, pass, slot, levels - 1));
    return place(walk, (tnd_reduction_tree_node_t){node.first + left, node.count - left}, pass,
                 slot + (1u << (levels - 1)), levels - 1);
}

/*  Computes a node; *any_p: some of its leaves take part. */
static tnd_status_t compute(walk_t *walk, tnd_reduction_tree_node_t node, char *out, bool *any_p)
{
    const tnd_cuda_reduction_work_t *work = walk->work;
    bool whole = node.count == work->job->node.count;
    uint32_t taken = walk->taken;
    tnd_cuda_reduction_t pass = {.out = out,
                                 .divisor = 1,
                                 .root = work->root && whole,
                                 .how = work->job->reduce == TND_MIN   ? TND_KERNEL_MIN
                                        : work->job->reduce == TND_MAX ? TND_KERNEL_MAX
                                                                       : TND_KERNEL_ADD,
                                 .count = work->count};
    if (pass.root && work->job->reduce == TND_MEAN)
        pass.divisor = divisor_of(work->job);
    TND_TRY(place(walk, node, &pass, 0, LEVELS));
    *any_p = pass.present != 0;
    walk->taken = taken;
    return *any_p ? walk->launch(walk->context, &pass, walk->error) : TND_OK;
}

tnd_status_t tnd_cuda_reduction_passes(const tnd_cuda_reduction_work_t *work,
                                       tnd_status_t (*launch)(void *context,
                                                              const tnd_cuda_reduction_t *pass,
                                                              tnd_error_t *error),
                                       void *context, tnd_error_t *error)
{
    walk_t walk = {.work = work, .launch = launch, .context = context, .error = error};
    bool any;
    return compute(&walk, work->job->node, work->out, &any);
}
