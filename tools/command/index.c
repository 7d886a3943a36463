/*  tools/command/index.c - `tundish index`: builds, lists and removes the indexes of data files. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "actors/file/index_folder.h"
#include "runtime/base/clock.h"
#include "runtime/base/parallel.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/number_text.h"
#include "tools/cli/terminal.h"
#include "tools/new/data_source.h"
#include "tools/new/detect_format.h"

typedef struct {
    const char *as;
    bool beside, list, remove, json, quiet;
} index_options_t;

static const uint64_t draw_every_ns = 100000000;

typedef struct work work_t;

/*  One data file. */
typedef struct {
    work_t *work;
    const char *path;
    tnd_data_source_t data;
    uint64_t bytes;
    double done; /* of its bytes */
    bool failed;
} task_t;

struct work {
    const tnd_request_t *request;
    const index_options_t *options;
    pthread_mutex_t lock; /* of the output, and of what follows */
    tnd_terminal_t terminal;
    task_t *tasks;
    size_t count, ended;
    uint64_t began_ns, drawn_ns;
    bool drawn, listed, failed;
};

/*  ----------------------------------------------------------------------------------- progress */

static void clear_line(work_t *self)
{
    if (self->drawn)
        fputs("\r\033[K", stdout);
    self->drawn = false;
}

/*  "indexing 3 of 16 files, 41 %, 2:10 left"; call it with the lock. */
static void draw(work_t *self)
{
    char left[TND_NUMBER_TEXT] = "";
    double done = 0, all = 0;
    uint64_t now = tnd_clock_now();
    if (!self->terminal.line || self->options->json || now - self->drawn_ns < draw_every_ns)
        return;
    for (size_t i = 0; i < self->count; i++) {
        done += self->tasks[i].done;
        all += (double)self->tasks[i].bytes;
    }
    double share = all > 0 ? done / all : 0, seconds = (double)(now - self->began_ns) * 1e-9;
    clear_line(self);
    printf("indexing %zu of %zu file%s, %.0f %%", self->ended + 1, self->count,
           self->count == 1 ? "" : "s", 100 * share);
    if (share > 0.01)
        printf(", %s left", tnd_time_text(seconds / share - seconds, left));
    fflush(stdout);
    self->drawn = true;
    self->drawn_ns = now;
}

static void on_progress(void *reporter, uint64_t done, uint64_t all, const char *unit)
{
    task_t *task = reporter;
    pthread_mutex_lock(&task->work->lock);
    if (strcmp(unit, "bytes") == 0 && all != TND_UNKNOWN && all > 0)
        task->done = (double)task->bytes * (double)done / (double)all;
    draw(task->work);
    pthread_mutex_unlock(&task->work->lock);
}

/*  ------------------------------------------------------------------------------------ indexes */

static void print_json(work_t *self, const char *file, const tnd_index_entry_t *entry,
                       const char *built)
{
    tnd_json_begin(stdout, self->listed, "file", file);
    tnd_json_member(stdout, "index", entry->path);
    tnd_json_member(stdout, "format", entry->format);
    printf(",\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"used\":%.3f%s}", entry->records,
           entry->bytes, (double)entry->used_ns * 1e-9, built);
    self->listed = true;
}

static const char *date_of(int64_t ns, char text[32])
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm local;
    strftime(text, 32, "%Y-%m-%d %H:%M", localtime_r(&seconds, &local));
    return text;
}

static void print_entry(const tnd_index_entry_t *entry)
{
    char bytes[TND_QUANTITY_SIZE], records[TND_NUMBER_TEXT], date[32];
    printf("%s  %9s  %s records (%s)  %s\n", date_of(entry->used_ns, date),
           tnd_quantity_size(entry->bytes, bytes), tnd_grouped(entry->records, records),
           entry->format, entry->path);
}

static bool had(const tnd_index_list_t *before, const tnd_index_entry_t *entry)
{
    for (size_t i = 0; i < before->count; i++)
        if (strcmp(before->items[i].path, entry->path) == 0)
            return true;
    return false;
}

/*  The index that was opened last is the one of this call. */
static void report(work_t *self, const task_t *task, const tnd_index_list_t *before,
                   const tnd_index_list_t *after)
{
    char bytes[TND_QUANTITY_SIZE], records[TND_NUMBER_TEXT];
    const tnd_index_entry_t *entry = &after->items[0];
    bool old = had(before, entry);
    if (self->options->json)
        print_json(self, task->path, entry, old ? ",\"built\":false" : ",\"built\":true");
    else if (!self->options->quiet)
        printf("%s: %s records; %s %s (%s)\n", task->path, tnd_grouped(entry->records, records),
               old ? "its index exists:" : "its index is written to", entry->path,
               tnd_quantity_size(entry->bytes, bytes));
}

