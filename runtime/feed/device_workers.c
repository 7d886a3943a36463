/*  runtime/feed/device_workers.c - the device threads of one feeder, and the memory of its slots.
 */
#include "runtime/feed/device_workers_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

#define NO_SLOT UINT32_MAX

/*  How long threads look for each other, and for the next step, before they sleep: the others are
 *  a fraction of a step apart, and what brings the next step may need this processor.
 */
static const uint64_t meet_spin_ns = 50000, work_spin_ns = 20000;

/*  How long the actor may not have heard of a finished step while others run. */
static const uint64_t tell_ns = 2000000;

void *tnd_device_workers_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        abort();
    return memory;
}

/* --- failure -----------------------------------------------------------------------------------
 */

bool tnd_device_workers_dead(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->failed, memory_order_acquire) ||
           atomic_load_explicit(&self->stopped, memory_order_acquire);
}

static void open_all(tnd_device_workers_t *self)
{
    tnd_futex_open(&self->work);
    tnd_futex_open(&self->meet);
    tnd_futex_open(&self->program);
}

void tnd_device_workers_wake(tnd_device_workers_t *self)
{
    pthread_mutex_lock(&self->lock);
    if (!self->deaf)
        self->config.wake(self->config.context);
    pthread_mutex_unlock(&self->lock);
}

bool tnd_device_workers_fail(tnd_device_workers_t *self, const char *format, ...)
{
    pthread_mutex_lock(&self->lock);
    if (!atomic_load(&self->failed)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(self->error, sizeof self->error, format, arguments);
        va_end(arguments);
        atomic_store(&self->failed, true);
    }
    pthread_mutex_unlock(&self->lock);
    open_all(self);
    tnd_device_workers_wake(self);
    return false;
}

const char *tnd_device_workers_error(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->failed, memory_order_acquire) ? self->error : NULL;
}

/* --- workers -----------------------------------------------------------------------------------
 */

static bool all_arrived(const void *context)
{
    const awaited_t *awaited = context;
    const tnd_device_workers_t *crew = awaited->crew;
    if (tnd_device_workers_dead(crew))
        return true;
    for (uint32_t w = 0; w < crew->worker_count; w++)
        if (atomic_load_explicit(&crew->workers[w].word, memory_order_acquire) < awaited->number)
            return false;
    return true;
}

bool tnd_device_workers_meet(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *crew = worker->crew;
    uint32_t meeting = ++worker->meeting;
    if (crew->worker_count == 1)
        return !tnd_device_workers_dead(crew);
    uint64_t word = worker->seq << MEETING_BITS | meeting;
    atomic_store_explicit(&job->met[worker->number], meeting, memory_order_relaxed);
    atomic_store_explicit(&worker->word, word, memory_order_release);
    tnd_futex_open(&crew->meet);
    awaited_t awaited = {crew, word};
    tnd_futex_wait(&crew->meet, all_arrived, &awaited, meet_spin_ns);
    if (tnd_device_workers_dead(crew))
        return false;
    for (uint32_t w = 0; w < crew->worker_count; w++)
        if (atomic_load_explicit(&job->met[w], memory_order_relaxed) < meeting)
            return tnd_device_workers_fail(
                crew,
                "%s: in step %" PRIu64 " replica %" PRIu32 " on %s posted to a "
                "reduction and replica %" PRIu32 " on %s did not: all replicas "
                "post the same reductions in the same order",
                crew->config.name, job->note.step, crew->config.first + worker->first, worker->name,
                crew->config.first + crew->workers[w].first, crew->workers[w].name);
    return true;
}

static tnd_stage_t *stage_at(const tnd_device_workers_t *self, uint32_t slot, uint32_t local)
{
    return &self->memories[slot]->stages[local];
}

/*  Of the rows of a ragged column: the lengths of what its memory contains now. */
static uint64_t *lengths_at(const tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                            uint32_t column)
{
    return self->memories[slot]->lengths +
           ((size_t)local * self->ragged + self->lists[column]) * self->config.rows_max;
}

/*  Where the host reads the columns that reductions weigh by: in the stage, or where they were lent
 *  from.
 */
