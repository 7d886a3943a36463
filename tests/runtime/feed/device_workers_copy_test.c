/*  tests/runtime/feed/device_workers_copy_test.c - steps on devices with memory of their own, and rows
 *  that are cast for them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/feed/device_workers_internal.h"
#include "runtime/feed/dlpack.h"
#include "tests/runtime/feed/device_workers_fixture.h"
#include "transport/device/sim.h"

static const tnd_device_config_t link = {
    .link_bytes_per_s = 1000000000, .link_latency_ns = 20000, .step_ns = 30000};

/*  What 60 steps make of the models, on so many of these devices. */
static void train(const char *const *names, uint32_t devices, uint32_t depth,
                  float weights[FIXTURE_REPLICAS][FIXTURE_PARAMS])
{
    fixture_t *self = fixture_new_on(names, &link, 0, FIXTURE_REPLICAS, devices, depth);
    self->gathers = true;
    fixture_run(self, 60, depth);
    cr_assert(tnd_device_workers_error(self->workers) == NULL, "%s",
              tnd_device_workers_error(self->workers));
    memcpy(weights, self->weights, sizeof self->weights);
    fixture_destroy(self);
}

Test(device_workers_copy, models_have_the_same_bits_wherever_rows_are_copied)
{
    static const char *const cpus[] = {"cpu:0"},
                             *const sims[] = {"sim:0", "sim:1", "sim:2", "sim:3"},
                             *const mixed[] = {"sim:0", "cpu:0", "sim:1", "cpu:1"};
    static float expected[FIXTURE_REPLICAS][FIXTURE_PARAMS],
        found[FIXTURE_REPLICAS][FIXTURE_PARAMS];
    train(cpus, 1, 2, expected);
    for (uint32_t depth = 1; depth <= 4; depth++)
        for (uint32_t devices = 1; devices <= 4; devices *= 2) {
            train(sims, devices, depth, found);
            cr_assert(memcmp(found, expected, sizeof found) == 0, "%u devices, depth %u", devices,
                      depth);
            train(mixed, devices, depth, found);
            cr_assert(memcmp(found, expected, sizeof found) == 0, "%u mixed devices, depth %u",
                      devices, depth);
        }
}

/*  Also fewer slots than before, and more than there are spare memories for. */
Test(device_workers_copy, models_have_the_same_bits_with_another_number_of_slots_every_few_steps)
{
    static const char *const cpus[] = {"cpu:0"}, *const mixed[] = {"sim:0", "cpu:0", "sim:1"};
    static const uint32_t depths[] = {2, 5, 1, 3, 3, 8};
    static float expected[FIXTURE_REPLICAS][FIXTURE_PARAMS];
    train(cpus, 1, 2, expected);
    for (uint32_t devices = 1; devices <= 3; devices += 2) {
        fixture_t *self = fixture_new_on(mixed, &link, 0, FIXTURE_REPLICAS, devices, depths[0]);
        self->gathers = true;
        for (uint64_t i = 0; i < 6; i++) {
            tnd_error_t error;
            if (i > 0)
                cr_assert(tnd_device_workers_resize(self->workers, depths[i], &error) == TND_OK,
                          "%s", error.text);
            fixture_run_from(self, 10 * i, 10 * (i + 1), depths[i]);
        }
        cr_assert(tnd_device_workers_error(self->workers) == NULL, "%s",
                  tnd_device_workers_error(self->workers));
        cr_assert(memcmp(self->weights, expected, sizeof expected) == 0, "%u devices", devices);
        fixture_destroy(self);
    }
}

/* --- commits ---------------------------------------------------------------------------------- */

typedef struct {
    const fixture_t *fixture;
    tnd_device_t *device;
    _Atomic bool go;
    _Atomic uint32_t started;
} held_t;

/*  Puts work on the device that does not end before it may. */
static tnd_status_t hold(void *context, tnd_replica_t *replica)
{
    held_t *self = context;
    (void)replica;
    tnd_sim_hold(self->device, self->device->ops->stream(self->device), &self->go);
    atomic_fetch_add(&self->started, 1);
    return TND_OK;
}

