/*  runtime/host/host_tuning.c - how many workers are awake: by `workers: auto`, or as a user wants.
 *
 *  With `workers: auto` the tuner (runtime/core/tuning) decides, up to what the user wants.  Here its
 *  samples are taken from the statistics of the actors.  The number is told to those that give blocks
 *  to the workers. */
#include "runtime/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/core/tuning/tuner.h"
#include "runtime/data/text_payload.h"
#include "runtime/observe/tuning.h"

/*  Of some actors since their start. */
typedef struct {
    uint64_t rows, blocks, work_ns, ticket_wait_ns, feeder_wait_ns;
} counted_t;

/*  The workers of one actor. */
typedef struct {
    uint32_t first, count; /* instances */
    uint32_t limit;        /* that a user wants awake, at most; UINT32_MAX: any */
    tnd_tuner_t tuner;
    uint64_t taken_ns; /* the last sample; 0: none was taken */
    counted_t counted; /* until then */
} tuning_t;

struct tnd_host_tuner {
    tuning_t *tunings; /* by actor with `workers: auto` */
    uint32_t count;
    uint64_t due_ns;
    _Atomic uint32_t *awake; /* by instance that gives blocks: workers that may get them */
};

static bool gives_to(const tnd_host_t *self, uint32_t from, uint32_t worker)
{
    for (uint32_t e = 0; e < self->plan->edge_count; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        if (edge->from == from && edge->to == worker)
            return true;
    }
    return false;
}

/*  Tells the actors before a worker how many may get blocks. */
static void wake_givers(tnd_host_t *self, uint32_t worker, uint32_t workers)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (!gives_to(self, i, worker))
            continue;
        atomic_store(&self->tuner->awake[i], workers);
        if (self->actors[i] != NULL)
            tnd_actor_wake(self->actors[i]);
    }
}

/*  Tells the decision to the actors before the workers, and to those who look at statistics. */
static void apply(tnd_host_t *self, const tuning_t *tuning)
{
    uint32_t workers = tuning->tuner.workers;
    uint64_t word = tnd_tuning_word(&tuning->tuner);
    for (uint32_t i = 0; i < tuning->count; i++) {
        tnd_statistics_t *page = tnd_pages_at(self->pages, tuning->first + i);
        atomic_store_explicit(&page->asleep, i >= workers, memory_order_relaxed);
        atomic_store_explicit(&page->tuning, word, memory_order_relaxed);
    }
    wake_givers(self, tuning->first, workers);
}

void tnd_host_begin_tuning(tnd_host_t *self)
{
    const tnd_plan_t *plan = self->plan;
    struct tnd_host_tuner *tuner = tnd_allocate_zeroed(1, sizeof *tuner);
    self->tuner = tuner;
    self->tuning_most = UINT32_MAX;
    tuner->awake = tnd_allocate_zeroed(plan->instance_count, sizeof *tuner->awake);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        atomic_store(&tuner->awake[i], UINT32_MAX);
    for (uint32_t i = 0, count; i < plan->instance_count; i += count) {
        count = 1;
        if (!plan->instances[i].tuned || plan->instances[i].host != self->config.host)
            continue;
        while (i + count < plan->instance_count &&
               plan->instances[i + count].written == plan->instances[i].written)
            count++;
        tuner->tunings = tnd_resize(tuner->tunings, tuner->count + 1, sizeof *tuner->tunings);
        tuning_t *tuning = &tuner->tunings[tuner->count++];
        *tuning = (tuning_t){.first = i, .count = count, .limit = UINT32_MAX};
        tnd_tuner_init(&tuning->tuner, count);
        apply(self, tuning);
    }
}

