/*  actors/cache/sample_store.h - the rows that were made of each sample, in memory.
 *
 *  A sample has any number of rows, also none.  Rows are stored one after the other in one piece of
 *  memory of a fixed size, and are never moved or removed.  Blocks refer to them where they are, so
 *  nothing is copied when they are used again.  Memory that no row needs yet is not touched.
 *
 *  Ownership: blocks may outlive the store.
 *  Threads: one; the rows of blocks are read by any. */
#ifndef TND_ACTORS_CACHE_SAMPLE_STORE_H
#define TND_ACTORS_CACHE_SAMPLE_STORE_H

#include "runtime/data/block.h"

typedef struct tnd_sample_store tnd_sample_store_t;

/*  For `samples` samples, numbered from 0, of at most `limit` bytes of rows. */
tnd_sample_store_t *tnd_sample_store_new(const tnd_schema_t *schema, uint64_t samples,
                                         uint64_t limit);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_sample_store_destroy(tnd_sample_store_t **self_p);
/*  Bytes of the list of `samples` samples, in addition to the limit. */
uint64_t tnd_sample_store_list_bytes(uint64_t samples);

bool tnd_sample_store_has(const tnd_sample_store_t *self, uint64_t sample);
/*  Stores rows [first, first + rows) of a block.  Returns false, and stores nothing, if they do not
 *  fit.  A sample that is stored remains as it is. */
bool tnd_sample_store_put(tnd_sample_store_t *self, uint64_t sample, const tnd_block_t *block,
                          uint32_t first, uint32_t rows);
/*  Bytes that are stored. */
uint64_t tnd_sample_store_bytes(const tnd_sample_store_t *self);

/*  How many of `count` samples, which are stored, have ragged rows of at most `budget` bytes in all;
 *  *ragged_p: their bytes, or those of the first if not even that one fits. */
uint32_t tnd_sample_store_fit(const tnd_sample_store_t *self, const uint64_t *samples,
                              uint32_t count, uint64_t budget, uint64_t *ragged_p);
/*  Fills an empty block with the rows of samples that are stored.  Sets rows and origin of its note;
 *  origin is NULL if each sample has one row. */
void tnd_sample_store_fill(tnd_sample_store_t *self, const uint64_t *samples, uint32_t count,
                           tnd_block_t *block);

#endif
