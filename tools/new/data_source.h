/*  tools/new/data_source.h - a source over given data files, outside of a graph.
 *
 *  Ownership: options and texts live in the arena.
 *  Threads: choose on one; open and close of different ones on any. */
#ifndef TND_TOOLS_NEW_DATA_SOURCE_H
#define TND_TOOLS_NEW_DATA_SOURCE_H

#include "runtime/interface/source.h"
#include "runtime/text/arena.h"

typedef struct {
    const tnd_source_t *source;
    const void *options;
    void *state; /* NULL: not open */
    tnd_source_facts_t facts;
} tnd_data_source_t;

/*  The table of the source called `name`; NULL if it does not exist. */
const tnd_table_t *tnd_data_source_table(const char *name);
/*  Whether the source has an option of that name. */
bool tnd_data_source_takes(const tnd_table_t *table, const char *option);

/*  The name of a source as written for --as: "csv" or "csv: {header: true}".  Errors: TND_FAILED if
 *  it is not valid or names no source. */
tnd_status_t tnd_data_source_name(const char **name_p, tnd_arena_t *arena, const char *written,
                                  tnd_error_t *error) TND_CHECKED;

/*  Parses the options of a source for these files: `written` as above, and `files`, or one column
 *  where each column has its own.  `more`: another option and its value, or NULL.  Errors:
 *  TND_FAILED if they are not valid. */
tnd_status_t tnd_data_source_choose(tnd_data_source_t *self, tnd_arena_t *arena,
                                    const char *written, const char *const *paths, size_t count,
                                    const char *const more[2], tnd_error_t *error) TND_CHECKED;

/*  The value of an option, as the struct of the source has it; NULL: it has no option of that name. */
const void *tnd_data_source_option(const tnd_data_source_t *self, const char *name);

/*  Errors: as the source's. */
tnd_status_t tnd_data_source_open(tnd_data_source_t *self, const tnd_source_scope_t *scope,
                                  tnd_error_t *error) TND_CHECKED;
/*  Idempotent. */
void tnd_data_source_close(tnd_data_source_t *self);

#endif
