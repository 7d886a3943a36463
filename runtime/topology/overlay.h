/*  runtime/topology/overlay.h - what a file may say that lies on a graph: it may place, secure and
 * tune, and changes nothing of what is computed.
 *
 *  Threads: the one that checks.
 */
#ifndef TND_RUNTIME_TOPOLOGY_OVERLAY_H
#define TND_RUNTIME_TOPOLOGY_OVERLAY_H

#include "runtime/topology/topology.h"

/*  Reports where an overlay changes the graph of `base`: both are whole trees.  Returns what of the
 *  overlay can be merged in spite of that, so that the checks that follow make sense.
 */
tnd_value_t *tnd_overlay_check(const tnd_options_context_t *context, const tnd_value_t *base,
                               tnd_value_t *over);

/*  Reports every option of GRAPH role by which `over` differs from `base`; both are maps that
 *  `table` reads, `base` may be NULL.  `what` names the thing in errors.
 */
void tnd_overlay_check_options(const tnd_options_context_t *context, const tnd_table_t *table,
                               const tnd_value_t *base, const tnd_value_t *over, const char *what);

#endif
