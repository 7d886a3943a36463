/*  actors/op/text/csv_names.c - finds fields of CSV by the names of the header. */
#include "actors/op/text/csv_names.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/text/quantity.h"

enum { LISTED = 300 };

/*  The place of one name.  Errors: TND_FAILED; the text lists those that there are. */
tnd_status_t tnd_csv_find(const char *column, const char *name, const tnd_field_names_t *names,
                          int64_t *place_p, tnd_error_t *error)
{
    char list[LISTED];
    if (names == NULL)
        return tnd_fail(error,
                        "the field `%s` is found by its name, but the names are not known: the "
                        "source `csv` has them with `header: true`",
                        name);
    *place_p = tnd_field_names_find(names, name);
    if (*place_p == TND_FIELD_NAME_AGAIN)
        return tnd_fail(error,
                        "the header has several fields `%s`; `by: place` or `select` takes fields "
                        "by their places",
                        name);
    if (*place_p >= 0)
        return TND_OK;
    if (strcmp(name, column) == 0)
        return tnd_fail(error,
                        "the header has no field `%s`; it has %s.  `field: NAME` says which one a "
                        "column is, and `by: place` takes fields in their order",
                        name, tnd_field_names_text(names, list, sizeof list));
    return tnd_fail(error, "the header has no field `%s` for column `%s`; it has %s", name, column,
                    tnd_field_names_text(names, list, sizeof list));
}

/*  A name of the header, or a place. */
static tnd_status_t find_end(const char *column, const char *text, const tnd_field_names_t *names,
                             int64_t *place_p, tnd_error_t *error)
{
    bool named = names != NULL && tnd_field_names_find(names, text) != TND_FIELD_NAME_MISSING;
    if (!named && tnd_quantity_i64(text, place_p) == TND_QUANTITY_OK && *place_p >= 0)
        return TND_OK;
    return tnd_csv_find(column, text, names, place_p, error);
}

tnd_status_t tnd_csv_range(const char *column, const char *from, const char *to,
                           const tnd_field_names_t *names, int64_t *first_p, int64_t *last_p,
                           tnd_error_t *error)
{
    TND_TRY(find_end(column, from, names, first_p, error));
    TND_TRY(find_end(column, to, names, last_p, error));
    if (*last_p < *first_p)
        return tnd_fail(error, "field `%s`: `to: %s` is before `from: %s`", column, to, from);
    if (*last_p - *first_p >= INT64_C(1) << 31)
        return tnd_fail(error, "field `%s` has too many fields", column);
    if (names != NULL && !names->cut && *last_p >= names->count)
        return tnd_fail(error, "field `%s`: `to: %s` is not a field; the header has %" PRIu32,
                        column, to, names->count);
    return TND_OK;
}
