/*  actors/source/csv.c - records of CSV files: a row is the bytes of a record, without its end.
 *
 *  As TensorFlow's CsvDataset (core/kernels/data/experimental/csv_dataset_op.cc): a record ends with
 *  \n, \r or \r\n outside of quotes, or with the file.  A quote opens a quoted field only at the
 *  start of a field, and closes it only before a delimiter or the end of the record; two of them are
 *  a literal one.  Empty lines are records too.  Operations interpret the fields. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "actors/text/csv_header.h"
#include "runtime/base/allocation.h"

typedef struct {
    tnd_record_options_t records;
    const char *delimiter;
    bool quotes, header;
    tnd_strings_t names;
    int bom; /* tnd_mark_use_t */
} csv_options_t;

/*  The state of the source.  The functions of columns.h take it for its first member. */
typedef struct {
    tnd_columns_t columns;
    tnd_record_format_t format;
    char name[64];
    const csv_options_t *chosen;
    tnd_field_names_t names; /* of the first file */
} csv_t;

static const tnd_option_t options[] = {
    TND_RECORD_OPTIONS(csv_options_t, "csv", "record"),
    TND_BOM_OPTION(csv_options_t),
    {TND_OPTION_NAMED("delimiter", csv_options_t, delimiter, STRING, GRAPH), .fallback = ",",
     .help = TND_CSV_DELIMITER_HELP},
    {TND_OPTION_NAMED("quotes", csv_options_t, quotes, BOOL, GRAPH), .fallback = "true",
     .help = "whether fields in double quotes may contain delimiters and ends of lines"},
    {TND_OPTION_NAMED("header", csv_options_t, header, BOOL, GRAPH), .fallback = "false",
     .help =
         "whether the first record of each file has the names of the fields; it is left out, and "
         "decode_csv finds fields by them"},
    {TND_OPTION(csv_options_t, names, STRINGS, GRAPH), .fallback = "",
     .help =
         "the names that the header of each file must have, in this order; a file with others, or "
         "in another order, is an error.  It says `header: true`, too"},
};

