/*  tools/command/inspect.c - `tundish inspect`: what is in data files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/text/csv_record.h"
#include "runtime/base/allocation.h"
#include "runtime/text/json_string.h"
#include "runtime/text/printable.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/number_text.h"
#include "tools/inspect/data_scan.h"
#include "tools/inspect/example_features.h"
#include "tools/inspect/reading_progress.h"
#include "tools/new/data_search.h"
#include "tools/new/file_series.h"
#include "tools/new/reader_lines.h"
#include "tools/table/record_table.h"
#include "tools/table/stray_quote.h"

typedef struct {
    const char *as;
    bool json;
} inspect_options_t;

enum { DAMAGE_SHOWN = 10, TABLES_MAX = 2 };

/*  What is known of one source. */
typedef struct {
    const inspect_options_t *options;
    tnd_arena_t *arena;
    const tnd_detected_format_t *item;
    const char *const *paths;
    size_t path_count;
    uint64_t bytes;
    tnd_data_source_t data;
    tnd_data_scan_t scan;
    tnd_misfit_t quotes; /* of CSV: fields that span very many lines */
    uint8_t delimiter;
    void *tables[TABLES_MAX]; /* of the formats that the records may have */
    uint64_t first;           /* records that they were given */
    const char *fields;       /* what divides a record into columns; NULL: nothing that is known */
    tnd_reading_progress_t *progress;
} report_t;

/*  ---------------------------------------------------------------------------------------- text */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *number(uint64_t value, char text[TND_NUMBER_TEXT])
{
    return tnd_grouped((double)value, text);
}

/*  "1 value", "0 to 12 values". */
static void print_range(uint64_t from, uint64_t to, const char *unit)
{
    char a[TND_NUMBER_TEXT], b[TND_NUMBER_TEXT];
    if (from == to)
        printf("%s %s%s", number(from, a), unit, plural(from));
    else
        printf("%s to %s %ss", number(from, a), number(to, b), unit);
}

static void print_key(const tnd_example_key_t *key, uint64_t examples)
{
    printf("                 %-24s %s%s  ", key->name,
           key->mixed ? "several types" : tnd_example_type_name(key->type),
           key->list ? " (a list)" : "");
    print_range(key->values_min, key->values_max, key->list ? "feature" : "value");
    if (key->type == TND_EXAMPLE_BYTES && key->values_max > 0) {
        fputs(" of ", stdout);
        print_range(key->bytes_min, key->bytes_max, "byte");
    }
    if (key->records < examples)
        printf(", in %" PRIu64 " of them", key->records);
    putchar('\n');
}

/*  The name of the column that has the messages. */
static const char *column_of(const report_t *self)
{
    return self->data.facts.schema.columns[0].name;
}

static const char *message_of(const tnd_example_keys_t *keys)
{
    return keys->sequence ? "tf.SequenceExample" : "tf.Example";
}

static void print_contents(const report_t *self)
{
    const tnd_data_scan_t *scan = &self->scan;
    if (scan->keys.count > 0) {
        printf("  keys         of %" PRIu64 " %s message%s", scan->keys.examples,
               message_of(&scan->keys), plural(scan->keys.examples));
        if (scan->keys.examples < scan->keys.records)
            printf(" among the first %" PRIu64 " record%s", scan->keys.records,
                   plural(scan->keys.records));
        fputs(":\n", stdout);
        for (uint32_t i = 0; i < scan->keys.count; i++)
            print_key(&scan->keys.keys[i], scan->keys.examples);
        if (scan->keys.more)
            printf("                 and more than %d in all\n", TND_EXAMPLE_KEYS_MAX);
        char *operation = tnd_example_features(&scan->keys, column_of(self));
        if (operation != NULL)
            printf("  operation    %s\n", operation);
        char *left_out = operation != NULL ? tnd_example_features_left_out(&scan->keys) : NULL;
        if (left_out != NULL)
            printf("  without      %s\n", left_out);
        free(left_out);
        free(operation);
        return;
    }
    if (self->fields != NULL)
        printf("  fields       %s: `tundish new` makes columns of them\n", self->fields);
    for (uint32_t i = 0; i < scan->line_count; i++)
        printf("%-14s %s\n", i == 0 ? "  begins" : "", scan->lines[i]);
}

