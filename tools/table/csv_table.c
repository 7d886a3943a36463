/*  tools/table/csv_table.c - the columns of records of CSV. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/csv_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/json_string.h"
#include "runtime/text/printable.h"
#include "tools/table/cell_text.h"
#include "tools/table/column_name.h"
#include "tools/table/misfit.h"
#include "tools/table/record_table.h"
#include "tools/table/stray_quote.h"
#include "tools/table/text_classes.h"

enum { FIELDS_MAX = 16384 };

/*  A field of numbers in which one of so many records has another text is numbers all the same. */
enum { ODD_ONE_OF = 20 };

static const char delimiters[] = {',', '\t', ';', '|'};
enum { DELIMITERS = sizeof delimiters };

typedef struct {
    char head[TND_CLASS_TEXT_MAX]; /* its text in the first record; "" if that is too long */
    bool head_is_number, head_again;
    bool absent[TND_CELL_ABSENT];
    uint64_t integers, numbers, years, texts, empty, absents;
    tnd_text_classes_t classes;
    tnd_misfit_t odd; /* texts that are neither numbers nor absent */
    bool wide;        /* a whole number that f32 may not have */
    char name[TND_NEW_NAME_MAX];
} field_t;

/*  How it is fed: a class, numbers, or bytes. */
typedef enum { AS_NUMBER, AS_WIDE, AS_INTEGER, AS_CLASS, AS_TEXT } use_t;

typedef enum { FIRST_IS_ROW, FIRST_IS_UNCLEAR, FIRST_IS_HEADER } first_t;

typedef struct {
    uint8_t delimiter;
    uint32_t fields_of[DELIMITERS][TND_TABLE_FIRST]; /* of each of the first records */
    bool divided, header, marked;                    /* by a byte order mark */
    bool named;                                      /* the header names each field, once */
    uint8_t *first;                                  /* the first record */
    size_t first_size;
    uint64_t records, headers;
    tnd_misfit_t uneven, blank, damaged, quotes;
    tnd_misfit_t before;               /* a misfit that is the first record of a file */
    bool hidden;                       /* it hides the header */
    bool lonely;                       /* the only record may be a header */
    bool unclear;                      /* the first record is read as a row, and may be a header */
    bool swallowed;                    /* a record of `quotes` does not fit */
    uint64_t line_of[TND_TABLE_FIRST]; /* of each of the first records */
    char *first_file, *other_file;     /* other: the first file that begins with another record */
    uint8_t *other;                    /* that record */
    size_t other_size;
    field_t *fields;
    uint32_t count;
} csv_table_t;

static void *csv_table_open(void)
{
    return tnd_allocate_zeroed(1, sizeof(csv_table_t));
}

static void csv_table_close(void *context)
{
    csv_table_t *self = context;
    tnd_misfit_t *const misfits[] = {&self->uneven, &self->blank, &self->damaged, &self->quotes,
                                     &self->before};
    for (size_t i = 0; i < sizeof misfits / sizeof misfits[0]; i++)
        tnd_misfit_free(misfits[i]);
    for (uint32_t f = 0; self->fields != NULL && f < self->count; f++)
        tnd_misfit_free(&self->fields[f].odd);
    free(self->fields);
    free(self->first);
    free(self->first_file);
    free(self->other);
    free(self->other_file);
    free(self);
}

/*  --------------------------------------------------------------------------------- records */

/*  How many fields a record has; 0: it is damaged, and `error` says how. */
static uint32_t count_fields(const uint8_t *record, size_t size, uint8_t delimiter,
                             tnd_error_t *error)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    uint32_t count = 0;
    tnd_status_t status;
    tnd_csv_init(&fields, record, size, delimiter, true);
    while ((status = tnd_csv_next(&fields, &text, error)) == TND_OK)
        count++;
    return status == TND_END ? count : 0;
}

