/*  runtime/core/lane/watermarks.h - the rows that each lane has joined, as they tell each other.
 *
 *  With MARK a lane reports how many rows of an epoch it has joined and whether the epoch has more.
 *  Where each position is one row for certain, the lanes know this by arithmetic and send nothing.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_LANE_WATERMARKS_H
#define TND_RUNTIME_CORE_LANE_WATERMARKS_H

#include "runtime/core/lane/order.h"
#include "runtime/core/stream/apart.h"

typedef struct {
    uint64_t rows; /* joined in `epoch` since the cursor of this generation */
    uint32_t epoch;
    bool ended; /* the epoch has no more rows */
} tnd_watermark_t;

typedef struct {
    void *memory; /* tnd_watermarks_bytes, zeroed */
    const tnd_order_t *order;
    uint32_t lane, lanes;     /* the caller's own lane; all lanes */
    uint64_t size;            /* rows of a global batch */
    const tnd_apart_t *apart; /* lanes feed replicas of their own; NULL: they do not */
    bool known;               /* by arithmetic */
    uint32_t generation;
    uint32_t first_epoch;         /* of the cursor of this generation */
    tnd_watermark_t published[2]; /* of this lane: the current epoch and the next */
} tnd_watermarks_t;

size_t tnd_watermarks_bytes(uint32_t lanes);
/*  `memory` is set.  `lane_rows`: rows of every epoch by lane, or NULL if they are not known. */
void tnd_watermarks_init(tnd_watermarks_t *self, const tnd_order_t *order, uint32_t lane,
                         uint32_t lanes, uint64_t size, const uint64_t *lane_rows);
void tnd_watermarks_rewind(tnd_watermarks_t *self, uint32_t generation, const tnd_cursor_t *cursor);
/*  This lane composes the next epoch now. */
void tnd_watermarks_next_epoch(tnd_watermarks_t *self);

/*  MARK of another lane while this lane composes `epoch`.  It may overtake the rewind that it
 *  belongs to, and waits for it.  Returns false if it is ignored. */
bool tnd_watermarks_heard(tnd_watermarks_t *self, const tnd_msg_t *msg, uint32_t epoch);
/*  Whether that lane is rewound to a later generation already. */
bool tnd_watermarks_ahead(const tnd_watermarks_t *self, uint32_t lane);
tnd_watermark_t tnd_watermarks_of(const tnd_watermarks_t *self, uint32_t lane, uint32_t epoch);

/*  Whether the other lanes may need this lane's watermark of `epoch`, the current one (which == 0)
 *  or the next; then it counts as published.  This lane composes batch `batch` of that epoch and
 *  has `taken` rows of it.  `decided`: it composes no other batch of that epoch. */
bool tnd_watermarks_due(tnd_watermarks_t *self, uint32_t which, uint32_t epoch, uint64_t batch,
                        uint64_t taken, bool decided, tnd_watermark_t *mark);

#endif
