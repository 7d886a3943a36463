/*  runtime/option/part.h - a part that is chosen by its name, such as a source or an operation:
 * from the list of an option, from what a program gave, or from a plugin.
 *
 *  Threads: the one that reads.
 */
#ifndef TND_RUNTIME_OPTION_PART_H
#define TND_RUNTIME_OPTION_PART_H

#include "runtime/option/field.h"

/*  The part called `name`: of the list, or given.  NULL: there is none. */
const tnd_table_t *tnd_part_find(const tnd_options_context_t *context, const tnd_option_t *option,
                                 const char *name);

/*  `{NAME: {options}}`, `{NAME: }`, just `NAME`, or `{plugin: NAME, options}`. */
void tnd_part_parse(tnd_field_t *field, const tnd_value_t *value, tnd_part_t *out);

/*  A list of such. */
void tnd_part_parse_list(tnd_field_t *field, const tnd_value_t *value, tnd_part_list_t *out);

#endif
