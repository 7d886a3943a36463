/*  tests/runtime/feed/device_values_test.c - values that steps post in the memory of their devices. */
#include <tundish/device_values.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/feed/device_workers_internal.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { STEPS = 5 };

/*  The fixture's step with another way to reduce; a mean of a weight column and values of the host beside it. */
static tnd_status_t post_there(void *context, tnd_replica_t *replica)
{
    fixture_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    const float *x = tnd_replica_column(replica, "x");
    size_t rows = tnd_replica_rows(replica);
    for (size_t i = 0; i < FIXTURE_PARAMS; i++) {
        float sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += x[r * FIXTURE_WIDTH + i % FIXTURE_WIDTH] / (float)(i + 1);
        self->grad[id][i] = rows > 0 ? sum / (float)rows : sum;
    }
    return tnd_replica_reduce_device(replica, "mean", TND_MEAN, TND_F32, self->grad[id],
                                     self->grad[id], FIXTURE_PARAMS, TND_STREAM_NONE);
}

/*  The weights of replica 0 after some steps on these devices. */
static void train(const char *const *names, uint32_t devices,
                  tnd_status_t (*step)(void *, tnd_replica_t *), float *weights)
{
    fixture_t *self =
        fixture_new_on(names, &(tnd_device_config_t){0}, 0, FIXTURE_REPLICAS, devices, 1);
    tnd_done_t done;
    if (step != NULL)
        self->task.step = step;
    tnd_device_workers_run_all(self->workers, &self->task);
    for (uint64_t s = 0; s < STEPS; s++) {
        fixture_feed(self, s, 1);
        while (!take_done(self->workers, &done)) {
            cr_assert(tnd_device_workers_error(self->workers) == NULL, "%s",
                      tnd_device_workers_error(self->workers));
            sched_yield();
        }
    }
    for (uint32_t i = 1; i < FIXTURE_REPLICAS; i++)
        cr_assert(memcmp(self->weights[i], self->weights[0], sizeof self->weights[0]) == 0);
    memcpy(weights, self->weights[0], sizeof self->weights[0]);
    fixture_destroy(self);
}

Test(device_values, have_the_bits_of_values_in_host_memory)
{
    static const char *const cpus[] = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"};
    static const char *const sims[] = {"sim:0", "sim:1", "sim:2", "sim:3"};
    static float expected[FIXTURE_PARAMS], found[FIXTURE_PARAMS];
    train(cpus, 1, NULL, expected);
    for (uint32_t devices = 1; devices <= 4; devices++) {
        train(cpus, devices, post_there, found);
        cr_assert(memcmp(found, expected, sizeof found) == 0, "%u of cpu", devices);
        train(sims, devices, post_there, found);
        cr_assert(memcmp(found, expected, sizeof found) == 0, "%u of sim", devices);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

typedef struct {
    float value;
    int64_t stream;
} wrong_t;

static tnd_status_t post_wrong(void *context, tnd_replica_t *replica)
{
    wrong_t *wrong = context;
    return tnd_replica_reduce_device(replica, "mean", TND_SUM, TND_F32, &wrong->value,
                                     &wrong->value, 1, wrong->stream);
}

/*  The run ends with this reason. */
static void refuse(const char *device, uint32_t accumulate, int64_t stream, const char *why)
{
    const char *const names[] = {device};
    wrong_t wrong = {.stream = stream};
    fixture_t *self = fixture_new_on(names, &(tnd_device_config_t){0}, 0, FIXTURE_REPLICAS, 1, 1);
    for (uint32_t i = 0; i < FIXTURE_REPLICAS; i++)
        self->workers->replicas[i].shares_model = accumulate > 1;
    self->task = (tnd_task_t){.step = post_wrong, .context = &wrong};
    tnd_device_workers_run_all(self->workers, &self->task);
    fixture_feed(self, 0, 1);
    while (tnd_device_workers_error(self->workers) == NULL)
        sched_yield();
    const char *text = tnd_device_workers_error(self->workers);
    cr_assert(strstr(text, why) != NULL, "%s", text);
    fixture_destroy(self);
}

Test(device_values, streams_have_the_numbers_of_shared_tensors)
{
    refuse("cpu:0", 1, 7, "device cpu:0 has no streams: pass TND_STREAM_NONE");
    refuse("sim:0", 1, 0,
           "stream 0 is none of the device: pass TND_STREAM_NONE, TND_STREAM_UNSYNCHRONIZED, 1, 2 "
           "or a handle");
    refuse("sim:0", 1, -2, "stream -2 is none of the device");
}

Test(device_values, steps_of_a_shared_model_cannot_post_them)
{
    refuse("sim:0", 2, TND_STREAM_NONE,
           "the replica shares its model with others (accumulate), whose steps overwrite what it "
           "has: call tnd_replica_reduce_device in `apply`");
}
