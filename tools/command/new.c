/*  tools/command/new.c - `tundish new`: writes a topology for data files. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/core/session/roster.h"
#include "runtime/text/json_string.h"
#include "runtime/text/printable.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/cli/load.h"
#include "tools/cli/output.h"
#include "tools/inspect/reading_progress.h"
#include "tools/inspect/record_columns.h"
#include "tools/launch/launch_choice.h"
#include "tools/new/data_search.h"
#include "tools/new/detect_format.h"
#include "tools/new/file_series.h"
#include "tools/new/job_manifest.h"
#include "tools/new/picture_lines.h"
#include "tools/new/reader_lines.h"
#include "tools/table/column_name.h"

typedef struct {
    const char *output, *as, *split, *launch;
    uint64_t count;
} new_options_t;

enum { BATCH_MOST = 128, BATCHES_LEAST = 10, IMAGE_LEAST = 4 };

/*  The most bytes of a batch in a new topology. */
static const uint64_t batch_bytes_max = (uint64_t)16 << 20;

static bool is_picture(const tnd_column_t *column)
{
    return column->dtype == TND_U8 && (column->rank == 2 || column->rank == 3) &&
           column->shape[0] >= IMAGE_LEAST && column->shape[1] >= IMAGE_LEAST;
}

/*  Keeps the files of one part, preferably training, if the names show several parts: a directory
 *  may contain files for tests and for training. */
static void choose_part(tnd_detected_format_list_t *found)
{
    const char *chosen = found->items[0].part;
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->items[i].part, "train") == 0)
            chosen = "train";
    for (size_t i = 0; i < found->count; i++) {
        if (*chosen != '\0' && strcmp(found->items[i].part, chosen) != 0) {
            fprintf(stderr, "tundish new: %s is not used: it is not one of the `%s` files\n",
                    found->items[i].path, chosen);
            continue;
        }
        found->items[kept++] = found->items[i];
    }
    found->count = kept;
}

/*  Whether a file looks like row_splits of a RaggedTensor. */
static bool is_splits(const tnd_detected_format_t *found)
{
    tnd_dtype_t dtype = found->column.dtype;
    return found->column.rank == 0 && (dtype == TND_I64 || dtype == TND_I32) &&
           strstr(found->path, "split") != NULL;
}

/*  Explains why files have different numbers of rows. */
static const char *guess(const tnd_detected_format_t *a, const tnd_detected_format_t *b)
{
    if (strcmp(a->part, b->part) != 0)
        return "; these look like different sets: name the files of one";
    if (is_splits(a) || is_splits(b))
        return "; if one of them holds the splits of ragged rows in the other, write `COLUMN: "
               "{values: PATH, splits: PATH}` in a topology of your own, see `tundish help npy`";
    return "";
}

/*  A reader reads one format, and all its columns have the same number of rows. */
static tnd_status_t check(const tnd_detected_format_list_t *found, tnd_error_t *error)
{
    const tnd_detected_format_t *first = &found->items[0];
    if (found->count > TND_COLUMNS_MAX)
        return tnd_fail(error, "%zu files; a stream has at most %d columns", found->count,
                        TND_COLUMNS_MAX);
    for (size_t i = 1; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        if (strcmp(item->source, first->source) != 0)
            return tnd_fail(error,
                            "%s is %s and %s is %s, but a reader reads one format; name the files "
                            "of one",
                            first->path, first->source, item->path, item->source);
        if (item->rows != first->rows)
            return tnd_fail(error,
                            "%s has %" PRIu64 " rows and %s has %" PRIu64
                            " rows: the columns of a stream need equal numbers of rows%s",
                            first->path, first->rows, item->path, item->rows, guess(first, item));
    }
    return TND_OK;
}

/*  The columns that the reader will have. */
static void collect(const tnd_detected_format_list_t *found, tnd_schema_t *schema)
{
    *schema = (tnd_schema_t){0};
    if (found->items[0].records)
        *schema = *found->items[0].schema;
    else
        for (size_t i = 0; i < found->count; i++)
            schema->columns[schema->count++] = found->items[i].column;
}

