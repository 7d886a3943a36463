/*  tools/new/detect_format.c - detects the format, rows and name of data files. */
#include "tools/new/detect_format.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/new/data_source.h"
#include "tools/new/file_head.h"

const char *const *tnd_detected_files(const tnd_detected_format_t *item, tnd_arena_t *arena,
                                      size_t *count_p)
{
    *count_p = item->path_count > 0 ? item->path_count : 1;
    if (item->pattern_count == 0)
        return item->path_count > 0 ? item->paths : &item->path;
    *count_p = item->pattern_count;
    const char **texts = tnd_arena_array(arena, item->pattern_count, sizeof *texts);
    for (size_t i = 0; i < item->pattern_count; i++)
        texts[i] = item->patterns[i].text;
    return texts;
}

bool tnd_detected_empty(const tnd_source_facts_t *facts, size_t files, size_t index)
{
    return facts->file_rows_count == files ? facts->file_rows[index] == 0 : facts->count == 0;
}

/*  The texts of a source, which it frees, and its files that have no rows. */
static void copy_texts(tnd_detected_format_t *item, tnd_arena_t *arena,
                       const tnd_source_facts_t *facts)
{
    char text[1024];
    size_t files = item->path_count > 0 ? item->path_count : 1, count = 0;
    const char **notes = tnd_arena_array(arena, facts->note_count + files + 1, sizeof *notes);
    for (size_t i = 0; i < files; i++)
        if (tnd_detected_empty(facts, files, i))
            notes[count++] = tnd_arena_format(arena, "%s: has no rows",
                                              item->path_count > 0 ? item->paths[i] : item->path);
    for (size_t i = 0; i < facts->note_count; i++)
        notes[count++] = tnd_arena_text(arena, facts->notes[i], strlen(facts->notes[i]));
    item->notes = notes;
    item->note_count = count;
    item->labels = "";
    if (facts->class_count > 0) {
        const char *labels = tnd_source_classes(facts, text, sizeof text);
        item->labels = tnd_arena_text(arena, labels, strlen(labels));
    }
}

tnd_status_t tnd_detected_item_open(tnd_detected_format_t *item, tnd_arena_t *arena,
                                    const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_data_source_t data;
    size_t count;
    const char *const *paths = tnd_detected_files(item, arena, &count);
    TND_TRY(tnd_data_source_choose(&data, arena, item->written, paths, count, NULL, error));
    TND_TRY(tnd_data_source_open(&data, scope, error));
    item->rows = data.facts.count;
    item->in_order = (data.facts.caps & TND_SOURCE_RANDOM) == 0;
    item->column = data.facts.schema.columns[0];
    tnd_schema_t *schema = tnd_arena_take(arena, sizeof *schema);
    *schema = data.facts.schema;
    item->schema = schema;
    copy_texts(item, arena, &data.facts);
    tnd_data_source_close(&data);
    return TND_OK;
}

/*  Whether its files are in several folders, which are then their labels. */
static bool is_in_folders(const tnd_detected_format_t *item)
{
    for (size_t i = 1; i < item->path_count; i++) {
        size_t size = (size_t)(strrchr(item->paths[0], '/') - item->paths[0]);
        if ((size_t)(strrchr(item->paths[i], '/') - item->paths[i]) != size ||
            memcmp(item->paths[i], item->paths[0], size) != 0)
            return true;
    }
    return false;
}

/*  Pictures of directories are read by patterns, with their folders as labels, or those of a table. */
static void choose_patterns(const tnd_detected_format_list_t *self, tnd_arena_t *arena,
                            tnd_detected_format_t *item)
{
    if (!self->named) {
        item->patterns = self->patterns;
        item->pattern_count = self->pattern_count;
    }
    if ((item->patterns != NULL && self->labelled) || is_in_folders(item))
        item->written = "folder: {column: image, label: label}";
    if (self->table != NULL) {
        item->table = self->table;
        item->written =
            tnd_arena_format(arena, "folder: {%s}",
                             tnd_picture_table_options(self->table, arena, self->table->path));
    }
}

tnd_status_t tnd_detected_format_open(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const tnd_source_scope_t *scope, tnd_error_t *error)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].pictures)
            choose_patterns(self, arena, &self->items[i]);
        if (self->items[i].records)
            TND_TRY(tnd_detected_item_open(&self->items[i], arena, scope, error));
    }
    return TND_OK;
}

