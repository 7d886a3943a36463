/*  runtime/core/stream/apart.h - what a lane gives to replicas of its own.
 *
 *  A lane that feeds replicas of its own does what a worker of tf.distribute does.  Its rows are cut
 *  into batches of its own, of `size` rows, of which the last may be shorter, and each of them is
 *  divided into as many parts as there are replicas in all lanes.  Each replica of the lane takes one
 *  part in a step, so a batch of the lane lasts for as many steps as there are lanes:
 *
 *  REBATCH_V2      The parts are those of a full batch, and lane l begins with that of its first
 *                  replica: they are rotated.  The rows that the batch has fill them in order.
 *  REBATCH_LEGACY  The parts are those of the rows that the batch has, in the same order in all
 *                  lanes.
 *
 *  With REBATCH_V2 all lanes together give `size` rows to a step until the first of them ends.
 *
 *  Batches are counted from the start of an epoch.  Always 0 < size < 2^63, `lanes` divides
 *  `replicas`, and every part of a full batch has a row.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_STREAM_APART_H
#define TND_RUNTIME_CORE_STREAM_APART_H

#include "runtime/core/stream/compose.h"
#include "runtime/core/stream/split.h"

typedef struct {
    tnd_split_t split;
    bool pads;  /* padding fills each part; they are cut as those of a full batch */
    bool drops; /* a batch of a lane that is not full is dropped */
    uint64_t size;
    uint32_t lanes, replicas;
} tnd_apart_t;

/*  What a lane gives to one step. */
typedef struct {
    uint64_t take; /* rows */
    uint64_t gone; /* with those that are dropped after them, because the lane ends */
    uint64_t cut;  /* rows of the lane's batch by which it is divided into parts */
} tnd_apart_take_t;

/*  Whether a full batch has a row for every replica. */
bool tnd_apart_possible(const tnd_apart_t *self);
/*  Whether a lane must have a whole batch of its own before it can give any of it. */
bool tnd_apart_whole(const tnd_apart_t *self);
/*  Steps after which the position of a lane is again between two batches of its own, where the parts
 *  of later steps depend on what earlier ones took; else 0. */
uint64_t tnd_apart_period(const tnd_apart_t *self);
/*  How many rows `lane` gives to global batch `batch` while it has enough of them. */
uint64_t tnd_apart_quota(const tnd_apart_t *self, uint32_t lane, uint64_t batch);
/*  What `lane` gives to it.  `taken`: rows that it has given, and dropped, since a multiple of
 *  tnd_apart_period batches.  False: it is not known yet. */
bool tnd_apart_take(const tnd_apart_t *self, uint32_t lane, uint64_t batch, uint64_t taken,
                    tnd_left_t left, tnd_apart_take_t *take);
/*  The rows of a take that go to the lane's replica number `which`: the first, and how many; then its
 *  padding. */
typedef struct {
    uint64_t first, rows, padded;
} tnd_apart_part_t;

tnd_apart_part_t tnd_apart_part(const tnd_apart_t *self, uint32_t lane, uint64_t batch,
                                const tnd_apart_take_t *take, uint32_t which);

/*  Batch `batch` of an epoch over all lanes: as tnd_compose, `takes` by lane; `taken` as above. */
tnd_compose_t tnd_compose_apart(const tnd_apart_t *self, uint64_t batch, const uint64_t *taken,
                                const tnd_left_t *left, tnd_apart_take_t *takes,
                                tnd_composition_t *composition);
/*  Steps to which `lane` gives rows in an epoch of `rows` rows of it. */
uint64_t tnd_apart_steps(const tnd_apart_t *self, uint32_t lane, uint64_t rows);

#endif