/*  Empty lines say nothing of the others. */
static void divide_record(csv_table_t *self, const tnd_record_place_t *place, const uint8_t *record,
                          size_t size)
{
    tnd_error_t ignored;
    if (size == 0 || self->records == TND_TABLE_FIRST)
        return;
    for (uint32_t d = 0; d < DELIMITERS; d++)
        self->fields_of[d][self->records] =
            count_fields(record, size, (uint8_t)delimiters[d], &ignored);
    if (self->first_file == NULL)
        self->first_file = tnd_format_string("%s", place->file);
    self->line_of[self->records++] = place->line;
}

/*  The number of fields that most of the first records have; 0: no number is that of most.  *alike_p: how
 *  many have it. */
static uint32_t usual(const csv_table_t *self, const uint32_t *fields, uint64_t *alike_p)
{
    uint64_t most = self->records < TND_TABLE_FIRST ? self->records : TND_TABLE_FIRST;
    for (uint64_t i = 0; i < most; i++) {
        uint64_t alike = 0;
        for (uint64_t other = 0; other < most; other++)
            alike += fields[other] == fields[i];
        *alike_p = alike;
        if (2 * alike > most)
            return fields[i];
    }
    return 0;
}

/*  Whether a delimiter divides most of the first records, but not into equal numbers of fields. */
static bool divides_unevenly(const csv_table_t *self, const uint32_t *fields)
{
    uint64_t divided = 0, alike;
    for (uint64_t i = 0; i < self->records; i++)
        divided += fields[i] > 1;
    return 2 * divided > self->records && usual(self, fields, &alike) == 0;
}

static void note_division(csv_table_t *self, const uint32_t *fields)
{
    char why[TND_MISFIT_WHY_MAX];
    uint64_t other = 0;
    while (fields[other] == fields[0])
        other++;
    snprintf(why, sizeof why,
             "%" PRIu32 " fields, but %" PRIu32 " at line %" PRIu64
             ": no number of fields is that of most records, so they are fed as bytes",
             fields[0], fields[other], self->line_of[other]);
    const tnd_record_place_t place = {.file = self->first_file, .line = self->line_of[0]};
    tnd_misfit_add(&self->uneven, &place, why);
}

/*  Finds out what separates fields. */
static bool csv_table_look(void *context)
{
    csv_table_t *self = context;
    uint32_t best = 0;
    uint64_t alike = 0, best_alike = 0;
    for (uint32_t d = 0; d < DELIMITERS; d++) {
        uint32_t count = usual(self, self->fields_of[d], &alike);
        if (count < self->count || (count == self->count && alike <= best_alike))
            continue;
        best = d;
        self->count = count;
        best_alike = alike;
    }
    for (uint32_t d = 0; d < DELIMITERS && self->count <= 1 && self->uneven.count == 0; d++)
        if (divides_unevenly(self, self->fields_of[d]))
            note_division(self, self->fields_of[d]);
    if (self->count == 0 || self->count > FIELDS_MAX || self->uneven.count > 0)
        return false;
    self->delimiter = (uint8_t)delimiters[best];
    self->fields = tnd_allocate_zeroed(self->count, sizeof *self->fields);
    self->divided = true;
    self->records = 0;
    tnd_misfit_free(&self->quotes);
    self->quotes.count = 0;
    return true;
}

static void take_text(field_t *self, const tnd_record_place_t *place, const char *text)
{
    char why[TND_MISFIT_WHY_MAX] = "";
    bool whole, wide;
    uint32_t missing = tnd_cell_absence(text);
    self->head_again = self->head_again || strcmp(text, self->head) == 0;
    if (*text == '\0') {
        self->empty++;
        return;
    }
    if (tnd_cell_is_number(text, &whole, &wide)) {
        self->integers += whole;
        self->wide = self->wide || wide;
        self->numbers++;
        self->years += tnd_cell_is_year(text);
        tnd_text_classes_add(&self->classes, text);
        return;
    }
    self->texts++;
    if (missing < TND_CELL_ABSENT) {
        self->absent[missing] = true;
        self->absents++;
    } else {
        if (self->odd.count == 0)
            snprintf(why, sizeof why, "\"%s\"", text);
        tnd_misfit_add(&self->odd, place, why);
    }
    tnd_text_classes_add(&self->classes, text);
}

