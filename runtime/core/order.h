/*  runtime/core/order.h - the order of one lane: tickets out, blocks in, rows released in order.
 *
 *  The order plans its lane: it walks the positions from its cursor on, cuts them into tickets and
 *  spreads those over the lane's readers.  A ticket is issued only when the largest block it may
 *  bring is reserved in the window; the reservation shrinks to the true size on receipt and ends
 *  when the rows are taken.  Lost tickets are issued again with the next attempt, keeping their
 *  reservation.  It alone owns retries, duplicates and the floor.
 *
 *  What was lost while a worker worked on it (BEGIN) may be what ended the worker.  Such a ticket
 *  is cut into pieces, again and again, until each row is alone.  One that has ended four workers,
 *  with others and by itself, is bad.  A loss alone blames nobody: connections end, and who is
 *  silent may be stopped or slow.  Only when another takes the worker's place, which says that it
 *  was born apart, has the worker ended; what it had begun last is charged then, if nobody has made
 *  it meanwhile.  So a row that kills costs five workers, the first unseen, and no other row is
 *  blamed: a worker says BEGIN of one block at a time, and of tickets that are charged one at a
 *  time is under way, for workers of one process end together.
 *
 *  With `overdue_ns` a ticket that is still open after that time and after three times what 99 of a
 *  hundred take is issued once more, as its next attempt, while the first is under way: the reader
 *  gives it to another worker.  The same where a later ticket was answered so long ago, for that is
 *  usual of few: tickets are worked on in their order, and what one waits for its turn says nothing
 *  about who works on it.  The first answer wins, the other is a duplicate; the reservation is the
 *  same.  How long tickets take, and are passed by, is learnt from the answers that win.
 *
 *  New tickets go out in runs of about a quarter of the window, or at once when none is open and
 * rows are wanted, so that a reader is woken for many blocks rather than for each.
 *
 *  At most two epochs are under way, the one being composed and the next: a short lane cannot run
 *  away from the others.  A source of unknown length ends its epoch by a block with `end`; tickets
 *  beyond it are void.  With `span_epochs` the epochs of a lane follow one another as a single one,
 *  which is called 0 below; positions keep their own.
 *
 *  Bookings are functions of the stream: a position without rows is booked with the next row that
 *  is taken in its epoch, or when the epoch is closed.
 *
 *  The driver asks for effects after every event; at most a handful of events may pass without.
 *
 *  Part of a join (join.h); a noun of its own so that it can be tested alone.
 */
#ifndef TND_RUNTIME_CORE_ORDER_H
#define TND_RUNTIME_CORE_ORDER_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t lane;
    const tnd_actor_id_t *readers; /* of this lane; kept by the caller */
    uint32_t reader_count;
    uint32_t workers_max;   /* that say BEGIN */
    uint32_t epochs;        /* TND_ENDLESS: for ever */
    uint64_t count;         /* positions of an epoch; TND_UNKNOWN */
    uint32_t block_rows;    /* positions a ticket; adapted downwards by time, see block_ns */
    uint64_t block_ns;      /* a block should not take longer in its slowest stage; 0: any */
    uint64_t row_bytes_max; /* of one position after all operations: rows x expansion */
    uint64_t window_bytes;  /* reservations and held blocks together; never less than rows_wanted
                               positions and two blocks take */
    uint32_t
        window_blocks;    /* tickets not joined yet; joined blocks too once rows_wanted rows wait */
    uint64_t rows_wanted; /* hold at least so many rows whatever the blocks; set by a join */
    bool span_epochs;
    uint64_t overdue_ns; /* no ticket is overdue before; 0: none ever is */
} tnd_order_config_t;

/*  Tickets that the pieces of others may be, beside the window. */
enum { TND_ORDER_SPARE = 256 };

typedef struct tnd_order tnd_order_t;

/*  Joined rows that wait at the head: part of one block. */
typedef struct {
    uint32_t epoch; /* with span_epochs 0 */
    uint32_t rows;  /* left in this block */
    uint32_t first; /* of them, within the block */
    void *payload;
} tnd_order_head_t;

