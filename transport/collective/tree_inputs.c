/*  transport/collective/tree_inputs.c - lists what replicas of this process have posted. */
#include "transport/collective/tree_inputs.h"

static tnd_reduction_tree_input_t leaf_of(const tnd_collective_config_t *config, uint32_t local,
                                          uint32_t posting, size_t begin)
{
    const tnd_posting_t *post = &config->posts[local]->items[posting];
    return (tnd_reduction_tree_input_t){
        .node = {config->first + local, 1},
        .data = (const char *)post->from + begin * tnd_dtype_size(post->dtype),
        .rows = post->rows,
        .weight = post->weight,
    };
}

/*  What was added already, from element `begin` on. */
static uint32_t list_added(const tnd_posting_t *post, size_t begin,
                           tnd_reduction_tree_input_t *inputs)
{
    tnd_dtype_t partial = tnd_reduction_tree_partial_dtype(post->dtype);
    for (uint32_t n = 0; n < post->added_count; n++) {
        inputs[n] = post->added[n];
        inputs[n].data = (const char *)inputs[n].data +
                         begin * tnd_dtype_size(inputs[n].partial ? partial : post->dtype);
    }
    return post->added_count;
}

/*  What a replica has that shares its model; returns how many inputs that are. */
static uint32_t list_sharing(const tnd_collective_config_t *config, uint32_t local,
                             uint32_t posting, size_t begin, tnd_reduction_tree_input_t *inputs)
{
    const tnd_partial_sums_t *sums = &config->sums[local / config->accumulate];
    uint32_t place = local % config->accumulate, listed = 0;
    if (place == 0)
        listed = tnd_partial_sums_inputs(sums, &config->posts[local]->items[posting], posting,
                                         begin, inputs);
    if (place >= sums->added)
        inputs[listed++] = leaf_of(config, local, posting, begin);
    return listed;
}

uint32_t tnd_tree_inputs_list(const tnd_collective_config_t *config, uint32_t first, uint32_t count,
                              uint32_t posting, size_t begin, tnd_reduction_tree_input_t *inputs)
{
    uint32_t listed = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const tnd_posting_t *post = &config->posts[i]->items[posting];
        if (post->added != NULL) {
            listed += list_added(post, begin, &inputs[listed]);
            i += post->leaves - 1;
        } else if (config->accumulate > 1) {
            listed += list_sharing(config, i, posting, begin, &inputs[listed]);
        } else {
            inputs[listed++] = leaf_of(config, i, posting, begin);
        }
    }
    return listed;
}

tnd_reduction_tree_job_t tnd_tree_inputs_job(const tnd_posting_t *post,
                                             const tnd_reduction_tree_input_t *inputs,
                                             tnd_reduction_tree_node_t node)
{
    while (inputs->node.first < node.first)
        inputs++;
    tnd_reduction_tree_job_t job = {.reduce = post->reduce,
                                    .dtype = post->dtype,
                                    .node = node,
                                    .inputs = inputs,
                                    .weighted = post->weighted};
    for (uint32_t covered = 0; covered < node.count; covered += inputs++->node.count)
        job.input_count++;
    return job;
}
