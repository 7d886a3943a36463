/*  runtime/topology/resolver.h - a tree while it becomes a topology: what the steps on the way
 * share.
 *
 *  topology.c reads actors, links.c connects them, chains.c finds what runs together; each reports
 *  its errors and goes on with what is sound.
 *
 *  Threads: the one that resolves.
 */
#ifndef TND_RUNTIME_TOPOLOGY_RESOLVER_H
#define TND_RUNTIME_TOPOLOGY_RESOLVER_H

#include "runtime/topology/topology.h"

typedef struct {
    const tnd_options_context_t *context;
    tnd_topology_t *topology;
    tnd_topology_actor_t *actors; /* those of the topology, and likewise the others */
    tnd_topology_link_t *links;
    tnd_topology_chain_t *chains;
    bool open_ended;
    bool links_failed; /* what is missing may stand in a link that could not be read */
} tnd_resolver_t;

static inline tnd_diagnostics_t *diagnostics_of(const tnd_resolver_t *self)
{
    return self->context->diagnostics;
}

#endif
