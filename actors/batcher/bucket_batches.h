/*  actors/batcher/bucket_batches.h - the batches of buckets, from their first row until they are sent.
 *
 *  Rows are copied to the batch of their bucket when they arrive, so that a row which waits holds only
 *  its own bytes.  A batch is one block: its columns are packed, and ragged rows follow one another.
 *
 *  All batches come from one pool, so they take the same memory; what no row reaches is not touched.
 *
 *  Ownership: slices may outlive the batches that they are cut from.
 *  Threads: one. */
#ifndef TND_ACTORS_BATCHER_BUCKET_BATCHES_H
#define TND_ACTORS_BATCHER_BUCKET_BATCHES_H

#include "actors/plan/buckets.h"
#include "runtime/data/block.h"

typedef struct tnd_bucket_batches tnd_bucket_batches_t;

/*  The schema and the options must outlive it.  `pool` makes the blocks. */
tnd_bucket_batches_t *tnd_bucket_batches_new(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *schema, tnd_block_pool_t *pool);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_bucket_batches_destroy(tnd_bucket_batches_t **self_p);

/*  Errors: with `pad: bound`, a column of row `row` is too long for `bucket`. */
tnd_status_t tnd_bucket_batches_check(const tnd_bucket_batches_t *self, uint32_t bucket,
                                      const tnd_block_t *block, uint32_t row,
                                      tnd_error_t *error) TND_CHECKED;
/*  Copies row `row` of a block to row `at` of the batch in `place`, which belongs to `bucket` and has
 *  room for it; row 0 begins another batch.  Returns the bytes copied in *bytes_p.
 *  Errors: rows of a file that shrank. */
tnd_status_t tnd_bucket_batches_store(tnd_bucket_batches_t *self, uint32_t place, uint32_t bucket,
                                      uint32_t at, const tnd_block_t *block, uint32_t row,
                                      size_t *bytes_p, tnd_error_t *error) TND_CHECKED;
/*  The batch in `place`, with the rows that it has; sealed.  It stays the store's, until another one
 *  begins there. */
tnd_block_t *tnd_bucket_batches_block(tnd_bucket_batches_t *self, uint32_t place);

#endif