static bool await_count(const _Atomic uint32_t *count, uint32_t to)
{
    uint64_t until = tnd_clock_now() + 20000000000u;
    while (atomic_load(count) < to && tnd_clock_now() < until)
        sched_yield();
    return atomic_load(count) >= to;
}

static tnd_done_t await_done(fixture_t *self)
{
    tnd_done_t done = {.step = UINT64_MAX};
    uint64_t until = tnd_clock_now() + 20000000000u;
    while (!take_done(self->workers, &done) && tnd_clock_now() < until)
        sched_yield();
    return done;
}

static fixture_t *new_on_sim(uint32_t depth, held_t *held)
{
    static const char *const sims[] = {"sim:0"};
    fixture_t *self = fixture_new_on(sims, &link, 0, 1, 1, depth);
    *held = (held_t){.fixture = self, .device = self->workers->workers[0].device};
    return self;
}

Test(device_workers_copy,
     steps_start_before_the_device_has_done_those_before_and_are_committed_after)
{
    held_t held;
    fixture_t *self = new_on_sim(3, &held);
    const tnd_task_t task = {.step = hold, .context = &held};
    tnd_done_t done;
    tnd_device_workers_run_all(self->workers, &task);
    for (uint64_t step = 0; step < 3; step++)
        fixture_feed(self, step, 3);
    cr_assert(await_count(&held.started, 3));
    for (int look = 0; look < 100; look++)
        cr_assert(not(take_done(self->workers, &done)));
    atomic_store(&held.go, true);
    for (uint64_t step = 0; step < 3; step++)
        cr_assert(eq(u64, await_done(self).step, step));
    fixture_destroy(self);
}

Test(device_workers_copy, a_program_runs_the_next_step_before_the_device_has_done_the_last)
{
    held_t held;
    fixture_t *self = new_on_sim(3, &held);
    const tnd_task_t task = {.step = hold, .context = &held};
    tnd_done_t done;
    for (uint64_t step = 0; step < 3; step++)
        fixture_feed(self, step, 3);
    for (uint64_t step = 0; step < 3; step++) {
        cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
        cr_assert(tnd_device_workers_run(self->workers, &task) == TND_OK);
    }
    tnd_device_workers_over(self->workers, TND_END);
    cr_assert(tnd_device_workers_next(self->workers) == TND_END);
    cr_assert(not(take_done(self->workers, &done)));
    atomic_store(&held.go, true);
    for (uint64_t step = 0; step < 3; step++)
        cr_assert(eq(u64, await_done(self).step, step));
    fixture_destroy(self);
}

Test(device_workers_copy, discarded_steps_are_copied_too)
{
    enum { STEPS = 20, DEPTH = 2 };
    held_t held;
    tnd_device_facts_t facts;
    uint64_t bytes = 0;
    fixture_t *self = new_on_sim(DEPTH, &held);
    tnd_device_workers_discard(self->workers);
    for (uint64_t step = 0; step < STEPS; step++) {
        fixture_feed(self, step, DEPTH);
        bytes += (fixture_rows(step, 0) + 1) * FIXTURE_WIDTH * sizeof(float);
        cr_assert(eq(u64, await_done(self).step, step));
    }
    held.device->ops->facts(held.device, &facts);
    cr_assert(eq(u64, facts.bytes_moved, bytes)); /* one row of padding in each step */
    fixture_destroy(self);
}

/* --- rows that are ragged or cast ------------------------------------------------------------- */

/*  Row r of step s: `i` is u8[4] of s + 4 r .. s + 4 r + 3; `x` is ragged, of (s + r) % 5 times s + r. */
enum { ROWS = 6, WIDE = 4, LONGEST = 5 };

typedef struct {
    tnd_slot_form_t form;
    bool casts;
} shown_t;

