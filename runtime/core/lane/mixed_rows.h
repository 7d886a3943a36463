/*  runtime/core/lane/mixed_rows.h - the rows of a cache's block, of which some positions are stored and
 *  others were made anew.
 *
 *  The block that was made has the rows of all positions that are not stored.  It may have those of
 *  stored ones, too: it was asked for when they were not stored yet.  These are passed over, so that
 *  each position has its rows once.
 *
 *  Threads: any.  A plain value. */
#ifndef TND_RUNTIME_CORE_LANE_MIXED_ROWS_H
#define TND_RUNTIME_CORE_LANE_MIXED_ROWS_H

#include "runtime/base/bug_injection.h"
#include "runtime/core/protocol/message_notes.h"

typedef struct {
    const tnd_block_note_t *made;
    uint32_t position, row; /* the next ones */
} tnd_mixed_rows_t;

/*  The rows of the block that enter of the next position, from *first_p on: how many.  `stored`: its
 *  rows come from the store. */
static inline uint32_t tnd_mixed_rows_next(tnd_mixed_rows_t *self, bool stored, uint32_t *first_p)
{
    const tnd_block_note_t *made = self->made;
    *first_p = self->row;
    while (self->row < made->rows &&
           (made->origin != NULL ? made->origin[self->row] : self->row) == self->position)
        self->row++;
    self->position++;
    return stored && !TND_BUG(STORED_AND_MADE) ? 0 : self->row - *first_p;
}

#endif
