/*  actors/op/text/fields.c - the columns that a topology asks of records of text. */
#include "actors/op/text/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/text/bytes_column.h"
#include "actors/op/text/column_text.h"
#include "actors/op/text/csv_names.h"
#include "actors/text/number_text.h"
#include "runtime/base/allocation.h"

/*  The struct of a field of either table; what its table does not have stays zero. */
typedef struct {
    int dtype;
    const char *path, *fallback;
    tnd_numbers_t shape;
    bool ragged;
    uint64_t max;
    const char *field, *from, *to;
    tnd_strings_t fields, classes;
} field_options_t;

/*  JSON has no bool here. */
#define DTYPES "string|u8|i8|u16|i16|u32|i32|u64|i64|f32|f64"

#define OPTION_DTYPE(types)                                                                        \
    {                                                                                              \
        TND_OPTION(field_options_t, dtype, ENUM, GRAPH), .choices = types, .help = "its type"      \
    }
#define OPTION_DEFAULT(text)                                                                       \
    {                                                                                              \
        TND_OPTION_NAMED("default", field_options_t, fallback, STRING, GRAPH), .fallback = "",     \
                                                                               .help = (text)      \
    }
#define OPTION_SHAPE(text)                                                                         \
    {                                                                                              \
        TND_OPTION(field_options_t, shape, F64S, GRAPH), .range = "1..", .fallback = "",           \
                                                         .help = (text)                            \
    }
#define OPTION_MAX                                                                                 \
    {                                                                                              \
        TND_OPTION(field_options_t, max, U64, GRAPH),                                              \
            .fallback = "longest", .choices = "longest=0", .range = "1..1099511627776",            \
            .help = "the maximum length of a string or "                                           \
                    "list; longer rows are bad"                                                    \
    }

static const tnd_option_t csv_options[] = {
    OPTION_DTYPE(DTYPES "|bool"),
    OPTION_DEFAULT("what an empty field has, such as 0 or nan; without it the row is bad"),
    OPTION_SHAPE("the shape of a column that several fields in turn make: [784] takes 784 of them"),
    OPTION_MAX,
    {TND_OPTION(field_options_t, field, STRING, GRAPH), .fallback = "", .unit = "name",
     .help = "the name of the field in the header, if it is not that of the column"},
    {TND_OPTION(field_options_t, fields, STRINGS, GRAPH), .fallback = "",
     .help = "the names of the fields that make a vector, [width, height]"},
    {TND_OPTION(field_options_t, from, STRING, GRAPH), .fallback = "", .unit = "name",
     .help = "the first of the fields that make a vector, a name or a place from 0; with `to`"},
    {TND_OPTION(field_options_t, to, STRING, GRAPH), .fallback = "", .unit = "name",
     .help = "the last of them"},
    {TND_OPTION(field_options_t, classes, STRINGS, GRAPH), .fallback = "",
     .help = "texts that are the numbers 0, 1, 2 ..., [cat, dog]; a row with another is bad; "
             "`auto`: those of the rows that train, in the order of their bytes; `default` is one "
             "of them, or a number"},
};

static const tnd_table_t csv_table = {
    .name = "csv_field", .help = "a field of a record", TND_OPTIONS(csv_options, field_options_t)};

static const tnd_option_t json_options[] = {
    OPTION_DTYPE(DTYPES),
    {TND_OPTION(field_options_t, path, STRING, GRAPH), .fallback = "", .example = "a.b",
     .help = "the keys that lead to it, with dots between them, if they are not the name of the "
             "column; a number is a place in a list, from 0"},
    OPTION_DEFAULT("what a row has that lacks it or has null; without it the row is bad"),
    OPTION_SHAPE("the shape of a list of numbers; [2, 3] is a list of two lists of three numbers"),
    {TND_OPTION(field_options_t, ragged, BOOL, GRAPH), .fallback = "false",
     .help = "whether it is a list of numbers whose length differs from row to row; a missing one "
             "has length 0"},
    OPTION_MAX,
};

static const tnd_table_t json_table = {.name = "json_field",
                                       .help = "a value of a JSON document",
                                       TND_OPTIONS(json_options, field_options_t)};

#define FIELDS_OPTION(fields_table)                                                                \
    {                                                                                              \
        TND_OPTION_NAMED("*", tnd_fields_options_t, fields, STRING, GRAPH),                        \
            .unit = "type", .example = "i32", .fallback = "",                                      \
            .help = "a column and its type: string, u8, i8 ... i64, f32, f64, or with a shape "    \
                    "f32[8]; or a map of options",                                                 \
            .table = &(fields_table)                                                               \
    }

