/*  runtime/topology/error_location.h - finds the place in a file that caused a runtime error.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TOPOLOGY_ERROR_LOCATION_H
#define TND_RUNTIME_TOPOLOGY_ERROR_LOCATION_H

#include "runtime/topology/topology.h"

/*  The place for an error about `actor` with this text: the longest value (path, column) that the
 *  text names inside the part `about` (see tnd_error_t; NULL: inside all options of the actor),
 *  else that part, else the actor.  If `about` is a character of the text of an option: its place. */
tnd_mark_t tnd_error_location(const tnd_topology_actor_t *actor, const void *about,
                              const char *text);

/*  The place of a text of the options, found by its address; `otherwise` if it is not found. */
tnd_mark_t tnd_error_location_text(const tnd_topology_t *self, const char *text,
                                   tnd_mark_t otherwise);

#endif
