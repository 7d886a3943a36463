/*  runtime/core/numeric/numeric.h - casts numbers of one type to another.
 *
 *  Every cast gives the same bits on every machine, also where C and hardware leave it undefined:
 *
 *  to a float          Rounds to nearest, ties to even; a value that is too large becomes infinity.
 *                      f64 and the integers are cast to f16 and bf16 through f32, as in TensorFlow.
 *                      Denormals are kept (TensorFlow flushes some): call with FTZ and DAZ off.  A
 *                      NaN stays a quiet NaN; in bf16 every NaN is 7fc0.
 *  float to integer    Rounds towards zero.  A value out of range becomes the nearest end of the
 *                      range, and a NaN becomes 0.  (TensorFlow promises nothing out of range.)
 *  integer to integer  tnd_cast takes the low bits, as TensorFlow's cast; tnd_cast_saturate gives
 *                      the nearest end of the range.  For other types the two are the same.
 *  to bool             1 for everything but zero; a NaN is 1.
 *  from bool           0 or 1.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_NUMERIC_H
#define TND_RUNTIME_CORE_NUMERIC_NUMERIC_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/*  Casts `count` numbers.  Both arrays are aligned to their elements and do not overlap. */
void tnd_cast(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in);
void tnd_cast_saturate(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in);

#endif
