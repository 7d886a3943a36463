/*  tools/new/detect_format.h - data files as somebody has them: which format, which rows, which
 * name.
 *
 *  The format is known by the first bytes, whatever a file is called; the rows are those that its
 *  source says it has.
 *
 *  Ownership: texts live in the arena.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_FOUND_H
#define TUNDISH_TOOLS_FOUND_H

#include "runtime/data/schema.h"
#include "runtime/text/arena.h"
#include "runtime/base/status.h"

typedef struct {
    const char *path;         /* absolute; of several the first */
    const char *const *paths; /* of a column in several files (parts.h): all of them */
    size_t path_count;        /* 0: it is a single file */
    const char *source;       /* "npy" */
    const char *part;         /* "train", "test" or "val" if its name says so; else "" */
    uint64_t rows;
    tnd_column_t column; /* named after the file */
} tnd_detected_format_t;

typedef struct {
    tnd_detected_format_t *items; /* in the order in which they were named; those of a directory or
                                   * pattern in alphabetical order */
    size_t count;
    size_t left_out; /* files of directories that are in no known format */
} tnd_detected_format_list_t;

/*  Looks at files, directories and patterns such as `data/x*.npy`.  TND_FAILED: one is not there,
 *  cannot be read, or is in no format that is known: the text says what it looks like instead.
 */
tnd_status_t tnd_detected_format_look(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const char *const *names, size_t count,
                                      tnd_error_t *error) TND_CHECKED;

/*  Gives each column a name of its own, made of what its file's name does not share with the
 *  others': train-images-idx3-ubyte.gz becomes `image`, x_train.npy becomes `x`.
 */
void tnd_detected_format_name(tnd_detected_format_t *items, size_t count);

#endif
