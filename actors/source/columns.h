/*  actors/source/columns.h - columns whose rows lie one after the other, in memory or in files:
 *  what most sources come down to.
 *
 *  A strand is a list of files with records of one size, as one long array of records; a column is
 *  a place in the records of a strand.  Formats with a file a column have a strand a column,
 *  formats with all columns in a record have one strand.  A ragged column is a strand too, of the
 *  files of its values, whose records are the steps along the first axis of a row; a file of splits
 *  (splits.h) beside each says which of them make a row.
 *
 *  The file of a row is found by a division where the files have equal counts, else by a binary
 *  search.  A mapped file takes one mapping, a file that is read one descriptor.
 *
 *  Lifecycle: zeroed; tnd_columns_open, or tnd_columns_strand and tnd_columns_add;
 *  tnd_columns_seal; any number of reads; tnd_columns_close, also after a failure of the others.
 *
 *  Threads: one at a time; reads on any number at once. */
#ifndef TND_ACTORS_SOURCE_COLUMNS_H
#define TND_ACTORS_SOURCE_COLUMNS_H

#include <stdatomic.h>

#include "actors/file/failures.h"
#include "actors/file/files.h"
#include "actors/source/stored.h"
#include "runtime/data/loader.h"
#include "runtime/option/option_parse.h"
#include "runtime/interface/source.h"

typedef struct {
    const char *what;  /* for errors: "column `image`"; borrowed */
    tnd_files_t files; /* those that are opened */
    uint64_t found;    /* hash of the names of all, where a pattern found them */
    tnd_stored_t *stored;
    tnd_stored_t *splits; /* of each file, of a ragged column; else NULL */
    tnd_files_t splits_files;
    uint64_t longest; /* of a ragged column: the length of a row, at most */
    size_t count, splits_count;
    size_t record; /* bytes */
    uint64_t rows;
    uint64_t even;       /* rows of every file but the last, which has no more; 0: they differ */
    uint64_t *first;     /* row that each file begins with */
    uint64_t *start;     /* bytes from `base` to that row */
    const uint8_t *base; /* the lowest first row */
    tnd_buffer_t *all;   /* holds every file */
    bool copies;         /* at least one file is read */
    int list;            /* which of the lists that are written has its offsets; -1: none.  Of a
                            ragged column the next one has its lengths */
} tnd_strand_t;

/*  The files of a ragged column, as they are written down. */
typedef struct {
    tnd_strings_t values, splits;
    uint64_t max; /* the length of its longest row; 0: what the splits say */
} tnd_ragged_files_t;

typedef struct {
    tnd_schema_t schema;
    uint32_t strand_of[TND_COLUMNS_MAX];
    size_t at[TND_COLUMNS_MAX]; /* bytes from the start of a record */
    tnd_strand_t strands[TND_COLUMNS_MAX];
    uint32_t strand_count;
    tnd_loader_t *loader; /* of all files; NULL: they are not loaded as a whole */
    uint32_t ahead;       /* rows that are requested ahead; 0: none */
    atomic_uint idle;     /* rows in a row of which all had been requested before */
    char whats[TND_COLUMNS_MAX][TND_COLUMN_NAME_MAX + 16];
    tnd_source_file_t *files; /* of all strands, once sealed */
    size_t file_count;
} tnd_columns_t;

/*  Adds a strand of the files that `written` names.  `record`: bytes of a record, 0: of a row of
 *  the first file; then all must have its type and shape.  `context` is handed to `open`. */
tnd_status_t tnd_columns_strand(tnd_columns_t *self, const char *what, const tnd_strings_t *written,
                                size_t record, tnd_stored_open_fn *open, const void *context,
                                const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
/*  Adds a strand of rows in memory; takes *stored. */
void tnd_columns_array(tnd_columns_t *self, const char *what, tnd_stored_t *stored);

/*  Adds a column to the last strand, `at` bytes after the start of its records.  TND_FAILED: the
 *  name or shape does not fit. */
tnd_status_t tnd_columns_add(tnd_columns_t *self, const char *name, tnd_dtype_t dtype,
                             uint32_t rank, const uint64_t *shape, size_t at,
                             tnd_error_t *error) TND_CHECKED;

/*  All columns are there: checks that their strands have as many rows, file by file where lanes
 *  share files, decides whether files are mapped or read, and says what there is. */
tnd_status_t tnd_columns_seal(tnd_columns_t *self, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  All of it for a map from column to files, of which each holds one column, or to the
 *  tnd_ragged_files_t of one.  On failure all is closed again. */
tnd_status_t tnd_columns_open(tnd_columns_t *self, const tnd_pairs_t *columns,
                              tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  As `ahead_rows` and `ahead` of runtime/interface/source.h. */
uint32_t tnd_columns_ahead_rows(const tnd_columns_t *self);
void tnd_columns_ahead(tnd_columns_t *self, const uint64_t *index, uint32_t count);

/*  As `where` of runtime/interface/source.h: in the files of the first column. */
void tnd_columns_where(const tnd_columns_t *self, uint64_t index, tnd_source_place_t *place);

/*  As `read` of runtime/interface/source.h: nothing is copied of mapped files.  Rows in a run
 *  become a packed block, others one gathered by the index list, or by lists of offsets where there
 *  are several files, or rows are ragged.  TND_REFUSED: a ragged row is longer than the `max` that
 *  was written down. */
tnd_status_t tnd_columns_read(tnd_columns_t *self, const tnd_source_call_t *call,
                              tnd_block_t *block, tnd_error_t *error) TND_CHECKED;

void tnd_columns_close(tnd_columns_t *self);

#endif