/*  A power of two: small enough for several batches per epoch, and limited in bytes. */
static uint64_t batch_size(uint64_t bytes, uint64_t rows)
{
    uint64_t size = BATCH_MOST;
    while (size > 1 && (size > rows / BATCHES_LEAST || size * bytes > batch_bytes_max))
        size /= 2;
    return size;
}

static void write_operations(const tnd_schema_t *schema, FILE *out)
{
    for (size_t i = 0; i < schema->count; i++) {
        const tnd_column_t *column = &schema->columns[i];
        if (is_picture(column))
            fprintf(out,
                    "      - {scale: {column: %s, to: f32, range: [0, 1]}}  # 0 to 255 become 0 to "
                    "1\n",
                    column->name);
        else if (column->dtype == TND_F64)
            fprintf(out, "      - {cast: {column: %s, to: f32}}  # half the bytes of f64\n",
                    column->name);
    }
}

/*  A label is one whole number per row. */
static void write_suggestions(const tnd_schema_t *schema, bool pictures, FILE *out)
{
    for (size_t i = 0; i < schema->count; i++) {
        const tnd_column_t *column = &schema->columns[i];
        if (is_picture(column))
            fprintf(out, "      # - {random_flip: {column: %s}}\n", column->name);
        if (column->dtype == TND_I64 || column->dtype == TND_U64)
            fprintf(out, "      # - {cast: {column: %s, to: i32}}  # half the bytes, if all fit\n",
                    column->name);
        if (column->dtype == TND_I32 && column->rank == 0)
            fprintf(
                out,
                "      # - {cast: {column: %s, to: i64}}  # as cross_entropy of PyTorch wants\n",
                column->name);
        if (column->ragged && !pictures)
            fprintf(out,
                    "      # - {pad_ragged: {column: %s, to: %" PRIu64
                    ", cut: true}}  # the same length for all\n",
                    column->name, column->shape[0]);
        if (column->rank == 0 && column->dtype != TND_BOOL && !tnd_dtype_is_float(column->dtype))
            fprintf(out, "      # - {one_hot: {column: %s, depth: CLASSES}}\n", column->name);
    }
}

/*  What can be done about records that stay bytes. */
static void write_advice(const char *source, FILE *out)
{
    if (strcmp(source, "text") == 0)
        fputs("      # a line is bytes; `tundish new --as csv` divides it into fields, and a\n"
              "      # function of your own makes columns of it: tundish help python_ops\n",
              out);
    if (strcmp(source, "csv") == 0)
        fputs("      # a record is bytes: no comma, tab, `;`, `|` or space divides most of them "
              "alike;\n"
              "      # `delimiter` names another byte: tundish help decode_csv\n",
              out);
}

/*  The schema for editors, of the build tree or of the installation; NULL if it does not exist. */
static const char *find_schema(tnd_arena_t *arena)
{
    static const char *const places[] = {"share/tundish/examples", "examples"};
    char program[PATH_MAX], found[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0)
        return NULL;
    program[size] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (realpath(tnd_arena_format(arena, "%s/../%s/topology.schema.json", program, places[i]),
                     found) != NULL)
            return tnd_arena_text(arena, found, strlen(found));
    return NULL;
}

static void print_lines(const char *prefix, const char *lines, FILE *out)
{
    for (size_t size; *lines != '\0'; lines += size + 1) {
        size = strcspn(lines, "\n");
        fprintf(out, "%s%.*s\n", prefix, (int)size, lines);
    }
}

/*  A topology that is written. */
typedef struct {
    tnd_arena_t *arena;
    const tnd_detected_format_list_t *found;
    const tnd_record_columns_t *columns;
    tnd_schema_t schema; /* of what the reader reads */
    const char *directory;
    uint64_t shares[2]; /* of the rows, to train and to validate; 0: there is one chain */
} topology_t;

static bool has_unreadable(const tnd_left_out_list_t *left_out)
{
    for (size_t i = 0; i < left_out->count; i++)
        if (left_out->items[i].fed && left_out->items[i].unreadable)
            return true;
    return false;
}

