/*  tools/rows/head_plan.h - a plan that ends at the actor whose rows `tundish head` shows.
 *
 *  It is made of another plan: the actors upstream of that actor, all in one process, then a feeder
 *  called `head` that the program pulls.  So the rows shown have passed the same actors as in a
 *  run.  If the actor is not a batcher, batches of some rows for one replica are cut after it.
 *
 *  Ownership: the plan lives in the arena and shares parts with the other plan, which must outlive
 *  it.
 *  Threads: one. */
#ifndef TND_TOOLS_ROWS_HEAD_PLAN_H
#define TND_TOOLS_ROWS_HEAD_PLAN_H

#include "runtime/base/status.h"
#include "runtime/plan/placement.h"
#include "runtime/text/arena.h"

#define TND_HEAD_PLAN_FEEDER "head"

typedef struct {
    tnd_plan_t plan;
    bool batches;      /* the actor is a batcher */
    uint32_t replicas; /* of a batch */
} tnd_head_plan_t;

/*  `at`: an actor of the plan; NULL: the batcher of its first chain.  `fed`: columns are cast as by
 *  the feeder of that chain.  Errors: TND_FAILED if the actor does not exist. */
tnd_status_t tnd_head_plan_make(tnd_head_plan_t *self, tnd_arena_t *arena, const tnd_plan_t *plan,
                                const char *at, bool fed, tnd_error_t *error) TND_CHECKED;

#endif
