/*  runtime/option/option_parse.h - fills a struct from a map, by an option table.
 *
 *  Every error of the map is reported, each with its place and with what was most likely meant.
 *
 *  Threads: a parsed struct is read-only.
 */
#ifndef TND_RUNTIME_OPTION_OPTION_PARSE_H
#define TND_RUNTIME_OPTION_OPTION_PARSE_H

#include "runtime/text/diagnostic.h"
#include "runtime/option/option.h"

typedef struct tnd_custom tnd_custom_t;

typedef struct {
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics;
    const char *data;    /* what `${data}` stands for; NULL leaves paths as they are written */
    tnd_custom_t *given; /* parts that are in no list; NULL: there are none */
    bool lenient;        /* a map with errors still becomes a struct, of what could be read */
} tnd_options_context_t;

/*  Parses a map by a table into a new struct in the arena; `map` NULL or null means no options.
 *  Reports every error of the map, not only the first, and returns NULL if there was one.  `what`
 *  and `where` name the thing in errors about keys that are missing: "actor `batch`".
 */
void *tnd_options_parse(const tnd_options_context_t *context, const tnd_table_t *table,
                        const tnd_value_t *map, const char *what, tnd_mark_t where);

/*  Parses one value, which is not null, by one option into `out`, a field of the option's C type.
 *  False after an error, which is reported.
 */
bool tnd_option_parse(const tnd_options_context_t *context, const tnd_option_t *option,
                      const tnd_value_t *value, void *out);

#endif
