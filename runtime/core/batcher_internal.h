/*  runtime/core/batcher_internal.h - the state of a batcher's machine, shared by its files.
 *
 *  batcher.c answers events and sends the slices of a step, batcher_compose.c decides which rows it
 *  has, and where an epoch ends. */
#ifndef TND_RUNTIME_CORE_BATCHER_INTERNAL_H
#define TND_RUNTIME_CORE_BATCHER_INTERNAL_H

#include "runtime/core/batcher.h"
#include "runtime/core/lane/feeder_windows.h"
#include "runtime/core/lane/watermarks.h"
#include "runtime/core/parameters/deals.h"
#include "runtime/core/stream/apart.h"

typedef enum {
    COMPOSING, /* the next step is not decided yet */
    COMPOSED,  /* decided; feeders lack a slot for it */
    SLICING,   /* its slices are being sent */
    ENDED,     /* all steps are sent, LAST is not */
    OVER
} phase_t;

struct tnd_batcher_core {
    tnd_batcher_core_config_t config;
    tnd_order_t *order;
    tnd_joined_rows_t *rows;       /* of the order */
    tnd_bucketed_rows_t *bucketed; /* NULL: rows are not bucketed */
    tnd_packed_rows_t *packed;     /* NULL: rows are not packed */
    tnd_apart_t apart;             /* where lanes feed replicas of their own */
    uint32_t generation, cuts;
    bool started, broken, broken_said;
    bool too_large; /* the rows that the next batch waits for take too many bytes */
    bool changed;   /* since the last attempt to compose */
    phase_t phase;

    uint32_t epoch; /* of the stream: 0 with span_epochs */
    uint64_t step, step_of_epoch, rank;
    uint64_t skipped;    /* batches of the epoch that were not steps */
    uint64_t remake;     /* batches before `step` that are made once more */
    tnd_remade_t remade; /* what they took */
    tnd_position_t held; /* the lane's position in cursors, if it does not move after each batch */

    /*  The step under way. */
    tnd_composition_t composition;
    uint64_t size;                  /* of the batch if it is full */
    tnd_bucketed_batch_t of_bucket; /* it, if rows are bucketed */
    struct {
        uint64_t first, rows; /* within the batch */
        uint64_t dropped;     /* after the step's, not sent */
        uint64_t passed;      /* of `rows`, those that slices have or that were passed over */
    } mine;                   /* this lane's rows */
    bool cut;                 /* it is the last by `take`, with rows after it */
    uint32_t replica;         /* next to get a slice */
    tnd_position_t before;
    tnd_ledger_t ledger;

    tnd_watermarks_t watermarks;
    uint64_t *taken, *take;
    tnd_apart_take_t *takes; /* where lanes are apart */
    tnd_left_t *left;
    tnd_feeder_windows_t feeders;
    tnd_deals_t deals; /* where a holder deals steps ... */
    uint32_t dealt_to; /* ... the replica that gets the step under way; TND_NOBODY: none */
    tnd_piece_t *pieces;
};

static inline uint32_t tnd_batcher_core_epochs(const tnd_batcher_core_t *self)
{
    return self->config.span_epochs ? 1 : self->config.order.epochs;
}

/*  Batches since the position that a cursor has after so many steps of an epoch. */
static inline uint64_t tnd_batcher_core_held_batches(const tnd_batcher_core_t *self,
                                                     uint64_t step_of_epoch)
{
    uint64_t every = self->config.cursor_every;
    return every > 0 ? step_of_epoch % every : 0;
}

/*  The number of the next batch in its epoch, skipped ones included. */
static inline uint64_t tnd_batcher_core_batch(const tnd_batcher_core_t *self)
{
    return self->step_of_epoch + self->skipped - self->remake;
}

/*  Cuts the next batch: decides which rows of each lane the next step has, or skips an epoch without
 *  steps; returns false if that is not known yet. */
bool tnd_batcher_core_compose(tnd_batcher_core_t *self);
/*  The next batch begins after the rows of this one, of all lanes. */
void tnd_batcher_core_pass_batch(tnd_batcher_core_t *self);
/*  Books rows of this epoch that no step takes as dropped. */
void tnd_batcher_core_discard(tnd_batcher_core_t *self, uint64_t rows);
/*  `cut`: the rest of the epoch is not read. */
void tnd_batcher_core_close_epoch(tnd_batcher_core_t *self, bool cut);
void tnd_batcher_core_begin_epoch(tnd_batcher_core_t *self, uint32_t epoch);
/*  Whether the rows that wait here take more than a batch may. */
bool tnd_batcher_core_overflows(const tnd_batcher_core_t *self);

#endif
