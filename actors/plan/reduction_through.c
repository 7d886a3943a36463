/*  actors/plan/reduction_through.c - finds the collective of reducers. */
#include "actors/plan/reduction_through.h"

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