static bool looks_right(const shown_t *shown, const tnd_replica_t *replica)
{
    uint64_t step = tnd_replica_step(replica), rows = tnd_replica_rows(replica);
    const uint8_t *x = tnd_replica_column(replica, "x"), *i = tnd_replica_column(replica, "i");
    const uint64_t *lengths = tnd_replica_lengths(replica, "x");
    const uint64_t *splits = tnd_replica_splits(replica, "x");
    for (uint64_t r = 0; r < rows; r++) {
        const uint8_t *row =
            splits != NULL ? x + splits[r] : x + r * tnd_replica_stride(replica, "x");
        if (lengths[r] != (step + r) % LONGEST)
            return false;
        for (uint64_t e = 0; e < lengths[r]; e++)
            if (row[e] != (uint8_t)(step + r))
                return false;
        for (uint64_t e = 0; e < WIDE; e++) {
            uint8_t raw = (uint8_t)(step + 4 * r + e);
            /* Channels first: element e of two channels comes from pixel e % 2 of channel e / 2. */
            uint8_t from = (uint8_t)(step + 4 * r + e % 2 * 2 + e / 2);
            float cast = e / 2 == 0 ? from * 2.0f + 1 : from * 0.5f - 3;
            if (shown->casts ? ((const float *)(const void *)i)[r * WIDE + e] != cast
                             : i[r * WIDE + e] != raw)
                return false;
        }
    }
    return true;
}

static tnd_status_t look(void *context, tnd_replica_t *replica)
{
    if (looks_right(context, replica))
        return TND_OK;
    tnd_replica_error(replica, "the rows are wrong");
    return TND_FAILED;
}

static void put_rows(tnd_device_workers_t *workers, uint32_t slot, uint64_t step, uint32_t rows)
{
    uint8_t values[LONGEST];
    tnd_error_t error;
    tnd_device_workers_share(workers, slot, 0, rows, ROWS - rows);
    for (uint32_t r = 0; r < rows && tnd_device_workers_arranges(workers); r++)
        tnd_device_workers_lengths(workers, slot, 0, 0)[r] = (step + r) % LONGEST;
    if (tnd_device_workers_arranges(workers))
        (void)tnd_device_workers_arrange(workers, slot, 0);
    for (uint32_t r = 0; r < rows; r++) {
        memset(values, (int)(step + r), sizeof values);
        const uint64_t length = (step + r) % LONGEST;
        const tnd_block_column_t from = {.base = values, .stride = 1, .lengths = &length};
        cr_assert(tnd_device_workers_put(workers, slot, 0, 0, r, &from, 0, 1, &error) == TND_OK);
        uint8_t *i = tnd_device_workers_row(workers, slot, 0, 1, r);
        for (uint32_t e = 0; e < WIDE; e++)
            i[e] = (uint8_t)(step + 4 * r + e);
    }
}

