/*  tools/table/csv_lines.c - the lines of a topology that make columns of records of CSV. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/text/json_string.h"
#include "tools/table/csv_table_internal.h"
#include "tools/table/normalize_line.h"

/*  A field of numbers in which one of so many records has another text is numbers all the same. */
enum { ODD_ONE_OF = 20 };

bool tnd_csv_has_odd(const tnd_csv_column_t *field)
{
    return field->odd.count > 0 && field->odd.count <= field->numbers / ODD_ONE_OF;
}

tnd_csv_use_t tnd_csv_use_of(const tnd_csv_table_t *self, const tnd_csv_column_t *field)
{
    bool whole = field->integers == field->numbers && field->empty + field->absents == 0;
    if (field->numbers > 0 && (field->odd.count == 0 || tnd_csv_has_odd(field)))
        return whole && (tnd_column_name_is_label(field->name) || field->wide) ? TND_CSV_AS_INTEGER
               : field->wide                                                   ? TND_CSV_AS_WIDE
                                                                               : TND_CSV_AS_NUMBER;
    return self->count > 1 && tnd_text_classes_few(&field->classes, self->records)
               ? TND_CSV_AS_CLASS
               : TND_CSV_AS_TEXT;
}

static const char *delimiter_of(const tnd_csv_table_t *self, char text[16])
{
    if (self->delimiter == TND_CSV_SPACES)
        return "spaces";
    snprintf(text, 16, self->delimiter == '\t' ? "\"\\t\"" : "\"%c\"", self->delimiter);
    return text;
}

static const char *comma(const char *options)
{
    return *options != '\0' ? ", " : "";
}

