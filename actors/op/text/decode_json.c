/*  actors/op/text/decode_json.c - JSON documents become columns: decode_json. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "actors/op/text/bytes_column.h"
#include "actors/op/text/fields.h"
#include "actors/text/json_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"

typedef struct {
    const char *column;
    const tnd_fields_options_t *fields;
    bool allow_nan;
    int bom; /* tnd_mark_use_t */
} json_options_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_fields_t fields;
    bool allow_nan, removes_mark;
} json_state_t;

static const tnd_option_t options[] = {
    {TND_OPTION(json_options_t, column, COLUMN, GRAPH), .fallback = "record",
     .help = "the ragged column of u8 with the documents; it is left out of what follows"},
    {TND_OPTION(json_options_t, fields, TABLE, GRAPH), .table = &tnd_json_fields_table,
     .help = "the columns that are made, one per value"},
    {TND_OPTION(json_options_t, allow_nan, BOOL, GRAPH), .fallback = "false",
     .help = "whether NaN, Infinity and -Infinity, which json.dumps of Python writes and JSON does "
             "not have, are numbers of f32 and f64; otherwise such a document is a bad row"},
    {TND_OPTION(json_options_t, bom, ENUM, GRAPH), .fallback = "keep", .choices = TND_MARK_USES,
     .help = "what becomes of a byte order mark (EF BB BF) at the start of a document: with `keep` "
             "it is a bad row"},
};

const tnd_op_spec_t tnd_op_decode_json_spec = {
    .table = {.name = "decode_json",
              .help = "Makes columns of the values of JSON documents, one document per row (in "
                      "TensorFlow: none). A document that has a key twice, more than 2048 levels "
                      "or an integer beyond i64 is a bad row. true and false are the numbers 1 "
                      "and 0.",
              TND_OPTIONS(options, json_options_t)},
    .caps = TND_OP_FAILS,
};

static void json_close(void *state)
{
    json_state_t *self = state;
    tnd_fields_fini(&self->fields);
}

/*  A string is at most as long as its text, and two bytes of text are at least needed for a number
 *  of a list.  Several columns may be made of one value. */
static double growth(const tnd_fields_t *fields)
{
    double sum = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        const tnd_field_t *field = &fields->items[i];
        if (field->text_size > 0)
            return 0;
        if (field->string || field->ragged)
            sum += field->string ? 1 : (double)field->size / 2;
    }
    return sum > 1 ? sum : 1;
}

static tnd_status_t json_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    json_state_t *self = state;
    const json_options_t *chosen = given;
    self->allow_nan = chosen->allow_nan;
    self->removes_mark = chosen->bom == TND_MARK_REMOVE;
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    TND_TRY(tnd_bytes_leave_out(&self->bytes, in, facts, error));
    tnd_status_t status = tnd_fields_init(&self->fields, chosen->fields, false, NULL,
                                          self->bytes.longest, &facts->schema, error);
    facts->growth_max = growth(&self->fields);
    if (status != TND_OK)
        json_close(self);
    return status;
}

static tnd_status_t write_string(const tnd_field_t *field, const tnd_json_value_t *value,
                                 tnd_tile_t *out, uint32_t row, tnd_error_t *error)
{
    tnd_json_excerpt_t excerpt;
    const char *text;
    size_t size;
    if (!tnd_json_value_is_string(value, &text, &size))
        return tnd_fail(error, "the field `%s` is %s, not a string", field->name,
                        tnd_json_excerpt(&excerpt, value));
    if (size > field->most)
        return tnd_fail(error, "the field `%s` has %zu bytes, more than `max` (%" PRIu64 ")",
                        field->name, size, field->most);
    void *to = tnd_room_take(out->room, size, 1);
    memcpy(to, text, size);
    out->columns[field->column].ragged[row] = (tnd_ragged_t){to, size};
    return TND_OK;
}

static tnd_status_t write_number(const tnd_field_t *field, const tnd_json_value_t *value, void *to,
                                 tnd_error_t *error)
{
    tnd_json_excerpt_t excerpt;
    if (tnd_json_value_number(value, field->dtype, to))
        return TND_OK;
    return tnd_fail(error, "the field `%s` has %s, which is not a number of type %s", field->name,
                    tnd_json_excerpt(&excerpt, value), tnd_dtype_name(field->dtype));
}

static tnd_status_t check_list(const tnd_field_t *field, const tnd_json_value_t *value,
                               uint64_t *length_p, tnd_error_t *error)
{
    tnd_json_excerpt_t excerpt;
    if (tnd_json_value_is_list(value, length_p))
        return TND_OK;
    return tnd_fail(error, "the field `%s` has %s instead of a list", field->name,
                    tnd_json_excerpt(&excerpt, value));
}