static void find_weighing(const tnd_device_workers_t *self, tnd_replica_t *replica,
                          const tnd_stage_t *stage)
{
    for (uint32_t i = 0; self->config.weights != NULL && i < self->config.reducer_count; i++) {
        int column = self->config.weights[i];
        if (column < 0)
            continue;
        const void *read = replica->columns[column];
        replica->weighing[column] = read == (const char *)stage->device + self->offsets[column]
                                        ? (const char *)stage->host + self->offsets[column]
                                        : read;
    }
}

/*  Hashes the rows of a share that nobody has hashed yet. */
static void hash(tnd_device_workers_t *self, size_t at)
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

/*  Points the replicas of a worker at their rows. */
static bool begin(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *crew = worker->crew;
    tnd_error_t error;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        tnd_replica_t *replica = &crew->replicas[i];
        replica->note = &job->note;
        replica->report = &job->reports[i];
        replica->report->count = 0;
        replica->memory = job->slot != NO_SLOT ? crew->memories[job->slot] : NULL;
        replica->post_count = 0;
        replica->error[0] = '\0';
        replica->columns = NULL;
        replica->rows = replica->padded = 0;
        if (job->slot == NO_SLOT)
            continue;
        size_t at = (size_t)job->slot * crew->config.count + i;
        hash(crew, at);
        replica->columns = &crew->columns[at * TND_COLUMNS_MAX];
        for (uint32_t c = 0; crew->ragged > 0 && c < crew->config.schema->count; c++)
            replica->lengths[c] =
                crew->config.schema->columns[c].ragged ? lengths_at(crew, job->slot, i, c) : NULL;
        const tnd_stage_t *stage = stage_at(crew, job->slot, i);
        find_weighing(crew, replica, stage);
        replica->rows = crew->shares[at].rows;
        replica->padded = crew->shares[at].padded;
        if (worker->device->ops->upload(worker->device, stage, crew->stage_bytes, &error) != TND_OK)
            return tnd_device_workers_fail(crew, "%s", error.text);
    }
    if (worker->device->ops->settle(worker->device, &error) != TND_OK)
        return tnd_device_workers_fail(crew, "%s", error.text);
    return true;
}

static bool each(worker_t *worker, const job_t *job, void *context,
                 tnd_status_t (*call)(void *context, tnd_replica_t *replica), const char *what,
                 tnd_device_state_t state)
{
    tnd_device_workers_t *crew = worker->crew;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        tnd_replica_t *replica = &crew->replicas[i];
        if (tnd_device_workers_dead(crew))
            return false;
        tnd_statistics_device(worker->page, state, replica->id, job->note.step, tnd_clock_now());
        if (call(context, replica) == TND_OK)
            continue;
        const char *why = replica->error[0] != '\0'
                              ? replica->error
                              : "it failed without a text; tnd_replica_error gives it one";
        if (job->slot == NO_SLOT)
            return tnd_device_workers_fail(crew, "%s: replica %" PRIu32 " on %s: %s",
                                           crew->config.name, replica->id, worker->name, why);
        return tnd_device_workers_fail(
            crew, "%s: %s of replica %" PRIu32 " on %s, step %" PRIu64 ": %s", crew->config.name,
            what, replica->id, worker->name, job->note.step, why);
    }
    return true;
}

/*  Whether this worker's replicas have posted, the same things. */
static bool posted(worker_t *worker, const job_t *job, bool *any_p)
{
    tnd_device_workers_t *crew = worker->crew;
    const tnd_replica_t *one = &crew->replicas[worker->first];
    *any_p = false;
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++) {
        const tnd_replica_t *other = &crew->replicas[i];
        bool fits = one->post_count == other->post_count;
        for (uint32_t p = 0; fits && p < one->post_count; p++)
            fits = tnd_posting_fits(&one->posts[p], &other->posts[p]);
        if (!fits)
            return tnd_device_workers_fail(
                crew,
                "%s: in step %" PRIu64 " replicas %" PRIu32 " and %" PRIu32
                " posted different reductions: all replicas post the same ones "
                "in the same order",
                crew->config.name, job->note.step, one->id, other->id);
        *any_p = *any_p || other->post_count > 0;
    }
    return true;
}

