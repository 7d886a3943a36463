/*  runtime/feed/device_workers_run.c - device threads: run steps until the run ends. */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

/*  How long threads poll for each other, and for the next step, before they sleep: the others are a
 *  fraction of a step apart, and the thread that prepares the next step may need this processor. */
static const uint64_t meet_spin_ns = 50000, work_spin_ns = 20000;

/*  The longest time until the actor is notified of a finished step while others run. */
static const uint64_t tell_ns = 2000000;

bool tnd_device_workers_dead(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->failed, memory_order_acquire) ||
           atomic_load_explicit(&self->stopped, memory_order_acquire);
}

void tnd_device_workers_wake_all(tnd_device_workers_t *self)
{
    tnd_futex_open(&self->work);
    tnd_futex_open(&self->meet);
    if (self->exchange.collective != NULL && tnd_device_workers_dead(self))
        self->exchange.collective->ops->abort(self->exchange.collective);
    tnd_device_workers_tell_program(self);
    tnd_device_workers_open_copies(self);
}

void tnd_device_workers_wake(tnd_device_workers_t *self)
{
    pthread_mutex_lock(&self->failure.lock);
    if (!self->failure.deaf)
        self->config.wake(self->config.context);
    pthread_mutex_unlock(&self->failure.lock);
}

bool tnd_device_workers_fail(tnd_device_workers_t *self, const char *format, ...)
{
    pthread_mutex_lock(&self->failure.lock);
    if (!atomic_load(&self->failed)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(self->failure.text, sizeof self->failure.text, format, arguments);
        va_end(arguments);
        atomic_store(&self->failed, true);
    }
    pthread_mutex_unlock(&self->failure.lock);
    tnd_device_workers_wake_all(self);
    tnd_device_workers_wake(self);
    return false;
}

const char *tnd_device_workers_error(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->failed, memory_order_acquire) ? self->failure.text : NULL;
}

static bool all_arrived(const void *context)
{
    const awaited_t *awaited = context;
    const tnd_device_workers_t *group = awaited->group;
    if (tnd_device_workers_dead(group))
        return true;
    for (uint32_t w = 0; w < group->worker_count; w++)
        if (atomic_load_explicit(&group->workers[w].word, memory_order_acquire) < awaited->number)
            return false;
    return true;
}

bool tnd_device_workers_meet(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    if (group->worker_count == 1)
        return !tnd_device_workers_dead(group);
    uint32_t meeting = ++worker->meeting;
    uint64_t word = worker->turn << MEETING_BITS | meeting;
    atomic_store_explicit(&job->met[worker->number], meeting, memory_order_relaxed);
    atomic_store_explicit(&worker->word, word, memory_order_release);
    tnd_futex_open(&group->meet);
    awaited_t awaited = {group, word};
    tnd_futex_wait(&group->meet, all_arrived, &awaited, meet_spin_ns);
    if (tnd_device_workers_dead(group))
        return false;
    for (uint32_t w = 0; w < group->worker_count; w++)
        if (atomic_load_explicit(&job->met[w], memory_order_relaxed) < meeting)
            return tnd_device_workers_fail(
                group,
                "%s: in step %" PRIu64 " replica %" PRIu32 " on %s posted to a "
                "reduction and replica %" PRIu32 " on %s did not: all replicas "
                "post the same reductions in the same order",
                group->config.name, job->note.step, group->config.first + worker->first,
                worker->name, group->config.first + group->workers[w].first,
                group->workers[w].name);
    return true;
}

void tnd_device_workers_hash_now(tnd_device_workers_t *self, size_t at)
{
    share_t *share = &self->shares[at];
    const tnd_schema_t *schema = self->config.schema;
    tnd_digest_stripe_t stripes[TND_COLUMNS_MAX];
    if (!share->unhashed)
        return;
    share->unhashed = false;
    for (uint32_t c = 0; c < schema->count; c++) {
        size_t bytes = tnd_column_bytes(&schema->columns[c]);
        stripes[c] = (tnd_digest_stripe_t){
            .data = self->columns[at * TND_COLUMNS_MAX + c], .stride = bytes, .bytes = bytes};
    }
    tnd_digest_rows(&share->digest, share->rank, share->rows, stripes, schema->count);
}

