/*  runtime/core/numeric/digest_internal.h - the loop of the digest, compiled once for each width of
 *  vectors.
 *
 *  XXH3 chooses its vectors when it is compiled; its result does not depend on them.
 *
 *  Only digest.c and its variants include this file, because it includes all of xxhash.h. */
#ifndef TND_RUNTIME_CORE_NUMERIC_DIGEST_INTERNAL_H
#define TND_RUNTIME_CORE_NUMERIC_DIGEST_INTERNAL_H

#include "runtime/core/numeric/digest.h"

/*  Inlining halves the cost of short rows, because the compiler sees their lengths. */
#define XXH_INLINE_ALL
#include <xxhash.h>

void tnd_digest_rows_avx2(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                          const tnd_digest_stripe_t *columns, size_t count);

static inline void tnd_digest_put(tnd_digest_t *self, uint64_t low, uint64_t high)
{
    self->low += low;
    self->high += high + (self->low < low);
}

static inline void tnd_digest_each(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                                   const tnd_digest_stripe_t *columns, size_t count)
{
    for (size_t row = 0; row < rows; row++) {
        XXH128_hash_t hash = {first_rank + row, 0};
        for (size_t i = 0; i < count; i++)
            hash = XXH3_128bits_withSeed((const char *)columns[i].data + row * columns[i].stride,
                                         columns[i].bytes, hash.low64);
        tnd_digest_put(self, hash.low64, hash.high64);
    }
}

#endif