/*  A text with names of files in it, and the end of its line. */
static void print_line(const char *text, const char *rest)
{
    tnd_printable_print(text, stdout);
    puts(rest);
}

static void print_notes(const report_t *self)
{
    for (size_t i = 0; i < self->data.facts.note_count; i++) {
        printf("%-14s ", i == 0 ? "  notes" : "");
        print_line(self->data.facts.notes[i], "");
    }
    if (self->quotes.count > 0)
        fputs("  quotes       ", stdout);
    tnd_misfit_print(&self->quotes, stdout);
}

static void print_damage(const report_t *self)
{
    char text[TND_NUMBER_TEXT];
    const tnd_data_scan_t *scan = &self->scan;
    if (scan->damaged == 0)
        printf("  damage       none\n");
    else
        printf("  damage       %s record%s\n", number(scan->damaged, text), plural(scan->damaged));
    for (uint64_t i = 0; i < scan->damaged && i < DAMAGE_SHOWN; i++) {
        const tnd_source_place_t *place = &scan->damage[i].place;
        printf("                 record %" PRIu64 " of ", place->record);
        tnd_printable_print(place->file != NULL ? place->file : self->paths[0], stdout);
        printf(", at byte %" PRIu64 ": ", place->offset);
        print_line(scan->damage[i].why, "");
    }
    if (scan->damaged > DAMAGE_SHOWN)
        printf("                 and %s more%s\n", number(scan->damaged - DAMAGE_SHOWN, text),
               scan->damaged <= TND_SCAN_DAMAGE_MAX ? ", which --json lists" : "");
}

/*  The largest picture, if decode_image refuses it without an option. */
static void print_pixels(const report_t *self)
{
    char text[TND_NUMBER_TEXT];
    tnd_source_place_t place = {0};
    if (self->scan.pixels_max <= TND_PICTURE_PIXELS_DEFAULT)
        return;
    self->data.source->where(self->data.state, self->scan.pixels_row, &place);
    printf("  pixels       at most %s, of %s: decode_image needs `max_pixels: %" PRIu64 "`\n",
           number(self->scan.pixels_max, text), place.file, self->scan.pixels_max);
}

/*  Files that have no rows, if there are others. */
static void print_empty(const report_t *self)
{
    for (size_t i = 0; i < self->path_count; i++)
        if (tnd_detected_empty(&self->data.facts, self->path_count, i)) {
            fputs("  note         ", stdout);
            print_line(self->paths[i], ": has no rows");
        }
}

static void print_text(report_t *self)
{
    char bytes[TND_QUANTITY_SIZE], rows[TND_NUMBER_TEXT], schema[1024], texts[4][TND_NUMBER_TEXT];
    const tnd_data_scan_t *scan = &self->scan;
    tnd_printable_print(self->paths[0], stdout);
    if (self->path_count > 1)
        printf(" and %zu more file%s", self->path_count - 1, plural(self->path_count - 1));
    putchar('\n');
    printf("  format       %s, %s%s, %s\n", self->item->source,
           self->item->compression != NULL ? "compressed by " : "not compressed",
           self->item->compression != NULL ? self->item->compression : "",
           tnd_quantity_size(self->bytes > 0 ? self->bytes : self->data.facts.read, bytes));
    printf("  records      %s\n", number(scan->records, rows));
    printf("  columns      %s\n", tnd_schema_text(&self->data.facts.schema, schema, sizeof schema));
    if (scan->sizes.count > 0)
        printf("  bytes        min %s, mean %s, p99 %s, max %s\n",
               number(scan->sizes.min, texts[0]),
               tnd_grouped((double)scan->sizes.sum / (double)scan->sizes.count, texts[1]),
               number(tnd_size_counts_quantile(&scan->sizes, 99), texts[2]),
               number(scan->sizes.max, texts[3]));
    if (self->data.facts.class_count > 0)
        printf("  labels       %s\n",
               tnd_source_classes(&self->data.facts, schema, sizeof schema) + strlen("labels: "));
    print_pixels(self);
    if (self->item->pictures)
        printf("  decoded      only headers: a run finds pixels that are damaged\n");
    print_empty(self);
    print_contents(self);
    print_damage(self);
    print_notes(self);
}

