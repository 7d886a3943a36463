/*  transport/cuda/cuda_reduction_kernels.h - the nodes of the reduction tree as CUDA devices compute them.
 *
 *  Read by compilers of kernels and of the host, as cuda_kernels.h is.  The results are those of
 *  runtime/core/numeric/reduction_tree.h, with any number of threads.
 *
 *  A launch computes a tree of at most four levels: its leaves are in *slots*, 16 of them, of which those
 *  without a value are passed over.  So an uneven tree is one with empty slots.
 *
 *  A reduction should take no longer than a copy of its bytes on the device.  So a thread reads some
 *  neighbouring elements of all slots at once, and adds them in registers.
 *
 *  Compiled without fused multiplication and addition: a mean rounds in between.  Denormals are kept. */
#ifndef TND_TRANSPORT_CUDA_CUDA_REDUCTION_KERNELS_H
#define TND_TRANSPORT_CUDA_CUDA_REDUCTION_KERNELS_H

#include "transport/cuda/cuda_kernels.h"

enum { TND_REDUCTION_SLOTS = 16 };

/*  How two values join. */
enum { TND_KERNEL_ADD, TND_KERNEL_MIN, TND_KERNEL_MAX };

/*  The one parameter of a kernel. */
typedef struct {
    const void *in[TND_REDUCTION_SLOTS];
    double
        factor[TND_REDUCTION_SLOTS]; /* of each leaf of a mean, as a number of its type; else 1 */
    void *out;
    double divisor;   /* of a mean that is complete; else 1 */
    unsigned present; /* slots that have a value: bits */
    unsigned partial; /* ... which was made by another launch */
    unsigned root;    /* whether the result is written in the type of the leaves */
    unsigned how;     /* TND_KERNEL_ADD ... */
    unsigned count;   /* of elements */
    unsigned unused;  /* no bytes without a name: tests compare parameters */
} tnd_cuda_reduction_t;

#ifdef TND_KERNELS_FOR_DEVICE
#define TND_KERNEL_UNROLL _Pragma("unroll")
#define TND_KERNEL_LOOP _Pragma("unroll 1") /* what is unrolled in it is long */

