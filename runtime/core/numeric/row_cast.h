/*  runtime/core/numeric/row_cast.h - casts rows for a device: y = x * scale + bias, per channel.
 *
 *  What is fed to a device is often smaller than what the step reads: bytes of pictures instead of
 *  floats.  This cast makes the one from the other, on a device or here, with the same bits:
 *
 *    1. x is the element as f32, which is exact.
 *    2. y = fma(x, scale[c], bias[c]) in f32, rounded once, to nearest, ties to even.
 *    3. y is rounded to `to`, to nearest, ties to even; too large values become infinity, and
 *       denormals are kept.
 *    4. Every NaN becomes 7fc00000 in f32, 7e00 in f16, 7fc0 in bf16.
 *
 *  The last axis of a row is that of the channels: element i has channel i % channels.  With
 *  `channels_first` the row that is written has them as its first axis.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_ROW_CAST_H
#define TND_RUNTIME_CORE_NUMERIC_ROW_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

typedef struct {
    tnd_dtype_t from;  /* TND_U8, TND_I16, TND_U16 or TND_F32 */
    tnd_dtype_t to;    /* TND_F32, TND_F16 or TND_BF16 */
    uint64_t elements; /* of a row; a multiple of `channels` */
    uint32_t channels; /* at least 1 */
    bool channels_first;
    const float *scale, *bias; /* by channel; the caller keeps them alive */
} tnd_row_cast_t;

bool tnd_row_cast_takes(tnd_dtype_t from, tnd_dtype_t to);

/*  Casts `rows` packed rows.  Both arrays are aligned to their elements and do not overlap. */
void tnd_row_cast(const tnd_row_cast_t *cast, uint64_t rows, void *out, const void *in);

/*  The same by one path (vector_paths.h), of which this machine can run the first
 *  tnd_row_cast_paths(): the plain one, then one with fused multiply-add. */
size_t tnd_row_cast_paths(void);
void tnd_row_cast_by(size_t path, const tnd_row_cast_t *cast, uint64_t rows, void *out,
                     const void *in);

#endif
