/*  tools/table/json_table.c - the columns of JSON documents, one per line. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "actors/text/json_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/json_string.h"
#include "tools/table/column_name.h"
#include "tools/table/misfit.h"
#include "tools/table/normalize_line.h"
#include "tools/table/record_table.h"
#include "tools/table/text_classes.h"

/*  A field in which one of so many values has another type is of the type of the others. */
enum { ODD_ONE_OF = 20 };

enum { FIELDS_MAX = 4096, PATH_MOST = 128, DEPTH_MAX = 8 };

/*  Numbers of a list, or of a list of lists. */
typedef struct {
    uint64_t length, inner; /* inner 0: its items are numbers */
    bool numbers;           /* it has nothing else, and its lists have one length */
    bool whole, wide;       /* whole numbers; one is beyond i32 */
} list_t;

/*  What is at one path of the documents. */
typedef struct {
    char path[PATH_MOST];
    char name[TND_NEW_NAME_MAX];
    uint64_t seen; /* documents that have it, and not null */
    uint64_t objects, booleans, whole, numbers, texts, lists, other;
    const char *kind; /* of the first value */
    tnd_misfit_t odd; /* values of another kind */
    bool wide;        /* a number that f32 may not have */
    bool uneven;      /* lists of different lengths */
    list_t list;      /* of the first one, and what is true of all */
    tnd_text_classes_t classes;
} field_t;

typedef enum {
    AS_NOTHING,
    AS_FLAG,
    AS_NUMBER,
    AS_WIDE,
    AS_INTEGER,
    AS_CLASS,
    AS_TEXT,
    AS_LIST
} use_t;

typedef struct {
    field_t *fields;
    size_t room;
    uint32_t count, next;       /* where the next key probably is */
    uint64_t documents, unread; /* unread: values whose keys no path can name */
    tnd_misfit_t blank, broken; /* records that are not objects */
    tnd_misfit_t other;         /* a first one that is other JSON, or the start of it */
    bool mixed;                 /* some are, but not most */
    bool useless;               /* no field is a column */
    bool allow_nan, marked;
} json_table_t;

static void *json_table_open(void)
{
    return tnd_allocate_zeroed(1, sizeof(json_table_t));
}

static void json_table_close_parts(json_table_t *self)
{
    tnd_misfit_free(&self->blank);
    tnd_misfit_free(&self->other);
    tnd_misfit_free(&self->broken);
    for (uint32_t f = 0; f < self->count; f++)
        tnd_misfit_free(&self->fields[f].odd);
    free(self->fields);
}

static void json_table_close(void *self)
{
    json_table_close_parts(self);
    free(self);
}

/*  --------------------------------------------------------------------------------- documents */

/*  The field of a path; NULL: there are too many.  Keys mostly come in the same order. */
static field_t *field_of(json_table_t *self, const char *path)
{
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t at = (self->next + i) % self->count;
        if (strcmp(self->fields[at].path, path) == 0) {
            self->next = at + 1;
            return &self->fields[at];
        }
    }
    if (self->count == FIELDS_MAX)
        return NULL;
    self->fields = tnd_grow(self->fields, self->count, &self->room, sizeof *self->fields);
    field_t *field = &self->fields[self->count];
    *field = (field_t){.list.numbers = true};
    strcpy(field->path, path);
    self->next = ++self->count;
    return field;
}

static void take_number(list_t *list, const json_t *item)
{
    double number;
    list->numbers = list->numbers && tnd_json_value_number(item, TND_F64, &number);
    list->whole = list->whole && json_is_integer(item);
    list->wide = list->wide || (json_is_integer(item) &&
                                json_integer_value(item) != (int32_t)json_integer_value(item));
}

static list_t list_of(const json_t *value)
{
    list_t list = {.length = json_array_size(value), .numbers = true, .whole = true};
    const json_t *first = json_array_get(value, 0), *item, *number;
    size_t i, j;
    list.inner = json_is_array(first) ? json_array_size(first) : 0;
    json_array_foreach(value, i, item)
    {
        if (list.inner == 0) {
            take_number(&list, item);
            continue;
        }
        list.numbers = list.numbers && json_array_size(item) == list.inner;
        json_array_foreach(item, j, number) take_number(&list, number);
    }
    return list;
}

static void take_list(field_t *field, const json_t *value)
{
    list_t list = list_of(value);
    if (field->lists++ == 0) {
        field->list = list;
        return;
    }
    field->uneven = field->uneven || list.length != field->list.length;
    field->list.numbers = field->list.numbers && list.numbers && list.inner == field->list.inner;
    field->list.whole = field->list.whole && list.whole;
    field->list.wide = field->list.wide || list.wide;
}

static void take_text(field_t *field, const char *text, size_t size)
{
    field->texts++;
    if (size < TND_CLASS_TEXT_MAX && strlen(text) == size)
        tnd_text_classes_add(&field->classes, text);
    else
        field->classes.many = true;
}

