/*  transport/collective/tree_inputs.h - what replicas of this process have posted, as inputs of the tree.
 *
 *  Threads: any, while no replica posts. */
#ifndef TND_TRANSPORT_COLLECTIVE_TREE_INPUTS_H
#define TND_TRANSPORT_COLLECTIVE_TREE_INPUTS_H

#include "runtime/interface/collective.h"

/*  Writes what replicas first ... first + count - 1, counted from the first one of the process, have of a
 *  posting from element `begin` on; returns how many inputs that are, at most `count`.  The replicas
 *  of a model are all among them or none. */
uint32_t tnd_tree_inputs_list(const tnd_collective_config_t *config, uint32_t first, uint32_t count,
                              uint32_t posting, size_t begin, tnd_reduction_tree_input_t *inputs);

/*  The job of a node that such inputs cover. */
tnd_reduction_tree_job_t tnd_tree_inputs_job(const tnd_posting_t *post,
                                             const tnd_reduction_tree_input_t *inputs,
                                             tnd_reduction_tree_node_t node);

#endif
