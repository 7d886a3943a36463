/*  actors/cache/mixed_block.h - a block of rows that are stored and of rows that were made anew, in
 *  the order of their positions.
 *
 *  Nothing but lists is copied: the block refers to the rows of two others, which it holds.
 *
 *  Threads: one; the rows of blocks are read by any. */
#ifndef TND_ACTORS_CACHE_MIXED_BLOCK_H
#define TND_ACTORS_CACHE_MIXED_BLOCK_H

#include "runtime/data/block.h"

typedef struct {
    tnd_block_t *stored;  /* sealed, with the rows of all positions in `held`, and no others */
    tnd_block_t *made;    /* sealed, with those of the others (runtime/core/lane/mixed_rows.h) */
    const uint32_t *held; /* ascending positions, as origins in `made` */
    uint32_t held_count;
    uint64_t budget; /* bytes of ragged columns; 0: no limit */
} tnd_mixed_parts_t;

/*  A block, not sealed, of the first positions of `made`, as far as they fit the budget.  Its note is
 *  that of `made`, with these positions and rows.  *stored_p: rows that are stored.  `lists`: of
 *  buffers for its lists; NULL at first, and the caller destroys it. */
tnd_block_t *tnd_mixed_block(tnd_block_pool_t *blocks, tnd_pool_t **lists,
                             const tnd_mixed_parts_t *parts, uint64_t *stored_p);
/*  Bytes of the lists of so many rows. */
size_t tnd_mixed_block_lists(const tnd_schema_t *schema, uint64_t rows);

#endif
