/*  runtime/observe/run_summary.c - the totals of a run, collected from its events. */
#include "runtime/observe/run_summary.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

static const uint64_t booked_wait_ns = 1000000000;

void tnd_run_summary_init(tnd_run_summary_t *self, const tnd_plan_t *plan)
{
    *self = (tnd_run_summary_t){.plan = plan};
    pthread_mutex_init(&self->lock, NULL);
    tnd_condition_init_monotonic(&self->booked);
    self->chains = tnd_allocate_zeroed(plan->chain_count, sizeof *self->chains);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        self->chains[c].plan = &plan->chains[c];
}

void tnd_run_summary_fini(tnd_run_summary_t *self)
{
    for (uint32_t a = 0; a < self->actor_count; a++) {
        free(self->actors[a].host);
        free(self->actors[a].actor);
        free(self->actors[a].kind);
        free(self->actors[a].counts);
    }
    free(self->actors);
    for (uint32_t i = 0; i < self->labels_count; i++) {
        for (size_t n = 0; n < self->labels[i].count; n++)
            free(self->labels[i].names[n]);
        free(self->labels[i].names);
        free(self->labels[i].actor);
    }
    free(self->labels);
    free(self->openings);
    tnd_validations_free(&self->validations);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        free(self->chains[c].reasons);
    free(self->chains);
    pthread_cond_destroy(&self->booked);
    pthread_mutex_destroy(&self->lock);
}

void tnd_run_summary_state(void *summary, uint32_t chain, tnd_leader_core_state_t state,
                           const char *waiting)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->chain = chain;
    self->chains[chain].state = state;
    snprintf(self->waiting, sizeof self->waiting, "%s",
             state == TND_LEADER_CORE_JOINING ? waiting : "");
    if (state == TND_LEADER_CORE_RUNNING && self->chains[chain].begun_ns == 0)
        self->chains[chain].begun_ns = self->chains[chain].last_ns = tnd_clock_now();
    pthread_mutex_unlock(&self->lock);
}

static void forget_openings(tnd_run_summary_t *self, uint32_t host)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->opening_count; i++)
        if (self->openings[i].host != host)
            self->openings[kept++] = self->openings[i];
    self->opening_count = kept;
}

static void note_opening(tnd_run_summary_t *self, uint32_t host,
                         const tnd_open_progress_t *progress)
{
    uint64_t now = tnd_clock_now();
    size_t i = 0;
    while (i < self->opening_count &&
           (self->openings[i].host != host ||
            strcmp(self->openings[i].progress.actor, progress->actor) != 0))
        i++;
    if (i == self->opening_count) {
        self->openings = tnd_grow(self->openings, self->opening_count++, &self->opening_room,
                                  sizeof *self->openings);
        self->openings[i] =
            (tnd_run_summary_opening_t){.host = host, .pace = tnd_open_pace(-1, now)};
    }
    self->openings[i].progress = *progress;
    tnd_open_pace_note(&self->openings[i].pace, progress, now);
}

void tnd_run_summary_opening(void *summary, uint32_t host, const tnd_open_progress_t *progress)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    if (progress == NULL)
        forget_openings(self, host);
    else
        note_opening(self, host, progress);
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_stream(void *summary, const tnd_stream_t *stream)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->chains[stream->chain].stream = *stream;
    self->chains[stream->chain].stream_known = true;
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_resume(void *summary, uint32_t chain, const tnd_cursor_t *cursor,
                            const tnd_epoch_metrics_t *sums)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    tnd_run_summary_chain_t *of = &self->chains[chain];
    of->before_steps = cursor->step;
    of->before_fed = cursor->ledger.fed;
    of->sums = *sums;
    of->reason_count = 0;
    of->begun_ns = 0;
    if (chain > 0) /* it is fed again */
        of->steps = 0;
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_step(void *summary, const tnd_step_record_t *record)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    tnd_run_summary_chain_t *chain = &self->chains[record->chain];
    chain->sums = *record->sums;
    chain->steps = record->step + 1;
    chain->here++;
    chain->epochs = record->cursor->epoch;
    chain->ledger = record->cursor->ledger;
    chain->digest =
        (tnd_digest_t){.low = record->cursor->digest[0], .high = record->cursor->digest[1]};
    chain->last_ns = tnd_clock_now();
    chain->epoch_left_ns = record->epoch_left_ns;
    chain->run_left_ns = record->run_left_ns;
    if (chain->begun_ns == 0)
        chain->begun_ns = chain->last_ns;
    if (record->last_of_epoch) {
        chain->ended_ns = chain->last_ns;
        chain->ended_fed = chain->ledger.fed;
    }
    pthread_cond_broadcast(&self->booked);
    pthread_mutex_unlock(&self->lock);
}

