/*  runtime/checkpoint/resume.c - finds the checkpoint that a run resumes from. */
#include "runtime/checkpoint/resume.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static void
tell(const tnd_resume_search_t *self, tnd_log_level_t level, const char *format, ...)
{
    char text[TND_CHECKPOINT_NEWS_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    self->log(self->context, level, text);
}

/*  Compares the parts that this host can read with the manifest.  A part that is missing here may
 *  be on the disk of the host that carries its replica. */
static tnd_status_t check_parts(const tnd_resume_search_t *self, const char *dir,
                                const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->plan;
    for (uint32_t r = 0; r < manifest->replicas; r++) {
        tnd_saved_t part;
        tnd_error_t why;
        char path[TND_STORE_PATH];
        bool elsewhere = r < plan->chains[0].replicas &&
                         plan->instances[plan->chains[0].carriers[r].instance].host != 0;
        if (!tnd_saved_is(&manifest->parts[r]))
            continue;
        tnd_store_part_path(path, dir, manifest->cursor.step, r);
        if (tnd_store_measure(dir, manifest->cursor.step, r, &part, &why) != TND_OK) {
            if (elsewhere)
                continue;
            return tnd_fail(error, "%s", why.text);
        }
        if (!tnd_saved_equal(&part, &manifest->parts[r]))
            return tnd_fail(error,
                            "%s: differs from its manifest: %" PRIu64 " of %" PRIu64 " bytes%s",
                            path, part.bytes, manifest->parts[r].bytes,
                            part.bytes == manifest->parts[r].bytes ? ", another hash" : "");
    }
    return TND_OK;
}

/*  The length of a key and its value, up to a separator outside of quotes. */
static size_t entry_bytes(const char *text)
{
    bool quoted = false;
    size_t at = 0;
    for (; text[at] != '\0' && (quoted || strchr(",{}\n", text[at]) == NULL); at++) {
        if (text[at] == '"')
            quoted = !quoted;
        else if (text[at] == '\\' && text[at + 1] != '\0')
            at++;
    }
    return at;
}

/*  Describes the first entry that differs between two graphs. */
static void find_difference(const char *was, const char *is, char *text, size_t room)
{
    size_t same = 0, entry = 0, line = 0;
    while (was[same] != '\0' && was[same] == is[same])
        same++;
    for (size_t end; (end = entry + entry_bytes(was + entry)) < same; entry = end + 1)
        line = was[end] == '\n' ? end + 1 : line;
    size_t name = strcspn(was + line, ": ");
    size_t end = entry + entry_bytes(was + entry);
    bool more = is[same] == ',', fewer = was[same] == ',';
    if (end == same && more != fewer && same == entry + entry_bytes(is + entry)) {
        const char *one = (more ? is : was) + same + 1 + strspn((more ? is : was) + same + 1, " ");
        snprintf(text, room, "%.*s: `%.*s` %s", (int)name, was + line, (int)entry_bytes(one), one,
                 more ? "was not given" : "was given");
        return;
    }
    entry += strspn(was + entry, " ");
    snprintf(text, room, "%.*s: `%.*s` was `%.*s`", (int)name, was + line,
             (int)entry_bytes(is + entry), is + entry, (int)entry_bytes(was + entry), was + entry);
}

/*  The build in the line "plugin SORT NAME BUILD" of a graph that begins as `line`; NULL: it is not
 *  there. */
static const char *find_build(const char *graph, const char *line, size_t length)
{
    for (const char *at = graph; at != NULL && *at != '\0'; at += *at == '\n') {
        if (strncmp(at, line, length) == 0)
            return at + length;
        at += strcspn(at, "\n");
    }
    return NULL;
}

/*  The graphs have the same plugins, perhaps of other builds. */
static tnd_status_t check_plugins(const tnd_resume_search_t *self, const char *place,
                                  const tnd_manifest_t *manifest, tnd_error_t *error)
{
    enum { BUILD_SIZE = 16 };
    const char *line = self->plan->tolerant ? "" : self->plan->plugins;
    for (; line != NULL && *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n") - BUILD_SIZE;
        const char *was = find_build(manifest->graph, line, length);
        if (was != NULL && strncmp(was, line + length, BUILD_SIZE) != 0)
            return tnd_fail(error,
                            "%s: was made with another build of %.*s(%.*s, was %.*s): resume with "
                            "that build, or allow this one by `numeric: tolerant`",
                            place, (int)length, line, BUILD_SIZE, line + length, BUILD_SIZE, was);
    }
    return TND_OK;
}

static tnd_status_t check_fits(const tnd_resume_search_t *self, const char *place,
                               const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->plan;
    const tnd_cursor_t *cursor = &manifest->cursor;
    char difference[256] = "";
    if (manifest->graph != NULL && strcmp(manifest->graph, self->graph) != 0)
        find_difference(manifest->graph, self->graph, difference, sizeof difference);
    if (cursor->seed != plan->seed)
        return tnd_fail(error,
                        "%s: belongs to another graph: the seed is %" PRIu64 ", was %" PRIu64,
                        place, plan->seed, cursor->seed);
    if (cursor->lanes != plan->lanes)
        return tnd_fail(error, "%s: belongs to another graph: %" PRIu32 " lanes, was %" PRIu32,
                        place, plan->lanes, cursor->lanes);
    if (manifest->replicas != self->plan->chains[0].replicas)
        return tnd_fail(error, "%s: belongs to another graph: %" PRIu32 " replicas, was %" PRIu32,
                        place, self->plan->chains[0].replicas, manifest->replicas);
    if (cursor->graph[0] != plan->fingerprint[0] || cursor->graph[1] != plan->fingerprint[1])
        return tnd_fail(error, "%s: belongs to another graph%s%s", place,
                        difference[0] != '\0' ? ": " : "", difference);
    return check_plugins(self, place, manifest, error);
}

static tnd_status_t read_data(const tnd_manifest_t *manifest, const char *place,
                              tnd_data_table_t *table, tnd_error_t *error)
{
    tnd_error_t why;
    tnd_status_t status = TND_OK;
    char *rest = manifest->data;
    for (char *line; status == TND_OK && (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            status = tnd_data_table_read(table, line, &why);
    tnd_data_table_settle(table);
    if (status == TND_OK && tnd_data_table_hash(table) != manifest->cursor.data)
        status = tnd_fail(&why, "its list of data files does not match its cursor");
    return status == TND_OK ? TND_OK : tnd_fail(error, "%s: %s", place, why.text);
}

static void choose(tnd_resume_search_t *self, const char *dir, tnd_manifest_t *manifest)
{
    snprintf(self->resume.dir, sizeof self->resume.dir, "%s", dir);
    self->resume.step = manifest->cursor.step;
    self->resume.replicas = manifest->replicas;
    self->resume.parts = manifest->parts;
    manifest->parts = NULL;
    self->cursor = manifest->cursor;
    self->found = true;
    tell(self, TND_LOG_INFO, "resumes after step %" PRIu64 ", from %.300s",
         manifest->cursor.step - 1, dir);
}

/*  Chooses the newest complete checkpoint of a folder and logs those that it skips. */
static tnd_status_t find_latest(tnd_resume_search_t *self, const char *dir, bool wanted,
                                tnd_error_t *error)
{
    uint64_t *steps;
    size_t count;
    TND_TRY(tnd_store_list(dir, &steps, &count, error));
    tnd_status_t status = TND_OK;
    size_t damaged = 0;
    for (size_t i = 0; i < count && status == TND_OK && !self->found; i++) {
        tnd_manifest_t manifest;
        tnd_error_t why;
        char place[TND_STORE_PATH];
        snprintf(place, sizeof place, "%.900s/step-%08" PRIu64, dir, steps[i]);
        if (!tnd_store_has(dir, steps[i])) {
            tell(self, TND_LOG_INFO, "the checkpoint after step %" PRIu64 " is incomplete",
                 steps[i] - 1);
            continue;
        }
        bool whole = tnd_store_read(dir, steps[i], &manifest, &why) == TND_OK;
        bool good = whole && check_parts(self, dir, &manifest, &why) == TND_OK;
        if (good)
            status = check_fits(self, place, &manifest, error);
        if (good && status == TND_OK)
            status = read_data(&manifest, place, &self->data, error);
        if (good && status == TND_OK)
            choose(self, dir, &manifest);
        if (!good) {
            damaged++;
            tell(self, TND_LOG_WARNING,
                 "the checkpoint after step %" PRIu64 " cannot be used: %.380s", steps[i] - 1,
                 why.text);
        }
        if (whole)
            tnd_manifest_free(&manifest);
    }
    free(steps);
    if (status != TND_OK || self->found)
        return status;
    if (damaged > 0)
        return tnd_fail(error,
                        "%s: none of its %zu checkpoints can be used: start again in another "
                        "folder",
                        dir, damaged);
    if (wanted)
        return tnd_fail(error, "no checkpoint at %s", dir);
    tell(self, TND_LOG_WARNING, "no checkpoint in %.300s: the run begins at the start", dir);
    return TND_OK;
}

/*  `path` is a checkpoint, its manifest, or a folder of several checkpoints. */
static tnd_status_t find_named(tnd_resume_search_t *self, const char *path, tnd_error_t *error)
{
    char dir[TND_STORE_PATH], file[TND_STORE_PATH];
    snprintf(dir, sizeof dir, "%s", path);
    size_t length = strlen(dir);
    static const char manifest_end[] = "/manifest";
    while (length > 1 && dir[length - 1] == '/')
        dir[--length] = '\0';
    if (length > strlen(manifest_end) &&
        strcmp(dir + length - strlen(manifest_end), manifest_end) == 0)
        dir[length - strlen(manifest_end)] = '\0';
    const char *name = strrchr(dir, '/');
    name = name != NULL ? name + 1 : dir;
    uint64_t step;
    int used = 0;
    if (sscanf(name, "step-%" SCNu64 "%n", &step, &used) != 1 || name[used] != '\0')
        return find_latest(self, dir, true, error);
    snprintf(file, sizeof file, "%.900s", dir);
    if (name == dir)
        snprintf(dir, sizeof dir, ".");
    else
        dir[name - dir - 1] = '\0';
    tnd_manifest_t manifest;
    TND_TRY(tnd_store_read(dir, step, &manifest, error));
    tnd_status_t status = check_parts(self, dir, &manifest, error);
    if (status == TND_OK)
        status = check_fits(self, file, &manifest, error);
    if (status == TND_OK)
        status = read_data(&manifest, file, &self->data, error);
    if (status == TND_OK)
        choose(self, dir, &manifest);
    tnd_manifest_free(&manifest);
    return status;
}

/*  A new run does not write to the folder of an earlier one. */
static tnd_status_t refuse_old(const tnd_resume_search_t *self, tnd_error_t *error)
{
    uint64_t *steps;
    size_t count;
    tnd_status_t status = tnd_store_list(self->plan->checkpoint->dir, &steps, &count, error);
    for (size_t i = 0; i < count && status == TND_OK; i++) {
        tnd_manifest_t manifest;
        if (tnd_store_read(self->plan->checkpoint->dir, steps[i], &manifest, NULL) != TND_OK)
            continue;
        tnd_manifest_free(&manifest);
        status = tnd_fail(error,
                          "%s: contains a checkpoint after step %" PRIu64
                          " of an earlier run: continue it with --resume, or choose another folder",
                          self->plan->checkpoint->dir, steps[i] - 1);
    }
    free(steps);
    return status;
}

tnd_status_t tnd_resume_search(tnd_resume_search_t *self, tnd_error_t *error)
{
    const tnd_checkpoint_options_t *options = self->plan->checkpoint;
    if (strcmp(options->resume, "none") == 0)
        return refuse_old(self, error);
    if (strcmp(options->resume, "latest") == 0)
        return find_latest(self, options->dir, false, error);
    return find_named(self, options->resume, error);
}

tnd_status_t tnd_resume_check_path(const char *resume, tnd_error_t *error)
{
    if (strcmp(resume, "none") == 0 || strcmp(resume, "latest") == 0 || access(resume, F_OK) == 0)
        return TND_OK;
    return tnd_fail(error, "no checkpoint at %s", resume);
}

void tnd_resume_search_free(tnd_resume_search_t *self)
{
    free(self->resume.parts);
    tnd_data_table_free(&self->data);
}
