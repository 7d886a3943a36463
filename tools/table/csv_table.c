/*  tools/table/csv_table.c - the columns of records of CSV. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/csv_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/printable.h"
#include "tools/table/csv_table_internal.h"
#include "tools/table/stray_quote.h"

enum { FIELDS_MAX = 16384 };

/*  Numbers without a header may be classes if there are so many rows of each. */
enum { ROWS_OF_CLASS = 5 };

/*  Spaces are tried last: texts have them, too. */
enum { TAB = 1, SPACES = TND_CSV_DELIMITERS - 1 };
static const char delimiters[TND_CSV_DELIMITERS] = {',', '\t', ';', '|', TND_CSV_SPACES};

typedef enum { FIRST_IS_ROW, FIRST_IS_UNCLEAR, FIRST_IS_HEADER } first_t;

static void *csv_table_open(void)
{
    return tnd_allocate_zeroed(1, sizeof(tnd_csv_table_t));
}

static void *text_table_open(void)
{
    tnd_csv_table_t *self = csv_table_open();
    self->guesses = true;
    return self;
}

static void csv_table_close(void *context)
{
    tnd_csv_table_t *self = context;
    tnd_misfit_t *const misfits[] = {&self->uneven, &self->blank, &self->damaged, &self->quotes,
                                     &self->before};
    for (size_t i = 0; i < sizeof misfits / sizeof misfits[0]; i++)
        tnd_misfit_free(misfits[i]);
    for (uint32_t f = 0; self->fields != NULL && f < self->count; f++)
        tnd_misfit_free(&self->fields[f].odd);
    tnd_counts_line_free(&self->counts);
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

/*  How many fields of a record are numbers. */
static uint32_t count_numbers(const uint8_t *record, size_t size, uint8_t delimiter)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t field;
    tnd_error_t ignored;
    char text[TND_CLASS_TEXT_MAX];
    bool whole, wide;
    uint32_t count = 0;
    tnd_csv_init(&fields, record, size, delimiter, true);
    while (tnd_csv_next(&fields, &field, &ignored) == TND_OK)
        count += tnd_cell_text(&field, text) && tnd_cell_is_number(text, &whole, &wide);
    return count;
}

/*  Empty lines say nothing of the others. */
static void divide_record(tnd_csv_table_t *self, const tnd_record_place_t *place,
                          const uint8_t *record, size_t size)
{
    tnd_error_t ignored;
    if (size == 0 || self->records == TND_TABLE_FIRST)
        return;
    for (uint32_t d = 0; d < TND_CSV_DELIMITERS; d++) {
        uint8_t delimiter = (uint8_t)delimiters[d];
        self->fields_of[d][self->records] = count_fields(record, size, delimiter, &ignored);
        self->numbers_of[d][self->records] = count_numbers(record, size, delimiter);
    }
    if (self->first_file == NULL)
        self->first_file = tnd_format_string("%s", place->file);
    self->line_of[self->records++] = place->line;
}

/*  The number of fields that most of the first records have; 0: no number is that of most.  *alike_p: how
 *  many have it. */
static uint32_t usual(const tnd_csv_table_t *self, const uint32_t *fields, uint64_t *alike_p)
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
static bool divides_unevenly(const tnd_csv_table_t *self, const uint32_t *fields)
{
    uint64_t divided = 0, alike;
    for (uint64_t i = 0; i < self->records; i++)
        divided += fields[i] > 1;
    return 2 * divided > self->records && usual(self, fields, &alike) == 0;
}

static void note_division(tnd_csv_table_t *self, const uint32_t *fields)
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

/*  Whether the first records are a table by this delimiter although no name says so: all have as many
 *  fields, and those after the first, which may be a header, have numbers or are divided by tabs. */
