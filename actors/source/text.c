/*  actors/source/text.c - lines of text files: a row is the bytes of a line, without its end.
 *
 *  As TensorFlow's TextLineDataset: a line ends with a newline or with the file, and every carriage
 *  return is removed.  If one is inside a line, the rows of the block are copied. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"

typedef struct {
    tnd_record_options_t records;
    int bom; /* tnd_mark_use_t */
} text_options_t;

/*  The state of the source.  The functions of columns.h take it for its first member. */
typedef struct {
    tnd_columns_t columns;
    tnd_record_format_t format;
} text_t;

static const tnd_option_t options[] = {
    TND_RECORD_OPTIONS(text_options_t, "txt", "line"),
    TND_BOM_OPTION(text_options_t),
};

const tnd_source_spec_t tnd_source_text_spec = {
    .table = {.name = "text",
              .help = "Reads the lines of text files as rows of bytes.",
              TND_OPTIONS(options, text_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES | TND_SOURCE_SEEKS,
};

enum { PIECE_BYTES = 1 << 20 };

static tnd_status_t find(const void *context, tnd_record_window_t *window, tnd_offsets_t *offsets,
                         tnd_error_t *error)
{
    const text_options_t *chosen = context;
    const uint8_t *data;
    uint64_t at = 0, begin = 0;
    if (chosen->bom == TND_MARK_REMOVE)
        TND_TRY(tnd_columns_pass_mark(window, &begin, error));
    tnd_offsets_add(offsets, begin);
    for (size_t have;; at += have) {
        TND_TRY(tnd_record_window(window, at, PIECE_BYTES, &data, &have, error));
        if (have == 0)
            break;
        have = have < PIECE_BYTES ? have : PIECE_BYTES;
        const uint8_t *end = data + have;
        for (const uint8_t *from = data; (from = memchr(from, '\n', (size_t)(end - from))) != NULL;)
            tnd_offsets_add(offsets, begin = at + (size_t)(++from - data));
    }
    if (begin < at && tnd_record_window_sound(window))
        tnd_offsets_add(offsets, at);
    return TND_OK;
}

static bool fits(int before, const uint8_t *data, size_t have, uint64_t size, bool last)
{
    size_t look = size < have ? size : have;
    const uint8_t *end = memchr(data, '\n', look);
    if (before >= 0 && before != '\n')
        return false;
    return end != NULL ? end + 1 == data + size : size > look || last;
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

static tnd_status_t text_open(void *state, const void *given, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error)
{
    const text_options_t *chosen = given;
    text_t *self = state;
    bool removes = chosen->bom == TND_MARK_REMOVE;
    self->format = (tnd_record_format_t){.finder = {.name = removes ? "lines-unmarked" : "lines",
                                                    .skips_head = removes,
                                                    .line_ends = true,
                                                    .fits = fits,
                                                    .find = find,
                                                    .context = chosen},
                                         .ending = 2,
                                         .keeps_mark = !removes,
                                         .content = content};
    return tnd_columns_open_records(&self->columns, &chosen->records, &self->format, scope, facts,
                                    error);
}

const tnd_source_t tnd_source_text = {
    .spec = &tnd_source_text_spec,
    .state_bytes = sizeof(text_t),
    .open = text_open,
    TND_COLUMNS_HOOKS,
    .fill = tnd_columns_fill,
};
