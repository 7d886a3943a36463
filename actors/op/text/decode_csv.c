/*  actors/op/text/decode_csv.c - records of CSV become columns: decode_csv. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/text/bytes_column.h"
#include "actors/op/text/csv_places.h"
#include "actors/text/csv_record.h"
#include "actors/text/number_text.h"
#include "runtime/base/bounds.h"
#include "runtime/text/byte_order_mark.h"

typedef struct {
    const char *column;
    const tnd_fields_options_t *fields;
    const char *delimiter;
    tnd_strings_t na;
    bool quotes;
    tnd_numbers_t select;
    int by, integers;
} csv_options_t;

typedef enum { INTEGERS_STRICT, INTEGERS_DECIMAL } integers_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_fields_t fields;
    tnd_csv_places_t places;
    uint8_t delimiter;
    bool quotes, decimal; /* integers may be written as 1.0 */
    tnd_strings_t na;
    /*  With classes that are `auto`: where a row is tried that they are learned of. */
    tnd_tile_t tried;
    uint8_t *row;
    tnd_room_t room;
} csv_t;

static const tnd_option_t options[] = {
    {TND_OPTION(csv_options_t, column, COLUMN, GRAPH), .fallback = "record",
     .help = "the ragged column of u8 with the records; it is left out of what follows"},
    {TND_OPTION(csv_options_t, fields, TABLE, GRAPH), .table = &tnd_csv_fields_table,
     .help = "the columns that are made: of the fields with their names in the header, or in the "
             "order of the fields"},
    {TND_OPTION(csv_options_t, by, ENUM, GRAPH), .fallback = "auto", .choices = "auto|name|place",
     .help = "how columns find their fields; auto: by name if the header has at least one of the "
             "names, else in their order"},
    {TND_OPTION(csv_options_t, delimiter, STRING, GRAPH), .fallback = ",",
     .help = TND_CSV_DELIMITER_HELP},
    {TND_OPTION(csv_options_t, quotes, BOOL, GRAPH), .fallback = "true",
     .help = "whether fields may be in double quotes"},
    {TND_OPTION(csv_options_t, na, STRINGS, GRAPH), .fallback = "",
     .help = "texts that count as an empty field, such as [NA, \"?\"]"},
    {TND_OPTION(csv_options_t, integers, ENUM, GRAPH), .fallback = "strict",
     .choices = "strict|decimal",
     .help = "how integers are written: as TensorFlow reads them; or also as 1.0 or 1e3, if the "
             "number is whole, as pandas writes columns with missing values"},
    {TND_OPTION(csv_options_t, select, F64S, GRAPH), .fallback = "",
     .help = "the places of the fields that are read, from 0 and ascending, [0, 2]; without it a "
             "record has exactly those of the header, or of `fields`"},
};

const tnd_op_spec_t tnd_op_decode_csv_spec = {
    .table = {.name = "decode_csv",
              .help = "Makes columns of the fields of CSV records, as CsvDataset and "
                      "tf.io.decode_csv do in TensorFlow.",
              TND_OPTIONS(options, csv_options_t)},
    .caps = TND_OP_FAILS,
};

static size_t cell_bytes(const tnd_column_t *column)
{
    return column->ragged ? sizeof(tnd_ragged_t) : tnd_column_bytes(column);
}

static void csv_close(void *state)
{
    csv_t *self = state;
    tnd_fields_fini(&self->fields);
    tnd_csv_places_free(&self->places);
    tnd_room_fini(&self->room);
    free(self->row);
}

/*  The names of the header, if they are those of these records. */
static const tnd_field_names_t *names_of(const csv_options_t *chosen, const tnd_op_scope_t *scope)
{
    bool known = scope != NULL && scope->names != NULL && scope->names->count > 0 &&
                 strcmp(scope->names->column, chosen->column) == 0;
    return known ? scope->names : NULL;
}

/*  Memory for one row of what is made. */
static tnd_status_t make_row(csv_t *self, const tnd_schema_t *made, tnd_error_t *error)
{
    size_t used = 0;
    for (uint32_t i = 0; i < made->count; i++)
        used += tnd_round_up(cell_bytes(&made->columns[i]), TND_BUFFER_ALIGN);
    self->row = aligned_alloc(TND_BUFFER_ALIGN, used + TND_BUFFER_ALIGN);
    if (self->row == NULL)
        return tnd_fail(error, "cannot allocate a row of %zu bytes", used);
    self->tried = (tnd_tile_t){.rows = 1, .room = &self->room};
    used = 0;
    for (uint32_t i = 0; i < made->count; i++) {
        const tnd_column_t *column = &made->columns[i];
        self->tried.columns[i].base = self->row + used;
        self->tried.columns[i].stride = cell_bytes(column);
        if (column->ragged)
            self->tried.columns[i].ragged = (tnd_ragged_t *)(void *)(self->row + used);
        used += tnd_round_up(cell_bytes(column), TND_BUFFER_ALIGN);
    }
    return TND_OK;
}

