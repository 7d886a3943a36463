/*  runtime/checkpoint/resume.c - finds the checkpoint that a run resumes from. */
#include "runtime/checkpoint/resume.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/checkpoint/graph_text.h"
#include "runtime/topology/best_options.h"

/*  Hexadecimal digits of the hash of a plugin's file. */
enum { BUILD_SIZE = 16 };

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

/*  Whether this host can load the model of a replica from a part of another one. */
static bool has_equal(const char *dir, const tnd_manifest_t *manifest, uint32_t replica)
{
    char path[TND_STORE_PATH];
    tnd_resume_t all = {
        .step = manifest->cursor.step, .replicas = manifest->replicas, .parts = manifest->parts};
    snprintf(all.dir, sizeof all.dir, "%s", dir);
    return tnd_store_find_equal(&all, replica, path);
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
            if (elsewhere || has_equal(dir, manifest, r))
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

/*  Of a function of Python, the file of its module has changed. */
static tnd_status_t refuse_build(const char *place, const char *line, size_t length,
                                 const char *was, tnd_error_t *error)
{
    const char *what = strncmp(line, "python ", strlen("python ")) == 0 ? "file" : "build";
    return tnd_fail(error,
                    "%s: was made with another %s of %.*s(%.*s, was %.*s): resume with that %s, or "
                    "allow this one by `numeric: tolerant`",
                    place, what, (int)length, line, BUILD_SIZE, line + length, BUILD_SIZE, was,
                    what);
}

/*  The graphs have the same plugins, perhaps of other builds. */
static tnd_status_t check_plugins(const tnd_resume_search_t *self, const char *place,
                                  const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const char *line = self->plan->tolerant ? "" : self->plan->plugins;
    for (; line != NULL && *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n") - BUILD_SIZE;
        const char *was = find_build(manifest->graph, line, length);
        if (was != NULL && strncmp(was, line + length, BUILD_SIZE) != 0)
            return refuse_build(place, line, length, was, error);
    }
    return TND_OK;
}

/*  The actor of the first chain that has this role. */
static const char *first_actor(const tnd_plan_t *plan, tnd_role_t role)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == 0 && plan->instances[i].kind->role == role)
            return plan->instances[i].actor;
    return "";
}

/*  Whether a cursor is after the end of a stream of so many epochs. */
static bool is_past(const tnd_cursor_t *cursor, bool one_epoch, unsigned long long epochs)
{
    bool past = cursor->epoch > epochs || (cursor->epoch == epochs && cursor->step_of_epoch > 0);
    /* With span_epochs the stream is one epoch, and the positions have their own. */
    for (uint32_t lane = 0; one_epoch && lane < cursor->lanes; lane++) {
        const tnd_position_t *part = &cursor->part[lane];
        past = past || part->epoch > epochs ||
               (part->epoch == epochs && (part->index > 0 || part->used > 0));
    }
    return past;
}

/*  With span_epochs the stream is one epoch. */
static bool spans_epochs(const tnd_resume_search_t *self)
{
    size_t size;
    const char *spans = tnd_graph_text_option(self->graph, first_actor(self->plan, TND_ROLE_JOIN),
                                              "span_epochs", &size);
    return spans != NULL && strncmp(spans, "true", size) == 0;
}

/*  Whether a cursor is after the end of the stream of this graph. */
static bool is_after_end(const tnd_resume_search_t *self, const tnd_cursor_t *cursor)
{
    size_t size;
    char *end;
    const char *text = tnd_graph_text_option(self->graph, first_actor(self->plan, TND_ROLE_READER),
                                             "epochs", &size);
    unsigned long long epochs = text != NULL ? strtoull(text, &end, 10) : 0;
    return text != NULL && end != text && is_past(cursor, spans_epochs(self), epochs);
}

/*  A run may go on with other `epochs:`, if none of its steps depends on where the stream ended.
 *  Without span_epochs each epoch ends a step by itself.  An evaluation has no step, so its epochs do
 *  not matter. */