static void take_field(csv_table_t *self, const tnd_record_place_t *place, field_t *field,
                       const tnd_csv_field_t *found)
{
    char text[TND_CLASS_TEXT_MAX];
    bool whole, wide, is_short = tnd_cell_text(found, text);
    if (self->records == 0) { /* counted at the end, unless it is a header */
        strcpy(field->head, text);
        field->head_is_number =
            !is_short || (*text != '\0' && tnd_cell_is_number(text, &whole, &wide));
    } else if (is_short) {
        take_text(field, place, text);
    } else {
        tnd_misfit_add(&field->odd, place, "a long text");
        field->texts++;
        field->classes.many = true;
    }
}

static bool is_first(const csv_table_t *self, const uint8_t *record, size_t size)
{
    return size == self->first_size && memcmp(record, self->first, size) == 0;
}

/*  Notes a record of the wrong number of fields, 0 if it is damaged. */
static void take_misfit(csv_table_t *self, const tnd_record_place_t *place, size_t size,
                        uint32_t count, const tnd_error_t *error)
{
    char why[TND_MISFIT_WHY_MAX];
    if (size == 0) {
        tnd_misfit_add(&self->blank, place, "the line is empty");
        return;
    }
    snprintf(why, sizeof why, "%" PRIu32 " field%s where most records have %" PRIu32, count,
             count == 1 ? "" : "s", self->count);
    if (place->first)
        tnd_misfit_add(&self->before, place, why);
    if (count == 0)
        tnd_misfit_add(&self->damaged, place, error->text);
    else
        tnd_misfit_add(&self->uneven, place, why);
}

static uint8_t *copy_of(const uint8_t *record, size_t size)
{
    uint8_t *copy = tnd_allocate(1, size + 1);
    if (size > 0)
        memcpy(copy, record, size);
    return copy;
}

/*  Keeps the first record, and the first one of another file that begins otherwise. */
static void keep_first(csv_table_t *self, const tnd_record_place_t *place, const uint8_t *record,
                       size_t size, bool fits)
{
    if (self->first == NULL && !fits)
        return;
    if (self->first == NULL) {
        self->first = copy_of(record, size);
        self->first_size = size;
        free(self->first_file);
        self->first_file = tnd_format_string("%s", place->file);
    } else if (place->first && self->other == NULL && !is_first(self, record, size)) {
        self->other = copy_of(record, size);
        self->other_size = size;
        self->other_file = tnd_format_string("%s", place->file);
    }
}

static void csv_table_take(void *context, const tnd_record_place_t *place, const uint8_t *record,
                           size_t size)
{
    csv_table_t *self = context;
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    tnd_error_t error;
    size_t mark = place->first ? tnd_byte_order_mark(record, size) : 0;
    self->marked = self->marked || mark > 0;
    record += mark;
    size -= mark;
    bool stray = tnd_stray_quote_look(&self->quotes, place, record, size,
                                      self->divided ? self->delimiter : ',');
    if (!self->divided) {
        divide_record(self, place, record, size);
        return;
    }
    uint32_t count = count_fields(record, size, self->delimiter, &error);
    keep_first(self, place, record, size, count == self->count);
    if (self->records > 0 && is_first(self, record, size)) {
        self->headers++; /* of another file, or a row like the first */
        return;
    }
    if (count != self->count && stray) {
        self->swallowed = true;
        return;
    }
    if (count != self->count) {
        take_misfit(self, place, size, count, &error);
        return;
    }
    tnd_csv_init(&fields, record, size, self->delimiter, true);
    for (uint32_t f = 0; f < self->count && tnd_csv_next(&fields, &text, &error) == TND_OK; f++)
        take_field(self, place, &self->fields[f], &text);
    self->records++;
}

