/*  runtime/core/lane/joined_rows.h - the rows of a lane that are in order and not taken yet, and
 *  the account of what was taken.
 *
 *  Blocks are joined in the order of their positions.  A block without rows leaves only its counts,
 *  the gap before the next block.
 *
 *  The account is a function of the stream: a position without rows is booked with the next row
 *  that is taken in its epoch, or when the epoch is closed.
 *
 *  With `span_epochs` the epochs of a lane count as one, number 0; positions keep their own.
 *
 *  Threads: one.  The caller provides the memory of the ring. */
#ifndef TND_RUNTIME_CORE_LANE_JOINED_ROWS_H
#define TND_RUNTIME_CORE_LANE_JOINED_ROWS_H

#include "runtime/core/lane/reservations.h"
#include "runtime/core/lane/tickets.h"

/*  The next rows to take: a part of one block. */
typedef struct {
    uint32_t epoch; /* 0 with span_epochs */
    uint32_t rows;  /* left in this block */
    uint32_t first; /* of these rows, within the block */
    void *payload;
    const uint64_t *lengths; /* of these rows; NULL: they are not measured */
} tnd_joined_head_t;

typedef struct {
    uint64_t first, bytes;
    tnd_answer_t answer;
    uint64_t gap, gap_bad; /* positions without rows since the previous block */
    uint32_t epoch, attempt;
    uint32_t taken, bad_taken;
} tnd_joined_block_t;

/*  An epoch under way. */
typedef struct {
    uint32_t number;
    uint64_t rows;         /* joined since the rewind */
    uint64_t gap, gap_bad; /* positions without rows after the last block with rows */
} tnd_joined_epoch_t;

typedef struct {
    bool span_epochs;
    tnd_reservations_t *reservations;
    tnd_position_t position;      /* after the last row taken: the lane's part of a cursor */
    tnd_position_t booked;        /* after the last position booked */
    tnd_ledger_t pending;         /* booked after `position` */
    uint32_t skip;                /* rows of the first position that were taken before the rewind */
    tnd_joined_epoch_t epochs[2]; /* by number modulo 2 */
    uint64_t ready;               /* rows joined and not taken, of all epochs */
    uint64_t bytes;               /* of their blocks */
    tnd_joined_block_t *ring;
    uint64_t mask, head, tail;
} tnd_joined_rows_t;

static inline uint32_t tnd_joined_rows_epoch(const tnd_joined_rows_t *self, uint32_t epoch)
{
    return self->span_epochs ? 0 : epoch;
}

/*  Drops what is joined and continues from `from`. */
void tnd_joined_rows_rewind(tnd_joined_rows_t *self, tnd_position_t from);
/*  Appends the block that answered `ticket`. */
void tnd_joined_rows_add(tnd_joined_rows_t *self, const tnd_ticket_t *ticket);
/*  The joined block that starts at (epoch, first), or NULL if it has no rows left. */
const tnd_joined_block_t *tnd_joined_rows_find(const tnd_joined_rows_t *self, uint32_t epoch,
                                               uint64_t first);
/*  Whether the cursor points between two rows of position (epoch, first). */
bool tnd_joined_rows_splits(const tnd_joined_rows_t *self, uint32_t epoch, uint64_t first);

/*  Returns false if no rows are joined. */
bool tnd_joined_rows_head(const tnd_joined_rows_t *self, tnd_joined_head_t *head);
/*  Takes `rows` of the head and books them in `ledger` as fed. */
void tnd_joined_rows_take(tnd_joined_rows_t *self, uint32_t rows, tnd_ledger_t *ledger);
/*  Takes the next `rows`, of one or more blocks, and books them as dropped by a policy. */
void tnd_joined_rows_discard(tnd_joined_rows_t *self, uint64_t rows, tnd_ledger_t *ledger);

/*  Takes the first row of the head and books it in `ledger`, but not as fed or dropped. */
void tnd_joined_rows_move(tnd_joined_rows_t *self, tnd_ledger_t *ledger);

/*  The epoch ends and the cursor moves to `next`.  close: all rows are taken; books the positions
 *  after the last of them.  abandon: drops its joined rows without booking them. */
void tnd_joined_rows_close(tnd_joined_rows_t *self, uint32_t epoch, tnd_position_t next,
                           tnd_ledger_t *ledger);
void tnd_joined_rows_abandon(tnd_joined_rows_t *self, uint32_t epoch, tnd_position_t next);

#endif