static const char *kind_of(const json_t *value)
{
    double number;
    return json_is_boolean(value) || tnd_json_value_number(value, TND_F64, &number) ? "a number"
           : json_is_array(value)                                                   ? "a list"
           : json_is_string(value)                                                  ? "a string"
                                   : "another value";
}

static void take_kind(field_t *field, const tnd_record_place_t *place, const json_t *value)
{
    const char *kind = kind_of(value);
    if (field->kind == NULL)
        field->kind = kind;
    if (strcmp(field->kind, kind) != 0)
        tnd_misfit_add(&field->odd, place, kind);
}

static void take_value(field_t *field, const tnd_record_place_t *place, const json_t *value)
{
    static const int64_t most = INT64_C(1) << 24;
    const char *text;
    size_t size;
    double number;
    field->seen++;
    take_kind(field, place, value);
    if (json_is_boolean(value)) {
        field->booleans++;
    } else if (tnd_json_value_number(value, TND_F64, &number)) {
        field->numbers++;
        field->whole += json_is_integer(value);
        field->wide = field->wide ||
                      (isfinite(number) &&
                       fabs(number) > (json_is_integer(value) ? (double)most : (double)FLT_MAX));
    } else if (tnd_json_value_is_string(value, &text, &size)) {
        take_text(field, text, size);
    } else if (json_is_array(value)) {
        take_list(field, value);
    } else {
        field->other++;
    }
}

static void take_object(json_table_t *self, const tnd_record_place_t *place, const json_t *object,
                        const char *prefix, int depth)
{
    const char *key;
    char path[PATH_MOST];
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        int size = snprintf(path, sizeof path, "%s%s%s", prefix, *prefix != '\0' ? "." : "", key);
        bool named = *key != '\0' && strchr(key, '.') == NULL && size < (int)sizeof path;
        field_t *field = named ? field_of(self, path) : NULL;
        if (field == NULL || (json_is_object(value) && depth == DEPTH_MAX)) {
            self->unread++;
        } else if (json_is_object(value)) {
            field->objects++;
            take_object(self, place, value, path, depth + 1);
        } else if (!json_is_null(value)) {
            take_value(field, place, value);
        }
    }
}

/*  Opens a document, with NaN if it has some. */
static bool open_document(json_table_t *self, tnd_json_record_t *document, const uint8_t *record,
                          size_t size, tnd_error_t *error)
{
    tnd_error_t again;
    if (tnd_json_record_open(document, record, size, false, error) == TND_OK)
        return true;
    if (tnd_json_record_open(document, record, size, true, &again) != TND_OK)
        return false;
    self->allow_nan = true;
    return true;
}

/*  `whole`: it is JSON.  A document of several lines begins with a bracket alone. */
static void take_other(json_table_t *self, const tnd_record_place_t *place, const uint8_t *record,
                       size_t size, bool whole)
{
    while (size > 1 && strchr(" \t\r", record[size - 1]) != NULL)
        size--;
    if (self->documents == 1 && (whole || (size == 1 && strchr("[{", record[0]) != NULL)))
        tnd_misfit_add(
            &self->other, place,
            "JSON, but not one object per line; `jq -c '.[]' FILE` writes the items of an "
            "array as such lines, and `jq -c . FILE` documents of several lines");
}

static void json_table_take(void *context, const tnd_record_place_t *place, const uint8_t *record,
                            size_t size)
{
    json_table_t *self = context;
    tnd_json_record_t document;
    tnd_error_t error;
    size_t mark = place->first ? tnd_byte_order_mark(record, size) : 0;
    self->marked = self->marked || mark > 0;
    self->documents++;
    if (size == mark) {
        tnd_misfit_add(&self->blank, place, "the line is empty");
        return;
    }
    if (!open_document(self, &document, record + mark, size - mark, &error)) {
        tnd_misfit_add(&self->broken, place, error.text);
        take_other(self, place, record + mark, size - mark, false);
        return;
    }
    if (json_is_object(document.root)) {
        self->next = 0;
        take_object(self, place, document.root, "", 1);
    } else {
        tnd_misfit_add(&self->broken, place, "not a JSON object");
        take_other(self, place, record + mark, size - mark, json_is_array(document.root));
    }
    tnd_json_record_close(&document);
}

static uint64_t objects_of(const json_table_t *self)
{
    return self->documents - self->blank.count - self->broken.count;
}

/*  Documents are most of the records. */
static bool json_table_look(void *context)
{
    json_table_t *self = context;
    bool most = objects_of(self) > self->broken.count;
    self->mixed = !most && objects_of(self) > 0;
    if (!most)
        return false;
    json_table_close_parts(self);
    *self = (json_table_t){0};
    return true;
}

