/*  tests/sim/plan.h - the plan of a seed: a graph, a cluster and how many faults.
 *
 *  The graph depends on the seed alone, the placement on (seed, session): the second session of a
 *  run that ended early continues the same stream on another cluster. */
#ifndef TND_TESTS_SIM_PLAN_H
#define TND_TESTS_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/batcher.h"
#include "runtime/core/leader.h"
#include "runtime/core/session/best.h"
#include "runtime/core/session/validation.h"
#include "tests/sim/random.h"

enum {
    SIM_HOSTS = 8,
    SIM_LANES = 8,
    SIM_EPOCHS = 3,
    SIM_REPLICAS = 6,
    SIM_REDUCTIONS = 4,
    SIM_BUCKETS = 6,
    SIM_BUCKET_ROWS = 400,
    SIM_ACTORS = 48,
    SIM_LINKS = 320,
    SIM_FAULTS = 24,
    SIM_KILLERS = 3,
    SIM_SESSIONS = 4 /* of one run, at most */
};

typedef struct {
    uint64_t seed;
    uint32_t session;
    /* the graph */
    uint32_t lanes, epochs, replicas, reductions;
    uint32_t size;
    tnd_split_t split;
    tnd_lane_feed_t feed; /* PIECES: all lanes have the rows of lane 0 */
    tnd_remainder_t remainder;
    bool span_epochs, operations;
    bool measured; /* blocks carry the lengths of their rows */
    /*  Rows are the same in every epoch, in another order, and each lane has a cache of so many
     *  samples: before the operations, or after them. */
    bool cached, cache_first;
    uint32_t cache_room;
    uint32_t cache_holes;  /* percent of the samples that do not fit, although later ones do */
    bool finishes;         /* programs end their loops */
    uint32_t skip, take;   /* batches of an epoch; take 0: all */
    bool rewinds;          /* programs end epochs after `take` steps, not the batchers */
    uint32_t cursor_every; /* batches between two positions of a cursor; 0: each has one */
    /*  Rows of one lane are bucketed by their lengths; bucket_count 0: they are not. */
    uint32_t bucket_count, bucket_window;
    uint64_t bucket_bounds[SIM_BUCKETS], bucket_sizes[SIM_BUCKETS];
    bool bucket_drop, bucket_bounded;
    uint64_t
        pack_length; /* rows of one lane are packed to rows of so many values; 0: they are not */
    bool pack_drop;
    uint32_t count[SIM_LANES]; /* positions of an epoch */
    uint32_t drop_percent, more_percent, more_most, bad_percent;
    bool empties;                  /* an operation drops all rows of the second epoch */
    uint32_t killers, killer_lane; /* rows in the first epoch that kill their worker */
    uint64_t killer_first;
    uint64_t steps_max;
    uint32_t preempted_host; /* its control thread has no processor for so long after a rewind */
    uint64_t preempted_ns;
    /* the cluster */
    uint32_t hosts, readers, workers, feeders; /* readers: per lane */
    bool known, eager_end; /* count is known; the last block of an epoch has `end` */
    uint32_t block_rows, window_blocks, queue_blocks, depth, unbooked_most;
    uint64_t block_ns, row_bytes, window_bytes, queue_bytes; /* row_bytes: of fixed columns */
    tnd_row_bytes_t bytes;
    uint64_t made_max, made_ragged;
    uint64_t batch_ragged; /* bytes of ragged columns of a batch, at most; 0: not stated */
    uint64_t usual_ragged, most_ragged; /* bytes of the ragged columns of a row */
    uint32_t large_rows;                /* of a thousand: up to most_ragged */
    uint32_t hasty_percent;             /* answers that are short without need */
    bool pads;                          /* operations make fixed columns of ragged ones */
    uint32_t feeder_first[SIM_REPLICAS], feeder_replicas[SIM_REPLICAS];
    uint64_t overdue_ns, rest_ns; /* 0: no ticket goes to a second worker */
    uint64_t queue_ns;
    uint64_t link_timeout_ns, dead_after_ns, latency_ns, jitter_ns, read_ns, apply_ns, step_ns;
    /*  Devices: how long a copy and the work of a step take (0: no time), whether steps are discarded,
     *  how many are held by a program, and the feeder whose device hangs from a step on. */
    uint64_t copy_ns, event_ns, hung_step;
    bool discards, hung_copies; /* hung_copies: not the work of the step, but its copy */
    uint32_t hold_percent, hung_feeder;
    tnd_member_t members[SIM_ACTORS];
    uint32_t member_count, first_join, first_worker, first_feeder, first_cache;
    uint32_t reducer; /* or the holder of the parameters */
    char names[SIM_ACTORS][16];
    /* events */
    uint32_t faults;
    bool drain, death;
    bool after;                  /* a second, equal chain follows */
    bool repeats;                /* it has the same actors: the first chain is fed again */
    tnd_validation_t validation; /* how often the chain rests while it is validated */
    bool best;                   /* the best validation is wanted: its checkpoint stays */
    tnd_best_t judge;            /* with how much patience; before any validation */
    bool parents;                /* each process has one, which replaces it if it stays stopped */
    bool ports;                  /* hosts listen at fixed ports, which change hands */
    bool opens;                  /* hosts with readers take time to open their data */
    uint32_t spare;              /* a host that the start does not wait for; UINT32_MAX */
    uint64_t open_ns[SIM_HOSTS], reopen_ns[SIM_HOSTS]; /* how long; in a later process */
    uint64_t report_ns, start_timeout_ns, hung_after_ns;
    uint32_t stalls; /* the host that stops reporting after so many reports; UINT32_MAX */
    uint64_t stalls_after;
    uint64_t keep, keep_steps, keep_ns; /* checkpoints; keep 0: none */
    uint32_t straggler;                 /* the worker that is slow all the time; UINT32_MAX */
    bool sleepy;                        /* workers fall asleep and are woken */
    uint32_t flapper, flaps;            /* the worker whose connections end so often */
    uint32_t
        rogue; /* the feeder whose replicas post another number of reductions in one step; UINT32_MAX */
    uint64_t rogue_step;
    /*  A holder of parameters deals whole batches to so many replicas; 0: batches are split, for
     *  `replicas`. */
    uint32_t dealt, deal_window;
    uint64_t staleness; /* TND_UNKNOWN: unbounded */
    bool arrival;       /* pushes are applied as they come */
    bool syncs;         /* programs have rounds of reductions without rows */
    uint32_t rogue_reductions;
} sim_plan_t;

