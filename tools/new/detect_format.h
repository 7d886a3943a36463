/*  tools/new/detect_format.h - detects the format, rows and name of data files.
 *
 *  The first bytes of a file decide its format, not its name; its source reports its rows.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_DETECT_FORMAT_H
#define TND_TOOLS_NEW_DETECT_FORMAT_H

#include "runtime/data/schema.h"
#include "runtime/text/arena.h"
#include "runtime/base/status.h"

typedef struct {
    const char *path;         /* absolute; the first of several */
    const char *const *paths; /* for a column in several files (file_series.h): all of them */
    size_t path_count;        /* 0: a single file */
    const char *source;       /* "npy" */
    const char *part;         /* "train", "test" or "val" if its name says so; otherwise "" */
    uint64_t rows;
    tnd_column_t column; /* named after the file */
} tnd_detected_format_t;

typedef struct {
    tnd_detected_format_t *items; /* in the order of the arguments, then alphabetical */
    size_t count;
    size_t left_out; /* files of directories whose format is unknown */
} tnd_detected_format_list_t;

/*  Inspects files, directories and patterns such as `data/x*.npy`.  Errors: TND_FAILED if one does
 *  not exist, cannot be read, or has an unknown format; the text describes its content. */
tnd_status_t tnd_detected_format_look(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const char *const *names, size_t count,
                                      tnd_error_t *error) TND_CHECKED;

/*  Gives each column a unique name, from the part of its file's name that differs from the others:
 *  train-images-idx3-ubyte.gz becomes `image`, x_train.npy becomes `x`. */
void tnd_detected_format_name(tnd_detected_format_t *items, size_t count);

#endif
