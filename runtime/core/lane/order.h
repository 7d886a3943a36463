/*  runtime/core/lane/order.h - the order of one lane: issues tickets, accepts blocks, joins them in
 *  order.
 *
 *  The order walks the positions of its lane from its cursor on, cuts them into tickets and
 *  distributes the tickets over the lane's readers.  It alone decides about retries, duplicates and
 *  the floor.
 *
 *  * Memory.  A ticket is issued only when the largest block that may answer it is reserved
 *    (reservations.h).  A lost ticket is issued again as its next attempt and keeps its
 *    reservation.
 *  * Rows of different sizes.  A ticket has a budget of bytes for ragged columns (row_bytes.h).  A
 *    block that reaches it covers fewer positions; the rest is a lost ticket without a reservation.
 *    A position that is larger than the budget is answered by its size.  It is issued alone, with
 *    that budget, when it is the floor, so a lane has one such reservation at a time.
 *  * The floor.  Rows that a batch waits for and the floor's ticket always fit the window: as long
 *    as rows have different sizes, no other ticket may take the bytes that these may need.
 *  * Rows that kill workers are isolated and reported as bad (suspects.h).
 *  * Overdue tickets are issued once more while the first attempt is under way (stragglers.h): the
 *    reader gives the new attempt to another worker.  The first answer wins, the other one is a
 *    duplicate.
 *  * New tickets are issued in runs of about a quarter of the window, or at once when none is open
 *    and rows are wanted, so that a reader is woken for many blocks and not for each.
 *  * At most two epochs are under way, the one being composed and the next: a short lane cannot run
 *    away from the others.  A source of unknown length ends its epoch by a block with `end`;
 *    tickets beyond it are void.
 *  * Joined rows wait in joined_rows.h until the batcher takes them and books them.
 *
 *  The driver asks for effects after every event; only a few events may pass without.
 *
 *  Threads: one.  Errors: a block that breaks its ticket, or a second attempt with other rows. */
#ifndef TND_RUNTIME_CORE_LANE_ORDER_H
#define TND_RUNTIME_CORE_LANE_ORDER_H

#include "runtime/core/lane/joined_rows.h"
#include "runtime/core/lane/row_bytes.h"
#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t lane;
    const tnd_actor_id_t *readers; /* of this lane; the caller keeps them alive */
    uint32_t reader_count;
    uint32_t workers_max;   /* workers that report BEGIN */
    uint32_t epochs;        /* TND_ENDLESS: without end */
    uint64_t count;         /* positions of an epoch; TND_UNKNOWN */
    uint32_t block_rows;    /* positions of a ticket at most (ticket_size.h) */
    uint32_t first_rows;    /* of the first tickets; 0: block_rows */
    uint64_t block_ns;      /* a block should not take longer in its slowest stage; 0: no limit */
    tnd_row_bytes_t bytes;  /* of the rows of a ticket while it is under way */
    uint64_t made_max;      /* bytes of one position after all operations */
    uint64_t wanted_bytes;  /* of rows_wanted positions, likewise; 0: of the largest */
    uint64_t window_bytes;  /* reservations and held blocks together; at least what rows_wanted
                               positions and two blocks take */
    uint32_t window_blocks; /* tickets not joined yet; and joined blocks once rows_wanted rows wait
                             */
    uint64_t rows_wanted;   /* hold at least this many rows whatever the blocks; set by a batcher */
    uint32_t measured;      /* the column whose lengths blocks carry, plus 1; 0: none */
    bool span_epochs;       /* the epochs of the lane follow one another as a single one */
    uint64_t overdue_ns;    /* no ticket is overdue earlier; 0: none ever is */
} tnd_order_config_t;

/*  Tickets beside the window, for what remains of short answers and for the pieces of tickets that
 *  were cut. */
enum { TND_ORDER_SPARE = 256 };

typedef struct tnd_order tnd_order_t;

size_t tnd_order_bytes(const tnd_order_config_t *config);
tnd_order_t *tnd_order_init(void *memory, const tnd_order_config_t *config);

/*  Continues from `from`; everything held is dropped (as effects). */
void tnd_order_rewind(tnd_order_t *self, uint32_t generation, tnd_position_t from);
/*  Takes the payload in any case: it comes back as DROP when it is stale, a duplicate or refused.
 */
tnd_status_t tnd_order_block(tnd_order_t *self, const tnd_msg_t *msg, tnd_error_t *error);
/*  A connection of a worker begins.  Another birth than before means that the worker died. */
void tnd_order_worker_up(tnd_order_t *self, tnd_actor_id_t worker, tnd_life_t birth);
/*  The worker `msg->from`, which is up, is about to work on that ticket, which was lost before. */
void tnd_order_begin(tnd_order_t *self, const tnd_msg_t *msg);
/*  A cache reports that a worker before it died with that ticket, which it had begun. */
void tnd_order_died(tnd_order_t *self, const tnd_msg_t *msg);
/*  The answer to a worker's BEGIN or BLOCK; returns false if there is none. */
bool tnd_order_go(const tnd_order_t *self, const tnd_msg_t *heard, tnd_msg_t *go);
/*  A reader lost that ticket. */
void tnd_order_lost(tnd_order_t *self, const tnd_msg_t *msg);

/*  The rows that wait: the caller takes and discards them, and changes nothing else. */
tnd_joined_rows_t *tnd_order_rows(tnd_order_t *self);
/*  Rows joined in `epoch`, the one not closed yet or the next, since the rewind, and whether the
 *  epoch has no more. */
uint64_t tnd_order_joined(const tnd_order_t *self, uint32_t epoch, bool *ended_p);
/*  The epoch has ended and all its rows are taken: books the positions after the last of them.  The
 *  next epoch is composed now, and the lane may continue into the one after it. */
void tnd_order_close(tnd_order_t *self, uint32_t epoch, tnd_ledger_t *ledger);
/*  Nothing more of the epoch is wanted, though it may have rows: drops them without booking, and
 *  what is still under way when it arrives.  Then as after tnd_order_close. */
void tnd_order_abandon(tnd_order_t *self, uint32_t epoch);

/*  TICKET (control), BAD (control, to the first reader of the lane) for a poison row, DROP. */
bool tnd_order_next(tnd_order_t *self, uint64_t now, tnd_effect_t *effect);
/*  When the first ticket may be overdue. */
uint64_t tnd_order_deadline(const tnd_order_t *self);
uint32_t tnd_order_blocked_on(const tnd_order_t *self);
/*  Overdue tickets that were issued once more; late or duplicate answers that were dropped. */
uint64_t tnd_order_doubled(const tnd_order_t *self);
uint64_t tnd_order_stale(const tnd_order_t *self);
/*  Whether more bytes are joined than wanted_bytes and a block that is partly taken. */
bool tnd_order_overflows(const tnd_order_t *self);
/*  Bytes reserved or held: never more than tnd_order_window_bytes unless it overflows.  Blocks: never more than window_blocks + rows_wanted + TND_ORDER_SPARE. */
uint64_t tnd_order_used_bytes(const tnd_order_t *self);
uint64_t tnd_order_window_bytes(const tnd_order_t *self);
uint32_t tnd_order_used_blocks(const tnd_order_t *self);

#endif
