/*  tools/command/new.c - `tundish new`: writes a topology for data files. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/text/json_string.h"
#include "tools/cli/command.h"
#include "tools/new/detect_format.h"
#include "tools/cli/output.h"
#include "tools/new/file_series.h"

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
        if (item->rows != first->rows)
            return tnd_fail(error,
                            "%s has %" PRIu64 " rows and %s has %" PRIu64
                            " rows: the columns of a stream need equal numbers of rows%s",
                            first->path, first->rows, item->path, item->rows, guess(first, item));
        if (strcmp(item->source, first->source) != 0)
            return tnd_fail(error,
                            "%s is %s and %s is %s, but a reader reads one format; np.save both",
                            first->path, first->source, item->path, item->source);
    }
    return TND_OK;
}

/*  The common directory of all files, "/" at the end. */
static const char *common_directory(tnd_arena_t *arena, const tnd_detected_format_list_t *found)
{
    const char *first = found->items[0].path;
    size_t size = (size_t)(strrchr(first, '/') + 1 - first);
    for (size_t i = 0; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        for (size_t p = 0; p < item->path_count || p == 0; p++)
            while (strncmp(first, item->path_count > 0 ? item->paths[p] : item->path, size) != 0)
                do
                    size--;
                while (first[size - 1] != '/');
    }
    return tnd_arena_text(arena, first, size);
}

/*  A power of two: small enough for several batches per epoch, and limited in bytes. */
static uint64_t batch_size(const tnd_detected_format_list_t *found)
{
    uint64_t bytes = 0, size = BATCH_MOST;
    for (size_t i = 0; i < found->count; i++)
        bytes += tnd_column_bytes(&found->items[i].column);
    while (size > 1 &&
           (size > found->items[0].rows / BATCHES_LEAST || size * bytes > batch_bytes_max))
        size /= 2;
    return size;
}

