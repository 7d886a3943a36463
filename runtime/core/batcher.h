/*  runtime/core/batcher.h - a batcher's decisions: one lane's order, composed into steps.
 *
 *  A join joins its lane (order.h), tells the other joins its watermark, unless the rows of all
 *  lanes are known by arithmetic, computes with them what
 *  each step is made of (compose.h), cuts its own rows of the step into slices for the replicas
 *  (split.h) and sends them to the feeders that have a slot for that step.  With each step it sends
 *  the leader its part of the cursor.  It has no other state: any join is rebuilt by a rewind.
 *
 *  What a step says is a function of the stream, never of timing:
 *  * A step is released once it is known whether another follows in its epoch.  The cursor of the
 *    last one is the start of the next epoch, with everything behind its rows booked.
 *  * `remainder: drop` sends no short batch; its rows are booked as dropped with the step before,
 *    the epoch's last.  What an epoch without steps read is booked with the next step, or with
 * LAST.
 *  * `remainder: pad` fills the batch behind its real rows and then cuts it; the lane that holds
 *    rank 0 books the padding.
 *  * last_of_run marks the last step of the last epoch.  If that epoch has no step, none is marked.
 *  * With span_epochs the run is one epoch, number 0; step_of_epoch counts over the run.
 *  * The first `skip` batches of an epoch are composed, and their rows dropped by name; they are no
 *    steps.  Behind `take` steps the epoch is over, and the rest of it is not read.
 *  * An endless run ends with the first epoch that has no step.
 *  * A replica without rows gets an empty slice, from the lane that holds rank 0.
 *
 *  A feeder's connection that is lost or replaced while slices of this generation went over it
 *  makes the join say BROKEN; the leader rewinds.
 */
#ifndef TND_RUNTIME_CORE_BATCHER_H
#define TND_RUNTIME_CORE_BATCHER_H

#include "runtime/core/order/compose.h"
#include "runtime/core/lane/order.h"
#include "runtime/core/order/split.h"

typedef enum { TND_REMAINDER_KEEP, TND_REMAINDER_DROP, TND_REMAINDER_PAD } tnd_remainder_t;

typedef struct {
    tnd_order_config_t order; /* rows_wanted and span_epochs are set by the join */
    uint32_t lanes;
    uint64_t size; /* rows of a global batch */
    uint32_t replicas;
    const tnd_actor_id_t *feeders; /* by replica: who feeds it; kept by the caller */
    tnd_split_t split;
    tnd_remainder_t remainder;
    bool span_epochs;
    uint64_t skip; /* batches that each epoch begins with and that are no steps */
    uint64_t take; /* steps of an epoch; 0: all */
    /*  By lane: the rows of every epoch, where each position is one row for certain.  Then the
     * joins know of each other what watermarks would tell, and send none.  NULL: it is not known.
     */
    const uint64_t *lane_rows;
} tnd_batcher_core_config_t;

typedef struct tnd_batcher_core tnd_batcher_core_t;

/*  Rows that wait for a step at most: its own, and those behind it that say whether it is the last.
 */
uint64_t tnd_batcher_core_rows_wanted(uint64_t size, tnd_remainder_t remainder);

size_t tnd_batcher_core_bytes(const tnd_batcher_core_config_t *config);
tnd_batcher_core_t *tnd_batcher_core_init(void *memory, const tnd_batcher_core_config_t *config);

/*  Whether a cursor that came from elsewhere can be one of this stream; rewind relies on it. */
bool tnd_batcher_core_fits(const tnd_batcher_core_t *self, const tnd_cursor_t *cursor);
void tnd_batcher_core_rewind(tnd_batcher_core_t *self, uint32_t generation,
                             const tnd_cursor_t *cursor);
tnd_status_t tnd_batcher_core_block(tnd_batcher_core_t *self, const tnd_msg_t *msg,
                                    tnd_error_t *error);
void tnd_batcher_core_worker_up(tnd_batcher_core_t *self, tnd_actor_id_t worker, tnd_life_t birth);
void tnd_batcher_core_mark(tnd_batcher_core_t *self, const tnd_msg_t *msg);
/*  WINDOW of a feeder, cumulative over its connection. */
void tnd_batcher_core_window(tnd_batcher_core_t *self, const tnd_msg_t *msg);
void tnd_batcher_core_feeder_up(tnd_batcher_core_t *self, tnd_actor_id_t feeder);
void tnd_batcher_core_feeder_lost(tnd_batcher_core_t *self, tnd_actor_id_t feeder);

/*  TICKET and BAD (control, to a reader), WINDOW (link, to a feeder: it asks for its window), MARK
 * (control, to TND_NOBODY: every other join), SLICE (link, with pieces), PART, LAST and BROKEN
 * (control, to the leader), DROP. LAST is sent by every lane once all steps went out.  After BROKEN
 * only tickets and drops until the rewind.
 */
bool tnd_batcher_core_next(tnd_batcher_core_t *self, uint64_t now, tnd_effect_t *effect);
uint32_t tnd_batcher_core_blocked_on(const tnd_batcher_core_t *self);
/*  Steps, this one included, that every connected feeder has a slot for. */
uint64_t tnd_batcher_core_slots(const tnd_batcher_core_t *self);
/*  The lane's order: BEGIN and LOST go to it directly, and its deadline is the batcher's. */
tnd_order_t *tnd_batcher_core_order(const tnd_batcher_core_t *self);

#endif
