/*  tools/command/cursor.c - `tundish cursor`: prints the contents of a checkpoint. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/checkpoint/data_table.h"
#include "runtime/checkpoint/store.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"

typedef struct {
    bool json;
} cursor_options_t;

/*  The manifest of a path: the path itself, or in the folder of one checkpoint. */
static void find_manifest(const char *path, char file[TND_STORE_PATH])
{
    struct stat is;
    bool folder = stat(path, &is) == 0 && S_ISDIR(is.st_mode);
    snprintf(file, TND_STORE_PATH, "%s%s", path, folder ? "/manifest" : "");
}

/*  The newest readable manifest in a folder of checkpoints; false: there is none. */
static bool find_newest(const char *path, char file[TND_STORE_PATH])
{
    uint64_t *steps = NULL;
    size_t count = 0;
    bool found = false;
    if (tnd_store_list(path, &steps, &count, NULL) != TND_OK)
        return false;
    for (size_t i = 0; i < count && !found; i++) {
        tnd_manifest_t manifest;
        found = tnd_store_read(path, steps[i], &manifest, NULL) == TND_OK;
        if (!found)
            continue;
        snprintf(file, TND_STORE_PATH, "%.900s/step-%08" PRIu64 "/manifest", path, steps[i]);
        tnd_manifest_free(&manifest);
    }
    free(steps);
    return found;
}

static void digest_text(const uint64_t digest[2], char text[TND_DIGEST_TEXT_SIZE])
{
    tnd_digest_print(&(tnd_digest_t){.low = digest[0], .high = digest[1]}, text);
}

static uint64_t model_bytes(const tnd_manifest_t *manifest)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < manifest->replicas; r++)
        bytes += manifest->parts[r].bytes;
    return bytes;
}

/*  The most files that are printed; --json prints all. */
enum { FILES_SHOWN = 8 };

/*  Prints what a manifest has about the data.  False: it is damaged. */
static bool read_data(const tnd_manifest_t *manifest, tnd_data_table_t *table, tnd_error_t *error)
{
    bool good = true;
    char *rest = manifest->data;
    *table = (tnd_data_table_t){0};
    for (char *line; good && (line = strsep(&rest, "\n")) != NULL;)
        good = *line == '\0' || tnd_data_table_read(table, line, error) == TND_OK;
    return good;
}

static void print_file(const tnd_data_file_t *file)
{
    char size[TND_QUANTITY_SIZE], time[TND_DATA_TIME], whole[TND_DIGEST_TEXT_SIZE];
    if (!file->file) {
        printf("           %s, %" PRIu64 " rows\n", file->name, file->size);
        return;
    }
    tnd_data_table_time(file->modified_ns, time);
    printf("           %s, %s, modified at %s", file->name, tnd_quantity_size(file->size, size),
           time);
    if (file->hashed) {
        digest_text(file->whole, whole);
        printf(", hash %s", whole);
    }
    putchar('\n');
}

static void print_data(const tnd_manifest_t *manifest, const tnd_data_table_t *table)
{
    printf("data       %016" PRIx64 "\n", manifest->cursor.data);
    for (size_t i = 0; i < table->count && i < FILES_SHOWN; i++)
        print_file(&table->files[i]);
    if (table->count > FILES_SHOWN)
        printf("           and %zu more, which --json lists\n", table->count - FILES_SHOWN);
}

static void print_lane(const tnd_cursor_t *cursor, uint32_t lane)
{
    printf("lane %-5" PRIu32 " epoch %" PRIu32 ", position %" PRIu64, lane,
           cursor->part[lane].epoch, cursor->part[lane].index);
    if (cursor->since[lane] > 0)
        printf(", and %" PRIu64 " batches since, or with `pack` values of the next row",
               cursor->since[lane]);
    putchar('\n');
}

static void print_text(const tnd_manifest_t *manifest, const tnd_data_table_t *table)
{
    const tnd_cursor_t *cursor = &manifest->cursor;
    const tnd_ledger_t *ledger = &cursor->ledger;
    char digest[TND_DIGEST_TEXT_SIZE], graph[TND_DIGEST_TEXT_SIZE];
    digest_text(cursor->digest, digest);
    digest_text(cursor->graph, graph);
    printf("next       step %" PRIu64 ", step %" PRIu64 " of epoch %" PRIu32 "\n", cursor->step,
           cursor->step_of_epoch, cursor->epoch);
    printf("rows       %" PRIu64 " fed; %" PRIu64 " read, %" PRIu64 " added, %" PRIu64
           " filtered, %" PRIu64 " bad, %" PRIu64 " dropped\n",
           ledger->fed, ledger->read, ledger->added, ledger->filtered, ledger->bad,
           ledger->dropped);
    printf("stream     %s\n", digest);
    printf("graph      %s, seed %" PRIu64 "\n", graph, cursor->seed);
    print_data(manifest, table);
    for (uint32_t lane = 0; lane < cursor->lanes; lane++)
        print_lane(cursor, lane);
    printf("models     %" PRIu32 " replica%s, %" PRIu64 " bytes\n", manifest->replicas,
           manifest->replicas == 1 ? "" : "s", model_bytes(manifest));
}

