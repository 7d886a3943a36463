/*  runtime/feed/feed.c - global steps for programs that pull them. */
#include "runtime/feed/feed_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/fork_count.h"
#include "runtime/checkpoint/store.h"

tnd_feed_t *tnd_feed_new(tnd_device_workers_t *workers, const tnd_feed_facts_t *facts)
{
    tnd_feed_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->workers = workers;
    self->facts = *facts;
    if (facts->models != NULL)
        self->facts.models = tnd_models_hold(facts->models);
    self->forks = tnd_fork_count();
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    return self;
}

void tnd_feed_destroy(tnd_feed_t **self_p)
{
    if (*self_p == NULL)
        return;
    tnd_models_drop(&(*self_p)->facts.models);
    pthread_cond_destroy(&(*self_p)->changed);
    pthread_mutex_destroy(&(*self_p)->lock);
    free(*self_p);
    *self_p = NULL;
}

tnd_models_t *tnd_feed_models(tnd_feed_t *self)
{
    return self->facts.models;
}

bool tnd_feed_failed(const tnd_feed_t *self)
{
    return tnd_device_workers_failed(self->workers);
}

bool tnd_feed_over(const tnd_feed_t *self)
{
    return tnd_device_workers_is_over(self->workers);
}

void tnd_feed_discard(tnd_feed_t *self)
{
    if (self->facts.repeats && !tnd_feed_is_elsewhere(self))
        tnd_device_workers_discard_rest(self->workers);
    else
        tnd_device_workers_discard(self->workers);
}

const tnd_schema_t *tnd_feed_schema(const tnd_feed_t *feed)
{
    return feed->facts.schema;
}

/* --- one caller at a time --------------------------------------------------------------------- */

const char *tnd_feed_refused(const tnd_feed_t *self)
{
    return self->refused;
}

tnd_status_t tnd_feed_refuse(tnd_feed_t *self, const char *what)
{
    pthread_mutex_lock(&self->lock);
    snprintf(self->refused, sizeof self->refused, "%s: %s", self->facts.name, what);
    pthread_mutex_unlock(&self->lock);
    return TND_FAILED;
}

/*  Two threads that pull at the same time would each miss rows that the other one gets. */
static tnd_status_t enter(tnd_feed_t *self)
{
    if (self->forks != tnd_fork_count())
        return TND_FAILED;
    if (atomic_exchange(&self->busy, true))
        return tnd_feed_refuse(
            self, "two threads use this feed at the same time: one thread pulls and runs "
                  "all steps, and gives rows to others");
    return TND_OK;
}

static tnd_status_t leave(tnd_feed_t *self, tnd_status_t status)
{
    atomic_store(&self->busy, false);
    return status;
}

/*  The step that another thread pulled would be committed unused. */
static bool takes_from_another(const tnd_feed_t *self)
{
    return tnd_feed_is_elsewhere(self) && tnd_device_workers_is_unused(self->workers);
}

/*  Steps may still be there, until the actors stop. */
static bool is_finished(const tnd_feed_t *self)
{
    return self->finished && !tnd_device_workers_failed(self->workers);
}

/*  A thread of the program is to pull steps. */
static tnd_status_t begin_pull(tnd_feed_t *feed)
{
    TND_TRY(enter(feed));
    if (is_finished(feed))
        return leave(feed, TND_STOPPED);
    if (tnd_feed_check_order(feed) != TND_OK)
        return leave(feed, TND_FAILED);
    if (takes_from_another(feed))
        return leave(feed,
                     tnd_feed_refuse(feed, "another thread has pulled a step and not run it: one "
                                           "thread pulls and runs all steps"));
    feed->puller = pthread_self();
    atomic_store(&feed->pulled, true);
    return TND_OK;
}

tnd_status_t tnd_feed_next(tnd_feed_t *feed)
{
    TND_TRY(begin_pull(feed));
    return leave(feed, tnd_feed_take_turn(feed));
}

