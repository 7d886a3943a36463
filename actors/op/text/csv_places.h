/*  actors/op/text/csv_places.h - which fields of a record the columns of decode_csv are made of.
 *
 *  By name: a number or a string is the field that the header calls as its column, or as `field` says; a
 *  vector is those of `fields`, or all from `from` to `to`; other vectors take the fields that are
 *  left, in their order.  By place: columns take fields in their order, or those of `select`.
 *
 *  Ownership: free it.  Threads: read-only once it is made; any. */
#ifndef TND_ACTORS_OP_TEXT_CSV_PLACES_H
#define TND_ACTORS_OP_TEXT_CSV_PLACES_H

#include "actors/op/text/fields.h"

/*  By name if the header has at least one of the names. */
typedef enum { TND_CSV_BY_AUTO, TND_CSV_BY_NAME, TND_CSV_BY_PLACE } tnd_csv_by_t;

typedef struct {
    int64_t place;    /* of a field of the record */
    uint32_t field;   /* of tnd_fields_t */
    uint64_t element; /* of that one */
} tnd_csv_place_t;

typedef struct {
    tnd_csv_place_t *items; /* ascending; several may have one place */
    uint64_t count;
    uint64_t record; /* fields that each record has; 0: any number */
    bool by_name;
} tnd_csv_places_t;

/*  How many fields a column is made of. */
uint64_t tnd_csv_texts(const tnd_field_t *field);

/*  `names`: of the header; NULL: there is none.  Errors: TND_FAILED; the text lists the names. */
tnd_status_t tnd_csv_places_init(tnd_csv_places_t *self, const tnd_fields_t *fields,
                                 tnd_csv_by_t by, const tnd_numbers_t *select,
                                 const tnd_field_names_t *names, tnd_error_t *error) TND_CHECKED;
void tnd_csv_places_free(tnd_csv_places_t *self);

#endif
