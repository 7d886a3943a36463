/*  runtime/topology/links.h - links between actors: from texts such as `read -> prep` to links
 * between ports.
 *
 *  Threads: the one that resolves.
 */
#ifndef TND_RUNTIME_TOPOLOGY_LINKS_H
#define TND_RUNTIME_TOPOLOGY_LINKS_H

#include "runtime/topology/resolver.h"

/*  Reads `links:`, a list or one text; NULL: there are none.  The actors have been read. */
void tnd_links_resolve(tnd_resolver_t *self, const tnd_value_t *links);

/*  Reports the first cycle of links, calls apart. */
void tnd_links_check_cycles(tnd_resolver_t *self);

/*  Reports ports of an actor that lack a link or have too many. */
void tnd_links_check_ports(tnd_resolver_t *self, uint32_t actor);

#endif
