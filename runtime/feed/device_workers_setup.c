/*  runtime/feed/device_workers_setup.c - starts and ends the device threads of a feeder. */
#include "runtime/feed/device_workers_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/feed/values/device_values.h"

static tnd_slot_layout_t layout_of(const tnd_device_workers_config_t *config,
                                   const tnd_schema_t *schema)
{
    tnd_slot_layout_config_t layout = {.schema = schema,
                                       .rows_max = config->rows_max,
                                       .form = config->form,
                                       .ragged_max = config->ragged_max,
                                       .bounded = config->bounded,
                                       .deciding = config->deciding,
                                       .bound_count = config->bound_count,
                                       .bounds = config->bounds};
    return tnd_slot_layout_of(&layout);
}

/*  Where rows that are SPREAD are in every step. */
static void place_spread(tnd_device_workers_t *self)
{
    const tnd_device_workers_config_t *config = &self->config;
    size_t replicas = (size_t)config->depth * config->count;
    self->placed = tnd_allocate_zeroed(replicas * self->layout.ragged, sizeof *self->placed);
    for (size_t at = 0; at < replicas; at++)
        for (uint32_t c = 0; c < config->schema->count; c++)
            if (config->schema->columns[c].ragged && config->form == TND_SLOT_SPREAD)
                self->placed[at * self->layout.ragged + self->layout.lists[c]] =
                    (tnd_slot_column_t){self->layout.offsets[c],
                                        tnd_column_bytes(&config->schema->columns[c])};
}

static void make_workers(tnd_device_workers_t *self)
{
    const tnd_device_workers_config_t *config = &self->config;
    size_t bytes = config->count * sizeof *self->workers;
    self->workers = memset(tnd_allocate_aligned(64, bytes), 0, bytes);
    for (uint32_t i = 0; i < config->count; i++) {
        worker_t *last = self->worker_count > 0 ? &self->workers[self->worker_count - 1] : NULL;
        if (last != NULL && strcmp(last->name, config->devices[i]) == 0) {
            last->count++;
            continue;
        }
        self->workers[self->worker_count] = (worker_t){
            .group = self,
            .number = self->worker_count,
            .first = i,
            .count = 1,
            .name = config->devices[i],
        };
        self->worker_count++;
    }
    for (uint32_t w = 0; w < self->worker_count; w++) {
        worker_t *worker = &self->workers[w];
        bool seen = config->pages != NULL && w < TND_PAGE_DEVICES;
        worker->page = seen ? &config->pages[w] : &worker->unseen;
        worker->events = w < config->ring_count ? &config->rings[w] : NULL;
        worker->timing =
            w < config->ring_count && config->timings != NULL ? &config->timings[w] : NULL;
        snprintf(worker->page->name, sizeof worker->page->name, "%s", worker->name);
        tnd_statistics_device(worker->page, TND_DEVICE_IDLE, config->first + worker->first, 0,
                              tnd_clock_now());
    }
}

static void make_replicas(tnd_device_workers_t *self)
{
    self->replicas = tnd_allocate_zeroed(self->config.count, sizeof *self->replicas);
    self->exchange.values = tnd_value_table_new(self->config.count);
    for (uint32_t i = 0; i < self->config.count; i++) {
        tnd_replica_t *replica = &self->replicas[i];
        replica->id = self->config.first + i;
        replica->replicas = self->config.replicas;
        replica->schema = self->config.shown != NULL ? self->config.shown : self->config.schema;
        replica->fed = self->config.schema;
        replica->reducers = self->config.reducers;
        replica->reducer_count = self->config.reducer_count;
        replica->weights = self->config.weights;
        replica->values = self->exchange.values;
        replica->shares_model = self->config.accumulate > 1;
        replica->local = i;
    }
}

static void make_sums(tnd_device_workers_t *self)
{
    const tnd_device_workers_config_t *config = &self->config;
    uint32_t share = config->accumulate;
    self->exchange.sums = tnd_allocate_zeroed(config->count / share, sizeof *self->exchange.sums);
    for (uint32_t i = 0; i < config->count; i += share)
        tnd_partial_sums_init(&self->exchange.sums[i / share], config->replicas, config->first + i,
                              share);
    for (uint32_t w = 0; w < self->worker_count; w++)
        assert(self->workers[w].count % share == 0);
}

static bool meet(void *context, uint32_t thread)
{
    tnd_device_workers_t *self = context;
    worker_t *worker = &self->workers[thread];
    return tnd_device_workers_meet(worker, worker->job);
}

