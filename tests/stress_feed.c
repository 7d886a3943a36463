/*  tests/stress_feed.c - device threads, the actor and a program at once, for the sanitizers. */
#include <pthread.h>

#include "runtime/feed/dlpack.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { DEPTH = 3 };

/*  The devices of a run, and its steps. */
typedef struct {
    const char *names[FIXTURE_REPLICAS];
    uint64_t steps;
} run_t;

static const run_t runs[] = {
    {{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}, 200},
    {{"sim:0", "sim:1", "sim:2", "sim:3"}, 60},
    {{"cpu:0", "sim:1", "cpu:2", "sim:3"}, 60},
};

static fixture_t *new_fixture(const run_t *run, uint32_t devices)
{
    static const tnd_device_config_t link = {.link_latency_ns = 5000, .step_ns = 10000};
    return fixture_new_on(run->names, &link, 0, FIXTURE_REPLICAS, devices, DEPTH);
}

/*  Tensors on their way from the steps that export them to a thread that releases them: at most one
 *  per replica; the next one replaces it. */
typedef struct {
    fixture_t *fixture;
    _Atomic(dl_managed_tensor_t *) tensors[FIXTURE_REPLICAS];
    _Atomic bool over;
} exports_t;

static void release(dl_managed_tensor_t *tensor)
{
    if (tensor != NULL)
        tensor->deleter(tensor);
}

static tnd_status_t export_rows(void *context, tnd_replica_t *replica)
{
    exports_t *self = context;
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, "x");
    release(atomic_exchange(&self->tensors[tnd_replica_id(replica)], tensor));
    return TND_OK;
}

static void *release_all(void *context)
{
    exports_t *self = context;
    bool over;
    do {
        over = atomic_load(&self->over);
        for (uint32_t r = 0; r < FIXTURE_REPLICAS; r++)
            release(atomic_exchange(&self->tensors[r], NULL));
        sched_yield();
    } while (!over);
    return NULL;
}

/*  The workers is destroyed while tensors of its last steps are still held. */
static void run_exports(const run_t *run, uint32_t devices)
{
    exports_t exports = {.fixture = new_fixture(run, devices)};
    const tnd_task_t task = {.step = export_rows, .context = &exports};
    pthread_t thread;
    tnd_error_t error;
    if (pthread_create(&thread, NULL, release_all, &exports) != 0)
        abort();
    tnd_device_workers_run_all(exports.fixture->workers, &task);
    uint64_t fed = 0, taken = 0;
    while (taken < run->steps) {
        tnd_done_t done;
        while (fed < run->steps && fed - taken < DEPTH)
            fixture_feed(exports.fixture, fed++, DEPTH);
        if (!take_done(exports.fixture->workers, &done)) {
            sched_yield();
            continue;
        }
        taken++;
        tnd_status_t status =
            tnd_device_workers_release(exports.fixture->workers, done.slot, &error);
        assert(status == TND_OK);
    }
    fixture_destroy(exports.fixture);
    atomic_store(&exports.over, true);
    pthread_join(thread, NULL);
}

typedef struct {
    fixture_t *fixture;
    uint64_t pulled;
} program_t;

static void *pull(void *context)
{
    program_t *self = context;
    while (tnd_device_workers_next(self->fixture->workers) == TND_OK) {
        if (self->pulled % 5 != 4 && /* a step may be left out */
            tnd_device_workers_run(self->fixture->workers, &self->fixture->task) != TND_OK)
            break;
        self->pulled++;
    }
    return NULL;
}

/*  The actor's part while a program pulls, up to `steps`; then the end, or a stop in the middle. */
static void run_pulled(const run_t *run, uint32_t devices, uint64_t steps, bool stop)
{
    program_t program = {.fixture = new_fixture(run, devices)};
    fixture_t *fixture = program.fixture;
    pthread_t thread;
    if (pthread_create(&thread, NULL, pull, &program) != 0)
        abort();
    uint64_t fed = 0, taken = 0;
    while (taken < steps) {
        tnd_done_t done;
        while (fed < steps && fed - taken < DEPTH)
            fixture_feed(fixture, fed++, DEPTH);
        if (take_done(fixture->workers, &done))
            taken++;
        else if (stop && taken > steps / 2)
            break;
        sched_yield();
    }
    if (stop)
        tnd_device_workers_stop(fixture->workers);
    else
        tnd_device_workers_over(fixture->workers, TND_END);
    pthread_join(thread, NULL);
    assert(stop || program.pulled == steps);
    fixture_destroy(fixture);
}

static tnd_status_t open_nothing(void *context, tnd_replica_t *replica)
{
    (void)context, (void)replica;
    return TND_OK;
}

static void run_all(const run_t *run, uint32_t devices)
{
    tnd_error_t error;
    fixture_t *fixture = new_fixture(run, devices);
    const tnd_task_t open = {.step = open_nothing};
    tnd_status_t opened = tnd_device_workers_call(fixture->workers, &open, &error);
    assert(opened == TND_OK);
    fixture->gathers = true;
    fixture_run(fixture, run->steps, DEPTH);
    assert(tnd_device_workers_error(fixture->workers) == NULL);
    assert(memcmp(fixture->weights[0], fixture->weights[3], sizeof fixture->weights[0]) == 0);
    fixture_destroy(fixture);

    fixture = new_fixture(run, devices);
    fixture->fail_at = run->steps / 2;
    fixture_run(fixture, run->steps, DEPTH);
    assert(tnd_device_workers_error(fixture->workers) != NULL);
    fixture_destroy(fixture);

    run_pulled(run, devices, run->steps / 4, false);
    run_pulled(run, devices, run->steps / 4, true);
    run_exports(run, devices);
}

int main(void)
{
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++)
        for (uint32_t devices = 1; devices <= 4; devices++)
            run_all(&runs[r], devices);
    puts("stress_feed: well");
    return 0;
}
