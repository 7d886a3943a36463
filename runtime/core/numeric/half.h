/*  runtime/core/numeric/half.h - casts f32 from and to f16 and bf16, in the widest vectors.
 *
 *  numeric.h says what the casts give.  Each loop is written once and compiled for every set of
 *  instructions that is worth it; all give the same bits.
 *
 *  `in` and `out` do not overlap and are aligned to their elements.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_HALF_H
#define TND_RUNTIME_CORE_NUMERIC_HALF_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    void (*f16_from_f32)(size_t count, uint16_t *out, const float *in);
    void (*bf16_from_f32)(size_t count, uint16_t *out, const float *in);
    void (*f32_from_f16)(size_t count, float *out, const uint16_t *in);
    void (*f32_from_bf16)(size_t count, float *out, const uint16_t *in);
} tnd_half_t;

/*  All paths, of which this machine can run the first tnd_vector_paths() (vector_paths.h). */
const tnd_half_t *const *tnd_half_paths(void);

/*  The last of those, the fastest. */
const tnd_half_t *tnd_half(void);

/*  Casts of one number. */
uint16_t tnd_f16_from_f32(float value);
float tnd_f32_from_f16(uint16_t bits);
uint16_t tnd_bf16_from_f32(float value);
float tnd_f32_from_bf16(uint16_t bits);

#endif
