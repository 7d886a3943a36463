/*  runtime/graph/canon.h - options as canonical text: equal meaning, equal text.
 *
 *  What programs compare (a fingerprint, a difference): defaults are explicit, quantities stand in
 *  their smallest unit.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_GRAPH_CANON_H
#define TND_RUNTIME_GRAPH_CANON_H

#include <stdio.h>

#include "runtime/graph/option.h"

/*  Writes the options whose role is in the set `roles` as a map on one line. */
void tnd_options_print(const tnd_table_t *table, const void *options, unsigned roles, FILE *out);

/*  Writes pairs as a map on one line, in the order written. */
void tnd_pairs_print(const tnd_pairs_t *self, FILE *out);

#endif
