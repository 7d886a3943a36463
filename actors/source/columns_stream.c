/*  actors/source/columns_stream.c - records of compressed files, which are read in order. */
#include <stdlib.h>
#include <string.h>

#include "actors/source/columns_internal.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"

enum { LOOK_BYTES = 1 << 12, WINDOW_BYTES = 1 << 20 };

/*  Whether the file begins with a zlib stream that can be read. */
static tnd_status_t try_zlib(tnd_stored_t *stored, bool *reads_p, tnd_error_t *error)
{
    tnd_record_window_t window;
    const uint8_t *data;
    size_t have;
    tnd_record_window_init(&window, &stored->content, TND_COMPRESSION_ZLIB);
    tnd_status_t status = tnd_record_window(&window, 0, 1, &data, &have, error);
    *reads_p = have > 0 || !tnd_record_window_damaged(&window);
    tnd_record_window_free(&window);
    return status;
}

tnd_status_t tnd_columns_compression(tnd_stored_t *stored, tnd_compression_t asked,
                                     const tnd_record_format_t *format, tnd_error_t *error)
{
    const uint8_t *data;
    size_t size = stored->content.size < LOOK_BYTES ? stored->content.size : LOOK_BYTES;
    stored->compression = asked;
    if (asked != TND_COMPRESSION_AUTO)
        return TND_OK;
    TND_TRY(tnd_content_view(&stored->content, 0, size, &data, error));
    tnd_compression_t seen = tnd_compression_of(data, size);
    bool begins = format->begins != NULL && format->begins(data, size);
    stored->compression = begins ? TND_COMPRESSION_NONE : seen;
    if (!begins && seen == TND_COMPRESSION_NONE)
        return tnd_compression_refuse_name(stored->path, error);
    if (stored->compression != TND_COMPRESSION_ZLIB ||
        tnd_compression_named(stored->path) == TND_COMPRESSION_ZLIB)
        return TND_OK;
    /* Text may begin with the same two bytes. */
    bool reads = false;
    if (format->begins != NULL)
        TND_TRY(try_zlib(stored, &reads, error));
    stored->compression = reads ? TND_COMPRESSION_ZLIB : TND_COMPRESSION_NONE;
    return TND_OK;
}

size_t tnd_columns_stream_bytes(const tnd_strand_t *strand)
{
    return 2 * tnd_strand_row_max(strand) + WINDOW_BYTES;
}

void tnd_columns_stream_close(tnd_record_stream_t *self)
{
    if (self->file != NULL)
        tnd_record_window_free(&self->window);
    free(self->room);
    *self = (tnd_record_stream_t){.used = self->used};
}

/*  Opens the file of the next row; one that is open already continues. */
static void use_file(tnd_record_stream_t *self, tnd_stored_t *stored)
{
    if (self->file == stored)
        return;
    if (self->file != NULL) {
        tnd_record_window_free(&self->window);
        tnd_content_forget(&self->file->content);
    }
    tnd_record_window_init(&self->window, &stored->content, stored->compression);
    self->file = stored;
}

static tnd_status_t refuse(const char *why, tnd_error_t *error)
{
    (void)tnd_fail(error, "%s", why);
    return TND_REFUSED;
}

/*  Shows record [begin, end).  `last`: it is the last of the file, which is what a damaged stream
 *  has lost. */
static tnd_status_t show_record(tnd_record_stream_t *self, const tnd_stored_t *stored,
                                uint64_t begin, uint64_t end, size_t after, const uint8_t **data_p,
                                tnd_error_t *error)
{
    size_t have;
    uint64_t size = end - begin;
    TND_TRY(tnd_record_window(&self->window, begin, size + after, data_p, &have, error));
    if (after > 0 && tnd_record_window_damaged(&self->window))
        return refuse(self->window.why.text, error);
    if (have >= size)
        return TND_OK;
    return tnd_fail(error,
                    "%s: its content ends at byte %llu, before the record at byte %llu: the file "
                    "has changed, or its index belongs to another file; remove the index",
                    stored->path, (unsigned long long)self->window.reached,
                    (unsigned long long)begin);
}

/*  A copy of a record, which may be changed. */
static uint8_t *copy_record(tnd_record_stream_t *self, const uint8_t *data, size_t size)
{
    if (size > self->room_bytes) {
        free(self->room);
        self->room = tnd_allocate(1, size);
        self->room_bytes = size;
    }
    memcpy(self->room, data, size);
    return self->room;
}

tnd_status_t tnd_columns_show(tnd_record_stream_t *self, const tnd_strand_t *strand, size_t file,
                              uint64_t record, bool last, const uint8_t **data_p, size_t *length_p,
                              tnd_error_t *error)
{
    const tnd_record_format_t *format = strand->format;
    tnd_stored_t *stored = &strand->stored[file];
    uint64_t begin, end;
    size_t first;
    TND_TRY(tnd_splits_row(&strand->splits[file], stored, record, &begin, &end, error));
    use_file(self, stored);
    uint64_t size = end - begin;
    if (size > tnd_strand_row_max(strand))
        return tnd_columns_refuse_length(strand, size, error);
    TND_TRY(show_record(self, stored, begin, end, last ? 1 : 0, data_p, error));
    bool plain = stored->compression == TND_COMPRESSION_NONE;
    tnd_status_t status =
        format->content((uint8_t *)(uintptr_t)*data_p, size, !plain, &first, length_p, error);
    if (status == TND_AGAIN) {
        uint8_t *copy = copy_record(self, *data_p, size);
        status = format->content(copy, size, true, &first, length_p, error);
        *data_p = copy;
    }
    if (plain)
        TND_TRY(tnd_content_intact(&stored->content, error));
    TND_TRY(status);
    if (*length_p > strand->longest)
        return tnd_columns_refuse_length(strand, *length_p, error);
    *data_p += first;
    return TND_OK;
}

static tnd_status_t fill_row(tnd_columns_t *self, uint64_t index, tnd_rows_t *rows, size_t row,
                             tnd_error_t *error)
{
    const tnd_strand_t *strand = &self->strands[0];
    size_t file = tnd_strand_file(strand, index), length;
    uint64_t record = index - strand->first[file];
    const uint8_t *data;
    TND_TRY(tnd_columns_show(&self->stream, strand, file, record,
                             record + 1 == strand->file_rows[file], &data, &length, error));
    void *to = tnd_rows_room(rows, 0, row, length);
    if (length > 0)
        memcpy(to, data, length);
    return tnd_content_intact(&strand->stored[file].content, error);
}

tnd_status_t tnd_columns_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    tnd_columns_t *self = state;
    for (size_t i = 0; i < rows->count; i++) {
        tnd_status_t status =
            index[i] < self->strands[0].rows ? fill_row(self, index[i], rows, i, error) : TND_END;
        if (status == TND_OK)
            continue;
        rows->count = i;
        return status;
    }
    return TND_OK;
}