const tnd_source_spec_t tnd_source_csv_spec = {
    .table = {.name = "csv",
              .help = "Reads the records of CSV files as rows of bytes; quoted fields may contain "
                      "ends of lines.",
              TND_OPTIONS(options, csv_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES | TND_SOURCE_SEEKS,
};

/*  Files are looked through in pieces; a header that is checked is within one. */
enum { PIECE = 1 << 20, LOOK = 1 << 14 };

static bool is_end(int byte)
{
    return byte == '\n' || byte == '\r';
}

static bool has_header(const csv_options_t *chosen)
{
    return chosen->header || chosen->names.count > 0;
}

/*  A file without a record has no header either. */
static tnd_status_t check_header(const csv_options_t *chosen, tnd_record_window_t *window,
                                 tnd_error_t *error)
{
    const uint8_t *data;
    uint8_t delimiter = tnd_csv_delimiter(chosen->delimiter);
    size_t have;
    tnd_error_t why;
    TND_TRY(tnd_record_window(window, 0, PIECE, &data, &have, error));
    size_t size = tnd_csv_record_size(data, have, delimiter, chosen->quotes);
    if (have == 0 ||
        tnd_csv_header_check(&chosen->names, data, size, delimiter, chosen->quotes, &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "%s:1: %s", window->plain.content->path, why.text);
}

static tnd_status_t find(const void *context, tnd_record_window_t *window, tnd_offsets_t *offsets,
                         tnd_error_t *error)
{
    const csv_options_t *chosen = context;
    const uint8_t *data;
    uint64_t at = 0, begin = 0, first = 0;
    uint8_t delimiter = tnd_csv_delimiter(chosen->delimiter);
    bool skip = has_header(chosen), quotes = chosen->quotes;
    tnd_csv_state_t state = TND_CSV_FIELD_START;
    if (chosen->names.count > 0)
        TND_TRY(check_header(chosen, window, error));
    if (chosen->bom == TND_MARK_REMOVE)
        TND_TRY(tnd_columns_pass_mark(window, &first, error));
    begin = first;
    if (!skip)
        tnd_offsets_add(offsets, first);
    for (size_t have;; at += have) {
        TND_TRY(tnd_record_window(window, at, PIECE, &data, &have, error));
        if (have == 0)
            break;
        have = have < PIECE ? have : PIECE;
        for (size_t i = at == 0 ? first : 0; i < have; i++) {
            uint8_t byte = data[i];
            bool ends = state != TND_CSV_QUOTED && (byte == '\n' || byte == '\r');
            bool ended = state == TND_CSV_AFTER_CR && byte != '\n';
            if (ended)
                tnd_offsets_add(offsets, begin = at + i);
            if (ends && byte == '\n')
                tnd_offsets_add(offsets, begin = at + i + 1);
            if (ends)
                state = byte == '\r' ? TND_CSV_AFTER_CR : TND_CSV_FIELD_START;
            else
                state =
                    tnd_csv_follow(ended ? TND_CSV_FIELD_START : state, byte, delimiter, quotes);
        }
    }
    if ((begin < at || (skip && begin == first)) && tnd_record_window_sound(window))
        tnd_offsets_add(offsets, at);
    return TND_OK;
}

static bool fits(int before, const uint8_t *data, size_t have, uint64_t size, bool last)
{
    return (before < 0 || is_end(before)) &&
           (size > have || last || (size > 0 && is_end(data[size - 1])));
}

static tnd_status_t content(uint8_t *data, size_t size, bool own, size_t *first_p, size_t *size_p,
                            tnd_error_t *error)
{
    (void)own, (void)error;
    *first_p = 0;
    *size_p = size - (size > 0 && data[size - 1] == '\n');
    if (*size_p > 0 && data[*size_p - 1] == '\r')
        --*size_p;
    return TND_OK;
}

/*  Names the fields, and returns a hash of them; a header that is damaged has none. */
static uint64_t head_of(void *context, size_t file, tnd_record_window_t *window)
{
    csv_t *self = context;
    const csv_options_t *chosen = self->chosen;
    uint8_t delimiter = tnd_csv_delimiter(chosen->delimiter);
    const uint8_t *data;
    size_t have, size = 0;
    tnd_error_t ignored;
    for (size_t look = LOOK; look <= PIECE; look *= PIECE / LOOK) {
        if (tnd_record_window(window, 0, look, &data, &have, &ignored) != TND_OK || have == 0)
            return 0;
        size = tnd_csv_record_size(data, have, delimiter, chosen->quotes);
        if (size < have)
            break;
    }
    /* Names are compared, not bytes: one file may have a byte order mark, or quotes. */
    tnd_field_names_t *names = file == 0 ? &self->names : tnd_allocate_zeroed(1, sizeof *names);
    tnd_csv_header_names(data, size, delimiter, chosen->quotes, names);
    uint64_t hash = XXH3_64bits(names->text, names->used) | 1;
    if (file > 0)
        free(names);
    return hash;
}

/*  What decode_csv needs to know of the headers. */
static void tell_names(csv_t *self, tnd_source_facts_t *facts)
{
    const tnd_strand_t *strand = &self->columns.strands[0];
    size_t other = strand->other_head;
    if (self->names.count == 0)
        return;
    if (other > 0)
        snprintf(self->names.differ, sizeof self->names.differ,
                 "%.180s and %.180s have different headers", strand->files.paths[0],
                 strand->files.paths[other]);
    facts->names = &self->names;
}

/*  An index is of files whose headers have these names, so opening it again need not look at them. */
static uint64_t hash_names(const tnd_strings_t *names)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < names->count; i++)
        hash = XXH64(names->items[i], strlen(names->items[i]) + 1, hash);
    return hash;
}

static tnd_status_t csv_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    const csv_options_t *chosen = given;
    csv_t *self = state;
    uint8_t delimiter = tnd_csv_delimiter(chosen->delimiter);
    if (delimiter == 0)
        return tnd_fail(error, TND_CSV_DELIMITER_WANTED);
    self->chosen = chosen;
    tnd_field_names_init(&self->names, chosen->records.column);
    bool removes = chosen->bom == TND_MARK_REMOVE;
    char names[24] = "";
    if (chosen->names.count > 0)
        snprintf(names, sizeof names, "-%016" PRIx64, hash_names(&chosen->names));
    snprintf(self->name, sizeof self->name, "csv-%02x%s%s%s%s", delimiter,
             chosen->quotes ? "-quotes" : "", has_header(chosen) ? "-header" : "",
             removes ? "-unmarked" : "", names);
    self->format = (tnd_record_format_t){.finder = {.name = self->name,
                                                    .skips_head = has_header(chosen) || removes,
                                                    .line_ends = true,
                                                    .fits = fits,
                                                    .find = find,
                                                    .context = chosen},
                                         .ending = 2,
                                         .head_of = has_header(chosen) ? head_of : NULL,
                                         .head_context = self,
                                         .keeps_mark = !has_header(chosen) && !removes,
                                         .content = content};
    TND_TRY(tnd_columns_open_records(&self->columns, &chosen->records, &self->format, scope, facts,
                                     error));
    tell_names(self, facts);
    return TND_OK;
}

const tnd_source_t tnd_source_csv = {
    .spec = &tnd_source_csv_spec,
    .state_bytes = sizeof(csv_t),
    .open = csv_open,
    TND_COLUMNS_HOOKS,
    .fill = tnd_columns_fill,
};
