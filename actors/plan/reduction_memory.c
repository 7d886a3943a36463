/*  actors/plan/reduction_memory.c - the memory of values that feeders and reducers exchange. */
#include "actors/plan/reduction_memory.h"

#include "actors/plan/kind_options.h"
#include "runtime/posts/tensor.h"

static const uint64_t open_bytes = (uint64_t)TND_PIECES_OPEN * TND_PIECE_BYTES;

static uint32_t replicas_of(const tnd_plan_t *plan, uint32_t reducer)
{
    uint32_t replicas = 0;
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].to == reducer)
            replicas += plan->instances[plan->edges[e].from].replica_count;
    return replicas;
}

static uint32_t nodes_of(const tnd_instance_t *feeder, uint32_t replicas)
{
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    return feeder->replica_count == 0 ? 0
                                      : tnd_reduction_tree_cover(replicas, feeder->replica_first,
                                                                 feeder->replica_count, nodes);
}

uint64_t tnd_reduction_bucket(const tnd_instance_t *reducer)
{
    return ((const tnd_reducer_options_t *)reducer->options)->bucket;
}

uint32_t tnd_reduction_memory_nodes(const tnd_plan_t *plan, uint32_t reducer)
{
    uint32_t replicas = replicas_of(plan, reducer), most = 0;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        if (plan->edges[e].to != reducer)
            continue;
        uint32_t nodes = nodes_of(&plan->instances[plan->edges[e].from], replicas);
        most = nodes > most ? nodes : most;
    }
    return most;
}

void tnd_reduction_memory_of_feeder(const tnd_plan_t *plan, uint32_t feeder,
                                    tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *own = &plan->instances[feeder];
    uint32_t nodes = 0, remote = 0;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        uint32_t to = plan->edges[e].to;
        if (plan->edges[e].from != feeder || plan->instances[to].kind->role != TND_ROLE_REDUCER)
            continue;
        uint32_t replicas = replicas_of(plan, to);
        if (own->replica_count < replicas)
            nodes = nodes_of(own, replicas);
        remote += plan->edges[e].transport != TND_TRANSPORT_INPROC;
    }
    if (nodes > 0)
        tnd_memory_estimate_add(estimate, own->name, (nodes + remote) * open_bytes,
                                "pieces of values that are reduced, and of results");
}

void tnd_reduction_memory_of_reducer(const tnd_plan_t *plan, uint32_t reducer,
                                     tnd_memory_estimate_t *estimate)
{
    uint32_t replicas = replicas_of(plan, reducer), nodes = 0;
    bool shares = false;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        if (plan->edges[e].to != reducer)
            continue;
        const tnd_instance_t *feeder = &plan->instances[plan->edges[e].from];
        shares = shares || (feeder->replica_count > 0 && feeder->replica_count < replicas);
        if (plan->edges[e].transport != TND_TRANSPORT_INPROC)
            nodes += nodes_of(feeder, replicas);
    }
    if (shares)
        tnd_memory_estimate_add(estimate, plan->instances[reducer].name, (nodes + 1) * open_bytes,
                                "pieces of values that it reduces, and of results");
}
