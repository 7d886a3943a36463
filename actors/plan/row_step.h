/*  actors/plan/row_step.h - in which step of an epoch a position is, and which replica gets it.
 *
 *  Follows from the counts of rows alone, if no operation drops or adds rows, and batches are rows
 *  that follow one another.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_ROW_STEP_H
#define TND_ACTORS_PLAN_ROW_STEP_H

#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

typedef enum {
    TND_ROW_STEP_KNOWN,
    TND_ROW_STEP_LATER,   /* only the run finds out: see `why` */
    TND_ROW_STEP_LEFT_OUT /* the position is in no step: see `why` */
} tnd_row_step_kind_t;

typedef struct {
    tnd_row_step_kind_t kind;
    const char *why;
    uint64_t step; /* of the epoch */
    uint64_t row;  /* of the batch */
    uint32_t replica;
} tnd_row_step_t;

tnd_row_step_t tnd_row_step_of(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream,
                               uint32_t lane, uint64_t position);

#endif
