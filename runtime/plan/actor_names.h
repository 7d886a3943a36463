/*  runtime/plan/actor_names.h - which instances of a plan a name means.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_PLAN_ACTOR_NAMES_H
#define TND_RUNTIME_PLAN_ACTOR_NAMES_H

#include "runtime/plan/placement.h"

/*  The first instance of an actor, or instance_count; how many there are. */
uint32_t tnd_plan_first_of(const tnd_plan_t *plan, const char *actor);
uint32_t tnd_plan_count_of(const tnd_plan_t *plan, const char *actor);
/*  The first instance of an actor in a chain, or instance_count. */
uint32_t tnd_plan_first_in(const tnd_plan_t *plan, const char *actor, uint32_t chain);
/*  The name of a chain, which is that of its feeder. */
const char *tnd_plan_chain_name(const tnd_plan_t *plan, uint32_t chain);
/*  Says that an actor is not in the running chain, but in one that rests or in none. */
tnd_status_t tnd_plan_absent(const tnd_plan_t *plan, const char *name, uint32_t chain,
                             tnd_error_t *error);
/*  The instance of that name in a running chain, or of the actor of that name if it has only one. */
tnd_status_t tnd_plan_find(const tnd_plan_t *plan, const char *name, uint32_t chain,
                           uint32_t *instance_p, tnd_error_t *error) TND_CHECKED;

#endif