static tnd_status_t check_epochs(const tnd_resume_search_t *self, const char *place,
                                 const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const char *reader = first_actor(self->plan, TND_ROLE_READER);
    const tnd_cursor_t *cursor = &manifest->cursor;
    size_t is_size, was_size;
    if (self->plan->checkpoint->evaluate)
        return TND_OK;
    const char *is = tnd_graph_text_option(self->graph, reader, "epochs", &is_size);
    const char *was = tnd_graph_text_option(manifest->graph, reader, "epochs", &was_size);
    if (spans_epochs(self) && cursor->epoch > 0)
        return tnd_fail(error,
                        "%s: is the end of the stream with `epochs: %.*s`, whose last step would "
                        "have other rows with `epochs: %.*s`, because of `span_epochs: true`: "
                        "resume from an earlier checkpoint",
                        place, (int)was_size, was, (int)is_size, is);
    if (is_after_end(self, cursor))
        return tnd_fail(error,
                        "%s: is after the end of `epochs: %.*s` of %s: resume from an earlier "
                        "checkpoint, or with more epochs (it was made with %.*s)",
                        place, (int)is_size, is, reader, (int)was_size, was);
    tell(self, TND_LOG_INFO, "the run continues with `epochs: %.*s`, was `epochs: %.*s`",
         (int)is_size, is, (int)was_size, was);
    return TND_OK;
}

static tnd_status_t check_graph(const tnd_resume_search_t *self, const char *place,
                                const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_cursor_t *cursor = &manifest->cursor;
    char difference[256] = "";
    if (cursor->graph[0] == self->plan->fingerprint[0] &&
        cursor->graph[1] == self->plan->fingerprint[1])
        return TND_OK;
    if (manifest->graph != NULL &&
        tnd_graph_text_equal_but(manifest->graph, self->graph,
                                 first_actor(self->plan, TND_ROLE_READER), "epochs"))
        return check_epochs(self, place, manifest, error);
    if (manifest->graph != NULL && strcmp(manifest->graph, self->graph) != 0)
        tnd_graph_text_difference(manifest->graph, self->graph, difference, sizeof difference);
    return tnd_fail(error, "%s: belongs to another graph%s%s", place,
                    difference[0] != '\0' ? ": " : "", difference);
}