static tnd_status_t prepare(csv_t *self, const csv_options_t *chosen, const tnd_schema_t *in,
                            tnd_op_facts_t *facts, tnd_error_t *error)
{
    const tnd_field_names_t *names = names_of(chosen, facts->scope);
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    self->delimiter = tnd_csv_delimiter(chosen->delimiter);
    if (self->delimiter == 0)
        return tnd_fail(error, TND_CSV_DELIMITER_WANTED);
    TND_TRY(tnd_bytes_leave_out(&self->bytes, in, facts, error));
    TND_TRY(tnd_fields_init(&self->fields, chosen->fields, true, names, self->bytes.longest,
                            &facts->schema, error));
    self->decimal = (integers_t)chosen->integers == INTEGERS_DECIMAL;
    self->quotes = chosen->quotes;
    self->na = chosen->na;
    bool again = false; /* a field makes several columns */
    TND_TRY(tnd_csv_places_init(&self->places, &self->fields, (tnd_csv_by_t)chosen->by,
                                &chosen->select, names, error));
    facts->unknown = tnd_fields_adapt(&self->fields);
    facts->adapts = facts->unknown != 0;
    TND_TRY(tnd_fields_take_adapted(&self->fields, facts->adapted, facts->adapted_count, error));
    if (facts->adapts)
        TND_TRY(make_row(self, &facts->schema, error));
    for (uint64_t i = 1; i < self->places.count; i++)
        again = again || self->places.items[i].place == self->places.items[i - 1].place;
    for (uint32_t i = 0; i < self->fields.count; i++)
        if (self->fields.items[i].text_size > 0 || again)
            facts->growth_max = 0;
    return TND_OK;
}

static tnd_status_t csv_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    csv_t *self = state;
    tnd_status_t status = prepare(self, given, in, facts, error);
    if (status != TND_OK)
        csv_close(self);
    return status;
}

/*  Whether the text of a field counts as empty. */
static bool is_missing(const csv_t *self, const tnd_csv_field_t *text)
{
    bool missing = text->size == 0;
    for (size_t i = 0; i < self->na.count && !missing; i++)
        missing = text->doubled == 0 && strlen(self->na.items[i]) == text->size &&
                  memcmp(text->at, self->na.items[i], text->size) == 0;
    return missing;
}

/*  "`x`", or of a column that several fields make "`x`[3]". */
static const char *name_of(const tnd_field_t *field, uint64_t element, char name[96])
{
    if (tnd_csv_texts(field) == 1)
        snprintf(name, 96, "`%s`", field->name);
    else
        snprintf(name, 96, "`%s`[%" PRIu64 "]", field->name, element);
    return name;
}

/*  A whole number that is written with a point or an exponent. */
static bool read_decimal(tnd_dtype_t dtype, const tnd_csv_field_t *text, void *to)
{
    const double most = 9007199254740992; /* 2^53: those beyond may not be the number of the text */
    char whole[32];
    double number;
    if (!tnd_number_text(TND_F64, text->at, text->size, &number) || !(number > -most) ||
        !(number < most) || (double)(int64_t)number != number)
        return false;
    int size = snprintf(whole, sizeof whole, "%" PRId64, (int64_t)number);
    return tnd_number_text(dtype, whole, (size_t)size, to);
}

/*  What a text that is not a number may be meant for. */
static const char *advice(tnd_dtype_t dtype, const tnd_csv_field_t *text)
{
    static const char *const absent[] = {"NA",   "N/A",  "n/a",  "#N/A", "<NA>", "nan", "NaN",
                                         "null", "NULL", "none", "None", "?",    "-",   "."};
    uint64_t ignored;
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (strlen(absent[i]) == text->size && memcmp(absent[i], text->at, text->size) == 0)
            return "; `na` lists the texts that count as an empty field, such as `na: [NA, "
                   "\"?\"]`, and "
                   "`default` says what a column has for it";
    if (!tnd_dtype_is_float(dtype) && read_decimal(dtype, text, &ignored))
        return "; `integers: decimal` reads whole numbers that are written like this";
    return tnd_byte_order_mark(text->at, text->size) > 0
               ? ": it begins with a byte order mark (bytes EF BB BF), which `bom: remove` of the "
                 "source leaves out"
               : "";
}