static void write_operations(const tnd_detected_format_list_t *found, FILE *out)
{
    for (size_t i = 0; i < found->count; i++) {
        const tnd_column_t *column = &found->items[i].column;
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
static void write_suggestions(const tnd_detected_format_list_t *found, FILE *out)
{
    for (size_t i = 0; i < found->count; i++) {
        const tnd_column_t *column = &found->items[i].column;
        if (is_picture(column))
            fprintf(out, "      # - {random_flip: {column: %s}}\n", column->name);
        if (column->dtype == TND_I64 || column->dtype == TND_U64)
            fprintf(out, "      # - {cast: {column: %s, to: i32}}  # half the bytes, if all fit\n",
                    column->name);
        if (column->rank == 0 && column->dtype != TND_BOOL && !tnd_dtype_is_float(column->dtype))
            fprintf(out, "      # - {one_hot: {column: %s, depth: CLASSES}}\n", column->name);
    }
}

/*  A path in the common directory, written with `${data}`. */
static void write_path(const char *path, const char *directory, FILE *out)
{
    char *text = tnd_format_string("${data}/%s", path + strlen(directory));
    tnd_json_string_print(text, out);
    free(text);
}

static void write_reader(tnd_arena_t *arena, const tnd_detected_format_list_t *found,
                         const char *directory, FILE *out)
{
    tnd_schema_t schema = {0};
    char text[1024];
    for (size_t i = 0; i < found->count; i++)
        schema.columns[schema.count++] = found->items[i].column;
    fprintf(out,
            "  # %" PRIu64 " rows of %s\n"
            "  read:\n    kind: reader\n    source:\n      %s:\n",
            found->items[0].rows, tnd_schema_text(&schema, text, sizeof text),
            found->items[0].source);
    for (size_t i = 0; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        const char *range = tnd_file_series_range(arena, item);
        fprintf(out, "        %s: %s", item->column.name,
                item->path_count > 0 && range == NULL ? "[" : "");
        if (item->path_count == 0 || range != NULL)
            write_path(range != NULL ? range : item->path, directory, out);
        for (size_t p = 0; p < item->path_count && range == NULL; p++) {
            fputs(p > 0 ? ", " : "", out);
            write_path(item->paths[p], directory, out);
        }
        fputs(item->path_count > 0 && range == NULL ? "]" : "", out);
        if (item->path_count > 0)
            fprintf(out, "  # %zu files, one after the other", item->path_count);
        fputc('\n', out);
    }
    fputs("    shuffle: global  # a new order each epoch; none: as stored\n"
          "    epochs: 1        # passes over the data, or forever\n",
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

static void write_topology(tnd_arena_t *arena, const tnd_detected_format_list_t *found, FILE *out)
{
    char *operations = NULL;
    size_t size = 0;
    FILE *list = tnd_memory_stream(&operations, &size);
    write_operations(found, list);
    if (fflush(list) != 0)
        abort();
    bool none = size == 0;
    write_suggestions(found, list);
    fclose(list);
    const char *directory = common_directory(arena, found);
    const char *schema = find_schema(arena);
    if (schema != NULL)
        fprintf(out, "# yaml-language-server: $schema=%s\n", schema);
    fputs("# Made by `tundish new`; every line may be changed.  With the name of this file,\n"
          "#   tundish head       shows what it feeds\n"
          "#   tundish run        feeds it: how fast is it?\n"
          "#   tundish validate   checks it after a change; tundish help lists the options\n"
          "tundish: 1\n"
          "seed: 7  # another seed, another order\n"
          "data: ",
          out);
    tnd_json_string_print(
        strlen(directory) > 1 ? tnd_arena_text(arena, directory, strlen(directory) - 1) : "/", out);
    fputs("  # the value of ${data}; --data DIR overrides it\n\nactors:\n", out);
    write_reader(arena, found, directory, out);
    fputs("\n  # done to each row, in this order; `tundish help ops` lists them\n", out);
    /* `[]` would have to be deleted before the suggestion could be used. */
    if (none && size > 0)
        fprintf(out,
                "  prep:\n    kind: preprocessor\n    ops:  # none yet: remove the # of what you "
                "want\n%s",
                operations);
    else
        fprintf(out, "  prep:\n    kind: preprocessor\n    ops:%s\n%s", none ? " []" : "",
                operations);
    fprintf(out,
            "\n  batch:\n    kind: batcher\n    size: %-4" PRIu64 "       # rows of a batch\n"
            "    replicas: 1      # models that share each batch\n"
            "    remainder: keep  # a last batch with fewer rows; drop, or pad with weight 0\n"
            "\n  feed:\n    kind: feeder\n"
            "    # step: {plugin: NAME}  # what computes on a batch; without it rows are fed and "
            "discarded\n"
            "\nlinks:\n  - read -> prep -> batch -> feed\n",
            batch_size(found));
    free(operations);
}

static int write_file(const char *path, tnd_arena_t *arena, const tnd_detected_format_list_t *found)
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
        write_topology(arena, found, output.out);
        status = tnd_output_close(&output, &error);
    }
    if (status != TND_OK) {
        tnd_complain("new", "%s", error.text);
        return TND_EXIT_FAILED;
    }
    fprintf(stderr, "tundish new: wrote %s; next: tundish head %s\n", path, path);
    return TND_EXIT_OK;
}

static int new (const tnd_request_t *request)
{
    tnd_arena_t *arena = tnd_arena_new();
    tnd_detected_format_list_t found;
    tnd_error_t error;
    int code = TND_EXIT_OK;
    tnd_status_t status =
        tnd_detected_format_look(&found, arena, request->files, request->file_count, &error);
    if (status == TND_OK) {
        struct stat is;
        if (request->file_count == 1 && stat(request->files[0], &is) == 0 && S_ISDIR(is.st_mode))
            choose_part(&found);
        tnd_file_series_join(&found, arena);
        tnd_detected_format_name(found.items, found.count);
        status = check(&found, &error);
    }
    if (status != TND_OK) {
        tnd_complain("new", "%s", error.text);
        code = TND_EXIT_TOPOLOGY;
    } else if (request->output != NULL) {
        code = write_file(request->output, arena, &found);
    } else {
        write_topology(arena, &found, stdout);
    }
    tnd_arena_destroy(&arena);
    return code;
}

const tnd_command_t tnd_command_new;
const tnd_command_t tnd_command_new = {
    .name = "new",
    .operands = "DATA...",
    .missing = "no data is given",
    .summary = "writes a topology for data files, which runs unchanged",
    .arguments = (const char *const[]){"--output", NULL},
    .details =
        "DATA are .npy files, IDX files (raw or compressed by gzip), directories of them, or\n"
        "patterns such as 'data/x*.npy'.  Each file becomes a column, named after the file; all\n"
        "must have the same number of rows.  Files that differ only in a number, such as\n"
        "x-00.npy and x-01.npy, are concatenated to one column.  If a directory has files for\n"
        "training and for tests, those for training are used.  Records without a format are\n"
        "read by the source raw: tundish help raw.  The topology has a comment on each line and\n"
        "can be run, inspected and changed.\n",
    .codes = "  0   written\n"
             "  1   the file exists already, or cannot be written\n"
             "  2   usage\n"
             "  78  the data do not exist, have an unknown format, or do not fit together\n",
    .operands_min = 1,
    .run = new,
};