/*  --------------------------------------------------------------------------------- decisions */

/*  A header has texts that are not numbers, above numbers or above other texts.  Numbers beside them
 *  are names if a text is above nothing but numbers, or if they look so. */
static first_t judge_first(const csv_table_t *self)
{
    bool above = false, again = false, named = false, sure = false;
    tnd_number_names_t numbers = {0};
    for (uint32_t f = 0; f < self->count; f++) {
        const field_t *field = &self->fields[f];
        if (field->head_is_number) {
            tnd_number_names_add(&numbers, field->head, field->numbers, field->years);
            continue;
        }
        bool has_name = field->head[0] != '\0'; /* an index has none */
        named = named || has_name;
        above = above || field->numbers > 0;
        again = again || (field->head_again && has_name);
        sure = sure || (has_name && field->numbers > 0 && field->texts == 0 &&
                        tnd_cell_absence(field->head) == TND_CELL_ABSENT);
    }
    if (!named || (!above && again) || !tnd_number_names_may_be(&numbers))
        return FIRST_IS_ROW;
    return sure || tnd_number_names_are(&numbers) ? FIRST_IS_HEADER
           : numbers.count > 1                    ? FIRST_IS_UNCLEAR
                                                  : FIRST_IS_ROW;
}

static bool is_header(const csv_table_t *self)
{
    return judge_first(self) == FIRST_IS_HEADER;
}

/*  Whether it has texts that are not numbers above fields of numbers. */
static bool is_above_numbers(const csv_table_t *self)
{
    bool above = false;
    for (uint32_t f = 0; f < self->count; f++)
        above = above || self->fields[f].numbers > self->fields[f].texts;
    return above;
}

/*  Whether the first record of another file has the fields of the first one in another order. */
static bool is_permuted(const csv_table_t *self)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t field;
    tnd_error_t error;
    char text[TND_CLASS_TEXT_MAX];
    uint32_t count = 0;
    tnd_csv_init(&fields, self->other, self->other_size, self->delimiter, true);
    while (tnd_csv_next(&fields, &field, &error) == TND_OK && tnd_cell_text(&field, text)) {
        uint32_t f = 0;
        while (f < self->count && strcmp(self->fields[f].head, text) != 0)
            f++;
        if (f == self->count)
            return false;
        count++;
    }
    return count == self->count && count > 1;
}

/*  The first bytes of a header, for a message. */
static const char *excerpt(char text[120], const uint8_t *record, size_t size)
{
    snprintf(text, 120, "%.*s%s", (int)(size < 110 ? size : 110), (const char *)record,
             size < 110 ? "" : "...");
    return tnd_printable(text, 120);
}

/*  Fields are found by the names of one header. */
static tnd_status_t check_headers(const csv_table_t *self, tnd_error_t *error)
{
    char first[120], other[120];
    if (self->other == NULL || !is_header(self) || (!is_permuted(self) && !is_above_numbers(self)))
        return TND_OK;
    return tnd_fail(error,
                    "headers differ: %s begins with `%s`, %s with `%s`; give all files the same "
                    "columns in the same order, or run tundish new on those of one header",
                    self->first_file, excerpt(first, self->first, self->first_size),
                    self->other_file, excerpt(other, self->other, self->other_size));
}

static bool is_taken(const csv_table_t *self, uint32_t field)
{
    for (uint32_t other = 0; other < field; other++)
        if (strcmp(self->fields[other].name, self->fields[field].name) == 0)
            return true;
    return false;
}

/*  As the header says, or c0, c1, ... */
static void name_field(csv_table_t *self, uint32_t f)
{
    field_t *field = &self->fields[f];
    if (!self->header || !tnd_column_name_make(field->name, field->head) || is_taken(self, f))
        snprintf(field->name, sizeof field->name, "c%" PRIu32, f);
}

