/*  runtime/option/option_print.h - options as text: spelt in one way for programs, in another for
 * people.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_OPTION_OPTION_PRINT_H
#define TND_RUNTIME_OPTION_OPTION_PRINT_H

#include <stdio.h>

#include "runtime/option/option.h"

/*  Writes the options whose role is in the set `roles` as a map on one line of canonical text, so
 *  that two structs with equal meaning give equal text: defaults are explicit, quantities stand in
 *  their smallest unit.
 */
void tnd_options_print(const tnd_table_t *table, const void *options, unsigned roles, FILE *out);

/*  Writes all of them as people write them: 64MiB, 10s, `forever`; defaults are explicit too. */
void tnd_options_show(const tnd_table_t *table, const void *options, FILE *out);

/*  Writes pairs as a map on one line, in the order written. */
void tnd_pairs_print(const tnd_pairs_t *self, FILE *out);

#endif
