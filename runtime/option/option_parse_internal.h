/*  runtime/option/option_parse_internal.h - one option while it is parsed.
 *
 *  option_parse.c walks a map by its table, field.c fills the field of an option, part.c reads
 *  sources and operations, and option_errors.c reports values that an option does not take.
 *
 *  Threads: the one that parses. */
#ifndef TND_RUNTIME_OPTION_OPTION_PARSE_INTERNAL_H
#define TND_RUNTIME_OPTION_OPTION_PARSE_INTERNAL_H

#include "runtime/option/option_parse.h"
#include "runtime/text/quantity.h"

typedef struct {
    const tnd_options_context_t *context;
    const tnd_option_t *option;
    const char *key; /* as written: differs from option->name for "*" */
    bool failed;     /* after an error, which has been reported */
} tnd_field_t;

/*  Fills `out`, of the C type of the option.  `value` is not null. */
void tnd_field_parse(tnd_field_t *self, const tnd_value_t *value, void *out);
/*  Adds a key that the table does not name, by its option "*".  `pairs` has room for it. */
void tnd_field_pair(tnd_field_t *self, const tnd_value_entry_t *entry, tnd_pairs_t *pairs);

/*  Parses `{NAME: {options}}`, `{NAME: }`, `NAME` or `{plugin: NAME, options}`. */
void tnd_part_parse(tnd_field_t *field, const tnd_value_t *value, tnd_part_t *out);
/*  Parses a list of parts. */
void tnd_part_parse_list(tnd_field_t *field, const tnd_value_t *value, tnd_part_list_t *out);

/* Each of these reports an error with what was most likely meant, and marks the field as failed. */

/*  A list, a map or a word where another type is expected. */
void tnd_option_error_type(tnd_field_t *field, const tnd_value_t *value);
/*  A number or `true` in quotes. */
void tnd_option_error_quoted(tnd_field_t *field, const tnd_value_t *value);
/*  A number that cannot be read; `outcome` is not TND_QUANTITY_OK. */
void tnd_option_error_number(tnd_field_t *field, const tnd_value_t *value, tnd_quantity_t outcome);
/*  A path with an unknown variable. */
/*  The length of the variable of paths that `text` begins with; 0: none.  *value_p: its value, or
 *  NULL; `variables` may be NULL. */
size_t tnd_option_variable(const char *text, const tnd_path_variables_t *variables,
                           const char **value_p);
void tnd_option_error_variable(tnd_field_t *field, const tnd_value_t *value);

#endif
