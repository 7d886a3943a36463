/*  actors/plan/reduction_through.h - what carries and adds the values of reducers.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_REDUCTION_THROUGH_H
#define TND_ACTORS_PLAN_REDUCTION_THROUGH_H

#include "runtime/interface/collective.h"
#include "runtime/plan/placement.h"

/*  What `order` and `through` of a reducer mean.  Errors: TND_FAILED as tnd_collective_find. */
tnd_status_t tnd_reduction_through(const tnd_instance_t *reducer,
                                   const tnd_collective_ops_t **ops_p,
                                   tnd_error_t *error) TND_CHECKED;

/*  That of all reducers of a feeder, by its number in the plan; NULL if it has none.  One whose options
 *  mean nothing is passed over: it reports that itself.  Errors: TND_FAILED if they differ, because
 *  what a feeder posts goes one way. */
tnd_status_t tnd_reduction_through_of_feeder(const tnd_plan_t *plan, uint32_t feeder,
                                             const tnd_collective_ops_t **ops_p,
                                             tnd_error_t *error) TND_CHECKED;

/*  Whether all reducers add in an order that does not depend on the run: else its model is not
 *  reproducible. */
bool tnd_reduction_is_reproducible(const tnd_plan_t *plan);

/*  Why `through: auto` of a reducer means what it does. */
const char *tnd_reduction_through_why(const tnd_instance_t *reducer);

/*  The same for the log of a feeder, with what carries the values there; empty without a reducer. */
void tnd_reduction_through_text(const tnd_plan_t *plan, const tnd_instance_t *feeder, char *text,
                                size_t room);

#endif