/*  --------------------------------------------------------------------------------- decisions */

static bool is_missing(const json_table_t *self, const field_t *field)
{
    return field->seen < objects_of(self);
}

/*  Whether some values have another type, and few enough. */
static bool has_odd(const field_t *field)
{
    return field->odd.count > 0 && field->odd.count <= field->seen / ODD_ONE_OF;
}

/*  The values of the type of the field. */
static uint64_t fitting(const field_t *field)
{
    return has_odd(field) ? field->seen - field->odd.count : field->seen;
}

static use_t use_of_number(const json_table_t *self, const field_t *field)
{
    bool missing = is_missing(self, field);
    if (field->booleans == fitting(field) && !missing)
        return AS_FLAG;
    bool whole = field->whole + field->booleans == fitting(field) && !missing;
    if (whole && (tnd_column_name_is_label(field->name) || field->wide))
        return AS_INTEGER;
    return field->wide ? AS_WIDE : AS_NUMBER;
}

static use_t use_of(const json_table_t *self, const field_t *field)
{
    uint64_t rows = objects_of(self);
    if (field->seen == 0 || field->objects > 0 || (field->other > 0 && !has_odd(field)))
        return AS_NOTHING;
    if (field->booleans + field->numbers == fitting(field))
        return use_of_number(self, field);
    if (field->texts == fitting(field))
        return tnd_text_classes_few(&field->classes, rows) ? AS_CLASS : AS_TEXT;
    bool one_shape = field->list.inner == 0 || (!field->uneven && !is_missing(self, field));
    bool some = field->uneven || field->list.length > 0;
    return field->lists == fitting(field) && field->list.numbers && one_shape && some ? AS_LIST
                                                                                      : AS_NOTHING;
}

static bool is_taken(const json_table_t *self, uint32_t field)
{
    for (uint32_t other = 0; other < field; other++)
        if (strcmp(self->fields[other].name, self->fields[field].name) == 0)
            return true;
    return false;
}

/*  The last key if that is a name of its own, the whole path, or c0, c1, ... */
static void name_field(json_table_t *self, uint32_t f)
{
    field_t *field = &self->fields[f];
    const char *dot = strrchr(field->path, '.');
    bool named = tnd_column_name_make(field->name, dot != NULL ? dot + 1 : field->path);
    if (!named || is_taken(self, f))
        named = tnd_column_name_make(field->name, field->path);
    if (!named || is_taken(self, f))
        snprintf(field->name, sizeof field->name, "c%" PRIu32, f);
}

static tnd_status_t json_table_decide(void *context, size_t files, tnd_error_t *error)
{
    json_table_t *self = context;
    bool useful = false;
    (void)files, (void)error;
    for (uint32_t f = 0; f < self->count; f++) {
        name_field(self, f);
        use_t use = use_of(self, &self->fields[f]);
        useful = useful || use != AS_NOTHING;
    }
    self->useless = !useful;
    return useful ? TND_OK : TND_END;
}

/*  ------------------------------------------------------------------------------------- lines */

static const char *json_table_options(const void *self, tnd_arena_t *arena)
{
    (void)arena;
    return ((const json_table_t *)self)->marked ? "bom: remove" : "";
}

static void print_list(const field_t *field, bool missing, FILE *out)
{
    const list_t *list = &field->list;
    fprintf(out, "dtype: %s", !list->whole ? "f32" : list->wide ? "i64" : "i32");
    if (list->inner > 0)
        fprintf(out, ", shape: [%" PRIu64 ", %" PRIu64 "]", list->length, list->inner);
    else if (field->uneven || missing)
        fputs(", ragged: true", out);
    else
        fprintf(out, ", shape: [%" PRIu64 "]", list->length);
}

static void print_use(use_t use, const field_t *field, bool missing, FILE *out)
{
    switch (use) {
    case AS_NOTHING:
        break;
    case AS_FLAG:
        fputs("dtype: u8", out);
        break;
    case AS_NUMBER:
        fprintf(out, "dtype: f32%s", missing ? ", default: nan" : "");
        break;
    case AS_WIDE:
        fprintf(out, "dtype: f64%s", missing ? ", default: nan" : "");
        break;
    case AS_INTEGER:
        fputs("dtype: i64", out);
        break;
    case AS_CLASS:
    case AS_TEXT:
        fputs("dtype: string", out);
        if (missing)
            fprintf(out, ", default: \"%s\"", use == AS_CLASS ? tnd_missing_class : "");
        break;
    case AS_LIST:
        print_list(field, missing, out);
        break;
    }
}

static void print_field(const json_table_t *self, const field_t *field, FILE *out)
{
    fprintf(out, "            %s: {", field->name);
    if (strcmp(field->name, field->path) != 0) {
        fputs("path: ", out);
        tnd_json_string_print(field->path, out);
        fputs(", ", out);
    }
    print_use(use_of(self, field), field, is_missing(self, field), out);
    fprintf(out, "}%s\n",
            use_of(self, field) == AS_TEXT ? tnd_text_classes_note(&field->classes) : "");
}

