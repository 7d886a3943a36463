/*  runtime/core/numeric/float_mode.h - how the processor treats floats on this thread.
 *
 *  STRICT is IEEE 754 as C means it: round to nearest, denormals kept.  FLUSH treats denormals as
 *  zeros and replaces results by zeros, which is faster for models with very small numbers.  Code
 *  that promises equal bits runs in STRICT, whatever mode its caller chose:
 *
 *      tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
 *      ...
 *      tnd_float_mode_restore(before);
 *
 *  Threads: any; a mode belongs to the thread that sets it. */
#ifndef TND_RUNTIME_CORE_NUMERIC_FLOAT_MODE_H
#define TND_RUNTIME_CORE_NUMERIC_FLOAT_MODE_H

#include <stdint.h>

typedef enum { TND_FLOAT_STRICT, TND_FLOAT_FLUSH } tnd_float_t;

/*  The content of the processor's control register. */
typedef struct {
    uint64_t bits;
} tnd_float_mode_t;

/*  Sets the mode and returns the previous one. */
tnd_float_mode_t tnd_float_mode_set(tnd_float_t mode);

void tnd_float_mode_restore(tnd_float_mode_t before);

#endif