static void complain(task_t *task, const char *text)
{
    clear_line(task->work);
    fflush(stdout);
    tnd_complain("index", "%s", text);
    task->failed = task->work->failed = true;
}

static void complain_none(task_t *task)
{
    char text[PATH_MAX + 128];
    snprintf(text, sizeof text,
             "%s: the source reads it from start to end and keeps no index of it: unpack it, if it "
             "is compressed",
             task->path);
    complain(task, text);
}

static void build(void *context, size_t i)
{
    work_t *self = context;
    task_t *task = &self->tasks[i];
    tnd_index_list_t before, after = {0};
    tnd_error_t error;
    const tnd_source_scope_t scope = {
        .lanes = 1,
        .stores_index = true,
        .context = {
            .lanes = 1, .replicas = 1, .data = "", .progress = on_progress, .reporter = task}};
    tnd_status_t status = tnd_index_list_of(&before, task->path, &error);
    if (status == TND_OK)
        status = tnd_data_source_open(&task->data, &scope, &error);
    if (status == TND_OK) {
        tnd_data_source_close(&task->data);
        status = tnd_index_list_of(&after, task->path, &error);
    }
    pthread_mutex_lock(&self->lock);
    clear_line(self);
    if (status != TND_OK)
        complain(task, error.text);
    else if (after.count > 0)
        report(self, task, &before, &after);
    else
        complain_none(task);
    task->done = (double)task->bytes;
    self->ended++;
    self->drawn_ns = 0;
    if (self->ended < self->count)
        draw(self);
    pthread_mutex_unlock(&self->lock);
    tnd_index_list_free(&before);
    tnd_index_list_free(&after);
}

/*  Chooses the source of each file.  Files that need no index are left out. */
static tnd_status_t plan(work_t *self, tnd_arena_t *arena)
{
    tnd_status_t status = TND_OK;
    self->tasks = tnd_arena_array(arena, self->request->file_count, sizeof *self->tasks);
    for (size_t i = 0; i < self->request->file_count; i++) {
        static const char *const beside[] = {"index", "beside"};
        tnd_error_t error;
        struct stat is;
        const char *path = self->request->files[i], *written = self->options->as, *name = NULL;
        task_t *task = &self->tasks[self->count];
        *task = (task_t){.work = self, .path = path};
        tnd_status_t found = TND_OK;
        if (written == NULL)
            found = tnd_detected_source(&written, path, &error);
        if (found == TND_OK)
            found = tnd_data_source_name(&name, arena, written, &error);
        if (found == TND_OK && !tnd_data_source_takes(tnd_data_source_table(name), "index")) {
            fprintf(stderr, "tundish index: %s needs no index: the source `%s` finds its rows\n",
                    path, name);
            continue;
        }
        if (found == TND_OK)
            found = tnd_data_source_choose(&task->data, arena, written, &path, 1,
                                           self->options->beside ? beside : NULL, &error);
        if (found != TND_OK) {
            tnd_complain("index", "%s", error.text);
            status = found;
            continue;
        }
        task->bytes = stat(path, &is) == 0 ? (uint64_t)is.st_size : 0;
        self->count++;
    }
    return status;
}

