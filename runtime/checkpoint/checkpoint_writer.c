/*  runtime/checkpoint/checkpoint_writer.c - what the leader does about checkpoints. */
#include "runtime/checkpoint/checkpoint_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/topology/topology.h"
#include "runtime/base/thread.h"

/*  One thing for the thread to do, and then done. */
typedef struct job {
    struct job *next;
    tnd_manifest_t manifest; /* to be written; without parts: what lies below its step is to go */
    bool whole;              /* it was written */
    bool lacks;              /* without parts: what there is of its step is to go */
} job_t;

typedef struct news {
    struct news *next;
    tnd_log_level_t level;
    char text[480];
} news_t;

struct tnd_checkpoint_writer {
    tnd_checkpoint_writer_config_t config;
    const tnd_checkpoint_options_t *options;
    uint32_t replicas;
    char *graph;
    char *data;           /* what the run reads; NULL: not known yet */
    tnd_data_table_t was; /* what was read before the run resumed */
    tnd_store_t *store;
    tnd_resume_t resume;
    tnd_cursor_t cursor;
    bool resumes, started;
    void *machine_memory;
    tnd_checkpoint_t *machine;
    bool word_new;

    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    job_t *jobs, **jobs_end;
    job_t *done, **done_end;
    news_t *news, **news_end;
    bool stopping, writing;
};

/* --- news --------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static void
tell(tnd_checkpoint_writer_t *self, tnd_log_level_t level, const char *format, ...)
{
    news_t *news = tnd_allocate_zeroed(1, sizeof *news);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(news->text, sizeof news->text, format, arguments);
    va_end(arguments);
    news->level = level;
    pthread_mutex_lock(&self->lock);
    *self->news_end = news;
    self->news_end = &news->next;
    pthread_mutex_unlock(&self->lock);
}

bool tnd_checkpoint_writer_news(tnd_checkpoint_writer_t *self, tnd_log_level_t *level_p, char *text,
                                size_t room)
{
    pthread_mutex_lock(&self->lock);
    news_t *news = self->news;
    if (news != NULL) {
        self->news = news->next;
        if (self->news == NULL)
            self->news_end = &self->news;
    }
    pthread_mutex_unlock(&self->lock);
    if (news == NULL)
        return false;
    *level_p = news->level;
    snprintf(text, room, "%s", news->text);
    free(news);
    return true;
}

/* --- writing -----------------------------------------------------------------------------------
 */