static bool is_clear(const tnd_csv_table_t *self, uint32_t delimiter)
{
    const uint32_t *fields = self->fields_of[delimiter], *numbers = self->numbers_of[delimiter];
    uint64_t all = 0, found = 0;
    bool each = self->records > 1 && fields[0] > 1;
    for (uint64_t i = 1; i < self->records; i++) {
        if (fields[i] != fields[0])
            return false;
        all += fields[i];
        found += numbers[i];
        each = each && numbers[i] > 0;
    }
    bool few = each && fields[0] > 2 && delimiter != SPACES;
    return self->records > 1 && fields[0] > 1 && (delimiter == TAB || 2 * found > all || few);
}

static bool has_numbers(const tnd_csv_table_t *self, uint32_t delimiter)
{
    for (uint64_t i = 0; i < self->records; i++)
        if (self->numbers_of[delimiter][i] > 0)
            return true;
    return false;
}

/*  Whether a delimiter is considered: where it may be one by chance only if it is clear, and spaces only
 *  if the best of the others has no numbers. */
static bool may_divide(const tnd_csv_table_t *self, uint32_t delimiter, uint32_t best)
{
    if (delimiter == SPACES && self->count > 1 && has_numbers(self, best))
        return false;
    return (delimiter != SPACES && !self->guesses) || is_clear(self, delimiter);
}

/*  Finds out what separates fields. */
static bool csv_table_look(void *context)
{
    tnd_csv_table_t *self = context;
    uint32_t best = 0;
    uint64_t alike = 0, best_alike = 0;
    for (uint32_t d = 0; d < TND_CSV_DELIMITERS; d++) {
        uint32_t count = usual(self, self->fields_of[d], &alike);
        if (!may_divide(self, d, best) || count < self->count ||
            (count == self->count && alike <= best_alike))
            continue;
        best = d;
        self->count = count;
        best_alike = alike;
    }
    for (uint32_t d = 0; d < SPACES && self->count <= 1 && self->uneven.count == 0; d++)
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

static void take_text(tnd_csv_column_t *self, const tnd_record_place_t *place, const char *text)
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
        self->nan = self->nan || tnd_cell_is_nan(text);
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
        self->dressed += tnd_cell_is_dressed(text);
    }
    tnd_text_classes_add(&self->classes, text);
}

static void take_field(tnd_csv_table_t *self, const tnd_record_place_t *place,
                       tnd_csv_column_t *field, const tnd_csv_field_t *found)
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

static bool is_first(const tnd_csv_table_t *self, const uint8_t *record, size_t size)
{
    return size == self->first_size && memcmp(record, self->first, size) == 0;
}

