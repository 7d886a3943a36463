/*  tests/sim/reference.h - what the stream of a plan must be, computed without blocks or time.
 *
 *  Shares no code with the core: the core is compared with it. */
#ifndef TND_TESTS_SIM_REFERENCE_H
#define TND_TESTS_SIM_REFERENCE_H

#include "tests/sim/plan.h"
#include "tests/sim/store.h"

typedef struct {
    uint64_t first; /* row of the stream */
    uint32_t rows, step_of_epoch, epoch;
    bool last_of_epoch;
    uint64_t digest[2]; /* of the stream up to and including this step */
    uint64_t padded, dropped;
    uint32_t offset[SIM_REPLICAS], count[SIM_REPLICAS]; /* rows of each replica, within the step */
    /* with buckets or packed rows: the cursor after it */
    tnd_ledger_t ledger;
    tnd_position_t held;
    uint64_t batches; /* since `held`; with packed rows: values of the document that continues */
} sim_step_t;

/*  What is before a position of an epoch of a lane. */
typedef struct {
    uint32_t rows, filtered, bad;
} sim_before_t;

/*  A row of a lane. */
typedef struct {
    uint64_t id;
    bool added;           /* it is not the first from its position */
    tnd_position_t after; /* of the lane */
    tnd_ledger_t gap;     /* positions without rows, since the row before it in its epoch */
} sim_row_t;

typedef struct {
    const sim_plan_t *plan;
    uint64_t *ids; /* of the stream */
    uint64_t rows;
    sim_step_t *steps;
    uint64_t step_count;
    uint64_t dropped_after;                   /* all rows dropped by `remainder: drop` and `skip` */
    tnd_ledger_t booked_after;                /* likewise: of the whole run */
    sim_row_t *lane_rows[SIM_LANES];          /* all of a lane, epochs one after another */
    tnd_ledger_t rest[SIM_LANES][SIM_EPOCHS]; /* positions after the last row of an epoch */
    /* rows of a lane that an epoch (with span_epochs the run) uses, where `take` ends it before all
     * are; else UINT64_MAX */
    uint64_t cut[SIM_LANES][SIM_EPOCHS];
    uint64_t *taken;                 /* step, lane: rows of the lane that are used up after it */
    sim_before_t *before[SIM_LANES]; /* position p of epoch e at [e * (count + 1) + p] */
} sim_reference_t;

void sim_reference_make(sim_reference_t *self, const sim_plan_t *plan, sim_store_t *store);

/*  What the lanes give to a batch, and what they have used up after it. */
typedef struct {
    uint64_t take[SIM_LANES], gone[SIM_LANES];
    uint64_t rows, dropped, padded;
} sim_taken_t;

/*  Batch `s` of an epoch in which lanes with replicas of their own have so many rows, of which `got` are
 *  used up; also the parts of `step`. */
void sim_apart_compose(const sim_plan_t *plan, uint64_t s, const uint64_t rows[SIM_LANES],
                       const uint64_t got[SIM_LANES], sim_taken_t *taken, sim_step_t *step);
/*  The steps of a plan with buckets; its lane's rows are made. */
void sim_buckets_make(sim_reference_t *self);
/*  Likewise, with packed rows, of so many documents; and how many packed rows these give at most. */
void sim_packing_make(sim_reference_t *self, uint64_t documents, sim_store_t *store);
uint64_t sim_packed_most(const sim_plan_t *plan, uint64_t documents);

/*  Cuts a step of its `rows` rows, of the `size` that were wanted, over all replicas. */
void sim_reference_cut(const sim_plan_t *plan, uint32_t size, sim_step_t *step);

/*  One row at its place in the stream, as it enters the digest. */
void sim_digest_add(uint64_t digest[2], uint64_t rank, uint64_t id);

/*  The model of a replica after `step` steps: a hash of all rows of its steps. */
uint64_t sim_reference_model(const sim_reference_t *self, uint64_t step, uint32_t replica);
static inline uint64_t sim_model_step(uint64_t model, uint64_t leaf)
{
    return sim_mix(model + leaf);
}

/*  The root of a reduction: all leaves, combined by halving. */
uint64_t sim_tree(const uint64_t *leaves, uint32_t first, uint32_t count);
uint64_t sim_tree_node(uint64_t left, uint64_t right);
/*  What a replica posts to reduction `slot` of a step with these rows. */
uint64_t sim_leaf(uint64_t step, uint32_t slot, uint32_t replica, const uint64_t *ids,
                  uint32_t count);

#endif