static const tnd_option_t csv_fields[] = {FIELDS_OPTION(csv_table)};
const tnd_table_t tnd_csv_fields_table = {.name = "csv_fields",
                                          .help = "the fields of a record, in their order",
                                          TND_OPTIONS(csv_fields, tnd_fields_options_t)};

static const tnd_option_t json_fields[] = {FIELDS_OPTION(json_table)};
const tnd_table_t tnd_json_fields_table = {.name = "json_fields",
                                           .help = "the values of a JSON document",
                                           TND_OPTIONS(json_fields, tnd_fields_options_t)};

/*  The type, and the shape if there is one, that `text` says.  Errors: TND_FAILED; the text lists the
 *  types. */
static tnd_status_t read_type(tnd_field_t *self, const char *text, bool csv, tnd_column_t *made,
                              tnd_error_t *error)
{
    self->string = strcmp(text, "string") == 0;
    self->dtype = TND_U8;
    bool known = !self->string && tnd_column_text(text, made) && !made->ragged &&
                 (made->dtype != TND_BOOL || csv) && made->dtype != TND_F16 &&
                 made->dtype != TND_BF16;
    if (known)
        self->dtype = made->dtype;
    if (self->string || known)
        return TND_OK;
    return tnd_fail(error,
                    "field `%s` has the type `%s`; the types are string, %su8, i8, u16, i16, u32, "
                    "i32, u64, i64, f32 and f64",
                    self->name, text, csv ? "bool, " : "");
}

static tnd_status_t read_choice(tnd_field_t *self, int dtype, bool csv, tnd_error_t *error)
{
    const char *choices = DTYPES "|bool", *word;
    char text[16] = "";
    tnd_column_t ignored = {.rank = 0};
    size_t size = tnd_option_choice(&choices, &word);
    for (int i = 0; i < dtype; i++)
        size = tnd_option_choice(&choices, &word);
    memcpy(text, word, size);
    return read_type(self, text, csv, &ignored, error);
}

/*  Of classes: one of their texts, or a number, also -1 and the next one for what is none of them. */
static tnd_status_t read_default_class(tnd_field_t *self, const char *text,
                                       const tnd_column_t *like, tnd_error_t *error)
{
    char list[160];
    uint64_t bits;
    const tnd_class_t *found = tnd_class_list_find(&self->classes, text, strlen(text));
    int64_t count = (int64_t)self->classes.count;
    if (found != NULL) {
        self->fallback = found->number;
        return TND_OK;
    }
    if (tnd_number_text(TND_I64, text, strlen(text), &bits) && (int64_t)bits >= -1 &&
        (int64_t)bits <= count)
        return tnd_op_number("default", text, like, &self->fallback, error);
    return tnd_fail(error,
                    "the default of field `%s` is `%s`: neither one of its %" PRId64
                    " classes (%s) nor a number from -1 to %" PRId64,
                    self->name, text, count, tnd_class_list_text(&self->classes, list, sizeof list),
                    count);
}

static tnd_status_t read_default(tnd_field_t *self, const char *text, tnd_error_t *error)
{
    tnd_column_t like = {.dtype = self->dtype};
    self->optional = self->ragged || text != NULL;
    if (text == NULL)
        return TND_OK;
    if (self->ragged)
        return tnd_fail(error, "field `%s` has length 0 where it is missing, and no default",
                        self->name);
    snprintf(like.name, sizeof like.name, "%s", self->name);
    if (self->dtype == TND_BOOL)
        return tnd_bool_text(text, strlen(text), (bool *)&self->fallback)
                   ? TND_OK
                   : tnd_fail(error, "the default of field `%s` is `%s`, not true or false",
                              self->name, text);
    if (self->counts != NULL) {
        self->default_class = text; /* is read once the classes are known */
        return TND_OK;
    }
    if (self->classes.count > 0)
        return read_default_class(self, text, &like, error);
    if (!self->string)
        return tnd_op_number("default", text, &like, &self->fallback, error);
    self->text = text;
    self->text_size = strlen(text);
    return TND_OK;
}