static void wake(void *context)
{
    tnd_device_workers_wake(context);
}

static void fail(void *context, const char *text)
{
    tnd_device_workers_fail(context, "%s", text);
}

static void hang(void *context, const bool *threads, const char *text)
{
    tnd_device_workers_t *self = context;
    for (uint32_t w = 0; w < self->worker_count; w++)
        atomic_store(&self->workers[w].hangs, threads[w]);
    atomic_store(&self->hangs, true);
    tnd_device_workers_fail(self, "%s", text);
}

/*  What replicas post goes through a collective. */
static tnd_status_t join(tnd_device_workers_t *self, tnd_error_t *error)
{
    const tnd_device_workers_config_t *config = &self->config;
    const tnd_collective_ops_t *ops = config->collective;
    self->exchange.threads =
        tnd_allocate_zeroed(self->worker_count, sizeof *self->exchange.threads);
    self->exchange.posts = tnd_allocate_zeroed(config->count, sizeof(tnd_postings_t *));
    for (uint32_t w = 0; w < self->worker_count; w++)
        self->exchange.threads[w] = (tnd_collective_thread_t){
            self->workers[w].first, self->workers[w].count, self->workers[w].device};
    for (uint32_t i = 0; i < config->count; i++)
        self->exchange.posts[i] = &self->replicas[i].posts;
    tnd_collective_config_t member = {.name = config->name,
                                      .replicas = config->replicas,
                                      .first = config->first,
                                      .count = config->count,
                                      .threads = self->exchange.threads,
                                      .thread_count = self->worker_count,
                                      .posts = self->exchange.posts,
                                      .accumulate = config->accumulate,
                                      .sums = self->exchange.sums,
                                      .buckets = config->buckets,
                                      .patience_ns = config->patience_ns,
                                      .process = {meet, wake, fail, hang, self}};
    if (ops == NULL)
        TND_TRY(tnd_collective_find(&ops, "auto", TND_ORDER_TREE, error));
    TND_TRY(tnd_device_values_join(&self->exchange.collective, ops, &member, error));
    for (uint32_t i = 0; i < config->count; i++)
        self->replicas[i].gathers =
            self->exchange.collective->ops->gathers(self->exchange.collective);
    return TND_OK;
}

/*  What there is of each slot and each job besides its memory. */
static void make_slots(tnd_device_workers_t *self)
{
    size_t replicas = (size_t)self->config.depth * self->config.count;
    place_spread(self);
    self->shares = tnd_allocate_zeroed(replicas, sizeof *self->shares);
    self->columns = tnd_allocate_zeroed(replicas * TND_COLUMNS_MAX, sizeof *self->columns);
    self->jobs = tnd_allocate_zeroed(self->config.depth, sizeof *self->jobs);
    for (uint32_t j = 0; j < self->config.depth; j++) {
        self->jobs[j].reports = tnd_allocate_zeroed(self->config.count, sizeof(tnd_report_t));
        self->jobs[j].rows = tnd_allocate_zeroed(self->config.count, sizeof *self->jobs[j].rows);
        self->jobs[j].met = tnd_allocate_zeroed(self->worker_count, sizeof *self->jobs[j].met);
    }
}

static void free_slots(tnd_device_workers_t *self)
{
    for (uint32_t j = 0; j < self->config.depth; j++) {
        free(self->jobs[j].reports);
        free(self->jobs[j].rows);
        free(self->jobs[j].met);
    }
    free(self->jobs);
    free(self->placed);
    free(self->shares);
    free(self->columns);
}

static bool casts_on_host(const tnd_device_workers_config_t *config)
{
    bool all = true;
    for (uint32_t i = 0; i < config->count; i++)
        all = all && (tnd_device_can(config->devices[i]) & TND_DEVICE_CASTS) != 0;
    return config->casts != NULL && !all;
}

static tnd_device_timed_t timed_by(uint32_t can)
{
    if ((can & TND_DEVICE_TIMES) != 0)
        return TND_TIMED_BY_DEVICE;
    bool returns = (can & TND_DEVICE_OWN_MEMORY) != 0 && (can & TND_DEVICE_STREAMS) == 0;
    return returns ? TND_TIMED_BY_THREAD : TND_TIMED_NOT;
}

/*  Publishes what is known of a device. */
static void describe_device(const worker_t *worker)
{
    tnd_device_page_t *page = worker->page;
    tnd_device_facts_t facts;
    worker->device->ops->facts(worker->device, &facts);
    snprintf(page->model, sizeof page->model, "%s", facts.name);
    snprintf(page->bus, sizeof page->bus, "%s", facts.bus);
    snprintf(page->uuid, sizeof page->uuid, "%s", facts.uuid);
    page->memory = facts.memory;
    page->numa_node = facts.numa_node;
    page->timed = timed_by(worker->device->ops->can);
}

