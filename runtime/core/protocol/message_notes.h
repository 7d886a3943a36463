/*  runtime/core/protocol/message_notes.h - what messages say of blocks, slices, posts, gradients and checkpoints.
 *
 *  Threads: any; plain values.  Pointers inside are valid while the payload is. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_MESSAGE_NOTES_H
#define TND_RUNTIME_CORE_PROTOCOL_MESSAGE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/protocol/bad_way.h"

/*  A bad record, or a number of them. */
typedef struct {
    uint64_t position; /* WHY: the step */
    uint32_t lane, epoch;
    uint32_t way;  /* tnd_bad_way_t */
    void *payload; /* text */
} tnd_bad_note_t;

/*  A block as the core sees it: rows made from positions [first, first + count) of an epoch. */
typedef struct {
    uint64_t first;
    uint32_t lane, epoch;
    uint32_t
        count; /* positions covered, with held ones; fewer than `asked`: see tnd_block_is_short */
    uint32_t asked;   /* positions the ticket asked for */
    uint32_t attempt; /* of the ticket, from 0 */
    uint32_t rows;    /* carried, after the operations */
    bool end;         /* the epoch has no position from first + count on */
    uint32_t bad_count;
    const uint32_t *origin; /* a row: its position less `first`, ascending; NULL: row i from i */
    const uint32_t *bad;    /* ascending offsets of bad positions; NULL if none */
    /*  The lengths of a ragged column, which the join needs to make batches: of each row.  `measured`:
     *  the number of that column, plus 1; 0: none is needed.  NULL also without rows. */
    const uint64_t *lengths;
    uint32_t measured;
    /*  For each of them a terminated text, in sequence: tnd_bad_way_t as a digit, the actor that
     *  found it, a tab, the error.  NULL: no texts. */
    const char *why;
    uint32_t why_bytes;
    uint64_t bytes;   /* of the payload in memory */
    uint64_t budget;  /* of the ticket: bytes of ragged columns */
    uint64_t ragged;  /* of ragged columns, the most in any stage so far; see below */
    uint64_t work_ns; /* what the slowest stage so far spent on it */
    void *payload;
} tnd_block_note_t;

/*  Whether the block covers a part of its ticket because the rest does not fit the budget.  A block
 *  that covers no position is too small for the first one, which takes `ragged` bytes. */
static inline bool tnd_block_is_short(const tnd_block_note_t *block)
{
    return block->count < block->asked && !block->end;
}
static inline bool tnd_block_is_too_small(const tnd_block_note_t *block)
{
    return block->count == 0 && !block->end;
}

/*  The rows of one lane for one replica in one step. */
typedef struct {
    uint64_t step; /* over the run */
    uint64_t step_of_epoch;
    uint64_t rank; /* of the first row of the slice in the stream of the run */
    uint32_t epoch, lane, replica;
    uint32_t offset;    /* of the first row within the replica's rows */
    uint32_t rows;      /* in this slice; 0 only if `total` is 0 */
    uint32_t total;     /* real rows of the replica in this step */
    uint32_t padded;    /* rows of weight 0 after them */
    uint32_t step_rows; /* real rows of the whole step */
    uint32_t cuts;      /* epochs that programs had ended early when it was made */
    bool last_of_epoch, last_of_run;
    void *payload;
} tnd_slice_note_t;

typedef struct {
    uint64_t round;        /* over the run and the feeder's chain: step, then order of posting */
    uint32_t reducer_slot; /* which reduction of the step: 0, 1 ... in order of posting */
    uint32_t reduction;    /* of the user's in this step; large ones travel in several slots */
    uint32_t first, count; /* logical replicas covered: an aligned node of the tree */
    uint64_t weight;       /* rows that the value is computed from */
    void *payload;
} tnd_post_note_t;

/*  In each of the steps [first, last] a feeder posts nothing here under the slots [begin, end). */
typedef struct {
    uint64_t first, last;
    uint32_t begin, end; /* `end` TND_PASSED_DONE: these steps are done */
    uint32_t reductions; /* of the user's, in each of them so far */
} tnd_passed_note_t;
#define TND_PASSED_DONE UINT32_MAX

/*  What one replica made of a whole step. */
typedef struct {
    uint64_t step;
    uint64_t digest[2]; /* of its rows: low, high */
    uint32_t replica, rows;
    uint32_t epoch;
    uint32_t
        count; /* f32 of the gradient, with which the payload begins; metrics follow, as text */
    bool last_of_epoch;
    void *payload;
} tnd_push_note_t;

/*  Checkpoints, each named by the number of steps before it. */
typedef struct {
    uint64_t every;           /* the models are saved after each multiple of it; 0: never */
    uint64_t rest_steps;      /* likewise, and after each step that ends */
    uint64_t rest_epochs;     /* a multiple of so many epochs; 0: never */
    uint64_t step;            /* and after so many steps, which no feeder has done yet; 0: none */
    uint64_t below;           /* those of fewer steps may be deleted, */
    uint64_t best;            /* but for the one with the best value; 0: there is none */
    uint64_t written, closed; /* the newest that is complete; the newest that is complete or will
                                 never be */
} tnd_keep_note_t;

#endif
