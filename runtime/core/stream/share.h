/*  runtime/core/stream/share.h - what a replica gets of a batch, and what a lane gives to it.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_STREAM_SHARE_H
#define TND_RUNTIME_CORE_STREAM_SHARE_H

#include "runtime/core/stream/split.h"

/*  A batch: as many rows as it has, of as many as were wanted, and the lane's rows within it. */
typedef struct {
    tnd_split_t split;
    bool pads; /* padding fills the batch after its rows; then it is cut as a full one */
    uint32_t replicas;
    uint64_t size, rows;
    uint64_t mine_first, mine_rows;
} tnd_share_batch_t;

typedef struct {
    uint64_t offset, total, padded; /* the whole replica; offset in the batch */
    uint64_t first, rows;           /* this lane's share */
    bool mine;                      /* this lane sends it a slice */
} tnd_share_t;

tnd_share_t tnd_share_of(const tnd_share_batch_t *batch, uint32_t replica);
/*  Where each of `lanes` lanes has all rows of the batch: its replicas r = 0, 1, ... get the pieces
 *  r * lanes + lane. */
tnd_share_t tnd_share_of_piece(const tnd_share_batch_t *batch, uint32_t lanes, uint32_t lane,
                               uint32_t replica);

#endif
