/*  runtime/option/field.h - one option while it is read: its value fills a field of a struct.
 *
 *  Threads: the one that reads.
 */
#ifndef TND_RUNTIME_OPTION_FIELD_H
#define TND_RUNTIME_OPTION_FIELD_H

#include "runtime/option/option_parse.h"

typedef struct {
    const tnd_options_context_t *context;
    const tnd_option_t *option;
    const char *key; /* as written: differs from option->name for "*" */
    bool failed;     /* after an error, which has been reported */
} tnd_field_t;

/*  Fills `out`, of the C type of the option.  `value` is not null. */
void tnd_field_parse(tnd_field_t *self, const tnd_value_t *value, void *out);

/*  Adds a key that the table does not name, by its option "*"; there is room for it. */
void tnd_field_pair(tnd_field_t *self, const tnd_value_entry_t *entry, tnd_pairs_t *pairs);

#endif