/*  Points a replica at the lists of its ragged columns. */
static void show_ragged(const tnd_device_workers_t *self, tnd_replica_t *replica, uint32_t slot,
                        uint32_t local)
{
    const tnd_slot_layout_t *layout = &self->layout;
    uint64_t *lists = tnd_device_workers_lists(self, slot, local);
    replica->bounded = layout->config.bounded;
    for (uint32_t c = 0; layout->ragged > 0 && c < self->config.schema->count; c++) {
        if (!self->config.schema->columns[c].ragged)
            continue;
        replica->lengths[c] = tnd_slot_layout_lengths(layout, lists, c);
        replica->splits[c] = layout->config.form == TND_SLOT_PACKED
                                 ? tnd_slot_layout_splits(layout, lists, c)
                                 : NULL;
        replica->strides[c] = tnd_device_workers_placed(self, slot, local)[layout->lists[c]].stride;
    }
}

void tnd_device_workers_begin(worker_t *worker, const job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        tnd_replica_t *replica = &group->replicas[i];
        replica->note = &job->note;
        replica->report = job->reports != NULL ? &job->reports[i] : NULL;
        if (replica->report != NULL)
            replica->report->count = 0;
        replica->memory = job->slot != NO_SLOT ? group->memories[job->slot] : NULL;
        replica->posts.count = replica->followers = 0;
        replica->error[0] = '\0';
        replica->columns = NULL;
        replica->rows = replica->padded = 0;
        replica->syncs = replica->applies = replica->under_way = false;
        replica->reduced = 0;
        replica->worker = worker;
        replica->await = tnd_device_workers_await_posting;
        replica->start = tnd_device_workers_start_posts;
        if (job->slot == NO_SLOT)
            continue;
        size_t at = (size_t)job->slot * group->config.count + i;
        tnd_device_workers_hash_now(group, at);
        replica->columns = replica->weighing = &group->columns[at * TND_COLUMNS_MAX];
        if (worker->copier != NULL) {
            tnd_device_workers_show_rows(worker, job->slot, i);
            replica->columns = &group->shown[(size_t)i * TND_COLUMNS_MAX];
        }
        show_ragged(group, replica, job->slot, i);
        replica->rows = group->shares[at].rows;
        replica->padded = group->shares[at].padded;
    }
}

static bool call_one(worker_t *worker, const job_t *job, const part_t *part, tnd_replica_t *replica)
{
    tnd_device_workers_t *group = worker->group;
    if (tnd_device_workers_dead(group))
        return false;
    tnd_device_workers_show(worker, part->state, replica->id, job->note.step, tnd_clock_now());
    worker->steps = job->slot != NO_SLOT;
    if (part->call(part->context, replica) == TND_OK)
        return true;
    const char *why = replica->error[0] != '\0'
                          ? replica->error
                          : "it failed without a text; tnd_replica_error gives it one";
    if (part->what[0] == '\0')
        return tnd_device_workers_fail(group, "%s: replica %" PRIu32 " on %s: %s",
                                       group->config.name, replica->id, worker->name, why);
    return tnd_device_workers_fail(
        group, "%s: %s of replica %" PRIu32 " on %s, step %" PRIu64 ": %s", group->config.name,
        part->what, replica->id, worker->name, job->note.step, why);
}

bool tnd_device_workers_each_model(worker_t *worker, const job_t *job, const part_t *part)
{
    tnd_device_workers_t *group = worker->group;
    for (uint32_t i = worker->first; i < worker->first + worker->count;
         i += group->config.accumulate)
        if (!call_one(worker, job, part, &group->replicas[i]))
            return false;
    return true;
}

