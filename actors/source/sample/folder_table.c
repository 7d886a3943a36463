/*  actors/source/sample/folder_table.c - a table in CSV that names files, and the class of each. */
#include "actors/source/sample/folder_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/file/content.h"
#include "actors/text/csv_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"
#include "runtime/text/diagnostic.h"
#include "runtime/text/printable.h"

/*  The places of the two fields in a record. */
typedef struct {
    size_t name, word; /* SIZE_MAX: it has none */
} fields_t;

/*  The text of a field, up to a zero byte. */
static char *text_of(const tnd_csv_field_t *field)
{
    size_t size = field->size - field->doubled;
    char *text = tnd_allocate(1, size + 1);
    tnd_csv_copy(field, text);
    text[size] = '\0';
    return text;
}

/*  A header of one field may have several, which something else separates. */
static tnd_status_t check_delimiter(const tnd_csv_record_t *header, tnd_error_t *error)
{
    static const char *const shown[] = {",", ";", "\\t", "|"};
    static const char delimiters[] = ",;\t|";
    size_t size = (size_t)(header->end - header->at);
    if (size == 0 || memchr(header->at, header->delimiter, size) != NULL)
        return TND_OK;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (memchr(header->at, delimiters[i], size) != NULL)
            return tnd_fail(error,
                            "the header has one field, with `%s` in it; if that separates fields, "
                            "say `delimiter: \"%s\"`",
                            shown[i], shown[i]);
    return TND_OK;
}

