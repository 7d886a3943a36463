/*  runtime/topology/overlay.h - overlays may place, secure and tune, not change the graph.
 *
 *  Threads: the one that checks. */
#ifndef TND_RUNTIME_TOPOLOGY_OVERLAY_H
#define TND_RUNTIME_TOPOLOGY_OVERLAY_H

#include "runtime/topology/topology.h"

/*  Reports where an overlay changes the graph of `base`; both are whole trees.  Returns the part of
 *  the overlay that can be merged, so that later checks are meaningful. */
tnd_value_t *tnd_overlay_check(const tnd_options_context_t *context, const tnd_value_t *base,
                               tnd_value_t *over);

/*  Reports every option of role GRAPH that differs between `over` and `base`.  `table` reads both
 *  maps; `base` may be NULL.  `what` names the owner in errors. */
void tnd_overlay_check_options(const tnd_options_context_t *context, const tnd_table_t *table,
                               const tnd_value_t *base, const tnd_value_t *over, const char *what);

#endif
