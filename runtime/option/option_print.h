/*  runtime/option/option_print.h - prints options as text, in canonical form or for people.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OPTION_OPTION_PRINT_H
#define TND_RUNTIME_OPTION_OPTION_PRINT_H

#include <stdio.h>

#include "runtime/option/option.h"

/*  Writes the options whose role is in the set `roles` as a map on one line of canonical text:
 *  structs with equal meaning give equal text.  Defaults are explicit, quantities are in their
 *  smallest unit. */
void tnd_options_print(const tnd_table_t *table, const void *options, unsigned roles, FILE *out);

/*  Writes all options as people write them: 64MiB, 10s, `forever`; defaults are explicit. */
void tnd_options_show(const tnd_table_t *table, const void *options, FILE *out);

/*  Writes one of the options of a struct as people write it. */
void tnd_option_show(const tnd_option_t *option, const void *options, FILE *out);

/*  Writes pairs as a map on one line, in the order written. */
void tnd_pairs_print(const tnd_pairs_t *self, FILE *out);
/*  The pairs as the text that a plugin's `open` takes; "" without pairs.  The caller frees it. */
char *tnd_pairs_text(const tnd_pairs_t *self);

/*  What an option expects, for errors and help: "a number of rows from 1", "a size, such as 64MiB".
 *  The text is stored in `arena`. */
const char *tnd_option_expects(tnd_arena_t *arena, const tnd_option_t *option);

#endif
