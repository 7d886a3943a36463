/*  actors/parameters/parameters_check.c - what does not fit a holder of parameters. */
#include "actors/parameters/parameters_check.h"

#include "actors/plan/kind_options.h"
#include "actors/plan/plan_queries.h"
#include "runtime/core/parameters/holder.h"

/*  An error about an option of an actor; of the actor if it is not written. */
static void refuse(const tnd_instance_t *of, const char *option, const char *text,
                   tnd_diagnostics_t *diagnostics)
{
    if (of->written != NULL)
        tnd_diagnostics_add(diagnostics, TND_T039_PARAMETERS,
                            tnd_topology_option_mark(of->written, option), "%s: %s", of->actor,
                            text);
}

static void check_own(const tnd_instance_t *own, const tnd_plan_t *plan,
                      tnd_diagnostics_t *diagnostics)
{
    const tnd_parameters_options_t *options = own->options;
    bool arrival = options->order == TND_PARAMETERS_ARRIVAL;
    if (!arrival && options->staleness == TND_STALENESS_UNBOUNDED)
        refuse(own, "staleness",
               "`staleness: unbounded` needs `order: arrival`: in the order of steps, each "
               "computes on "
               "a certain version",
               diagnostics);
    if (arrival && plan->checkpoint != NULL)
        refuse(
            own, "order",
            "`order: arrival` cannot be checkpointed: no cursor says which gradients are applied. "
            "Write `order: steps`, or leave out `checkpoint:`",
            diagnostics);
}

static void check_feeder(const tnd_instance_t *feeder, const tnd_plan_t *plan,
                         tnd_diagnostics_t *diagnostics)
{
    const tnd_feeder_options_t *options = feeder->options;
    uint32_t index = (uint32_t)(feeder - plan->instances);
    if (options->step == NULL)
        refuse(feeder, "kind", "with `deal: whole` it needs `step:`, the plugin that computes",
               diagnostics);
    if (options->accumulate != 1)
        refuse(feeder, "accumulate", "with `deal: whole` replicas have no models to share",
               diagnostics);
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == index &&
            plan->instances[plan->edges[e].to].kind->role == TND_ROLE_REDUCER)
            refuse(feeder, "kind",
                   "with `deal: whole` no other replica has the same step: nothing can be reduced",
                   diagnostics);
}

/*  Feeders that would evaluate models, which the replicas do not have. */
static void check_later(const tnd_plan_t *plan, uint32_t chain, tnd_diagnostics_t *diagnostics)
{
    for (uint32_t c = 0; c < plan->chain_count; c++) {
        uint32_t feeder = tnd_plan_feeder(plan, c);
        if (c != chain && feeder < plan->instance_count && tnd_plan_trains(plan, c) == chain)
            refuse(
                &plan->instances[feeder], "after",
                "with `deal: whole` the replicas have no models that it could evaluate: save them, "
                "and evaluate what was saved in another run",
                diagnostics);
    }
}

/*  The first of several: each would deal the steps. */
static bool is_first(const tnd_instance_t *own, const tnd_plan_t *plan)
{
    return &plan->instances[tnd_plan_parameters(plan, own->chain)] == own;
}

void tnd_parameters_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics)
{
    uint32_t batcher = tnd_plan_batcher(plan, own->chain, 0);
    uint32_t feeder = tnd_plan_feeder(plan, own->chain);
    if (plan->chains == NULL || batcher == plan->instance_count || feeder == plan->instance_count)
        return; /* something else is wrong */
    if (!is_first(own, plan)) {
        refuse(own, "kind", "a chain has one actor that holds its parameters", diagnostics);
        return;
    }
    check_own(own, plan, diagnostics);
    check_feeder(&plan->instances[feeder], plan, diagnostics);
    check_later(plan, own->chain, diagnostics);
}
