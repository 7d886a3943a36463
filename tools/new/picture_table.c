/*  tools/new/picture_table.c - a table beside pictures that has their labels. */
#include "tools/new/picture_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "actors/file/content.h"
#include "actors/source/sample/folder_table.h"
#include "actors/text/csv_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/json_string.h"
#include "runtime/text/quantity.h"
#include "tools/table/column_name.h"

enum { FIELDS_MAX = 64, NAME_MAX_SIZE = 40, ORDER_MAX = 1000 };

/*  A table while its fields are tried. */
typedef struct {
    tnd_arena_t *arena;
    const char *path;
    const uint8_t *bytes;
    size_t size;
    char delimiter;
    const char *fields[FIELDS_MAX];
    size_t field_count;
    const tnd_names_t *names; /* of the pictures */
} search_t;

/*  Divides the header by the first delimiter that it has.  False: it has one field, or too many. */
static bool read_header(search_t *self)
{
    static const char delimiters[] = ",;\t|";
    size_t mark = tnd_byte_order_mark(self->bytes, self->size);
    const uint8_t *header = self->bytes + mark;
    for (const char *at = delimiters; *at != '\0'; at++) {
        tnd_csv_record_t record;
        tnd_csv_field_t field;
        tnd_error_t ignored;
        size_t size = tnd_csv_record_size(header, self->size - mark, (uint8_t)*at, true);
        self->delimiter = *at;
        self->field_count = 0;
        tnd_csv_init(&record, header, size, (uint8_t)*at, true);
        while (tnd_csv_next(&record, &field, &ignored) == TND_OK && field.size > 0) {
            if (self->field_count == FIELDS_MAX)
                return false;
            char *text = tnd_allocate_zeroed(1, field.size + 1);
            tnd_csv_copy(&field, text);
            self->fields[self->field_count++] = tnd_arena_text(self->arena, text, strlen(text));
            free(text);
        }
        if (self->field_count > 1)
            return true;
    }
    return false;
}

/*  Whether a field names the pictures. */
static bool names_pictures(const search_t *self, const char *field)
{
    tnd_folder_table_t table = {0};
    tnd_folder_match_t match = {0};
    tnd_error_t ignored;
    bool does = tnd_folder_table_parse(&table, self->path, self->bytes, self->size,
                                       (uint8_t)self->delimiter, field, NULL, &ignored) == TND_OK &&
                tnd_folder_table_match(&table, self->names, &match, &ignored) == TND_OK &&
                match.missing == 0 && 2 * match.unnamed < self->names->count;
    free(match.entries);
    tnd_folder_table_free(&table);
    return does;
}

/*  ------------------------------------------------------------------------------------ classes */

/*  The different texts of a field. */
typedef struct {
    const char **words; /* sorted */
    size_t count, records;
    bool numbers;
} words_t;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_whole(const char *text)
{
    uint64_t number;
    return tnd_quantity_u64(text, &number) == TND_QUANTITY_OK;
}

static void sort_words(words_t *self)
{
    size_t count = 0;
    self->numbers = true;
    qsort(self->words, self->records, sizeof *self->words, by_bytes);
    for (size_t i = 0; i < self->records; i++) {
        if (count > 0 && strcmp(self->words[i], self->words[count - 1]) == 0)
            continue;
        self->words[count++] = self->words[i];
        self->numbers = self->numbers && is_whole(self->words[i]);
    }
    self->count = count;
}

/*  The texts of field `label` of the records that `field` names; false: a record has none. */
static bool read_words(const search_t *self, const char *field, const char *label, words_t *found)
{
    tnd_folder_table_t table = {0};
    tnd_error_t ignored;
    bool good = tnd_folder_table_parse(&table, self->path, self->bytes, self->size,
                                       (uint8_t)self->delimiter, field, label, &ignored) == TND_OK;
    *found = (words_t){.records = good ? table.count : 0};
    if (good)
        found->words = tnd_arena_array(self->arena, table.count, sizeof *found->words);
    for (size_t i = 0; i < found->records; i++)
        found->words[i] =
            tnd_arena_text(self->arena, table.entries[i].word, strlen(table.entries[i].word));
    tnd_folder_table_free(&table);
    sort_words(found);
    return good;
}

