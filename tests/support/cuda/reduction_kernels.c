/*  tests/support/cuda/reduction_kernels.c - runs the kernels that reduce values. */
#include "tests/support/cuda/reduction_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/memory.h"
#include "transport/cuda/cuda_reduction_kernels.h"

#define RUN(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)                \
    static void run_##name(const void *reduction, unsigned thread, unsigned threads)               \
    {                                                                                              \
        tnd_kernel_reduce_##name(reduction, thread, threads);                                      \
    }
TND_CUDA_REDUCTIONS(RUN)

const hostile_reduction_kernel_t hostile_reduction_kernels[HOSTILE_REDUCTION_KERNELS] = {
#define KERNEL(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)             \
    {"tnd_reduce_" #name, run_##name, sizeof(leaf_t), sizeof(wide_t)},
    TND_CUDA_REDUCTIONS(KERNEL)
#undef KERNEL
};

typedef struct {
    work_t work;
    const hostile_reduction_kernel_t *kernel;
    tnd_cuda_reduction_t reduction; /* at the addresses where the driver works */
    size_t out_bytes;
    unsigned threads;
} launch_t;

/*  The last thread first. */
static bool run(work_t *work, bool demanded)
{
    const launch_t *self = (const launch_t *)work;
    (void)demanded;
    for (unsigned thread = self->threads; thread-- > 0;)
        self->kernel->run(&self->reduction, thread, self->threads);
    return true;
}

static void poison(work_t *work)
{
    const launch_t *self = (const launch_t *)work;
    memset(self->reduction.out, POISON, self->out_bytes);
}

static void *touch(launch_t *self, CUcontext context, size_t place, const void *at, size_t bytes,
                   bool writes)
{
    self->work.touches[place] = (touch_t){(uintptr_t)at, bytes, writes};
    return hostile_memory_at(context, (CUdeviceptr)(uintptr_t)at, bytes, self->kernel->name);
}

/*  A result may take the place of an input, which is then needed until it is made. */
static void touch_all(launch_t *self, CUcontext context)
{
    tnd_cuda_reduction_t *reduction = &self->reduction;
    const void *out = reduction->out;
    if (reduction->count == 0)
        return;
    self->work.poison = poison;
    for (unsigned s = 0; s < TND_REDUCTION_SLOTS; s++) {
        bool partial = (reduction->partial >> s & 1) != 0;
        if ((reduction->present >> s & 1) == 0)
            continue;
        if (reduction->in[s] == out)
            self->work.poison = NULL;
        reduction->in[s] =
            touch(self, context, s + 1, reduction->in[s],
                  reduction->count * (partial ? self->kernel->wide_size : self->kernel->leaf_size),
                  false);
    }
    self->out_bytes =
        reduction->count * (reduction->root ? self->kernel->leaf_size : self->kernel->wide_size);
    reduction->out = touch(self, context, 0, out, self->out_bytes, true);
}

work_t *hostile_reduction_make(const hostile_reduction_kernel_t *kernel, CUcontext context,
                               unsigned threads, void **parameters)
{
    launch_t *self = calloc(1, sizeof *self);
    *self = (launch_t){.work = {.name = kernel->name, .run = run},
                       .kernel = kernel,
                       .reduction = *(const tnd_cuda_reduction_t *)parameters[0],
                       .threads = threads};
    touch_all(self, context);
    return &self->work;
}
