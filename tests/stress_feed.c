/*  tests/stress_feed.c - device threads, the actor and a program at once, for the sanitizers. */
#include <pthread.h>

#include "runtime/feed/dlpack.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { STEPS = 600, DEPTH = 3 };

/*  Tensors on their way from the steps that export them to a thread that releases them: at most one
 *  per replica; the next one replaces it.
 */
typedef struct {
    crewed_t *crewed;
    _Atomic(dl_managed_tensor_t *) tensors[CREWED_REPLICAS];
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
        for (uint32_t r = 0; r < CREWED_REPLICAS; r++)
            release(atomic_exchange(&self->tensors[r], NULL));
        sched_yield();
    } while (!over);
    return NULL;
}

/*  The crew is destroyed while tensors of its last steps are still held. */
static void run_exports(uint32_t devices)
{
    exports_t exports = {.crewed = crewed_new(0, 4, devices, DEPTH)};
    const tnd_task_t task = {export_rows, NULL, &exports};
    pthread_t thread;
    tnd_error_t error;
    if (pthread_create(&thread, NULL, release_all, &exports) != 0)
        abort();
    tnd_device_workers_run_all(exports.crewed->crew, &task);
    uint64_t fed = 0, taken = 0;
    while (taken < STEPS) {
        tnd_done_t done;
        while (fed < STEPS && fed - taken < DEPTH)
            crewed_feed(exports.crewed, fed++, DEPTH);
        if (!tnd_device_workers_done(exports.crewed->crew, &done)) {
            sched_yield();
            continue;
        }
        taken++;
        tnd_status_t status = tnd_device_workers_let_go(exports.crewed->crew, done.slot, &error);
        assert(status == TND_OK);
    }
    crewed_destroy(exports.crewed);
    atomic_store(&exports.over, true);
    pthread_join(thread, NULL);
}

typedef struct {
    crewed_t *crewed;
    uint64_t pulled;
} program_t;

static void *pull(void *context)
{
    program_t *self = context;
    while (tnd_device_workers_next(self->crewed->crew) == TND_OK) {
        if (self->pulled % 5 != 4 && /* a step may be left out */
            tnd_device_workers_run(self->crewed->crew, &self->crewed->task) != TND_OK)
            break;
        self->pulled++;
    }
    return NULL;
}

/*  The actor's part while a program pulls, up to `steps`; then the end, or a stop in the middle. */
static void run_pulled(uint32_t devices, uint64_t steps, bool stop)
{
    program_t program = {.crewed = crewed_new(0, 4, devices, DEPTH)};
    crewed_t *crewed = program.crewed;
    pthread_t thread;
    if (pthread_create(&thread, NULL, pull, &program) != 0)
        abort();
    uint64_t fed = 0, taken = 0;
    while (taken < steps) {
        tnd_done_t done;
        while (fed < steps && fed - taken < DEPTH)
            crewed_feed(crewed, fed++, DEPTH);
        if (tnd_device_workers_done(crewed->crew, &done))
            taken++;
        else if (stop && taken > steps / 2)
            break;
        sched_yield();
    }
    if (stop)
        tnd_device_workers_stop(crewed->crew);
    else
        tnd_device_workers_over(crewed->crew, TND_END);
    pthread_join(thread, NULL);
    assert(stop || program.pulled == steps);
    crewed_destroy(crewed);
}

int main(void)
{
    for (uint32_t devices = 1; devices <= 4; devices++) {
        crewed_t *crewed = crewed_new(0, 4, devices, DEPTH);
        crewed->gathers = true;
        crewed_run(crewed, STEPS, DEPTH);
        assert(tnd_device_workers_error(crewed->crew) == NULL);
        assert(memcmp(crewed->weights[0], crewed->weights[3], sizeof crewed->weights[0]) == 0);
        crewed_destroy(crewed);

        crewed = crewed_new(0, 4, devices, DEPTH);
        crewed->fail_at = STEPS / 2;
        crewed_run(crewed, STEPS, DEPTH);
        assert(tnd_device_workers_error(crewed->crew) != NULL);
        crewed_destroy(crewed);

        run_pulled(devices, STEPS / 4, false);
        run_pulled(devices, STEPS / 4, true);
        run_exports(devices);
    }
    puts("stress_feed: well");
    return 0;
}