bool tnd_device_workers_run_job(worker_t *worker, job_t *job)
{
    const tnd_task_t *task = job->task;
    bool any = false;
    worker->meeting = 0;
    if (task == NULL)
        return true;
    if (!begin(worker, job) ||
        !each(worker, job, task->context, task->step, "the step", TND_DEVICE_STEP))
        return false;
    do {
        if (!posted(worker, job, &any))
            return false;
        if (any) {
            tnd_statistics_device(worker->page, TND_DEVICE_REDUCE,
                                  worker->crew->replicas[worker->first].id, job->note.step,
                                  tnd_clock_now());
            if (!tnd_device_workers_reduce(worker, job))
                return false;
        }
        for (uint32_t i = worker->first; i < worker->first + worker->count; i++)
            worker->crew->replicas[i].post_count = 0;
        if (task->apply == NULL)
            break;
        if (!each(worker, job, task->context, task->apply, "what follows the reduction",
                  TND_DEVICE_APPLY))
            return false;
        any = worker->crew->replicas[worker->first].post_count > 0;
    } while (any);
    if (job->keep != NULL && !each(worker, job, job->keep->context, job->keep->step,
                                   "keeping the model", TND_DEVICE_KEEP))
        return false;
    tnd_error_t error;
    if (worker->device->ops->settle(worker->device, &error) != TND_OK)
        return tnd_device_workers_fail(worker->crew, "%s", error.text);
    return true;
}

static bool has_work(const void *context)
{
    const awaited_t *awaited = context;
    return tnd_device_workers_dead(awaited->crew) ||
           atomic_load_explicit(&awaited->crew->published, memory_order_acquire) > awaited->number;
}

bool tnd_device_workers_worth_telling(tnd_device_workers_t *self, uint64_t finished, uint64_t known,
                                      uint64_t now)
{
    if (finished < known && finished - self->told < (known - self->told) / 2 &&
        now - self->told_ns < tell_ns)
        return false;
    self->told = finished;
    self->told_ns = now;
    return true;
}

static void finish(tnd_device_workers_t *self)
{
    uint64_t finished = atomic_fetch_add_explicit(&self->finished, 1, memory_order_acq_rel) + 1;
    if (atomic_load_explicit(&self->mode, memory_order_relaxed) != MODE_TASK)
        tnd_futex_open(&self->program);
    else if (tnd_device_workers_worth_telling(
                 self, finished, atomic_load_explicit(&self->published, memory_order_relaxed),
                 tnd_clock_now()))
        tnd_device_workers_wake(self);
}

static void *worker_main(void *context)
{
    worker_t *worker = context;
    tnd_device_workers_t *crew = worker->crew;
    char name[16];
    snprintf(name, sizeof name, "%.9s %s", crew->config.name, worker->name);
    tnd_thread_begin_computing(name);
    atomic_store_explicit(&worker->page->thread, (uint64_t)gettid(), memory_order_relaxed);
    for (;;) {
        awaited_t awaited = {crew, worker->seq};
        tnd_futex_wait(&crew->work, has_work, &awaited, work_spin_ns);
        if (tnd_device_workers_dead(crew))
            return NULL;
        job_t *job = &crew->jobs[worker->seq % crew->config.depth];
        if (!tnd_device_workers_run_job(worker, job))
            return NULL;
        if (job->task != NULL)
            tnd_statistics_device(worker->page, TND_DEVICE_IDLE, crew->replicas[worker->first].id,
                                  job->note.step, tnd_clock_now());
        worker->seq++;
        if (crew->worker_count > 1) {
            atomic_store_explicit(&worker->word, worker->seq << MEETING_BITS, memory_order_release);
            tnd_futex_open(&crew->meet);
        }
        if (atomic_fetch_sub_explicit(&job->left, 1, memory_order_acq_rel) == 1)
            finish(crew);
    }
}

/* --- birth and death ---------------------------------------------------------------------------
 */

/*  Places columns that are ragged, or not, behind `at`; returns their end. */
static size_t lay_out_some(const tnd_schema_t *schema, uint64_t rows_max, bool ragged, size_t at,
                           size_t *offsets)
{
    for (uint32_t c = 0; c < schema->count; c++) {
        if (schema->columns[c].ragged != ragged)
            continue;
        offsets[c] = at;
        at += rows_max * tnd_column_bytes(&schema->columns[c]);
        at = (at + TND_STAGE_ALIGN - 1) / TND_STAGE_ALIGN * TND_STAGE_ALIGN;
    }
    return at;
}

