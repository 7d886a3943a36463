/*  runtime/core/numeric/reduction_loops.h - loops that reduce two to eight leaves in one pass.
 *
 *  Each element of all leaves is read once, climbs the tree in registers and is written to all
 *  outputs.  The bits are those of tnd_reduction_tree_root.
 *
 *  Threads: any; they may compute different elements at the same time. */
#ifndef TND_RUNTIME_CORE_NUMERIC_REDUCTION_LOOPS_H
#define TND_RUNTIME_CORE_NUMERIC_REDUCTION_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

enum { TND_REDUCTION_LEAVES_MOST = 8 };

typedef struct {
    const void *in[TND_REDUCTION_LEAVES_MOST];
    void *out[TND_REDUCTION_LEAVES_MOST];     /* out[i] may be in[i] */
    double factor[TND_REDUCTION_LEAVES_MOST]; /* of a MEAN: the rows or weight of each leaf ... */
    double divisor;                           /* ... and of all */
    bool inverts; /* `divisor` is a power of two, so it is multiplied by its inverse */
} tnd_reduction_leaves_t;

/*  Reduces whole vectors from element `begin` on, before `end`; returns where it stopped, less than a
 *  vector before `end`.  The float mode is strict. */
typedef size_t tnd_reduction_loop_fn(const tnd_reduction_leaves_t *leaves, size_t begin,
                                     size_t end);

/*  The loop over that many leaves, or NULL: there is none for this machine or type. */
tnd_reduction_loop_fn *tnd_reduction_loop(tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t leaves);

#endif
