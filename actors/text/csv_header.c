/*  actors/text/csv_header.c - the names of the fields, in the first record of a file of CSV. */
#include "actors/text/csv_header.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/printable.h"

/*  The text of a field, as it is shown in messages if `wanted` differs. */
static tnd_status_t compare(const tnd_csv_field_t *field, size_t place, const char *wanted,
                            tnd_error_t *error)
{
    size_t size = field->size - field->doubled;
    char *text = tnd_allocate(1, size + 1);
    tnd_csv_copy(field, text);
    text[size] = '\0';
    bool alike = size == strlen(wanted) && memcmp(text, wanted, size) == 0;
    if (!alike)
        (void)tnd_fail(
            error,
            "field %zu of the header is \"%.60s\", where `names` has \"%s\"; all files need "
            "these fields in this order",
            place + 1, tnd_printable(text, size + 1), wanted);
    free(text);
    return alike ? TND_OK : TND_FAILED;
}

tnd_status_t tnd_csv_header_check(const tnd_strings_t *names, const uint8_t *record, size_t size,
                                  uint8_t delimiter, bool quotes, tnd_error_t *error)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t field;
    size_t mark = tnd_byte_order_mark(record, size), count = 0;
    tnd_status_t status;
    tnd_csv_init(&fields, record + mark, size - mark, delimiter, quotes);
    for (; (status = tnd_csv_next(&fields, &field, error)) == TND_OK; count++)
        if (count < names->count)
            TND_TRY(compare(&field, count, names->items[count], error));
    if (status != TND_END)
        return status;
    if (count != names->count)
        return tnd_fail(error, "the numbers of names differ: %zu in the header, %zu in `names`",
                        count, names->count);
    return TND_OK;
}

void tnd_csv_header_names(const uint8_t *record, size_t size, uint8_t delimiter, bool quotes,
                          tnd_field_names_t *names)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t field;
    tnd_error_t ignored;
    size_t mark = tnd_byte_order_mark(record, size);
    tnd_csv_init(&fields, record + mark, size - mark, delimiter, quotes);
    while (tnd_csv_next(&fields, &field, &ignored) == TND_OK) {
        size_t length = field.size - field.doubled;
        char *name = tnd_allocate(1, length + 1);
        tnd_csv_copy(&field, name);
        tnd_field_names_add(names, name, length);
        free(name);
    }
}