/*  Ragged columns stand last, behind *warm_p: of what no row reaches no page is touched. */
static size_t lay_out(const tnd_schema_t *schema, uint64_t rows_max, size_t *offsets,
                      size_t *warm_p)
{
    *warm_p = lay_out_some(schema, rows_max, false, 0, offsets);
    return lay_out_some(schema, rows_max, true, *warm_p, offsets);
}

size_t tnd_device_workers_slot_bytes(const tnd_schema_t *schema, uint64_t rows_max)
{
    size_t offsets[TND_COLUMNS_MAX], warm;
    return lay_out(schema, rows_max, offsets, &warm) +
           tnd_schema_ragged(schema) * rows_max * sizeof(uint64_t);
}

static void number_ragged(tnd_device_workers_t *self)
{
    const tnd_schema_t *schema = self->config.schema;
    for (uint32_t c = 0; c < schema->count; c++)
        if (schema->columns[c].ragged) {
            self->units[c] = tnd_column_unit(&schema->columns[c]);
            self->lists[c] = self->ragged++;
        }
}

static void make_workers(tnd_device_workers_t *self)
{
    const tnd_device_workers_config_t *config = &self->config;
    void *memory = NULL;
    if (posix_memalign(&memory, 64, config->count * sizeof *self->workers) != 0)
        abort();
    memset(memory, 0, config->count * sizeof *self->workers);
    self->workers = memory;
    for (uint32_t i = 0; i < config->count; i++) {
        worker_t *last = self->worker_count > 0 ? &self->workers[self->worker_count - 1] : NULL;
        if (last != NULL && strcmp(last->name, config->devices[i]) == 0) {
            last->count++;
            continue;
        }
        self->workers[self->worker_count] = (worker_t){
            .crew = self,
            .number = self->worker_count,
            .first = i,
            .count = 1,
            .name = config->devices[i],
            .inputs = tnd_device_workers_zeroed(config->count, sizeof(tnd_reduction_tree_input_t)),
            .outs = tnd_device_workers_zeroed(config->count, sizeof(void *)),
            .posted = tnd_device_workers_zeroed(2, sizeof(posted_t)),
        };
        self->worker_count++;
    }
    for (uint32_t w = 0; w < self->worker_count; w++) {
        worker_t *worker = &self->workers[w];
        bool seen = config->pages != NULL && w < TND_PAGE_DEVICES;
        worker->page = seen ? &config->pages[w] : &worker->unseen;
        snprintf(worker->page->name, sizeof worker->page->name, "%s", worker->name);
        tnd_statistics_device(worker->page, TND_DEVICE_IDLE, config->first + worker->first, 0,
                              tnd_clock_now());
    }
}

static void make_replicas(tnd_device_workers_t *self)
{
    self->replicas = tnd_device_workers_zeroed(self->config.count, sizeof *self->replicas);
    for (uint32_t i = 0; i < self->config.count; i++) {
        tnd_replica_t *replica = &self->replicas[i];
        replica->id = self->config.first + i;
        replica->schema = self->config.schema;
        replica->reducers = self->config.reducers;
        replica->reducer_count = self->config.reducer_count;
        replica->weights = self->config.weights;
        replica->gathers = &self->gathers;
    }
}

static void make_jobs(tnd_device_workers_t *self)
{
    self->jobs = tnd_device_workers_zeroed(self->config.depth, sizeof *self->jobs);
    for (uint32_t j = 0; j < self->config.depth; j++) {
        self->jobs[j].reports = tnd_device_workers_zeroed(self->config.count, sizeof(tnd_report_t));
        self->jobs[j].met =
            tnd_device_workers_zeroed(self->worker_count, sizeof *self->jobs[j].met);
    }
}

