/*  tests/support/cuda/step_kernels.h - the kernels of a step of a user, tests/gpu/step_linear.c, which run on
 *  the host by name: one that computes, one that faults, and one that takes its time.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_STEP_KERNELS_H
#define TND_TESTS_SUPPORT_CUDA_STEP_KERNELS_H

#include "tests/support/cuda/streams.h"

typedef struct {
    const char *name;
    work_t *(*make)(CUcontext context, void **parameters);
} hostile_step_kernel_t;

enum { HOSTILE_STEP_KERNELS = 3 };
extern const hostile_step_kernel_t hostile_step_kernels[HOSTILE_STEP_KERNELS];

/*  Whether the step has faulted: its program then cannot release what it has. */
bool hostile_step_has_faulted(void);

#endif