static tnd_status_t write_ragged(const tnd_field_t *field, const tnd_json_value_t *value,
                                 tnd_tile_t *out, uint32_t row, tnd_error_t *error)
{
    uint64_t length;
    TND_TRY(check_list(field, value, &length, error));
    if (length > field->most)
        return tnd_fail(error,
                        "the field `%s` has %" PRIu64 " numbers, more than `max` (%" PRIu64 ")",
                        field->name, length, field->most);
    uint8_t *to = tnd_room_take(out->room, length * field->size, field->size);
    for (uint64_t i = 0; i < length; i++)
        TND_TRY(write_number(field, tnd_json_value_item(value, i), to + i * field->size, error));
    out->columns[field->column].ragged[row] = (tnd_ragged_t){to, length};
    return TND_OK;
}

/*  Writes the lists of axis `axis` and those in them; *to_p moves on. */
static tnd_status_t write_shape(const tnd_field_t *field, const tnd_json_value_t *value,
                                uint32_t axis, uint8_t **to_p, tnd_error_t *error)
{
    uint64_t length;
    if (axis == field->rank) {
        uint8_t *to = *to_p;
        *to_p += field->size;
        return write_number(field, value, to, error);
    }
    TND_TRY(check_list(field, value, &length, error));
    if (length != field->shape[axis])
        return tnd_fail(error,
                        "the field `%s` has a list of length %" PRIu64 " at axis %" PRIu32
                        " of its shape, which has %" PRIu64,
                        field->name, length, axis, field->shape[axis]);
    for (uint64_t i = 0; i < length; i++)
        TND_TRY(write_shape(field, tnd_json_value_item(value, i), axis + 1, to_p, error));
    return TND_OK;
}

static tnd_status_t write_field(const tnd_field_t *field, const tnd_json_record_t *record,
                                tnd_tile_t *out, uint32_t row, tnd_error_t *error)
{
    const char *path = field->path != NULL ? field->path : field->name;
    const tnd_json_value_t *value = tnd_json_record_find(record, path);
    if (value == NULL && !field->optional)
        return tnd_fail(error, "the field `%s` (`%s`) is missing or null and has no default",
                        field->name, path);
    if (value == NULL) {
        tnd_field_write_default(field, out, row);
        return TND_OK;
    }
    if (field->string)
        return write_string(field, value, out, row, error);
    if (field->ragged)
        return write_ragged(field, value, out, row, error);
    uint8_t *to = tnd_tile_row(out, field->column, row);
    return write_shape(field, value, 0, &to, error);
}

static tnd_status_t read_row(const json_state_t *self, const tnd_ragged_t *text, tnd_tile_t *out,
                             uint32_t row, tnd_error_t *error)
{
    tnd_json_record_t record;
    size_t mark = self->removes_mark ? tnd_byte_order_mark(text->data, text->length) : 0;
    TND_TRY(tnd_json_record_open(&record, (const char *)text->data + mark, text->length - mark,
                                 self->allow_nan, error));
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < self->fields.count && status == TND_OK; i++)
        status = write_field(&self->fields.items[i], &record, out, row, error);
    tnd_json_record_close(&record);
    return status;
}

static tnd_status_t json_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const json_state_t *self = state;
    tnd_bytes_pass(&self->bytes, in, out);
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(read_row(self, &in->columns[self->bytes.column].ragged[row], out, row, error));
    return TND_OK;
}

/*  Numbers are 1; texts and lists of any length are empty. */
static json_t *make_value(const tnd_field_t *field, uint32_t axis)
{
    if (field->string)
        return json_string("");
    if (!field->ragged && axis == field->rank)
        return json_integer(1);
    json_t *list = json_array();
    for (uint64_t i = 0; !field->ragged && i < field->shape[axis]; i++)
        (void)json_array_append_new(list, make_value(field, axis + 1));
    return list;
}

/*  Puts a value at the end of a path of keys with dots between them. */
static void put_value(json_t *object, const char *path, json_t *value)
{
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        json_t *next = json_object_get(object, key);
        if (next == NULL)
            (void)json_object_set_new(object, key, next = json_object());
        object = next;
    }
    (void)json_object_set_new(object, path, value);
}

static tnd_ragged_t json_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const json_state_t *self = state;
    json_t *root = json_object();
    for (uint32_t i = 0; i < self->fields.count; i++) {
        const tnd_field_t *field = &self->fields.items[i];
        put_value(root, field->path != NULL ? field->path : field->name, make_value(field, 0));
    }
    char *text = tnd_require_memory(json_dumps(root, JSON_COMPACT));
    json_decref(root);
    size_t size = strlen(text);
    uint8_t *data = memcpy(tnd_room_take(room, size, 1), text, size);
    free(text);
    *column_p = self->bytes.column;
    return (tnd_ragged_t){data, size};
}

const tnd_op_t tnd_op_decode_json = {
    .spec = &tnd_op_decode_json_spec,
    .state_bytes = sizeof(json_state_t),
    .open = json_open,
    .apply = json_apply,
    .close = json_close,
    .record = json_record,
};
