/*  actors/source/columns_internal.h - shared by the source files of columns.h. */
#ifndef TND_ACTORS_SOURCE_COLUMNS_INTERNAL_H
#define TND_ACTORS_SOURCE_COLUMNS_INTERNAL_H

#include "actors/source/columns.h"
#include "runtime/base/bounds.h"

/*  Decides for all strands whether their files are mapped or read, and prepares them. */
tnd_status_t tnd_columns_settle(tnd_columns_t *self, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  Records before a read, which includes row `index`, whether rows must be requested ahead. */
void tnd_columns_note(tnd_columns_t *self, const tnd_strand_t *strand, uint64_t index);

/*  What a strand is made of. */
typedef struct {
    const char *what;
    const tnd_strings_t *written;
    size_t record; /* 0: of a row of the first file */
    tnd_stored_open_fn *open;
    const void *context;
    const tnd_ragged_files_t *ragged;  /* NULL: not of such files */
    const tnd_record_format_t *format; /* NULL: not of records */
    tnd_index_place_t place;
    uint64_t index_limit, max;
    const tnd_spool_options_t *spool;
} tnd_strand_source_t;

/*  Adds a strand of files, and the last strand as a ragged column. */
tnd_status_t tnd_columns_add_strand(tnd_columns_t *self, const tnd_strand_source_t *from,
                                    const tnd_source_scope_t *scope,
                                    tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_columns_add_ragged(tnd_columns_t *self, const char *name,
                                    tnd_error_t *error) TND_CHECKED;

/*  Of files of records: a pattern for data files may match the indexes beside them, and they may have
 *  no bytes.  Those keep their places in the order, with no rows; the last file is kept if all have
 *  none. */
void tnd_columns_leave_out_indexes(tnd_files_t *files);
void tnd_columns_leave_out_empty(tnd_strand_t *strand);
/*  Opens the indexes of a strand's files, and spools those that are to be. */
tnd_status_t tnd_columns_open_indexes(tnd_columns_t *self, tnd_strand_t *strand,
                                      const tnd_strand_source_t *from,
                                      const tnd_source_scope_t *scope,
                                      tnd_error_t *error) TND_CHECKED;

/*  How the file of records is compressed, as `asked`, or as it begins and is named. */
tnd_status_t tnd_columns_compression(tnd_stored_t *stored, tnd_compression_t asked,
                                     const tnd_record_format_t *format,
                                     tnd_error_t *error) TND_CHECKED;
/*  Shows the content of a record, until the next call.  `last`: it is the last one of the file, which
 *  is what a damaged file has lost.  TND_REFUSED: it is bad. */
tnd_status_t tnd_columns_show(tnd_record_stream_t *self, const tnd_strand_t *strand, size_t file,
                              uint64_t record, bool last, const uint8_t **data_p, size_t *length_p,
                              tnd_error_t *error) TND_CHECKED;
/*  Refuses a row for its length. */
tnd_status_t tnd_columns_refuse_length(const tnd_strand_t *strand, uint64_t length,
                                       tnd_error_t *error) TND_CHECKED;
/*  Lets the records of a strand that is laid out be checked where they are used, if that is possible. */
void tnd_columns_prepare_check(tnd_strand_t *strand);
/*  Finds the content of the record of values [begin, end) of a file without looking at it. */
tnd_status_t tnd_columns_show_unchecked(const tnd_strand_t *strand, size_t file, uint64_t begin,
                                        uint64_t end, uint64_t *offset_p, uint64_t *length_p,
                                        tnd_error_t *error) TND_CHECKED;
/*  Bytes of memory that reading in order takes. */
size_t tnd_columns_stream_bytes(const tnd_strand_t *strand);
void tnd_columns_stream_close(tnd_record_stream_t *self);

/*  The most bytes that a row takes in a file. */
static inline size_t tnd_strand_row_max(const tnd_strand_t *strand)
{
    const tnd_record_format_t *format = strand->format;
    size_t around = format != NULL ? format->around + format->ending : 0;
    return strand->splits != NULL ? strand->record * strand->longest + around : strand->record;
}

__extension__ typedef unsigned __int128 tnd_columns_wide_t;

/*  The file that contains a row, as an index in strand->stored. */
static inline size_t tnd_strand_file(const tnd_strand_t *strand, uint64_t row)
{
    if (strand->count == 1)
        return 0;
    if (__builtin_expect(strand->inverse > 0, 1))
        return (size_t)((tnd_columns_wide_t)row * strand->inverse >> 64);
    size_t after;
    TND_LOWER_BOUND(after, 1, strand->count, strand->first[after] <= row);
    return after - 1;
}

#endif