size_t tnd_order_bytes(const tnd_order_config_t *config);
tnd_order_t *tnd_order_init(void *memory, const tnd_order_config_t *config);

/*  From `from` on; everything held is dropped (as effects). */
void tnd_order_rewind(tnd_order_t *self, uint32_t generation, tnd_position_t from);
/*  Takes the payload in any case: it comes back as DROP when it is stale, a duplicate or refused.
 *  TND_FAILED: a second attempt brought other rows than the first, which still waits here (an
 *  operation is not deterministic), or the block breaks its ticket.
 */
tnd_status_t tnd_order_block(tnd_order_t *self, const tnd_msg_t *msg, tnd_error_t *error);
/*  A connection of a worker has begun.  Of another birth than the one before: that one has ended.
 */
void tnd_order_worker_up(tnd_order_t *self, tnd_actor_id_t worker, tnd_life_t birth);
/*  The worker `msg->from`, which is up, is about to work on that ticket, which was lost before. */
void tnd_order_begin(tnd_order_t *self, const tnd_msg_t *msg);
/*  What the worker that said that BEGIN or BLOCK is to hear; false: nothing. */
bool tnd_order_go(const tnd_order_t *self, const tnd_msg_t *heard, tnd_msg_t *go);
/*  A reader lost that ticket. */
void tnd_order_lost(tnd_order_t *self, const tnd_msg_t *msg);

/*  Rows joined in `epoch`, the one not closed yet or the next, since the rewind, and whether there
 *  will be no more.
 */
uint64_t tnd_order_joined(const tnd_order_t *self, uint32_t epoch, bool *ended_p);
/*  Joined rows that nobody took, of all epochs. */
uint64_t tnd_order_ready(const tnd_order_t *self);
/*  The first rows in order that nobody took, or false. */
bool tnd_order_head(const tnd_order_t *self, tnd_order_head_t *head);
/*  Takes `rows` of that head; books them in `ledger`. */
void tnd_order_take(tnd_order_t *self, uint32_t rows, tnd_ledger_t *ledger);
/*  Drops `rows` of the head by `remainder: drop`; books them. */
void tnd_order_discard(tnd_order_t *self, uint32_t rows, tnd_ledger_t *ledger);
/*  The epoch has ended and all its rows were taken: books the positions behind the last of them.
 *  The next epoch is the one being composed now, and the lane may go on into the one after it.
 */
void tnd_order_close(tnd_order_t *self, uint32_t epoch, tnd_ledger_t *ledger);
/*  Nothing more of the epoch is wanted, though it may have rows: drops them unread by the ledger,
 * and what is still under way when it comes.  Then as after tnd_order_close.
 */
void tnd_order_abandon(tnd_order_t *self, uint32_t epoch);
/*  Where the next row to take stands: the lane's part of a cursor. */
tnd_position_t tnd_order_position(const tnd_order_t *self);

/*  TICKET by control, BAD (to the first reader of the lane) of a row that ends workers, DROP. */
bool tnd_order_next(tnd_order_t *self, uint64_t now, tnd_effect_t *effect);
/*  When the first ticket may be overdue. */
uint64_t tnd_order_deadline(const tnd_order_t *self);
/*  Tickets that were overdue and issued once more; answers that were dropped, late or double. */
uint64_t tnd_order_doubled(const tnd_order_t *self);
uint64_t tnd_order_stale(const tnd_order_t *self);
uint32_t tnd_order_blocked_on(const tnd_order_t *self);
/*  Bytes reserved or held: never above tnd_order_window_bytes while a block takes at most
 *  row_bytes_max a row.  Blocks: never above window_blocks + rows_wanted + TND_ORDER_SPARE.
 */
uint64_t tnd_order_used_bytes(const tnd_order_t *self);
uint64_t tnd_order_window_bytes(const tnd_order_t *self);
uint32_t tnd_order_used_blocks(const tnd_order_t *self);

#endif