static void show(const char *device, shown_t shown)
{
    static const float scale[] = {2, 0.5f}, bias[] = {1, -3};
    static const tnd_row_cast_t cast = {.from = TND_U8,
                                        .to = TND_F32,
                                        .elements = WIDE,
                                        .channels = 2,
                                        .channels_first = true,
                                        .scale = scale,
                                        .bias = bias};
    const tnd_row_cast_t *casts[TND_COLUMNS_MAX] = {[1] = &cast};
    tnd_schema_t schema = {0}, cast_schema = {0};
    tnd_device_workers_t *workers;
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "x", TND_U8, 1, (uint64_t[]){LONGEST}, &error) ==
              TND_OK);
    cast_schema = schema;
    cr_assert(tnd_schema_add(&schema, "i", TND_U8, 2, (uint64_t[]){2, 2}, &error) == TND_OK);
    cr_assert(tnd_schema_add(&cast_schema, "i", TND_F32, 2, (uint64_t[]){2, 2}, &error) == TND_OK);
    fixture_t waker = {.count = 1};
    tnd_device_workers_config_t config = {.name = "feed",
                                          .schema = &schema,
                                          .shown = shown.casts ? &cast_schema : NULL,
                                          .casts = shown.casts ? casts : NULL,
                                          .device = link,
                                          .replicas = 1,
                                          .count = 1,
                                          .devices = &device,
                                          .depth = 2,
                                          .rows_max = ROWS,
                                          .form = shown.form,
                                          .wake = fixture_wake,
                                          .context = &waker};
    const tnd_task_t task = {.step = look, .context = &shown};
    cr_assert(tnd_device_workers_new(&workers, &config, NULL, &error) == TND_OK, "%s", error.text);
    tnd_device_workers_run_all(workers, &task);
    for (uint64_t step = 0; step < 30; step++) {
        tnd_done_t done;
        put_rows(workers, (uint32_t)step % 2, step, (uint32_t)(step % (ROWS + 1)));
        tnd_device_workers_ready(workers, (uint32_t)step % 2, &(tnd_slice_note_t){.step = step},
                                 NULL);
        tnd_device_workers_flush(workers);
        while (!take_done(workers, &done) && tnd_device_workers_error(workers) == NULL)
            sched_yield();
        cr_assert(tnd_device_workers_error(workers) == NULL, "%s on %s, form %d",
                  tnd_device_workers_error(workers), device, (int)shown.form);
    }
    tnd_device_workers_destroy(&workers);
}

Test(device_workers_copy, steps_see_the_same_rows_wherever_they_are_copied_or_cast)
{
    static const char *const devices[] = {"cpu:0", "sim:0"};
    static const tnd_slot_form_t forms[] = {TND_SLOT_SPREAD, TND_SLOT_PADDED, TND_SLOT_PACKED};
    for (size_t i = 0; i < 2 * 3 * 2; i++)
        show(devices[i % 2], (shown_t){forms[i / 2 % 3], i / 6 != 0});
}

static tnd_status_t look_at_lent(void *context, tnd_replica_t *replica)
{
    const float *lent = context, *x = tnd_replica_column(replica, "x");
    bool same = memcmp(x, lent, 4 * sizeof *x) == 0;
    if (!same || x == lent)
        tnd_replica_error(replica, "the rows are not a copy of those that were lent");
    return same && x != lent ? TND_OK : TND_FAILED;
}

Test(device_workers_copy, page_locked_rows_are_copied_from_where_they_are)
{
    static _Alignas(64) const float lent[4] = {1, 2, 3, 4};
    static const char *const device = "sim:0";
    const tnd_task_t task = {.step = look_at_lent, .context = (void *)(uintptr_t)lent};
    tnd_schema_t schema = {0};
    tnd_device_workers_t *workers;
    tnd_error_t error;
    tnd_done_t done;
    cr_assert(tnd_schema_add(&schema, "x", TND_F32, 0, NULL, &error) == TND_OK);
    fixture_t waker = {.count = 1};
    tnd_device_workers_config_t config = {.name = "feed",
                                          .schema = &schema,
                                          .replicas = 1,
                                          .count = 1,
                                          .devices = &device,
                                          .depth = 1,
                                          .rows_max = 4,
                                          .wake = fixture_wake,
                                          .context = &waker};
    cr_assert(tnd_device_workers_new(&workers, &config, NULL, &error) == TND_OK);
    tnd_device_workers_run_all(workers, &task);
    tnd_device_workers_share(workers, 0, 0, 4, 0);
    cr_assert(not(tnd_device_workers_borrow(workers, 0, 0, 0, lent, false)));
    cr_assert(tnd_device_workers_borrow(workers, 0, 0, 0, lent, true));
    tnd_device_workers_ready(workers, 0, &(tnd_slice_note_t){.step = 0}, NULL);
    tnd_device_workers_flush(workers);
    while (!take_done(workers, &done) && tnd_device_workers_error(workers) == NULL)
        sched_yield();
    cr_assert(tnd_device_workers_error(workers) == NULL, "%s", tnd_device_workers_error(workers));
    tnd_device_workers_destroy(&workers);
}

