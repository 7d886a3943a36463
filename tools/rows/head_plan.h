/*  tools/rows/head_plan.h - a plan that ends where somebody wants to look.
 *
 *  Made of another plan: what stands upstream of a place, all of it in one process, and behind it a
 *  feeder called `head` that a program pulls from.  So what is shown went the very way that it
 *  takes in a run.  Where the place is not a batcher, batches of some rows for one replica are cut
 *  there, which shows the stream as it passes.
 *
 *  Ownership: the plan lives in the arena, and is made of parts of the other plan, which must
 *  outlive it.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_LOOK_H
#define TUNDISH_TOOLS_LOOK_H

#include "runtime/text/arena.h"
#include "runtime/plan/placement.h"
#include "runtime/base/status.h"

#define TND_HEAD_PLAN_FEEDER "head"

typedef struct {
    tnd_plan_t plan;
    bool batches;      /* a batcher's; else rows that pass */
    uint32_t replicas; /* of a batch */
    uint64_t size;     /* rows of a batch */
} tnd_head_plan_t;

/*  `at`: an actor of the plan; NULL: the batcher of its first chain.  TND_FAILED: there is none
 *  called so.
 */
tnd_status_t tnd_head_plan_make(tnd_head_plan_t *self, tnd_arena_t *arena, const tnd_plan_t *plan,
                                const char *at, tnd_error_t *error) TND_CHECKED;

#endif