/*  Where a vector that names its fields gets its shape from. */
static tnd_status_t read_sources(tnd_field_t *self, const field_options_t *chosen,
                                 const tnd_field_names_t *names, tnd_column_t *made,
                                 tnd_error_t *error)
{
    uint64_t count = chosen->fields.count;
    int64_t first, last;
    int ways = (chosen->field != NULL) + (count > 0) + (chosen->from != NULL || chosen->to != NULL);
    self->source = chosen->field;
    self->sources = chosen->fields;
    self->from = chosen->from;
    self->to = chosen->to;
    if (ways > 1)
        return tnd_fail(error, "field `%s` has more than one of `field`, `fields` and `from`",
                        self->name);
    if ((self->from == NULL) != (self->to == NULL))
        return tnd_fail(error, "field `%s`: `from` and `to` go together", self->name);
    if (self->from != NULL) {
        TND_TRY(tnd_csv_range(self->name, self->from, self->to, names, &first, &last, error));
        count = (uint64_t)(last - first) + 1;
    }
    if (count == 0)
        return TND_OK;
    if (self->string)
        return tnd_fail(error, "field `%s` is one string, not several fields", self->name);
    if (made->rank == 0) {
        made->rank = 1;
        made->shape[0] = count;
    }
    if (tnd_column_elements(made) != count)
        return tnd_fail(error,
                        "field `%s` has a shape of %" PRIu64 " elements, and is made of %" PRIu64
                        " fields",
                        self->name, tnd_column_elements(made), count);
    return TND_OK;
}

static tnd_status_t set_classes(tnd_field_t *self, const tnd_strings_t *classes, tnd_error_t *error)
{
    char text[24];
    uint64_t ignored;
    snprintf(text, sizeof text, "%zu", classes->count - 1);
    if (self->string || tnd_dtype_is_float(self->dtype) || self->dtype == TND_BOOL)
        return tnd_fail(error, "field `%s` has `classes`, which are integers, such as i64",
                        self->name);
    if (!tnd_number_text(self->dtype, text, strlen(text), &ignored))
        return tnd_fail(error, "field `%s` has %zu classes, more than %s has numbers", self->name,
                        classes->count, tnd_dtype_name(self->dtype));
    return tnd_class_list_init(&self->classes, classes, error);
}

static tnd_status_t read_classes(tnd_field_t *self, const tnd_strings_t *classes,
                                 tnd_error_t *error)
{
    static const char *const none[] = {""};
    static const tnd_strings_t one = {none, 1};
    if (classes->count == 0)
        return TND_OK;
    if (classes->count > 1 || strcmp(classes->items[0], "auto") != 0)
        return set_classes(self, classes, error);
    TND_TRY(set_classes(self, &one, error));
    tnd_class_list_free(&self->classes);
    self->counts = tnd_word_counts_new();
    return TND_OK;
}

static tnd_status_t add_field(tnd_field_t *self, const tnd_pair_t *pair, bool csv,
                              const tnd_field_names_t *names, uint64_t longest,
                              tnd_schema_t *schema, tnd_error_t *error)
{
    field_options_t chosen = {0};
    tnd_column_t made = {.rank = 0};
    self->name = pair->name;
    if (pair->options != NULL) {
        chosen = *(const field_options_t *)pair->options;
        TND_TRY(read_choice(self, chosen.dtype, csv, error));
    } else {
        TND_TRY(read_type(self, pair->text, csv, &made, error));
    }
    self->path = chosen.path;
    self->ragged = chosen.ragged;
    if (self->string && (chosen.ragged || chosen.shape.count > 0))
        return tnd_fail(error, "field `%s` is one string; lists and shapes are of numbers",
                        self->name);
    if (self->ragged && chosen.shape.count > 0)
        return tnd_fail(error, "field `%s` is ragged, so it has no `shape`", self->name);
    if (!self->string && !self->ragged && chosen.max != 0)
        return tnd_fail(error, "field `%s` has one shape; `max` is for strings and ragged lists",
                        self->name);
    if (chosen.shape.count > 0)
        TND_TRY(tnd_bytes_shape(&chosen.shape, &made, error));
    TND_TRY(read_sources(self, &chosen, names, &made, error));
    TND_TRY(read_classes(self, &chosen.classes, error));
    TND_TRY(read_default(self, chosen.fallback, error));
    self->most = chosen.max != 0             ? chosen.max
                 : longest < self->text_size ? self->text_size
                                             : longest;
    if (self->text_size > self->most)
        return tnd_fail(error, "the default of field `%s` is longer than `max`", self->name);
    made.dtype = self->dtype;
    made.ragged = self->string || self->ragged;
    if (made.ragged) {
        made.rank = 1;
        made.shape[0] = self->most;
    }
    self->rank = made.rank;
    memcpy(self->shape, made.shape, sizeof self->shape);
    self->size = tnd_dtype_size(self->dtype);
    self->elements = tnd_column_elements(&made);
    self->column = schema->count;
    return tnd_schema_add_like(schema, self->name, &made, error);
}

