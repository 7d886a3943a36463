/*  runtime/plan/actor_names.c - which instances of a plan a name means. */
#include "runtime/plan/actor_names.h"

#include <inttypes.h>
#include <string.h>

uint32_t tnd_plan_first_of(const tnd_plan_t *plan, const char *actor)
{
    uint32_t i = 0;
    while (i < plan->instance_count && strcmp(plan->instances[i].actor, actor) != 0)
        i++;
    return i;
}

uint32_t tnd_plan_count_of(const tnd_plan_t *plan, const char *actor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += strcmp(plan->instances[i].actor, actor) == 0;
    return count;
}

uint32_t tnd_plan_first_in(const tnd_plan_t *plan, const char *actor, uint32_t chain)
{
    uint32_t i = 0;
    while (i < plan->instance_count &&
           (strcmp(plan->instances[i].actor, actor) != 0 || plan->instances[i].chain != chain))
        i++;
    return i;
}

const char *tnd_plan_chain_name(const tnd_plan_t *plan, uint32_t chain)
{
    const char *feeder = plan->chains[chain].feeder;
    return feeder != NULL ? feeder : "the graph";
}

tnd_status_t tnd_plan_absent(const tnd_plan_t *plan, const char *name, uint32_t chain,
                             tnd_error_t *error)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *other = &plan->instances[i];
        if (other->chain < plan->chain_count &&
            (strcmp(other->name, name) == 0 || strcmp(other->actor, name) == 0))
            return tnd_fail(error, "its chain, %s, rests while %s is fed; try again when it is fed",
                            tnd_plan_chain_name(plan, other->chain),
                            tnd_plan_chain_name(plan, chain));
    }
    return tnd_fail(error,
                    "no actor of that name is in the running chain, %s; `tundish ps` lists them",
                    tnd_plan_chain_name(plan, chain));
}

tnd_status_t tnd_plan_find(const tnd_plan_t *plan, const char *name, uint32_t chain,
                           uint32_t *instance_p, tnd_error_t *error)
{
    uint32_t count = 0;
    *instance_p = tnd_plan_first_in(plan, name, chain);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != chain)
            continue;
        if (strcmp(instance->name, name) == 0) {
            *instance_p = i;
            return TND_OK;
        }
        count += strcmp(instance->actor, name) == 0;
    }
    if (count == 0)
        return tnd_plan_absent(plan, name, chain, error);
    if (count > 1)
        return tnd_fail(error, "there are %" PRIu32 " of it; name one, such as %s", count,
                        plan->instances[*instance_p].name);
    return TND_OK;
}