/*  ---------------------------------------------------------------------------------------- JSON */

static void print_json_files(const report_t *self)
{
    fputs(",\"files\":[", stdout);
    for (size_t i = 0; i < self->path_count; i++) {
        struct stat is;
        tnd_json_begin(stdout, i > 0, "path", self->paths[i]);
        printf(",\"bytes\":%" PRIu64,
               stat(self->paths[i], &is) == 0 ? (uint64_t)is.st_size : UINT64_C(0));
        if (self->data.facts.file_rows_count == self->path_count)
            printf(",\"records\":%" PRIu64, self->data.facts.file_rows[i]);
        putchar('}');
    }
    putchar(']');
}

static void print_json_columns(const tnd_schema_t *schema)
{
    fputs(",\"columns\":[", stdout);
    for (uint32_t c = 0; c < schema->count; c++) {
        const tnd_column_t *column = &schema->columns[c];
        tnd_json_begin(stdout, c > 0, "name", column->name);
        tnd_json_member(stdout, "dtype", tnd_dtype_name(column->dtype));
        fputs(",\"shape\":[", stdout);
        for (uint32_t i = 0; i < column->rank; i++)
            printf("%s%" PRIu64, i > 0 ? "," : "", column->shape[i]);
        printf("],\"ragged\":%s}", column->ragged ? "true" : "false");
    }
    putchar(']');
}

static void print_json_keys(const tnd_example_keys_t *keys)
{
    tnd_json_member(stdout, "message", keys->examples > 0 ? message_of(keys) : NULL);
    printf(",\"examples\":%" PRIu64 ",\"keys\":[", keys->examples);
    for (uint32_t i = 0; i < keys->count; i++) {
        const tnd_example_key_t *key = &keys->keys[i];
        tnd_json_begin(stdout, i > 0, "name", key->name);
        tnd_json_member(stdout, "type", key->mixed ? "mixed" : tnd_example_type_name(key->type));
        printf(",\"list\":%s,\"records\":%" PRIu64 ",\"values\":[%" PRIu64 ",%" PRIu64 "]",
               key->list ? "true" : "false", key->records, key->values_min, key->values_max);
        if (key->type == TND_EXAMPLE_BYTES)
            printf(",\"bytes\":[%" PRIu64 ",%" PRIu64 "]", key->bytes_min, key->bytes_max);
        putchar('}');
    }
    putchar(']');
}

/*  Files that have no rows, and what the source says of its data. */
static void print_json_notes(const report_t *self)
{
    const tnd_source_facts_t *facts = &self->data.facts;
    bool any = false;
    fputs(",\"notes\":[", stdout);
    for (size_t i = 0; i < self->path_count; i++) {
        char *text = tnd_format_string("%s: has no rows", self->paths[i]);
        if (tnd_detected_empty(facts, self->path_count, i)) {
            fputs(any ? "," : "", stdout);
            tnd_json_string_print(text, stdout);
            any = true;
        }
        free(text);
    }
    for (size_t i = 0; i < facts->note_count; i++, any = true) {
        fputs(any ? "," : "", stdout);
        tnd_json_string_print(facts->notes[i], stdout);
    }
    if (self->quotes.count > 0) {
        char *text = tnd_format_string("%s: %s", self->quotes.place, self->quotes.why);
        fputs(any ? "," : "", stdout);
        tnd_json_string_print(text, stdout);
        free(text);
    }
    putchar(']');
}