/*  Devices allocate nothing after the start. */
static tnd_status_t make_spares(tnd_device_workers_t *self, uint32_t count, uint32_t *failed_p,
                                tnd_error_t *error)
{
    tnd_slot_memory_t *memory;
    if (count == 0)
        return TND_OK;
    TND_TRY(tnd_slot_pool_take(self->pool, &memory, failed_p, error));
    tnd_status_t status = make_spares(self, count - 1, failed_p, error);
    tnd_slot_memory_release(&memory);
    return status;
}

/*  Opens the devices and allocates memory for every slot. */
static tnd_status_t make_memories(tnd_device_workers_t *self, uint32_t *failed_p,
                                  tnd_error_t *error)
{
    const tnd_device_workers_config_t *config = &self->config;
    tnd_slot_pool_config_t memory = {
        .devices = config->devices,
        .count = config->count,
        .bytes =
            casts_on_host(config) ? self->casts_at + self->shown_layout.bytes : self->layout.bytes,
        .device_bytes = self->shown_layout.bytes,
        .device = config->device,
        .warm = self->layout.warm,
        .lists = self->layout.ragged * self->layout.list_room,
        .spare = config->spare,
        .most = config->further < UINT32_MAX - config->depth - config->spare
                    ? config->depth + config->spare + config->further
                    : 0,
    };
    TND_TRY(tnd_slot_pool_new(&self->pool, &memory, failed_p, error));
    for (uint32_t w = 0; w < self->worker_count; w++)
        self->workers[w].device = tnd_slot_pool_device(self->pool, self->workers[w].first);
    for (uint32_t w = 0; w < self->worker_count; w++)
        describe_device(&self->workers[w]);
    for (uint32_t i = 0; i < config->count; i++)
        self->replicas[i].device = tnd_slot_pool_device(self->pool, i);
    TND_TRY(tnd_device_workers_prepare_copies(self, failed_p, error));
    tnd_device_workers_make_caller(self);
    for (uint32_t s = 0; s < config->depth; s++)
        TND_TRY(tnd_slot_pool_take(self->pool, &self->memories[s], failed_p, error));
    return self->copies.any ? make_spares(self, config->spare, failed_p, error) : TND_OK;
}

static tnd_status_t start_threads(tnd_device_workers_t *self, tnd_error_t *error)
{
    for (uint32_t w = 0; w < self->worker_count; w++) {
        TND_TRY(tnd_thread_create(&self->workers[w].thread, "the steps of a device",
                                  tnd_device_workers_thread, &self->workers[w], error));
        self->workers[w].started = true;
    }
    return tnd_device_workers_start_copies(self, error);
}

tnd_status_t tnd_device_workers_new(tnd_device_workers_t **self_p,
                                    const tnd_device_workers_config_t *config, uint32_t *failed_p,
                                    tnd_error_t *error)
{
    assert(config->count > 0 && config->depth > 0);
    tnd_device_workers_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->config.accumulate += config->accumulate == 0;
    self->startable = &self->ready;
    self->layout = layout_of(config, config->schema);
    self->shown_layout = layout_of(config, config->shown != NULL ? config->shown : config->schema);
    self->casts_at = tnd_round_up(self->layout.bytes, TND_STAGE_ALIGN);
    self->memories = tnd_allocate_zeroed(config->depth, sizeof(tnd_slot_memory_t *));
    pthread_mutex_init(&self->failure.lock, NULL);
    self->shown = tnd_allocate_zeroed((size_t)config->count * TND_COLUMNS_MAX, sizeof *self->shown);
    make_workers(self);
    self->copies.of = tnd_allocate_zeroed(self->worker_count, sizeof *self->copies.of);
    make_replicas(self);
    make_sums(self);
    make_slots(self);
    tnd_device_workers_make_sync(self);
    tnd_status_t status = make_memories(self, failed_p, error);
    if (status == TND_OK && failed_p != NULL)
        *failed_p = UINT32_MAX;
    if (status == TND_OK)
        status = join(self, error);
    if (status == TND_OK)
        status = start_threads(self, error);
    if (status != TND_OK) {
        tnd_device_workers_destroy(&self);
        return status;
    }
    *self_p = self;
    return TND_OK;
}

