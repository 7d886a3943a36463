/*  tests/support/cuda/reduction_kernels.h - the kernels of transport/cuda/cuda_reduction_kernels.h.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_REDUCTION_KERNELS_H
#define TND_TESTS_SUPPORT_CUDA_REDUCTION_KERNELS_H

#include "tests/support/cuda/streams.h"

enum { HOSTILE_REDUCTION_KERNELS = 6 };

typedef struct {
    const char *name;
    void (*run)(const void *reduction, unsigned thread, unsigned threads);
    size_t leaf_size, wide_size;
} hostile_reduction_kernel_t;

extern const hostile_reduction_kernel_t hostile_reduction_kernels[HOSTILE_REDUCTION_KERNELS];

/*  The work of a launch of so many threads. */
work_t *hostile_reduction_make(const hostile_reduction_kernel_t *kernel, CUcontext context,
                               unsigned threads, void **parameters);

#endif