static void print_json_texts(const char *name, const char *const *texts, size_t count)
{
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", stdout);
        tnd_json_string_print(texts[i], stdout);
    }
    putchar(']');
}

static void print_json(const report_t *self, const char *lines, bool more)
{
    const tnd_data_scan_t *scan = &self->scan;
    tnd_json_begin(stdout, more, "format", self->item->source);
    tnd_json_member(stdout, "compression", self->item->compression);
    print_json_files(self);
    print_json_columns(&self->data.facts.schema);
    printf(",\"records\":%" PRIu64 ",\"bytes\":", scan->records);
    if (scan->sizes.count > 0)
        printf("{\"min\":%" PRIu64 ",\"mean\":%.17g,\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}",
               scan->sizes.min, (double)scan->sizes.sum / (double)scan->sizes.count,
               tnd_size_counts_quantile(&scan->sizes, 99), scan->sizes.max);
    else
        fputs("null", stdout);
    print_json_keys(&scan->keys);
    char *operation = tnd_example_features(&scan->keys, column_of(self));
    tnd_json_member(stdout, "operation", operation);
    tnd_json_member(stdout, "fields", self->fields);
    free(operation);
    print_json_texts("labels", self->data.facts.classes, self->data.facts.class_count);
    print_json_notes(self);
    printf(",\"damaged\":%" PRIu64 ",\"damage\":[", scan->damaged);
    for (uint64_t i = 0; i < scan->damaged && i < TND_SCAN_DAMAGE_MAX; i++) {
        const tnd_source_place_t *place = &scan->damage[i].place;
        tnd_json_begin(stdout, i > 0, "file", place->file);
        printf(",\"record\":%" PRIu64 ",\"byte\":%" PRIu64, place->record, place->offset);
        tnd_json_member(stdout, "why", scan->damage[i].why);
        putchar('}');
    }
    putchar(']');
    tnd_json_member(stdout, "topology", lines);
    putchar('}');
}

/*  ------------------------------------------------------------------------------------- command */

/*  The lines of a reader of some items; the caller frees them. */
static char *reader_lines(tnd_arena_t *arena, tnd_detected_format_t *items, size_t count,
                          bool damaged)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    const tnd_detected_format_list_t list = {.items = items, .count = count};
    fputs("  read:\n    kind: reader\n    source:\n", out);
    tnd_reader_lines_print(arena, &list, NULL, 6, out);
    if (damaged)
        fputs("    on_error: skip  # leaves out the damaged records\n", out);
    fclose(out);
    return text;
}

static void take_record(void *context, const tnd_record_place_t *place, const uint8_t *record,
                        size_t size)
{
    report_t *self = context;
    const tnd_record_table_t *format;
    if (self->delimiter != 0)
        (void)tnd_stray_quote_look(&self->quotes, place, record, size, self->delimiter);
    for (size_t i = 0; (format = tnd_record_table_at(self->item->source, i)) != NULL; i++)
        if (self->first < TND_TABLE_FIRST)
            format->take(self->tables[i], place, record, size);
    self->first++;
}

/*  Finds out what the first records are. */
static void look_at_first(report_t *self)
{
    const tnd_record_table_t *format;
    for (size_t i = 0; (format = tnd_record_table_at(self->item->source, i)) != NULL; i++) {
        if (self->fields == NULL && format->look(self->tables[i]))
            self->fields = format->describe(self->tables[i], self->arena);
        format->close(self->tables[i]);
    }
}

/*  The delimiter of CSV whose fields may be in quotes; 0: it is another source. */
static uint8_t quoting_delimiter(const report_t *self)
{
    if (strcmp(self->data.source->spec->table.name, "csv") != 0)
        return 0;
    const char *const *delimiter = tnd_data_source_option(&self->data, "delimiter");
    const bool *quotes = tnd_data_source_option(&self->data, "quotes");
    return *quotes ? tnd_csv_delimiter(*delimiter) : 0;
}