static tnd_status_t write_number(const csv_t *self, const tnd_field_t *field,
                                 const tnd_csv_field_t *text, uint64_t element, void *to,
                                 tnd_error_t *error)
{
    tnd_excerpt_t excerpt;
    char name[96];
    if (field->dtype == TND_BOOL ? tnd_bool_text(text->at, text->size, to)
                                 : tnd_number_text(field->dtype, text->at, text->size, to))
        return TND_OK;
    bool integer = field->dtype != TND_BOOL && !tnd_dtype_is_float(field->dtype);
    if (self->decimal && integer && read_decimal(field->dtype, text, to))
        return TND_OK;
    (void)name_of(field, element, name);
    (void)tnd_excerpt(&excerpt, text->at, text->size);
    if (field->dtype == TND_BOOL)
        return tnd_fail(error, "the field %s is `%s`, not true, false, yes, no, 1 or 0", name,
                        excerpt.text);
    return tnd_fail(error, "the field %s is `%s`, which is not a number of type %s%s", name,
                    excerpt.text, tnd_dtype_name(field->dtype), advice(field->dtype, text));
}

/*  The number of a class. */
static tnd_status_t write_class(const tnd_field_t *field, const tnd_csv_field_t *text,
                                uint64_t element, void *to, tnd_error_t *error)
{
    enum { PLAIN = 1024, LISTED = 200 };
    char plain[PLAIN], name[96], list[LISTED];
    tnd_excerpt_t excerpt;
    const tnd_class_t *found = NULL;
    if (field->classes.count == 0) { /* it is not known yet which there are */
        memset(to, 0, field->size);
        return TND_OK;
    }
    if (text->doubled == 0) {
        found = tnd_class_list_find(&field->classes, text->at, text->size);
    } else if (text->size <= PLAIN) {
        tnd_csv_copy(text, plain);
        found = tnd_class_list_find(&field->classes, plain, text->size - text->doubled);
    }
    if (found == NULL)
        return tnd_fail(error, "the field %s is `%s`, which is not one of its %zu classes: %s",
                        name_of(field, element, name), tnd_excerpt(&excerpt, text->at, text->size),
                        field->classes.count,
                        tnd_class_list_text(&field->classes, list, sizeof list));
    memcpy(to, &found->number, field->size);
    return TND_OK;
}

static tnd_status_t write_field(const csv_t *self, const tnd_field_t *field,
                                const tnd_csv_field_t *text, uint64_t element, tnd_tile_t *out,
                                uint32_t row, tnd_error_t *error)
{
    bool missing = is_missing(self, text);
    char name[96];
    if (missing && !field->optional)
        return tnd_fail(error, "the field %s is empty and has no default",
                        name_of(field, element, name));
    if (!field->string) {
        uint8_t *to = (uint8_t *)tnd_tile_row(out, field->column, row) + element * field->size;
        if (!missing)
            return tnd_field_has_classes(field)
                       ? write_class(field, text, element, to, error)
                       : write_number(self, field, text, element, to, error);
        memcpy(to, &field->fallback, field->size);
        return TND_OK;
    }
    if (missing) {
        tnd_field_write_default(field, out, row);
        return TND_OK;
    }
    uint64_t size = text->size - text->doubled;
    if (size > field->most)
        return tnd_fail(error,
                        "the field `%s` has %" PRIu64 " bytes, more than `max` (%" PRIu64 ")",
                        field->name, size, field->most);
    tnd_ragged_t *made = &out->columns[field->column].ragged[row];
    *made = (tnd_ragged_t){(void *)(uintptr_t)text->at, size};
    if (text->doubled == 0)
        return TND_OK;
    made->data = tnd_room_take(out->room, size, 1);
    tnd_csv_copy(text, made->data);
    return TND_OK;
}

/*  A record that ended after `count` fields. */
static tnd_status_t check_count(const csv_t *self, uint64_t count, uint64_t made,
                                tnd_error_t *error)
{
    const tnd_csv_places_t *places = &self->places;
    char name[96];
    if (made == places->count && (places->record == 0 || count == places->record))
        return TND_OK;
    if (made == places->count)
        return tnd_fail(error, "the record has %" PRIu64 " fields, but the header %" PRIu64, count,
                        places->record);
    const tnd_csv_place_t *next = &places->items[made];
    return tnd_fail(error, "the record has no field %s: it ends before",
                    name_of(&self->fields.items[next->field], next->element, name));
}

static tnd_status_t read_row(const csv_t *self, const tnd_ragged_t *record, tnd_tile_t *out,
                             uint32_t row, tnd_error_t *error)
{
    const tnd_csv_places_t *places = &self->places;
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    tnd_error_t why;
    tnd_status_t status;
    uint64_t made = 0, place = 0;
    tnd_csv_init(&fields, record->data, record->length, self->delimiter, self->quotes);
    for (; (status = tnd_csv_next(&fields, &text, &why)) == TND_OK; place++) {
        if (places->record > 0 && place == places->record)
            return tnd_fail(error, "the record has more than %" PRIu64 " fields%s", places->record,
                            places->by_name ? ", which the header has"
                                            : ": `select` says which are read");
        for (; made < places->count && places->items[made].place == (int64_t)place; made++)
            TND_TRY(write_field(self, &self->fields.items[places->items[made].field], &text,
                                places->items[made].element, out, row, error));
    }
    if (status == TND_FAILED)
        return tnd_fail(error, "%s, at byte %zu of the record", why.text,
                        (size_t)(fields.at - (const uint8_t *)record->data));
    return check_count(self, place, made, error);
}

