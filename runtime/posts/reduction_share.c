/*  runtime/posts/reduction_share.c - computes a share of the elements of a posting. */
#include "runtime/posts/reduction_share.h"

void tnd_reduction_share(size_t count, size_t size, uint32_t part, uint32_t parts, size_t *begin_p,
                         size_t *end_p)
{
    size_t line = 64 / size, lines = (count + line - 1) / line;
    size_t begin = lines * part / parts * line, end = lines * (part + 1) / parts * line;
    *begin_p = begin < count ? begin : count;
    *end_p = end < count ? end : count;
}

void tnd_reduction_compute(const tnd_posting_t *posting, const tnd_reduction_parts_t *parts,
                           size_t begin, size_t end)
{
    tnd_reduction_tree_job_t job = {
        .reduce = posting->reduce,
        .dtype = posting->dtype,
        .node = {0, parts->replicas},
        .inputs = parts->inputs,
        .input_count = parts->input_count,
        .weighted = posting->weighted,
    };
    tnd_reduction_tree_root_over(&job, begin, end, parts->outs, parts->out_count);
}