static void forget_below(const tnd_checkpoint_writer_t *self, uint64_t below)
{
    uint64_t *steps = NULL;
    size_t count = 0;
    if (tnd_store_list(self->options->dir, &steps, &count, NULL) != TND_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (steps[i] < below)
            tnd_store_forget(self->options->dir, steps[i]);
    free(steps);
}

static void forget(const tnd_checkpoint_writer_t *self, const job_t *job)
{
    if (job->lacks)
        tnd_store_forget(self->options->dir, job->manifest.cursor.step);
    else
        forget_below(self, job->manifest.cursor.step);
}

static void write_one(tnd_checkpoint_writer_t *self, job_t *job)
{
    tnd_error_t error;
    uint64_t step = job->manifest.cursor.step;
    tnd_status_t status = tnd_store_begin(self->options->dir, step, &error);
    if (status == TND_OK)
        status = tnd_store_commit(self->options->dir, &job->manifest, &error);
    job->whole = status == TND_OK;
    if (job->whole)
        tell(self, TND_LOG_INFO, "checkpoint behind step %" PRIu64 " in %.300s", step - 1,
             self->options->dir);
    else
        tell(self, TND_LOG_WARNING, "no checkpoint behind step %" PRIu64 ": %.400s", step - 1,
             error.text);
    /* Its parts would take the room of a later one. */
    if (!job->whole)
        tnd_store_forget(self->options->dir, step);
}

static void append(job_t ***end_p, job_t *job)
{
    job->next = NULL;
    **end_p = job;
    *end_p = &job->next;
}

static job_t *take_first(job_t **first_p, job_t ***end_p)
{
    job_t *job = *first_p;
    if (job == NULL)
        return NULL;
    *first_p = job->next;
    if (*first_p == NULL)
        *end_p = first_p;
    return job;
}

static void free_job(job_t *job)
{
    free(job->manifest.parts);
    free(job);
}

static void *write_all(void *context)
{
    tnd_checkpoint_writer_t *self = context;
    tnd_thread_begin("archive");
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (self->jobs == NULL && !self->stopping)
            pthread_cond_wait(&self->changed, &self->lock);
        job_t *job = take_first(&self->jobs, &self->jobs_end);
        if (job == NULL)
            break;
        self->writing = true;
        pthread_mutex_unlock(&self->lock);
        if (job->manifest.parts != NULL)
            write_one(self, job);
        else
            forget(self, job);
        pthread_mutex_lock(&self->lock);
        append(&self->done_end, job);
        self->writing = false;
        self->config.wake(self->config.context);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void give(tnd_checkpoint_writer_t *self, job_t *job)
{
    pthread_mutex_lock(&self->lock);
    append(&self->jobs_end, job);
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void write_later(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                        const tnd_saved_t *parts)
{
    job_t *job = tnd_allocate_zeroed(1, sizeof *job);
    job->manifest = (tnd_manifest_t){
        .cursor = *cursor, .graph = self->graph, .data = self->data, .replicas = self->replicas};
    job->manifest.parts = tnd_allocate_zeroed(self->replicas, sizeof *parts);
    memcpy(job->manifest.parts, parts, self->replicas * sizeof *parts);
    give(self, job);
}

/*  `lacks`: that step alone, which is not whole, for it takes the room of a later one. */
static void forget_later(tnd_checkpoint_writer_t *self, uint64_t step, bool lacks)
{
    job_t *job = tnd_allocate_zeroed(1, sizeof *job);
    job->manifest.cursor.step = step;
    job->lacks = lacks;
    give(self, job);
}

/* --- what the machine wants --------------------------------------------------------------------
 */

/*  `cursor`: the one of the step that is booked now. */
static void perform(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor)
{
    tnd_checkpoint_effect_t effect;
    while (tnd_checkpoint_next(self->machine, &effect))
        switch (effect.kind) {
        case TND_CHECKPOINT_WRITE:
            assert(cursor != NULL && cursor->step == effect.step);
            write_later(self, cursor, effect.parts);
            break;
        case TND_CHECKPOINT_LACKS:
            if (effect.why[0] != '\0')
                tell(self, TND_LOG_WARNING, "no checkpoint behind step %" PRIu64 ": %s",
                     effect.step - 1, effect.why);
            else
                tell(self, TND_LOG_WARNING,
                     "no checkpoint behind step %" PRIu64 ": %" PRIu32 " of %" PRIu32
                     " models were not kept",
                     effect.step - 1, self->replicas - effect.have, self->replicas);
            forget_later(self, effect.step, true);
            break;
        case TND_CHECKPOINT_FORGET:
            forget_later(self, effect.step, false);
            break;
        case TND_CHECKPOINT_KEEP:
            self->word_new = true;
            break;
        }
}

/*  Takes note of what was written meanwhile. */
static void take_done(tnd_checkpoint_writer_t *self)
{
    for (;;) {
        pthread_mutex_lock(&self->lock);
        job_t *job = take_first(&self->done, &self->done_end);
        pthread_mutex_unlock(&self->lock);
        if (job == NULL)
            return;
        if (job->whole)
            tnd_checkpoint_written(self->machine, job->manifest.cursor.step);
        free_job(job);
        perform(self, NULL);
    }
}

bool tnd_checkpoint_writer_busy(tnd_checkpoint_writer_t *self)
{
    take_done(self);
    pthread_mutex_lock(&self->lock);
    bool busy = self->jobs != NULL || self->writing || self->done != NULL;
    pthread_mutex_unlock(&self->lock);
    return busy;
}

/* --- what feeders say --------------------------------------------------------------------------
 */

bool tnd_checkpoint_writer_line(tnd_checkpoint_writer_t *self, uint64_t step, const char *line)
{
    uint32_t replica;
    tnd_saved_t part;
    tnd_digest_t hash;
    char hex[64];
    int used = 0;
    if (sscanf(line, "part %" SCNu32 " %" SCNu64 " %63s", &replica, &part.bytes, hex) == 3) {
        if (!tnd_digest_parse(&hash, hex))
            return true;
        part.hash[0] = hash.low;
        part.hash[1] = hash.high;
        tnd_checkpoint_part(self->machine, step, replica, &part);
        return true;
    }
    if (sscanf(line, "bare %" SCNu32 "%n", &replica, &used) == 1 && line[used] == '\0') {
        tnd_checkpoint_part(self->machine, step, replica, &(tnd_saved_t){.bytes = 0});
        return true;
    }
    if (sscanf(line, "unkept %" SCNu32 " %n", &replica, &used) == 1 && used > 0) {
        char why[320];
        snprintf(why, sizeof why, "replica %" PRIu32 ": %.280s", replica, line + used);
        tnd_checkpoint_unkept(self->machine, step, replica, why);
        return true;
    }
    return false;
}

void tnd_checkpoint_writer_booked(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                                  uint64_t now)
{
    tnd_checkpoint_booked(self->machine, cursor->step, now);
    perform(self, cursor);
}

void tnd_checkpoint_writer_end(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor)
{
    tnd_checkpoint_end(self->machine, cursor->step);
    perform(self, cursor);
}

bool tnd_checkpoint_writer_next(tnd_checkpoint_writer_t *self, tnd_keep_note_t *note)
{
    take_done(self);
    bool is = self->word_new;
    self->word_new = false;
    *note = tnd_checkpoint_word(self->machine);
    return is;
}

uint64_t tnd_checkpoint_writer_last(tnd_checkpoint_writer_t *self)
{
    take_done(self);
    return tnd_checkpoint_last(self->machine);
}

tnd_keep_note_t tnd_checkpoint_writer_word(const tnd_checkpoint_writer_t *self)
{
    return tnd_checkpoint_word(self->machine);
}

/* --- what a run goes on from -------------------------------------------------------------------
 */

/*  Whether the parts that can be seen from here are those of the manifest.  One that is not there
 *  may lie on the disk of the host that carries its replica.
 */
static tnd_status_t check_parts(const tnd_checkpoint_writer_t *self, const char *dir,
                                const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->config.plan;
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
            return tnd_fail(error, "%s: is not what was kept: %" PRIu64 " bytes of %" PRIu64 "%s",
                            path, part.bytes, manifest->parts[r].bytes,
                            part.bytes == manifest->parts[r].bytes ? " with another hash" : "");
    }
    return TND_OK;
}

/*  The bytes of a key and its value, up to a separator that is not in quotes. */
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

/*  The first entry by which two graphs differ. */
static void find_difference(const char *was, const char *is, char *text, size_t room)
{
    size_t same = 0, entry = 0, line = 0;
    while (was[same] != '\0' && was[same] == is[same])
        same++;
    for (size_t end; (end = entry + entry_bytes(was + entry)) < same; entry = end + 1)
        line = was[end] == '\n' ? end + 1 : line;
    entry += strspn(was + entry, " ");
    size_t name = strcspn(was + line, ": ");
    snprintf(text, room, "%.*s: `%.*s` was `%.*s`", (int)name, was + line,
             (int)entry_bytes(is + entry), is + entry, (int)entry_bytes(was + entry), was + entry);
}

static tnd_status_t check_fits(const tnd_checkpoint_writer_t *self, const char *place,
                               const tnd_manifest_t *manifest, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->config.plan;
    const tnd_cursor_t *cursor = &manifest->cursor;
    char difference[256] = "";
    if (manifest->graph != NULL && strcmp(manifest->graph, self->graph) != 0)
        find_difference(manifest->graph, self->graph, difference, sizeof difference);
    if (cursor->seed != plan->seed)
        return tnd_fail(error, "%s is of another graph: the seed is %" PRIu64 " and was %" PRIu64,
                        place, plan->seed, cursor->seed);
    if (cursor->lanes != plan->lanes)
        return tnd_fail(error,
                        "%s is of another graph: there are %" PRIu32 " lanes and were %" PRIu32,
                        place, plan->lanes, cursor->lanes);
    if (manifest->replicas != self->replicas)
        return tnd_fail(error,
                        "%s is of another graph: there are %" PRIu32 " replicas and were %" PRIu32,
                        place, self->replicas, manifest->replicas);
    if (cursor->graph[0] != plan->fingerprint[0] || cursor->graph[1] != plan->fingerprint[1])
        return tnd_fail(error, "%s is of another graph%s%s", place,
                        difference[0] != '\0' ? ": " : "", difference);
    return TND_OK;
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
        status = tnd_fail(&why, "its data files are not those of its cursor");
    return status == TND_OK ? TND_OK : tnd_fail(error, "%s: %s", place, why.text);
}

static void take(tnd_checkpoint_writer_t *self, const char *dir, tnd_manifest_t *manifest)
{
    snprintf(self->resume.dir, sizeof self->resume.dir, "%s", dir);
    self->resume.step = manifest->cursor.step;
    self->resume.replicas = manifest->replicas;
    self->resume.parts = manifest->parts;
    manifest->parts = NULL;
    self->cursor = manifest->cursor;
    self->resumes = true;
    tell(self, TND_LOG_INFO, "goes on behind step %" PRIu64 ", from %.300s",
         manifest->cursor.step - 1, dir);
}

/*  The newest that is whole of those in a folder; what is skipped is said aloud. */
static tnd_status_t find_latest(tnd_checkpoint_writer_t *self, const char *dir, bool wanted,
                                tnd_error_t *error)
{
    uint64_t *steps;
    size_t count;
    TND_TRY(tnd_store_list(dir, &steps, &count, error));
    tnd_status_t status = TND_OK;
    size_t damaged = 0;
    for (size_t i = 0; i < count && status == TND_OK && !self->resumes; i++) {
        tnd_manifest_t manifest;
        tnd_error_t why;
        char place[TND_STORE_PATH];
        snprintf(place, sizeof place, "%.900s/step-%08" PRIu64, dir, steps[i]);
        if (!tnd_store_has(dir, steps[i])) {
            tell(self, TND_LOG_INFO, "the checkpoint behind step %" PRIu64 " was never finished",
                 steps[i] - 1);
            continue;
        }
        bool whole = tnd_store_read(dir, steps[i], &manifest, &why) == TND_OK;
        bool good = whole && check_parts(self, dir, &manifest, &why) == TND_OK;
        if (good)
            status = check_fits(self, place, &manifest, error);
        if (good && status == TND_OK)
            status = read_data(&manifest, place, &self->was, error);
        if (good && status == TND_OK)
            take(self, dir, &manifest);
        if (!good) {
            damaged++;
            tell(self, TND_LOG_WARNING,
                 "the checkpoint behind step %" PRIu64 " cannot be used: %.380s", steps[i] - 1,
                 why.text);
        }
        if (whole)
            tnd_manifest_free(&manifest);
    }
    free(steps);
    if (status != TND_OK || self->resumes)
        return status;
    if (damaged > 0)
        return tnd_fail(error,
                        "%s: none of its %zu checkpoints can be used: begin anew in another "
                        "folder",
                        dir, damaged);
    if (wanted)
        return tnd_fail(error, "no checkpoint at %s", dir);
    tell(self, TND_LOG_WARNING, "no checkpoint in %.300s: begins at the start", dir);
    return TND_OK;
}

/*  One that the user named: its folder, its manifest, or a folder of several. */
static tnd_status_t find_named(tnd_checkpoint_writer_t *self, const char *path, tnd_error_t *error)
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
        status = read_data(&manifest, file, &self->was, error);
    if (status == TND_OK)
        take(self, dir, &manifest);
    tnd_manifest_free(&manifest);
    return status;
}

/*  A folder with the checkpoints of an earlier run is not written into by another one. */
static tnd_status_t refuse_old(const tnd_checkpoint_writer_t *self, tnd_error_t *error)
{
    uint64_t *steps;
    size_t count;
    tnd_status_t status = tnd_store_list(self->options->dir, &steps, &count, error);
    for (size_t i = 0; i < count && status == TND_OK; i++) {
        tnd_manifest_t manifest;
        if (tnd_store_read(self->options->dir, steps[i], &manifest, NULL) != TND_OK)
            continue;
        tnd_manifest_free(&manifest);
        status = tnd_fail(error,
                          "%s: holds a checkpoint behind step %" PRIu64
                          " of an earlier run: go on from it with --resume, or name another folder",
                          self->options->dir, steps[i] - 1);
    }
    free(steps);
    return status;
}

/*  What is already there counts among those that are kept; what lies ahead of a cursor that the
 *  user went back to is given up.
 */
static void count_kept(tnd_checkpoint_writer_t *self)
{
    uint64_t *steps;
    size_t count;
    if (tnd_store_list(self->options->dir, &steps, &count, NULL) != TND_OK)
        return;
    for (size_t i = count; i > 0; i--) {
        tnd_manifest_t manifest;
        uint64_t step = steps[i - 1];
        if (tnd_store_read(self->options->dir, step, &manifest, NULL) != TND_OK)
            continue;
        tnd_manifest_free(&manifest);
        if (step <= self->resume.step) {
            tnd_checkpoint_found(self->machine, step);
            continue;
        }
        tell(self, TND_LOG_WARNING,
             "the checkpoint behind step %" PRIu64
             " is given up: the run goes on from an earlier one",
             step - 1);
        tnd_store_forget(self->options->dir, step);
    }
    free(steps);
}

static void make_machine(tnd_checkpoint_writer_t *self)
{
    tnd_checkpoint_config_t config = {.replicas = self->replicas,
                                      .every_steps = self->options->every.steps,
                                      .every_ns = self->options->every.ns,
                                      .keep = self->options->keep,
                                      .depth = self->config.depth,
                                      .ahead = self->config.ahead,
                                      .from = self->resume.step};
    self->machine_memory = tnd_allocate_zeroed(1, tnd_checkpoint_bytes(&config));
    self->machine = tnd_checkpoint_init(self->machine_memory, &config);
}

static tnd_status_t find(tnd_checkpoint_writer_t *self, tnd_error_t *error)
{
    const tnd_checkpoint_options_t *options = self->options;
    if (strcmp(options->resume, "none") == 0)
        return refuse_old(self, error);
    if (strcmp(options->resume, "latest") == 0)
        return find_latest(self, options->dir, false, error);
    return find_named(self, options->resume, error);
}

/*  Before the folder is made, which may be the very one that is not there. */
static tnd_status_t check_place(const char *resume, tnd_error_t *error)
{
    if (strcmp(resume, "none") == 0 || strcmp(resume, "latest") == 0 || access(resume, F_OK) == 0)
        return TND_OK;
    return tnd_fail(error, "no checkpoint at %s", resume);
}

static char *print_graph(const tnd_plan_t *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_topology_print(plan->topology, "\n", out);
    fclose(out);
    return text;
}

tnd_status_t tnd_checkpoint_writer_new(tnd_checkpoint_writer_t **self_p,
                                       const tnd_checkpoint_writer_config_t *config,
                                       tnd_error_t *error)
{
    const tnd_plan_t *plan = config->plan;
    tnd_checkpoint_writer_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->options = plan->checkpoint;
    self->replicas = plan->chains[0].replicas;
    self->graph = print_graph(plan);
    self->jobs_end = &self->jobs;
    self->news_end = &self->news;
    self->done_end = &self->done;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    *self_p = self;
    tnd_status_t status = check_place(self->options->resume, error);
    if (status == TND_OK)
        status = tnd_store_open(&self->store, self->options->dir, error);
    if (status == TND_OK)
        status = find(self, error);
    make_machine(self);
    if (status != TND_OK)
        return status;
    count_kept(self);
    perform(self, NULL);
    tnd_thread_create(&self->thread, write_all, self);
    self->started = true;
    return TND_OK;
}

void tnd_checkpoint_writer_destroy(tnd_checkpoint_writer_t **self_p)
{
    tnd_checkpoint_writer_t *self = *self_p;
    if (self == NULL)
        return;
    if (self->started) {
        pthread_mutex_lock(&self->lock);
        self->stopping = true;
        pthread_cond_signal(&self->changed);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
        take_done(self);
    }
    /* What the last one that was written lets go. */
    for (job_t *job; (job = take_first(&self->jobs, &self->jobs_end)) != NULL; free_job(job))
        forget(self, job);
    tnd_log_level_t level;
    char text[480];
    while (tnd_checkpoint_writer_news(self, &level, text, sizeof text))
        continue;
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    tnd_store_close(&self->store);
    free(self->resume.parts);
    free(self->graph);
    free(self->data);
    tnd_data_table_free(&self->was);
    free(self->machine_memory);
    free(self);
    *self_p = NULL;
}

const tnd_resume_t *tnd_checkpoint_writer_resume(const tnd_checkpoint_writer_t *self)
{
    return self->resumes ? &self->resume : NULL;
}

const tnd_cursor_t *tnd_checkpoint_writer_cursor(const tnd_checkpoint_writer_t *self)
{
    return self->resumes ? &self->cursor : NULL;
}

tnd_status_t tnd_checkpoint_writer_data(tnd_checkpoint_writer_t *self,
                                        const tnd_data_table_t *table, tnd_error_t *error)
{
    size_t size = 0;
    assert(self->data == NULL);
    if (self->resumes)
        TND_TRY(tnd_data_table_compare(&self->was, table, self->options->trust_data, error));
    FILE *out = tnd_memory_stream(&self->data, &size);
    for (size_t i = 0; i < table->count; i++)
        tnd_data_table_write(table, i, out);
    fclose(out);
    return TND_OK;
}