/*  Opens the devices and takes a memory for every slot. */
static tnd_status_t make_memories(tnd_device_workers_t *self, tnd_error_t *error)
{
    const tnd_device_workers_config_t *config = &self->config;
    tnd_slot_pool_config_t memory = {
        .devices = config->devices,
        .count = config->count,
        .bytes = self->stage_bytes,
        .warm = self->stage_warm,
        .lengths = self->ragged * config->rows_max,
        .spare = config->spare,
    };
    TND_TRY(tnd_slot_pool_new(&self->pool, &memory, error));
    for (uint32_t w = 0; w < self->worker_count; w++)
        self->workers[w].device = tnd_slot_pool_device(self->pool, self->workers[w].first);
    for (uint32_t s = 0; s < config->depth; s++)
        TND_TRY(tnd_slot_pool_take(self->pool, &self->memories[s], error));
    return TND_OK;
}

tnd_status_t tnd_device_workers_let_go(tnd_device_workers_t *self, uint32_t slot,
                                       tnd_error_t *error)
{
    tnd_slot_memory_t *memory = self->memories[slot];
    /* No reader is added to a step that is over. */
    if (tnd_slot_memory_shared(memory)) {
        TND_TRY(tnd_slot_pool_take(self->pool, &self->memories[slot], error));
        tnd_slot_memory_release(&memory);
        return TND_OK;
    }
    for (uint32_t i = 0; i < self->config.count; i++)
        tnd_slice_drop(&memory->slices[i]);
    return TND_OK;
}

tnd_status_t tnd_device_workers_new(tnd_device_workers_t **self_p,
                                    const tnd_device_workers_config_t *config, tnd_error_t *error)
{
    assert(config->count > 0 && config->depth > 0);
    tnd_device_workers_t *self = tnd_device_workers_zeroed(1, sizeof *self);
    self->config = *config;
    self->stage_bytes = lay_out(config->schema, config->rows_max, self->offsets, &self->stage_warm);
    number_ragged(self);
    self->memories = tnd_device_workers_zeroed(config->depth, sizeof(tnd_slot_memory_t *));
    self->shares =
        tnd_device_workers_zeroed((size_t)config->depth * config->count, sizeof *self->shares);
    self->columns = tnd_device_workers_zeroed(
        (size_t)config->depth * config->count * TND_COLUMNS_MAX, sizeof *self->columns);
    pthread_mutex_init(&self->lock, NULL);
    make_workers(self);
    tnd_device_workers_make_caller(self);
    make_replicas(self);
    make_jobs(self);
    tnd_status_t status = make_memories(self, error);
    if (status != TND_OK) {
        tnd_device_workers_destroy(&self);
        return status;
    }
    for (uint32_t w = 0; w < self->worker_count; w++) {
        if (pthread_create(&self->workers[w].thread, NULL, worker_main, &self->workers[w]) != 0)
            abort();
        self->workers[w].started = true;
    }
    *self_p = self;
    return TND_OK;
}

void tnd_device_workers_stop(tnd_device_workers_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->deaf = true;
    pthread_mutex_unlock(&self->lock);
    atomic_store(&self->stopped, true);
    open_all(self);
    for (uint32_t w = 0; w < self->worker_count; w++)
        if (self->workers[w].started) {
            pthread_join(self->workers[w].thread, NULL);
            self->workers[w].started = false;
        }
    tnd_device_workers_await_caller(self);
    tnd_device_workers_forget_exchange(self);
}

void tnd_device_workers_destroy(tnd_device_workers_t **self_p)
{
    tnd_device_workers_t *self = *self_p;
    if (self == NULL)
        return;
    tnd_device_workers_stop(self);
    for (uint32_t w = 0; w < self->worker_count; w++) {
        free(self->workers[w].inputs);
        free(self->workers[w].outs);
        free(self->workers[w].posted);
    }
    for (uint32_t j = 0; j < self->config.depth; j++) {
        free(self->jobs[j].reports);
        free(self->jobs[j].met);
    }
    pthread_mutex_destroy(&self->lock);
    free(self->caller.inputs);
    free(self->caller.outs);
    free(self->jobs);
    free(self->replicas);
    free(self->workers);
    for (uint32_t s = 0; s < self->config.depth; s++)
        tnd_slot_memory_release(&self->memories[s]);
    tnd_slot_pool_destroy(&self->pool);
    free(self->memories);
    free(self->shares);
    free(self->columns);
    tnd_device_workers_gather_forget(self);
    free(self);
    *self_p = NULL;
}

