/*  actors/text/csv_record.h - the fields of a record of CSV, as TensorFlow's CsvDataset divides it.
 *
 *  A field that begins with a quote ends at the next quote, and two quotes inside of it are one.
 *  Other fields have no quotes.  Nothing is copied or allocated.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_TEXT_CSV_RECORD_H
#define TND_ACTORS_TEXT_CSV_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"

/*  The delimiter of fields that any number of spaces and tabs separate, and may surround: a byte that
 *  no field has outside of quotes. */
#define TND_CSV_SPACES '\n'

static inline bool tnd_csv_separates(uint8_t byte, uint8_t delimiter)
{
    return byte == delimiter || (delimiter == TND_CSV_SPACES && (byte == ' ' || byte == '\t'));
}

/*  Where in a record a byte is, for the ends of records: those of lines outside of quotes. */
typedef enum {
    TND_CSV_FIELD_START,
    TND_CSV_UNQUOTED,
    TND_CSV_QUOTED,
    TND_CSV_QUOTE_IN_QUOTED,
    TND_CSV_AFTER_CR
} tnd_csv_state_t;

/*  After a byte that does not end the record. */
static inline tnd_csv_state_t tnd_csv_follow(tnd_csv_state_t state, uint8_t byte, uint8_t delimiter,
                                             bool quotes)
{
    if (state == TND_CSV_QUOTED)
        return byte == '"' ? TND_CSV_QUOTE_IN_QUOTED : TND_CSV_QUOTED;
    if (byte == '"' && quotes && (state == TND_CSV_FIELD_START || state == TND_CSV_QUOTE_IN_QUOTED))
        return TND_CSV_QUOTED;
    if (tnd_csv_separates(byte, delimiter))
        return TND_CSV_FIELD_START;
    return state == TND_CSV_QUOTE_IN_QUOTED ? TND_CSV_QUOTED : TND_CSV_UNQUOTED;
}

/*  The byte that an option `delimiter` means: one byte, tab, or TND_CSV_SPACES; 0: it is none. */
uint8_t tnd_csv_delimiter(const char *option);
#define TND_CSV_DELIMITER_HELP                                                                     \
    "what separates fields: one byte, or tab, or spaces: any number of spaces and tabs, which "    \
    "may "                                                                                         \
    "also surround a record"
#define TND_CSV_DELIMITER_WANTED                                                                   \
    "`delimiter` is one byte, tab, or spaces, and neither a quote nor an end of a line"

/*  Bytes of the first record of a text, without the end of its line. */
size_t tnd_csv_record_size(const uint8_t *text, size_t size, uint8_t delimiter, bool quotes);

typedef struct {
    const uint8_t *at, *end; /* what is left */
    uint8_t delimiter;
    bool quotes; /* whether fields may be in quotes */
    bool ended;
} tnd_csv_record_t;

typedef struct {
    const uint8_t *at; /* without the quotes around it; NULL if the record is empty */
    size_t size;       /* as it is stored */
    size_t doubled;    /* quotes of which only one of two counts */
} tnd_csv_field_t;

void tnd_csv_init(tnd_csv_record_t *self, const void *record, size_t size, uint8_t delimiter,
                  bool quotes);

/*  Finds the next field.  Returns TND_END after the last.  Errors: TND_FAILED for quotes and ends of
 *  lines where they cannot be; the text says what is wrong. */
tnd_status_t tnd_csv_next(tnd_csv_record_t *self, tnd_csv_field_t *field,
                          tnd_error_t *error) TND_CHECKED;

/*  Writes the text of a field, size - doubled bytes. */
void tnd_csv_copy(const tnd_csv_field_t *field, void *to);

#endif
