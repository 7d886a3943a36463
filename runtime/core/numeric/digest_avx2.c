/*  runtime/core/numeric/digest_avx2.c - the digest of many rows, with vectors of 32 bytes. */
#include "runtime/core/numeric/digest_internal.h"

void tnd_digest_rows_avx2(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                          const tnd_digest_stripe_t *columns, size_t count)
{
    tnd_digest_each(self, first_rank, rows, columns, count);
}