uint32_t tnd_device_workers_devices(const tnd_device_workers_t *self)
{
    return self->worker_count;
}

uint64_t tnd_device_workers_cpu_ns(const tnd_device_workers_t *self)
{
    uint64_t sum = atomic_load_explicit(&self->caller_cpu_ns, memory_order_relaxed);
    for (uint32_t w = 0; w < self->worker_count; w++) {
        clockid_t clock;
        if (self->workers[w].started && pthread_getcpuclockid(self->workers[w].thread, &clock) == 0)
            sum += tnd_clock_read(clock);
    }
    return sum;
}

/* --- actor -------------------------------------------------------------------------------------
 */

/*  Appends a job; returns how many there are then. */
static uint64_t add_job(tnd_device_workers_t *self, uint32_t slot, const tnd_slice_note_t *note,
                        const tnd_task_t *task, const tnd_task_t *keep)
{
    uint64_t seq = atomic_load_explicit(&self->ready, memory_order_relaxed);
    job_t *job = &self->jobs[seq % self->config.depth];
    assert(seq - self->consumed < self->config.depth);
    job->slot = slot;
    job->note = *note;
    job->note.payload = NULL;
    job->task = task;
    job->keep = keep;
    job->tensors = job->reductions = 0;
    for (uint32_t i = 0; i < self->config.count; i++)
        job->reports[i].count = 0, job->reports[i].kept = TND_KEPT_NOT_ASKED;
    for (uint32_t w = 0; w < self->worker_count; w++)
        atomic_store_explicit(&job->met[w], 0, memory_order_relaxed);
    atomic_store_explicit(&job->left, self->worker_count, memory_order_relaxed);
    atomic_store_explicit(&self->ready, seq + 1, memory_order_release);
    return seq + 1;
}

void tnd_device_workers_publish(tnd_device_workers_t *self, uint64_t jobs)
{
    atomic_store_explicit(&self->published, jobs, memory_order_release);
    tnd_futex_open(&self->work);
}

bool tnd_device_workers_has_finished(const void *context)
{
    const awaited_t *awaited = context;
    return tnd_device_workers_dead(awaited->crew) ||
           atomic_load_explicit(&awaited->crew->finished, memory_order_acquire) >= awaited->number;
}

tnd_status_t tnd_device_workers_call(tnd_device_workers_t *self, const tnd_task_t *task,
                                     tnd_error_t *error)
{
    const tnd_slice_note_t nothing = {0};
    uint64_t jobs = add_job(self, NO_SLOT, &nothing, task, NULL);
    tnd_device_workers_publish(self, jobs);
    awaited_t awaited = {self, jobs};
    tnd_futex_wait(&self->program, tnd_device_workers_has_finished, &awaited, 0);
    if (tnd_device_workers_dead(self))
        return tnd_fail(error, "%s", self->error);
    self->consumed = self->taken = self->ran = self->flushed = jobs;
    atomic_store(&self->retired, jobs);
    return TND_OK;
}

void tnd_device_workers_run_all(tnd_device_workers_t *self, const tnd_task_t *task)
{
    self->task = task;
    atomic_store(&self->mode, MODE_TASK);
}

void *tnd_device_workers_row(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint32_t column, uint64_t row)
{
    const tnd_stage_t *stage = stage_at(self, slot, local);
    assert(row <= self->config.rows_max);
    return (uint8_t *)stage->host + self->offsets[column] +
           row * tnd_column_bytes(&self->config.schema->columns[column]);
}

void tnd_device_workers_put(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                            uint32_t column, uint64_t row, const void *data, uint64_t length)
{
    uint8_t *to = tnd_device_workers_row(self, slot, local, column, row);
    uint64_t *last = &lengths_at(self, slot, local, column)[row];
    size_t unit = self->units[column], bytes = length * unit;
    assert(row < self->config.rows_max && length <= self->config.schema->columns[column].shape[0]);
    if (length > 0)
        memcpy(to, data, bytes);
    if (*last > length)
        memset(to + bytes, 0, (*last - length) * unit);
    *last = length;
}