/*  Whether a column may have the name of the field. */
static bool is_column_name(const char *field)
{
    size_t size = strlen(field);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)field[i]) && field[i] != '_')
            return false;
    return size > 0 && size < NAME_MAX_SIZE && isalpha((unsigned char)field[0]) &&
           strcmp(field, "image") != 0;
}

/*  Whether a field has classes: the only other one, one that is called so, or one of texts that occur
 *  twice on average. */
static bool has_classes(const search_t *self, const char *field, const char *label, bool called,
                        words_t *words)
{
    char name[TND_NEW_NAME_MAX];
    if (label == field || !is_column_name(label))
        return false;
    if (called && (!tnd_column_name_make(name, label) || !tnd_column_name_is_label(name)))
        return false;
    return read_words(self, field, label, words) && 2 * words->count <= words->records &&
           words->count > 1 && (called || self->field_count == 2 || !words->numbers);
}

static const char *find_label(const search_t *self, const char *field, words_t *words)
{
    for (int called = 1; called >= 0; called--)
        for (size_t i = 0; i < self->field_count; i++)
            if (has_classes(self, field, self->fields[i], called, words))
                return self->fields[i];
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t one = 0, other = 0;
    (void)tnd_quantity_u64(*(const char *const *)a, &one);
    (void)tnd_quantity_u64(*(const char *const *)b, &other);
    return (one > other) - (one < other);
}

/*  Of numbers that are sorted as texts, 10 is before 2. */
static void order_numbers(tnd_picture_table_t *self, words_t *words)
{
    bool ordered = true;
    for (size_t i = 1; i < words->count && words->numbers; i++)
        ordered = ordered && by_number(&words->words[i - 1], &words->words[i]) < 0;
    if (ordered || words->count > ORDER_MAX)
        return;
    qsort(words->words, words->count, sizeof *words->words, by_number);
    self->order = words->words;
    self->order_count = words->count;
}

static const tnd_picture_table_t *search(search_t *self)
{
    words_t words = {0};
    if (!read_header(self))
        return NULL;
    for (size_t i = 0; i < self->field_count; i++) {
        const char *field = self->fields[i];
        if (!names_pictures(self, field))
            continue;
        const char *label = find_label(self, field, &words);
        if (label == NULL)
            return NULL;
        tnd_picture_table_t *table = tnd_arena_take(self->arena, sizeof *table);
        *table = (tnd_picture_table_t){
            .path = self->path,
            .field = field,
            .label = label,
            .delimiter = self->delimiter == '\t'
                             ? "\\t"
                             : tnd_arena_format(self->arena, "%c", self->delimiter),
        };
        order_numbers(table, &words);
        return table;
    }
    return NULL;
}

const tnd_picture_table_t *tnd_picture_table_read(tnd_arena_t *arena, const char *path,
                                                  const tnd_strings_t *patterns)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_names_t names = {0};
    tnd_content_t content;
    tnd_error_t ignored;
    const tnd_picture_table_t *found = NULL;
    if (tnd_content_open(&content, path, &scope, &ignored) != TND_OK)
        return NULL;
    tnd_content_window_t window = {.content = &content};
    search_t self = {.arena = arena, .path = path, .names = &names};
    if (tnd_content_window(&window, 0, content.size, &self.bytes, &self.size, &ignored) == TND_OK &&
        tnd_names_find(&names, "folder", patterns, &ignored) == TND_OK)
        found = search(&self);
    tnd_names_free(&names);
    tnd_content_close(&content);
    return found;
}

const char *tnd_picture_table_options(const tnd_picture_table_t *self, tnd_arena_t *arena,
                                      const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = tnd_memory_stream(&text, &size);
    fprintf(out, "column: image, label: %s, table: ", self->label);
    tnd_json_string_print(path, out);
    fputs(", path: ", out);
    tnd_json_string_print(self->field, out);
    if (strcmp(self->delimiter, ",") != 0)
        fprintf(out, ", delimiter: \"%s\"", self->delimiter);
    for (size_t i = 0; i < self->order_count; i++)
        fprintf(out, "%s%s", i == 0 ? ", classes: [" : ", ", self->order[i]);
    fputs(self->order_count > 0 ? "]" : "", out);
    fclose(out);
    const char *options = tnd_arena_text(arena, text, size);
    free(text);
    return options;
}
