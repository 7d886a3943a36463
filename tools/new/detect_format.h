/*  tools/new/detect_format.h - detects the format, rows and name of data files.
 *
 *  The first bytes of a file decide its format, and of text its name; its source reports its rows.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_DETECT_FORMAT_H
#define TND_TOOLS_NEW_DETECT_FORMAT_H

#include "runtime/base/status.h"
#include "runtime/data/schema.h"
#include "runtime/interface/source.h"
#include "runtime/text/arena.h"
#include "tools/new/left_out.h"
#include "tools/new/picture_size.h"
#include "tools/new/picture_table.h"

/*  A pattern of a source; its first `fixed` bytes are a directory, "/" at the end. */
typedef struct {
    const char *text;
    size_t fixed;
} tnd_file_pattern_t;

typedef struct {
    const char *named;        /* the path as the user would write it */
    const char *path;         /* absolute; the first of several */
    const char *const *paths; /* for a column in several files (file_series.h): all of them */
    size_t path_count;        /* 0: a single file */
    const tnd_file_pattern_t
        *patterns;        /* that match all paths, and perhaps files that are bad rows */
    size_t pattern_count; /* 0: the paths are listed */
    const char *source;   /* "npy" */
    const char *written;  /* the same with its options, as for --as */
    bool records;         /* its rows are records, and several files are one list of them */
    bool pictures;        /* its rows are JPEG and PNG files */
    const tnd_picture_table_t *table; /* of pictures: their labels; NULL: it has none */
    const char *part;        /* "train", "test" or "val" if its name says so; otherwise "" */
    const char *compression; /* "gzip", "zlib", "zstd" or NULL */
    bool in_order;           /* its rows are read from the start, and cannot be shuffled */
    tnd_picture_size_t size; /* of a picture; 0 x 0: unknown */
    uint64_t rows;
    tnd_column_t column;        /* named after the file */
    const tnd_schema_t *schema; /* of records: the columns of the source */
    const char *labels;         /* of records: "labels: 0 cat, 1 dog", or "" */
    const char *const *notes;   /* what the source says of its data */
    size_t note_count;
} tnd_detected_format_t;

typedef struct {
    tnd_detected_format_t *items; /* in the order of the arguments, then alphabetical */
    size_t count;
    tnd_left_out_list_t left_out;       /* what is in directories and not used */
    const tnd_file_pattern_t *patterns; /* of the pictures of all directories */
    size_t pattern_count;
    bool labelled;                    /* their folders are labels */
    bool named;                       /* there are pictures that were named one by one */
    const tnd_picture_table_t *table; /* a file beside them that has their labels; or NULL */
    tnd_picture_size_t largest;       /* of the pictures that can be decoded */
} tnd_detected_format_list_t;

/*  The source that reads the file at `path`, as written for --as.  Errors: TND_FAILED as below. */
tnd_status_t tnd_detected_source(const char **written_p, const char *path,
                                 tnd_error_t *error) TND_CHECKED;

/*  How data_folder.h and data_search.h add what they find. */
/*  Whether file `index` of `files` that a source has opened has no rows. */
bool tnd_detected_empty(const tnd_source_facts_t *facts, size_t files, size_t index);

void tnd_detected_append(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                         const tnd_detected_format_t *item);

/*  Adds a file; `path` is borrowed.  `optional`: a file that cannot be read or has an unknown format is
 *  left out, with the reason.  Errors: TND_FAILED as above. */
tnd_status_t tnd_detected_add_file(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                   const char *path, const char *as, bool optional,
                                   tnd_error_t *error) TND_CHECKED;

/*  Leaves out a file, and says what it is. */
void tnd_detected_leave_out(tnd_detected_format_list_t *self, tnd_arena_t *arena, const char *path);

/*  "train", "test" or "val" if the last name of a path says so; otherwise "". */
const char *tnd_detected_part(const char *path);

/*  What the source of an item reads: its patterns, or its paths. */
const char *const *tnd_detected_files(const tnd_detected_format_t *item, tnd_arena_t *arena,
                                      size_t *count_p);

/*  Opens what has records (file_series.h joins their files before), which look does not do: an index
 *  may have to be built, of several files at once.  Errors: TND_FAILED if a file cannot be read. */
tnd_status_t tnd_detected_format_open(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const tnd_source_scope_t *scope,
                                      tnd_error_t *error) TND_CHECKED;

/*  Opens an item whose source has changed: its columns, rows and notes are then those of this source.
 *  Errors: as above. */
tnd_status_t tnd_detected_item_open(tnd_detected_format_t *item, tnd_arena_t *arena,
                                    const tnd_source_scope_t *scope,
                                    tnd_error_t *error) TND_CHECKED;

/*  Gives each column a unique name, from the part of its file's name that differs from the others:
 *  train-images-idx3-ubyte.gz becomes `image`, x_train.npy becomes `x`. */
void tnd_detected_format_name(tnd_detected_format_t *items, size_t count);

#endif
