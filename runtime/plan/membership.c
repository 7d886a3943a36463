/*  runtime/plan/membership.c - the members of a run and the limits of its streams. */
#include "runtime/plan/membership.h"

#include "runtime/base/allocation.h"

tnd_membership_t tnd_membership_of_plan(const tnd_plan_t *plan, tnd_actor_id_t host_id)
{
    tnd_party_t *parties = tnd_allocate_zeroed(plan->instance_count + 1u, sizeof *parties);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        parties[i] = (tnd_party_t){
            .role = tnd_plan_role(plan, i),
            .host = instance->host,
            .chain = instance->chain,
            .lane = instance->lane,
            .lane_first = instance->lane_first,
            .lane_count = instance->lane_count,
            .replica_first = instance->replica_first,
            .replica_count = instance->replica_count,
        };
    }
    return (tnd_membership_t){
        .parties = parties,
        .party_count = plan->instance_count,
        .host_count = plan->host_count,
        .lanes = plan->lanes,
        .host_id = host_id,
    };
}

tnd_bounds_t tnd_membership_bounds(const tnd_plan_t *plan, const tnd_stream_t *stream)
{
    return (tnd_bounds_t){
        .lane_rows = tnd_stream_lane_most(stream),
        .bytes = tnd_stream_row_bytes(stream),
        .rows_max = stream->joined.rows_max,
        .epochs = stream->epochs,
        .replicas = plan->chains[stream->chain].replicas,
    };
}
