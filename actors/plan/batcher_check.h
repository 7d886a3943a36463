/*  actors/plan/batcher_check.h - options of a batcher that do not fit each other.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_BATCHER_CHECK_H
#define TND_ACTORS_PLAN_BATCHER_CHECK_H

#include "runtime/plan/placement.h"

/*  Reports them for an instance of a batcher. */
void tnd_batcher_check(const tnd_instance_t *instance, const tnd_plan_t *plan,
                       tnd_diagnostics_t *diagnostics);

#endif