/*  Whether the bytes are valid UTF-8, as YAML requires. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if ((*at >= 0x80 && *at < 0xc2) || *at > 0xf4)
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static tnd_status_t fail_unknown(const char *path, const tnd_file_head_t *head, tnd_error_t *error)
{
    return tnd_fail(
        error,
        "%s: has an unknown format; it is %s\n"
        "  known are .npy as numpy.save writes it, JPEG, PNG, IDX (MNIST), TFRecord, tar, and "
        "text: "
        "lines or .csv; all but .npy and pictures also compressed\n"
        "  other files that are one row each are read by the source `folder`: tundish help folder",
        path, tnd_file_head_describe(head));
}

tnd_status_t tnd_detected_source(const char **written_p, const char *path, tnd_error_t *error)
{
    tnd_file_head_t head;
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return tnd_fail(error, "%s: is a directory; name its files", path);
    TND_TRY(tnd_file_head_read(&head, path, error));
    *written_p = tnd_file_head_source(&head, path);
    return *written_p != NULL ? TND_OK : fail_unknown(path, &head, error);
}

void tnd_detected_append(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                         const tnd_detected_format_t *item)
{
    if ((self->count & (self->count - 1)) == 0) { /* it is full: double it */
        tnd_detected_format_t *items = tnd_arena_array(arena, 2 * self->count + 1, sizeof *items);
        if (self->count > 0)
            memcpy(items, self->items, self->count * sizeof *items);
        self->items = items;
    }
    self->items[self->count++] = *item;
}

static void leave_out(tnd_detected_format_list_t *self, tnd_arena_t *arena, const char *path,
                      const char *what, bool unreadable)
{
    const tnd_left_out_t item = {.path = path, .what = what, .unreadable = unreadable};
    tnd_left_out_add(&self->left_out, arena, &item);
}

/*  The words of an error without the path that begins it. */
static const char *reason_of(tnd_arena_t *arena, const char *path, const tnd_error_t *error)
{
    const char *text = error->text;
    size_t size = strlen(path);
    if (strncmp(text, path, size) == 0 && strncmp(text + size, ": ", 2) == 0)
        text += size + 2;
    return tnd_arena_text(arena, text, strlen(text));
}

void tnd_detected_leave_out(tnd_detected_format_list_t *self, tnd_arena_t *arena, const char *path)
{
    tnd_file_head_t head;
    tnd_error_t error;
    if (tnd_file_head_read(&head, path, &error) == TND_OK)
        leave_out(self, arena, path, tnd_file_head_describe(&head), false);
    else
        leave_out(self, arena, path, reason_of(arena, path, &error), true);
}

/*  Reads the size of a picture.  One that cannot be decoded is a bad row, and listed as one. */
static void measure(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                    tnd_detected_format_t *item)
{
    tnd_error_t error;
    tnd_left_out_t bad = {.path = item->named, .fed = true};
    if (tnd_picture_size_read(&item->size, item->named, &error) != TND_OK)
        bad.what = reason_of(arena, item->named, &error);
    else if (tnd_picture_size_pixels(item->size) > TND_PICTURE_PIXELS_MOST)
        bad.what = "a picture of more than 268 million pixels, for which too much memory would be "
                   "reserved: make it smaller";
    if (bad.what == NULL)
        return;
    item->size = (tnd_picture_size_t){0};
    tnd_left_out_add(&self->left_out, arena, &bad);
}

static tnd_status_t add_known(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                              tnd_detected_format_t *item, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    TND_TRY(tnd_data_source_name(&item->source, arena, item->written, error));
    item->records = tnd_data_source_takes(tnd_data_source_table(item->source), "files");
    if (!item->records)
        TND_TRY(tnd_detected_item_open(item, arena, &scope, error));
    if (item->pictures)
        measure(self, arena, item);
    tnd_detected_append(self, arena, item);
    return TND_OK;
}

tnd_status_t tnd_detected_add_file(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                   const char *path, const char *as, bool optional,
                                   tnd_error_t *error)
{
    tnd_file_head_t head;
    char *whole = realpath(path, NULL);
    if (whole == NULL && optional) {
        leave_out(self, arena, path, strerror(errno), true);
        return TND_OK;
    }
    if (whole == NULL)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    tnd_detected_format_t item = {.path = tnd_arena_text(arena, whole, strlen(whole)),
                                  .named = path,
                                  .part = "",
                                  .labels = ""};
    free(whole);
    if (!is_utf8(item.path))
        return tnd_fail(error, "%s: its name is not UTF-8, and topologies are: rename it", path);
    tnd_status_t status = tnd_file_head_read(&head, path, error);
    if (status != TND_OK && optional)
        leave_out(self, arena, path, reason_of(arena, path, error), true);
    if (status != TND_OK)
        return optional ? TND_OK : status;
    item.compression = head.packed;
    item.written = as != NULL ? as : tnd_file_head_source(&head, path);
    item.pictures = as == NULL && tnd_file_head_is_picture(&head);
    if (item.written == NULL && optional)
        leave_out(self, arena, path, tnd_file_head_describe(&head), false);
    else if (item.written == NULL)
        return fail_unknown(path, &head, error);
    else
        TND_TRY(add_known(self, arena, &item, error));
    return TND_OK;
}