/*  The names of a header that is short enough to be read: a file with another is refused then. */
static const char *header_of(const tnd_csv_table_t *self, tnd_arena_t *arena)
{
    enum { NAMES_MAX = 64 };
    bool whole = self->count <= NAMES_MAX && !self->counted;
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

const char *tnd_csv_lines_describe(const void *context, tnd_arena_t *arena)
{
    const tnd_csv_table_t *self = context;
    static const struct {
        uint8_t delimiter;
        const char *name;
    } names[] = {{',', "commas"}, {'\t', "tabs"}, {';', "semicolons"}, {'|', "`|`"}};
    const char *name = "spaces";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        name = names[i].delimiter == self->delimiter ? names[i].name : name;
    return self->count == 1
               ? "one field"
               : tnd_arena_format(arena, "%" PRIu32 " fields, separated by %s", self->count, name);
}

const char *tnd_csv_lines_options(const void *context, tnd_arena_t *arena)
{
    const tnd_csv_table_t *self = context;
    char text[16];
    const char *options = self->header || self->counted ? header_of(self, arena) : "";
    if (self->delimiter != ',')
        options = tnd_arena_format(arena, "%s%sdelimiter: %s", options, comma(options),
                                   delimiter_of(self, text));
    if (self->marked)
        options = tnd_arena_format(arena, "%s%sbom: remove", options, comma(options));
    return options;
}

static bool is_missing(const tnd_csv_column_t *field)
{
    return field->empty > 0 || field->absents > 0 || field->nan;
}

/*  How many fields from `first` on are numbers, which one column takes; a label has its own. */
static uint32_t run_of(const tnd_csv_table_t *self, uint32_t first, bool *missing_p)
{
    uint32_t f = first;
    *missing_p = false;
    for (; f < self->count && tnd_csv_use_of(self, &self->fields[f]) == TND_CSV_AS_NUMBER; f++) {
        bool label = tnd_column_name_is_label(self->fields[f].name);
        if (f > first && label)
            break;
        *missing_p = *missing_p || is_missing(&self->fields[f]);
        if (label)
            return 1;
    }
    return f - first;
}

/*  Whether a text that means that a number is missing is listed in `na`, for fields of numbers. */
static bool is_na(const tnd_csv_table_t *self, uint32_t text)
{
    for (uint32_t f = 0; f < self->count; f++)
        if (tnd_csv_use_of(self, &self->fields[f]) == TND_CSV_AS_NUMBER &&
            self->fields[f].absent[text])
            return true;
    return false;
}

static void print_na(const tnd_csv_table_t *self, FILE *out)
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
static bool lacks_text(const tnd_csv_table_t *self, const tnd_csv_column_t *field)
{
    bool lacks = field->empty > 0;
    for (uint32_t i = 0; i < TND_CELL_ABSENT; i++)
        lacks = lacks || (field->absent[i] && is_na(self, i));
    return lacks;
}

static void print_classes(const tnd_csv_table_t *self, tnd_csv_column_t *field, FILE *out)
{
    for (uint32_t i = 0; i < TND_CELL_ABSENT; i++)
        if (is_na(self, i))
            tnd_text_classes_remove(&field->classes, tnd_cell_absent[i]);
    tnd_text_classes_print(&field->classes, field->name, lacks_text(self, field), out);
}

/*  x, x2, x3 ..., none of which is a field. */
static const char *name_vector(const tnd_csv_table_t *self, uint32_t *vectors, char name[16])
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
static void print_column(const tnd_csv_table_t *self, uint32_t f, const char *dtype,
                         const char *fallback, const char *note, FILE *out)
{
    const tnd_csv_column_t *field = &self->fields[f];
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

static void print_wide(const tnd_csv_table_t *self, uint32_t f, FILE *out, FILE *more)
{
    const tnd_csv_column_t *field = &self->fields[f];
    print_column(self, f, "f64", "nan", "", out);
    if (is_missing(field) && !tnd_column_name_is_label(field->name))
        tnd_normalize_line_print(field->name, true, more);
}

/*  Prints the numbers from field `first` on, and in `more` what else is done to them; returns how many
 *  there are. */
static uint32_t print_numbers(const tnd_csv_table_t *self, uint32_t first, uint32_t *vectors,
                              FILE *out, FILE *more)
{
    bool missing;
    char name[16];
    uint32_t count = run_of(self, first, &missing);
    if (count == 1) {
        print_column(self, first, "f32", missing ? "nan" : "", "", out);
        if (!tnd_column_name_is_label(self->fields[first].name))
            tnd_normalize_line_print(self->fields[first].name, missing, more);
        return 1;
    }
    fprintf(out, "            %s: {dtype: f32, shape: [%" PRIu32 "]%s}  # ",
            name_vector(self, vectors, name), count, missing ? ", default: nan" : "");
    tnd_normalize_line_print(name, missing, more);
    for (uint32_t i = 0; i < count && i < 8; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", self->fields[first + i].name);
    fputs(count > 8 ? " ...\n" : "\n", out);
    return count;
}

static void print_label(const tnd_csv_table_t *self, uint32_t f, FILE *out)
{
    const tnd_csv_column_t *field = &self->fields[f];
    uint64_t first, last;
    char note[200] = "";
    if (self->counted && field->guessed)
        snprintf(note, sizeof note, "  # %s", self->counts.names);
    else if (field->guessed && tnd_text_classes_range(&field->classes, &first, &last))
        snprintf(note, sizeof note,
                 "  # a guess, without a header: whole numbers from %" PRIu64 " to %" PRIu64, first,
                 last);
    print_column(self, f, "i64", "", note, out);
}

/*  Prints what is done to columns: to classes, and to numbers `more`. */
static void print_operations(tnd_csv_table_t *self, const char *more, FILE *out)
{
    for (uint32_t f = 0; f < self->count; f++)
        if (tnd_csv_use_of(self, &self->fields[f]) == TND_CSV_AS_CLASS)
            print_classes(self, &self->fields[f], out);
    fputs(more, out);
}

void tnd_csv_lines_print(void *context, const char *record, FILE *out)
{
    tnd_csv_table_t *self = context;
    char text[16], *lines = NULL;
    size_t size;
    uint32_t vectors = 0;
    FILE *more = tnd_memory_stream(&lines, &size);
    fprintf(out, "      - decode_csv:  # as all records are\n          column: %s\n", record);
    if (self->delimiter != ',')
        fprintf(out, "          delimiter: %s\n", delimiter_of(self, text));
    if ((self->header && !self->named) || self->counted)
        fputs("          by: place\n", out);
    print_na(self, out);
    fputs("          fields:\n", out);
    for (uint32_t f = 0; f < self->count;) {
        const tnd_csv_column_t *field = &self->fields[f];
        if (tnd_csv_use_of(self, field) == TND_CSV_AS_NUMBER) {
            f += print_numbers(self, f, &vectors, out, more);
            continue;
        }
        char missing[48] = "";
        if (lacks_text(self, field))
            snprintf(missing, sizeof missing, "\"%s\"",
                     tnd_csv_use_of(self, field) == TND_CSV_AS_CLASS ? tnd_missing_class : "");
        if (tnd_csv_use_of(self, field) == TND_CSV_AS_INTEGER)
            print_label(self, f, out);
        else if (tnd_csv_use_of(self, field) == TND_CSV_AS_WIDE)
            print_wide(self, f, out, more);
        else
            print_column(self, f, "string", missing,
                         tnd_csv_use_of(self, field) == TND_CSV_AS_TEXT
                             ? tnd_text_classes_note(&field->classes)
                             : "",
                         out);
        f++;
    }
    fclose(more);
    print_operations(self, lines, out);
    free(lines);
}