bool tnd_feed_due(tnd_feed_t *feed)
{
    if (begin_pull(feed) != TND_OK)
        return false;
    bool due = !feed->facts.repeats || tnd_feed_is_due(feed);
    atomic_store(&feed->busy, false);
    return due;
}

bool tnd_feed_repeats(const tnd_feed_t *feed)
{
    return feed->facts.repeats;
}

tnd_status_t tnd_feed_rewind(tnd_feed_t *feed)
{
    if (atomic_load(&feed->busy) && pthread_equal(feed->puller, pthread_self()))
        return tnd_feed_refuse(
            feed, "tnd_feed_rewind was called inside of a step: call it between two steps");
    TND_TRY(begin_pull(feed));
    if (feed->facts.spans)
        return leave(feed, tnd_feed_refuse(
                               feed, "with `span_epochs` all epochs are one, and tnd_feed_rewind "
                                     "would end the run: tnd_session_finish does that"));
    if (tnd_device_workers_is_between(feed->workers))
        return leave(feed,
                     tnd_feed_refuse(feed, "its last step is committed, since another feed was "
                                           "pulled after it: call tnd_feed_rewind before "
                                           "that, or after the next step"));
    return leave(feed, tnd_device_workers_cut(feed->workers));
}

bool tnd_feed_last(const tnd_feed_t *feed)
{
    return tnd_device_workers_last(feed->workers);
}

bool tnd_feed_needs_caller(const tnd_feed_t *self)
{
    return !self->facts.repeats && atomic_load(&self->pulled) &&
           pthread_equal(self->puller, pthread_self()) && !tnd_feed_over(self) &&
           !tnd_device_workers_failed(self->workers);
}

/* --- steps ------------------------------------------------------------------------------------ */

uint32_t tnd_feed_accumulate(tnd_feed_t *feed)
{
    feed->shares = true;
    return feed->facts.accumulate;
}

/*  A program that has a model for each replica would train, save or load the first one of each share
 *  only. */
static tnd_status_t check_shares(const tnd_feed_t *self, tnd_error_t *error)
{
    if (self->shares || self->facts.accumulate == 1)
        return TND_OK;
    return tnd_fail(
        error,
        "`accumulate: %" PRIu32 "` gives so many consecutive replicas one model, and "
        "this program has not asked for that number: call tnd_feed_accumulate (in Python "
        "feed.accumulate), and use model `id / number` for replica `id`",
        self->facts.accumulate);
}

/*  Whether `apply` is what the program means. */
static bool may_apply(tnd_feed_t *self, tnd_step_fn *apply)
{
    tnd_error_t why;
    return apply == NULL || check_shares(self, &why) == TND_OK ||
           tnd_feed_refuse(self, why.text) == TND_OK;
}

static tnd_status_t call_step(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->step(replica, feed->user);
}

static tnd_status_t call_post(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->post(replica, feed->user);
}

static tnd_status_t call_apply(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->apply(replica, feed->user);
}

static const tnd_task_t *task_of(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply,
                                 void *user)
{
    feed->step = step;
    feed->apply = apply;
    feed->user = user;
    feed->task = (tnd_task_t){
        .step = call_step, .apply = apply != NULL ? call_apply : NULL, .context = feed};
    return &feed->task;
}

tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply, void *user)
{
    TND_TRY(enter(feed));
    if (is_finished(feed) || !may_apply(feed, apply))
        return leave(feed, TND_FAILED);
    return leave(feed, tnd_device_workers_run(feed->workers, task_of(feed, step, apply, user)));
}

tnd_status_t tnd_feed_run_steps(tnd_feed_t *feed, uint64_t count, uint64_t *ran_p,
                                tnd_step_fn *step, tnd_step_fn *apply, void *user)
{
    *ran_p = 0;
    if (count == 0)
        return TND_OK;
    TND_TRY(begin_pull(feed));
    if (!may_apply(feed, apply))
        return leave(feed, TND_FAILED);
    const tnd_task_t *task = task_of(feed, step, apply, user);
    tnd_status_t status = tnd_feed_await_turn(feed);
    while (status == TND_OK &&
           (status = tnd_device_workers_run_steps(feed->workers, count, task, ran_p)) == TND_AGAIN)
        status = tnd_feed_skip_turns(feed);
    return leave(feed, tnd_feed_end_turn(feed, status));
}

