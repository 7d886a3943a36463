/*  runtime/core/numeric/float_mode.h - how this thread's processor treats floats.
 *
 *  STRICT is IEEE 754 as C means it: round to the nearest, denormals kept.  FLUSH takes denormals
 *  for zeros and makes zeros of them, which is faster where a model's numbers fade away.  What
 *  promises equal bits runs in STRICT, whatever mode its caller chose for itself:
 *
 *      tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
 *      ...
 *      tnd_float_mode_restore(before);
 *
 *  Threads: any; a mode belongs to the thread that sets it.
 */
#ifndef TND_RUNTIME_CORE_NUMERIC_FLOAT_MODE_H
#define TND_RUNTIME_CORE_NUMERIC_FLOAT_MODE_H

#include <stdint.h>

typedef enum { TND_FLOAT_STRICT, TND_FLOAT_FLUSH } tnd_float_t;

/*  A mode as the processor's control register holds it. */
typedef struct {
    uint64_t bits;
} tnd_float_mode_t;

/*  Sets the mode and returns the one before. */
tnd_float_mode_t tnd_float_mode_set(tnd_float_t mode);

void tnd_float_mode_restore(tnd_float_mode_t before);

#endif
