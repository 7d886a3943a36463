/*  actors/reader/sample_order.h - which sample is at a position of a lane.
 *
 *  The order depends only on the stream, the shuffle and the epoch.
 *
 *  Ownership: the stream remains the caller's.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_READER_SAMPLE_ORDER_H
#define TND_ACTORS_READER_SAMPLE_ORDER_H

#include "actors/plan/kind_options.h"
#include "runtime/core/numeric/index_shuffle.h"
#include "runtime/core/numeric/permute.h"
#include "runtime/data/stream.h"

typedef struct {
    tnd_shuffle_t shuffle;
    const tnd_stream_t *stream;
    uint32_t lane;
    tnd_window_t window; /* zero if the number of rows is unknown */
    bool shuffled;       /* for `shuffled_epoch` */
    uint32_t shuffled_epoch;
    tnd_permute_t permutation;
    tnd_index_shuffle_t index_shuffle;
} tnd_sample_order_t;

void tnd_sample_order_init(tnd_sample_order_t *self, tnd_shuffle_t shuffle,
                           const tnd_stream_t *stream, uint32_t lane);
/*  Writes the source indices of the samples at positions [first, first + count) of the lane. */
void tnd_sample_order_fill(tnd_sample_order_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                           uint64_t *indices);

#endif