/*  ------------------------------------------------------------------------------------- names */

static const struct {
    const char *word, *part;
} part_words[] = {
    {"train", "train"},  {"training", "train"}, {"trn", "train"}, {"test", "test"},
    {"testing", "test"}, {"t10k", "test"},      {"eval", "test"}, {"val", "val"},
    {"valid", "val"},    {"validation", "val"}, {"dev", "val"},
};

static const char *part_of(const char *word)
{
    for (size_t i = 0; i < sizeof part_words / sizeof part_words[0]; i++)
        if (strcmp(part_words[i].word, word) == 0)
            return part_words[i].part;
    return NULL;
}

/*  Words for the format, not the content: "idx3", "ubyte", "gz". */
static bool is_format(const char *word)
{
    static const char *const formats[] = {"npy", "gz", "idx", "ubyte", "bin", "dat"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(word, formats[i]) == 0)
            return true;
    return strncmp(word, "idx", 3) == 0 && strlen(word) == 4 && isdigit((unsigned char)word[3]);
}

/*  "images" becomes "image": each row is one. */
static void make_singular(char *word)
{
    static const char *const plurals[] = {"images", "labels",  "pixels", "targets", "features",
                                          "inputs", "outputs", "masks",  "weights", "tokens"};
    for (size_t i = 0; i < sizeof plurals / sizeof plurals[0]; i++)
        if (strcmp(word, plurals[i]) == 0)
            word[strlen(word) - 1] = '\0';
}

/*  The next word of a file's name, in lower case; false at the end. */
static bool next_word(const char **at_p, char word[TND_COLUMN_NAME_MAX])
{
    size_t size = 0;
    while (**at_p != '\0' && !isalnum((unsigned char)**at_p))
        (*at_p)++;
    for (; isalnum((unsigned char)**at_p); (*at_p)++)
        if (size + 1 < TND_COLUMN_NAME_MAX)
            word[size++] = (char)tolower((unsigned char)**at_p);
    word[size] = '\0';
    return size > 0;
}

const char *tnd_detected_part(const char *path)
{
    char word[TND_COLUMN_NAME_MAX];
    for (const char *at = basename(path); next_word(&at, word);)
        if (part_of(word) != NULL)
            return part_of(word);
    return "";
}

static bool has_word(const char *path, const char *wanted)
{
    char word[TND_COLUMN_NAME_MAX];
    for (const char *at = basename(path); next_word(&at, word);)
        if (strcmp(word, wanted) == 0)
            return true;
    return false;
}

static size_t digits_at_end(const char *word)
{
    size_t size = strlen(word), count = 0;
    while (count < size && isdigit((unsigned char)word[size - 1 - count]))
        count++;
    return count;
}

/*  The words of a file's name that describe its content, without the numbers of parts.  `common`:
 *  including the words that all names share. */
static void name_one(tnd_detected_format_t *items, size_t count, size_t index, bool common)
{
    char word[TND_COLUMN_NAME_MAX], *name = items[index].column.name;
    size_t used = 0;
    for (const char *at = basename(items[index].path); next_word(&at, word);) {
        bool shared = count > 1 && !common;
        for (size_t i = 0; i < count && shared; i++)
            shared = has_word(items[i].path, word);
        if (items[index].path_count > 1)
            word[strlen(word) - digits_at_end(word)] = '\0';
        if (part_of(word) != NULL || is_format(word) || shared || *word == '\0')
            continue;
        make_singular(word);
        bool digit = used == 0 && isdigit((unsigned char)word[0]);
        int more = snprintf(name + used, TND_COLUMN_NAME_MAX - used, "%s%s",
                            digit      ? "x"
                            : used > 0 ? "_"
                                       : "",
                            word);
        used += (size_t)more;
        if (used >= TND_COLUMN_NAME_MAX - 4)
            break;
    }
    name[TND_COLUMN_NAME_MAX - 4] = '\0'; /* room for a number */
    if (used == 0)
        strcpy(name, "x");
}

void tnd_detected_format_name(tnd_detected_format_t *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].records) /* its column has a name of its own */
            continue;
        name_one(items, count, i, false);
        if (strcmp(items[i].column.name, "x") == 0)
            name_one(items, count, i, true);
    }
    for (size_t i = 1; i < count && !items[0].records; i++) {
        char plain[TND_COLUMN_NAME_MAX];
        strcpy(plain, items[i].column.name);
        unsigned number = 2;
        for (size_t j = 0; j < i; j++)
            if (strcmp(items[i].column.name, items[j].column.name) == 0) {
                snprintf(items[i].column.name, TND_COLUMN_NAME_MAX, "%s%u", plain, number++);
                j = (size_t)-1;
            }
    }
}
