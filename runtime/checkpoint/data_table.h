/*  runtime/checkpoint/data_table.h - the files that a stream is read from, as a checkpoint stores
 * them.
 *
 *  A run that resumes compares the files that it finds with those of its checkpoint.  Sizes and the
 *  first and last 64 KiB are always compared.  Modification times and, where both runs have them,
 *  hashes of whole files decide about the bytes between.  Files are compared by their place in the
 *  list of the source and by their name below `${data}`, so the folder itself may differ.
 *
 *  Several hosts may have copies of one file: then the table has an entry for each that differs,
 * and a file that equals any of them is unchanged.
 *
 *  A source without files has one entry: how many rows it has, and its identity.
 *
 *  Lifecycle: zeroed; any calls; tnd_data_table_free.  Threads: one at a time.
 */
#ifndef TND_RUNTIME_CHECKPOINT_DATA_TABLE_H
#define TND_RUNTIME_CHECKPOINT_DATA_TABLE_H

#include <stdio.h>

#include "runtime/base/status.h"

/*  Of a longer name the end is stored. */
enum { TND_DATA_NAME = 768 };

typedef struct {
    uint32_t lane;       /* that alone reads it; 0 if every lane may */
    uint32_t place;      /* in the list of the source's files */
    uint64_t size;       /* bytes; rows if it is not a file */
    int64_t modified_ns; /* since 1970 */
    uint64_t ends;       /* hash of the first and last 64 KiB; identity if it is not a file */
    uint64_t whole[2];   /* hash of all bytes, if hashed */
    bool file, hashed;
    const char *name; /* "${data}/train.npy"; owned by the table that it is in */
} tnd_data_file_t;

typedef struct {
    tnd_data_file_t *files; /* after tnd_data_table_settle by lane and place, each once */
    size_t count, room;
} tnd_data_table_t;

/*  Adds a copy.  The part of file->name that equals `data`, a folder (NULL: none), is stored as
 *  `${data}`; control characters are stored as `?`.
 */
void tnd_data_table_add(tnd_data_table_t *self, const tnd_data_file_t *file, const char *data);
void tnd_data_table_settle(tnd_data_table_t *self);

/*  Of a settled table, for a cursor; never 0. */
uint64_t tnd_data_table_hash(const tnd_data_table_t *self);

/*  Writes the entry at `index` as a line that begins with "file " or "rows ". */
void tnd_data_table_write(const tnd_data_table_t *self, size_t index, FILE *out);
/*  Whether `line` is one of these. */
bool tnd_data_table_is_line(const char *line);
/*  Adds the entry of such a line.  TND_FAILED: it is damaged. */
tnd_status_t tnd_data_table_read(tnd_data_table_t *self, const char *line,
                                 tnd_error_t *error) TND_CHECKED;

/*  Whether the data that is there now is that of a checkpoint; both are settled.  `trust`: a file
 *  whose modification time alone differs is taken to be the same.  TND_FAILED: it is not, or it is
 *  not known; the text names the first such file, and what to do.
 */
tnd_status_t tnd_data_table_compare(const tnd_data_table_t *was, const tnd_data_table_t *is,
                                    bool trust, tnd_error_t *error) TND_CHECKED;

/*  "2026-11-22 15:26:22 UTC". */
enum { TND_DATA_TIME = 40 };
void tnd_data_table_time(int64_t modified_ns, char text[TND_DATA_TIME]);

void tnd_data_table_free(tnd_data_table_t *self);

#endif
