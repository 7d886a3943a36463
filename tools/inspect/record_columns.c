/*  tools/inspect/record_columns.c - what makes columns of the records of data files. */
#include "tools/inspect/record_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/inspect/data_scan.h"
#include "tools/inspect/example_features.h"
#include "tools/inspect/sample_kind.h"
#include "tools/new/picture_lines.h"

/*  Keeps how many records cannot be read, and where the first is. */
static void note_damage(tnd_record_columns_t *self, const tnd_data_scan_t *scan)
{
    const tnd_scan_damage_t *first = &scan->damage[0];
    self->damaged = scan->damaged;
    if (scan->damaged > 0)
        self->damage =
            tnd_arena_format(self->arena, "%s: record %" PRIu64 ": %s\n",
                             first->place.file != NULL ? first->place.file : "an archive",
                             first->place.record, first->why);
}

/*  Reads the first `most` records.  False: they cannot be read. */
static bool scan_rows(tnd_record_columns_t *self, const tnd_detected_format_t *item, uint64_t most,
                      tnd_reading_progress_t *progress, tnd_data_scan_t *scan)
{
    tnd_source_scope_t scope = {.lanes = 1};
    tnd_data_source_t data = {0};
    tnd_error_t error;
    size_t count;
    const char *const *files = tnd_detected_files(item, self->arena, &count);
    tnd_reading_progress_attach(progress, &scope);
    bool read =
        tnd_data_source_choose(&data, self->arena, item->written, files, count, NULL, &error) ==
            TND_OK &&
        tnd_data_source_open(&data, &scope, &error) == TND_OK && tnd_data_scan_needed(&data) &&
        tnd_data_scan_run(scan, &data, most, tnd_reading_progress_records, progress, &error) ==
            TND_OK;
    if (read && most == TND_UNKNOWN)
        note_damage(self, scan);
    tnd_data_source_close(&data);
    return read;
}

/*  Whether the first `most` records are tf.Example messages; their keys. */
static bool scan_keys(tnd_record_columns_t *self, const tnd_detected_format_t *item, uint64_t most,
                      tnd_reading_progress_t *progress, tnd_data_scan_t *scan)
{
    *scan = (tnd_data_scan_t){0};
    return scan_rows(self, item, most, progress, scan) && scan->keys.examples > 0 &&
           scan->keys.examples == scan->keys.records;
}

/*  A table, and the column of whose bytes it is; NULL: the only one. */
typedef struct {
    const tnd_record_table_t *format;
    void *state;
    const char *column;
} table_t;

static bool scan_table(tnd_record_columns_t *self, const tnd_detected_format_t *item, uint64_t most,
                       tnd_reading_progress_t *progress, const table_t *table)
{
    tnd_data_scan_t scan = {
        .take = table->format->take, .taker = table->state, .column = table->column};
    bool read = scan_rows(self, item, most, progress, &scan);
    tnd_data_scan_free(&scan);
    return read;
}

/*  The source of an item with options, as for --as. */
static const char *write_source(tnd_arena_t *arena, const tnd_detected_format_t *item,
                                const char *options)
{
    if (item->compression != NULL && strcmp(item->compression, "zlib") == 0)
        options =
            tnd_arena_format(arena, "%s%scompression: zlib", options, *options != '\0' ? ", " : "");
    return *options != '\0' ? tnd_arena_format(arena, "%s: {%s}", item->source, options)
                            : item->source;
}

/*  Opens the records again as the table has them: without headers and marks, and with the notes that
 *  a run gets. */
static bool open_table(tnd_arena_t *arena, tnd_detected_format_t *item,
                       tnd_reading_progress_t *progress, const table_t *table)
{
    tnd_source_scope_t scope = {.lanes = 1};
    tnd_detected_format_t as_table = *item;
    tnd_error_t error;
    as_table.written = write_source(arena, item, table->format->options(table->state, arena));
    tnd_reading_progress_attach(progress, &scope);
    if (tnd_detected_item_open(&as_table, arena, &scope, &error) != TND_OK)
        return false;
    *item = as_table;
    return true;
}

/*  Reads the records twice.  Errors: TND_END if no columns can be made of them. */
static tnd_status_t fill_table(tnd_record_columns_t *self, tnd_detected_format_t *item,
                               tnd_reading_progress_t *progress, const table_t *table,
                               tnd_error_t *error)
{
    size_t count;
    (void)tnd_detected_files(item, self->arena, &count);
    if (!scan_table(self, item, TND_TABLE_FIRST, progress, table) ||
        !table->format->look(table->state) || !scan_table(self, item, TND_UNKNOWN, progress, table))
        return TND_END;
    TND_TRY(table->format->decide(table->state, count, error));
    return open_table(self->arena, item, progress, table) ? TND_OK : TND_END;
}