/*  The numbers of labels, and what the source says of its data. */
static void write_labels(const tnd_detected_format_t *item, FILE *out)
{
    if (*item->labels != '\0')
        fprintf(out, "  # %s\n", item->labels);
    for (size_t i = 0; i < item->note_count; i++) {
        fputs("  # ", out);
        tnd_printable_print(item->notes[i], out);
        putc('\n', out);
    }
}

static void write_reader(const topology_t *self, bool validates, FILE *out)
{
    const tnd_detected_format_t *first = &self->found->items[0];
    char text[1024];
    if (validates)
        fputs("\n  # the other rows, fed once after training\n", out);
    else
        fprintf(out, "  # %" PRIu64 " rows of %s\n", first->rows,
                tnd_schema_text(&self->schema, text, sizeof text));
    if (!validates)
        write_labels(first, out);
    fprintf(out, "  %sread:\n    kind: reader\n    source:\n", validates ? "val_" : "");
    tnd_reader_lines_print(self->arena, self->found, self->directory, 6, out);
    if (self->shares[0] > 0)
        fprintf(out, "    part: {of: [%" PRIu64 ", %" PRIu64 "], index: %d}  # no row is in both\n",
                self->shares[0], self->shares[1], validates);
    if (!validates)
        fputs(first->in_order
                  ? "    # compressed files are read in order; to shuffle their records, "
                    "decompress them, or add\n"
                    "    # `spool: {dir: /tmp/spool, limit: 10GiB}` beside `files`, and "
                    "here `shuffle: global`\n"
                  : "    shuffle: global  # a new order each epoch; none: as stored\n",
              out);
    if (self->columns->damaged > 0)
        fprintf(out, "    on_error: skip   # leaves out damaged records, %" PRIu64 " here\n",
                self->columns->damaged);
    if (has_unreadable(&self->found->left_out))
        fputs("    on_error: skip   # leaves out files that cannot be opened, and counts them\n",
              out);
    if (!validates)
        fputs("    epochs: 1        # passes over the data, or forever\n", out);
}

/*  The operations that are done to rows, and for training those that may be wanted.  Returns false if
 *  none is done. */
static bool write_list(const topology_t *self, bool validates, FILE *out)
{
    const tnd_detected_format_t *first = &self->found->items[0];
    const char *column = self->schema.columns[0].name;
    if (first->pictures)
        tnd_picture_lines_print(column, tnd_picture_lines_side(first->size), self->found->largest,
                                validates, out);
    write_operations(&self->schema, out);
    if (self->columns->format != NULL)
        self->columns->format->print(self->columns->state, column, out);
    fputs(self->columns->parse[validates], out);
    bool some = ftell(out) > 0;
    if (self->columns->format == NULL && *self->columns->parse[0] == '\0' && !validates)
        write_suggestions(&self->schema, first->pictures, out);
    if (self->columns->format == NULL && !validates)
        write_advice(first->source, out);
    return some;
}

static void write_preprocessor(const topology_t *self, bool validates, FILE *out)
{
    const tnd_left_out_list_t *left_out = &self->found->left_out;
    char *operations = NULL;
    size_t size = 0;
    FILE *list = tnd_memory_stream(&operations, &size);
    bool some = write_list(self, validates, list);
    fclose(list);
    fprintf(out, "\n  # done to each row, in this order; %s\n  %sprep:\n    kind: preprocessor\n",
            validates ? "as in prep, without what is random" : "`tundish help ops` lists them",
            validates ? "val_" : "");
    if (tnd_left_out_fed(left_out) > 0)
        fprintf(out,
                "    on_error: skip  # leaves out %zu that cannot be decoded, and counts them\n",
                tnd_left_out_fed(left_out));
    if (self->columns->skips)
        fprintf(out,
                "    on_error: skip  # leaves out records that do not fit, and counts them%s\n",
                *self->columns->misfits != '\0' ? ":" : "");
    print_lines("    # ", self->columns->misfits, out);
    if (self->found->items[0].pictures && !validates)
        fputs("    # of pictures only the headers were read: a run finds pixels that are damaged\n",
              out);
    /* `[]` would have to be deleted before the suggestion could be used. */
    fprintf(out, "    ops:%s\n%s",
            some       ? ""
            : size > 0 ? "  # none yet: remove the # of what you want"
                       : " []",
            operations);
    free(operations);
}