/*  Why no column is made of what documents have. */
static const char *reason(const field_t *field)
{
    if (field->seen == 0)
        return "null in all lines";
    if (field->lists < fitting(field))
        return "values of several types";
    return field->list.numbers ? "lists of lists of different lengths"
                               : "lists of more than numbers";
}

/*  Why there are no columns. */
static void print_nothing(const json_table_t *self, FILE *out)
{
    for (uint32_t f = 0; f < self->count; f++)
        if (self->fields[f].seen > 0 || self->fields[f].objects == 0)
            fprintf(out, "no column is made of `%s`: %s\n", self->fields[f].path,
                    reason(&self->fields[f]));
    fputs("no field has a type that is known, so lines are fed as bytes\n", out);
}

static bool print_odd(const json_table_t *self, const field_t *field, FILE *out)
{
    if (!has_odd(field) || use_of(self, field) == AS_NOTHING)
        return false;
    fprintf(out, "%s: `%s` is %s, not %s", field->odd.place, field->path, field->odd.why,
            field->kind);
    if (field->odd.count > 1)
        fprintf(out, "; %" PRIu64 " such records", field->odd.count);
    fputc('\n', out);
    return true;
}

static bool json_table_misfits(const void *context, FILE *out)
{
    const json_table_t *self = context;
    bool some = objects_of(self) < self->documents;
    if (objects_of(self) == 0) { /* text */
        tnd_misfit_print(&self->other, out);
        return false;
    }
    tnd_misfit_print(&self->blank, out);
    tnd_misfit_print(&self->broken, out);
    if (self->mixed)
        fputs("most of the first lines are not JSON objects, so lines are fed as bytes\n", out);
    if (self->useless)
        print_nothing(self, out);
    if (self->mixed || self->useless)
        return false;
    for (uint32_t f = 0; f < self->count; f++)
        some = print_odd(self, &self->fields[f], out) || some;
    return some;
}

static void print_unread(const json_table_t *self, const bool *read, FILE *out)
{
    for (uint32_t f = 0; f < self->count; f++) {
        const field_t *field = &self->fields[f];
        if (read[f] || (field->seen == 0 && field->objects > 0))
            continue;
        fputs("      # left out: ", out);
        tnd_json_string_print(field->path, out);
        fprintf(out, ", %s\n",
                use_of(self, field) == AS_NOTHING ? reason(field) : "because of the many columns");
    }
    if (self->unread > 0)
        fprintf(out,
                "      # left out: %" PRIu64
                " values whose keys are empty, have a dot or are too deep\n",
                self->unread);
}

/*  Whether it is a column of numbers, not a label, that are missing from rows. */
static bool is_made_nan(const json_table_t *self, const field_t *field)
{
    use_t use = use_of(self, field);
    return (use == AS_NUMBER || use == AS_WIDE) && is_missing(self, field) &&
           !tnd_column_name_is_label(field->name);
}

static void json_table_print(void *context, const char *record, FILE *out)
{
    json_table_t *self = context;
    bool *read = tnd_allocate_zeroed(self->count, sizeof *read);
    uint32_t columns = 0;
    fprintf(out, "      - decode_json:  # as all lines are\n          column: %s\n", record);
    if (self->allow_nan)
        fputs("          allow_nan: true\n", out);
    fputs("          fields:\n", out);
    for (uint32_t f = 0; f < self->count; f++) {
        read[f] = use_of(self, &self->fields[f]) != AS_NOTHING && columns++ < TND_COLUMNS_MAX;
        if (read[f])
            print_field(self, &self->fields[f], out);
    }
    for (uint32_t f = 0; f < self->count; f++)
        if (read[f] && use_of(self, &self->fields[f]) == AS_CLASS)
            tnd_text_classes_print(&self->fields[f].classes, self->fields[f].name,
                                   is_missing(self, &self->fields[f]), out);
    for (uint32_t f = 0; f < self->count; f++)
        if (read[f] && is_made_nan(self, &self->fields[f]))
            tnd_normalize_line_print(self->fields[f].name, true, out);
    print_unread(self, read, out);
    free(read);
}

static const char *json_table_describe(const void *context, tnd_arena_t *arena)
{
    (void)context;
    (void)arena;
    return "JSON documents";
}

const tnd_record_table_t tnd_json_table = {
    .source = "text",
    .open = json_table_open,
    .take = json_table_take,
    .look = json_table_look,
    .describe = json_table_describe,
    .decide = json_table_decide,
    .options = json_table_options,
    .misfits = json_table_misfits,
    .print = json_table_print,
    .close = json_table_close,
};
