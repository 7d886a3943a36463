/*  A crew with a small step, for tests: one column of f32, models of 5,000 floats, which are two
 *  chunks of a reduction, that move by the mean of what their rows say.
 */
#ifndef TND_TESTS_RUNTIME_FEED_DEVICE_WORKERS_FIXTURE_H
#define TND_TESTS_RUNTIME_FEED_DEVICE_WORKERS_FIXTURE_H

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/numeric/digest.h"
#include "runtime/feed/device_workers.h"

enum { CREWED_REPLICAS = 4, CREWED_PARAMS = 5000, CREWED_ROWS = 8, CREWED_WIDTH = 3 };

typedef struct {
    tnd_schema_t schema;
    tnd_device_workers_t *crew;
    uint32_t first, count;
    float weights[CREWED_REPLICAS][CREWED_PARAMS], grad[CREWED_REPLICAS][CREWED_PARAMS];
    _Atomic uint32_t wakes;
    tnd_task_t task;
    uint64_t fail_at;        /* step at which replica 1 fails; UINT64_MAX: none */
    uint32_t silent_replica; /* that posts nothing; UINT32_MAX: none */
    bool gathers;            /* all rows too, and a mean by a weight of the step's own */
    float weighted[CREWED_REPLICAS];
} crewed_t;

static inline void crewed_wake(void *context)
{
    atomic_fetch_add(&((crewed_t *)context)->wakes, 1);
}

static inline tnd_status_t crewed_step(void *context, tnd_replica_t *replica)
{
    crewed_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    float *grad = self->grad[id];
    const float *x = tnd_replica_column(replica, "x");
    size_t rows = tnd_replica_rows(replica);
    if (tnd_replica_step(replica) == self->fail_at && id == 1) {
        tnd_replica_error(replica, "the mould has cracked");
        return TND_FAILED;
    }
    for (size_t i = 0; i < CREWED_PARAMS; i++) {
        float sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += x[r * CREWED_WIDTH + i % CREWED_WIDTH] / (float)(i + 1);
        grad[i] = rows > 0 ? sum / (float)rows : sum;
    }
    tnd_replica_report(replica, "sum", (double)grad[0] * (double)rows, (double)rows);
    if (id == self->silent_replica)
        return TND_OK;
    self->weighted[id] = grad[0];
    if (self->gathers &&
        (tnd_replica_gather(replica, "mean", TND_F32, x, rows * CREWED_WIDTH) != TND_OK ||
         tnd_replica_mean(replica, "mean", TND_F32, &self->weighted[id], 1, 0.1 * (double)rows) !=
             TND_OK))
        return TND_FAILED;
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, grad, CREWED_PARAMS);
}

static inline tnd_status_t crewed_apply(void *context, tnd_replica_t *replica)
{
    crewed_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    for (size_t i = 0; i < CREWED_PARAMS; i++)
        self->weights[id][i] = self->weights[id][i] * 0.9f + self->grad[id][i];
    size_t count;
    const float *all = tnd_replica_gathered(replica, 0, TND_ALL_REPLICAS, &count);
    for (size_t i = 0; self->gathers && i < count; i++)
        self->weights[id][i] = self->weights[id][i] * 0.9f + all[i] * self->weighted[id];
    return TND_OK;
}

/*  Replicas [first, first + count) of four, over `devices` threads. */
static inline crewed_t *crewed_new(uint32_t first, uint32_t count, uint32_t devices, uint32_t depth)
{
    static const char *const names[] = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"};
    static const char *const reducers[] = {"mean"};
    const char *carriers[CREWED_REPLICAS];
    const uint64_t shape[] = {CREWED_WIDTH};
    tnd_error_t error;
    crewed_t *self = calloc(1, sizeof *self);
    assert(self != NULL);
    self->first = first;
    self->count = count;
    self->fail_at = UINT64_MAX;
    self->silent_replica = UINT32_MAX;
    self->task = (tnd_task_t){crewed_step, crewed_apply, self};
    for (uint32_t i = 0; i < count; i++)
        carriers[i] = names[i * devices / count];
    tnd_status_t status = tnd_schema_add(&self->schema, "x", TND_F32, 1, shape, &error);
    assert(status == TND_OK);
    tnd_device_workers_config_t config = {
        .name = "feed",
        .schema = &self->schema,
        .replicas = CREWED_REPLICAS,
        .first = first,
        .count = count,
        .devices = carriers,
        .depth = depth,
        .rows_max = CREWED_ROWS,
        .reducers = reducers,
        .reducer_count = 1,
        .wake = crewed_wake,
        .context = self,
    };
    status = tnd_device_workers_new(&self->crew, &config, &error);
    assert(status == TND_OK);
    return self;
}

static inline void crewed_destroy(crewed_t *self)
{
    tnd_device_workers_destroy(&self->crew);
    free(self);
}

/*  The rows of a replica in a step: none for the last one now and then. */
static inline uint32_t crewed_rows(uint64_t step, uint32_t replica)
{
    return replica == CREWED_REPLICAS - 1 && step % 3 == 2 ? 0 : 1 + (uint32_t)(step + replica) % 7;
}

/*  Fills the slot of a step and says that it is ready. */
static inline void crewed_feed(crewed_t *self, uint64_t step, uint32_t depth)
{
    uint32_t slot = (uint32_t)(step % depth);
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t replica = self->first + i, rows = crewed_rows(step, replica);
        tnd_device_workers_share(self->crew, slot, i, rows, CREWED_ROWS - rows > 0 ? 1 : 0);
        float *x = tnd_device_workers_row(self->crew, slot, i, 0, 0);
        for (uint32_t k = 0; k < rows * CREWED_WIDTH; k++)
            x[k] = (float)((step * 31 + replica * 7 + k * 13) % 101) / 7.0f - 5.0f;
    }
    tnd_slice_note_t note = {.step = step, .epoch = 0};
    tnd_device_workers_ready(self->crew, slot, &note, NULL);
    tnd_device_workers_flush(self->crew);
}

/*  Feeds `steps` steps to a crew that runs by itself, and takes them back. */
static inline void crewed_run(crewed_t *self, uint64_t steps, uint32_t depth)
{
    tnd_done_t done;
    uint64_t fed = 0, taken = 0;
    tnd_device_workers_run_all(self->crew, &self->task);
    while (taken < steps && tnd_device_workers_error(self->crew) == NULL) {
        while (fed < steps && fed - taken < depth)
            crewed_feed(self, fed++, depth);
        if (tnd_device_workers_done(self->crew, &done))
            assert(done.step == taken++);
        else
            sched_yield();
    }
}

#endif