/*  What follows the preprocessors. */
static void write_batches(const topology_t *self, FILE *out)
{
    const tnd_detected_format_t *first = &self->found->items[0];
    uint64_t side = first->pictures ? tnd_picture_lines_side(first->size) : 0;
    uint64_t row_bytes = first->pictures ? side * side * 3 : tnd_schema_row_bytes(&self->schema);
    uint64_t size = batch_size(row_bytes, first->rows);
    fprintf(out,
            "\n  batch:\n    kind: batcher\n    size: %-4" PRIu64 "       # rows of a batch\n"
            "    replicas: 1      # models that share each batch\n"
            "    remainder: keep  # a last batch with fewer rows; drop, or pad with weight 0\n"
            "\n  feed:\n    kind: feeder\n"
            "    # step: {plugin: NAME}  # what computes on a batch; without it rows are fed and "
            "discarded\n",
            size);
    if (self->shares[0] == 0) {
        fputs("\nlinks:\n  - read -> prep -> batch -> feed\n", out);
        return;
    }
    write_reader(self, true, out);
    write_preprocessor(self, true, out);
    fprintf(out,
            "\n  val_batch:\n    kind: batcher\n    size: %" PRIu64 "\n    replicas: 1\n"
            "\n  val:\n    kind: feeder\n    after: feed  # with the models that it trained\n"
            "\nlinks:\n  - read -> prep -> batch -> feed\n"
            "  - val_read -> val_prep -> val_batch -> val\n",
            size);
}

/*  Runs without a name are all called `tundish`.  This one has that of its only file, without the
 *  extension, or of the folder that has all files. */
static void write_name(const topology_t *self, FILE *out)
{
    const tnd_detected_format_t *first = &self->found->items[0];
    bool alone = self->found->count == 1 && first->pattern_count == 0 && first->path_count <= 1;
    char name[TND_NEW_NAME_MAX];
    const char *text = alone ? first->path : self->directory;
    size_t end = alone ? strlen(text) : strlen(text) - 1, begin = end;
    while (begin > 0 && text[begin - 1] != '/')
        begin--;
    const char *dot = alone ? strchr(text + begin + 1, '.') : NULL;
    end = dot != NULL ? (size_t)(dot - text) : end;
    if (tnd_column_name_make(name, tnd_arena_text(self->arena, text + begin, end - begin)))
        fprintf(out, "name: \"%s\"  # of the run, as `tundish ps` shows it\n", name);
}

static void write_topology(topology_t *self, FILE *out)
{
    collect(self->found, &self->schema);
    self->directory = tnd_reader_directory(self->arena, self->found);
    const char *directory = self->directory, *editor = find_schema(self->arena);
    if (editor != NULL)
        fprintf(out, "# yaml-language-server: $schema=%s\n", editor);
    fputs("# Made by `tundish new`; every line may be changed.  With the name of this file,\n"
          "#   tundish head       shows what it feeds\n"
          "#   tundish run        feeds it: how fast is it?\n"
          "#   tundish validate   checks it after a change; tundish help lists the options\n"
          "tundish: 1\n",
          out);
    write_name(self, out);
    fputs("seed: 7  # another seed, another order\ndata: ", out);
    tnd_json_string_print(
        strlen(directory) > 1 ? tnd_arena_text(self->arena, directory, strlen(directory) - 1) : "/",
        out);
    fputs("  # the value of ${data}; --data DIR overrides it\n\nactors:\n", out);
    write_reader(self, false, out);
    write_preprocessor(self, false, out);
    write_batches(self, out);
}

/*  Reads two shares, such as 80/20. */
static bool read_shares(const char *text, uint64_t shares[2])
{
    char first[24];
    size_t size = strcspn(text, "/");
    if (text[size] != '/' || size >= sizeof first)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)size, text);
    return tnd_quantity_u64(first, &shares[0]) == TND_QUANTITY_OK && shares[0] > 0 &&
           tnd_quantity_u64(text + size + 1, &shares[1]) == TND_QUANTITY_OK && shares[1] > 0;
}

