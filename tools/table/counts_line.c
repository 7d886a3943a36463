/*  tools/table/counts_line.c - the first line of the tables of scikit-learn. */
#include "tools/table/counts_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/number_text.h"
#include "runtime/base/allocation.h"
#include "runtime/text/printable.h"
#include "tools/table/cell_text.h"

static bool next_text(tnd_csv_record_t *fields, char text[TND_CLASS_TEXT_MAX])
{
    tnd_csv_field_t field;
    tnd_error_t ignored;
    return tnd_csv_next(fields, &field, &ignored) == TND_OK && tnd_cell_text(&field, text) &&
           *text != '\0';
}

static bool next_count(tnd_csv_record_t *fields, uint64_t most, uint64_t *count_p)
{
    char text[TND_CLASS_TEXT_MAX];
    return next_text(fields, text) && tnd_number_text(TND_U64, text, strlen(text), count_p) &&
           *count_p > 0 && *count_p <= most;
}

/*  Adds the name of the next class.  False: there is none, or it is a number. */
static bool add_name(tnd_counts_line_t *self, tnd_csv_record_t *fields)
{
    char text[TND_CLASS_TEXT_MAX];
    bool whole, wide;
    size_t used = strlen(self->names);
    if (!next_text(fields, text) || tnd_cell_is_number(text, &whole, &wide))
        return false;
    snprintf(self->names + used, sizeof self->names - used, "%s%" PRIu32 " %s",
             used > 0 ? ", " : "", self->classes++, tnd_printable(text, sizeof text));
    return true;
}

bool tnd_counts_line_read(tnd_counts_line_t *self, const uint8_t *record, size_t size,
                          uint8_t delimiter)
{
    tnd_counts_line_t found = {0};
    tnd_csv_record_t fields;
    uint64_t numbers;
    tnd_csv_init(&fields, record, size, delimiter, true);
    if (!next_count(&fields, UINT64_MAX, &found.rows) ||
        !next_count(&fields, UINT32_MAX - 1, &numbers))
        return false;
    found.numbers = (uint32_t)numbers;
    while (add_name(&found, &fields))
        continue;
    if (found.classes < 2 || fields.at < fields.end)
        return false;
    found.record = tnd_allocate(1, size);
    found.size = size;
    memcpy(found.record, record, size);
    *self = found;
    return true;
}

void tnd_counts_line_free(tnd_counts_line_t *self)
{
    free(self->record);
    self->record = NULL;
}
