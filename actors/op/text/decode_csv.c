/*  actors/op/text/decode_csv.c - records of CSV become columns: decode_csv. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/text/bytes_column.h"
#include "actors/op/text/fields.h"
#include "actors/text/csv_record.h"
#include "actors/text/number_text.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"

typedef struct {
    const char *column;
    const tnd_fields_options_t *fields;
    const char *delimiter;
    tnd_strings_t na;
    bool quotes;
    tnd_numbers_t select;
} csv_options_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_fields_t fields;
    int64_t *select; /* the places of the fields; NULL: all of a record, in their order */
    uint64_t texts;  /* that are read of a record */
    uint8_t delimiter;
    bool quotes;
    tnd_strings_t na;
} csv_t;

static const tnd_option_t options[] = {
    {TND_OPTION(csv_options_t, column, COLUMN, GRAPH), .fallback = "record",
     .help = "the ragged column of u8 with the records; it is left out of what follows"},
    {TND_OPTION(csv_options_t, fields, TABLE, GRAPH), .table = &tnd_csv_fields_table,
     .help = "the columns that are made, in the order of the fields"},
    {TND_OPTION(csv_options_t, delimiter, STRING, GRAPH), .fallback = ",",
     .help = "what separates fields: one byte"},
    {TND_OPTION(csv_options_t, quotes, BOOL, GRAPH), .fallback = "true",
     .help = "whether fields may be in double quotes"},
    {TND_OPTION(csv_options_t, na, STRINGS, GRAPH), .fallback = "",
     .help = "texts that count as an empty field, such as [NA, \"?\"]"},
    {TND_OPTION(csv_options_t, select, F64S, GRAPH), .fallback = "",
     .help = "the places of the fields that are read, from 0 and ascending, [0, 2]; without it a "
             "record has exactly these fields"},
};

const tnd_op_spec_t tnd_op_decode_csv_spec = {
    .table = {.name = "decode_csv",
              .help = "Makes columns of the fields of CSV records, as CsvDataset and "
                      "tf.io.decode_csv do in TensorFlow.",
              TND_OPTIONS(options, csv_options_t)},
    .caps = TND_OP_FAILS,
};

static void csv_close(void *state)
{
    csv_t *self = state;
    tnd_fields_fini(&self->fields);
    free(self->select);
}

/*  How many texts of a record a field is made of. */
static uint64_t texts_of(const tnd_field_t *field)
{
    return field->string ? 1 : field->elements;
}

static tnd_status_t read_select(csv_t *self, const tnd_numbers_t *select, tnd_error_t *error)
{
    if (select->count == 0)
        return TND_OK;
    if (select->count != self->texts)
        return tnd_fail(error, "`select` has %zu places, the columns of `fields` take %" PRIu64,
                        select->count, self->texts);
    self->select = tnd_allocate_zeroed(select->count, sizeof *self->select);
    TND_TRY(tnd_op_whole("select", select, 0, self->select, select->count, error));
    for (size_t i = 1; i < select->count; i++)
        if (self->select[i] <= self->select[i - 1])
            return tnd_fail(error, "`select` has %" PRId64 " after %" PRId64 "; places ascend",
                            self->select[i], self->select[i - 1]);
    return TND_OK;
}

static tnd_status_t prepare(csv_t *self, const csv_options_t *chosen, const tnd_schema_t *in,
                            tnd_op_facts_t *facts, tnd_error_t *error)
{
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    if (strlen(chosen->delimiter) != 1 || strchr("\"\r\n", chosen->delimiter[0]) != NULL)
        return tnd_fail(error, "`delimiter` is one byte, and neither a quote nor an end of a line");
    TND_TRY(tnd_bytes_leave_out(&self->bytes, in, facts, error));
    TND_TRY(
        tnd_fields_init(&self->fields, chosen->fields, self->bytes.longest, &facts->schema, error));
    self->delimiter = (uint8_t)chosen->delimiter[0];
    self->quotes = chosen->quotes;
    self->na = chosen->na;
    for (uint32_t i = 0; i < self->fields.count; i++) {
        self->texts += texts_of(&self->fields.items[i]);
        if (self->fields.items[i].text_size > 0)
            facts->growth_max = 0;
    }
    return read_select(self, &chosen->select, error);
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
    if (texts_of(field) == 1)
        snprintf(name, 96, "`%s`", field->name);
    else
        snprintf(name, 96, "`%s`[%" PRIu64 "]", field->name, element);
    return name;
}

static tnd_status_t write_number(const tnd_field_t *field, const tnd_csv_field_t *text,
                                 uint64_t element, void *to, tnd_error_t *error)
{
    tnd_excerpt_t excerpt;
    char name[96];
    if (tnd_number_text(field->dtype, text->at, text->size, to))
        return TND_OK;
    return tnd_fail(error, "the field %s is `%s`, which is not a number of type %s%s",
                    name_of(field, element, name), tnd_excerpt(&excerpt, text->at, text->size),
                    tnd_dtype_name(field->dtype),
                    tnd_byte_order_mark(text->at, text->size) > 0
                        ? ": it begins with a byte order mark (bytes EF BB BF), which `bom: "
                          "remove` of the source leaves out"
                        : "");
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
            return write_number(field, text, element, to, error);
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

static tnd_status_t read_row(const csv_t *self, const tnd_ragged_t *record, tnd_tile_t *out,
                             uint32_t row, tnd_error_t *error)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    tnd_error_t why;
    tnd_status_t status;
    const tnd_field_t *field = self->fields.items;
    uint64_t made = 0, element = 0;
    tnd_csv_init(&fields, record->data, record->length, self->delimiter, self->quotes);
    for (int64_t place = 0; (status = tnd_csv_next(&fields, &text, &why)) == TND_OK; place++) {
        bool all = made == self->texts;
        if (self->select != NULL && (all || self->select[made] != place))
            continue;
        if (all)
            return tnd_fail(error,
                            "the record has more than %" PRIu64 " fields: `select` says which are "
                            "read",
                            self->texts);
        TND_TRY(write_field(self, field, &text, element, out, row, error));
        made++;
        if (++element == texts_of(field)) {
            field++;
            element = 0;
        }
    }
    if (status == TND_FAILED)
        return tnd_fail(error, "%s, at byte %zu of the record", why.text,
                        (size_t)(fields.at - (const uint8_t *)record->data));
    if (made == self->texts)
        return TND_OK;
    char name[96];
    return tnd_fail(error, "the record has no field %s: it ends before",
                    name_of(field, element, name));
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

/*  Numbers are 1, texts `a`; fields that are not selected are empty. */
static tnd_ragged_t csv_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const csv_t *self = state;
    size_t places = self->select != NULL ? (size_t)self->select[self->texts - 1] + 1 : self->texts;
    uint8_t *data = tnd_room_take(room, places + self->texts, 1), *at = data;
    const tnd_field_t *field = self->fields.items;
    uint64_t made = 0, element = 0;
    for (size_t place = 0; place < places; place++) {
        if (place > 0)
            *at++ = self->delimiter;
        if (self->select != NULL && self->select[made] != (int64_t)place)
            continue;
        *at++ = field->string ? 'a' : '1';
        made++;
        if (++element == texts_of(field)) {
            field++;
            element = 0;
        }
    }
    *column_p = self->bytes.column;
    return (tnd_ragged_t){data, (size_t)(at - data)};
}

const tnd_op_t tnd_op_decode_csv = {
    .spec = &tnd_op_decode_csv_spec,
    .state_bytes = sizeof(csv_t),
    .open = csv_open,
    .apply = csv_apply,
    .close = csv_close,
    .record = csv_record,
};
