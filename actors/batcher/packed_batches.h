/*  actors/batcher/packed_batches.h - the batches of packed rows, from their first value until they are
 *  sent.
 *
 *  The values of a row are copied to their batch when it arrives, so that no block waits.  A batch is
 *  one block of columns of fixed shape; values that no row gives are 0.
 *
 *  All batches come from one pool, so they take the same memory.
 *
 *  Ownership: slices may outlive the batches that they are cut from.
 *  Threads: one. */
#ifndef TND_ACTORS_BATCHER_PACKED_BATCHES_H
#define TND_ACTORS_BATCHER_PACKED_BATCHES_H

#include "actors/plan/packing.h"
#include "runtime/data/block.h"

typedef struct tnd_packed_batches tnd_packed_batches_t;

/*  The options, `joined`, the schema of documents, and `packed`, that of packed rows, must outlive it.
 *  `pool` makes the blocks. */
tnd_packed_batches_t *tnd_packed_batches_new(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *joined, const tnd_schema_t *packed,
                                             tnd_block_pool_t *pool);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_packed_batches_destroy(tnd_packed_batches_t **self_p);

/*  Errors: a column of row `row` does not have as many values as `pack.column`. */
tnd_status_t tnd_packed_batches_check(const tnd_packed_batches_t *self, const tnd_block_t *block,
                                      uint32_t row, tnd_error_t *error) TND_CHECKED;

/*  Values [from, from + values) of a row; the first is of document `segment` of its packed row. */
typedef struct {
    uint32_t row, segment;
    uint64_t from, values;
} tnd_packed_part_t;

/*  Copies values of a row of a block to the batch in `place`, from value `at` on; value 0 begins another
 *  batch.  Returns the bytes written in *bytes_p.
 *  Errors: rows of a file that shrank. */
tnd_status_t tnd_packed_batches_store(tnd_packed_batches_t *self, uint32_t place, uint32_t at,
                                      const tnd_block_t *block, const tnd_packed_part_t *part,
                                      size_t *bytes_p, tnd_error_t *error) TND_CHECKED;
/*  The batch in `place`, with the rows that it has; sealed.  It stays the store's, until another one
 *  begins there. */
tnd_block_t *tnd_packed_batches_block(tnd_packed_batches_t *self, uint32_t place);

#endif
