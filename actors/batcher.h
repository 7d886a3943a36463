/*  actors/batcher.h - what a topology can say about a batcher, and what it holds. */
#ifndef TND_ACTORS_BATCHER_H
#define TND_ACTORS_BATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/batcher.h"
#include "runtime/core/order/split.h"
#include "runtime/plan/placement.h"
#include "runtime/data/stream.h"

typedef struct {
    uint64_t size;
    uint64_t replicas;
    int split;     /* tnd_split_t */
    int remainder; /* tnd_remainder_t */
    bool span_epochs;
    uint64_t skip;
    uint64_t take;      /* UINT64_MAX: all */
    tnd_extent_t block; /* zero: chosen from the links and the rows */
    bool speculate;
} tnd_batcher_options_t;

/*  What a batcher lets its lane have under way: blocks, and all their rows and bytes with whole
 *  global batches beside them, for the other lanes may have ended.
 */
typedef struct {
    uint64_t blocks, block_rows;
    uint64_t row_bytes; /* of one position, as it is reserved */
    uint64_t held;      /* of one position in memory: with where its rows came from */
    uint64_t wanted;    /* positions that wait for a step */
    uint64_t rows, bytes;
    uint64_t open; /* positions of blocks that are not joined yet, those given to two included */
} tnd_batcher_window_t;

/*  Of the instance `batcher` of a plan; pure. */
tnd_batcher_window_t tnd_batcher_window(const tnd_plan_t *plan, uint32_t batcher,
                                        const tnd_stream_t *stream);
/*  Positions of the lane whose rows lie somewhere, from the reader until the feeders are done with
 *  them.
 */
uint64_t tnd_batcher_alive(const tnd_plan_t *plan, uint32_t batcher, const tnd_stream_t *stream);

#endif
