/*  tests/runtime/feed/device_workers_pull_test.c - a program's own loop over the steps of a
 *  workers. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>

#include "runtime/core/numeric/float_mode.h"
#include "tests/runtime/feed/device_workers_fixture.h"

static tnd_status_t note_thread(void *context, tnd_replica_t *replica)
{
    pthread_t *threads = context;
    threads[tnd_replica_id(replica)] = pthread_self();
    return TND_OK;
}

/*  How many of four replicas, on so many devices, run on the thread that pulls. */
static uint32_t run_here(uint32_t devices)
{
    pthread_t threads[FIXTURE_REPLICAS] = {0};
    tnd_task_t task = {.step = note_thread, .context = threads};
    fixture_t *self = fixture_new(0, FIXTURE_REPLICAS, devices, 2);
    uint32_t here = 0;
    fixture_feed(self, 0, 2);
    cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
    cr_assert(tnd_device_workers_run(self->workers, &task) == TND_OK);
    for (uint32_t r = 0; r < FIXTURE_REPLICAS; r++)
        here += pthread_equal(threads[r], pthread_self()) != 0;
    fixture_destroy(self);
    return here;
}

Test(device_workers_pull, the_steps_of_one_device_run_on_the_programs_thread)
{
    cr_assert(eq(u32, run_here(1), FIXTURE_REPLICAS));
}

Test(device_workers_pull, the_steps_of_two_devices_run_on_theirs)
{
    cr_assert(eq(u32, run_here(2), 0));
}

/*  Whether this thread takes denormals for zeros. */
static bool flushes(void)
{
    volatile float tiny = 1e-40f;
    return tiny * 1.0f == 0;
}

/*  Notes the mode that it finds, and sets the other. */
static tnd_status_t change_mode(void *context, tnd_replica_t *replica)
{
    bool *found = context;
    found[tnd_replica_step(replica)] = flushes();
    (void)tnd_float_mode_set(tnd_replica_step(replica) == 0 ? TND_FLOAT_FLUSH : TND_FLOAT_STRICT);
    return TND_OK;
}

Test(device_workers_pull, steps_and_the_program_each_have_their_own_float_mode)
{
    bool found[3];
    tnd_task_t task = {.step = change_mode, .context = found};
    fixture_t *self = fixture_new(0, 1, 1, 3);
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_FLUSH);
    for (uint64_t step = 0; step < 3; step++) {
        fixture_feed(self, step, 3);
        cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
        cr_assert(tnd_device_workers_run(self->workers, &task) == TND_OK);
        cr_assert(flushes(), "the program's");
    }
    cr_assert(not(found[0]), "as on a device's thread");
    cr_assert(found[1], "as the step before left it");
    cr_assert(not(found[2]));
    tnd_float_mode_restore(before);
    fixture_destroy(self);
}

/*  A step during which another thread stops the workers. */
typedef struct {
    tnd_device_workers_t *workers;
    _Atomic bool inside, stopping, done;
    bool done_before_stop;
} stop_t;

static tnd_status_t be_stopped(void *context, tnd_replica_t *replica)
{
    stop_t *self = context;
    (void)replica;
    atomic_store(&self->inside, true);
    while (!atomic_load(&self->stopping))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&self->done, true);
    return TND_OK;
}

static void *stop(void *context)
{
    stop_t *self = context;
    while (!atomic_load(&self->inside))
        sched_yield();
    atomic_store(&self->stopping, true);
    tnd_device_workers_stop(self->workers);
    self->done_before_stop = atomic_load(&self->done);
    return NULL;
}

Test(device_workers_pull, workers_are_stopped_once_the_program_has_left_its_step)
{
    stop_t stopper = {0};
    tnd_task_t task = {.step = be_stopped, .context = &stopper};
    fixture_t *self = fixture_new(0, 1, 1, 2);
    stopper.workers = self->workers;
    fixture_feed(self, 0, 2);
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, stop, &stopper), 0));
    cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
    cr_assert(tnd_device_workers_run(self->workers, &task) == TND_FAILED, "it is not committed");
    pthread_join(thread, NULL);
    cr_assert(stopper.done_before_stop);
    cr_assert(tnd_device_workers_next(self->workers) == TND_FAILED, "it is stopped");
    fixture_destroy(self);
}

/*  How often the actor is woken for so many steps that are all ready. */
static uint32_t wakes_of(uint32_t steps)
{
    fixture_t *self = fixture_new(0, 1, 1, steps);
    pthread_t threads[FIXTURE_REPLICAS];
    tnd_task_t task = {.step = note_thread, .context = threads};
    for (uint32_t step = 0; step < steps; step++)
        fixture_feed(self, step, steps);
    for (uint32_t step = 0; step < steps; step++) {
        cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
        cr_assert(tnd_device_workers_run(self->workers, &task) == TND_OK);
    }
    tnd_device_workers_over(self->workers, TND_END);
    cr_assert(tnd_device_workers_next(self->workers) == TND_END);
    uint32_t wakes = atomic_load(&self->wakes);
    fixture_destroy(self);
    return wakes;
}

Test(device_workers_pull, the_actor_is_woken_for_several_steps_at_a_time)
{
    /* More only where 2 ms have passed since it heard of one. */
    cr_assert(lt(u32, wakes_of(256), 128));
    cr_assert(eq(u32, wakes_of(1), 1), "only one step is run");
}