void tnd_device_workers_share(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                              uint32_t rows, uint32_t padded)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_schema_t *schema = self->config.schema;
    assert((uint64_t)rows + padded <= self->config.rows_max);
    self->shares[at] = (share_t){.rows = rows, .padded = padded};
    tnd_slice_drop(&self->memories[slot]->slices[local]);
    for (uint32_t c = 0; c < schema->count; c++) {
        self->columns[at * TND_COLUMNS_MAX + c] =
            (const uint8_t *)stage_at(self, slot, local)->device + self->offsets[c];
        for (uint32_t r = 0; schema->columns[c].ragged && r < padded; r++)
            tnd_device_workers_put(self, slot, local, c, rows + r, NULL, 0);
        if (padded > 0 && !schema->columns[c].ragged)
            memset(tnd_device_workers_row(self, slot, local, c, rows), 0,
                   padded * tnd_column_bytes(&schema->columns[c]));
    }
}

bool tnd_device_workers_lend(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint32_t column, const void *rows)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_stage_t *stage = stage_at(self, slot, local);
    assert((uintptr_t)rows % TND_STAGE_ALIGN == 0);
    if (stage->host != stage->device)
        return false;
    self->columns[at * TND_COLUMNS_MAX + column] = rows;
    return true;
}

void tnd_device_workers_keep(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             tnd_slice_t *slice)
{
    assert(self->memories[slot]->slices[local] == NULL);
    self->memories[slot]->slices[local] = slice;
}

bool tnd_device_workers_hash(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint64_t rank)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_stage_t *stage = stage_at(self, slot, local);
    if (stage->host != stage->device)
        return false;
    self->shares[at].unhashed = true;
    self->shares[at].rank = rank;
    return true;
}

void tnd_device_workers_ready(tnd_device_workers_t *self, uint32_t slot,
                              const tnd_slice_note_t *note, const tnd_task_t *keep)
{
    (void)add_job(self, slot, note, self->task, keep);
}

void tnd_device_workers_flush(tnd_device_workers_t *self)
{
    uint64_t jobs = atomic_load_explicit(&self->ready, memory_order_relaxed);
    if (jobs == self->flushed)
        return;
    self->flushed = jobs;
    if (atomic_load_explicit(&self->mode, memory_order_relaxed) == MODE_TASK)
        tnd_device_workers_publish(self, jobs);
    else
        tnd_futex_open(&self->program);
}

bool tnd_device_workers_discards(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->mode, memory_order_relaxed) == MODE_DISCARD;
}

bool tnd_device_workers_done(tnd_device_workers_t *self, tnd_done_t *done)
{
    uint64_t limit = 0;
    switch ((crew_mode_t)atomic_load_explicit(&self->mode, memory_order_acquire)) {
    case MODE_KEEP:
        return false;
    case MODE_TASK:
        limit = atomic_load_explicit(&self->finished, memory_order_acquire);
        break;
    case MODE_PULL:
        limit = atomic_load_explicit(&self->retired, memory_order_acquire);
        break;
    case MODE_DISCARD:
        limit = atomic_load_explicit(&self->ready, memory_order_relaxed);
        break;
    }
    if (self->consumed >= limit)
        return false;
    const job_t *job = &self->jobs[self->consumed++ % self->config.depth];
    *done = (tnd_done_t){
        .step = job->note.step,
        .slot = job->slot,
        .tensors = job->tensors,
        .reductions = job->reductions,
        .reports = job->reports,
    };
    for (uint32_t i = 0; i < self->config.count; i++) {
        size_t at = (size_t)job->slot * self->config.count + i;
        hash(self, at); /* where no step has run */
        done->rows += self->shares[at].rows;
        tnd_digest_add(&done->digest, &self->shares[at].digest);
    }
    return true;
}

bool tnd_device_workers_idle(const tnd_device_workers_t *self)
{
    return self->consumed == atomic_load_explicit(&self->ready, memory_order_relaxed);
}

void tnd_device_workers_over(tnd_device_workers_t *self, tnd_status_t how)
{
    atomic_store_explicit(&self->over, (int)how, memory_order_release);
    tnd_futex_open(&self->program);
}
