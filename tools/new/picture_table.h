/*  tools/new/picture_table.h - a table beside pictures that has their labels: labels.csv with `id,breed` beside
 *  train/0001.jpg.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_PICTURE_TABLE_H
#define TND_TOOLS_NEW_PICTURE_TABLE_H

#include <stddef.h>

#include "runtime/option/option.h"
#include "runtime/text/arena.h"

typedef struct {
    const char *path;         /* absolute */
    const char *field;        /* that names the files */
    const char *label;        /* the field with their classes */
    const char *delimiter;    /* as written in a topology: "," or "\t" */
    const char *const *order; /* of classes that are numbers and that sorting would not order */
    size_t order_count;
} tnd_picture_table_t;

/*  Looks for the fields of the table `path` that name the files of these patterns and their classes: each
 *  record names a file, and most files are named.  NULL: it has none. */
const tnd_picture_table_t *tnd_picture_table_read(tnd_arena_t *arena, const char *path,
                                                  const tnd_strings_t *patterns);

/*  The options of the source `folder` that read it, "column: image, label: breed, table: PATH, path: id";
 *  `path` is written as it is. */
const char *tnd_picture_table_options(const tnd_picture_table_t *self, tnd_arena_t *arena,
                                      const char *path);

#endif
