/*  runtime/posts/partial_sums.h - what the replicas of one model have posted, added as it comes.
 *
 *  Replicas that share a model run their steps one after the other, and each step overwrites what the
 *  one before has posted.  So what it posts is added at once, to a node of the reduction tree that is
 *  as large as possible (core/numeric/reduction_tree.h).  The result has the bits of replicas with
 *  models of their own.  What is gathered is copied.  The postings of the last replica need not be
 *  added: its model keeps them.
 *
 *  There are as many sums as nodes that cover the replicas so far: at most log2(A) of the first A - 1
 *  replicas where A and all replicas are powers of two, up to twice as many otherwise.
 *
 *  Ownership: sums and copies belong to it; their memory is kept for the next step.
 *  Threads: the device thread of the replicas; others read while that one waits for them. */
#ifndef TND_RUNTIME_POSTS_PARTIAL_SUMS_H
#define TND_RUNTIME_POSTS_PARTIAL_SUMS_H

#include "runtime/posts/postings.h"

/*  Of one posting in a sum: what its replicas weigh. */
typedef struct {
    uint64_t rows;
    double weight;
} tnd_partial_weight_t;

typedef struct {
    tnd_reduction_tree_node_t node;
    char *values; /* of all postings, each from its offset on */
    size_t room;
    tnd_partial_weight_t *weights; /* by posting */
    size_t weight_room;
} tnd_partial_sum_t;

/*  What one replica gathers. */
typedef struct {
    char *values;
    size_t room;
} tnd_gather_copy_t;

typedef struct {
    uint32_t replicas, first, share; /* of the run; those of the model */
    uint32_t added, count;           /* replicas, from the first on; sums of them */
    tnd_partial_sum_t items[TND_REDUCTION_TREE_COVER_MOST]; /* from left to right */
    size_t *offsets;                                        /* by posting */
    size_t offset_room, bytes;
    tnd_gather_copy_t *copies; /* by replica of the model */
} tnd_partial_sums_t;

/*  `share` consecutive replicas, from `first` on, share the model. */
void tnd_partial_sums_init(tnd_partial_sums_t *self, uint32_t replicas, uint32_t first,
                           uint32_t share);
/*  Adds what the next replica posted, which is the same as the first one posted, but for its values;
 *  gathers then point at copies. */
void tnd_partial_sums_add(tnd_partial_sums_t *self, tnd_postings_t *posts);
/*  Writes the sums of posting `number`, from element `begin` on, as inputs of the tree; returns how
 *  many there are. */
uint32_t tnd_partial_sums_inputs(const tnd_partial_sums_t *self, const tnd_posting_t *posting,
                                 uint32_t number, size_t begin, tnd_reduction_tree_input_t *inputs);
/*  They are reduced. */
void tnd_partial_sums_clear(tnd_partial_sums_t *self);
void tnd_partial_sums_free(tnd_partial_sums_t *self);

#endif
