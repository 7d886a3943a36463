/*  runtime/topology/topology_internal.h - a topology while it is resolved.
 *
 *  topology.c reads the actors, topology_links.c connects them, topology_chains.c finds the chains,
 *  and topology_shards.c decides what `auto` means.  Each step reports its errors and continues with what is valid.
 *
 *  Threads: the one that resolves. */
#ifndef TND_RUNTIME_TOPOLOGY_TOPOLOGY_INTERNAL_H
#define TND_RUNTIME_TOPOLOGY_TOPOLOGY_INTERNAL_H

#include "runtime/topology/topology.h"

typedef struct {
    const tnd_options_context_t *context;
    tnd_topology_t *topology;
    tnd_topology_actor_t *actors; /* of the topology; likewise links and chains */
    tnd_topology_link_t *links;
    tnd_topology_chain_t *chains;
    tnd_topology_choice_t *choices; /* likewise */
    bool open_ended;
    bool links_failed; /* a link could not be read, so a missing link is not reported */
} tnd_resolver_t;

static inline tnd_diagnostics_t *diagnostics_of(const tnd_resolver_t *self)
{
    return self->context->diagnostics;
}

/*  Reads `links:`, a list or a text such as `read -> prep`, or NULL.  The actors have been read. */
void tnd_links_resolve(tnd_resolver_t *self, const tnd_value_t *links);
/*  Reports the first cycle of links; calls do not count. */
void tnd_links_check_cycles(tnd_resolver_t *self);
/*  Reports ports of an actor that lack a link or have too many. */
void tnd_links_check_ports(tnd_resolver_t *self, uint32_t actor);

/*  Finds the chains: connected rows of actors, each with its last actor and its predecessor. */
void tnd_chains_resolve(tnd_resolver_t *self);
/*  Whether `after:` of an actor, if it has one, names another feeder. */
bool tnd_chains_check_after(tnd_resolver_t *self, uint32_t actor);
/*  Warns of orders that choose other rows in each epoch.  For a reader that passes over its data several
 *  times: whether its order has a `take`, `skip` or `shard` after a map that changes by epoch, and whether
 *  its chain has a `filter` of a column that `enumerate` makes, which numbers positions. */
void tnd_orders_check(const tnd_topology_t *topology, const tnd_topology_actor_t *actor,
                      tnd_diagnostics_t *diagnostics);

/*  How lanes divide the rows of a source: values of `shard`. */
enum {
    TND_SHARDS_INDEX,
    TND_SHARDS_FILE,
    TND_SHARDS_SOURCE,
    TND_SHARDS_OFF,
    TND_SHARDS_PIECES,
    TND_SHARDS_AUTO
};
/*  The value `auto` of `split`, after those of tnd_split_t. */
enum { TND_SPLITS_AUTO = 2 };

/*  Of an actor with a source: replaces `shard: auto`. */
void tnd_shards_choose(tnd_resolver_t *self, uint32_t actor);
/*  Of an actor with `apart`, once chains are known: replaces `split: auto`, and reports lanes that cannot
 *  have replicas of their own.  Returns whether they are to have them. */
bool tnd_shards_check(tnd_resolver_t *self, uint32_t actor);

#endif
