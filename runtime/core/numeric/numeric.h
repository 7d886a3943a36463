/*  runtime/core/numeric/numeric.h - numbers of one type as numbers of another.
 *
 *  Every cast gives the same bits on every machine, where C and hardware leave some undefined:
 *
 *  to a float          Rounds to the nearest, ties to even; too large is infinity.  f64 and the
 *                      integers reach f16 and bf16 by way of f32, as in TensorFlow.  Denormals are
 *                      kept (TensorFlow flushes some): call with FTZ and DAZ off.  A NaN stays a
 *                      quiet NaN; in bf16 all are 7fc0.
 *  float to integer    Towards zero; what lies outside becomes the nearest end of the range, a NaN
 *                      becomes 0.  (TensorFlow promises nothing outside the range.)
 *  integer to integer  tnd_cast takes the low bits, as TensorFlow's cast; tnd_cast_saturate gives
 * the nearest end of the range.  Elsewhere the two are the same. to bool             1 for all but
 * zeros; a NaN is 1.  From bool: 0 or 1.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_CORE_NUMERIC_NUMERIC_H
#define TND_RUNTIME_CORE_NUMERIC_NUMERIC_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/*  Casts `count` numbers.  Both arrays are aligned to their elements and do not overlap. */
void tnd_cast(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in);
void tnd_cast_saturate(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in);

/*  One number, as its bits: what the casts above do for every element. */
uint16_t tnd_f16_from_f32(float value);
float tnd_f32_from_f16(uint16_t bits);
uint16_t tnd_bf16_from_f32(float value);
float tnd_f32_from_bf16(uint16_t bits);

#endif
