/*  actors/plan/reduction_through.c - finds the collective of reducers. */
#include "actors/plan/reduction_through.h"

#include <stdio.h>

#include "actors/plan/kind_options.h"
#include "runtime/core/parameters/holder.h"

/*  By tnd_through_t. */
static const char *const names[] = {"auto", "host", "nccl"};

_Static_assert(TND_ORDER_TREE == 0 && TND_ORDER_ANY == 1, "as the choices of `order`");

tnd_status_t tnd_reduction_through(const tnd_instance_t *reducer,
                                   const tnd_collective_ops_t **ops_p, tnd_error_t *error)
{
    const tnd_reducer_options_t *options = reducer->options;
    return tnd_collective_find(ops_p, names[options->through], (tnd_order_t)options->order, error);
}

tnd_status_t tnd_reduction_through_of_feeder(const tnd_plan_t *plan, uint32_t feeder,
                                             const tnd_collective_ops_t **ops_p, tnd_error_t *error)
{
    const tnd_instance_t *first = NULL;
    *ops_p = NULL;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *reducer = &plan->instances[plan->edges[e].to];
        const tnd_collective_ops_t *ops;
        if (plan->edges[e].from != feeder || reducer->kind->role != TND_ROLE_REDUCER ||
            tnd_reduction_through(reducer, &ops, NULL) != TND_OK)
            continue;
        if (first != NULL && ops != *ops_p)
            return tnd_fail(error,
                            "%s: values go through %s to `%s` and through %s to `%s`: give all "
                            "reducers of a feeder the same `order` and `through`",
                            plan->instances[feeder].actor, (*ops_p)->name, first->actor, ops->name,
                            reducer->actor);
        first = reducer;
        *ops_p = ops;
    }
    return TND_OK;
}

bool tnd_reduction_is_reproducible(const tnd_plan_t *plan)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_reducer_options_t *options = plan->instances[i].options;
        const tnd_parameters_options_t *held = plan->instances[i].options;
        tnd_role_t role = plan->instances[i].kind->role;
        if ((role == TND_ROLE_REDUCER && options->order == TND_ORDER_ANY) ||
            (role == TND_ROLE_PARAMETERS && held->order == TND_PARAMETERS_ARRIVAL))
            return false;
    }
    return true;
}

const char *tnd_reduction_through_why(const tnd_instance_t *reducer)
{
    const tnd_reducer_options_t *options = reducer->options;
    if (options->through != TND_THROUGH_AUTO)
        return "that is written";
    return options->order == TND_ORDER_TREE
               ? "the processors add along the tree unless `through: nccl` is written"
               : "only NCCL adds in any order";
}

static const tnd_instance_t *first_reducer(const tnd_plan_t *plan, const tnd_instance_t *feeder)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (&plan->instances[plan->edges[e].from] == feeder &&
            plan->instances[plan->edges[e].to].kind->role == TND_ROLE_REDUCER)
            return &plan->instances[plan->edges[e].to];
    return NULL;
}

/*  The first device of a feeder that NCCL cannot use; NULL: there is none. */
static const char *find_other_device(const tnd_plan_t *plan, const tnd_instance_t *feeder)
{
    const tnd_carrier_t *carriers = &plan->chains[feeder->chain].carriers[feeder->replica_first];
    const tnd_collective_ops_t *nccl;
    if (tnd_collective_find(&nccl, names[TND_THROUGH_NCCL], TND_ORDER_TREE, NULL) != TND_OK)
        return NULL;
    for (uint32_t i = 0; i < feeder->replica_count; i++) {
        const char *device = plan->hosts[feeder->host].devices[carriers[i].device];
        if (!tnd_collective_is_for(nccl, device))
            return device;
    }
    return NULL;
}

void tnd_reduction_through_text(const tnd_plan_t *plan, const tnd_instance_t *feeder, char *text,
                                size_t room)
{
    const tnd_instance_t *reducer = first_reducer(plan, feeder);
    const tnd_collective_ops_t *ops;
    text[0] = '\0';
    if (reducer == NULL || tnd_reduction_through(reducer, &ops, NULL) != TND_OK)
        return;
    const tnd_reducer_options_t *options = reducer->options;
    const char *other = find_other_device(plan, feeder);
    bool chosen = options->through == TND_THROUGH_AUTO && options->order == TND_ORDER_TREE;
    snprintf(text, room, "its values go through %s, because %s%s%.40s", ops->name,
             tnd_reduction_through_why(reducer),
             chosen && other != NULL ? "; that needs devices of CUDA, and a replica is on " : "",
             chosen && other != NULL ? other : "");
}