/*  The threads have done all jobs, so none of them uses what is replaced, and the next job tells
 *  them what replaces it.  `most` of the pool stays: more slots leave less for tensors. */
tnd_status_t tnd_device_workers_resize(tnd_device_workers_t *self, uint32_t depth,
                                       tnd_error_t *error)
{
    uint32_t before = self->config.depth, taken = before < depth ? before : depth;
    tnd_slot_memory_t **memories = tnd_allocate_zeroed(depth, sizeof(tnd_slot_memory_t *));
    tnd_status_t status = TND_OK;
    assert(self->account.consumed == atomic_load(&self->ready));
    memcpy(memories, self->memories, taken * sizeof(tnd_slot_memory_t *));
    for (uint32_t s = before; s < depth && status == TND_OK; s++)
        status = tnd_slot_pool_take(self->pool, &memories[s], NULL, error);
    if (status != TND_OK) {
        for (uint32_t s = before; s < depth; s++)
            tnd_slot_memory_release(&memories[s]);
        free(memories);
        return status;
    }
    for (uint32_t s = depth; s < before; s++)
        tnd_slot_memory_release(&self->memories[s]);
    free(self->memories);
    free_slots(self);
    self->memories = memories;
    self->config.depth = depth;
    make_slots(self);
    return TND_OK;
}

void tnd_device_workers_stop(tnd_device_workers_t *self)
{
    pthread_mutex_lock(&self->failure.lock);
    self->failure.deaf = true;
    pthread_mutex_unlock(&self->failure.lock);
    if (atomic_exchange(&self->stopped, true))
        return; /* and a group that it woke too may be freed */
    tnd_device_workers_wake_all(self);
    tnd_device_workers_stop_copies(self);
    for (uint32_t w = 0; w < self->worker_count; w++)
        if (self->workers[w].started && !atomic_load(&self->workers[w].hangs)) {
            pthread_join(self->workers[w].thread, NULL);
            self->workers[w].started = false;
        }
    if (atomic_load(&self->hangs)) {
        snprintf(self->failure.unsettled, sizeof self->failure.unsettled,
                 "%s: a thread is in a call that does not return; memory that it may use is leaked",
                 self->config.name);
        return;
    }
    tnd_device_workers_await_caller(self);
    if (self->failure.unsettled[0] == '\0')
        tnd_device_workers_settle(self);
    if (self->exchange.collective != NULL)
        self->exchange.collective->ops->leave(self->exchange.collective);
}

void tnd_device_workers_destroy(tnd_device_workers_t **self_p)
{
    tnd_device_workers_t *self = *self_p;
    if (self == NULL)
        return;
    tnd_device_workers_stop(self);
    *self_p = NULL;
    if (atomic_load(&self->hangs))
        return;
    if (self->exchange.collective != NULL)
        self->exchange.collective->ops->free(&self->exchange.collective);
    free(self->exchange.threads);
    free(self->exchange.posts);
    free_slots(self);
    tnd_device_workers_free_sync(self);
    pthread_mutex_destroy(&self->failure.lock);
    for (uint32_t i = 0; i < self->config.count; i++)
        tnd_postings_free(&self->replicas[i].posts);
    free(self->replicas);
    tnd_value_table_free(&self->exchange.values);
    for (uint32_t i = 0; i < self->config.count / self->config.accumulate; i++)
        tnd_partial_sums_free(&self->exchange.sums[i]);
    free(self->exchange.sums);
    free(self->workers);
    if (self->failure.unsettled[0] != '\0')
        tnd_slot_pool_abandon(self->pool);
    for (uint32_t s = 0; s < self->config.depth; s++)
        tnd_slot_memory_release(&self->memories[s]);
    tnd_slot_pool_destroy(&self->pool);
    free(self->memories);
    free(self->shown);
    free(self->copies.of);
    free(self->caller);
    free(self);
}

const char *tnd_device_workers_unsettled(const tnd_device_workers_t *self)
{
    return self->failure.unsettled[0] != '\0' ? self->failure.unsettled : NULL;
}

uint32_t tnd_device_workers_devices(const tnd_device_workers_t *self)
{
    return self->worker_count;
}

uint64_t tnd_device_workers_cpu_ns(const tnd_device_workers_t *self)
{
    uint64_t sum = tnd_device_workers_caller_ns(self);
    for (uint32_t w = 0; w < self->worker_count; w++) {
        clockid_t clock;
        if (self->workers[w].started && pthread_getcpuclockid(self->workers[w].thread, &clock) == 0)
            sum += tnd_clock_read(clock);
    }
    return sum;
}
