/*  tools/table/stray_quote.c - fields of CSV in quotes that span very many lines. */
#include "tools/table/stray_quote.h"

#include <inttypes.h>
#include <string.h>

#include "actors/text/csv_record.h"

/*  The field in quotes that spans the most lines. */
typedef struct {
    uint64_t line, lines; /* of the record, from 0, where it begins; how many it spans */
    bool open;            /* it does not end */
} quoted_t;

static quoted_t find_longest(const uint8_t *record, size_t size, uint8_t delimiter)
{
    quoted_t longest = {0};
    tnd_csv_state_t state = TND_CSV_FIELD_START;
    uint64_t line = 0, begin = 0;
    for (size_t i = 0; i < size; i++) {
        if (record[i] == '"' && state == TND_CSV_FIELD_START)
            begin = line;
        state = tnd_csv_follow(state, record[i], delimiter, true);
        line += record[i] == '\n';
        if (state == TND_CSV_QUOTED && line - begin + 1 > longest.lines)
            longest = (quoted_t){.line = begin, .lines = line - begin + 1};
    }
    if (state == TND_CSV_QUOTED)
        longest = (quoted_t){.line = begin, .lines = line - begin + 1, .open = true};
    return longest;
}

bool tnd_stray_quote_look(tnd_misfit_t *found, const tnd_record_place_t *place,
                          const uint8_t *record, size_t size, uint8_t delimiter)
{
    char why[TND_MISFIT_WHY_MAX];
    tnd_record_place_t at = *place;
    if (size == 0 || memchr(record, '"', size) == NULL)
        return false;
    quoted_t field = find_longest(record, size, delimiter);
    if (!field.open && field.lines <= TND_STRAY_QUOTE_LINES)
        return false;
    at.line += field.line;
    if (field.open)
        snprintf(why, sizeof why,
                 "a quote opens a field here and never closes: all %" PRIu64
                 " lines to the end of the file are one record; remove a stray quote, or double it",
                 field.lines);
    else
        snprintf(why, sizeof why,
                 "a quote opens a field here that spans %" PRIu64
                 " lines, which are one record; remove a stray quote, or double it",
                 field.lines);
    tnd_misfit_add(found, &at, why);
    return true;
}
