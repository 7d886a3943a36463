/*  actors/plan/peers.c - the actors that an actor talks to, according to the plan. */
#include "actors/plan/peers.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

static tnd_peers_t make(uint32_t room)
{
    tnd_peers_t peers = {.ids = tnd_allocate_zeroed(room + 1, sizeof(tnd_actor_id_t))};
    return peers;
}

tnd_peers_t tnd_peers_of(const tnd_actor_t *self, tnd_role_t role, uint32_t lane)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    tnd_peers_t peers = make(plan->instance_count);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain == tnd_actor_instance(self)->chain && instance->kind->role == role &&
            (lane >= plan->lanes || instance->lane == lane))
            peers.ids[peers.count++] = i;
    }
    return peers;
}

static tnd_peers_t linked(const tnd_actor_t *self, tnd_role_t role, bool before)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    tnd_peers_t peers = make(plan->instance_count);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        for (uint32_t e = 0; e < plan->edge_count; e++) {
            const tnd_edge_t *edge = &plan->edges[e];
            if ((before ? edge->from : edge->to) != i ||
                (before ? edge->to : edge->from) != tnd_actor_id(self) ||
                (role != TND_ROLE_NONE && plan->instances[i].kind->role != role))
                continue;
            peers.ids[peers.count++] = i;
            break;
        }
    return peers;
}

tnd_peers_t tnd_peers_before(const tnd_actor_t *self, tnd_role_t role)
{
    return linked(self, role, true);
}

tnd_peers_t tnd_peers_after(const tnd_actor_t *self, tnd_role_t role)
{
    return linked(self, role, false);
}

tnd_peers_t tnd_peers_answering(const tnd_actor_t *self, uint32_t lane)
{
    tnd_peers_t caches = tnd_peers_of(self, TND_ROLE_CACHE, lane);
    if (caches.count > 0 && tnd_actor_instance(self)->kind->role != TND_ROLE_CACHE)
        return caches;
    tnd_peers_free(&caches);
    return tnd_peers_of(self, TND_ROLE_READER, lane);
}

tnd_peers_t tnd_peers_carriers(const tnd_actor_t *self)
{
    const tnd_chain_plan_t *chain = &tnd_actor_plan(self)->chains[tnd_actor_instance(self)->chain];
    tnd_peers_t peers = make(chain->replicas);
    peers.count = chain->replicas;
    for (uint32_t r = 0; r < chain->replicas; r++)
        peers.ids[r] = chain->carriers[r].instance;
    return peers;
}

tnd_peers_t tnd_peers_reducers(const tnd_actor_t *self)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    tnd_peers_t peers = make(plan->edge_count);
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == tnd_actor_id(self) &&
            (plan->instances[plan->edges[e].to].kind->accepts & TND_ACCEPT(POST)) != 0)
            peers.ids[peers.count++] = plan->edges[e].to;
    return peers;
}

bool tnd_peers_include(const tnd_peers_t *self, tnd_actor_id_t peer)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->ids[i] == peer)
            return true;
    return false;
}

void tnd_peers_free(tnd_peers_t *self)
{
    free(self->ids);
    *self = (tnd_peers_t){0};
}
