/*  tests/runtime/feed/device_workers_early_test.c - steps, and `apply`, that run while values are on their way. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/feed/device_workers_internal.h"
#include "runtime/posts/tensor.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { ARRAYS = 3, ELEMENTS = 1000 };

/*  Replica 0 of four; the test is its actor and the reducer.  `stage`: results that `apply` has had. */
typedef struct {
    float values[ARRAYS][ELEMENTS];
    _Atomic int stage;
    _Atomic bool applies;
} early_t;

static tnd_status_t post_arrays(void *context, tnd_replica_t *replica)
{
    early_t *self = context;
    for (uint32_t a = 0; a < ARRAYS; a++) {
        self->values[a][0] = (float)a;
        if (tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, self->values[a], ELEMENTS) !=
            TND_OK)
            return TND_FAILED;
    }
    return TND_OK;
}

static tnd_status_t await_arrays(void *context, tnd_replica_t *replica)
{
    early_t *self = context;
    atomic_store(&self->applies, true);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        if (tnd_replica_await(replica, a) != TND_OK)
            return TND_FAILED;
        cr_assert(self->values[a][0] == (float)(10 + a));
        atomic_fetch_add(&self->stage, 1);
    }
    return TND_OK;
}

/*  A result whose first element is 10 + `number`. */
static void deliver(fixture_t *self, const tnd_post_note_t *post, uint32_t number)
{
    const tnd_tensor_head_t head = {.reduce = TND_SUM, .dtype = TND_F32, .count = ELEMENTS};
    tnd_post_note_t result = *post;
    tnd_segment_t *none;
    tnd_error_t error;
    tnd_buffer_t *tensor = tnd_buffer_new(tnd_tensor_bytes(TND_F32, false, 0, ELEMENTS));
    float *values = tnd_tensor_begin(tensor, &head, &none);
    memset(values, 0, ELEMENTS * sizeof *values);
    values[0] = (float)(10 + number);
    tnd_buffer_seal(tensor);
    result.payload = tensor;
    cr_assert(tnd_device_workers_incoming(self->workers, 1, &result, &error) == TND_OK, "%s",
              error.text);
}

static void await_stage(const early_t *early, int stage)
{
    while (atomic_load(&early->stage) < stage)
        sched_yield();
}

Test(device_workers_early, apply_has_the_first_result_while_others_are_on_their_way)
{
    static early_t early;
    fixture_t *self = fixture_new(0, 1, 1, 1);
    tnd_post_note_t posts[ARRAYS];
    tnd_outgoing_t outgoing;
    tnd_done_t done;
    self->workers->config.early = true;
    self->task = (tnd_task_t){.step = post_arrays, .apply = await_arrays, .context = &early};
    tnd_device_workers_run_all(self->workers, &self->task);
    fixture_feed(self, 0, 1);
    for (uint32_t sent = 0; sent < ARRAYS;)
        if (tnd_device_workers_outgoing(self->workers, &outgoing)) {
            posts[sent++] = outgoing.post;
            tnd_buffer_t *buffer = outgoing.post.payload;
            tnd_buffer_drop(&buffer);
        } else {
            sched_yield();
        }
    while (!atomic_load(&early.applies))
        sched_yield();
    cr_assert(eq(int, atomic_load(&early.stage), 0));
    for (uint32_t a = 0; a < ARRAYS; a++) {
        deliver(self, &posts[a], a);
        await_stage(&early, (int)a + 1);
        cr_assert(eq(int, atomic_load(&early.stage), (int)a + 1));
    }
    while (!take_done(self->workers, &done))
        sched_yield();
    cr_assert(tnd_device_workers_error(self->workers) == NULL);
    fixture_destroy(self);
}