/*  Texts of a field that are neither numbers nor absent, if so few records have them that it is one of
 *  numbers. */
static bool has_odd(const field_t *field)
{
    return field->odd.count > 0 && field->odd.count <= field->numbers / ODD_ONE_OF;
}

static use_t use_of(const csv_table_t *self, const field_t *field)
{
    bool whole = field->integers == field->numbers && field->empty + field->absents == 0;
    if (field->numbers > 0 && (field->odd.count == 0 || has_odd(field)))
        return whole && (tnd_column_name_is_label(field->name) || field->wide) ? AS_INTEGER
               : field->wide                                                   ? AS_WIDE
                                                                               : AS_NUMBER;
    return self->count > 1 && tnd_text_classes_few(&field->classes, self->records) ? AS_CLASS
                                                                                   : AS_TEXT;
}

/*  Whether the header names each field, once: columns are found by these names. */
static bool names_fields(const csv_table_t *self)
{
    for (uint32_t f = 0; f < self->count; f++) {
        if (self->fields[f].head[0] == '\0')
            return false;
        for (uint32_t other = 0; other < f; other++)
            if (strcmp(self->fields[other].head, self->fields[f].head) == 0)
                return false;
    }
    return self->header;
}

static tnd_status_t csv_table_decide(void *context, size_t files, tnd_error_t *error)
{
    csv_table_t *self = context;
    const tnd_record_place_t start = {.file = self->first_file, .line = 1};
    bool useful = false;
    if (self->records == 0)
        return TND_END;
    TND_TRY(check_headers(self, error));
    self->unclear = self->records > 1 && judge_first(self) == FIRST_IS_UNCLEAR;
    self->lonely = self->records == 1 && self->count > 1 && is_header(self);
    self->header = self->records > 1 && self->headers + 1 == files && is_header(self);
    for (uint32_t f = 0; f < self->count; f++) {
        field_t *field = &self->fields[f];
        if (!self->header)
            for (uint64_t again = 0; again <= self->headers; again++)
                take_text(field, &start, field->head);
        name_field(self, f);
        useful = useful || use_of(self, field) != AS_TEXT;
    }
    self->named = names_fields(self);
    self->hidden = self->header && self->before.count > 0;
    return useful && !self->hidden ? TND_OK : TND_END;
}

static bool print_odd(const csv_table_t *self, const field_t *field, FILE *out)
{
    if (use_of(self, field) >= AS_CLASS || !has_odd(field))
        return false;
    fprintf(out, "%s: `%s` is %s, not a number", field->odd.place, field->name, field->odd.why);
    if (field->odd.count > 1)
        fprintf(out, "; %" PRIu64 " such records", field->odd.count);
    fputs("; if it means that a number is missing, list it in `na`\n", out);
    return true;
}

static bool csv_table_misfits(const void *context, FILE *out)
{
    const csv_table_t *self = context;
    char text[120];
    bool some = self->swallowed || self->uneven.count + self->blank.count + self->damaged.count > 0;
    if (self->hidden) {
        fprintf(out,
                "%s: %s, before the header, so records are fed as bytes; remove the lines before "
                "the header\n",
                self->before.place, self->before.why);
        return false;
    }
    if (self->lonely)
        fprintf(out, "%s: has one record; if that is a header, there are no rows\n",
                self->first_file);
    if (self->unclear)
        fprintf(out,
                "%s: the first record, `%s`, is read as a row; if it is a header, write `header: "
                "true` beside `files`\n",
                self->first_file, excerpt(text, self->first, self->first_size));
    tnd_misfit_print(&self->quotes, out);
    tnd_misfit_print(&self->uneven, out);
    tnd_misfit_print(&self->blank, out);
    tnd_misfit_print(&self->damaged, out);
    for (uint32_t f = 0; self->divided && f < self->count; f++)
        some = print_odd(self, &self->fields[f], out) || some;
    return some;
}

