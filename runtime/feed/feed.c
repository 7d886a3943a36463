/*  runtime/feed/feed.c - global steps for programs that pull them. */
#include "runtime/feed/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/checkpoint/store.h"

struct tnd_feed {
    tnd_device_workers_t *workers;
    tnd_feed_facts_t facts;
    tnd_task_t task; /* of the step that is pulled */
    tnd_step_fn *step, *apply;
    void *user;
};

tnd_feed_t *tnd_feed_new(tnd_device_workers_t *workers, const tnd_feed_facts_t *facts)
{
    tnd_feed_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->workers = workers;
    self->facts = *facts;
    if (facts->models != NULL)
        self->facts.models = tnd_models_hold(facts->models);
    return self;
}

void tnd_feed_destroy(tnd_feed_t **self_p)
{
    if (*self_p == NULL)
        return;
    tnd_models_drop(&(*self_p)->facts.models);
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

void tnd_feed_discard(tnd_feed_t *self)
{
    tnd_device_workers_discard(self->workers);
}

const tnd_schema_t *tnd_feed_schema(const tnd_feed_t *feed)
{
    return feed->facts.schema;
}

tnd_status_t tnd_feed_next(tnd_feed_t *feed)
{
    return tnd_device_workers_next(feed->workers);
}

static tnd_status_t call_step(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->step(replica, feed->user);
}

static tnd_status_t call_apply(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->apply(replica, feed->user);
}

tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply, void *user)
{
    feed->step = step;
    feed->apply = apply;
    feed->user = user;
    feed->task = (tnd_task_t){
        .step = call_step, .apply = apply != NULL ? call_apply : NULL, .context = feed};
    return tnd_device_workers_run(feed->workers, &feed->task);
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
    if (save(path, replica, user) == TND_OK)
        return tnd_store_seal(feed->facts.keep, done, replica, saved, error);
    unlink(path);
    return tnd_fail(error, "the model of replica %" PRIu32 " could not be saved to %s", replica,
                    path);
}

tnd_status_t tnd_feed_save(tnd_feed_t *feed, tnd_file_fn *save, void *user, tnd_error_t *error)
{
    uint64_t step;
    if (feed->facts.keep == NULL)
        return tnd_fail(error, "the graph has no `checkpoint: {dir: DIR}`");
    tnd_report_t *reports = tnd_device_workers_reports(feed->workers, &step);
    if (reports == NULL)
        return tnd_fail(error, "no step was run that could be kept");
    for (uint32_t i = 0; i < feed->facts.count; i++) {
        tnd_error_t why;
        tnd_report_t *report = &reports[i];
        report->kept = TND_KEPT;
        if (keep(feed, step + 1, feed->facts.first + i, save, user, &report->part, &why) == TND_OK)
            continue;
        report->kept = TND_KEPT_NOT;
        snprintf(report->not_kept_why, sizeof report->not_kept_why, "%.255s", why.text);
        return tnd_fail(error, "%s", why.text);
    }
    return TND_OK;
}

tnd_status_t tnd_feed_restore(tnd_feed_t *feed, tnd_file_fn *load, void *user, tnd_error_t *error)
{
    const tnd_resume_t *resume = feed->facts.resume;
    if (resume == NULL)
        return TND_END;
    for (uint32_t i = 0; i < feed->facts.count; i++) {
        char path[TND_STORE_PATH];
        uint32_t replica = feed->facts.first + i;
        TND_TRY(tnd_store_check(resume, replica, path, error));
        if (load(path, replica, user) != TND_OK)
            return tnd_fail(error, "the model of replica %" PRIu32 " could not be loaded from %s",
                            replica, path);
    }
    return TND_OK;
}
