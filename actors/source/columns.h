/*  actors/source/columns.h - columns stored as arrays, in memory or in files; most sources use it.
 *
 *  A strand is a list of files with records of one size, read as one long array of records; a
 *  column is a part of each record.  Formats with a file per column have a strand per column;
 *  formats with all columns in a record have one strand.  A ragged column is a strand of its files
 *  of values: a record is one step along the first axis of a row, and a file of splits (splits.h)
 *  per file divides the records into rows.
 *
 *  The file of a row is found by a multiplication if the files have equal counts, else by a binary
 *  search.  A mapped file needs one mapping, a file that is read one descriptor.
 *
 *  Lifecycle: zeroed; tnd_columns_open, or tnd_columns_strand and tnd_columns_add;
 *  tnd_columns_seal; any number of reads; tnd_columns_close, also after a failure.
 *
 *  Threads: one at a time; reads on any number at once. */
#ifndef TND_ACTORS_SOURCE_COLUMNS_H
#define TND_ACTORS_SOURCE_COLUMNS_H

#include <stdatomic.h>

#include "actors/file/failures.h"
#include "actors/file/files.h"
#include "actors/stored/chunk_hashes.h"
#include "actors/stored/record_options.h"
#include "actors/stored/stored.h"
#include "runtime/data/loader.h"
#include "runtime/interface/source.h"
#include "runtime/option/option_parse.h"

/*  A format of files of records, each of which is a row of bytes. */
typedef struct {
    tnd_record_finder_t finder;
    size_t around; /* so many bytes of every record are not its content */
    size_t ending; /* and at its end up to so many more */
    size_t head; /* the content begins after so many bytes and has all but `around`, so that it need
                      not be looked at to be found; 0: only `content` finds it */
    bool keeps_mark; /* a byte order mark at the start of a file stays in its first record */
    /*  A hash of what `file` of the list begins with before its records; 0: nothing.  NULL: all files begin
     *  alike.  Threads: any number at once, for other files. */
    uint64_t (*head_of)(void *context, size_t file, tnd_record_window_t *window);
    void *head_context;
    /*  Whether bytes begin a record; NULL: any bytes may. */
    bool (*begins)(const uint8_t *data, size_t size);
    /*  Checks a record and finds its content: *size_p bytes from *first_p on.  `own`: `data` is a
     *  copy that may be changed.  TND_AGAIN: it must be; call it again with a copy.  TND_REFUSED:
     *  the record is damaged. */
    tnd_status_t (*content)(uint8_t *data, size_t size, bool own, size_t *first_p, size_t *size_p,
                            tnd_error_t *error);
} tnd_record_format_t;

/*  A bad record of a file that was spooled. */
typedef struct {
    uint64_t row, offset; /* in the content of the compressed file */
    char *why;
} tnd_lost_row_t;

/*  A compressed file that was spooled (columns_spool.h). */
typedef struct {
    tnd_source_file_t file; /* the compressed one */
    char *values;           /* the path of its values; NULL: the file was not spooled */
    tnd_lost_row_t *lost;
    size_t lost_count;
    tnd_chunk_list_t list;     /* of what it was spooled to */
    tnd_chunk_hashes_t hashes; /* of its values */
    char *list_path;           /* NULL: `list` is not open */
} tnd_spooled_t;

typedef struct {
    const char *what;  /* for errors: "column `image`"; borrowed */
    tnd_files_t files; /* the files of this lane */
    uint64_t found;    /* hash of all file names that a pattern matched; 0: no pattern */
    tnd_stored_t *stored;
    tnd_stored_t *splits; /* of each file of a ragged column; else NULL */
    tnd_files_t splits_files;
    const tnd_record_format_t *format; /* of records, whose `splits` are indexes; NULL: none */
    const tnd_spool_options_t *spool;
    tnd_spooled_t *spooled; /* of each file; NULL: none are spooled */
    uint64_t longest;       /* of a ragged column: the length of a row, at most */
    size_t count, splits_count;
    size_t record; /* bytes */
    uint64_t rows;
    uint64_t inverse;    /* the file of a row is the row * inverse / 2^64; 0: it is searched for */
    uint64_t *first;     /* the first row of each file */
    uint64_t *start;     /* bytes from `base` to that row */
    uint64_t *file_rows; /* rows of each file */
    _Atomic uint32_t
        *there;           /* of each file, the tick (mapping.h) in which nothing of it, and of its
                                splits, has to be brought in */
    bool *empty;          /* of each file that was named, whether it was left out; NULL: none was */
    size_t other_head;    /* the first file that begins in another way than file 0; 0: none does */
    size_t named;         /* files that were named */
    uint64_t *named_rows; /* rows of each of them */
    const uint8_t *base;  /* the lowest first row */
    tnd_buffer_t *all;    /* refers to the buffers of all files */
    tnd_row_check_t check; /* of records that were not checked when they were read */
    bool copies;           /* at least one file is read, not mapped, or records are short */
    int list; /* which of the lists that are written has its offsets; -1: none, so that those of several
                 files take the place of the index.  Of a ragged column the next one has its lengths */
} tnd_strand_t;