static int write_file(const char *path, topology_t *topology)
{
    tnd_output_t output;
    tnd_error_t error;
    struct stat is;
    if (lstat(path, &is) == 0 && S_ISREG(is.st_mode)) {
        tnd_complain("new", "%s exists already and was not changed; choose another name", path);
        return TND_EXIT_FAILED;
    }
    tnd_status_t status = tnd_output_open(&output, path, &error);
    if (status == TND_OK) {
        write_topology(topology, output.out);
        status = tnd_output_close(&output, &error);
    }
    if (status != TND_OK) {
        tnd_complain("new", "%s", error.text);
        return TND_EXIT_FAILED;
    }
    fprintf(stderr, "tundish new: wrote %s; next: tundish head %s\n", path, path);
    return TND_EXIT_OK;
}

/*  A manifest of Kubernetes for topology files. */
static int write_manifest(const tnd_request_t *request)
{
    const new_options_t *options = request->options;
    tnd_job_manifest_t manifest = {.pods = (uint32_t)options->count};
    tnd_sent_run_t files;
    tnd_error_t error;
    if (strcmp(options->launch, "k8s") != 0 && strcmp(options->launch, "kubernetes") != 0)
        return tnd_usage_error("new",
                               "--launch %s: write k8s; for others examples/launch has "
                               "scripts to copy",
                               options->launch);
    if (options->output != NULL || options->as != NULL || options->split != NULL)
        return tnd_usage_error("new", "--launch prints to stdout, and takes no other options");
    if (options->count == 0 || options->count > TND_ROSTER_MAX)
        return tnd_usage_error("new", "--launch k8s needs -n N, the number of pods, from 1 to %d",
                               TND_ROSTER_MAX);
    tnd_graph_t *graph =
        tnd_load_form(&(tnd_load_options_t){0}, request->files, request->file_count);
    int code = tnd_launch_fits(graph, "new", manifest.pods);
    if (code == TND_EXIT_OK) {
        tnd_job_manifest_name(&manifest, tnd_graph_plan(graph)->name);
        manifest.resumes = tnd_graph_plan(graph)->checkpoint != NULL;
    }
    tnd_graph_destroy(&graph);
    if (code != TND_EXIT_OK)
        return code;
    if (tnd_sent_run_load(&files, request->files, request->file_count, &error) != TND_OK)
        return tnd_usage_error("new", "%s", error.text);
    tnd_status_t status = tnd_job_manifest_check(&files, &error);
    if (status == TND_OK)
        tnd_job_manifest_print(&manifest, &files, stdout);
    tnd_sent_run_free(&files);
    if (status != TND_OK)
        tnd_complain("new", "%s", error.text);
    return status == TND_OK ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

static int new (const tnd_request_t *request)
{
    const new_options_t *options = request->options;
    if (options->launch != NULL)
        return write_manifest(request);
    tnd_arena_t *arena = tnd_arena_new();
    tnd_detected_format_list_t found;
    tnd_record_columns_t columns = {.misfits = "", .damage = "", .parse = {"", ""}};
    tnd_error_t error;
    int code = TND_EXIT_OK;
    tnd_reading_progress_t progress;
    topology_t topology = {.arena = arena, .found = &found, .columns = &columns};
    if (options->split != NULL && !read_shares(options->split, topology.shares)) {
        tnd_arena_destroy(&arena);
        tnd_complain("new", "--split %s: say two shares, such as 80/20", options->split);
        return TND_EXIT_USAGE;
    }
    tnd_reading_progress_init(&progress);
    tnd_status_t status =
        tnd_data_search(&found, arena, request->files, request->file_count, options->as, &error);
    if (status == TND_OK) {
        struct stat is;
        if (request->file_count == 1 && stat(request->files[0], &is) == 0 && S_ISDIR(is.st_mode))
            choose_part(&found);
        tnd_source_scope_t scope = {.lanes = 1, .skips_bad = has_unreadable(&found.left_out)};
        tnd_reading_progress_attach(&progress, &scope);
        tnd_file_series_join_records(&found, arena);
        status = tnd_detected_format_open(&found, arena, &scope, &error);
    }
    if (status == TND_OK) {
        tnd_file_series_join(&found, arena);
        tnd_detected_format_name(found.items, found.count);
        status = check(&found, &error);
    }
    if (status == TND_OK && topology.shares[0] > 0 && found.items[0].in_order)
        status = tnd_fail(&error,
                          "%s is compressed and read in order, and cannot be split; decompress it",
                          found.items[0].path);
    if (status == TND_OK && (options->as == NULL || strcmp(options->as, "csv") == 0))
        status = tnd_record_columns_read(&columns, arena, &found.items[0], &progress, &error);
    tnd_reading_progress_clear(&progress);
    if (status != TND_OK)
        tnd_complain("new", "%s", error.text);
    print_lines("tundish new: ", columns.damage, stderr);
    print_lines("tundish new: ", columns.misfits, stderr);
    tnd_left_out_print(&found.left_out, "tundish new: ", stderr);
    if (status != TND_OK) {
        code = TND_EXIT_TOPOLOGY;
    } else if (options->output != NULL) {
        code = write_file(options->output, &topology);
    } else {
        write_topology(&topology, stdout);
    }
    tnd_record_columns_close(&columns);
    tnd_reading_progress_end(&progress);
    tnd_arena_destroy(&arena);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--output", new_options_t, output)},
    {TND_COMMON("--as", new_options_t, as)},
    {TND_ARGUMENT("--split", TEXT, new_options_t, split, "A/B",
                  "two chains: A of A + B rows train, the others validate, such as 80/20")},
    {TND_COMMON("--launch", new_options_t, launch)},
    {TND_COMMON("--count", new_options_t, count)},
};

const tnd_command_t tnd_command_new = {
    .name = "new",
    .operands = "DATA...",
    .missing = "no data is given",
    .summary = "writes a topology for data files, which runs unchanged",
    TND_ARGUMENTS(arguments, new_options_t),
    .details =
        "DATA are data files, directories of them, or patterns such as 'data/x*.npy'.  Each .npy\n"
        "file and IDX file (IDX also compressed by gzip) becomes a column, named after the file; "
        "all\n"
        "must have the same number of rows.  Files that differ only in a number, such as\n"
        "x-00.npy and x-01.npy, are concatenated to one column.  TFRecord, tar, .csv and text\n"
        "files are lists of records: the rows of all files, one after the other, are bytes;\n"
        "their indexes are built now (tundish help index).  Of CSV, JSON Lines and lines of "
        "numbers\n"
        "separated by spaces, commas, tabs, ; or | all records are read for names, types, classes\n"
        "and what is missing: columns are made of them, and the line of what does not fit is "
        "named\n"
        "(--as text: lines stay as they are, --as csv: they are divided); tf.Example messages\n"
        "become their features, with pictures decoded; files of an archive become pictures,\n"
        "numbers and values, as the first ones are.  Numbers of CSV that follow one another are\n"
        "one vector.  JPEG and PNG files, in a directory or in its\n"
        "subdirectories, are rows of pictures, with their folders as labels, or a field of\n"
        "a table beside them that names the files.  If a directory has\n"
        "files or folders for training and for tests, those for training are used.  What is in a\n"
        "directory and not used is named on standard error.  Records without a format are read\n"
        "by the source raw: tundish help raw.  The topology has a comment on each line and can\n"
        "be run, inspected and changed; tundish inspect DATA shows what is in the files.\n"
        "--split 80/20 writes two chains: 80 of 100 rows train, and the others are fed after that\n"
        "to the same models.\n"
        "\n"
        "--launch k8s -n 4 FILES prints a manifest for Kubernetes instead, for topology files and "
        "4\n"
        "pods: a ConfigMap with the files, a headless Service and an Indexed Job.  They need an\n"
        "image of examples/launch/Containerfile and a claim of the name data (tundish help "
        "launch).\n",
    .codes = "  0   written\n"
             "  1   the file exists already, or cannot be written\n"
             "  2   usage\n"
             "  78  the data do not exist, have an unknown format, or do not fit together\n",
    .operands_min = 1,
    .run = new,
};