static tnd_status_t csv_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const csv_t *self = state;
    tnd_bytes_pass(&self->bytes, in, out);
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(read_row(self, &in->columns[self->bytes.column].ragged[row], out, row, error));
    return TND_OK;
}

/*  Adds the texts of the classes of a record that is good. */
static tnd_status_t learn_record(csv_t *self, const tnd_ragged_t *record, tnd_error_t *error)
{
    const tnd_csv_places_t *places = &self->places;
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    uint64_t made = 0;
    tnd_csv_init(&fields, record->data, record->length, self->delimiter, self->quotes);
    for (int64_t place = 0; tnd_csv_next(&fields, &text, error) == TND_OK; place++)
        for (; made < places->count && places->items[made].place == place; made++) {
            const tnd_field_t *field = &self->fields.items[places->items[made].field];
            size_t size = text.size - text.doubled;
            if (field->counts == NULL || is_missing(self, &text))
                continue;
            char *plain = tnd_room_take(&self->room, size, 1);
            tnd_csv_copy(&text, plain);
            TND_TRY(tnd_word_counts_add(field->counts, plain, size, 1, error));
        }
    return TND_OK;
}

static tnd_status_t csv_learn(void *state, const tnd_tile_t *in, tnd_error_t *error)
{
    csv_t *self = state;
    const tnd_ragged_t *record = in->columns[self->bytes.column].ragged;
    tnd_status_t status = TND_REFUSED;
    if (read_row(self, record, &self->tried, 0, error) == TND_OK)
        status = learn_record(self, record, error);
    tnd_room_clear(&self->room);
    return status;
}

static tnd_status_t csv_tell(const void *state, FILE *out, tnd_error_t *error)
{
    (void)error;
    tnd_fields_tell(&((const csv_t *)state)->fields, out);
    return TND_OK;
}

/*  A text of a class, in quotes; returns the byte after it. */
static uint8_t *put_class(const csv_t *self, const tnd_class_t *class, uint8_t *at)
{
    if (self->quotes)
        *at++ = '"';
    for (size_t i = 0; i < class->size; i++) {
        if (self->quotes && class->text[i] == '"')
            *at++ = '"';
        *at++ = (uint8_t) class->text[i];
    }
    if (self->quotes)
        *at++ = '"';
    return at;
}

/*  Bytes of the longest text of a class in quotes. */
static size_t class_room(const csv_t *self)
{
    size_t most = 1;
    for (uint32_t i = 0; i < self->fields.count; i++) {
        size_t size = 2 * self->fields.items[i].classes.longest + 2;
        most = size > most ? size : most;
    }
    return most;
}

/*  Numbers are 1, texts `a`, classes the first; fields that are not read are empty, or `-` where spaces
 *  separate. */
static tnd_ragged_t csv_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const csv_t *self = state;
    const tnd_csv_places_t *places = &self->places;
    uint64_t last = (uint64_t)places->items[places->count - 1].place + 1, made = 0;
    uint64_t count = places->record > last ? places->record : last;
    bool spaces = self->delimiter == TND_CSV_SPACES;
    uint8_t *data = tnd_room_take(room, 2 * count + places->count * class_room(self), 1);
    uint8_t *at = data;
    for (uint64_t place = 0; place < count; place++) {
        if (place > 0)
            *at++ = spaces ? ' ' : self->delimiter;
        if (made == places->count || places->items[made].place != (int64_t)place) {
            if (spaces)
                *at++ = '-';
            continue;
        }
        const tnd_field_t *field = &self->fields.items[places->items[made].field];
        if (field->classes.count > 0)
            at = put_class(self, &field->classes.items[0], at);
        else
            *at++ = field->string ? 'a' : '1';
        while (made < places->count && places->items[made].place == (int64_t)place)
            made++;
    }
    *column_p = self->bytes.column;
    return (tnd_ragged_t){data, (size_t)(at - data)};
}

const tnd_op_t tnd_op_decode_csv = {
    .spec = &tnd_op_decode_csv_spec,
    .state_bytes = sizeof(csv_t),
    .open = csv_open,
    .apply = csv_apply,
    .learn = csv_learn,
    .tell = csv_tell,
    .close = csv_close,
    .record = csv_record,
};
