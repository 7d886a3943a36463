/*  runtime/option/custom.h - sources and operations of programs and plugins.
 *
 *  Each gets a spec of its own; its options are passed on as text.  A plugin is loaded when it is
 *  first named, so that its errors have a place in the file and its abilities are checked like
 *  those of other sources.  It stays loaded until the graph is destroyed.
 *
 *  Ownership: specs belong to the graph, tables to the program or plugin.  Threads: the graph's;
 *  results are const. */
#ifndef TND_RUNTIME_OPTION_CUSTOM_H
#define TND_RUNTIME_OPTION_CUSTOM_H

#include <tundish/tundish.h>

#include "runtime/base/status.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/spec.h"

/*  The options of a custom source or operation. */
typedef struct {
    const tnd_table_t *table; /* first member of its spec */
    tnd_pairs_t options;
} tnd_custom_options_t;

/*  `directory` is searched for plugins first; borrowed.  `sources` and `ops` are the lists of
 *  built-in items. */
tnd_custom_t *tnd_custom_new(tnd_arena_t *arena, const char *directory, tnd_parts_fn *sources,
                             tnd_parts_fn *ops);
/*  Closes the plugins; the arena owns the rest.  `self` may be NULL. */
void tnd_custom_close(tnd_custom_t *self);

/*  Errors: TND_FAILED if the name is invalid or in use, the version differs, or a function is
 *  missing. */
tnd_status_t tnd_custom_source(tnd_custom_t *self, const tnd_source_ops_t *ops, void *shared,
                               tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_custom_op(tnd_custom_t *self, const tnd_op_ops_t *ops, void *shared,
                           tnd_error_t *error) TND_CHECKED;

/*  The index-th custom item of the kind of `parts`; NULL after the last.  `self` may be NULL. */
const tnd_table_t *tnd_custom_part(const tnd_custom_t *self, tnd_parts_fn *parts, size_t index);
/*  A line "plugin SORT NAME BUILD" for each plugin that was named, in the order of their names; the
 *  arena owns it. */
const char *tnd_custom_plugins(const tnd_custom_t *self);
/*  The table of plugin `name` for that list; NULL and a text on failure. */
const tnd_table_t *tnd_custom_plugin(tnd_custom_t *self, tnd_parts_fn *parts, const char *name,
                                     tnd_error_t *error);

#endif
