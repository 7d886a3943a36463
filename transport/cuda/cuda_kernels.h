/*  transport/cuda/cuda_kernels.h - the casts of rows as CUDA devices compute them.
 *
 *  Compilers of kernels read this file with TND_KERNELS_FOR_DEVICE defined.  So does the host's
 *  without it, so that tests run the same arithmetic without a device.  The results are those of
 *  runtime/core/numeric/row_cast.h, with any number of threads.
 *
 *  A cast should take no longer than a copy of its bytes on the device.  So a thread reads and
 *  writes several neighbouring elements at once, and computes little for each: no division.
 *
 *  Indices have 32 bits: a launch makes less than 2^31 elements. */
#ifndef TND_TRANSPORT_CUDA_CUDA_KERNELS_H
#define TND_TRANSPORT_CUDA_CUDA_KERNELS_H

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

enum {
    TND_KERNEL_THREADS = 256, /* of a block */
    TND_KERNEL_BLOCKS =
        4096,            /* of a launch, at most: threads then continue with further elements */
    TND_KERNEL_EACH = 8, /* elements of each thread of a small launch */
    TND_KERNEL_PIXELS =
        4 /* of one channel that a thread makes at once, if the channels come first */
};

/*  Elements that a thread makes at once, if the channels come last: what it writes with one
 *  instruction.  With two, each would fill half of the sectors of memory that a warp touches. */
#define TND_KERNEL_GROUP(out_t) (16 / (unsigned)sizeof(out_t))

/*  How many blocks a launch should have. */
static inline unsigned tnd_kernel_blocks(unsigned count)
{
    unsigned each = TND_KERNEL_THREADS * TND_KERNEL_EACH, all = count / each + (count % each != 0);
    return all == 0 ? 1 : all < TND_KERNEL_BLOCKS ? all : TND_KERNEL_BLOCKS;
}

#ifdef TND_KERNELS_FOR_DEVICE
#define TND_KERNEL static inline __attribute__((device))
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