static int build_all(const tnd_request_t *request)
{
    const index_options_t *options = request->options;
    tnd_arena_t *arena = tnd_arena_new();
    work_t self = {.request = request,
                   .options = options,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .terminal = tnd_terminal_look(STDOUT_FILENO),
                   .began_ns = tnd_clock_now()};
    bool chosen = plan(&self, arena) == TND_OK;
    if (options->json)
        fputs("{\"indexes\":[", stdout);
    tnd_parallel(self.count, build, &self);
    if (options->json)
        fputs("]}\n", stdout);
    tnd_arena_destroy(&arena);
    return chosen && !self.failed ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

/*  Calls `act` for the indexes of the given files, or for all in the cache. */
static int visit(const tnd_request_t *request,
                 bool (*act)(work_t *work, const char *file, const tnd_index_entry_t *entry))
{
    const index_options_t *options = request->options;
    work_t self = {.request = request, .options = options};
    int code = TND_EXIT_OK;
    if (options->json)
        fputs("{\"indexes\":[", stdout);
    for (size_t f = 0; f == 0 || f < request->file_count; f++) {
        tnd_index_list_t list;
        tnd_error_t error;
        const char *file = request->file_count > 0 ? request->files[f] : NULL;
        tnd_status_t status = TND_OK;
        if (file == NULL)
            tnd_index_list_cache(&list);
        else
            status = tnd_index_list_of(&list, file, &error);
        if (status != TND_OK)
            tnd_complain("index", "%s", error.text);
        code = status != TND_OK ? TND_EXIT_TOPOLOGY : code;
        for (size_t i = 0; i < list.count; i++)
            if (!act(&self, file != NULL ? file : list.items[i].name, &list.items[i]))
                code = TND_EXIT_FAILED;
        if (file != NULL && status == TND_OK && list.count == 0 && !options->json)
            fprintf(stderr, "tundish index: %s: has no index\n", file);
        tnd_index_list_free(&list);
    }
    if (options->json)
        fputs("]}\n", stdout);
    return code;
}

static bool show(work_t *work, const char *file, const tnd_index_entry_t *entry)
{
    if (work->options->json)
        print_json(work, file, entry, "");
    else
        print_entry(entry);
    return true;
}

static bool remove_one(work_t *work, const char *file, const tnd_index_entry_t *entry)
{
    if (unlink(entry->path) != 0) {
        tnd_complain("index", "%s: cannot be removed: %s", entry->path, strerror(errno));
        return false;
    }
    if (work->options->json)
        print_json(work, file, entry, "");
    else if (!work->options->quiet)
        printf("removed %s\n", entry->path);
    return true;
}

static int index_command(const tnd_request_t *request)
{
    const index_options_t *options = request->options;
    if (options->list && options->remove)
        return tnd_usage_error("index", "--list and --remove exclude each other");
    if (options->list || options->remove) {
        if (options->beside || options->as != NULL)
            return tnd_usage_error("index", "%s is of building an index, without --list, --remove",
                                   options->beside ? "--beside" : "--as");
        return visit(request, options->list ? show : remove_one);
    }
    if (request->file_count == 0)
        return tnd_usage_error("index", "no data file is given");
    return build_all(request);
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--as", index_options_t, as)},
    {TND_ARGUMENT("--beside", FLAG, index_options_t, beside, NULL,
                  "writes each index beside its data file")},
    {TND_ARGUMENT("--list", FLAG, index_options_t, list, NULL, "lists indexes")},
    {TND_ARGUMENT("--remove", FLAG, index_options_t, remove, NULL, "removes indexes")},
    {TND_COMMON("--json", index_options_t, json)},
    {TND_COMMON("--quiet", index_options_t, quiet)},
};

const tnd_command_t tnd_command_index = {
    .name = "index",
    .operands = "FILE...",
    .summary = "builds, lists or removes the indexes of data files",
    TND_ARGUMENTS(arguments, index_options_t),
    .details =
        "An index says where the records of a TFRecord, CSV or text file begin, so that they\n"
        "can be shuffled.  A run builds those that are missing when it starts; this command\n"
        "builds them in advance, several files at once.  An index is a .npy file of u64: the\n"
        "offset of each record, then the end of the last.  Its name has a hash of the data\n"
        "file's size, time and first and last 64 KiB: a changed file needs a new index.\n"
        "\n"
        "Indexes are in $XDG_CACHE_HOME/tundish, by default ~/.cache/tundish, or with --beside\n"
        "next to the data, where every user finds them.  `index_limit: 10GiB` in the options\n"
        "of a source removes from the cache those that were used longest ago.\n"
        "\n"
        "The format of a file is detected.  --as names the source if it has options that\n"
        "matter: --as 'csv: {header: true}'.\n"
        "\n"
        "--list prints the indexes of FILEs, or all in the cache, the one used last first.\n"
        "--remove removes them; a run that uses one is not disturbed.  FILE may be an index.\n"
        "--json prints one object:\n"
        "  "
        "{\"indexes\":[{\"file\",\"index\",\"format\",\"records\",\"bytes\",\"used\",\"built\"}]}"
        "\n",
    .codes =
        "  0   done; files that need no index are named\n"
        "  1   an index cannot be removed\n"
        "  2   usage\n"
        "  78  a file does not exist, has an unknown format or no records, or its index cannot\n"
        "      be written\n",
    .run = index_command,
};