TND_KERNEL float tnd_kernel_from_f16(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
#else
#define TND_KERNEL_UNROLL
#define TND_KERNEL_LOOP
#define tnd_kernel_from_f16 tnd_f32_from_f16
#endif

TND_KERNEL float tnd_kernel_from_bf16(unsigned short bits)
{
    union {
        float number;
        unsigned bits;
    } both;
    both.bits = (unsigned)bits << 16;
    return both.number;
}

TND_KERNEL double tnd_kernel_to_f64(double y)
{
    union {
        double number;
        unsigned long long bits;
    } nan;
    nan.bits = 0x7ff8000000000000ull;
    return y == y ? y : nan.number;
}

/*  What a value is multiplied by and divided by, in the type that is computed in. */
#define TND_KERNEL_SCALED(type, value, factor) ((value) * (type)(factor))
#define TND_KERNEL_DIVIDED(type, value, divisor) ((value) / (type)(divisor))
#define TND_KERNEL_AS_IT_IS(type, value, number) (value)
#define TND_KERNEL_SAME(value) (value)

/*  NAME, type of a leaf, type that is computed in, type of its sums, which wrap around, elements of a thread at
 *  a time, functions that widen a leaf, make one NaN of all, and round the root, and what is done with factor
 *  and divisor. */
#define TND_CUDA_REDUCTIONS(KERNEL)                                                                \
    KERNEL(f16, unsigned short, float, float, 4, tnd_kernel_from_f16, tnd_kernel_to_f32,           \
           tnd_kernel_to_f16, TND_KERNEL_SCALED, TND_KERNEL_DIVIDED)                               \
    KERNEL(bf16, unsigned short, float, float, 4, tnd_kernel_from_bf16, tnd_kernel_to_f32,         \
           tnd_kernel_to_bf16, TND_KERNEL_SCALED, TND_KERNEL_DIVIDED)                              \
    KERNEL(f32, float, float, float, 4, TND_KERNEL_SAME, tnd_kernel_to_f32, TND_KERNEL_SAME,       \
           TND_KERNEL_SCALED, TND_KERNEL_DIVIDED)                                                  \
    KERNEL(f64, double, double, double, 2, TND_KERNEL_SAME, tnd_kernel_to_f64, TND_KERNEL_SAME,    \
           TND_KERNEL_SCALED, TND_KERNEL_DIVIDED)                                                  \
    KERNEL(i32, int, int, unsigned, 4, TND_KERNEL_SAME, TND_KERNEL_SAME, TND_KERNEL_SAME,          \
           TND_KERNEL_AS_IT_IS, TND_KERNEL_AS_IT_IS)                                               \
    KERNEL(i64, long long, long long, unsigned long long, 2, TND_KERNEL_SAME, TND_KERNEL_SAME,     \
           TND_KERNEL_SAME, TND_KERNEL_AS_IT_IS, TND_KERNEL_AS_IT_IS)

/*  Two values become one.  A NaN is not equal to itself, and is kept. */
#define TND_KERNEL_JOIN(wide_t, sums_t, how, a, b)                                                 \
    ((how) == TND_KERNEL_ADD ? (wide_t)((sums_t)(a) + (sums_t)(b))                                 \
     : ((how) == TND_KERNEL_MIN ? (a) < (b) : (a) > (b)) || (a) != (a) ? (a)                       \
                                                                       : (b))

/*  Slots `apart` from each other become one. */
#define TND_KERNEL_LEVEL(wide_t, sums_t, each, apart)                                              \
    TND_KERNEL_UNROLL for (unsigned s = 0; s < TND_REDUCTION_SLOTS; s += 2 * (apart))              \
    {                                                                                              \
        unsigned left = present >> s & 1u, right = present >> (s + (apart)) & 1u;                  \
        TND_KERNEL_UNROLL for (unsigned i = 0; i < (each); i++)                                    \
        {                                                                                          \
            wide_t a = value[s][i], b = value[s + (apart)][i];                                     \
            value[s][i] = !right  ? a                                                              \
                          : !left ? b                                                              \
                                  : TND_KERNEL_JOIN(wide_t, sums_t, self->how, a, b);              \
        }                                                                                          \
        present |= right << s;                                                                     \
    }

/*  tnd_kernel_reduce_NAME_EACH(self, at): elements at * EACH ... of the result.  The leaves and the result are
 *  aligned to EACH elements. */
#define TND_KERNEL_TREE(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)    \
    TND_KERNEL_TYPE(tnd_kernel_leaf_##name##_##each##_t, each, leaf_t)                             \
    TND_KERNEL_TYPE(tnd_kernel_wide_##name##_##each##_t, each, wide_t)                             \
                                                                                                   \
    TND_KERNEL void tnd_kernel_reduce_##name##_##each(const tnd_cuda_reduction_t *self,            \
                                                      unsigned at)                                 \
    {                                                                                              \
        wide_t value[TND_REDUCTION_SLOTS][each];                                                   \
        unsigned present = self->present;                                                          \
        TND_KERNEL_UNROLL for (unsigned s = 0; s < TND_REDUCTION_SLOTS; s++)                       \
        {                                                                                          \
            tnd_kernel_leaf_##name##_##each##_t leaf = {{0}};                                      \
            tnd_kernel_wide_##name##_##each##_t wide = {{0}};                                      \
            unsigned partial = self->partial >> s & 1u;                                            \
            if ((present >> s & 1u) && partial)                                                    \
                wide = ((const tnd_kernel_wide_##name##_##each##_t *)self->in[s])[at];             \
            else if (present >> s & 1u)                                                            \
                leaf = ((const tnd_kernel_leaf_##name##_##each##_t *)self->in[s])[at];             \
            TND_KERNEL_UNROLL for (unsigned i = 0; i < (each); i++) value[s][i] =                  \
                partial ? wide.of[i] : scale(wide_t, widen(leaf.of[i]), self->factor[s]);          \
        }                                                                                          \
        TND_KERNEL_LEVEL(wide_t, sums_t, each, 1)                                                  \
        TND_KERNEL_LEVEL(wide_t, sums_t, each, 2)                                                  \
        TND_KERNEL_LEVEL(wide_t, sums_t, each, 4)                                                  \
        TND_KERNEL_LEVEL(wide_t, sums_t, each, 8)                                                  \
        tnd_kernel_leaf_##name##_##each##_t rounded;                                               \
        tnd_kernel_wide_##name##_##each##_t sum;                                                   \
        TND_KERNEL_UNROLL for (unsigned i = 0; i < (each); i++)                                    \
        {                                                                                          \
            sum.of[i] = clean(divide(wide_t, value[0][i], self->divisor));                         \
            rounded.of[i] = round(sum.of[i]);                                                      \
        }                                                                                          \
        if (self->root)                                                                            \
            ((tnd_kernel_leaf_##name##_##each##_t *)self->out)[at] = rounded;                      \
        else                                                                                       \
            ((tnd_kernel_wide_##name##_##each##_t *)self->out)[at] = sum;                          \
    }

/*  Whether all memory is aligned to so many elements. */
TND_KERNEL int tnd_kernel_reads_aligned(const tnd_cuda_reduction_t *self, unsigned leaf_bytes,
                                        unsigned wide_bytes)
{
    int aligned = tnd_kernel_is_aligned(self->out, self->root ? leaf_bytes : wide_bytes);
    for (unsigned s = 0; s < TND_REDUCTION_SLOTS; s++)
        aligned =
            aligned &&
            (!(self->present >> s & 1u) ||
             tnd_kernel_is_aligned(self->in[s], self->partial >> s & 1u ? wide_bytes : leaf_bytes));
    return aligned;
}

/*  tnd_kernel_reduce_NAME(self, thread, threads): the share of one of so many threads. */
#define TND_KERNEL_REDUCTION(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale,       \
                             divide)                                                               \
    TND_KERNEL_TREE(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)        \
    TND_KERNEL_TREE(name, leaf_t, wide_t, sums_t, 1, widen, clean, round, scale, divide)           \
                                                                                                   \
    TND_KERNEL void tnd_kernel_reduce_##name(const tnd_cuda_reduction_t *self, unsigned thread,    \
                                             unsigned threads)                                     \
    {                                                                                              \
        unsigned groups = tnd_kernel_reads_aligned(self, TND_KERNEL_BYTES(each, leaf_t),           \
                                                   TND_KERNEL_BYTES(each, wide_t))                 \
                              ? self->count / (each)                                               \
                              : 0;                                                                 \
        TND_KERNEL_LOOP for (unsigned at = thread; at < groups; at += threads)                     \
            tnd_kernel_reduce_##name##_##each(self, at);                                           \
        TND_KERNEL_LOOP for (unsigned at = groups * (each) + thread; at < self->count;             \
                             at += threads) tnd_kernel_reduce_##name##_1(self, at);                \
    }

TND_CUDA_REDUCTIONS(TND_KERNEL_REDUCTION)

#endif
