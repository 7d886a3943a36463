/*  actors/source/sample/tar_internal.h - shared by the source files of the source `tar`.
 *
 *  Of archives that are not compressed, opening finds where the bytes of each sample are, and any
 *  row is read from there, without copying if the file is mapped.  Others are read in order. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_INTERNAL_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_INTERNAL_H

#include <stdatomic.h>

#include "actors/file/files.h"
#include "actors/source/sample/tar_samples.h"
#include "actors/source/sample/tar_spool.h"
#include "runtime/data/loader.h"

/*  A sample of an archive that is not compressed. */
typedef struct {
    uint64_t at;
    char *why; /* NULL: it is good */
} tnd_tar_row_t;

typedef struct {
    tnd_content_t content;
    tnd_buffer_t *buffer; /* of a mapped file that is not compressed; else NULL */
    uint64_t identity;    /* of the archive as it was given */
    bool compressed;
    bool empty;                /* it has no files at all */
    bool unmarked;             /* it was searched, and has no mark of its end */
    tnd_tar_spooled_t spooled; /* its content in the folder of `spool`, if it is there */
    tnd_source_file_t archive; /* that is there */
    tnd_tar_row_t *rows;
    tnd_tar_place_t *places; /* of each row, those of each column */
    size_t count, rows_room, places_room;
    uint64_t longest[TND_COLUMNS_MAX]; /* of each column */
    tnd_status_t status;               /* of opening it, then of finding the samples */
    tnd_error_t error;
} tnd_tar_file_t;

/*  The bytes of one column of the sample that is being read in order. */
typedef struct {
    uint8_t *data;
    size_t room, size;
} tnd_tar_bytes_t;

typedef struct {
    tnd_files_t names;
    tnd_tar_file_t *files;
    size_t file_count;
    tnd_tar_columns_t columns;
    tnd_schema_t schema;
    uint64_t max; /* of the options; 0: the longest */
    bool random;
    uint64_t *first;     /* row of each file, and one past the last */
    uint64_t *file_rows; /* of each */
    tnd_source_file_t *listed;
    char *notes[3]; /* what the user should know of the archives */
    size_t note_count;
    const uint8_t *base; /* the lowest address of the mapped files */
    tnd_buffer_t *all;   /* holds them; NULL: files are read */
    tnd_loader_t *loader;
    uint32_t ahead; /* rows that are requested ahead */
    atomic_uint idle;
    /*  Reading in order. */
    size_t current; /* file */
    bool reading;   /* `samples` is open */
    tnd_tar_samples_t samples;
    tnd_tar_bytes_t bytes[TND_COLUMNS_MAX];
} tnd_tar_t;

/*  Decides whether the files are mapped or read, and prepares them.  If RANDOM. */
tnd_status_t tnd_tar_settle(tnd_tar_t *self, const tnd_source_scope_t *scope,
                            tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;
/*  Reads the next sample of a file in order into self->bytes; `take` of tnd_tar_samples_next. */
tnd_status_t tnd_tar_take(void *taker, tnd_tar_members_t *members, uint32_t column, uint64_t size,
                          tnd_error_t *error) TND_CHECKED;

/*  Functions of runtime/interface/source.h. */
tnd_status_t tnd_tar_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                          tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_tar_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                          tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_tar_sizes(const void *state, const uint64_t *index, uint32_t count,
                           uint64_t *bytes, tnd_error_t *error) TND_CHECKED;
uint32_t tnd_tar_ahead_rows(const void *state);
void tnd_tar_ahead(void *state, const uint64_t *index, uint32_t count);
void tnd_tar_where(const void *state, uint64_t index, tnd_source_place_t *place);
extern const tnd_source_locate_t tnd_tar_locate;

#endif
