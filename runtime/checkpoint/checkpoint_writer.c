/*  runtime/checkpoint/checkpoint_writer.c - writes the checkpoints of a run, on the leader. */
#include "runtime/checkpoint/checkpoint_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/log_events.h"
#include "runtime/base/thread.h"
#include "runtime/checkpoint/resume.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/topology/topology.h"

/*  What the thread does with the checkpoints, in the order of the jobs. */
typedef enum {
    WRITE,          /* the manifest */
    ADD_VALIDATION, /* to the manifest of its step, if that was written */
    REMOVE,         /* the files of its step */
    REMOVE_EARLIER  /* all checkpoints before its step, but for the one of `best` */
} job_kind_t;

typedef struct job {
    struct job *next;
    job_kind_t kind;
    tnd_manifest_t manifest;
    uint64_t best;
    bool whole;    /* it was written */
    char why[256]; /* it was not */
} job_t;

typedef struct news {
    struct news *next;
    tnd_log_level_t level;
    char text[TND_CHECKPOINT_NEWS_SIZE];
} news_t;

struct tnd_checkpoint_writer {
    tnd_checkpoint_writer_config_t config;
    const tnd_checkpoint_options_t *options;
    uint32_t replicas;
    char *graph;
    char *data; /* what the run reads; NULL: not known yet */
    tnd_store_t *store;
    tnd_resume_search_t search;
    bool started;
    void *machine_memory;
    tnd_checkpoint_t *machine;
    bool word_new;
    uint64_t unwritten; /* since the last that was written */
    uint64_t failed;    /* in all */
    char unwritten_why[256];

    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    job_t *jobs, **jobs_end;
    job_t *done, **done_end;
    news_t *news, **news_end;
    bool stopping, writing;
};

/* --- news ------------------------------------------------------------------------------------- */

static void add_news(void *context, tnd_log_level_t level, const char *text)
{
    tnd_checkpoint_writer_t *self = context;
    news_t *news = tnd_allocate_zeroed(1, sizeof *news);
    snprintf(news->text, sizeof news->text, "%s", text);
    news->level = level;
    pthread_mutex_lock(&self->lock);
    *self->news_end = news;
    self->news_end = &news->next;
    pthread_mutex_unlock(&self->lock);
}

