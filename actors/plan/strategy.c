/*  actors/plan/strategy.c - what tf.distribute calls a placement of replicas. */
#include "actors/plan/strategy.h"

static bool reduces(const tnd_plan_t *plan, uint32_t feeder)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == feeder &&
            plan->instances[plan->edges[e].to].kind->role == TND_ROLE_REDUCER)
            return true;
    return false;
}

/*  Replicas of one device follow one another, and so do those of one host. */
static void count(tnd_strategy_t *self, const tnd_plan_t *plan, const tnd_chain_plan_t *chain)
{
    for (uint32_t r = 0; r < chain->replicas; r++) {
        const tnd_carrier_t *own = &chain->carriers[r], *before = r > 0 ? own - 1 : NULL;
        bool moves = before == NULL ||
                     plan->instances[own->instance].host != plan->instances[before->instance].host;
        self->hosts += moves;
        self->devices += moves || own->device != before->device;
    }
}

tnd_strategy_t tnd_strategy_of(const tnd_plan_t *plan, uint32_t chain)
{
    const tnd_chain_plan_t *of = &plan->chains[chain];
    tnd_strategy_t self = {.replicas = of->replicas};
    if (of->carriers == NULL || of->after != NULL)
        return self;
    count(&self, plan, of);
    if (tnd_plan_is_dealt(plan, chain))
        self.name = "ParameterServerStrategy";
    else if (self.replicas == 1)
        self.name = "OneDeviceStrategy";
    else if (reduces(plan, of->carriers[0].instance))
        self.name = self.hosts == 1 ? "MirroredStrategy" : "MultiWorkerMirroredStrategy";
    return self;
}
