/*  transport/device/cuda_kernels.h - the casts of rows as CUDA devices compute them.
 *
 *  Compilers of kernels read this file with TND_KERNELS_FOR_DEVICE defined.  So does the host's
 *  without it, so that tests run the same arithmetic without a device.  The results are those of runtime/core/numeric/row_cast.h.
 *
 *  A thread makes four neighbouring elements at a time.  Indices have 32 bits: a launch makes less
 *  than 2^31 elements. */
#ifndef TND_TRANSPORT_DEVICE_CUDA_KERNELS_H
#define TND_TRANSPORT_DEVICE_CUDA_KERNELS_H

/*  The one parameter of a kernel. */
typedef struct {
    const void *in;
    void *out;
    const float *scale, *bias;       /* by channel */
    unsigned count;                  /* of elements, whole rows */
    unsigned elements;               /* of a row */
    unsigned channels, pixels;       /* channels * pixels == elements */
    unsigned channels_first, unused; /* no bytes without a name: tests compare parameters */
} tnd_cuda_cast_t;

#ifdef TND_KERNELS_FOR_DEVICE
#define TND_KERNEL static inline __attribute__((device))
/*  Keeps compilers from repeating the body of a loop that seldom runs. */
#define TND_KERNEL_ROLLED _Pragma("unroll 1")

/*  x * scale + bias, rounded once; denormals are kept. */
TND_KERNEL float tnd_kernel_fma(float x, float scale, float bias)
{
    float y;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(x), "f"(scale), "f"(bias));
    return y;
}

TND_KERNEL unsigned short tnd_kernel_f16(float y)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(y));
    return bits;
}
#else
#include <math.h>

#include "runtime/core/numeric/half.h"

#define TND_KERNEL static inline
#define TND_KERNEL_ROLLED
#define tnd_kernel_fma fmaf
#define tnd_kernel_f16 tnd_f16_from_f32
#endif

TND_KERNEL unsigned tnd_kernel_bits(float y)
{
    union {
        float number;
        unsigned bits;
    } both;
    both.number = y;
    return both.bits;
}

TND_KERNEL float tnd_kernel_to_f32(float y)
{
    union {
        float number;
        unsigned bits;
    } nan;
    nan.bits = 0x7fc00000u;
    return y == y ? y : nan.number;
}

TND_KERNEL unsigned short tnd_kernel_to_f16(float y)
{
    return y == y ? tnd_kernel_f16(y) : (unsigned short)0x7e00;
}

TND_KERNEL unsigned short tnd_kernel_to_bf16(float y)
{
    unsigned bits = tnd_kernel_bits(y);
    return y == y ? (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)
                  : (unsigned short)0x7fc0;
}

/*  The element that becomes element `at`; its channel is the one of both. */
TND_KERNEL unsigned tnd_kernel_source(const tnd_cuda_cast_t *cast, unsigned at, unsigned *channel_p)
{
    if (!cast->channels_first) {
        *channel_p = at % cast->channels;
        return at;
    }
    unsigned in_row = at % cast->elements;
    *channel_p = in_row / cast->pixels;
    return at - in_row + in_row % cast->pixels * cast->channels + *channel_p;
}

/*  Whether four elements from a multiple of four on can be written at once, and do not begin in one
 *  channel and end in another if those come first. */
TND_KERNEL int tnd_kernel_takes_four(const tnd_cuda_cast_t *cast, unsigned size)
{
    return (unsigned long long)cast->out % (4 * size) == 0 &&
           (!cast->channels_first || cast->pixels % 4 == 0);
}

/*  NAME, type that is read, type that is written, function that rounds. */
#define TND_CUDA_KERNELS(KERNEL)                                                                   \
    KERNEL(u8_f32, unsigned char, float, tnd_kernel_to_f32)                                        \
    KERNEL(u8_f16, unsigned char, unsigned short, tnd_kernel_to_f16)                               \
    KERNEL(u8_bf16, unsigned char, unsigned short, tnd_kernel_to_bf16)                             \
    KERNEL(i16_f32, short, float, tnd_kernel_to_f32)                                               \
    KERNEL(i16_f16, short, unsigned short, tnd_kernel_to_f16)                                      \
    KERNEL(i16_bf16, short, unsigned short, tnd_kernel_to_bf16)                                    \
    KERNEL(u16_f32, unsigned short, float, tnd_kernel_to_f32)                                      \
    KERNEL(u16_f16, unsigned short, unsigned short, tnd_kernel_to_f16)                             \
    KERNEL(u16_bf16, unsigned short, unsigned short, tnd_kernel_to_bf16)                           \
    KERNEL(f32_f32, float, float, tnd_kernel_to_f32)                                               \
    KERNEL(f32_f16, float, unsigned short, tnd_kernel_to_f16)                                      \
    KERNEL(f32_bf16, float, unsigned short, tnd_kernel_to_bf16)

/*  tnd_kernel_NAME(cast, thread, threads): the share of one of so many threads. */
#define TND_KERNEL_BODY(name, in_t, out_t, round)                                                  \
    typedef struct {                                                                               \
        out_t of[4];                                                                               \
    } __attribute__((aligned(4 * sizeof(out_t)))) tnd_kernel_four_##name##_t;                      \
                                                                                                   \
    TND_KERNEL void tnd_kernel_four_##name(const tnd_cuda_cast_t *cast, unsigned at)               \
    {                                                                                              \
        unsigned c, from = tnd_kernel_source(cast, at, &c);                                        \
        unsigned stride = cast->channels_first ? cast->channels : 1;                               \
        tnd_kernel_four_##name##_t four;                                                           \
        for (unsigned i = 0; i < 4; i++) {                                                         \
            float x = (float)((const in_t *)cast->in)[from + i * stride];                          \
            four.of[i] = round(tnd_kernel_fma(x, cast->scale[c], cast->bias[c]));                  \
            if (!cast->channels_first && ++c == cast->channels)                                    \
                c = 0;                                                                             \
        }                                                                                          \
        *(tnd_kernel_four_##name##_t *)((out_t *)cast->out + at) = four;                           \
    }                                                                                              \
                                                                                                   \
    TND_KERNEL void tnd_kernel_one_##name(const tnd_cuda_cast_t *cast, unsigned at)                \
    {                                                                                              \
        unsigned c, from = tnd_kernel_source(cast, at, &c);                                        \
        float x = (float)((const in_t *)cast->in)[from];                                           \
        ((out_t *)cast->out)[at] = round(tnd_kernel_fma(x, cast->scale[c], cast->bias[c]));        \
    }                                                                                              \
                                                                                                   \
    TND_KERNEL void tnd_kernel_##name(const tnd_cuda_cast_t *cast, unsigned thread,                \
                                      unsigned threads)                                            \
    {                                                                                              \
        int fours = tnd_kernel_takes_four(cast, sizeof(out_t));                                    \
        TND_KERNEL_ROLLED                                                                          \
        for (unsigned at = 4 * thread; at < cast->count; at += 4 * threads) {                      \
            if (fours && at + 4 <= cast->count)                                                    \
                tnd_kernel_four_##name(cast, at);                                                  \
            else {                                                                                 \
                TND_KERNEL_ROLLED                                                                  \
                for (unsigned i = at; i < at + 4 && i < cast->count; i++)                          \
                    tnd_kernel_one_##name(cast, i);                                                \
            }                                                                                      \
        }                                                                                          \
    }

TND_CUDA_KERNELS(TND_KERNEL_BODY)

#endif