/*  Keeps which records do not fit, and reports them. */
static void note_misfits(tnd_arena_t *arena, const table_t *table, tnd_record_columns_t *found)
{
    char *text = NULL;
    size_t size;
    FILE *out = tnd_memory_stream(&text, &size);
    found->skips = table->format->misfits(table->state, out);
    fclose(out);
    found->misfits = tnd_arena_text(arena, text, size);
    free(text);
}

/*  The item as another source reads it; NULL: its own. */
static tnd_detected_format_t read_by(tnd_arena_t *arena, const tnd_detected_format_t *item,
                                     const char *reader)
{
    tnd_detected_format_t read = *item;
    if (reader == NULL)
        return read;
    read.source = reader;
    read.written = write_source(arena, &read, "");
    return read;
}

static tnd_status_t read_table(tnd_arena_t *arena, tnd_detected_format_t *item,
                               tnd_reading_progress_t *progress, tnd_record_columns_t *found,
                               tnd_error_t *error)
{
    const char *source = item->source;
    const tnd_record_table_t *format;
    for (size_t i = 0; (format = tnd_record_table_at(source, i)) != NULL; i++) {
        tnd_detected_format_t as_table = read_by(arena, item, format->reader);
        const table_t table = {.format = format, .state = format->open()};
        tnd_status_t status = fill_table(found, &as_table, progress, &table, error);
        tnd_reading_progress_clear(progress);
        if (status == TND_OK || (status == TND_END && format->reader == NULL))
            note_misfits(arena, &table, found);
        if (status == TND_OK) {
            *item = as_table;
            found->format = table.format;
            found->state = table.state;
            return TND_OK;
        }
        format->close(table.state);
        if (status == TND_FAILED)
            return status;
    }
    return TND_OK;
}

/*  The operation that makes columns of all messages, with a note; "": none. */
static const char *parse_examples(const tnd_record_columns_t *self, const tnd_example_keys_t *keys,
                                  const char *column)
{
    const char *lines = "";
    char *operation = tnd_example_features(keys, column);
    char *without = tnd_example_features_left_out(keys);
    if (operation != NULL && without != NULL)
        lines = tnd_arena_format(self->arena, "      # without columns for these: %s\n", without);
    if (operation != NULL)
        lines = tnd_arena_format(
            self->arena, "      # as all records are: see tundish help %.*s\n%s      - %s\n",
            (int)strcspn(operation, ":"), operation, lines, operation);
    free(operation);
    free(without);
    return lines;
}

/*  The operations that make columns of all records, if these are tf.Example messages. */
static void read_examples(tnd_record_columns_t *self, const tnd_detected_format_t *item,
                          tnd_reading_progress_t *progress)
{
    tnd_data_scan_t *scan = tnd_allocate_zeroed(1, sizeof *scan);
    bool like = scan_keys(self, item, TND_SCAN_FIRST_RECORDS, progress, scan);
    tnd_data_scan_free(scan);
    bool known = like && scan_keys(self, item, TND_UNKNOWN, progress, scan);
    const char *lines =
        known ? parse_examples(self, &scan->keys, item->schema->columns[0].name) : "";
    for (int validates = 0; validates < 2; validates++) {
        char *text;
        size_t size;
        FILE *out = tnd_memory_stream(&text, &size);
        fputs(lines, out);
        if (*lines != '\0')
            tnd_example_features_pictures(&scan->keys, validates, out);
        fclose(out);
        self->parse[validates] = tnd_arena_text(self->arena, text, size);
        free(text);
    }
    tnd_data_scan_free(scan);
    free(scan);
    tnd_reading_progress_clear(progress);
}

static void take_sample(void *taker, const tnd_record_place_t *place, const uint8_t *bytes,
                        size_t size)
{
    (void)place;
    tnd_sample_kind_take(taker, bytes, size);
}

/*  Whether a field has the name of a column. */
static bool has_field_of(tnd_arena_t *arena, const tnd_schema_t *schema, const char *lines)
{
    bool found = false;
    for (uint32_t c = 0; c < schema->count; c++)
        found =
            found ||
            strstr(lines, tnd_arena_format(arena, "\n            %s: ", schema->columns[c].name)) !=
                NULL;
    return found;
}