/*  ------------------------------------------------------------------------------------- lines */

static const char *delimiter_of(const csv_table_t *self, char text[16])
{
    snprintf(text, 16, self->delimiter == '\t' ? "\"\\t\"" : "\"%c\"", self->delimiter);
    return text;
}

static const char *comma(const char *options)
{
    return *options != '\0' ? ", " : "";
}

/*  The names of a header that is short enough to be read: a file with another is refused then. */
static const char *header_of(const csv_table_t *self, tnd_arena_t *arena)
{
    enum { NAMES_MAX = 64 };
    bool whole = self->count <= NAMES_MAX;
    char *text = NULL;
    size_t size;
    for (uint32_t f = 0; f < self->count; f++)
        whole = whole && self->fields[f].head[0] != '\0';
    if (!whole)
        return "header: true";
    FILE *out = tnd_memory_stream(&text, &size);
    fputs("names: [", out);
    for (uint32_t f = 0; f < self->count; f++) {
        fputs(f > 0 ? ", " : "", out);
        tnd_json_string_print(self->fields[f].head, out);
    }
    fputs("]", out);
    fclose(out);
    const char *names = tnd_arena_text(arena, text, size);
    free(text);
    return names;
}

static const char *csv_table_options(const void *context, tnd_arena_t *arena)
{
    const csv_table_t *self = context;
    char text[16];
    const char *options = self->header ? header_of(self, arena) : "";
    if (self->delimiter != ',')
        options = tnd_arena_format(arena, "%s%sdelimiter: %s", options, comma(options),
                                   delimiter_of(self, text));
    if (self->marked)
        options = tnd_arena_format(arena, "%s%sbom: remove", options, comma(options));
    return options;
}

static bool is_missing(const field_t *field)
{
    return field->empty > 0 || field->absents > 0;
}

/*  How many fields from `first` on are numbers, which one column takes. */
static uint32_t run_of(const csv_table_t *self, uint32_t first, bool *missing_p)
{
    uint32_t f = first;
    *missing_p = false;
    for (; f < self->count && use_of(self, &self->fields[f]) == AS_NUMBER; f++)
        *missing_p = *missing_p || is_missing(&self->fields[f]);
    return f - first;
}

/*  Whether a text that means that a number is missing is listed in `na`, for fields of numbers. */
static bool is_na(const csv_table_t *self, uint32_t text)
{
    for (uint32_t f = 0; f < self->count; f++)
        if (use_of(self, &self->fields[f]) == AS_NUMBER && self->fields[f].absent[text])
            return true;
    return false;
}

static void print_na(const csv_table_t *self, FILE *out)
{
    bool any = false;
    for (uint32_t i = 0; i < TND_CELL_ABSENT; i++) {
        if (is_na(self, i)) {
            fprintf(out, "%s\"%s\"", any ? ", " : "          na: [", tnd_cell_absent[i]);
            any = true;
        }
    }
    fputs(any ? "]\n" : "", out);
}

/*  Whether rows lack a text: `na` is for all fields, so what it lists is not a class. */
static bool lacks_text(const csv_table_t *self, const field_t *field)
{
    bool lacks = field->empty > 0;
    for (uint32_t i = 0; i < TND_CELL_ABSENT; i++)
        lacks = lacks || (field->absent[i] && is_na(self, i));
    return lacks;
}

static void print_classes(const csv_table_t *self, field_t *field, FILE *out)
{
    for (uint32_t i = 0; i < TND_CELL_ABSENT; i++)
        if (is_na(self, i))
            tnd_text_classes_remove(&field->classes, tnd_cell_absent[i]);
    tnd_text_classes_print(&field->classes, field->name, lacks_text(self, field), out);
}