static tnd_status_t check_sync(tnd_feed_t *feed, tnd_step_fn *post)
{
    if (feed->facts.repeats)
        return tnd_feed_refuse(feed, "it has `every:`, so it is fed again and again: call "
                                     "tnd_feed_sync of the feed that it follows");
    if (post == NULL)
        return tnd_feed_refuse(feed, "tnd_feed_sync has no `post`: pass a function, which may post "
                                     "nothing");
    return may_apply(feed, post) ? TND_OK : TND_FAILED;
}

tnd_status_t tnd_feed_sync(tnd_feed_t *feed, tnd_step_fn *post, tnd_step_fn *apply, void *user)
{
    TND_TRY(begin_pull(feed));
    if (check_sync(feed, post) != TND_OK)
        return leave(feed, TND_FAILED);
    feed->post = post;
    feed->apply = apply;
    feed->user = user;
    const tnd_task_t task = {
        .start = call_post, .apply = apply != NULL ? call_apply : NULL, .context = feed};
    return leave(feed, tnd_device_workers_sync(feed->workers, &task));
}

static tnd_status_t take(tnd_replica_t *replica, void *user)
{
    tnd_replica_take(replica, (tnd_taken_t *)user + replica->local);
    return TND_OK;
}

tnd_status_t tnd_feed_take(tnd_feed_t *feed, tnd_taken_t *taken)
{
    TND_TRY(tnd_feed_next(feed));
    for (uint32_t i = 0; i < feed->facts.count; i++)
        taken[i].rows = NULL;
    tnd_status_t status = tnd_feed_run(feed, take, NULL, taken);
    for (uint32_t i = 0; i < feed->facts.count && status != TND_OK; i++)
        if (taken[i].rows != NULL)
            tnd_taken_release(taken[i].rows);
    return status;
}

uint32_t tnd_feed_replicas(const tnd_feed_t *feed, uint32_t *first_p, uint32_t *count_p)
{
    *first_p = feed->facts.first;
    *count_p = feed->facts.count;
    return feed->facts.replicas;
}

uint64_t tnd_feed_steps(const tnd_feed_t *feed)
{
    return feed->facts.steps;
}

static tnd_status_t keep(const tnd_feed_t *feed, uint64_t done, uint32_t replica, tnd_file_fn *save,
                         void *user, tnd_saved_t *saved, tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    TND_TRY(tnd_store_begin(feed->facts.keep, done, error));
    tnd_store_draft_path(path, feed->facts.keep, done, replica);
    if (save(path, replica, user) != TND_OK) {
        unlink(path);
        return tnd_fail(error, "the model of replica %" PRIu32 " could not be saved to %s", replica,
                        path);
    }
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return tnd_fail(error,
                        "the function of tnd_feed_save wrote no file %s: without a model, call "
                        "tnd_feed_save without a function",
                        path);
    return tnd_store_seal(feed->facts.keep, done, replica, saved, error);
}

tnd_status_t tnd_feed_save(tnd_feed_t *feed, tnd_file_fn *save, void *user, tnd_error_t *error)
{
    uint64_t step;
    if (feed->facts.keep == NULL)
        return tnd_fail(error, "the graph has no `checkpoint: {dir: DIR}`");
    tnd_report_t *reports = tnd_device_workers_reports(feed->workers, &step);
    if (reports == NULL)
        return tnd_fail(error, "no step was run that could be kept");
    if (save != NULL)
        TND_TRY(check_shares(feed, error));
    for (uint32_t i = 0; i < feed->facts.count; i += feed->facts.accumulate) {
        tnd_error_t why;
        tnd_report_t *report = &reports[i];
        report->kept = save != NULL ? TND_KEPT : TND_KEPT_NONE;
        if (save == NULL)
            continue;
        if (keep(feed, step + 1, feed->facts.first + i, save, user, &report->part, &why) == TND_OK)
            continue;
        report->kept = TND_KEPT_NOT;
        snprintf(report->not_kept_why, sizeof report->not_kept_why, "%.255s", why.text);
        return tnd_fail(error, "%s", why.text);
    }
    feed->saved = step + 1;
    return TND_OK;
}