__attribute__((format(printf, 3, 4))) static void
tell(tnd_checkpoint_writer_t *self, tnd_log_level_t level, const char *format, ...)
{
    char text[TND_CHECKPOINT_NEWS_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_news(self, level, text);
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

/* --- writing ---------------------------------------------------------------------------------- */

/*  In a folder that another run may have locked meanwhile nothing is removed. */
static void forget(const tnd_checkpoint_writer_t *self, const job_t *job)
{
    if (!tnd_store_holds(self->store))
        return;
    if (job->kind == REMOVE)
        tnd_store_forget(self->options->dir, job->manifest.cursor.step);
    else
        tnd_store_forget_below(self->options->dir, job->manifest.cursor.step, job->best);
}

/*  Keeps the folder locked although it was removed. */
static tnd_status_t keep_lock(tnd_checkpoint_writer_t *self, tnd_error_t *error)
{
    if (tnd_store_holds(self->store))
        return TND_OK;
    TND_TRY(tnd_store_lock_again(self->store, error));
    tell(self, TND_LOG_WARNING,
         "%.300s was removed while the run used it: it is made and locked again, without the "
         "checkpoints that it had",
         self->options->dir);
    return TND_OK;
}

static void write_one(tnd_checkpoint_writer_t *self, job_t *job)
{
    tnd_error_t error;
    uint64_t step = job->manifest.cursor.step;
    tnd_status_t status = keep_lock(self, &error);
    if (status == TND_OK)
        status = tnd_store_begin(self->options->dir, step, &error);
    if (status == TND_OK)
        status = tnd_store_commit(self->options->dir, &job->manifest, &error);
    job->whole = status == TND_OK;
    if (job->whole)
        tell(self, TND_LOG_INFO, "checkpoint after step %" PRIu64 " in %.300s", step - 1,
             self->options->dir);
    else
        tell(self, TND_LOG_WARNING, TND_LOG_NO_CHECKPOINT "%" PRIu64 ": %.400s", step - 1,
             error.text);
    if (!job->whole)
        snprintf(job->why, sizeof job->why, "%.255s", error.text);
    /* Its parts would use the disk space of a later checkpoint. */
    if (!job->whole && tnd_store_holds(self->store))
        tnd_store_forget(self->options->dir, step);
}

/*  A run that resumes from it does not validate again. */
static void add_validation(tnd_checkpoint_writer_t *self, job_t *job)
{
    tnd_error_t error;
    tnd_manifest_t manifest;
    uint64_t step = job->manifest.cursor.step;
    bool has = tnd_store_holds(self->store) && tnd_store_has(self->options->dir, step);
    if (!has && job->best == step)
        tell(self, TND_LOG_WARNING,
             "the value after step %" PRIu64 " is the best one, but no checkpoint exists after "
             "that step: a program calls tnd_feed_save (in Python feed.save) after each step after "
             "which a validation is due",
             step - 1);
    if (!has)
        return;
    tnd_status_t status = tnd_store_read(self->options->dir, step, &manifest, &error);
    if (status == TND_OK) {
        tnd_validations_t before = manifest.validations;
        manifest.validations = job->manifest.validations;
        status = tnd_store_commit(self->options->dir, &manifest, &error);
        manifest.validations = before;
        tnd_manifest_free(&manifest);
    }
    if (status != TND_OK)
        tell(self, TND_LOG_WARNING,
             "the checkpoint after step %" PRIu64 " lacks the validation after that step: %.300s",
             step - 1, error.text);
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
    tnd_validations_free(&job->manifest.validations);
    free(job);
}

static void carry_out(tnd_checkpoint_writer_t *self, job_t *job)
{
    if (job->kind == WRITE)
        write_one(self, job);
    else if (job->kind == ADD_VALIDATION)
        add_validation(self, job);
    else
        forget(self, job);
}

static void *write_all(void *context)
{
    tnd_checkpoint_writer_t *self = context;
    tnd_thread_begin("checkpoints");
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (self->jobs == NULL && !self->stopping)
            pthread_cond_wait(&self->changed, &self->lock);
        job_t *job = take_first(&self->jobs, &self->jobs_end);
        if (job == NULL)
            break;
        self->writing = true;
        pthread_mutex_unlock(&self->lock);
        carry_out(self, job);
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
                        const tnd_epoch_metrics_t *sums, const tnd_saved_t *parts)
{
    job_t *job = tnd_allocate_zeroed(1, sizeof *job);
    job->manifest = (tnd_manifest_t){.cursor = *cursor,
                                     .sums = *sums,
                                     .graph = self->graph,
                                     .data = self->data,
                                     .validations = tnd_validations_copy(self->config.validations),
                                     .replicas = self->replicas};
    job->manifest.parts = tnd_allocate_zeroed(self->replicas, sizeof *parts);
    memcpy(job->manifest.parts, parts, self->replicas * sizeof *parts);
    give(self, job);
}

static job_t *make_job(job_kind_t kind, uint64_t step)
{
    job_t *job = tnd_allocate_zeroed(1, sizeof *job);
    job->kind = kind;
    job->manifest.cursor.step = step;
    return job;
}

static void forget_later(tnd_checkpoint_writer_t *self, uint64_t below, uint64_t best)
{
    job_t *job = make_job(REMOVE_EARLIER, below);
    job->best = best;
    give(self, job);
}

/*  Later checkpoints would have it deleted. */
static void give_up(tnd_checkpoint_writer_t *self, uint64_t step)
{
    pthread_mutex_lock(&self->lock);
    job_t **at = &self->jobs;
    while (*at != NULL && ((*at)->kind != WRITE || (*at)->manifest.cursor.step != step))
        at = &(*at)->next;
    job_t *job = *at;
    if (job != NULL) {
        *at = job->next;
        if (self->jobs_end == &job->next)
            self->jobs_end = at;
    }
    pthread_mutex_unlock(&self->lock);
    if (job == NULL)
        return; /* it is being written */
    free_job(job);
    tell(self, TND_LOG_INFO,
         "the models of step %" PRIu64 " are not kept: %" PRIu64
         " later checkpoints wait to be written",
         step - 1, self->options->keep);
    give(self, make_job(REMOVE, step));
}

/* --- effects of the machine ------------------------------------------------------------------- */

static void count_unwritten(tnd_checkpoint_writer_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void count_unwritten(tnd_checkpoint_writer_t *self, const char *format, ...)
{
    va_list arguments;
    self->unwritten++;
    self->failed++;
    va_start(arguments, format);
    vsnprintf(self->unwritten_why, sizeof self->unwritten_why, format, arguments);
    va_end(arguments);
}

/*  The models of the step were not all saved. */
static void lack(tnd_checkpoint_writer_t *self, const tnd_checkpoint_effect_t *effect)
{
    if (effect->why[0] != '\0')
        count_unwritten(self, "%s", effect->why);
    else
        count_unwritten(self, "%" PRIu32 " of %" PRIu32 " models were not saved",
                        self->replicas - effect->have, self->replicas);
    tell(self, TND_LOG_WARNING, TND_LOG_NO_CHECKPOINT "%" PRIu64 ": %s", effect->step - 1,
         self->unwritten_why);
    give(self, make_job(REMOVE, effect->step));
}

/*  `cursor` and `sums` are those of the step that is booked now. */
static void perform(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                    const tnd_epoch_metrics_t *sums)
{
    tnd_checkpoint_effect_t effect;
    while (tnd_checkpoint_next(self->machine, &effect))
        switch (effect.kind) {
        case TND_CHECKPOINT_WRITE:
            assert(cursor != NULL && cursor->step == effect.step);
            write_later(self, cursor, sums, effect.parts);
            break;
        case TND_CHECKPOINT_GIVE_UP:
            give_up(self, effect.step);
            break;
        case TND_CHECKPOINT_LACKS:
            lack(self, &effect);
            break;
        case TND_CHECKPOINT_FORGET:
            forget_later(self, effect.step, effect.best);
            break;
        case TND_CHECKPOINT_KEEP:
            self->word_new = true;
            break;
        }
}

/*  Reports finished writes to the machine. */
static void take_done(tnd_checkpoint_writer_t *self)
{
    for (;;) {
        pthread_mutex_lock(&self->lock);
        job_t *job = take_first(&self->done, &self->done_end);
        pthread_mutex_unlock(&self->lock);
        if (job == NULL)
            return;
        if (job->whole) {
            self->unwritten = 0;
            tnd_checkpoint_written(self->machine, job->manifest.cursor.step);
        } else if (job->kind == WRITE) {
            count_unwritten(self, "%s", job->why);
            tnd_checkpoint_failed(self->machine, job->manifest.cursor.step);
        }
        free_job(job);
        perform(self, NULL, NULL);
    }
}

uint64_t tnd_checkpoint_writer_unwritten(tnd_checkpoint_writer_t *self, const char **why_p)
{
    take_done(self);
    *why_p = self->unwritten_why;
    return self->unwritten;
}

uint64_t tnd_checkpoint_writer_failed(const tnd_checkpoint_writer_t *self)
{
    return self->failed;
}

bool tnd_checkpoint_writer_busy(tnd_checkpoint_writer_t *self)
{
    take_done(self);
    pthread_mutex_lock(&self->lock);
    bool busy = self->jobs != NULL || self->writing || self->done != NULL;
    pthread_mutex_unlock(&self->lock);
    return busy;
}

/* --- reports of feeders ----------------------------------------------------------------------- */

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
                                  const tnd_epoch_metrics_t *sums, uint64_t now)
{
    tnd_checkpoint_booked(self->machine, cursor->step, now);
    perform(self, cursor, sums);
}

void tnd_checkpoint_writer_end(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                               const tnd_epoch_metrics_t *sums)
{
    tnd_checkpoint_end(self->machine, cursor->step);
    perform(self, cursor, sums);
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

/* --- the best one ----------------------------------------------------------------------------- */

void tnd_checkpoint_writer_validated(tnd_checkpoint_writer_t *self, uint64_t step, uint64_t best)
{
    job_t *job = make_job(ADD_VALIDATION, step);
    job->manifest.validations = tnd_validations_copy(self->config.validations);
    job->best = best;
    give(self, job);
    take_done(self);
    tnd_checkpoint_pin(self->machine, best);
    perform(self, NULL, NULL);
}

uint64_t tnd_checkpoint_writer_best(tnd_checkpoint_writer_t *self)
{
    take_done(self);
    return tnd_checkpoint_word(self->machine).best;
}

/* --- set-up ----------------------------------------------------------------------------------- */

/*  Counts the checkpoints in the folder, and removes those after the one that was resumed from. */
static void count_existing(tnd_checkpoint_writer_t *self)
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
        if (step <= self->search.resume.step) {
            tnd_checkpoint_found(self->machine, step);
            continue;
        }
        tell(self, TND_LOG_WARNING,
             "the checkpoint after step %" PRIu64
             " is removed: the run resumes from an earlier one",
             step - 1);
        tnd_store_forget(self->options->dir, step);
    }
    free(steps);
}

/*  Counts the checkpoints of an earlier run; the best one stays. */
static void count_earlier(tnd_checkpoint_writer_t *self)
{
    tnd_best_t best = {.step = 0};
    (void)tnd_resume_best(self->config.plan, &self->search.validations, &best, NULL);
    tnd_checkpoint_pin(self->machine, best.step);
    count_existing(self);
    if (tnd_checkpoint_word(self->machine).best != best.step)
        tell(self, TND_LOG_WARNING,
             "the best value so far is that after step %" PRIu64
             ", of which %.300s has no checkpoint",
             best.step - 1, self->options->dir);
}

static void make_machine(tnd_checkpoint_writer_t *self)
{
    tnd_checkpoint_config_t config = {.replicas = self->replicas,
                                      .every_steps = self->options->every.steps,
                                      .every_ns = self->options->every.ns,
                                      .keep = self->options->keep,
                                      .depth = self->config.depth,
                                      .ahead = self->config.ahead,
                                      .from = self->search.resume.step};
    for (uint32_t c = 1; c < self->config.plan->chain_count; c++)
        if (self->config.plan->chains[c].best != NULL) {
            config.rest_steps = self->config.plan->chains[c].every.steps;
            config.rest_epochs = self->config.plan->chains[c].every.epochs;
        }
    self->machine_memory = tnd_allocate_zeroed(1, tnd_checkpoint_bytes(&config));
    self->machine = tnd_checkpoint_init(self->machine_memory, &config);
}

static char *print_graph(const tnd_plan_t *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_topology_print(plan->topology, "\n", out);
    if (plan->plugins != NULL)
        fputs(plan->plugins, out);
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
    self->search =
        (tnd_resume_search_t){.plan = plan, .graph = self->graph, .context = self, .log = add_news};
    *self_p = self;
    tnd_status_t status = tnd_resume_check_path(self->options->resume, error);
    if (status == TND_OK && !self->options->evaluate)
        status = tnd_store_open(&self->store, self->options->dir, error);
    if (status == TND_OK)
        status = tnd_resume_search(&self->search, error);
    make_machine(self);
    if (status != TND_OK || self->options->evaluate)
        return status;
    count_earlier(self);
    perform(self, NULL, NULL);
    status = tnd_thread_create(&self->thread, "the checkpoints", write_all, self, error);
    self->started = status == TND_OK;
    return status;
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
    /* The last write may allow earlier checkpoints to be removed. */
    for (job_t *job; (job = take_first(&self->jobs, &self->jobs_end)) != NULL; free_job(job))
        forget(self, job);
    tnd_log_level_t level;
    char text[TND_CHECKPOINT_NEWS_SIZE];
    while (tnd_checkpoint_writer_news(self, &level, text, sizeof text))
        continue;
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    tnd_store_close(&self->store);
    free(self->graph);
    free(self->data);
    tnd_resume_search_free(&self->search);
    free(self->machine_memory);
    free(self);
    *self_p = NULL;
}

const tnd_resume_t *tnd_checkpoint_writer_resume(const tnd_checkpoint_writer_t *self)
{
    return self->search.found ? &self->search.resume : NULL;
}

const tnd_cursor_t *tnd_checkpoint_writer_cursor(const tnd_checkpoint_writer_t *self)
{
    return self->search.found ? &self->search.cursor : NULL;
}

const tnd_epoch_metrics_t *tnd_checkpoint_writer_sums(const tnd_checkpoint_writer_t *self)
{
    return self->search.found ? &self->search.sums : NULL;
}

const tnd_validations_t *tnd_checkpoint_writer_validations(const tnd_checkpoint_writer_t *self)
{
    return &self->search.validations;
}

tnd_status_t tnd_checkpoint_writer_data(tnd_checkpoint_writer_t *self,
                                        const tnd_data_table_t *table, tnd_error_t *error)
{
    size_t size = 0;
    assert(self->data == NULL);
    if (self->search.found)
        TND_TRY(
            tnd_data_table_compare(&self->search.data, table, self->options->trust_data, error));
    FILE *out = tnd_memory_stream(&self->data, &size);
    for (size_t i = 0; i < table->count; i++)
        tnd_data_table_write(table, i, out);
    fclose(out);
    return TND_OK;
}
