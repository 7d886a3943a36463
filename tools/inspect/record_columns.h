/*  tools/inspect/record_columns.h - what makes columns of the records of data files: of CSV and JSON Lines a
 *  table, of tf.Example messages their features, of archives what their first files are.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_INSPECT_RECORD_COLUMNS_H
#define TND_TOOLS_INSPECT_RECORD_COLUMNS_H

#include "tools/inspect/reading_progress.h"
#include "tools/new/detect_format.h"
#include "tools/table/record_table.h"

typedef struct {
    tnd_arena_t *arena;
    const tnd_record_table_t *format; /* NULL: the records are not a table */
    void *state;                      /* of the table */
    const char
        *misfits;       /* lines: which records do not fit, or why there are no columns; "": none */
    bool skips;         /* some are left out by `on_error: skip` */
    uint64_t damaged;   /* records that cannot be read, if all were */
    const char *damage; /* a line: the first of them; "": none */
    const char *parse[2]; /* operations, to train and to validate, without a table; "": none */
} tnd_record_columns_t;

/*  Reads all records of a table or of messages, the first of an archive.  The item of a table is then
 *  opened with its options.  Close it also after a failure.  Errors: TND_FAILED if the files do not fit
 *  together. */
tnd_status_t tnd_record_columns_read(tnd_record_columns_t *self, tnd_arena_t *arena,
                                     tnd_detected_format_t *item, tnd_reading_progress_t *progress,
                                     tnd_error_t *error) TND_CHECKED;
/*  Idempotent. */
void tnd_record_columns_close(tnd_record_columns_t *self);

#endif
