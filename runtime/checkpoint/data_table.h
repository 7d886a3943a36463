/*  runtime/checkpoint/data_table.h - the files of a stream, as a checkpoint stores them.
 *
 *  A run that resumes compares its files with those of its checkpoint: sizes and the first and last
 *  64 KiB always; the bytes between by modification times and, if both runs have them, hashes of
 *  whole files.  Files are matched by their place in the list of the source and by their name below
 *  `${data}`, so the folder itself may differ.
 *
 *  If several hosts have copies of a file, the table has an entry for each different copy, and a
 *  file that equals any of them is unchanged.
 *
 *  A source without files has one entry: its number of rows and its identity.
 *
 *  Lifecycle: zeroed; any calls; tnd_data_table_free.  Threads: one at a time. */
#ifndef TND_RUNTIME_CHECKPOINT_DATA_TABLE_H
#define TND_RUNTIME_CHECKPOINT_DATA_TABLE_H

#include <stdio.h>

#include "runtime/base/status.h"

/*  A longer name is stored without its start. */
enum { TND_DATA_NAME = 768 };

typedef struct {
    uint32_t lane;       /* the only lane that reads it; 0 if every lane may */
    uint32_t place;      /* in the list of the source's files */
    uint64_t size;       /* bytes; rows if it is not a file */
    int64_t modified_ns; /* since 1970 */
    uint64_t ends;       /* hash of the first and last 64 KiB; identity if it is not a file */
    uint64_t whole[2];   /* hash of all bytes, if hashed */
    bool file, hashed;
    const char *name; /* "${data}/train.npy"; owned by the table that it is in */
} tnd_data_file_t;

typedef struct {
    tnd_data_file_t *files; /* once settled: sorted by lane and place, no duplicates */
    size_t count, room;
} tnd_data_table_t;

/*  Adds a copy.  The part of file->name that equals `data`, a folder (NULL: none), is stored as
 *  `${data}`; control characters are stored as `?`. */
void tnd_data_table_add(tnd_data_table_t *self, const tnd_data_file_t *file, const char *data);
void tnd_data_table_settle(tnd_data_table_t *self);

/*  The hash of a settled table for a cursor; never 0. */
uint64_t tnd_data_table_hash(const tnd_data_table_t *self);

/*  Writes the entry at `index` as a line that begins with "file " or "rows ". */
void tnd_data_table_write(const tnd_data_table_t *self, size_t index, FILE *out);
/*  Whether `line` is such a line. */
bool tnd_data_table_is_line(const char *line);
/*  Adds the entry of such a line.  Errors: TND_FAILED if it is damaged. */
tnd_status_t tnd_data_table_read(tnd_data_table_t *self, const char *line,
                                 tnd_error_t *error) TND_CHECKED;

/*  Compares the present data `is` with that of a checkpoint, `was`; both are settled.  `trust`: a
 *  file that differs only in its modification time counts as unchanged.  Errors: TND_FAILED if the
 *  data differs or may differ; the text names the first such file and what to do. */
tnd_status_t tnd_data_table_compare(const tnd_data_table_t *was, const tnd_data_table_t *is,
                                    bool trust, tnd_error_t *error) TND_CHECKED;

/*  "2026-11-22 15:26:22 UTC". */
enum { TND_DATA_TIME = 40 };
void tnd_data_table_time(int64_t modified_ns, char text[TND_DATA_TIME]);

void tnd_data_table_free(tnd_data_table_t *self);

#endif