/* --- devices that hang ------------------------------------------------------------------------- */

/*  LeakSanitizer's, if it is linked: it does not report memory allocated between the two calls. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/*  Stops while the device of one replica has not done what it was asked to; what is said of it. */
static void stop_hung(fixture_t *self, const char *expected)
{
    tnd_device_workers_stop(self->workers);
    const char *why = tnd_device_workers_unsettled(self->workers);
    cr_assert(why != NULL);
    cr_assert(strncmp(why, expected, strlen(expected)) == 0, "%s", why);
    fixture_destroy(self);
    if (__lsan_enable != NULL)
        __lsan_enable();
}

static fixture_t *new_on_hung(held_t *held)
{
    if (__lsan_disable != NULL)
        __lsan_disable();
    fixture_t *self = new_on_sim(2, held);
    self->workers->config.stop_ns = 20000000;
    return self;
}

static void await_pending(const fixture_t *self, uint64_t pending)
{
    const tnd_device_page_t *page = self->workers->workers[0].page;
    uint64_t until = tnd_clock_now() + 20000000000u;
    while (atomic_load(&page->pending) != pending && tnd_clock_now() < until)
        sched_yield();
    cr_assert(eq(u64, atomic_load(&page->pending), pending));
}

Test(device_workers_copy, a_stop_names_a_device_whose_work_never_ends_and_leaks_its_memory)
{
    held_t held;
    fixture_t *self = new_on_hung(&held);
    const tnd_task_t task = {.step = hold, .context = &held};
    tnd_device_workers_run_all(self->workers, &task);
    const float *host = tnd_device_workers_row(self->workers, 0, 0, 0, 0);
    fixture_feed(self, 0, 2);
    fixture_feed(self, 1, 2);
    await_pending(self, TND_PENDING_WORK | 0 << 8);
    stop_hung(self, "feed: the work of step 0 on sim:0 is not done 20 ms after the stop");
    cr_assert(isfinite(host[0])); /* it is not unmapped */
}

Test(device_workers_copy, a_stop_names_a_device_whose_copy_never_ends_and_leaks_its_memory)
{
    held_t held;
    fixture_t *self = new_on_hung(&held);
    tnd_error_t error;
    tnd_stage_t *stage = tnd_device_workers_stage(self->workers, 1, 0);
    tnd_stream_handle_t stream = tnd_sim_stream_open(held.device);
    tnd_sim_hold(held.device, stream, &held.go);
    cr_assert(held.device->ops->mark(held.device, stage, stream, &error) == TND_OK);
    const float *host = tnd_device_workers_row(self->workers, 1, 0, 0, 0);
    tnd_device_workers_discard(self->workers);
    fixture_feed(self, 0, 2);
    fixture_feed(self, 1, 2);
    await_pending(self, TND_PENDING_COPY | 1 << 8);
    stop_hung(self, "feed: the copy of step 1 to sim:0 is not done 20 ms after the stop");
    cr_assert(isfinite(host[0]));
}

static tnd_status_t hold_and_fail(void *context, tnd_replica_t *replica)
{
    (void)hold(context, replica);
    tnd_replica_error(replica, "the mould has cracked");
    return TND_FAILED;
}

Test(device_workers_copy, a_step_that_fails_may_leave_work_on_its_device)
{
    held_t held;
    fixture_t *self = new_on_hung(&held);
    const tnd_task_t task = {.step = hold_and_fail, .context = &held};
    tnd_device_workers_run_all(self->workers, &task);
    fixture_feed(self, 0, 2);
    while (tnd_device_workers_error(self->workers) == NULL)
        sched_yield();
    stop_hung(self, "feed: the work of step 0 on sim:0 is not done");
}

/*  Ends the work once the threads were stopped. */
static void *let_go(void *context)
{
    held_t *held = context;
    const fixture_t *self = held->fixture;
    while (!atomic_load(&self->workers->stopped))
        sched_yield();
    atomic_store(&held->go, true);
    return NULL;
}