TND_KERNEL int tnd_kernel_is_aligned(const void *memory, unsigned bytes)
{
    return (unsigned long long)memory % bytes == 0;
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

/*  Elements that are read or written at once, where they are aligned to as many bytes. */
#define TND_KERNEL_BYTES(count, type) ((count) * sizeof(type) < 16 ? (count) * sizeof(type) : 16)
#define TND_KERNEL_TYPE(name, count, type)                                                         \
    typedef struct {                                                                               \
        type of[count];                                                                            \
    } __attribute__((aligned(TND_KERNEL_BYTES(count, type)))) name;

/*  Channels come last.  The groups of a thread begin with the same channel, as `apart` is a multiple
 *  of the channels: it reads their scales and biases once. */
#define TND_KERNEL_GROUPS(name, in_t, out_t, round)                                                \
    TND_KERNEL_TYPE(tnd_kernel_in_##name##_t, TND_KERNEL_GROUP(out_t), in_t)                       \
    TND_KERNEL_TYPE(tnd_kernel_out_##name##_t, TND_KERNEL_GROUP(out_t), out_t)                     \
                                                                                                   \
    TND_KERNEL void tnd_kernel_groups_##name(const tnd_cuda_cast_t *cast, unsigned first,          \
                                             unsigned groups, unsigned apart)                      \
    {                                                                                              \
        float scale[TND_KERNEL_GROUP(out_t)], bias[TND_KERNEL_GROUP(out_t)];                       \
        unsigned c = first * TND_KERNEL_GROUP(out_t) % cast->channels;                             \
        for (unsigned i = 0; i < TND_KERNEL_GROUP(out_t); i++) {                                   \
            scale[i] = cast->scale[c];                                                             \
            bias[i] = cast->bias[c];                                                               \
            c = c + 1 == cast->channels ? 0 : c + 1;                                               \
        }                                                                                          \
        for (unsigned g = first; g < groups; g += apart) {                                         \
            tnd_kernel_in_##name##_t x = ((const tnd_kernel_in_##name##_t *)cast->in)[g];          \
            tnd_kernel_out_##name##_t y;                                                           \
            for (unsigned i = 0; i < TND_KERNEL_GROUP(out_t); i++)                                 \
                y.of[i] = round(tnd_kernel_fma((float)x.of[i], scale[i], bias[i]));                \
            ((tnd_kernel_out_##name##_t *)cast->out)[g] = y;                                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TND_KERNEL void tnd_kernel_last_##name(const tnd_cuda_cast_t *cast, unsigned thread,           \
                                           unsigned threads)                                       \
    {                                                                                              \
        unsigned apart = threads - threads % cast->channels, groups = 0;                           \
        if (apart > 0 &&                                                                           \
            tnd_kernel_is_aligned(cast->in, TND_KERNEL_BYTES(TND_KERNEL_GROUP(out_t), in_t)) &&    \
            tnd_kernel_is_aligned(cast->out, TND_KERNEL_BYTES(TND_KERNEL_GROUP(out_t), out_t)))    \
            groups = cast->count / TND_KERNEL_GROUP(out_t);                                        \
        if (thread < apart && thread < groups)                                                     \
            tnd_kernel_groups_##name(cast, thread, groups, apart);                                 \
        for (unsigned at = groups * TND_KERNEL_GROUP(out_t) + thread; at < cast->count;            \
             at += threads) {                                                                      \
            float x = (float)((const in_t *)cast->in)[at];                                         \
            unsigned c = at % cast->channels;                                                      \
            ((out_t *)cast->out)[at] = round(tnd_kernel_fma(x, cast->scale[c], cast->bias[c]));    \
        }                                                                                          \
    }

/*  Channels come first.  A thread makes the same pixels of all channels, whose elements are
 *  neighbours where they are read. */
#define TND_KERNEL_PLANES(name, in_t, out_t, round)                                                \
    TND_KERNEL_TYPE(tnd_kernel_pixels_##name##_t, TND_KERNEL_PIXELS, out_t)                        \
                                                                                                   \
    TND_KERNEL void tnd_kernel_pixels_##name(const tnd_cuda_cast_t *cast, const in_t *in,          \
                                             out_t *out, unsigned pixels, int aligned)             \
    {                                                                                              \
        for (unsigned c = 0; c < cast->channels; c++) {                                            \
            float scale = cast->scale[c], bias = cast->bias[c];                                    \
            tnd_kernel_pixels_##name##_t y;                                                        \
            for (unsigned i = 0; i < TND_KERNEL_PIXELS; i++) {                                     \
                float x = (float)in[(i < pixels ? i : 0) * cast->channels + c];                    \
                y.of[i] = round(tnd_kernel_fma(x, scale, bias));                                   \
            }                                                                                      \
            if (aligned)                                                                           \
                *(tnd_kernel_pixels_##name##_t *)out = y;                                          \
            for (unsigned i = 0; i < TND_KERNEL_PIXELS; i++)                                       \
                if (!aligned && i < pixels)                                                        \
                    out[i] = y.of[i];                                                              \
            out += cast->pixels;                                                                   \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TND_KERNEL void tnd_kernel_first_##name(const tnd_cuda_cast_t *cast, unsigned thread,          \
                                            unsigned threads)                                      \
    {                                                                                              \
        unsigned in_row = (cast->pixels + TND_KERNEL_PIXELS - 1) / TND_KERNEL_PIXELS;              \
        unsigned parts = cast->count / cast->elements * in_row;                                    \
        int aligned =                                                                              \
            cast->pixels % TND_KERNEL_PIXELS == 0 &&                                               \
            tnd_kernel_is_aligned(cast->out, TND_KERNEL_BYTES(TND_KERNEL_PIXELS, out_t));          \
        for (unsigned part = thread; part < parts; part += threads) {                              \
            unsigned row = part / in_row * cast->elements;                                         \
            unsigned p = part % in_row * TND_KERNEL_PIXELS, left = cast->pixels - p;               \
            tnd_kernel_pixels_##name(cast, (const in_t *)cast->in + row + p * cast->channels,      \
                                     (out_t *)cast->out + row + p,                                 \
                                     left < TND_KERNEL_PIXELS ? left : TND_KERNEL_PIXELS,          \
                                     aligned);                                                     \
        }                                                                                          \
    }

/*  tnd_kernel_NAME(cast, thread, threads): the share of one of so many threads. */
#define TND_KERNEL_BODY(name, in_t, out_t, round)                                                  \
    TND_KERNEL_GROUPS(name, in_t, out_t, round)                                                    \
    TND_KERNEL_PLANES(name, in_t, out_t, round)                                                    \
                                                                                                   \
    TND_KERNEL void tnd_kernel_##name(const tnd_cuda_cast_t *cast, unsigned thread,                \
                                      unsigned threads)                                            \
    {                                                                                              \
        if (cast->count == 0)                                                                      \
            return;                                                                                \
        if (cast->channels_first)                                                                  \
            tnd_kernel_first_##name(cast, thread, threads);                                        \
        else                                                                                       \
            tnd_kernel_last_##name(cast, thread, threads);                                         \
    }

TND_CUDA_KERNELS(TND_KERNEL_BODY)

#endif
