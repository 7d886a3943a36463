/*  runtime/core/batcher.h - a batcher's decisions: one lane's order, composed into steps.
 *
 *  A batcher's join puts its lane's blocks in order (lane/order.h).  It sends its watermark to the
 *  other joins unless the row counts are known in advance.  It computes which rows each step
 *  consists of (compose.h), cuts its own rows of the step into slices for the replicas (split.h)
 *  and sends them to the feeders that have a slot for that step.  With each step it sends the
 *  leader its part of the cursor.  It has no other state: a rewind rebuilds any join.
 *
 *  A step is a function of the stream, never of timing:
 *
 *  * A step is released once it is known whether another one follows in its epoch. The cursor of
 *    the last one is the start of the next epoch; everything after its rows is booked.
 *  * `remainder: drop` sends no short batch. Its rows are booked as dropped with the previous step,
 *    the last of the epoch. If an epoch has no step, its rows enter the ledger with the next step,
 *    or with LAST if none follows.
 *  * `remainder: pad` appends padding, then splits the batch.  The lane of the batch's first row
 *    counts the padding in its ledger.
 *  * last_of_run marks the last step of the last epoch. If that epoch has no step, none is marked.
 *  * With span_epochs the run is one epoch, number 0; step_of_epoch counts over the run.
 *  * The first `skip` batches of an epoch are composed, and their rows are booked as dropped; they
 *    are not steps. After `take` steps the epoch is over, and the rest of it is not read.
 *  * An endless run ends with the first epoch that has no step.
 *  * A cursor may count batches since its position; these are made once more after a rewind, and
 *    dropped without being booked again.
 *  * With `bucket` batches have rows of about one length (lane/bucketed_rows.h), instead of rows that
 *    follow one another.  A row that is too long for its buckets is reported as BAD with
 *    TND_BAD_SKIP, and left out.
 *  * With `pack` the rows of a batch are packed rows (lane/packed_rows.h), and so are those of which
 *    this header speaks, but for the ledger.
 *  * If the ragged columns of a batch are bounded (`batch_ragged`), the rows that wait are too.
 *  * A replica without rows gets an empty slice, from the lane that holds rank 0.
 *  * With TND_FEED_APART each lane feeds replicas of its own (stream/apart.h): lane l those of the l-th
 *    of `lanes` equal parts.  A lane that has ended sends them empty slices until all have.
 *  * With TND_FEED_PIECES each lane has all rows of the stream, and sends its own replicas every
 *    `lanes`-th piece of each batch.  Rows have the ranks that they have in the batch.  Lane 0 books
 *    all rows, the others none.
 *
 *  Where a holder of parameters deals steps (`deal_window`), each is sent whole to the replica that it
 *  names (parameters/deals.h), in place of feeders that have a slot for it.  Rows of a step that no
 *  replica gets are booked as fed: one has them, or a rewind follows.
 *
 *  If a feeder's connection is lost or replaced after slices of this generation were sent on it,
 *  the join sends BROKEN and the leader rewinds.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_BATCHER_H
#define TND_RUNTIME_CORE_BATCHER_H

#include "runtime/core/lane/batch_room.h"
#include "runtime/core/lane/bucketed_rows.h"
#include "runtime/core/lane/order.h"
#include "runtime/core/lane/packed_rows.h"
#include "runtime/core/stream/split.h"

typedef struct {
    tnd_order_config_t order; /* the batcher sets rows_wanted, wanted_bytes and span_epochs */
    uint32_t lanes;
    uint64_t size;         /* rows of a global batch */
    uint64_t made_ragged;  /* the part of ragged columns in order.made_max */
    uint64_t batch_ragged; /* bytes of ragged columns of a batch, at most; 0: of the largest rows */
    uint32_t replicas;
    const tnd_actor_id_t *feeders; /* by replica; the caller keeps them alive */
    uint32_t deal_window;          /* steps that the holder may have dealt; 0: batches are split */
    tnd_split_t split;
    tnd_lane_feed_t
        feed; /* not TOGETHER: `lanes` divides `replicas`, and rows follow one another */
    tnd_remainder_t remainder;
    bool span_epochs;
    uint64_t skip; /* batches at the start of each epoch that are not steps */
    uint64_t take; /* steps of an epoch; 0: all */
    /*  How rows are bucketed by the lengths that blocks carry, for one lane, without skip and
     *  span_epochs; `size` is then the largest batch. */
    tnd_bucket_rule_t bucket;
    /*  How rows are packed by the lengths that blocks carry, for one lane, without buckets. */
    tnd_pack_rule_t pack;
    /*  The lane's position in the cursor moves only every so many batches of an epoch, and the cursor
     *  counts those made since: as long as batches may leave rows for later ones.  0: after each, or
     *  as tnd_apart_period says; then `skip` is a multiple of it. */
    uint64_t cursor_every;
    /*  By lane: the rows of every epoch, if each position is one row for certain; the joins then
     *  send no watermarks.  NULL: not known. */
    const uint64_t *lane_rows;
} tnd_batcher_core_config_t;

