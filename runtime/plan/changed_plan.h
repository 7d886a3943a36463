/*  runtime/plan/changed_plan.h - a plan of which a user has set an option while the run is under way.
 *
 *  It shares all but its instances and their options with the plan that it was made of, which must
 *  outlive it unless that is a changed plan itself.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_PLAN_CHANGED_PLAN_H
#define TND_RUNTIME_PLAN_CHANGED_PLAN_H

#include "runtime/option/option_change.h"
#include "runtime/plan/placement.h"

/*  With that change in all instances of the actor of `instance`. */
tnd_plan_t *tnd_changed_plan_new(const tnd_plan_t *plan, uint32_t instance,
                                 const tnd_option_change_t *change);
/*  NULL is allowed. */
void tnd_changed_plan_free(tnd_plan_t *self);

#endif
