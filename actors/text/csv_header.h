/*  actors/text/csv_header.h - the names of the fields, in the first record of a file of CSV.
 *
 *  Threads: any number at once. */
#ifndef TND_ACTORS_TEXT_CSV_HEADER_H
#define TND_ACTORS_TEXT_CSV_HEADER_H

#include "actors/text/csv_record.h"
#include "runtime/data/field_names.h"
#include "runtime/option/option.h"

/*  Fields are known by their places, so a header with other names, or with the same in another order,
 *  is an error; its text names the first field that differs.  A byte order mark before the header
 *  is passed over. */
tnd_status_t tnd_csv_header_check(const tnd_strings_t *names, const uint8_t *record, size_t size,
                                  uint8_t delimiter, bool quotes, tnd_error_t *error) TND_CHECKED;

/*  Adds the names of the fields to `names`; a header that is damaged has those before the damage. */
void tnd_csv_header_names(const uint8_t *record, size_t size, uint8_t delimiter, bool quotes,
                          tnd_field_names_t *names);

#endif
