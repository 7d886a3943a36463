/*  runtime/posts/reduction_share.h - computes a share of the elements of a posting.
 *
 *  If one process has all replicas, each device thread reduces shares of the elements over all leaves
 *  in one pass along the fixed tree, and writes the result to the memory of every replica.
 *
 *  Threads: any; several may compute different elements at the same time. */
#ifndef TND_RUNTIME_POSTS_REDUCTION_SHARE_H
#define TND_RUNTIME_POSTS_REDUCTION_SHARE_H

#include "runtime/posts/posting.h"

/*  Part `part` of `parts` of `count` elements of `size` bytes: cut where cache lines meet if the
 *  data is aligned to them. */
void tnd_reduction_share(size_t count, size_t size, uint32_t part, uint32_t parts, size_t *begin_p,
                         size_t *end_p);

/*  What is known of one reduction: the parts of the tree over all replicas, from left to right, and
 *  where results go, which may be the data of parts. */
typedef struct {
    uint32_t replicas, input_count, out_count;
    tnd_reduction_tree_input_t *inputs;
    void **outs;
} tnd_reduction_parts_t;

/*  Reduces elements [begin, end) over parts that cover the whole tree, and writes them to all of
 *  `outs`. */
void tnd_reduction_compute(const tnd_posting_t *posting, const tnd_reduction_parts_t *parts,
                           size_t begin, size_t end);

#endif
