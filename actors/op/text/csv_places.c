/*  actors/op/text/csv_places.c - which fields of a record the columns of decode_csv are made of. */
#include "actors/op/text/csv_places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "actors/op/ops.h"
#include "actors/op/text/csv_names.h"
#include "runtime/base/allocation.h"

enum { LISTED = 300 };

uint64_t tnd_csv_texts(const tnd_field_t *field)
{
    return field->string ? 1 : field->elements;
}

static bool names_sources(const tnd_field_t *field)
{
    return field->source != NULL || field->sources.count > 0;
}

/*  Whether a column takes fields that no other names. */
static bool takes_rest(const tnd_field_t *field)
{
    return !field->string && field->rank > 0 && !names_sources(field) && field->from == NULL;
}

/*  Whether the header has a name, perhaps in other letters, which by_name then refuses. */
static bool has_alike(const tnd_field_names_t *names, const char *name)
{
    const char *at = NULL;
    while ((at = tnd_field_names_next(names, at)) != NULL)
        if (strcasecmp(at, name) == 0)
            return true;
    return false;
}

/*  Whether a column can be found by a name of the header. */
static bool has_any(const tnd_fields_t *fields, const tnd_field_names_t *names)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const tnd_field_t *field = &fields->items[i];
        const char *name = field->from != NULL ? field->from : field->name;
        if (names_sources(field) || (!takes_rest(field) && has_alike(names, name)))
            return true;
    }
    return false;
}

static void add(tnd_csv_places_t *self, int64_t place, uint32_t field, uint64_t element)
{
    self->items[self->count++] =
        (tnd_csv_place_t){.place = place, .field = field, .element = element};
}

/*  The fields that a column names. */
static tnd_status_t add_named(tnd_csv_places_t *self, const tnd_field_t *field, uint32_t index,
                              const tnd_field_names_t *names, tnd_error_t *error)
{
    int64_t place, last;
    if (field->from != NULL) {
        TND_TRY(tnd_csv_range(field->name, field->from, field->to, names, &place, &last, error));
        for (int64_t at = place; at <= last; at++)
            add(self, at, index, (uint64_t)(at - place));
        return TND_OK;
    }
    for (size_t i = 0; i < field->sources.count; i++) {
        TND_TRY(tnd_csv_find(field->name, field->sources.items[i], names, &place, error));
        add(self, place, index, i);
    }
    if (field->sources.count > 0)
        return TND_OK;
    TND_TRY(tnd_csv_find(field->name, field->source != NULL ? field->source : field->name, names,
                         &place, error));
    add(self, place, index, 0);
    return TND_OK;
}

static int compare(const void *a, const void *b)
{
    const tnd_csv_place_t *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    if (one->field != other->field)
        return one->field < other->field ? -1 : 1;
    return one->element < other->element ? -1 : one->element > other->element;
}

static void sort(tnd_csv_places_t *self)
{
    qsort(self->items, self->count, sizeof *self->items, compare);
}

/*  Columns of which `rests` says so take the places that are left, in their order. */
static void add_rest(tnd_csv_places_t *self, const tnd_fields_t *fields,
                     bool (*rests)(const tnd_field_t *))
{
    const uint64_t named = self->count;
    uint64_t at = 0;
    int64_t place = 0;
    sort(self);
    for (uint32_t i = 0; i < fields->count; i++)
        for (uint64_t e = 0; rests(&fields->items[i]) && e < tnd_csv_texts(&fields->items[i]);
             e++, place++) {
            for (; at < named && self->items[at].place <= place; at++)
                place += self->items[at].place == place;
            add(self, place, i, e);
        }
}