void tnd_host_end_tuning(tnd_host_t *self)
{
    free(self->tuner->tunings);
    free(self->tuner->awake);
    free(self->tuner);
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static counted_t count(const tnd_host_t *self, const tuning_t *tuning, uint64_t now)
{
    counted_t counted = {0};
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        const tnd_statistics_t *page = tnd_pages_at(self->pages, i);
        tnd_times_t times;
        tnd_statistics_times(page, now, &times);
        if (i >= tuning->first && i < tuning->first + tuning->count) {
            counted.rows += atomic_load_explicit(&page->rows_out, memory_order_relaxed);
            counted.blocks += atomic_load_explicit(&page->blocks_out, memory_order_relaxed);
            counted.work_ns += times.cpu + times.run_queue + times.wait_io;
        } else if (gives_to(self, i, tuning->first)) {
            counted.ticket_wait_ns = tnd_most(counted.ticket_wait_ns, times.wait_credit);
        } else if (instance->kind->role == TND_ROLE_FEEDER &&
                   instance->chain == self->plan->instances[tuning->first].chain) {
            counted.feeder_wait_ns = tnd_most(counted.feeder_wait_ns, times.wait_in);
        }
    }
    return counted;
}

static uint32_t most_of(const tnd_host_t *self, const tuning_t *tuning)
{
    uint32_t most = tuning->count < self->tuning_most ? tuning->count : self->tuning_most;
    return most < tuning->limit ? most : tuning->limit;
}

static void begin(tnd_host_t *self, tuning_t *tuning)
{
    tnd_tuner_init(&tuning->tuner, most_of(self, tuning));
    apply(self, tuning);
}

static void tune(tnd_host_t *self, tuning_t *tuning, uint64_t now)
{
    if (tuning->taken_ns == 0)
        begin(self, tuning);
    counted_t before = tuning->counted, counted = count(self, tuning, now);
    tnd_tuner_sample_t sample = {
        .span_ns = tuning->taken_ns != 0 ? now - tuning->taken_ns : 0,
        .rows = since(counted.rows, before.rows),
        .blocks = since(counted.blocks, before.blocks),
        .work_ns = since(counted.work_ns, before.work_ns),
        .ticket_wait_ns = since(counted.ticket_wait_ns, before.ticket_wait_ns),
        .feeder_wait_ns = since(counted.feeder_wait_ns, before.feeder_wait_ns),
    };
    tuning->taken_ns = now;
    tuning->counted = counted;
    if (!tnd_tuner_step(&tuning->tuner, &sample))
        return;
    apply(self, tuning);
    char text[256];
    tnd_host_tell_leader(
        self, TND_MSG_LOG, TND_LOG_INFO,
        tnd_text_payload_of("%s %s", self->plan->instances[tuning->first].actor,
                            tnd_tuning_text(tnd_tuning_word(&tuning->tuner), text, sizeof text)));
}

void tnd_host_tune(tnd_host_t *self, uint64_t now)
{
    if (self->tuner->count == 0 || now < self->tuner->due_ns || !tnd_host_running(self))
        return;
    self->tuner->due_ns = now + TND_TUNER_PERIOD_NS;
    for (uint32_t i = 0; i < self->tuner->count; i++)
        tune(self, &self->tuner->tunings[i], now);
}

static tuning_t *tuning_of(tnd_host_t *self, uint32_t first)
{
    for (uint32_t i = 0; i < self->tuner->count; i++)
        if (self->tuner->tunings[i].first == first)
            return &self->tuner->tunings[i];
    return NULL;
}

void tnd_host_scale(tnd_host_t *self, uint32_t first, uint32_t workers)
{
    const tnd_instance_t *of = &self->plan->instances[first];
    tuning_t *tuning = tuning_of(self, first);
    if (tuning != NULL) {
        tuning->limit = workers;
        tnd_tuner_limit(&tuning->tuner, most_of(self, tuning));
        apply(self, tuning);
        return;
    }
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host == self->config.host && strcmp(instance->actor, of->actor) == 0)
            atomic_store_explicit(&tnd_pages_at(self->pages, i)->asleep,
                                  instance->number >= workers, memory_order_relaxed);
    }
    wake_givers(self, first, workers);
}

uint32_t tnd_host_awake(const tnd_host_t *self, tnd_actor_id_t actor)
{
    return atomic_load_explicit(&self->tuner->awake[actor], memory_order_relaxed);
}
