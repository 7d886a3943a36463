/*  tests/fuzz/csv_fuzz.c - files of the source `csv` and the indexes that it makes; and the bytes as one
 *  record, as the operations `decode_csv` and `to_number` see it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/csv_header.h"
#include "actors/text/number_text.h"
#include "tests/fuzz/records_fuzz.h"

/*  Copies the text of a field to exactly as many bytes as it has. */
static void read_field(const tnd_csv_field_t *field)
{
    static const tnd_dtype_t dtypes[] = {TND_U8, TND_I32, TND_I64, TND_U64, TND_F32, TND_F64};
    uint64_t number, again;
    assert(2 * field->doubled <= field->size);
    size_t size = field->size - field->doubled;
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        abort();
    tnd_csv_copy(field, text);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        number = again = 0;
        if (tnd_number_text(dtypes[i], text, size, &number))
            assert(tnd_number_text(dtypes[i], text, size, &again) && again == number);
    }
    free(text);
}

static void read_record(const uint8_t *bytes, size_t size, uint8_t delimiter, bool quotes)
{
    tnd_csv_record_t record;
    tnd_csv_field_t field;
    tnd_error_t error;
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    size_t fields = 0;
    tnd_csv_init(&record, copy, size, delimiter, quotes);
    tnd_status_t status;
    for (; (status = tnd_csv_next(&record, &field, &error)) == TND_OK; fields++)
        read_field(&field);
    assert(status == TND_END || *error.text != '\0');
    assert(fields <= size + 1);
    free(copy);
}

/*  The bytes as a header: every name that is listed is found. */
static void read_header(const uint8_t *bytes, size_t size, uint8_t delimiter)
{
    static tnd_field_names_t names;
    char list[64];
    int64_t place = 0;
    tnd_field_names_init(&names, "record");
    size_t header = tnd_csv_record_size(bytes, size, delimiter, true);
    tnd_csv_header_names(bytes, header, delimiter, true, &names);
    for (const char *at = NULL; (at = tnd_field_names_next(&names, at)) != NULL; place++) {
        int64_t found = tnd_field_names_find(&names, at);
        assert(found == place || found == TND_FIELD_NAME_AGAIN);
    }
    assert(place == names.count && names.used <= sizeof names.text);
    assert(strlen(tnd_field_names_text(&names, list, sizeof list)) < sizeof list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t delimiters[] = {',', TND_CSV_SPACES};
    for (size_t i = 0; i < sizeof delimiters; i++) {
        read_record(bytes, size, delimiters[i], true);
        read_record(bytes, size, delimiters[i], false);
        read_header(bytes, size, delimiters[i]);
    }
    return fuzz_records("csv", bytes, size);
}