/*  Notes a record of the wrong number of fields, 0 if it is damaged. */
static void take_misfit(tnd_csv_table_t *self, const tnd_record_place_t *place, size_t size,
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
static void keep_first(tnd_csv_table_t *self, const tnd_record_place_t *place,
                       const uint8_t *record, size_t size, bool fits)
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

/*  Whether the record is the first one, and looks like the counts of a table of scikit-learn. */
static bool is_counts(tnd_csv_table_t *self, const tnd_record_place_t *place, const uint8_t *record,
                      size_t size)
{
    tnd_counts_line_t found = {0};
    if (!place->first || self->first != NULL || self->counts.record != NULL ||
        !tnd_counts_line_read(&found, record, size, self->delimiter))
        return false;
    if (found.numbers + 1 != self->count) {
        tnd_counts_line_free(&found);
        return false;
    }
    self->counts = found;
    return true;
}

static void take_record(tnd_csv_table_t *self, const tnd_record_place_t *place,
                        const uint8_t *record, size_t size)
{
    tnd_csv_record_t fields;
    tnd_csv_field_t text;
    tnd_error_t error;
    bool stray = tnd_stray_quote_look(&self->quotes, place, record, size, self->delimiter);
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

static void csv_table_take(void *context, const tnd_record_place_t *place, const uint8_t *record,
                           size_t size)
{
    tnd_csv_table_t *self = context;
    size_t mark = place->first ? tnd_byte_order_mark(record, size) : 0;
    self->marked = self->marked || mark > 0;
    record += mark;
    size -= mark;
    if (!self->divided) {
        (void)tnd_stray_quote_look(&self->quotes, place, record, size, ',');
        divide_record(self, place, record, size);
    } else if (!is_counts(self, place, record, size)) {
        take_record(self, place, record, size);
    }
}

/*  --------------------------------------------------------------------------------- decisions */

/*  A header has texts that are not numbers, above numbers or above other texts.  Numbers beside them
 *  are names if a text is above nothing but numbers, or if they look so. */
static first_t judge_first(const tnd_csv_table_t *self)
{
    bool above = false, again = false, named = false, sure = false;
    tnd_number_names_t numbers = {0};
    for (uint32_t f = 0; f < self->count; f++) {
        const tnd_csv_column_t *field = &self->fields[f];
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

static bool is_header(const tnd_csv_table_t *self)
{
    return judge_first(self) == FIRST_IS_HEADER;
}

/*  Whether it has texts that are not numbers above fields of numbers. */
static bool is_above_numbers(const tnd_csv_table_t *self)
{
    bool above = false;
    for (uint32_t f = 0; f < self->count; f++)
        above = above || self->fields[f].numbers > self->fields[f].texts;
    return above;
}

/*  Whether the first record of another file has the fields of the first one in another order. */
static bool is_permuted(const tnd_csv_table_t *self)
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
static tnd_status_t check_headers(const tnd_csv_table_t *self, tnd_error_t *error)
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

static bool is_taken(const tnd_csv_table_t *self, uint32_t field)
{
    for (uint32_t other = 0; other < field; other++)
        if (strcmp(self->fields[other].name, self->fields[field].name) == 0)
            return true;
    return false;
}

/*  As the header says, or c0, c1, ... */
static void name_field(tnd_csv_table_t *self, uint32_t f)
{
    tnd_csv_column_t *field = &self->fields[f];
    if (!self->header || !tnd_column_name_make(field->name, field->head) || is_taken(self, f))
        snprintf(field->name, sizeof field->name, "c%" PRIu32, f);
}

/*  Whether the header names each field, once: columns are found by these names. */
static bool names_fields(const tnd_csv_table_t *self)
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

/*  Whether the texts of a field are the whole numbers from *first_p, 0 or 1, to *last_p, of many rows
 *  each. */
static bool has_class_numbers(const tnd_csv_table_t *self, const tnd_csv_column_t *field,
                              uint64_t *first_p, uint64_t *last_p)
{
    return field->texts == 0 && field->empty == 0 && field->integers == field->numbers &&
           tnd_text_classes_range(&field->classes, first_p, last_p) && *first_p < *last_p &&
           self->records >= ROWS_OF_CLASS * (*last_p - *first_p + 1);
}

/*  Whether the first line says how many records and classes the others have. */
static bool are_counts_true(const tnd_csv_table_t *self, size_t files)
{
    uint64_t first, last;
    return files == 1 && self->counts.record != NULL &&
           self->counts.rows == self->records + self->headers &&
           has_class_numbers(self, &self->fields[self->count - 1], &first, &last) &&
           last < self->counts.classes;
}

/*  The last or the first of the fields without names is the label if it has classes and not all others
 *  have such numbers, too. */
static void guess_label(tnd_csv_table_t *self)
{
    const uint32_t ends[] = {self->count - 1, 0};
    uint64_t first, last;
    uint32_t others = 0;
    for (uint32_t f = 0; f < self->count; f++)
        others += !has_class_numbers(self, &self->fields[f], &first, &last);
    for (size_t end = 0; end < 2; end++) {
        tnd_csv_column_t *field = &self->fields[ends[end]];
        bool clear = self->counted || (self->count > 2 && others > 0);
        if (clear && has_class_numbers(self, field, &first, &last)) {
            field->guessed = true;
            strcpy(field->name, "label");
            return;
        }
    }
}

/*  The line that looked like counts is a record. */
static void take_counts(tnd_csv_table_t *self, const tnd_record_place_t *start)
{
    if (self->counts.record == NULL || self->counted)
        return;
    const tnd_record_place_t place = {.file = start->file, .line = start->line};
    take_record(self, &place, self->counts.record, self->counts.size);
}

static tnd_status_t csv_table_decide(void *context, size_t files, tnd_error_t *error)
{
    tnd_csv_table_t *self = context;
    const tnd_record_place_t start = {.file = self->first_file, .line = 1};
    bool useful = false;
    self->counted = are_counts_true(self, files);
    take_counts(self, &start);
    if (self->records == 0)
        return TND_END;
    TND_TRY(check_headers(self, error));
    self->unclear = self->records > 1 && judge_first(self) == FIRST_IS_UNCLEAR;
    self->lonely = self->records == 1 && self->count > 1 && is_header(self);
    self->header =
        self->records > 1 && self->headers + 1 == files && !self->counted && is_header(self);
    for (uint32_t f = 0; f < self->count; f++) {
        tnd_csv_column_t *field = &self->fields[f];
        if (!self->header)
            for (uint64_t again = 0; again <= self->headers; again++)
                take_text(field, &start, field->head);
        name_field(self, f);
    }
    if (!self->header)
        guess_label(self);
    for (uint32_t f = 0; f < self->count; f++)
        useful = useful || tnd_csv_use_of(self, &self->fields[f]) != TND_CSV_AS_TEXT;
    self->named = names_fields(self);
    self->hidden = self->header && self->before.count > 0;
    return useful && !self->hidden ? TND_OK : TND_END;
}

static bool print_odd(const tnd_csv_table_t *self, const tnd_csv_column_t *field, FILE *out)
{
    if (tnd_csv_use_of(self, field) >= TND_CSV_AS_CLASS || !tnd_csv_has_odd(field))
        return false;
    fprintf(out, "%s: `%s` is %s, not a number", field->odd.place, field->name, field->odd.why);
    if (field->odd.count > 1)
        fprintf(out, "; %" PRIu64 " such records", field->odd.count);
    fputs("; if it means that a number is missing, list it in `na`\n", out);
    return true;
}

/*  A column that is taken for texts, and is probably one of numbers. */
static void print_dressed(const tnd_csv_table_t *self, const tnd_csv_column_t *field, FILE *out)
{
    uint64_t others = field->texts - field->absents - field->dressed;
    if (tnd_csv_use_of(self, field) >= TND_CSV_AS_CLASS && field->dressed > 0 && others == 0)
        fprintf(out,
                "%s: `%s` is %s, a text: numbers have no comma, unit or sign of money here; write "
                "5.1 in place of 5,1, and 12345 in place of 12,345\n",
                field->odd.place, field->name, field->odd.why);
}

static bool is_foreign(const tnd_csv_column_t *field)
{
    tnd_text_classes_t head = {.count = 0};
    tnd_text_classes_add(&head, field->head);
    return head.foreign || field->classes.foreign;
}

static bool csv_table_misfits(const void *context, FILE *out)
{
    const tnd_csv_table_t *self = context;
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
    for (uint32_t f = 0; self->divided && f < self->count; f++)
        print_dressed(self, &self->fields[f], out);
    for (uint32_t f = 0; self->divided && f < self->count; f++)
        if (is_foreign(&self->fields[f])) {
            fprintf(out,
                    "%s: field %" PRIu32
                    " has texts that are not UTF-8: convert the file, for example by "
                    "iconv -f ISO-8859-1 -t UTF-8\n",
                    self->first_file, f + 1);
            break;
        }
    return some;
}

#define READ_AS_CSV                                                                                \
    .take = csv_table_take, .look = csv_table_look, .decide = csv_table_decide,                    \
    .describe = tnd_csv_lines_describe, .options = tnd_csv_lines_options,                          \
    .misfits = csv_table_misfits, .print = tnd_csv_lines_print, .close = csv_table_close

const tnd_record_table_t tnd_csv_table = {.source = "csv", .open = csv_table_open, READ_AS_CSV};
const tnd_record_table_t tnd_text_table = {
    .source = "text", .reader = "csv", .open = text_table_open, READ_AS_CSV};
