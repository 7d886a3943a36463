/*  actors/op/loops.h - the loops that operations spend their time in, for each width of vector.
 *
 *  Each is written once, plainly, and compiled for every set of instructions that pays
 *  (runtime/core/numeric/vector_paths.h).  All do the same operations in the same order and give
 *  the same bits.
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

/*  All paths, of which this machine can run the first tnd_vector_paths() (vector_paths.h). */
const tnd_loops_t *const *tnd_loops_paths(void);

/*  The last of those, the fastest. */
const tnd_loops_t *tnd_loops(void);

#endif