static tnd_status_t scan_rows(report_t *self, tnd_error_t *error)
{
    static const tnd_picture_format_t format = {
        .channels = 3, .ratio = 1, .pixels_max = UINT64_MAX};
    const tnd_record_table_t *table;
    if (self->item->pictures)
        self->scan.pictures = tnd_decoder_new(&format);
    self->delimiter = quoting_delimiter(self);
    for (size_t i = 0; (table = tnd_record_table_at(self->item->source, i)) != NULL; i++) {
        self->tables[i] = table->open();
        self->scan.take = take_record;
        self->scan.taker = self;
    }
    tnd_status_t status = tnd_data_scan_run(&self->scan, &self->data, TND_UNKNOWN,
                                            tnd_reading_progress_records, self->progress, error);
    tnd_decoder_free(&self->scan.pictures);
    look_at_first(self);
    return status;
}

static tnd_status_t scan(report_t *self, tnd_error_t *error)
{
    tnd_source_scope_t scope = {
        .lanes = 1, .skips_bad = true, .context = {.lanes = 1, .replicas = 1, .data = ""}};
    tnd_reading_progress_attach(self->progress, &scope);
    size_t count;
    const char *const *files = tnd_detected_files(self->item, self->arena, &count);
    TND_TRY(tnd_data_source_choose(&self->data, self->arena, self->item->written, files, count,
                                   NULL, error));
    TND_TRY(tnd_data_source_open(&self->data, &scope, error));
    if (!self->item->records) /* its only column, named as in the lines of the topology */
        strcpy(self->data.facts.schema.columns[0].name, self->item->column.name);
    if (tnd_data_scan_needed(&self->data) || self->data.facts.count == TND_UNKNOWN)
        return scan_rows(self, error);
    self->scan.records = self->data.facts.count;
    tnd_size_counts_add(&self->scan.sizes, tnd_schema_row_bytes(&self->data.facts.schema));
    return TND_OK;
}

/*  `*shown_p`: whether an item was printed before. */
static int inspect_item(const tnd_request_t *request, tnd_arena_t *arena,
                        const tnd_detected_format_list_t *found, size_t i,
                        tnd_reading_progress_t *progress, bool *shown_p)
{
    const inspect_options_t *options = request->options;
    tnd_detected_format_t *item = &found->items[i];
    report_t self = {.options = options,
                     .arena = arena,
                     .item = item,
                     .paths = item->path_count > 0 ? item->paths : &item->path,
                     .path_count = item->path_count > 0 ? item->path_count : 1,
                     .progress = progress};
    tnd_error_t error;
    for (size_t p = 0; p < self.path_count; p++) {
        struct stat is;
        self.bytes += stat(self.paths[p], &is) == 0 ? (uint64_t)is.st_size : 0;
    }
    tnd_status_t status = scan(&self, &error);
    tnd_reading_progress_clear(progress);
    int code = status == TND_OK && self.scan.damaged == 0 ? TND_EXIT_OK : TND_EXIT_FAILED;
    if (status == TND_OK) {
        char *lines = reader_lines(arena, item, 1, self.scan.damaged > 0);
        if (options->json)
            print_json(&self, lines, *shown_p);
        else {
            print_text(&self);
            printf("\n%s%s", lines, i + 1 < found->count ? "\n" : "");
        }
        *shown_p = true;
        free(lines);
    } else {
        fflush(stdout);
        tnd_complain("inspect", "%s", error.text);
    }
    tnd_misfit_free(&self.quotes);
    tnd_data_scan_free(&self.scan);
    tnd_data_source_close(&self.data);
    return code;
}

