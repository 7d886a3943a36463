/*  actors/op/text/csv_names.h - finds fields of CSV by the names of the header.
 *
 *  `column` is what is made of them, for errors; `names` is NULL without a header.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_TEXT_CSV_NAMES_H
#define TND_ACTORS_OP_TEXT_CSV_NAMES_H

#include "runtime/base/status.h"
#include "runtime/data/field_names.h"

/*  The place of the field `name`.  Errors: TND_FAILED; the text lists the names that there are. */
tnd_status_t tnd_csv_find(const char *column, const char *name, const tnd_field_names_t *names,
                          int64_t *place_p, tnd_error_t *error) TND_CHECKED;

/*  The places of the fields `from` and `to`, names or places.  Errors: TND_FAILED. */
tnd_status_t tnd_csv_range(const char *column, const char *from, const char *to,
                           const tnd_field_names_t *names, int64_t *first_p, int64_t *last_p,
                           tnd_error_t *error) TND_CHECKED;

#endif
