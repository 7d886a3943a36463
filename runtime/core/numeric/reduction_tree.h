/*  runtime/core/numeric/reduction_tree.h - the fixed tree that reduces values of replicas.
 *
 *  The leaves are the logical replicas 0 ...  R-1.  A node covers the leaves first ... first +
 *  count - 1; its left child covers the first ceil(count / 2) of them, its right child the rest.
 *  The value of a node is left + right (or their minimum or maximum), so the root has the same bits
 *  however the replicas are spread over devices and hosts.  The owner of all leaves of a node may
 *  send that node's value instead of the leaves.
 *
 *  A leaf without rows takes no part: its parent is the other child.  It is skipped and never
 *  multiplied by 0, so that the NaN of an empty batch does not spread.
 *
 *  MEAN     Sum of rows x value / sum of rows, the rows as numbers of the type: the value of a leaf
 *           is the mean over its rows.  A node holds the sum of rows x value; only the root is
 *           divided.  Given weights replace the rows; they are added along the same tree, as doubles.
 *  f16      and bf16 are widened to f32 at the leaves and rounded once, at the root.
 *  i32, i64 wrap around mod 2^32 and 2^64; u8 mod 2^8.
 *  NaN      A NaN in any leaf that takes part gives a NaN, always the same one, in all four.
 *
 *  Computes in strict float mode and restores the caller's mode.
 *
 *  Data is aligned to its elements.
 *
 *  Threads: any; several may compute different elements of one node at the same time. */
#ifndef TND_RUNTIME_CORE_NUMERIC_REDUCTION_TREE_H
#define TND_RUNTIME_CORE_NUMERIC_REDUCTION_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

typedef struct {
    uint32_t first;
    uint32_t count;
} tnd_reduction_tree_node_t;

/*  How many of a node's `count` > 1 leaves are its left child's. */
uint32_t tnd_reduction_tree_left(uint32_t count);

/*  Whether the tree over `replicas` leaves has that node.  Accepts any numbers. */
bool tnd_reduction_tree_has(uint32_t replicas, tnd_reduction_tree_node_t node);

/*  The most nodes that cover any run of leaves. */
enum { TND_REDUCTION_TREE_COVER_MOST = 64 };

/*  Fills `nodes` with the fewest nodes that cover exactly the leaves first ... first + count - 1,
 *  from left to right: what their owner reduces before it sends.  Returns how many there are, at
 *  most TND_REDUCTION_TREE_COVER_MOST.  0 < count, first + count <= replicas. */
uint32_t tnd_reduction_tree_cover(uint32_t replicas, uint32_t first, uint32_t count,
                                  tnd_reduction_tree_node_t *nodes);

/*  True for f16, bf16, f32 and f64, for i32 and i64 except with MEAN, and for u8 with SUM, which
 *  carries the bytes of a single leaf.  False for GATHER. */
bool tnd_reduction_tree_reduces(tnd_reduce_t reduce, tnd_dtype_t dtype);

/*  The type of a node's value before the root: f32 for f16 and bf16, else the same. */
tnd_dtype_t tnd_reduction_tree_partial_dtype(tnd_dtype_t dtype);

/*  A known part of the tree: a replica's own value, or a node made by tnd_reduction_tree_partial. */
typedef struct {
    tnd_reduction_tree_node_t node;
    const void *data; /* not read, and may be NULL, where rows is 0 */
    uint64_t rows;    /* of all its replicas that take part */
    bool partial;     /* made by tnd_reduction_tree_partial; else node.count is 1 */
    double weight;    /* in a weighted job: of all its replicas; 0 where rows is 0, else above it */
} tnd_reduction_tree_input_t;

typedef struct {
    tnd_reduce_t reduce;
    tnd_dtype_t dtype;
    tnd_reduction_tree_node_t node;           /* what is computed; {0, R} is the root */
    const tnd_reduction_tree_input_t *inputs; /* from left to right; they cover the node exactly */
    uint32_t input_count;
    bool weighted; /* a MEAN weighs by `weight`, not by rows */
} tnd_reduction_tree_job_t;

/*  The rows of all inputs. */
uint64_t tnd_reduction_tree_rows(const tnd_reduction_tree_job_t *job);
/*  The weights of all inputs, added along the tree. */
double tnd_reduction_tree_weight(const tnd_reduction_tree_job_t *job);

/*  Writes elements begin ... end - 1 of the node's value, as one that tnd_reduction_tree_root can
 *  go on with, to out[begin] ... in the partial type.  Some input has rows.  `out` may be the data
 *  of an input of the same type, but overlap none otherwise. */
void tnd_reduction_tree_partial(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                                void *out);

/*  Writes elements begin ... end - 1 of the result, in the type of the job, to out[begin] ...,
 *  which may be the data of an input of the same type.  Without any rows a SUM is 0, a MEAN is a
 *  NaN, and a MIN or MAX is the number that every other one replaces. */
void tnd_reduction_tree_root(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                             void *out);

/*  The same to outs[i][begin] ... for each of `out_count` > 0, which may be the data of inputs of the
 *  same type. */
void tnd_reduction_tree_root_over(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                                  void *const *outs, uint32_t out_count);

#endif
