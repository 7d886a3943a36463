/*  actors/plan/peers.h - the actors that an actor talks to, according to the plan.
 *
 *  Ownership: tnd_peers_free releases a list.
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_PEERS_H
#define TND_ACTORS_PLAN_PEERS_H

#include "runtime/host/actor.h"

typedef struct {
    uint32_t count;
    tnd_actor_id_t *ids;
} tnd_peers_t;

/*  The instances of the actor's chain with `role`, in order of the plan: those of `lane`, or all if
 *  `lane` is not less than the plan's lanes. */
tnd_peers_t tnd_peers_of(const tnd_actor_t *self, tnd_role_t role, uint32_t lane);
/*  The instances that an actor gets blocks from, or sends them to, in order of the plan; of one role,
 *  or of any if `role` is TND_ROLE_NONE. */
tnd_peers_t tnd_peers_before(const tnd_actor_t *self, tnd_role_t role);
tnd_peers_t tnd_peers_after(const tnd_actor_t *self, tnd_role_t role);
/*  Those that answer the tickets of the actor, a join or a cache: the caches of its lane if they are
 *  before it, else the readers. */
tnd_peers_t tnd_peers_answering(const tnd_actor_t *self, uint32_t lane);
/*  The feeder of each replica of the actor's chain. */
tnd_peers_t tnd_peers_carriers(const tnd_actor_t *self);
/*  The reducers that the actor posts to, in order of the plan's edges. */
tnd_peers_t tnd_peers_reducers(const tnd_actor_t *self);
bool tnd_peers_include(const tnd_peers_t *self, tnd_actor_id_t peer);
void tnd_peers_free(tnd_peers_t *self);

#endif
