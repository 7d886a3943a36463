/*  tools/machine/uneven_end.h - warns of a last batch that leaves replicas without rows.
 *
 *  A step that divides by the rows of its replica, instead of its weight, then computes NaN.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_MACHINE_UNEVEN_END_H
#define TND_TOOLS_MACHINE_UNEVEN_END_H

#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"
#include "runtime/text/diagnostic.h"

/*  Reports it for the batcher of a chain, whose stream is known.  Nothing is reported where operations
 *  drop or add rows, because the number of rows is then known only at the end. */
void tnd_uneven_end_check(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics);

#endif