/*  Records that are read in order: where a file is open. */
typedef struct {
    bool used;          /* some file is compressed, so all are read in order */
    tnd_stored_t *file; /* that the window shows; NULL: none */
    tnd_record_window_t window;
    uint8_t *room; /* for a record that has to be changed */
    size_t room_bytes;
} tnd_record_stream_t;

/*  The files of a ragged column, as given in the options. */
typedef struct {
    tnd_strings_t values, splits;
    uint64_t max; /* the length of its longest row; 0: taken from the splits */
} tnd_ragged_files_t;

/*  What the user should know of files that can be read. */
typedef struct {
    char **items;
    size_t count, room;
    size_t more; /* that are not listed */
} tnd_notes_t;

typedef struct {
    tnd_schema_t schema;
    uint32_t strand_of[TND_COLUMNS_MAX];
    size_t at[TND_COLUMNS_MAX]; /* bytes from the start of a record */
    tnd_strand_t strands[TND_COLUMNS_MAX];
    uint32_t strand_count;
    tnd_loader_t *loader; /* contents of all files; NULL: they are not loaded as a whole */
    uint32_t ahead;       /* rows that are requested ahead; 0: none */
    tnd_record_stream_t stream;
    tnd_notes_t notes;
    atomic_uint idle; /* successive rows that had all been requested before */
    char whats[TND_COLUMNS_MAX][TND_COLUMN_NAME_MAX + 16];
    tnd_source_file_t *files; /* of all strands, once sealed */
    size_t file_count;
} tnd_columns_t;

/*  Adds a strand of the files that `written` names.  `record` is the size of a record in bytes; 0:
 *  that of a row of the first file, whose type and shape all files must have.  `context` is passed
 *  to `open`. */
tnd_status_t tnd_columns_strand(tnd_columns_t *self, const char *what, const tnd_strings_t *written,
                                size_t record, tnd_stored_open_fn *open, const void *context,
                                const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
/*  Adds a strand of rows in memory and takes ownership of *stored. */
void tnd_columns_array(tnd_columns_t *self, const char *what, tnd_stored_t *stored);

/*  Adds a column to the last strand, `at` bytes after the start of its records.  Errors:
 *  TND_FAILED if the name or shape is invalid. */
tnd_status_t tnd_columns_add(tnd_columns_t *self, const char *name, tnd_dtype_t dtype,
                             uint32_t rank, const uint64_t *shape, size_t at,
                             tnd_error_t *error) TND_CHECKED;

/*  Completes the columns: checks that all strands have the same number of rows (file by file if
 *  lanes share files), decides whether files are mapped or read, and writes the facts. */
tnd_status_t tnd_columns_seal(tnd_columns_t *self, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  Opens columns from a map of column names to files of one column, or to the tnd_ragged_files_t of
 *  a ragged column.  On failure everything is closed. */
tnd_status_t tnd_columns_open(tnd_columns_t *self, const tnd_pairs_t *columns,
                              tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  *begin_p: the byte after the byte order mark of a file, or 0. */
tnd_status_t tnd_columns_pass_mark(tnd_record_window_t *window, uint64_t *begin_p,
                                   tnd_error_t *error) TND_CHECKED;

/*  All of it for a ragged column of bytes: the records of files, whose indexes are built where they
 *  are missing.  `format` is borrowed.  On failure all is closed again. */
tnd_status_t tnd_columns_open_records(tnd_columns_t *self, const tnd_record_options_t *chosen,
                                      const tnd_record_format_t *format,
                                      const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                                      tnd_error_t *error) TND_CHECKED;

/*  The functions of runtime/interface/source.h of a source whose state is a tnd_columns_t. */

uint32_t tnd_columns_ahead_rows(const void *state);
void tnd_columns_ahead(void *state, const uint64_t *index, uint32_t count);

/*  In the files of the first column. */
void tnd_columns_where(const void *state, uint64_t index, tnd_source_place_t *place);
/*  Of the files of all columns. */
extern const tnd_source_locate_t tnd_columns_locate;

/*  Rows of mapped files are not copied, but for short records in random order.  Contiguous rows become a packed block.  Others are gathered
 *  by the index list, or by lists of offsets if there are several files or ragged rows.  Errors:
 *  TND_REFUSED if a ragged row is longer than `max` or a damaged record. */
tnd_status_t tnd_columns_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                              tnd_error_t *error) TND_CHECKED;

/*  As `fill` of runtime/interface/source.h, for records of which some are in compressed files.  A
 *  row of a file costs the decompression of what is before it, unless it is the next one. */
tnd_status_t tnd_columns_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                              tnd_error_t *error) TND_CHECKED;

/*  As `sizes` of runtime/interface/source.h. */
tnd_status_t tnd_columns_sizes(const void *state, const uint64_t *index, uint32_t count,
                               uint64_t *sizes, tnd_error_t *error) TND_CHECKED;

void tnd_columns_close(void *state);

/*  All of them but `fill`. */
#define TND_COLUMNS_HOOKS                                                                          \
    .read = tnd_columns_read, .sizes = tnd_columns_sizes, .ahead_rows = tnd_columns_ahead_rows,    \
    .ahead = tnd_columns_ahead, .where = tnd_columns_where, .locate = &tnd_columns_locate,         \
    .close = tnd_columns_close

#endif