/*  Fails: two local replicas posted differently, from posting `number` on. */
static bool refuse_posts(tnd_device_workers_t *self, const job_t *job, uint32_t one, uint32_t other,
                         uint32_t number)
{
    const tnd_replica_t *a = &self->replicas[one], *b = &self->replicas[other];
    char text[TND_POSTINGS_REFUSAL];
    return tnd_device_workers_fail(
        self, "%s: %s", self->config.name,
        tnd_postings_refusal(job->note.step, a->id, &a->posts, b->id, &b->posts, number, text));
}

/*  Whether this worker's replicas have all posted the same. */
static bool posted(worker_t *worker, const job_t *job, bool *any_p)
{
    tnd_device_workers_t *group = worker->group;
    const tnd_replica_t *one = &group->replicas[worker->first];
    *any_p = false;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        const tnd_replica_t *other = &group->replicas[i];
        uint32_t first;
        if (other != one && !tnd_postings_fit(&one->posts, &other->posts, &first))
            return refuse_posts(group, job, worker->first, i, first);
        *any_p = *any_p || other->posts.count > 0;
        tnd_postings_settle(&group->replicas[i].posts);
    }
    return true;
}

static bool is_left(const void *context)
{
    return atomic_load(&((const tnd_device_workers_t *)context)->exchange.reducing) == 0;
}

void tnd_device_workers_leave_posts(tnd_device_workers_t *self)
{
    tnd_futex_wait(&self->program, is_left, self, 0);
}

/*  `reducing` rises before the check that the
 *  group is not dead, so that a program whose call ends because it is dead can wait until no thread
 *  uses its memory. */
bool tnd_device_workers_use_posts(tnd_device_workers_t *self)
{
    atomic_fetch_add(&self->exchange.reducing, 1);
    return !atomic_load(&self->failed) && !atomic_load(&self->stopped);
}

void tnd_device_workers_end_use(tnd_device_workers_t *self)
{
    if (atomic_fetch_sub(&self->exchange.reducing, 1) == 1 && tnd_device_workers_dead(self))
        tnd_futex_open(&self->program);
}

static bool reduce(worker_t *worker, tnd_collective_round_t *round)
{
    tnd_device_workers_t *group = worker->group;
    bool done =
        tnd_device_workers_use_posts(group) &&
        group->exchange.collective->ops->reduce(group->exchange.collective, worker->number, round);
    tnd_device_workers_end_use(group);
    return done;
}

static bool gives_share(const tnd_postings_t *posts)
{
    bool gives = false;
    for (uint32_t p = 0; p < posts->count; p++)
        gives = gives || posts->items[p].sharing == TND_SHARE_IN;
    return gives;
}

/*  Adds what a replica posted to that of the replicas before it, whose model the next step uses. */
static bool accumulate(worker_t *worker, const job_t *job, uint32_t local)
{
    tnd_device_workers_t *group = worker->group;
    uint32_t share = group->config.accumulate, first = local - local % share, number;
    tnd_replica_t *replica = &group->replicas[local];
    if (local != first &&
        !tnd_postings_fit(&group->replicas[first].posts, &replica->posts, &number))
        return refuse_posts(group, job, first, local, number);
    if (replica->posts.count == 0)
        return true;
    if (share > 1 && gives_share(&replica->posts))
        return tnd_device_workers_fail(
            group,
            "%s: in step %" PRIu64 " replica %" PRIu32
            " shares its model with others, whose steps overwrite what it has: call "
            "tnd_replica_gather_into in `apply`",
            group->config.name, job->note.step, replica->id);
    if (local % share == share - 1)
        return true;
    tnd_device_workers_show(worker, TND_DEVICE_REDUCE, replica->id, job->note.step,
                            tnd_clock_now());
    bool may = tnd_device_workers_use_posts(group);
    if (may)
        tnd_partial_sums_add(&group->exchange.sums[local / share], &replica->posts);
    tnd_device_workers_end_use(group);
    return may;
}