/*  The error of a field that the header does not have. */
static tnd_status_t fail_header(const tnd_csv_record_t *header, const char *option,
                                const char *field, tnd_error_t *error)
{
    tnd_csv_record_t record = *header;
    tnd_csv_field_t found;
    tnd_error_t ignored;
    char names[200] = "", best[64] = "";
    size_t used = 0, distance = SIZE_MAX;
    while (tnd_csv_next(&record, &found, &ignored) == TND_OK) {
        char *name = text_of(&found);
        tnd_nearest_t nearest = {.word = field != NULL ? field : ""};
        tnd_nearest_offer(&nearest, name);
        if (nearest.best != NULL && nearest.distance < distance) {
            distance = nearest.distance;
            snprintf(best, sizeof best, "%s", name);
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", name);
        free(name);
    }
    tnd_printable(names, sizeof names);
    if (field == NULL)
        return tnd_fail(error, "say which field names the files, `%s: FIELD`; its fields are %s",
                        option, names);
    return tnd_fail(error, "`%s: %.60s` is not a field of it; its fields are %s%s%s%s", option,
                    field, names, best[0] != '\0' ? "; did you mean `" : "",
                    tnd_printable(best, sizeof best), best[0] != '\0' ? "`?" : "");
}

static tnd_status_t find_fields(fields_t *fields, const tnd_csv_record_t *header, const char *name,
                                const char *word, tnd_error_t *error)
{
    tnd_csv_record_t record = *header;
    tnd_csv_field_t field;
    tnd_status_t status;
    *fields = (fields_t){SIZE_MAX, SIZE_MAX};
    for (size_t place = 0; (status = tnd_csv_next(&record, &field, error)) == TND_OK; place++) {
        char *text = text_of(&field);
        if (name != NULL && strcmp(text, name) == 0 && fields->name == SIZE_MAX)
            fields->name = place;
        if (word != NULL && strcmp(text, word) == 0 && fields->word == SIZE_MAX)
            fields->word = place;
        free(text);
    }
    if (status != TND_END)
        return status;
    if (fields->name != SIZE_MAX && (word == NULL || fields->word != SIZE_MAX))
        return TND_OK;
    TND_TRY(check_delimiter(header, error));
    return fields->name == SIZE_MAX ? fail_header(header, "path", name, error)
                                    : fail_header(header, "label", word, error);
}

/*  Takes the text of a field, which is shown in messages: it must have some, and nothing that would
 *  move the cursor of a terminal. */
static tnd_status_t take_text(const tnd_csv_field_t *field, const char *name, char **text_p,
                              tnd_error_t *error)
{
    char *text = text_of(field);
    free(*text_p);
    *text_p = text;
    if (field->size == 0)
        return tnd_fail(error, "the field `%s` is empty", name);
    for (size_t i = 0; i < field->size - field->doubled; i++)
        if ((uint8_t)text[i] < ' ' || text[i] == 0x7f)
            return tnd_fail(error, "the field `%s` has a control character, 0x%02x", name,
                            (unsigned)text[i]);
    return TND_OK;
}

/*  Appends the entry of a record. */
static tnd_status_t add_entry(tnd_folder_table_t *self, tnd_csv_record_t *record,
                              const fields_t *fields, const char *word, uint64_t line,
                              tnd_error_t *error)
{
    tnd_csv_field_t field;
    tnd_status_t status;
    size_t place = 0;
    self->entries = tnd_grow(self->entries, self->count, &self->room, sizeof *self->entries);
    tnd_folder_entry_t *entry = &self->entries[self->count++];
    *entry = (tnd_folder_entry_t){.line = line};
    for (; (status = tnd_csv_next(record, &field, error)) == TND_OK; place++) {
        if (place == fields->name)
            TND_TRY(take_text(&field, self->field, &entry->name, error));
        if (place == fields->word)
            TND_TRY(take_text(&field, word, &entry->word, error));
    }
    if (status != TND_END)
        return status;
    if (entry->name == NULL || (fields->word != SIZE_MAX && entry->word == NULL))
        return tnd_fail(error, "the record has %zu field%s, and `%s` is field %zu", place,
                        place == 1 ? "" : "s", entry->name == NULL ? self->field : word,
                        (entry->name == NULL ? fields->name : fields->word) + 1);
    return TND_OK;
}

/*  A text that is divided into records. */
typedef struct {
    const uint8_t *at;
    size_t size;   /* bytes that are left */
    uint64_t line; /* of the next record */
    uint8_t delimiter;
} lines_t;

/*  Finds the next record, and its line. */
static uint64_t next_record(lines_t *lines, tnd_csv_record_t *record)
{
    size_t size = tnd_csv_record_size(lines->at, lines->size, lines->delimiter, true);
    uint64_t line = lines->line++;
    tnd_csv_init(record, lines->at, size, lines->delimiter, true);
    for (size_t i = 0; i < size; i++)
        lines->line += lines->at[i] == '\n';
    if (size + 1 < lines->size && lines->at[size] == '\r' && lines->at[size + 1] == '\n')
        size++;
    size += size < lines->size;
    lines->at += size;
    lines->size -= size;
    return line;
}

tnd_status_t tnd_folder_table_parse(tnd_folder_table_t *self, const char *path,
                                    const uint8_t *bytes, size_t size, uint8_t delimiter,
                                    const char *name, const char *word, tnd_error_t *error)
{
    size_t mark = tnd_byte_order_mark(bytes, size);
    lines_t lines = {.at = bytes + mark, .size = size - mark, .line = 1, .delimiter = delimiter};
    tnd_csv_record_t record;
    fields_t fields;
    tnd_error_t why;
    if (lines.size == 0)
        return tnd_fail(error, "folder: %s: is empty, and needs a header", path);
    uint64_t line = next_record(&lines, &record);
    self->path = path;
    self->field = name;
    tnd_status_t status = find_fields(&fields, &record, name, word, &why);
    while (status == TND_OK && lines.size > 0) {
        line = next_record(&lines, &record);
        if (record.at < record.end)
            status = add_entry(self, &record, &fields, word, line, &why);
    }
    if (status != TND_OK)
        return tnd_fail(error, "folder: %s:%" PRIu64 ": %.600s", path, line, why.text);
    if (self->count == 0)
        return tnd_fail(error, "folder: %s: names no file: it has a header only", path);
    return TND_OK;
}

tnd_status_t tnd_folder_table_read(tnd_folder_table_t *self, const char *path,
                                   const char *delimiter, const char *name, const char *word,
                                   const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_content_t content;
    const uint8_t *bytes;
    size_t size;
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL)
        return tnd_fail(error,
                        "folder: `delimiter` is one byte, and neither a quote nor an end of a "
                        "line");
    TND_TRY(tnd_content_open(&content, path, scope, error));
    tnd_content_window_t window = {.content = &content};
    tnd_status_t status = tnd_content_window(&window, 0, content.size, &bytes, &size, error);
    if (status == TND_OK) {
        self->file = (tnd_source_file_t){.kind = TND_DATA_FILE,
                                         .path = path,
                                         .size = size,
                                         .modified_ns = content.modified_ns,
                                         .ends = tnd_content_hash(bytes, size)};
        self->hash = XXH3_64bits(bytes, size);
        status = tnd_folder_table_parse(self, path, bytes, size, (uint8_t)delimiter[0], name, word,
                                        error);
    }
    if (status == TND_OK)
        status = tnd_content_intact(&content, error);
    tnd_content_close(&content);
    return status;
}

void tnd_folder_table_forget(tnd_folder_table_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->entries[i].name);
        free(self->entries[i].word);
    }
    free(self->entries);
    self->entries = NULL;
    self->count = self->room = 0;
}

void tnd_folder_table_free(tnd_folder_table_t *self)
{
    tnd_folder_table_forget(self);
    *self = (tnd_folder_table_t){0};
}