Test(device_workers_early, an_apply_that_waits_ends_when_the_run_is_stopped)
{
    static early_t early;
    fixture_t *self = fixture_new(0, 1, 1, 1);
    self->workers->config.early = true;
    self->task = (tnd_task_t){.step = post_arrays, .apply = await_arrays, .context = &early};
    tnd_device_workers_run_all(self->workers, &self->task);
    fixture_feed(self, 0, 1);
    while (!atomic_load(&early.applies))
        sched_yield();
    fixture_destroy(self);
    cr_assert(eq(int, atomic_load(&early.stage), 0));
}

/*  The rest of the step comes after `applies`. */
static tnd_status_t start_arrays(void *context, tnd_replica_t *replica)
{
    early_t *self = context;
    for (uint32_t a = 0; a < ARRAYS; a++) {
        self->values[a][0] = (float)a;
        if (tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, self->values[a], ELEMENTS) !=
                TND_OK ||
            (a == 1 && tnd_replica_begin(replica) != TND_OK))
            return TND_FAILED;
        while (a == 1 && !atomic_load(&self->applies))
            sched_yield();
    }
    return TND_OK;
}

static tnd_status_t find_results(void *context, tnd_replica_t *replica)
{
    early_t *self = context;
    cr_assert(tnd_replica_begin(replica) == TND_OK, "it does nothing here");
    for (uint32_t a = 0; a < ARRAYS; a++)
        cr_assert(self->values[a][0] == (float)(10 + a));
    atomic_store(&self->stage, ARRAYS);
    return TND_OK;
}

static void take_outgoing(fixture_t *self, tnd_post_note_t *post)
{
    tnd_outgoing_t outgoing;
    while (!tnd_device_workers_outgoing(self->workers, &outgoing))
        sched_yield();
    *post = outgoing.post;
    tnd_buffer_t *buffer = outgoing.post.payload;
    tnd_buffer_drop(&buffer);
}

Test(device_workers_early, what_a_step_has_started_is_sent_and_copied_while_it_runs)
{
    static early_t early;
    fixture_t *self = fixture_new(0, 1, 1, 1);
    tnd_post_note_t posts[ARRAYS];
    tnd_outgoing_t none;
    tnd_used_t used;
    tnd_done_t done;
    self->task = (tnd_task_t){.step = start_arrays, .apply = find_results, .context = &early};
    tnd_device_workers_run_all(self->workers, &self->task);
    fixture_feed(self, 0, 1);
    for (uint32_t a = 0; a < 2; a++)
        take_outgoing(self, &posts[a]);
    cr_assert(tnd_device_workers_outgoing(self->workers, &none) == false);
    deliver(self, &posts[1], 1);
    cr_assert(tnd_device_workers_used(self->workers, &used) == false,
              "results are copied in their order");
    deliver(self, &posts[0], 0);
    for (uint32_t a = 0; a < 2; a++)
        cr_assert(tnd_device_workers_used(self->workers, &used));
    cr_assert(early.values[0][0] == 10 && early.values[1][0] == 11);
    atomic_store(&early.applies, true);
    take_outgoing(self, &posts[2]);
    cr_assert(eq(u32, posts[2].reducer_slot, 2));
    deliver(self, &posts[2], 2);
    while (!take_done(self->workers, &done))
        sched_yield();
    cr_assert(tnd_device_workers_error(self->workers) == NULL);
    cr_assert(eq(int, atomic_load(&early.stage), ARRAYS));
    fixture_destroy(self);
}

Test(device_workers_early, a_step_that_has_started_postings_ends_when_the_run_is_stopped)
{
    static early_t early;
    fixture_t *self = fixture_new(0, 1, 1, 1);
    tnd_post_note_t post;
    self->task = (tnd_task_t){.step = start_arrays, .apply = find_results, .context = &early};
    tnd_device_workers_run_all(self->workers, &self->task);
    fixture_feed(self, 0, 1);
    take_outgoing(self, &post);
    atomic_store(&early.applies, true);
    fixture_destroy(self);
    cr_assert(eq(int, atomic_load(&early.stage), 0));
}
