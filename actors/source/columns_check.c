/*  actors/source/columns_check.c - checks records where they are copied, once they are in a cache.
 *
 *  A reader that checked them would load every record and leave it to be loaded again, by another
 *  processor. */
#include <inttypes.h>

#include "actors/source/columns_internal.h"
#include "actors/stored/splits.h"
#include "runtime/data/mapped.h"

tnd_status_t tnd_columns_refuse_length(const tnd_strand_t *strand, uint64_t length,
                                       tnd_error_t *error)
{
    (void)tnd_fail(error, "%s has length %llu, above `max: %llu`", strand->what,
                   (unsigned long long)length, (unsigned long long)strand->longest);
    return TND_REFUSED;
}

/*  The file that contains a record; `at` is an address in it. */
static size_t file_at(const tnd_strand_t *strand, const uint8_t *at)
{
    size_t file = 0;
    while (file + 1 < strand->count &&
           (uintptr_t)at - (uintptr_t)tnd_buffer_data(strand->stored[file].buffer) >=
               strand->stored[file].rows)
        file++;
    return file;
}

/*  The record of a file that begins `offset` bytes after the first one. */
static tnd_status_t find_record(const tnd_strand_t *strand, size_t file, uint64_t offset,
                                uint64_t *record_p, tnd_error_t *error)
{
    uint64_t low = 0, high = strand->file_rows[file];
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2, begin, end;
        TND_TRY(tnd_splits_row(&strand->splits[file], &strand->stored[file], middle, &begin, &end,
                               error));
        if (begin <= offset)
            low = middle;
        else
            high = middle;
    }
    *record_p = low;
    return TND_OK;
}

static tnd_status_t fail(const tnd_strand_t *strand, const uint8_t *record, const tnd_error_t *why,
                         tnd_error_t *error)
{
    size_t file = file_at(strand, record);
    const tnd_stored_t *stored = &strand->stored[file];
    uint64_t offset = (uint64_t)(record - (const uint8_t *)tnd_buffer_data(stored->buffer)), number;
    TND_TRY(find_record(strand, file, offset, &number, error));
    return tnd_fail(error,
                    "record %" PRIu64 " of %.200s, at byte %" PRIu64
                    " is bad: %.240s; to continue without such records, set `on_error: skip` or "
                    "`quarantine` of the reader",
                    number, stored->path, offset, why->text);
}

/*  See tnd_row_check_t. */
static tnd_status_t check_row(const void *context, const void *data, size_t bytes,
                              tnd_error_t *error)
{
    const tnd_strand_t *strand = context;
    const tnd_record_format_t *format = strand->format;
    const uint8_t *record = (const uint8_t *)data - format->head;
    size_t first, size;
    tnd_error_t why;
    if (format->content((uint8_t *)(uintptr_t)record, bytes + format->around, false, &first, &size,
                        &why) == TND_OK)
        return TND_OK;
    TND_TRY(tnd_mapped_check(record, bytes + format->around, error));
    return fail(strand, record, &why, error);
}

void tnd_columns_prepare_check(tnd_strand_t *strand)
{
    const bool found = strand->format != NULL && strand->format->head > 0;
    if (found && !strand->copies && strand->spooled == NULL)
        strand->check = (tnd_row_check_t){.row = check_row, .context = strand};
}

tnd_status_t tnd_columns_show_unchecked(const tnd_strand_t *strand, size_t file, uint64_t begin,
                                        uint64_t end, uint64_t *offset_p, uint64_t *length_p,
                                        tnd_error_t *error)
{
    const tnd_record_format_t *format = strand->format;
    const tnd_stored_t *stored = &strand->stored[file];
    uint8_t *record = (uint8_t *)tnd_buffer_data(stored->buffer) + begin;
    size_t first = format->head, size = end - begin - format->around;
    if (end - begin < format->around)
        TND_TRY(format->content(record, end - begin, false, &first, &size, error));
    *offset_p = strand->start[file] + begin + first;
    *length_p = size;
    return TND_OK;
}