static void print_json_file(const tnd_data_file_t *file)
{
    char whole[TND_DIGEST_TEXT_SIZE];
    tnd_json_begin(stdout, false, "name", file->name);
    printf(",\"lane\":%" PRIu32 ",\"place\":%" PRIu32, file->lane, file->place);
    if (!file->file) {
        printf(",\"rows\":%" PRIu64 ",\"identity\":\"%016" PRIx64 "\"}", file->size, file->ends);
        return;
    }
    printf(",\"bytes\":%" PRIu64 ",\"modified_ns\":%" PRId64 ",\"ends\":\"%016" PRIx64 "\"",
           file->size, file->modified_ns, file->ends);
    if (file->hashed) {
        digest_text(file->whole, whole);
        printf(",\"hash\":\"%s\"", whole);
    }
    putchar('}');
}

static void print_json(const tnd_manifest_t *manifest, const tnd_data_table_t *table)
{
    const tnd_cursor_t *cursor = &manifest->cursor;
    const tnd_ledger_t *ledger = &cursor->ledger;
    char text[TND_DIGEST_TEXT_SIZE];
    printf("{\"step\":%" PRIu64 ",\"step_of_epoch\":%" PRIu64 ",\"epoch\":%" PRIu32
           ",\"seed\":%" PRIu64,
           cursor->step, cursor->step_of_epoch, cursor->epoch, cursor->seed);
    printf(",\"rows\":{\"read\":%" PRIu64 ",\"added\":%" PRIu64 ",\"fed\":%" PRIu64
           ",\"filtered\":%" PRIu64 ",\"bad\":%" PRIu64 ",\"dropped\":%" PRIu64
           ",\"padded\":%" PRIu64 "}",
           ledger->read, ledger->added, ledger->fed, ledger->filtered, ledger->bad, ledger->dropped,
           ledger->padded);
    digest_text(cursor->digest, text);
    printf(",\"stream_digest\":\"%s\"", text);
    digest_text(cursor->graph, text);
    printf(",\"fingerprint\":\"%s\",\"data\":\"%016" PRIx64 "\",\"files\":[", text, cursor->data);
    for (size_t i = 0; i < table->count; i++) {
        fputs(i > 0 ? "," : "", stdout);
        print_json_file(&table->files[i]);
    }
    fputs("],\"lanes\":[", stdout);
    for (uint32_t lane = 0; lane < cursor->lanes; lane++)
        printf("%s{\"epoch\":%" PRIu32 ",\"index\":%" PRIu64 ",\"used\":%" PRIu32
               ",\"since\":%" PRIu64 "}",
               lane > 0 ? "," : "", cursor->part[lane].epoch, cursor->part[lane].index,
               cursor->part[lane].used, cursor->since[lane]);
    fputs("],\"models\":[", stdout);
    for (uint32_t r = 0; r < manifest->replicas; r++) {
        digest_text(manifest->parts[r].hash, text);
        printf("%s{\"replica\":%" PRIu32 ",\"bytes\":%" PRIu64 ",\"hash\":\"%s\"}",
               r > 0 ? "," : "", r, manifest->parts[r].bytes, text);
    }
    fputs("]}\n", stdout);
}

static int cursor(const tnd_request_t *request)
{
    const cursor_options_t *options = request->options;
    for (size_t i = 0; i < request->file_count; i++) {
        char file[TND_STORE_PATH];
        tnd_manifest_t manifest;
        tnd_error_t error;
        if (!find_newest(request->files[i], file))
            find_manifest(request->files[i], file);
        tnd_data_table_t table = {0};
        bool good = tnd_manifest_read(file, &manifest, &error) == TND_OK;
        if (!good || !read_data(&manifest, &table, &error)) {
            tnd_complain("cursor", "%s%s%s", good ? file : "", good ? ": " : "", error.text);
            return TND_EXIT_TOPOLOGY;
        }
        if (request->file_count > 1 && !options->json)
            printf("%s%s:\n", i > 0 ? "\n" : "", file);
        if (options->json)
            print_json(&manifest, &table);
        else
            print_text(&manifest, &table);
        tnd_data_table_free(&table);
        tnd_manifest_free(&manifest);
    }
    return TND_EXIT_OK;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--json", cursor_options_t, json)},
};

const tnd_command_t tnd_command_cursor = {
    .name = "cursor",
    .operands = "FILE...",
    .summary = "prints the contents of a checkpoint, and where a run resumes from it",
    TND_ARGUMENTS(arguments, cursor_options_t),
    .details =
        "FILE is a manifest, the folder of one checkpoint, or a folder of several, of which the\n"
        "newest is used.  --json prints one object per line.\n",
    .codes = "  0   done\n"
             "  2   usage\n"
             "  78  a file is missing, damaged or not a checkpoint\n",
    .operands_min = 1,
    .missing = "no checkpoint is given",
    .run = cursor,
};