Test(device_workers_copy, a_stop_waits_for_work_that_ends)
{
    held_t held;
    fixture_t *self = new_on_sim(2, &held);
    const tnd_task_t task = {.step = hold, .context = &held};
    self->workers->config.stop_ns = 20000000000;
    tnd_device_workers_run_all(self->workers, &task);
    fixture_feed(self, 0, 2);
    cr_assert(await_count(&held.started, 1));
    pthread_t other;
    cr_assert(pthread_create(&other, NULL, let_go, &held) == 0);
    tnd_device_workers_stop(self->workers);
    cr_assert(atomic_load(&held.go));
    cr_assert(tnd_device_workers_unsettled(self->workers) == NULL);
    pthread_join(other, NULL);
    fixture_destroy(self);
}

/* --- programs that hold many batches ---------------------------------------------------------- */

enum { HELD = 8 };

static tnd_status_t keep_tensor(void *context, tnd_replica_t *replica)
{
    dl_managed_tensor_t **tensors = context;
    tensors[tnd_replica_step(replica)] = tnd_replica_dlpack(replica, "x");
    return TND_OK;
}

/*  Steps whose slot could be released while the tensors of all are held. */
static uint64_t hold_steps(const char *device, uint32_t further, tnd_error_t *error)
{
    dl_managed_tensor_t *tensors[HELD] = {NULL};
    const tnd_task_t task = {.step = keep_tensor, .context = tensors};
    tnd_schema_t schema = {0};
    tnd_device_workers_t *workers;
    tnd_done_t done;
    cr_assert(tnd_schema_add(&schema, "x", TND_F32, 0, NULL, error) == TND_OK);
    fixture_t waker = {.count = 1};
    tnd_device_workers_config_t config = {.name = "feed",
                                          .schema = &schema,
                                          .replicas = 1,
                                          .count = 1,
                                          .devices = &device,
                                          .depth = 2,
                                          .spare = 1,
                                          .further = further,
                                          .rows_max = 1,
                                          .wake = fixture_wake,
                                          .context = &waker};
    cr_assert(tnd_device_workers_new(&workers, &config, NULL, error) == TND_OK);
    tnd_device_workers_run_all(workers, &task);
    uint64_t step = 0;
    tnd_status_t status = TND_OK;
    for (; step < HELD && status == TND_OK; step++) {
        tnd_device_workers_share(workers, step % 2, 0, 1, 0);
        *(float *)tnd_device_workers_row(workers, step % 2, 0, 0, 0) = (float)step;
        tnd_device_workers_ready(workers, step % 2, &(tnd_slice_note_t){.step = step}, NULL);
        tnd_device_workers_flush(workers);
        while (!take_done(workers, &done))
            sched_yield();
        status = tnd_device_workers_release(workers, done.slot, error);
    }
    cr_assert(
        eq(u32, tnd_device_workers_further(workers), further < HELD - 1 ? further : HELD - 1));
    for (uint64_t i = 0; i < step; i++)
        cr_assert(eq(flt, *(float *)tensors[i]->dl_tensor.data, (float)i));
    tnd_device_workers_destroy(&workers);
    for (uint64_t i = 0; i < step; i++)
        tensors[i]->deleter(tensors[i]);
    return status == TND_OK ? step : step - 1;
}

Test(device_workers_copy, a_program_may_hold_as_many_batches_as_memory_allows)
{
    static const char *const devices[] = {"cpu:0", "sim:0"};
    for (size_t i = 0; i < 2; i++) {
        tnd_error_t error = {.text = ""};
        cr_assert(eq(u64, hold_steps(devices[i], UINT32_MAX, &error), HELD));
        cr_assert(eq(u64, hold_steps(devices[i], 2, &error), 3)); /* a spare one and two more */
        cr_assert(strstr(error.text, "holds the tensors of 4 batches (`spare:` is 1)") != NULL,
                  "%s", error.text);
    }
}
