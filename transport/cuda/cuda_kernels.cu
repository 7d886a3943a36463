/*  transport/cuda/cuda_kernels.cu - the kernels of the device `cuda`, for nvcc or clang.
 *
 *  Needs no header of the CUDA Toolkit. */
#define TND_KERNELS_FOR_DEVICE
#include "transport/cuda/cuda_kernels.h"
#include "transport/cuda/cuda_reduction_kernels.h"

#define SPECIAL_REGISTER(function, name)                                                           \
    TND_KERNEL unsigned function()                                                                 \
    {                                                                                              \
        unsigned value;                                                                            \
        asm("mov.u32 %0, %%" name ";" : "=r"(value));                                              \
        return value;                                                                              \
    }

SPECIAL_REGISTER(thread_of_block, "tid.x")
SPECIAL_REGISTER(threads_per_block, "ntid.x")
SPECIAL_REGISTER(block, "ctaid.x")
SPECIAL_REGISTER(blocks, "nctaid.x")

#define ENTRY(name, in_t, out_t, round)                                                            \
    extern "C" __attribute__((global)) void tnd_cast_##name(tnd_cuda_cast_t cast)                  \
    {                                                                                              \
        tnd_kernel_##name(&cast, block() * threads_per_block() + thread_of_block(),                \
                          blocks() * threads_per_block());                                         \
    }

TND_CUDA_KERNELS(ENTRY)

#define REDUCTION(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)           \
    extern "C" __attribute__((global)) void tnd_reduce_##name(tnd_cuda_reduction_t reduction)      \
    {                                                                                              \
        tnd_kernel_reduce_##name(&reduction, block() * threads_per_block() + thread_of_block(),           \
                          blocks() * threads_per_block());                                         \
    }

TND_CUDA_REDUCTIONS(REDUCTION)