/* --- the checkpoint of a program that leaves -------------------------------------------------- */

void tnd_feed_checkpoints(tnd_feed_t *self, const tnd_keep_note_t *word)
{
    pthread_mutex_lock(&self->lock);
    self->written = word->written;
    self->closed = word->closed;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void tnd_feed_end(tnd_feed_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->ended = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/*  Whether its manifest is there, which is seen only where the hosts share the folder. */
static bool is_written(const tnd_feed_t *self)
{
    tnd_manifest_t manifest;
    if (self->written >= self->saved)
        return true;
    if (tnd_store_read(self->facts.keep, self->saved, &manifest, NULL) != TND_OK)
        return false;
    tnd_manifest_free(&manifest);
    return true;
}

tnd_status_t tnd_feed_finish_save(tnd_feed_t *self, uint64_t wait_ns, tnd_error_t *error)
{
    if (self->saved == 0)
        return TND_OK;
    tnd_device_workers_commit(self->workers);
    uint64_t until = tnd_clock_read(CLOCK_REALTIME) + wait_ns;
    struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&self->lock);
    while (self->closed < self->saved && !self->ended &&
           pthread_cond_timedwait(&self->changed, &self->lock, &deadline) == 0)
        continue;
    bool late = self->closed < self->saved && !self->ended;
    bool whole = is_written(self);
    pthread_mutex_unlock(&self->lock);
    return whole
               ? TND_OK
               : tnd_fail(error,
                          "%s: the checkpoint after step %" PRIu64 " is not complete, although "
                          "this program saved its models: %s",
                          self->facts.name, self->saved - 1,
                          late ? "other hosts did not save theirs in time"
                               : "the run ended first, or a warning tells why it was not written");
}

tnd_status_t tnd_feed_finish(tnd_feed_t *self, uint64_t *steps_p)
{
    TND_TRY(enter(self));
    self->finished = !tnd_feed_over(self);
    if (!tnd_device_workers_steps(self->workers, steps_p))
        *steps_p = TND_UNKNOWN;
    else if (*steps_p > 0)
        tnd_device_workers_commit(self->workers);
    return leave(self, TND_OK);
}

uint64_t tnd_feed_committed(const tnd_feed_t *self)
{
    uint64_t steps;
    bool runs = tnd_device_workers_steps(self->workers, &steps) && steps > 0;
    return runs ? steps - !tnd_device_workers_is_ended(self->workers) : 0;
}

uint64_t tnd_feed_ends(const tnd_feed_t *self)
{
    return tnd_device_workers_ends_seen(self->workers);
}

tnd_status_t tnd_feed_restore(tnd_feed_t *feed, tnd_file_fn *load, void *user, tnd_error_t *error)
{
    const tnd_resume_t *resume = feed->facts.resume;
    if (resume == NULL || load == NULL)
        return resume == NULL ? TND_END : TND_OK;
    TND_TRY(check_shares(feed, error));
    for (uint32_t i = 0; i < feed->facts.count; i += feed->facts.accumulate) {
        char path[TND_STORE_PATH];
        uint32_t replica = feed->facts.first + i;
        TND_TRY(tnd_store_check(resume, replica, path, error));
        if (load(path, replica, user) != TND_OK)
            return tnd_fail(error, "the model of replica %" PRIu32 " could not be loaded from %s",
                            replica, path);
    }
    return TND_OK;
}