static int inspect(const tnd_request_t *request)
{
    const inspect_options_t *options = request->options;
    tnd_arena_t *arena = tnd_arena_new();
    tnd_detected_format_list_t found;
    tnd_error_t error;
    int code = TND_EXIT_OK;
    tnd_source_scope_t scope = {.lanes = 1, .skips_bad = true};
    tnd_reading_progress_t progress;
    tnd_reading_progress_init(&progress);
    tnd_reading_progress_attach(&progress, &scope);
    tnd_status_t status =
        tnd_data_search(&found, arena, request->files, request->file_count, options->as, &error);
    if (status == TND_OK) {
        tnd_file_series_join_records(&found, arena);
        status = tnd_detected_format_open(&found, arena, &scope, &error);
    }
    tnd_reading_progress_clear(&progress);
    if (status != TND_OK) {
        tnd_complain("inspect", "%s", error.text);
        tnd_left_out_print(&found.left_out, "tundish inspect: ", stderr);
        code = TND_EXIT_TOPOLOGY;
        found.count = 0;
    }
    if (found.count > 0) {
        tnd_file_series_join(&found, arena);
        tnd_detected_format_name(found.items, found.count);
    }
    if (options->json && code == TND_EXIT_OK)
        fputs("{\"inputs\":[", stdout);
    bool shown = false;
    for (size_t i = 0; i < found.count; i++)
        if (inspect_item(request, arena, &found, i, &progress, &shown) != TND_EXIT_OK)
            code = TND_EXIT_FAILED;
    if (options->json && code != TND_EXIT_TOPOLOGY) {
        printf("],\"left_out_count\":%zu,\"left_out\":", found.left_out.count);
        tnd_left_out_print_json(&found.left_out, stdout);
        fputs("}\n", stdout);
    } else if (code != TND_EXIT_TOPOLOGY && found.left_out.count > 0) {
        putchar('\n');
        tnd_left_out_print(&found.left_out, "", stdout);
    }
    tnd_reading_progress_end(&progress);
    tnd_arena_destroy(&arena);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--as", inspect_options_t, as)},
    {TND_COMMON("--json", inspect_options_t, json)},
};

const tnd_command_t tnd_command_inspect = {
    .name = "inspect",
    .operands = "DATA...",
    .missing = "no data is given",
    .summary = "shows what is in data files: records, sizes, keys, damage",
    TND_ARGUMENTS(arguments, inspect_options_t),
    .details =
        "DATA are data files, directories of them, or patterns, as of tundish new.  For each\n"
        "source that reads some of them, prints the format, how many records there are, their\n"
        "sizes in bytes, the keys and types of all records if these are tf.Example or\n"
        "tf.SequenceExample messages and the operation that makes columns of them (else how they\n"
        "begin, if they are text), damaged records by file, record and byte, and the lines of a "
        "topology that\n"
        "read them.  Records of different sizes are all\n"
        "read, and their checksums compared; indexes that are missing are built.\n"
        "\n"
        "The format of a file is detected.  --as names the source, with its options:\n"
        "--as 'raw: {columns: {x: \"u8[4]\"}}'.\n"
        "\n"
        "--json prints one object:\n"
        "  "
        "{\"inputs\":[{\"format\",\"compression\",\"files\":[{\"path\",\"bytes\",\"records\"}],\n"
        "    \"columns\":[{\"name\",\"dtype\",\"shape\",\"ragged\"}],\"records\",\n"
        "    \"bytes\":{\"min\",\"mean\",\"p99\",\"max\"},\"message\",\"examples\",\n"
        "    "
        "\"keys\":[{\"name\",\"type\",\"list\",\"records\",\"values\",\"bytes\"}],\"operation\","
        "\"fields\",\n"
        "    "
        "\"labels\",\"notes\",\"damaged\",\"damage\":[{\"file\",\"record\",\"byte\",\"why\"}],"
        "\"topology\"}],\n"
        "   \"left_out_count\",\"left_out\":[{\"path\",\"what\",\"bad_row\"}]}\n"
        "At most 100 damaged records are listed; \"damaged\" counts all.  \"left_out\" is what is "
        "in the\n"
        "directories and not used, at most 100 names; a \"bad_row\" is read and cannot be "
        "decoded.\n",
    .codes = "  0   read, and no record is damaged\n"
             "  1   records are damaged, or a file cannot be read\n"
             "  2   usage\n"
             "  78  the data do not exist, have an unknown format or no records\n",
    .operands_min = 1,
    .run = inspect,
};
