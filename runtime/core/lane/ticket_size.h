/*  runtime/core/lane/ticket_size.h - how many positions a ticket asks for.
 *
 *  As many as usually keep the slowest stage busy for at most `block_ns` and fit the budget; or for
 *  four times what a block costs by itself, as a call of a function with a fixed cost does.  Both
 *  costs of a position are learned from the blocks that arrive.  The first tickets are small, and
 *  later ones at most four times as large as the largest block that has arrived.  A row above the budget counts as
 *  the budget, so that a single one is soon forgotten.
 *
 *  Threads: one.  A plain value. */
#ifndef TND_RUNTIME_CORE_LANE_TICKET_SIZE_H
#define TND_RUNTIME_CORE_LANE_TICKET_SIZE_H

#include "runtime/core/protocol/message_notes.h"

/*  The times of blocks, smoothed.  Zeroed: none is known. */
typedef struct {
    double rows, ns;      /* the means */
    double spread, slope; /* of the rows around their mean, and of the times with them */
    double block_ns;      /* of a block without rows */
    uint64_t blocks;      /* that were counted */
} tnd_ticket_times_t;

typedef struct {
    uint32_t rows_max, rows_now; /* at most; rows_now: by what has arrived, 0: rows_max */
    uint64_t block_ns, budget;   /* 0: no limit */
    uint64_t row_ns, row_ragged; /* smoothed, of a position: time; bytes of ragged columns */
    tnd_ticket_times_t times;
} tnd_ticket_size_t;

void tnd_ticket_size_learn(tnd_ticket_size_t *self, const tnd_block_note_t *block);
/*  From position `first` on.  Tickets of full size begin at multiples of it, so that blocks end where
 *  batches do. */
uint32_t tnd_ticket_size_rows(const tnd_ticket_size_t *self, uint64_t first);

#endif
