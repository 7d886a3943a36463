/*  actors/source/text.c - lines of text files: a row is the bytes of a line, without its end.
 *
 *  As TensorFlow's TextLineDataset: a line ends with a newline or with the file, and every carriage
 *  return is removed.  If one is inside a line, the rows of the block are copied. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"

typedef struct {
    tnd_record_options_t records;
} text_options_t;

static const tnd_option_t options[] = {
    TND_RECORD_OPTIONS(text_options_t, "txt", "line"),
};

const tnd_source_spec_t tnd_source_text_spec = {
    .table = {.name = "text",
              .help = "Reads the lines of text files as rows of bytes.",
              TND_OPTIONS(options, text_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

static tnd_status_t find(const void *context, tnd_record_window_t *window, size_t size,
                         tnd_offsets_t *offsets, tnd_error_t *error)
{
    (void)context;
    const uint8_t *data;
    tnd_offsets_add(offsets, 0);
    for (size_t at = 0, have; at < size; at += have) {
        TND_TRY(tnd_record_window(window, at, 1 << 20, &data, &have, error));
        have = have < 1 << 20 ? have : 1 << 20;
        const uint8_t *end = data + have;
        for (const uint8_t *from = data; (from = memchr(from, '\n', (size_t)(end - from))) != NULL;)
            tnd_offsets_add(offsets, at + (size_t)(++from - data));
        if (at + have == size && end[-1] != '\n')
            tnd_offsets_add(offsets, size);
    }
    return TND_OK;
}

static tnd_status_t content(uint8_t *data, size_t size, bool own, size_t *first_p, size_t *size_p,
                            tnd_error_t *error)
{
    (void)error;
    size -= size > 0 && data[size - 1] == '\n';
    while (size > 0 && data[size - 1] == '\r')
        size--;
    uint8_t *to = memchr(data, '\r', size);
    if (to != NULL && !own)
        return TND_AGAIN;
    *first_p = 0;
    *size_p = size;
    if (to == NULL)
        return TND_OK;
    for (const uint8_t *from = to; from < data + size; from++)
        if (*from != '\r')
            *to++ = *from;
    *size_p = (size_t)(to - data);
    return TND_OK;
}

static const tnd_record_format_t format = {
    .finder = {.name = "lines", .find = find},
    .content = content,
};

static tnd_status_t text_open(void *state, const void *given, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error)
{
    const text_options_t *chosen = given;
    return tnd_columns_open_records(state, &chosen->records, &format, scope, facts, error);
}

const tnd_source_t tnd_source_text = {
    .spec = &tnd_source_text_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = text_open,
    .read = tnd_columns_read,
    .sizes = tnd_columns_sizes,
    .ahead_rows = tnd_columns_ahead_rows,
    .ahead = tnd_columns_ahead,
    .where = tnd_columns_where,
    .close = tnd_columns_close,
};