/*  What makes columns of JSON documents; "": they are not, or fields have names of columns. */
static const char *read_documents(tnd_record_columns_t *self, const tnd_detected_format_t *item,
                                  tnd_reading_progress_t *progress, const char *column)
{
    table_t table = {.format = &tnd_json_table, .state = tnd_json_table.open(), .column = column};
    const char *lines = "";
    tnd_error_t ignored;
    if (scan_table(self, item, TND_TABLE_FIRST, progress, &table) &&
        table.format->look(table.state) && scan_table(self, item, TND_UNKNOWN, progress, &table) &&
        table.format->decide(table.state, 1, &ignored) == TND_OK) {
        char *text = NULL, *misfits = NULL; /* whose places are lines, and of no use here */
        size_t size, unused;
        FILE *out = tnd_memory_stream(&text, &size), *other = tnd_memory_stream(&misfits, &unused);
        table.format->print(table.state, column, out);
        self->skips = table.format->misfits(table.state, other) || self->skips;
        fclose(out);
        fclose(other);
        lines =
            has_field_of(self->arena, item->schema, text)
                ? tnd_arena_format(self->arena,
                                   "      # %s has JSON documents, with fields named like other "
                                   "columns: tundish help decode_json\n",
                                   column)
                : tnd_arena_text(self->arena, text, size);
        free(text);
        free(misfits);
    }
    table.format->close(table.state);
    return lines;
}

/*  Prints what makes values of the files of one extension, as the first of them are. */
static void print_sample(tnd_record_columns_t *self, const tnd_detected_format_t *item,
                         tnd_reading_progress_t *progress, const char *column, FILE *const out[2])
{
    tnd_sample_kind_t kind = {0};
    tnd_data_scan_t scan = {.take = take_sample, .taker = &kind, .column = column};
    bool read = scan_rows(self, item, TND_TABLE_FIRST, progress, &scan);
    tnd_data_scan_free(&scan);
    if (!read || kind.files == 0)
        return;
    bool pictures = kind.pictures == kind.files, numbers = kind.numbers == kind.files;
    const char *lines = "";
    if (numbers)
        lines = tnd_arena_format(self->arena, "      - {to_number: {column: %s, to: %s}}\n", column,
                                 kind.integers == kind.files ? "i64" : "f32");
    else if (kind.arrays == kind.files)
        lines = tnd_arena_format(self->arena,
                                 "      # %s has .npy files: tundish help decode_npy\n", column);
    else if (!pictures)
        lines = read_documents(self, item, progress, column);
    for (int validates = 0; validates < 2; validates++) {
        if (pictures)
            tnd_picture_lines_print(column, tnd_picture_lines_side(kind.first), kind.largest,
                                    validates, out[validates]);
        fputs(lines, out[validates]);
    }
}

/*  Writes for each column of an archive what makes values of its files. */
static void read_samples(tnd_record_columns_t *self, const tnd_detected_format_t *item,
                         tnd_reading_progress_t *progress)
{
    char *texts[2] = {NULL, NULL};
    size_t sizes[2];
    FILE *out[2] = {tnd_memory_stream(&texts[0], &sizes[0]),
                    tnd_memory_stream(&texts[1], &sizes[1])};
    for (uint32_t c = 0; c < item->schema->count; c++)
        print_sample(self, item, progress, item->schema->columns[c].name, out);
    for (int validates = 0; validates < 2; validates++) {
        fclose(out[validates]);
        self->parse[validates] = tnd_arena_text(self->arena, texts[validates], sizes[validates]);
        free(texts[validates]);
    }
    tnd_reading_progress_clear(progress);
}

/*  Finds the operations that make columns of records. */
static void read_operations(tnd_record_columns_t *self, const tnd_detected_format_t *item,
                            tnd_reading_progress_t *progress)
{
    if (strcmp(item->source, "tar") == 0)
        read_samples(self, item, progress);
    else
        read_examples(self, item, progress);
}

tnd_status_t tnd_record_columns_read(tnd_record_columns_t *self, tnd_arena_t *arena,
                                     tnd_detected_format_t *item, tnd_reading_progress_t *progress,
                                     tnd_error_t *error)
{
    *self = (tnd_record_columns_t){.arena = arena, .misfits = "", .damage = "", .parse = {"", ""}};
    TND_TRY(read_table(arena, item, progress, self, error));
    if (self->format == NULL && item->records && !item->pictures)
        read_operations(self, item, progress);
    return TND_OK;
}

void tnd_record_columns_close(tnd_record_columns_t *self)
{
    if (self->format != NULL)
        self->format->close(self->state);
    self->format = NULL;
}