static tnd_status_t by_name(tnd_csv_places_t *self, const tnd_fields_t *fields,
                            const tnd_field_names_t *names, tnd_error_t *error)
{
    uint64_t wanted = 0;
    const tnd_field_t *rest = NULL;
    char list[LISTED];
    if (names->differ[0] != '\0')
        return tnd_fail(error,
                        "fields are found by the names of the header, but %s: list files of one "
                        "header",
                        names->differ);
    if (names->cut)
        return tnd_fail(error,
                        "the names of the header take more than %d bytes: `by: place` or `select` "
                        "takes fields by their places",
                        TND_FIELD_NAMES_BYTES);
    for (uint32_t i = 0; i < fields->count; i++)
        if (takes_rest(&fields->items[i])) {
            rest = &fields->items[i];
            wanted += rest->elements;
        } else {
            TND_TRY(add_named(self, &fields->items[i], i, names, error));
        }
    uint64_t named = 0;
    sort(self);
    for (uint64_t i = 0; i < self->count; i++)
        named += i == 0 || self->items[i].place != self->items[i - 1].place;
    if (rest != NULL && named + wanted != names->count)
        return tnd_fail(error,
                        "column `%s` takes the fields that no other column names: %" PRIu64
                        " are wanted, and the header has %" PRIu64 " others of %" PRIu32 ": %s",
                        rest->name, wanted, names->count - named, names->count,
                        tnd_field_names_text(names, list, sizeof list));
    add_rest(self, fields, takes_rest);
    self->record = names->count;
    self->by_name = true;
    return TND_OK;
}

static bool takes_next(const tnd_field_t *field)
{
    return field->from == NULL;
}

static tnd_status_t by_place(tnd_csv_places_t *self, const tnd_fields_t *fields, tnd_error_t *error)
{
    bool ranges = false;
    for (uint32_t i = 0; i < fields->count; i++) {
        const tnd_field_t *field = &fields->items[i];
        if (names_sources(field))
            return tnd_fail(error,
                            "column `%s` names fields, which need the names of a header: "
                            "`header: true` of the source `csv`, and neither `select` nor `by: "
                            "place`",
                            field->name);
        ranges = ranges || field->from != NULL;
        if (field->from != NULL)
            TND_TRY(add_named(self, field, i, NULL, error));
    }
    add_rest(self, fields, takes_next);
    self->record = ranges ? 0 : self->count;
    return TND_OK;
}

static tnd_status_t by_select(tnd_csv_places_t *self, const tnd_fields_t *fields,
                              const tnd_numbers_t *select, tnd_error_t *error)
{
    TND_TRY(by_place(self, fields, error));
    if (self->record == 0)
        return tnd_fail(error, "`select` and `from` of a column both say which fields are read");
    if (select->count != self->count)
        return tnd_fail(error, "`select` has %zu places, the columns of `fields` take %" PRIu64,
                        select->count, self->count);
    int64_t *places = tnd_allocate(select->count, sizeof *places);
    tnd_status_t status = tnd_op_whole("select", select, 0, places, select->count, error);
    for (size_t i = 0; i < select->count && status == TND_OK; i++) {
        if (i > 0 && places[i] <= places[i - 1])
            status = tnd_fail(error, "`select` has %" PRId64 " after %" PRId64 "; places ascend",
                              places[i], places[i - 1]);
        self->items[i].place = places[i];
    }
    free(places);
    self->record = 0;
    return status;
}

tnd_status_t tnd_csv_places_init(tnd_csv_places_t *self, const tnd_fields_t *fields,
                                 tnd_csv_by_t by, const tnd_numbers_t *select,
                                 const tnd_field_names_t *names, tnd_error_t *error)
{
    uint64_t texts = 0;
    for (uint32_t i = 0; i < fields->count; i++)
        texts += tnd_csv_texts(&fields->items[i]);
    *self = (tnd_csv_places_t){.items = tnd_allocate(texts + 1, sizeof *self->items)};
    if (select->count > 0 && by == TND_CSV_BY_NAME)
        return tnd_fail(error, "`select` takes fields by their places, and `by: name` does not");
    if (names == NULL && by == TND_CSV_BY_NAME)
        return tnd_fail(error, "`by: name` needs `header: true` of the source `csv`");
    /* Where a place could be that of another field, names decide. */
    bool named =
        select->count == 0 && by != TND_CSV_BY_PLACE && names != NULL &&
        (by == TND_CSV_BY_NAME || names->cut || names->differ[0] != '\0' || has_any(fields, names));
    tnd_status_t status = named               ? by_name(self, fields, names, error)
                          : select->count > 0 ? by_select(self, fields, select, error)
                                              : by_place(self, fields, error);
    sort(self);
    return status;
}

void tnd_csv_places_free(tnd_csv_places_t *self)
{
    free(self->items);
    *self = (tnd_csv_places_t){0};
}