tnd_status_t tnd_fields_init(tnd_fields_t *self, const tnd_fields_options_t *options, bool csv,
                             const tnd_field_names_t *names, uint64_t longest, tnd_schema_t *schema,
                             tnd_error_t *error)
{
    size_t count = options->fields.count;
    *self = (tnd_fields_t){.items = tnd_allocate_zeroed(count + 1, sizeof *self->items)};
    for (size_t i = 0; i < count; i++)
        TND_TRY(add_field(&self->items[self->count++], &options->fields.items[i], csv, names,
                          longest, schema, error));
    return count > 0 ? TND_OK : tnd_fail(error, "no field is asked for");
}

void tnd_fields_fini(tnd_fields_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_class_list_free(&self->items[i].classes);
        tnd_word_counts_destroy(&self->items[i].counts);
    }
    free(self->items);
    *self = (tnd_fields_t){0};
}

uint64_t tnd_fields_adapt(const tnd_fields_t *self)
{
    uint64_t columns = 0;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i].counts != NULL)
            columns |= UINT64_C(1) << self->items[i].column;
    return columns;
}

/*  Adds the words of one lane. */
static tnd_status_t read_counts(tnd_fields_t *self, const char *text, tnd_error_t *error)
{
    static const char column[] = "column=";
    tnd_field_t *field = NULL;
    for (size_t size; *text != '\0'; text += size + (text[size] == ' ')) {
        size = strcspn(text, " ");
        bool names = strncmp(text, column, strlen(column)) == 0;
        for (uint32_t i = 0; i < self->count && names; i++)
            if (strlen(self->items[i].name) == size - strlen(column) &&
                strncmp(self->items[i].name, text + strlen(column), size - strlen(column)) == 0)
                field = &self->items[i];
        if (field == NULL || field->counts == NULL)
            return tnd_fail(error, "the stored values of `auto` are of other columns");
        if (!names)
            TND_TRY(tnd_word_counts_read(field->counts, text, size, error));
    }
    return TND_OK;
}

tnd_status_t tnd_fields_take_adapted(tnd_fields_t *self, const tnd_adapted_item_t *items,
                                     size_t count, tnd_error_t *error)
{
    for (size_t i = 0; i < count; i++)
        TND_TRY(read_counts(self, items[i].text, error));
    for (uint32_t i = 0; i < self->count && count > 0; i++) {
        tnd_field_t *field = &self->items[i];
        if (field->counts == NULL)
            continue;
        tnd_strings_t texts = tnd_word_counts_sorted(field->counts);
        if (texts.count == 0)
            return tnd_fail(error,
                            "field `%s` has `classes: auto`, and no row that trains has a text",
                            field->name);
        TND_TRY(set_classes(field, &texts, error));
        tnd_column_t like = {.dtype = field->dtype};
        snprintf(like.name, sizeof like.name, "%s", field->name);
        if (field->default_class != NULL)
            TND_TRY(read_default_class(field, field->default_class, &like, error));
    }
    return TND_OK;
}

void tnd_fields_tell(const tnd_fields_t *self, FILE *out)
{
    const char *glue = "";
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->items[i].counts == NULL)
            continue;
        fprintf(out, "%scolumn=%s", glue, self->items[i].name);
        tnd_word_counts_write(self->items[i].counts, out);
        glue = " ";
    }
}

void tnd_field_write_default(const tnd_field_t *self, tnd_tile_t *out, uint32_t row)
{
    tnd_ragged_t *ragged = out->columns[self->column].ragged;
    if (ragged != NULL) {
        void *to = tnd_room_take(out->room, self->text_size, self->size);
        if (self->text_size > 0)
            memcpy(to, self->text, self->text_size);
        ragged[row] = (tnd_ragged_t){to, self->text_size};
        return;
    }
    uint8_t *to = tnd_tile_row(out, self->column, row);
    for (uint64_t i = 0; i < self->elements; i++)
        memcpy(to + i * self->size, &self->fallback, self->size);
}