typedef struct {
    uint64_t rows, bad;
} tnd_remade_t;

typedef struct tnd_batcher_core tnd_batcher_core_t;

size_t tnd_batcher_core_bytes(const tnd_batcher_core_config_t *config);
tnd_batcher_core_t *tnd_batcher_core_init(void *memory, const tnd_batcher_core_config_t *config);

/*  Whether a cursor from another process can be one of this stream; rewind relies on it. */
bool tnd_batcher_core_fits(const tnd_batcher_core_t *self, const tnd_cursor_t *cursor);
/*  `cuts`: epochs that programs have ended early so far; slices say it. */
void tnd_batcher_core_rewind(tnd_batcher_core_t *self, uint32_t generation,
                             const tnd_cursor_t *cursor, uint32_t cuts);
tnd_status_t tnd_batcher_core_block(tnd_batcher_core_t *self, const tnd_msg_t *msg,
                                    tnd_error_t *error);
void tnd_batcher_core_worker_up(tnd_batcher_core_t *self, tnd_actor_id_t worker, tnd_life_t birth);
/*  DIED of a cache. */
void tnd_batcher_core_died(tnd_batcher_core_t *self, const tnd_msg_t *msg);
void tnd_batcher_core_mark(tnd_batcher_core_t *self, const tnd_msg_t *msg);
/*  WINDOW of a feeder, cumulative over its connection. */
void tnd_batcher_core_window(tnd_batcher_core_t *self, const tnd_msg_t *msg);
/*  DEAL of the holder. */
void tnd_batcher_core_deal(tnd_batcher_core_t *self, const tnd_msg_t *msg);
/*  `birth`: of its life, not 0. */
void tnd_batcher_core_feeder_up(tnd_batcher_core_t *self, tnd_actor_id_t feeder, tnd_life_t birth);
void tnd_batcher_core_feeder_lost(tnd_batcher_core_t *self, tnd_actor_id_t feeder);

/*  The effects:
 *    TICKET, BAD         control, to a reader
 *    WINDOW              link, to a feeder
 *    SLICE               link, to a feeder, with pieces
 *    MARK                control, to TND_NOBODY: all other joins
 *    PART, LAST, BROKEN  control, to the leader
 *    DROP                releases a block
 *    STORE               copies a row to a batch of a bucket; before its block is released
 *  Every lane sends LAST once all steps are sent.  After BROKEN there are only tickets and drops
 *  until the rewind. */
bool tnd_batcher_core_next(tnd_batcher_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  Whether the rows that the batch of step *step_p waits for take more than `batch_ragged`.  Ask
 *  after the effects; there are no more of them then. */
bool tnd_batcher_core_too_large(const tnd_batcher_core_t *self, uint64_t *step_p);
uint32_t tnd_batcher_core_blocked_on(const tnd_batcher_core_t *self);
/*  Steps, this one included, for which every connected feeder has a slot. */
uint64_t tnd_batcher_core_slots(const tnd_batcher_core_t *self);
/*  What was read again since the rewind to make batches of buckets once more: rows, 0 until all are
 *  made; and bad rows that these left out, which were reported then. */
tnd_remade_t tnd_batcher_core_remade(const tnd_batcher_core_t *self);
/*  Whether the cursor of the last rewind is not of this stream, as its packed rows show; there are
 *  no more batches then. */
bool tnd_batcher_core_misplaced(const tnd_batcher_core_t *self);
/*  The lane's order: BEGIN and LOST go to it directly, and its deadline is the batcher's. */
tnd_order_t *tnd_batcher_core_order(const tnd_batcher_core_t *self);

/*  BEGIN (then tnd_order_go), LOST, DIED, MARK, WINDOW and DEAL; others are ignored. */
static inline void tnd_batcher_core_message(tnd_batcher_core_t *self, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_BEGIN)
        tnd_order_begin(tnd_batcher_core_order(self), msg);
    else if (msg->kind == TND_MSG_LOST)
        tnd_order_lost(tnd_batcher_core_order(self), msg);
    else if (msg->kind == TND_MSG_DIED)
        tnd_batcher_core_died(self, msg);
    else if (msg->kind == TND_MSG_MARK)
        tnd_batcher_core_mark(self, msg);
    else if (msg->kind == TND_MSG_WINDOW)
        tnd_batcher_core_window(self, msg);
    else if (msg->kind == TND_MSG_DEAL)
        tnd_batcher_core_deal(self, msg);
}

#endif