/*  x, x2, x3 ..., none of which is a field. */
static const char *name_vector(const csv_table_t *self, uint32_t *vectors, char name[16])
{
    bool taken = true;
    while (taken) {
        ++*vectors;
        snprintf(name, 16, *vectors > 1 ? "x%" PRIu32 : "x", *vectors);
        taken = false;
        for (uint32_t f = 0; f < self->count; f++)
            taken = taken || strcmp(self->fields[f].name, name) == 0;
    }
    return name;
}

/*  Prints a column of one field, whose name in the header may be another. */
static void print_column(const csv_table_t *self, uint32_t f, const char *dtype,
                         const char *fallback, const char *note, FILE *out)
{
    const field_t *field = &self->fields[f];
    bool other = self->named && strcmp(field->name, field->head) != 0;
    if (!other && *fallback == '\0' && dtype[0] != 'f') { /* numbers leave room for a default */
        fprintf(out, "            %s: %s%s\n", field->name, dtype, note);
        return;
    }
    fprintf(out, "            %s: {dtype: %s", field->name, dtype);
    if (other) {
        char head[sizeof field->head];
        fputs(", field: ", out);
        tnd_json_string_print(tnd_column_name_in_header(head, field->head), out);
    }
    if (*fallback != '\0')
        fprintf(out, ", default: %s", fallback);
    fprintf(out, "}%s\n", note);
}

/*  Prints the numbers from field `first` on, and returns how many there are. */
static uint32_t print_numbers(const csv_table_t *self, uint32_t first, uint32_t *vectors, FILE *out)
{
    bool missing;
    char name[16];
    uint32_t count = run_of(self, first, &missing);
    if (count == 1) {
        print_column(self, first, "f32", missing ? "nan" : "", "", out);
        return 1;
    }
    fprintf(out, "            %s: {dtype: f32, shape: [%" PRIu32 "]%s}  # ",
            name_vector(self, vectors, name), count, missing ? ", default: nan" : "");
    for (uint32_t i = 0; i < count && i < 8; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", self->fields[first + i].name);
    fputs(count > 8 ? " ...\n" : "\n", out);
    return count;
}

static void csv_table_print(void *context, const char *record, FILE *out)
{
    csv_table_t *self = context;
    char text[16];
    uint32_t vectors = 0;
    fprintf(out, "      - decode_csv:  # as all records are\n          column: %s\n", record);
    if (self->delimiter != ',')
        fprintf(out, "          delimiter: %s\n", delimiter_of(self, text));
    if (self->header && !self->named)
        fputs("          by: place\n", out);
    print_na(self, out);
    fputs("          fields:\n", out);
    for (uint32_t f = 0; f < self->count;) {
        const field_t *field = &self->fields[f];
        if (use_of(self, field) == AS_NUMBER) {
            f += print_numbers(self, f, &vectors, out);
            continue;
        }
        char missing[48] = "";
        if (lacks_text(self, field))
            snprintf(missing, sizeof missing, "\"%s\"",
                     use_of(self, field) == AS_CLASS ? tnd_missing_class : "");
        if (use_of(self, field) == AS_INTEGER)
            print_column(self, f, "i64", "", "", out);
        else if (use_of(self, field) == AS_WIDE)
            print_column(self, f, "f64", "nan", "", out);
        else
            print_column(
                self, f, "string", missing,
                use_of(self, field) == AS_TEXT ? tnd_text_classes_note(&field->classes) : "", out);
        f++;
    }
    for (uint32_t f = 0; f < self->count; f++)
        if (use_of(self, &self->fields[f]) == AS_CLASS)
            print_classes(self, &self->fields[f], out);
}

const tnd_record_table_t tnd_csv_table = {
    .source = "csv",
    .open = csv_table_open,
    .take = csv_table_take,
    .look = csv_table_look,
    .decide = csv_table_decide,
    .options = csv_table_options,
    .misfits = csv_table_misfits,
    .print = csv_table_print,
    .close = csv_table_close,
};
