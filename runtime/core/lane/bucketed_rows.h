/*  runtime/core/lane/bucketed_rows.h - the rows of a lane that wait in buckets for rows of their
 *  length.
 *
 *  Joined rows are put into buckets (stream/buckets.h) in their order.  The caller copies each to its
 *  batch at once: otherwise every row that waits could hold a block.
 *
 *  A cursor after a batch holds the start of the batch's window and how many batches were made of the
 *  window; after the last batch of a window, the start of the next one.
 *
 *  The account is a function of the stream: a row is booked with its batch.  A position without rows,
 *  a bad row and a row that is dropped are booked with the next batch that is completed, or when the
 *  epoch is closed.
 *
 *  Ownership: the caller provides the memory, and keeps the rule and the joined rows alive.
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_LANE_BUCKETED_ROWS_H
#define TND_RUNTIME_CORE_LANE_BUCKETED_ROWS_H

#include "runtime/core/lane/joined_rows.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/core/stream/buckets.h"
#include "runtime/core/stream/compose.h"

/*  A batch: its size if it were full, and the lane's part of the cursor after it. */
typedef struct {
    uint64_t size;
    tnd_position_t position;
    uint64_t batches;    /* made since `position` */
    tnd_ledger_t ledger; /* what is booked with the batch */
} tnd_bucketed_batch_t;

typedef struct tnd_bucketed_rows tnd_bucketed_rows_t;

size_t tnd_bucketed_rows_bytes(const tnd_bucket_rule_t *rule);
tnd_bucketed_rows_t *tnd_bucketed_rows_init(void *memory, const tnd_bucket_rule_t *rule,
                                            tnd_joined_rows_t *rows);
/*  Forgets all rows without booking them: before a rewind.  NULL is ignored, here and in
 *  tnd_bucketed_rows_close. */
void tnd_bucketed_rows_clear(tnd_bucketed_rows_t *self);

/*  Moves the next joined row of `epoch` to its bucket: makes `effect` a STORE of `piece`, which is
 *  performed before the block is released.  False: no row is joined, a bad one has to be reported, or
 *  enough batches are complete. */
bool tnd_bucketed_rows_store(tnd_bucketed_rows_t *self, uint32_t epoch, tnd_piece_t *piece,
                             tnd_effect_t *effect);
/*  The next batch once it is known, and whether another one follows; after all stores.  `ended`: no
 *  more rows of the epoch will be joined. */
tnd_compose_t tnd_bucketed_rows_compose(tnd_bucketed_rows_t *self, uint32_t epoch, bool ended,
                                        tnd_composition_t *composition);
/*  The batch that was composed. */
tnd_bucketed_batch_t tnd_bucketed_rows_batch(const tnd_bucketed_rows_t *self);
/*  Takes its next rows.  With the last one the batch is over. */
tnd_bucket_rows_t tnd_bucketed_rows_take(tnd_bucketed_rows_t *self, uint64_t rows);
/*  Rows that were put into buckets since the last clear. */
uint64_t tnd_bucketed_rows_stored(const tnd_bucketed_rows_t *self);
/*  Books what is left of the epoch; if it is cut, before the joined rows are abandoned, drops it. */
void tnd_bucketed_rows_close(tnd_bucketed_rows_t *self, bool cut, tnd_ledger_t *ledger);

/*  A bad row to be reported, once; there are no more batches before that.  False: none. */
bool tnd_bucketed_rows_bad(tnd_bucketed_rows_t *self, tnd_position_t *place_p);

#endif
