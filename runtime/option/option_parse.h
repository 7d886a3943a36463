/*  runtime/option/option_parse.h - fills a struct from a map by an option table.
 *
 *  Reports every error of the map, with its place and the most likely correction.
 *
 *  Threads: a parsed struct is read-only. */
#ifndef TND_RUNTIME_OPTION_OPTION_PARSE_H
#define TND_RUNTIME_OPTION_OPTION_PARSE_H

#include "runtime/option/option.h"
#include "runtime/text/diagnostic.h"

typedef struct tnd_custom tnd_custom_t;

/*  The values of variables in paths; NULL: `${NAME}` stays as it is. */
typedef struct {
    const char *data, *rank, *local_rank, *hosts;
} tnd_path_variables_t;

typedef struct {
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics;
    tnd_path_variables_t variables;
    tnd_custom_t *custom; /* custom sources and operations, or NULL */
    bool lenient;         /* a map with errors still gives a struct, with all valid options */
} tnd_options_context_t;

/*  Parses a map into a new struct in the arena; `map` NULL or null: no options.  Returns NULL after
 *  an error.  `what` and `where` are used in errors about missing keys: "actor `batch`". */
void *tnd_options_parse(const tnd_options_context_t *context, const tnd_table_t *table,
                        const tnd_value_t *map, const char *what, tnd_mark_t where);

/*  Parses one value, which is not null, into `out`, a field of the option's C type.  Returns false
 *  after an error, which is reported. */
bool tnd_option_parse(const tnd_options_context_t *context, const tnd_option_t *option,
                      const tnd_value_t *value, void *out);

/*  `text` with the variables that have a value replaced; *known_p: it has no others. */
const char *tnd_options_replace(tnd_arena_t *arena, const tnd_path_variables_t *variables,
                                const char *text, bool *known_p);

/*  The part named `name`, from the list of the option or given by the program, or NULL. */
const tnd_table_t *tnd_part_find(const tnd_options_context_t *context, const tnd_option_t *option,
                                 const char *name);

#endif
