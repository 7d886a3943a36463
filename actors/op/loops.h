/*  actors/op/loops.h - the loops that operations spend their time in, for each width of vector.
 *
 *  Each is written once, plainly, and compiled for every set of instructions that pays: `plain` is
 *  what every machine of the architecture has (SSE2, NEON), `avx2` is twice as fast with floats.
 *  (AVX-512 was measured and is not faster: they wait for memory or for divisions.)  All do the
 *  same operations in the same order and give the same bits.
 *
 *  `in` and `out` never overlap, and are aligned to their elements.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_LOOPS_H
#define TND_ACTORS_OP_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool has_span;
    float span, low;
} tnd_fraction_t;

typedef struct {
    const char *name;
    /*  out = in / 255, rounded once; then, with a span, out * span + low, each step rounded. */
    void (*fraction)(const tnd_fraction_t *fraction, size_t count, float *out, const uint8_t *in);
    /*  out = (in - mean) / std, each step rounded, by one of both for each number, or for all. */
    void (*normalize_each_u8)(size_t count, float *out, const uint8_t *in, const float *mean,
                              const float *std);
    void (*normalize_each_f32)(size_t count, float *out, const float *in, const float *mean,
                               const float *std);
    void (*normalize_all_u8)(size_t count, float *out, const uint8_t *in, float mean, float std);
    void (*normalize_all_f32)(size_t count, float *out, const float *in, float mean, float std);
    /*  out = in < low ? low : in > high ? high : in: a NaN stays. */
    void (*clip_f32)(size_t count, float *out, const float *in, float low, float high);
    /*  The last one first. */
    void (*reverse_u8)(size_t count, uint8_t *out, const uint8_t *in);
} tnd_loops_t;

/*  The paths that this machine can run, slowest first; returns how many, at least 1. */
enum { TND_LOOPS_PATHS = 2 };
size_t tnd_loops_paths(const tnd_loops_t *paths[TND_LOOPS_PATHS]);

/*  The last of them. */
const tnd_loops_t *tnd_loops(void);

#endif
