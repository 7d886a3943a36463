/*  runtime/topology/error_location.h - where in a file that was written which an error of the world
 * is about.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_TOPOLOGY_ERROR_LOCATION_H
#define TND_RUNTIME_TOPOLOGY_ERROR_LOCATION_H

#include "runtime/topology/topology.h"

/*  Where that was written which an error of the world about `actor` is about: the value that its
 *  text names (a path, a column; of several the longest) inside the part `about` (tnd_error_t;
 *  NULL: inside all of its options), else that part, else the actor.
 */
tnd_mark_t tnd_error_location(const tnd_topology_actor_t *actor, const void *about,
                              const char *text);

/*  Where a text of the options was written, found by its address; `otherwise` if nowhere. */
tnd_mark_t tnd_error_location_text(const tnd_topology_t *self, const char *text,
                                   tnd_mark_t otherwise);

#endif
