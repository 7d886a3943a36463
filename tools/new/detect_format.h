/*  tools/new/detect_format.h - detects the format, rows and name of data files.
 *
 *  The first bytes of a file decide its format, and of text its name; its source reports its rows.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_DETECT_FORMAT_H
#define TND_TOOLS_NEW_DETECT_FORMAT_H

#include "runtime/data/schema.h"
#include "runtime/interface/source.h"
#include "runtime/text/arena.h"
#include "runtime/base/status.h"

typedef struct {
    const char *path;         /* absolute; the first of several */
    const char *const *paths; /* for a column in several files (file_series.h): all of them */
    size_t path_count;        /* 0: a single file */
    const char *source;       /* "npy" */
    const char *written;      /* the same with its options, as for --as */
    bool records;             /* its rows are records, and several files are one list of them */
    bool pictures;            /* its rows are JPEG and PNG files */
    const char *part;         /* "train", "test" or "val" if its name says so; otherwise "" */
    const char *compression;  /* "gzip", "zlib", "zstd" or NULL */
    bool in_order;            /* its rows are read from the start, and cannot be shuffled */
    uint64_t rows;
    tnd_column_t column;        /* named after the file */
    const tnd_schema_t *schema; /* of records: the columns of the source */
} tnd_detected_format_t;

typedef struct {
    tnd_detected_format_t *items; /* in the order of the arguments, then alphabetical */
    size_t count;
    size_t left_out; /* files of directories whose format is unknown */
} tnd_detected_format_list_t;

/*  The source that reads the file at `path`, as written for --as.  Errors: TND_FAILED as below. */
tnd_status_t tnd_detected_source(const char **written_p, const char *path,
                                 tnd_error_t *error) TND_CHECKED;

/*  Inspects files, directories and patterns such as `data/x*.npy`.  `as`: the source of all files,
 *  as written for --as; NULL: their contents decide.  Errors: TND_FAILED if one does
 *  not exist, cannot be read, or has an unknown format; the text describes its content. */
tnd_status_t tnd_detected_format_look(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const char *const *names, size_t count, const char *as,
                                      tnd_error_t *error) TND_CHECKED;

/*  Opens what has records (file_series.h joins their files before), which look does not do: an index
 *  may have to be built, of several files at once.  Errors: TND_FAILED if a file cannot be read. */
tnd_status_t tnd_detected_format_open(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const tnd_source_scope_t *scope,
                                      tnd_error_t *error) TND_CHECKED;

/*  Gives each column a unique name, from the part of its file's name that differs from the others:
 *  train-images-idx3-ubyte.gz becomes `image`, x_train.npy becomes `x`. */
void tnd_detected_format_name(tnd_detected_format_t *items, size_t count);

#endif
