/*  runtime/topology/chains.h - connected rows of actors, each with the feeder that it ends in, and
 * which comes after which.
 *
 *  Threads: the one that resolves.
 */
#ifndef TND_RUNTIME_TOPOLOGY_CHAINS_H
#define TND_RUNTIME_TOPOLOGY_CHAINS_H

#include "runtime/topology/resolver.h"

/*  Finds the chains of actors and links that are sound. */
void tnd_chains_resolve(tnd_resolver_t *self);

/*  Whether `after:` of an actor, if it has one, names another feeder. */
bool tnd_chains_check_after(tnd_resolver_t *self, uint32_t actor);

#endif