static tnd_status_t check_fits(const tnd_resume_search_t *self, const char *place,
                               const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->plan;
    const tnd_cursor_t *cursor = &manifest->cursor;
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
    TND_TRY(check_graph(self, place, manifest, error));
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

/*  An evaluation reads no row of the chain that was trained; the start is in any stream. */
static void leave_position(tnd_cursor_t *cursor)
{
    cursor->epoch = 0;
    cursor->step_of_epoch = 0;
    memset(cursor->part, 0, sizeof cursor->part);
    memset(cursor->since, 0, sizeof cursor->since);
}

static void choose(tnd_resume_search_t *self, const char *dir, tnd_manifest_t *manifest)
{
    snprintf(self->resume.dir, sizeof self->resume.dir, "%s", dir);
    self->resume.step = manifest->cursor.step;
    self->resume.replicas = manifest->replicas;
    self->resume.parts = manifest->parts;
    manifest->parts = NULL;
    self->cursor = manifest->cursor;
    memcpy(self->cursor.graph, self->plan->fingerprint, sizeof self->cursor.graph);
    if (self->plan->checkpoint->evaluate && is_after_end(self, &self->cursor))
        leave_position(&self->cursor);
    self->sums = manifest->sums;
    self->validations = manifest->validations;
    manifest->validations = (tnd_validations_t){.of = NULL};
    self->found = true;
    tell(self, TND_LOG_INFO, "%s step %" PRIu64 ", from %.300s",
         self->plan->checkpoint->evaluate ? "evaluates the models after" : "resumes after",
         manifest->cursor.step - 1, dir);
    if (manifest->lacks_sums)
        tell(self, TND_LOG_WARNING,
             "the checkpoint after step %" PRIu64
             " has no metrics, because an older version wrote it: "
             "the means of its epoch are over the rows after it, and are marked as partial",
             manifest->cursor.step - 1);
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

bool tnd_resume_best(const tnd_plan_t *plan, const tnd_validations_t *validations, tnd_best_t *best,
                     uint32_t *chain_p)
{
    uint32_t chain = 1;
    while (chain < plan->chain_count && plan->chains[chain].best == NULL)
        chain++;
    if (chain >= plan->chain_count)
        return false;
    *best = tnd_best_options_begin(plan->chains[chain].best);
    tnd_validations_judge(validations, chain, plan->chains[chain].best->metric, best);
    if (chain_p != NULL)
        *chain_p = chain;
    return true;
}

/*  The steps before the best of the validations that the newest readable manifest has; 0: it has none. */
static tnd_status_t read_best(const tnd_plan_t *plan, const char *dir, uint64_t *step_p,
                              tnd_error_t *error)
{
    uint64_t *steps;
    size_t count;
    bool found = false;
    *step_p = 0;
    TND_TRY(tnd_store_list(dir, &steps, &count, error));
    for (size_t i = 0; i < count && !found; i++) {
        tnd_manifest_t manifest;
        tnd_best_t best;
        found = tnd_store_read(dir, steps[i], &manifest, NULL) == TND_OK;
        if (!found)
            continue;
        (void)tnd_resume_best(plan, &manifest.validations, &best, NULL);
        *step_p = best.step;
        tnd_manifest_free(&manifest);
    }
    free(steps);
    return TND_OK;
}

/*  The checkpoint of the best value. */
static tnd_status_t find_best(tnd_resume_search_t *self, const char *dir, tnd_error_t *error)
{
    char path[TND_STORE_PATH + 32];
    uint64_t step;
    tnd_best_t best;
    if (!tnd_resume_best(self->plan, &(tnd_validations_t){.of = NULL}, &best, NULL))
        return tnd_fail(error, "no feeder has `best:`, which says what the best checkpoint is");
    TND_TRY(read_best(self->plan, dir, &step, error));
    if (step == 0)
        return tnd_fail(error,
                        "%s: no checkpoint there knows of a validation that has a best value", dir);
    if (!tnd_store_has(dir, step))
        return tnd_fail(error,
                        "%s: the best value is that after step %" PRIu64
                        ", of which no checkpoint exists: resume from `latest`",
                        dir, step - 1);
    snprintf(path, sizeof path, "%.900s/step-%08" PRIu64, dir, step);
    return find_named(self, path, error);
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
    if (options->evaluate && self->plan->chain_count == 1)
        return tnd_fail(error, "nothing to evaluate: no feeder of this graph has `after:`");
    if (options->evaluate && strcmp(options->resume, "none") == 0)
        return tnd_fail(error, "`evaluate: true` needs `resume:`, which says what is evaluated");
    if (strcmp(options->resume, "none") == 0)
        return refuse_old(self, error);
    if (strcmp(options->resume, "latest") == 0)
        return find_latest(self, options->dir, options->evaluate, error);
    if (strcmp(options->resume, "best") == 0)
        return find_best(self, options->dir, error);
    return find_named(self, options->resume, error);
}

tnd_status_t tnd_resume_check_path(const char *resume, tnd_error_t *error)
{
    if (strcmp(resume, "none") == 0 || strcmp(resume, "latest") == 0 ||
        strcmp(resume, "best") == 0 || access(resume, F_OK) == 0)
        return TND_OK;
    return tnd_fail(error, "no checkpoint at %s", resume);
}

void tnd_resume_search_free(tnd_resume_search_t *self)
{
    free(self->resume.parts);
    tnd_validations_free(&self->validations);
    tnd_data_table_free(&self->data);
}
