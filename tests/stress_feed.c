/*  tests/stress_feed.c - device threads, the actor and a program at once, for the sanitizers. */
#include <pthread.h>

#include "runtime/base/thread.h"
#include "runtime/feed/dlpack.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { STEPS = 600, DEPTH = 3 };

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
static void run_exports(uint32_t devices)
{
    exports_t exports = {.fixture = fixture_new(0, 4, devices, DEPTH)};
    const tnd_task_t task = {export_rows, NULL, &exports};
    pthread_t thread;
    tnd_error_t error;
    tnd_thread_create(&thread, release_all, &exports);
    tnd_device_workers_run_all(exports.fixture->workers, &task);
    uint64_t fed = 0, taken = 0;
    while (taken < STEPS) {
        tnd_done_t done;
        while (fed < STEPS && fed - taken < DEPTH)
            fixture_feed(exports.fixture, fed++, DEPTH);
        if (!tnd_device_workers_done(exports.fixture->workers, &done)) {
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
static void run_pulled(uint32_t devices, uint64_t steps, bool stop)
{
    program_t program = {.fixture = fixture_new(0, 4, devices, DEPTH)};
    fixture_t *fixture = program.fixture;
    pthread_t thread;
    tnd_thread_create(&thread, pull, &program);
    uint64_t fed = 0, taken = 0;
    while (taken < steps) {
        tnd_done_t done;
        while (fed < steps && fed - taken < DEPTH)
            fixture_feed(fixture, fed++, DEPTH);
        if (tnd_device_workers_done(fixture->workers, &done))
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

int main(void)
{
    for (uint32_t devices = 1; devices <= 4; devices++) {
        fixture_t *fixture = fixture_new(0, 4, devices, DEPTH);
        fixture->gathers = true;
        fixture_run(fixture, STEPS, DEPTH);
        assert(tnd_device_workers_error(fixture->workers) == NULL);
        assert(memcmp(fixture->weights[0], fixture->weights[3], sizeof fixture->weights[0]) == 0);
        fixture_destroy(fixture);

        fixture = fixture_new(0, 4, devices, DEPTH);
        fixture->fail_at = STEPS / 2;
        fixture_run(fixture, STEPS, DEPTH);
        assert(tnd_device_workers_error(fixture->workers) != NULL);
        fixture_destroy(fixture);

        run_pulled(devices, STEPS / 4, false);
        run_pulled(devices, STEPS / 4, true);
        run_exports(devices);
    }
    puts("stress_feed: well");
    return 0;
}
