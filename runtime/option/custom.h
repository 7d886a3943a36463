/*  runtime/option/custom.h - sources and operations that are in no list: what a program gives to
 * its graph, and what plugins hold.
 *
 *  Each becomes a spec of its own, with the options that a topology writes handed on as text.  A
 *  plugin is loaded when it is first named, so that what is wrong with it is an error with a place
 *  in the file, and what it can do is checked like that of any other source; it stays until the
 *  graph goes.
 *
 *  Ownership: specs belong to the graph, tables to whoever gave them.  Threads: the graph's; what
 *  was found is const.
 */
#ifndef TND_RUNTIME_OPTION_CUSTOM_H
#define TND_RUNTIME_OPTION_CUSTOM_H

#include <tundish/tundish.h>

#include "runtime/option/spec.h"
#include "runtime/base/status.h"

/*  The options of everything given. */
typedef struct {
    const tnd_table_t *table; /* first member of its spec */
    tnd_pairs_t options;
} tnd_custom_options_t;

/*  `directory` is where plugins are looked for first; kept by the caller.  `sources` and `ops` are
 *  the lists that this goes beside.
 */
tnd_custom_t *tnd_custom_new(tnd_arena_t *arena, const char *directory, tnd_parts_fn *sources,
                             tnd_parts_fn *ops);
/*  Closes the plugins; the rest is the arena's.  NULL is allowed. */
void tnd_custom_close(tnd_custom_t *self);

/*  TND_FAILED: the name is none or taken, the version is another, or a function is missing. */
tnd_status_t tnd_custom_source(tnd_custom_t *self, const tnd_source_ops_t *ops, void *shared,
                               tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_custom_op(tnd_custom_t *self, const tnd_op_ops_t *ops, void *shared,
                           tnd_error_t *error) TND_CHECKED;

/*  The index-th of what was given beside the list `parts`; NULL past the last.  `self` may be NULL.
 */
const tnd_table_t *tnd_custom_part(const tnd_custom_t *self, tnd_parts_fn *parts, size_t index);
/*  What the plugin `name` has for that list; NULL: the text says what is wrong. */
const tnd_table_t *tnd_custom_plugin(tnd_custom_t *self, tnd_parts_fn *parts, const char *name,
                                     tnd_error_t *error);

/*  The options as text, for `open`; "" if there are none.  The caller frees it. */
char *tnd_custom_text(const tnd_custom_options_t *options);

#endif
