/*  runtime/core/stream/split.h - splits a global batch over replicas, and its quotas over lanes.
 *
 *  A global batch of `size` wanted rows has `rows` <= size rows: fewer only at the end of the
 *  stream or of an epoch.  Replica r gets rows [offset, offset + count) of the batch.  The parts of
 *  replicas 0, 1, ... follow one another without gaps; late ones may be empty.  The arithmetic is
 *  TensorFlow's, both kinds, with the names of its operations:
 *
 *  REBATCH_V2      The parts of a full batch differ by at most one row, the longer ones first; the
 *                  available rows fill them in order.  7 over 4 is 2 2 2 1; 3 rows of 7 are 2 1 0 0.
 *  REBATCH_LEGACY  The available rows are cut in pieces of ceil(rows / replicas), whatever was
 *                  wanted.  7 over 4 is 2 2 2 1; 3 rows of 7 are 1 1 1 0; 5 of 7 are 2 2 1 0.
 *
 *  Each function takes constant time.  Always rows <= size < 2^63, replicas > 0, replica <
 *  replicas, lanes > 0 and lane < lanes.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_STREAM_SPLIT_H
#define TND_RUNTIME_CORE_STREAM_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { TND_SPLIT_REBATCH_V2, TND_SPLIT_REBATCH_LEGACY } tnd_split_t;

/*  How lanes feed replicas. */
typedef enum {
    TND_FEED_TOGETHER, /* a batch has rows of all lanes, and is cut over all replicas */
    TND_FEED_APART,    /* each lane feeds replicas of its own: apart.h */
    TND_FEED_PIECES /* each lane has all rows; its replicas get every `lanes`-th piece of a batch */
} tnd_lane_feed_t;

/*  "rebatch_v2" or "rebatch_legacy". */
const char *tnd_split_name(tnd_split_t split);

/*  The first row of `replica` in the batch.  An empty part has an offset too, at most `rows`. */
uint64_t tnd_split_offset(tnd_split_t split, uint64_t size, uint64_t rows, uint32_t replicas,
                          uint32_t replica);

/*  How many rows `replica` gets; 0 is possible. */
uint64_t tnd_split_rows(tnd_split_t split, uint64_t size, uint64_t rows, uint32_t replicas,
                        uint32_t replica);

/*  How many rows `lane` gives to global batch number `step` while all lanes have rows left: the
 *  REBATCH_V2 parts of `size` over the lanes, rotated left by `step`, so that over `lanes` steps
 *  every lane gives the same number. */
uint64_t tnd_lane_quota(uint64_t size, uint32_t lanes, uint32_t lane, uint64_t step);

#endif