/*  Runs the step of each replica; those of one model follow one another. */
static bool run_steps(worker_t *worker, const job_t *job)
{
    const part_t part = {job->task->context, job->task->step, "the step", TND_DEVICE_STEP};
    tnd_device_workers_t *group = worker->group;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++)
        if (!call_one(worker, job, &part, &group->replicas[i]) || !accumulate(worker, job, i))
            return false;
    return true;
}

void tnd_device_workers_clear_posts(const worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    uint32_t share = group->config.accumulate;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        group->replicas[i].reduced = group->replicas[i].posts.count;
        group->replicas[i].under_way = group->replicas[i].began = false;
        group->replicas[i].posts.count = 0;
        if (i % share == 0)
            tnd_partial_sums_clear(&group->exchange.sums[i / share]);
    }
}

void tnd_device_workers_lead_models(const worker_t *worker)
{
    uint32_t share = worker->group->config.accumulate;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i += share)
        worker->group->replicas[i].followers = share - 1;
}

/*  What is called as `apply`; the replicas of one model have posted through any of themselves. */
typedef struct {
    worker_t *worker;
    const tnd_task_t *task;
} apply_t;

static tnd_status_t call_apply(void *context, tnd_replica_t *replica)
{
    const apply_t *self = context;
    for (uint32_t i = 0; i <= replica->followers; i++)
        replica[i].applies = true;
    tnd_status_t status = self->task->apply(self->task->context, replica);
    for (uint32_t i = 1; i <= replica->followers && status != TND_OK && replica->error[0] == '\0';
         i++)
        memcpy(replica->error, replica[i].error, sizeof replica->error);
    return status == TND_OK ? tnd_device_workers_check_awaited(self->worker, replica) : status;
}

static bool reduce_round(worker_t *worker, const job_t *job, tnd_collective_round_t *round,
                         bool early)
{
    tnd_device_workers_show(worker, TND_DEVICE_REDUCE, worker->group->replicas[worker->first].id,
                            job->note.step, tnd_clock_now());
    return early ? tnd_device_workers_begin_round(worker, round) : reduce(worker, round);
}

bool tnd_device_workers_apply_all(worker_t *worker, const job_t *job, tnd_collective_round_t *round,
                                  const tnd_task_t *task)
{
    apply_t apply = {worker, task};
    const part_t part = {&apply, call_apply, "what follows the reduction", TND_DEVICE_APPLY};
    bool any = false, early = task->apply != NULL && job->slot != NO_SLOT &&
                              tnd_device_workers_is_early(worker->group);
    worker->open = NULL;
    do {
        if (!posted(worker, job, &any) || (any && !reduce_round(worker, job, round, early)))
            return false;
        if (worker->open == NULL)
            tnd_device_workers_clear_posts(worker);
        if (task->apply == NULL)
            break;
        tnd_device_workers_lead_models(worker);
        if (!tnd_device_workers_each_model(worker, job, &part) ||
            !tnd_device_workers_end_round(worker))
            return false;
        any = worker->group->replicas[worker->first].posts.count > 0;
    } while (any);
    return true;
}

/*  What a job without rows does with the models. */
static bool call_models(worker_t *worker, const job_t *job, const tnd_task_t *task,
                        const char *what, tnd_device_state_t state)
{
    const part_t part = {task->context, task->step, what, state};
    return tnd_device_workers_each_model(worker, job, &part);
}

bool tnd_device_workers_run_job(worker_t *worker, job_t *job)
{
    worker->job = job;
    if (job->task == NULL)
        return true;
    if (job == &worker->group->sync.job)
        return tnd_device_workers_run_sync(worker, job);
    if (job->slot != NO_SLOT && !tnd_device_workers_start_task(worker, job))
        return false;
    tnd_device_workers_begin(worker, job);
    if (job->slot == NO_SLOT)
        return call_models(worker, job, job->task, "", TND_DEVICE_STEP);
    tnd_device_workers_continue_sync(worker, job);
    if (!run_steps(worker, job) ||
        !tnd_device_workers_apply_all(worker, job, &job->round, job->task))
        return false;
    return job->keep == NULL ||
           call_models(worker, job, job->keep, "keeping the model", TND_DEVICE_KEEP);
}

