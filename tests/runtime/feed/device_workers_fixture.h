/*  A workers with a small step, for tests: one column of f32, models of 5,000 floats, which are two
 *  chunks of a reduction, that move by the mean of what their rows say. */
#ifndef TND_TESTS_RUNTIME_FEED_DEVICE_WORKERS_FIXTURE_H
#define TND_TESTS_RUNTIME_FEED_DEVICE_WORKERS_FIXTURE_H

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/numeric/digest.h"
#include "tests/runtime/feed/take_done.h"

enum { FIXTURE_REPLICAS = 4, FIXTURE_PARAMS = 5000, FIXTURE_ROWS = 8, FIXTURE_WIDTH = 3 };

typedef struct {
    tnd_schema_t schema;
    tnd_device_workers_t *workers;
    uint32_t first, count;
    float weights[FIXTURE_REPLICAS][FIXTURE_PARAMS], grad[FIXTURE_REPLICAS][FIXTURE_PARAMS];
    _Atomic uint32_t wakes;
    tnd_task_t task;
    uint64_t fail_at;        /* step at which replica 1 fails; UINT64_MAX: none */
    uint32_t silent_replica; /* that posts nothing; UINT32_MAX: none */
    bool gathers;            /* all rows too, and a mean by a weight of the step's own */
    float weighted[FIXTURE_REPLICAS];
} fixture_t;

static inline void fixture_wake(void *context)
{
    atomic_fetch_add(&((fixture_t *)context)->wakes, 1);
}

static inline tnd_status_t fixture_step(void *context, tnd_replica_t *replica)
{
    fixture_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    float *grad = self->grad[id];
    const float *x = tnd_replica_column(replica, "x");
    size_t rows = tnd_replica_rows(replica);
    if (tnd_replica_step(replica) == self->fail_at && id == 1) {
        tnd_replica_error(replica, "the mould has cracked");
        return TND_FAILED;
    }
    for (size_t i = 0; i < FIXTURE_PARAMS; i++) {
        float sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += x[r * FIXTURE_WIDTH + i % FIXTURE_WIDTH] / (float)(i + 1);
        grad[i] = rows > 0 ? sum / (float)rows : sum;
    }
    tnd_replica_report(replica, "sum", (double)grad[0] * (double)rows, (double)rows);
    if (id == self->silent_replica)
        return TND_OK;
    self->weighted[id] = grad[0];
    if (self->gathers &&
        (tnd_replica_gather(replica, "mean", TND_F32, x, rows * FIXTURE_WIDTH) != TND_OK ||
         tnd_replica_mean(replica, "mean", TND_F32, &self->weighted[id], 1, 0.1 * (double)rows) !=
             TND_OK))
        return TND_FAILED;
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, grad, FIXTURE_PARAMS);
}

static inline tnd_status_t fixture_apply(void *context, tnd_replica_t *replica)
{
    fixture_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    for (size_t i = 0; i < FIXTURE_PARAMS; i++)
        self->weights[id][i] = self->weights[id][i] * 0.9f + self->grad[id][i];
    size_t count;
    const float *all = tnd_replica_gathered(replica, 0, TND_ALL_REPLICAS, &count);
    for (size_t i = 0; self->gathers && i < count; i++)
        self->weights[id][i] = self->weights[id][i] * 0.9f + all[i] * self->weighted[id];
    return TND_OK;
}

/*  Replicas [first, first + count) of four, over the first `devices` of these. */
static inline fixture_t *fixture_new_on(const char *const *names, const tnd_device_config_t *device,
                                        uint32_t first, uint32_t count, uint32_t devices,
                                        uint32_t depth)
{
    static const char *const reducers[] = {"mean"};
    const char *carriers[FIXTURE_REPLICAS];
    const uint64_t shape[] = {FIXTURE_WIDTH};
    tnd_error_t error;
    fixture_t *self = calloc(1, sizeof *self);
    assert(self != NULL);
    self->first = first;
    self->count = count;
    self->fail_at = UINT64_MAX;
    self->silent_replica = UINT32_MAX;
    self->task = (tnd_task_t){.step = fixture_step, .apply = fixture_apply, .context = self};
    for (uint32_t i = 0; i < count; i++)
        carriers[i] = names[i * devices / count];
    tnd_status_t status = tnd_schema_add(&self->schema, "x", TND_F32, 1, shape, &error);
    assert(status == TND_OK);
    tnd_device_workers_config_t config = {
        .name = "feed",
        .schema = &self->schema,
        .replicas = FIXTURE_REPLICAS,
        .first = first,
        .count = count,
        .devices = carriers,
        .depth = depth,
        .further = UINT32_MAX,
        .rows_max = FIXTURE_ROWS,
        .reducers = reducers,
        .reducer_count = 1,
        .wake = fixture_wake,
        .context = self,
        .device = *device,
        .stop_ns = 20000000000,
    };
    status = tnd_device_workers_new(&self->workers, &config, NULL, &error);
    assert(status == TND_OK);
    return self;
}

static inline fixture_t *fixture_new(uint32_t first, uint32_t count, uint32_t devices,
                                     uint32_t depth)
{
    static const char *const names[] = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"};
    return fixture_new_on(names, &(tnd_device_config_t){0}, first, count, devices, depth);
}

static inline void fixture_destroy(fixture_t *self)
{
    tnd_device_workers_destroy(&self->workers);
    free(self);
}

/*  The rows of a replica in a step: none for the last one now and then. */
static inline uint32_t fixture_rows(uint64_t step, uint32_t replica)
{
    return replica == FIXTURE_REPLICAS - 1 && step % 3 == 2 ? 0
                                                            : 1 + (uint32_t)(step + replica) % 7;
}

/*  Fills the slot of a step and marks it as ready. */
static inline void fixture_feed(fixture_t *self, uint64_t step, uint32_t depth)
{
    uint32_t slot = (uint32_t)(step % depth);
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t replica = self->first + i, rows = fixture_rows(step, replica);
        tnd_device_workers_share(self->workers, slot, i, rows, FIXTURE_ROWS - rows > 0 ? 1 : 0);
        float *x = tnd_device_workers_row(self->workers, slot, i, 0, 0);
        for (uint32_t k = 0; k < rows * FIXTURE_WIDTH; k++)
            x[k] = (float)((step * 31 + replica * 7 + k * 13) % 101) / 7.0f - 5.0f;
    }
    tnd_slice_note_t note = {.step = step, .epoch = 0};
    tnd_device_workers_ready(self->workers, slot, &note, NULL);
    tnd_device_workers_flush(self->workers);
}

/*  Feeds the steps [first, steps) to workers that run by themselves, and takes them back. */
static inline void fixture_run_from(fixture_t *self, uint64_t first, uint64_t steps, uint32_t depth)
{
    tnd_done_t done;
    uint64_t fed = first, taken = first;
    tnd_device_workers_run_all(self->workers, &self->task);
    while (taken < steps && tnd_device_workers_error(self->workers) == NULL) {
        while (fed < steps && fed - taken < depth)
            fixture_feed(self, fed++, depth);
        if (take_done(self->workers, &done))
            assert(done.step == taken++);
        else
            sched_yield();
    }
}

static inline void fixture_run(fixture_t *self, uint64_t steps, uint32_t depth)
{
    fixture_run_from(self, 0, steps, depth);
}

#endif
