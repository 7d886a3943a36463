/*  actors/op/fraction.h - bytes as fractions of 255, the loop that pictures spend their time in.
 *
 *  out = x / 255, rounded once; then, with a span, out * span + low, each step rounded.  There is a
 *  path for each width of vector; all do the same operations and give the same bits.
 *
 *  Threads: any.
 */
#ifndef TND_ACTORS_OP_FRACTION_H
#define TND_ACTORS_OP_FRACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool has_span;
    float span, low;
} tnd_fraction_t;

typedef void tnd_fraction_fn(const tnd_fraction_t *self, size_t count, float *out,
                             const uint8_t *in);

/*  The paths that this machine can run, narrowest first; returns how many, at least 1. */
enum { TND_FRACTION_PATHS = 2 };
size_t tnd_fraction_paths(tnd_fraction_fn *paths[TND_FRACTION_PATHS]);

#endif
