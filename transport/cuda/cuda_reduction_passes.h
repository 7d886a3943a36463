/*  transport/cuda/cuda_reduction_passes.h - divides the work of a reduction tree among launches of a kernel.
 *
 *  A launch computes four levels of the tree.  Nodes of up to 16 leaves take one launch; for larger ones, others
 *  compute nodes below first, into memory of the device for `TND_CUDA_PASS_BLOCKS` arrays.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_CUDA_CUDA_REDUCTION_PASSES_H
#define TND_TRANSPORT_CUDA_CUDA_REDUCTION_PASSES_H

#include "runtime/base/status.h"
#include "runtime/core/numeric/reduction_tree.h"
#include "transport/cuda/cuda_reduction_kernels.h"

/*  Levels of launches: enough for 16^8 leaves.  Each has at most one array per slot. */
enum { TND_CUDA_PASS_LEVELS = 8, TND_CUDA_PASS_BLOCKS = 16 * TND_CUDA_PASS_LEVELS };

/*  The name of the kernel's type: "f32"; NULL if it has no kernel. */
const char *tnd_cuda_reduction_type(tnd_dtype_t dtype);

/*  What is computed: elements begin ... begin + count - 1 of a job whose inputs have addresses of the device. */
typedef struct {
    const tnd_reduction_tree_job_t *job;
    bool root;
    size_t begin;
    unsigned count;
    char *out;     /* where element `begin` goes */
    char *scratch; /* NULL: the node has at most 16 leaves */
    size_t block;  /* bytes of each array in it, for `count` elements of the partial type */
} tnd_cuda_reduction_work_t;

/*  Calls `launch` for each pass, in order.  Some input has rows.  Errors: those of `launch`. */
tnd_status_t tnd_cuda_reduction_passes(const tnd_cuda_reduction_work_t *work,
                                       tnd_status_t (*launch)(void *context,
                                                              const tnd_cuda_reduction_t *pass,
                                                              tnd_error_t *error),
                                       void *context, tnd_error_t *error) TND_CHECKED;

#endif