static bool has_sync(const worker_t *worker)
{
    return atomic_load_explicit(&worker->group->sync.asked, memory_order_acquire) > worker->syncs;
}

static bool has_work(const void *context)
{
    const worker_t *worker = context;
    return tnd_device_workers_dead(worker->group) || has_sync(worker) ||
           (atomic_load_explicit(&worker->group->published, memory_order_acquire) > worker->seq &&
            (worker->copier == NULL || tnd_device_workers_may_start(worker, worker->seq)));
}

bool tnd_device_workers_worth_telling(tnd_device_workers_t *self, uint64_t finished, uint64_t known,
                                      uint64_t now)
{
    if (finished < known && finished - self->account.told < (known - self->account.told) / 2 &&
        now - self->account.told_ns < tell_ns)
        return false;
    self->account.told = finished;
    self->account.told_ns = now;
    return true;
}

static void finish(tnd_device_workers_t *self)
{
    uint64_t finished = atomic_fetch_add_explicit(&self->finished, 1, memory_order_acq_rel) + 1;
    bool alone = atomic_load_explicit(&self->mode, memory_order_relaxed) == MODE_TASK ||
                 finished < atomic_load_explicit(&self->pull.span_until, memory_order_relaxed);
    if (!alone)
        tnd_futex_open(&self->program);
    else if (!self->copies.any &&
             tnd_device_workers_worth_telling(
                 self, finished, atomic_load_explicit(&self->published, memory_order_relaxed),
                 tnd_clock_now()))
        tnd_device_workers_wake(self);
}

/*  The others see that this worker meets them no more in this turn. */
static void end_turn(worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    worker->turn++;
    worker->meeting = 0;
    if (group->worker_count == 1)
        return;
    atomic_store_explicit(&worker->word, worker->turn << MEETING_BITS, memory_order_release);
    tnd_futex_open(&group->meet);
}

/*  The next round without rows, which the program waits for; false: the group has stopped. */
static bool run_sync(worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    if (!tnd_device_workers_run_job(worker, &group->sync.job))
        return false;
    tnd_device_workers_show(worker, TND_DEVICE_IDLE, group->replicas[worker->first].id,
                            group->sync.job.note.step, tnd_clock_now());
    worker->syncs++;
    end_turn(worker);
    if (atomic_fetch_sub_explicit(&group->sync.job.left, 1, memory_order_acq_rel) == 1)
        tnd_futex_open(&group->program);
    return true;
}

static bool run_next(worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    job_t *job = &group->jobs[worker->seq % group->config.depth];
    bool runs = tnd_device_workers_run_job(worker, job);
    if (runs && job->task != NULL)
        tnd_device_workers_show(worker, TND_DEVICE_IDLE, group->replicas[worker->first].id,
                                job->note.step, tnd_clock_now());
    if (runs) {
        worker->seq++;
        end_turn(worker);
    }
    if (worker->copier != NULL)
        tnd_device_workers_put_work(worker, job);
    if (!runs)
        return false;
    if (atomic_fetch_sub_explicit(&job->left, 1, memory_order_acq_rel) == 1)
        finish(group);
    if (group->copies.any && worker->copier == NULL)
        tnd_device_workers_complete(group);
    return true;
}

void *tnd_device_workers_thread(void *context)
{
    worker_t *worker = context;
    tnd_device_workers_t *group = worker->group;
    char name[16];
    snprintf(name, sizeof name, "%.9s %s", group->config.name, worker->name);
    tnd_thread_begin_computing(name);
    atomic_store_explicit(&worker->page->thread, (uint64_t)gettid(), memory_order_relaxed);
    do {
        tnd_futex_wait(&group->work, has_work, worker, work_spin_ns);
        if (tnd_device_workers_dead(group))
            return NULL;
    } while (has_sync(worker) ? run_sync(worker) : run_next(worker));
    return NULL;
}