/*  Whether all replicas of a chain are on the first host. */
static bool feeds_alone(const tnd_plan_t *plan, const char *feeder)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].host != 0 && strcmp(plan->instances[i].actor, feeder) == 0)
            return false;
    return true;
}

void tnd_run_summary_await(tnd_run_summary_t *self, uint32_t chain, uint64_t steps)
{
    uint64_t end_ns = tnd_clock_now() + booked_wait_ns;
    struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000),
                           .tv_nsec = (long)(end_ns % 1000000000)};
    const tnd_run_summary_chain_t *of = &self->chains[chain];
    if (!feeds_alone(self->plan, of->plan->feeder))
        return;
    pthread_mutex_lock(&self->lock);
    while (of->steps < steps && of->before_steps < steps &&
           pthread_cond_timedwait(&self->booked, &self->lock, &end) == 0)
        continue;
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_bad(void *summary, uint32_t chain, const tnd_reason_t *reason)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    tnd_run_summary_chain_t *of = &self->chains[chain];
    of->reasons = tnd_resize(of->reasons, of->reason_count + 1, sizeof *of->reasons);
    of->reasons[of->reason_count++] = *reason;
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_end(void *summary, uint32_t chain, const tnd_cursor_t *cursor)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->chains[chain].epochs = cursor->epoch;
    self->chains[chain].ledger = cursor->ledger;
    self->chains[chain].steps = cursor->step;
    self->chains[chain].digest =
        (tnd_digest_t){.low = cursor->digest[0], .high = cursor->digest[1]};
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_validated(void *summary, const tnd_validated_t *validated)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    tnd_validations_add(&self->validations, validated);
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_best(void *summary, uint32_t chain, const tnd_best_t *best, bool kept)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->best_chain = chain;
    self->best_kept = kept;
    self->best = *best;
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_unwritten(void *summary, uint64_t failed, bool last, const char *why)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->unwritten = failed;
    self->last_unwritten = last;
    snprintf(self->unwritten_why, sizeof self->unwritten_why, "%s", why);
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_model(void *summary, uint32_t chain, const char *digest)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    snprintf(self->chains[chain].model, sizeof self->chains[chain].model, "%s", digest);
    pthread_mutex_unlock(&self->lock);
}

static tnd_run_summary_labels_t *labels_of(tnd_run_summary_t *self, const char *actor)
{
    for (uint32_t i = 0; i < self->labels_count; i++)
        if (strcmp(self->labels[i].actor, actor) == 0)
            return &self->labels[i];
    self->labels =
        tnd_grow(self->labels, self->labels_count, &self->labels_room, sizeof *self->labels);
    self->labels[self->labels_count] = (tnd_run_summary_labels_t){.actor = tnd_copy_string(actor)};
    return &self->labels[self->labels_count++];
}

void tnd_run_summary_label(void *summary, const char *actor, uint64_t number, const char *name)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    tnd_run_summary_labels_t *labels = labels_of(self, actor);
    /* A reader that was started again says the same once more. */
    if (number == labels->count) {
        labels->names =
            tnd_grow(labels->names, labels->count, &labels->room, sizeof *labels->names);
        labels->names[labels->count++] = tnd_copy_string(name);
    }
    pthread_mutex_unlock(&self->lock);
}

void tnd_run_summary_statistics(void *summary, const char *host, const char *actor,
                                const char *kind, const char *counts)
{
    tnd_run_summary_t *self = summary;
    pthread_mutex_lock(&self->lock);
    self->actors =
        tnd_grow(self->actors, self->actor_count, &self->actor_room, sizeof *self->actors);
    self->actors[self->actor_count++] =
        (tnd_run_summary_actor_t){.host = tnd_copy_string(host),
                                  .actor = tnd_copy_string(actor),
                                  .kind = tnd_copy_string(kind),
                                  .counts = tnd_copy_string(counts)};
    pthread_mutex_unlock(&self->lock);
}

double tnd_run_summary_mean(const tnd_metric_t *metric)
{
    return metric->weight != 0 ? metric->sum / metric->weight : 0;
}

double tnd_run_summary_seconds(const tnd_run_summary_chain_t *chain)
{
    return (double)(chain->last_ns - chain->begun_ns) * 1e-9;
}
