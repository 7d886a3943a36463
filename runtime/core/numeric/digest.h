/*  runtime/core/numeric/digest.h - one number that identifies a whole stream of rows.
 *
 *  The digest of a stream is the sum mod 2^128 of a hash of (rank, bytes) over its rows, where the
 *  rank counts rows over the run from 0.  So it depends only on the rows and their order, not on
 *  blocks, threads or the order of hashing; parts that different hosts hashed are added.
 *
 *  The hash of a row chains its columns in the order of the schema.  Each link is XXH3-128 of a
 *  column's bytes; its seed is the rank for the first column and the low 64 bits of the previous
 *  hash for the others.  The last hash is the hash of the row.  A ragged column is two links of the
 *  chain: its length in bytes as a little-endian u64, then its bytes.  Padding is never hashed.
 *
 *  Threads: any; a digest belongs to one thread at a time. */
#ifndef TND_RUNTIME_CORE_NUMERIC_DIGEST_H
#define TND_RUNTIME_CORE_NUMERIC_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  The digest of no rows is {0, 0}. */
typedef struct {
    uint64_t low;
    uint64_t high;
} tnd_digest_t;

/*  One column of one row.  `data` may be NULL where `bytes` is 0. */
typedef struct {
    const void *data;
    size_t bytes;
    bool ragged;
} tnd_digest_column_t;

/*  One fixed-size column of many rows: row i is at data + i * stride. */
typedef struct {
    const void *data;
    size_t stride;
    size_t bytes;
} tnd_digest_stripe_t;

/*  The characters of a digest as text, with the terminating zero. */
#define TND_DIGEST_TEXT_SIZE 33

/*  Adds the row with that rank.  count > 0: a row has at least one column. */
void tnd_digest_row(tnd_digest_t *self, uint64_t rank, const tnd_digest_column_t *columns,
                    size_t count);

/*  Adds rows of fixed-size columns only, at ranks first_rank, first_rank + 1, ... */
void tnd_digest_rows(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                     const tnd_digest_stripe_t *columns, size_t count);

/*  All implementations of tnd_digest_rows, of which this machine can run the first
 *  tnd_vector_paths() (vector_paths.h); for tests. */
typedef void tnd_digest_rows_fn(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                                const tnd_digest_stripe_t *columns, size_t count);
tnd_digest_rows_fn *const *tnd_digest_paths(void);

/*  Adds the digest of other rows of the stream. */
void tnd_digest_add(tnd_digest_t *self, const tnd_digest_t *other);

bool tnd_digest_equal(const tnd_digest_t *a, const tnd_digest_t *b);

/*  Whether it is that of no row, as it stays with `digest: false`. */
bool tnd_digest_is_empty(const tnd_digest_t *self);

/*  Writes 32 hexadecimal digits, most significant first, lower case. */
void tnd_digest_print(const tnd_digest_t *self, char text[TND_DIGEST_TEXT_SIZE]);

/*  Reads exactly 32 hexadecimal digits of either case.  Returns false, and leaves *self unchanged,
 *  if `text` is anything else. */
bool tnd_digest_parse(tnd_digest_t *self, const char *text);

#endif
