/*  runtime/core/feeder_internal.h - the state of a feeder's machine, shared by its files.
 *
 *  feeder.c decides about slots, whole steps and commits, feeder_cut.c about epochs that a program ends
 *  early. */
#ifndef TND_RUNTIME_CORE_FEEDER_INTERNAL_H
#define TND_RUNTIME_CORE_FEEDER_INTERNAL_H

#include <string.h>

#include "runtime/core/feeder.h"

typedef enum {
    STEP_EMPTY,
    STEP_PARTIAL,
    STEP_HELD,   /* whole, in its slot */
    STEP_STARTED /* with the devices */
} step_state_t;

typedef struct {
    tnd_slice_note_t note; /* of its first slice: describes the whole step */
    step_state_t state;
    uint32_t whole; /* replicas that have all their rows */
} step_t;

typedef struct {
    uint32_t rows, total, padded;
    uint32_t pieces; /* slices so far: at most one per join */
    bool seen;
} share_t;

/*  Which rows of its replica a slice has. */
typedef struct {
    uint32_t first, rows;
} piece_t;

typedef struct {
    tnd_actor_id_t id;
    bool up;
    uint64_t said;  /* the window that it was told on this connection and generation */
    uint64_t quiet; /* it uses the window until so many steps are committed */
} join_t;

typedef struct {
    uint64_t digest[2];
    uint32_t rows;
    bool cut, last;
    void *payload;
} commit_t;

/*  Rows that the driver is to copy or to drop. */
typedef struct {
    tnd_slice_note_t note;
    bool place;
} handed_t;

/*  booked <= committed <= started <= held: counts of steps from the start of the run. */
struct tnd_feeder_core {
    tnd_feeder_core_config_t config;
    uint32_t generation, ring; /* ring: steps kept, one more than slots, see slot_of */
    bool begun;
    uint64_t end;      /* TND_UNKNOWN: not told */
    uint32_t end_told; /* the generation in which it was */
    uint64_t booked, committed, started, held;
    uint64_t freed;       /* steps whose slot is free again */
    uint64_t said_commit; /* steps whose COMMIT was sent in this generation */
    uint64_t dropped;     /* commits whose report was dropped */
    uint64_t window;      /* as told to the joins that are up */
    uint64_t ahead;       /* steps that may be started and uncommitted */
    uint64_t ahead_most;  /* reducers have room for the rounds of so many */
    uint64_t paced;       /* steps committed at the last measurement of the pace, and its time */
    uint64_t paced_ns;
    bool held_due, halting, halt_due;
    uint32_t halt_number;
    uint32_t cuts;        /* epochs that the program has ended early */
    uint64_t cut;         /* the steps before it end an epoch, and those after it come back */
    uint64_t back;        /* those that have */
    uint64_t limit;       /* no step is started from this one on; TND_UNKNOWN: none is set */
    uint32_t limit_epoch; /* and none of this epoch and later ones; TND_ENDLESS: none is set */
    uint32_t again;       /* the generation in which the stream began again; 0: it did not */
    uint32_t wanted;      /* slots, once all are free */
    uint64_t frontier;    /* until then no step from this one on gets a slot */
    uint32_t handed_first, handed_count, handed_room;
    step_t *steps;   /* by step % ring */
    share_t *shares; /* by (step % ring) x replica */
    piece_t *pieces; /* likewise, x join */
    join_t *joins;
    commit_t *commits; /* by step % (2 * unbooked_max) */
    handed_t *handed;
};

static inline step_t *tnd_feeder_core_step_at(const tnd_feeder_core_t *self, uint64_t step)
{
    return &self->steps[step % self->ring];
}

static inline share_t *tnd_feeder_core_shares_at(const tnd_feeder_core_t *self, uint64_t step)
{
    return &self->shares[step % self->ring * self->config.replicas];
}

static inline piece_t *tnd_feeder_core_pieces_of(const tnd_feeder_core_t *self,
                                                 const share_t *share)
{
    return &self->pieces[(size_t)(share - self->shares) * self->config.join_count];
}

static inline void tnd_feeder_core_clear(tnd_feeder_core_t *self, uint64_t step)
{
    memset(tnd_feeder_core_step_at(self, step), 0, sizeof(step_t));
    memset(tnd_feeder_core_shares_at(self, step), 0, self->config.replicas * sizeof(share_t));
}

/* --- feeder_cut.c ----------------------------------------------------------------------------- */

/*  Drops the steps after the last one of an epoch that is cut, once none of them is with the devices. */
void tnd_feeder_core_finish_cut(tnd_feeder_core_t *self);

#endif
