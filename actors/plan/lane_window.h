/*  actors/plan/lane_window.h - how much of a lane is under way at the same time.
 *
 *  A batcher plans its lane in blocks.  What it lets be under way decides the memory that readers,
 *  preprocessors and the batcher itself need.
 *
 *  All functions are pure: they depend on the plan, the options and the schemas alone.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_LANE_WINDOW_H
#define TND_ACTORS_PLAN_LANE_WINDOW_H

#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  Blocks of a lane under way at most: enough to keep every stage busy. */
enum { TND_LANE_WINDOW_BLOCKS = 32 };

/*  The rows and bytes include whole global batches, because the other lanes may have ended.  What is
 *  held includes the lists of origins and lengths. */
typedef struct {
    uint64_t blocks, block_rows;
    uint64_t first_rows;   /* of the first blocks */
    tnd_row_bytes_t row;   /* of one position while it is under way */
    uint64_t held;         /* bytes of one position that waits for a step */
    uint64_t wanted;       /* positions that wait for a step */
    uint64_t wanted_bytes; /* of them */
    uint64_t rows, bytes, bytes_held;
    /*  Blocks that are not joined yet, speculative copies included: positions and bytes. */
    uint64_t open, open_held;
    uint64_t read_most, made_most; /* bytes of the largest block as read and as made */
} tnd_lane_window_t;

/*  The window of instance `batcher` of the plan. */
tnd_lane_window_t tnd_lane_window_of(const tnd_plan_t *plan, uint32_t batcher,
                                     const tnd_stream_t *stream);
/*  Positions of the lane in memory: from the reader until the feeders have released them. */
uint64_t tnd_lane_window_alive(const tnd_plan_t *plan, uint32_t batcher,
                               const tnd_stream_t *stream);
/*  Whether rows come straight from readers.  Then no actor touches the rows of a mapped file before
 *  the feeder does, and a block is a list of places. */
bool tnd_lane_window_straight(const tnd_plan_t *plan, uint32_t batcher);
/*  Sets the bytes of ragged columns in a block of the lanes of a batcher's chain, for
 *  tnd_kind_t.budget. */
void tnd_lane_window_budget(const tnd_plan_t *plan, const tnd_instance_t *batcher,
                            tnd_stream_t *stream);
/*  Whether feeders of the same process copy all rows of the lane, and no other actor reads or drops
 *  any. */
bool tnd_lane_window_feeders_only(const tnd_plan_t *plan, uint32_t batcher,
                                  const tnd_stream_t *stream);

#endif