void sim_plan_draw(sim_plan_t *self, uint64_t seed, uint32_t session);

/*  Whether every position makes one row for certain, so that joins know the rows of all lanes. */
bool sim_plan_is_exact(const sim_plan_t *self);
/*  How many rows come from a position: -1 if it is bad, 0 if an operation filtered it out. */
int32_t sim_plan_made(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index);

/*  Whether a position kills its worker. */
bool sim_plan_kills(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index);

/*  Names a row by its place; unique. */
static inline uint64_t sim_row_id(uint32_t lane, uint32_t epoch, uint64_t index, uint32_t sub)
{
    return (uint64_t)lane << 56 | (uint64_t)epoch << 48 | index << 8 | sub;
}

/*  The sample at a position: the position itself without a cache, and then of its epoch. */
uint64_t sim_plan_sample(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index);
/*  Names the row that is made there. */
uint64_t sim_plan_row(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index,
                      uint32_t sub);

/*  Bytes of the fixed columns of a row in memory: at most row_bytes. */
static inline uint64_t sim_row_bytes(const sim_plan_t *self, uint64_t id)
{
    return 1 + sim_mix(id ^ self->seed) % self->row_bytes;
}

/*  The length of a row in the column that is measured. */
static inline uint64_t sim_row_length(const sim_plan_t *self, uint64_t id)
{
    uint64_t drawn = sim_mix(id + self->seed);
    return self->pack_length > 0 && (drawn >> 32) % 8 == 0 ? 0 : drawn % 1000;
}

/*  Names a packed row with the names of its parts: it was `row`, and has `values` values of row `id`
 *  after that. */
static inline uint64_t sim_packed_id(uint64_t row, uint64_t id, uint64_t from, uint64_t values)
{
    return sim_hash(sim_hash(row, id), from << 32 | values);
}

/*  Whether the batcher copies rows when they come. */
static inline bool sim_plan_stores(const sim_plan_t *self)
{
    return self->bucket_count > 0 || self->pack_length > 0;
}

/*  Bytes of the ragged columns of a row, as an operation made it or as it was read. */
uint64_t sim_ragged_made(const sim_plan_t *self, uint64_t id);
uint64_t sim_ragged_read(const sim_plan_t *self, uint64_t id);

/*  The actors that commit steps: from this one to the one before *end_p. */
static inline uint32_t sim_plan_committers(const sim_plan_t *self, uint32_t *end_p)
{
    *end_p = self->dealt > 0 ? self->reducer + 1 : self->reducer;
    return self->dealt > 0 ? self->reducer : self->first_feeder;
}

/*  Whether a worker on `host` serves `lane`: one beside readers serves their lanes, others all. */
bool sim_plan_serves(const sim_plan_t *self, uint32_t host, uint32_t lane);

#endif
