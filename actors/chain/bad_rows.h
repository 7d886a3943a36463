/*  actors/chain/bad_rows.h - the rows of one block that operations fail on.
 *
 *  Ownership: the memory is reused for each block, until tnd_bad_rows_free.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_CHAIN_BAD_ROWS_H
#define TND_ACTORS_CHAIN_BAD_ROWS_H

#include "runtime/data/block.h"

typedef struct {
    uint32_t *offsets; /* ascending: positions from the first of the block */
    char *why;         /* by offset: a string, as in tnd_block_note_t */
    uint32_t count;
    size_t room, why_used, why_room; /* bytes */
} tnd_bad_rows_t;

void tnd_bad_rows_clear(tnd_bad_rows_t *self);
void tnd_bad_rows_free(tnd_bad_rows_t *self);
/*  Adds a row after the others; a row that failed before is added once.  `where` begins with the
 *  digit of what is done about it, as in tnd_block_note_t; `what` is the error. */
void tnd_bad_rows_add(tnd_bad_rows_t *self, uint32_t offset, const char *where, const char *what);
/*  Adds these rows to the bad rows that the note lists, in order.  Returns the sealed buffer that
 *  the note's lists are in; the caller owns it.  Such blocks are rare, so it allocates. */
tnd_buffer_t *tnd_bad_rows_merge(const tnd_bad_rows_t *self, tnd_block_note_t *note);

#endif
