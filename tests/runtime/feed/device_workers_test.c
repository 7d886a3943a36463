/*  tests/runtime/feed/device_workers_test.c - device threads: the same bits on any number of them.
 */
#include <signal.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/base/thread.h"
#include "runtime/core/reducer.h"
#include "runtime/feed/device_workers_internal.h"
#include "runtime/posts/tensor.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { STEPS = 40, DEPTH = 3 };

static void assert_same(const fixture_t *one, const fixture_t *other)
{
    for (uint32_t r = other->first; r < other->first + other->count; r++)
        cr_assert(memcmp(one->weights[0], other->weights[r], sizeof one->weights[0]) == 0,
                  "replica %u has other bits", r);
}

static void compare_threads(bool gathers)
{
    fixture_t *one = fixture_new(0, 4, 1, DEPTH);
    one->gathers = gathers;
    fixture_run(one, STEPS, DEPTH);
    cr_assert(tnd_device_workers_error(one->workers) == NULL);
    assert_same(one, one);
    cr_assert(one->weights[0][0] != 0);
    for (uint32_t devices = 2; devices <= 4; devices += 2) {
        fixture_t *more = fixture_new(0, 4, devices, DEPTH);
        more->gathers = gathers;
        fixture_run(more, STEPS, DEPTH);
        assert_same(one, more);
        fixture_destroy(more);
    }
    fixture_destroy(one);
}

Test(device_workers, gives_the_same_bits_on_one_two_and_four_threads)
{
    compare_threads(false);
}

Test(device_workers, gathers_and_weighs_alike_on_one_two_and_four_threads)
{
    compare_threads(true);
}

Test(device_workers, agrees_with_a_mean_computed_by_hand)
{
    fixture_t *self = fixture_new(0, 4, 2, 1);
    double sum = 0, rows = 0;
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t k = 0; k < fixture_rows(0, r); k++, rows++)
            sum += (double)((r * 7 + k * FIXTURE_WIDTH * 13) % 101) / 7.0 - 5.0;
    fixture_run(self, 1, 1);
    cr_assert(ieee_ulp_eq(flt, self->weights[0][0], (float)(sum / rows), 8));
    fixture_destroy(self);
}

/*  Checks each row of a ragged column, and the zeros after it in the slot. */
static tnd_status_t look_at_ragged(void *context, tnd_replica_t *replica)
{
    const uint8_t *x = tnd_replica_column(replica, "x");
    const uint64_t *lengths = tnd_replica_lengths(replica, "x");
    (void)context;
    for (uint64_t row = 0; row < tnd_replica_rows(replica) + tnd_replica_padded(replica); row++) {
        bool padding = row >= tnd_replica_rows(replica);
        if (lengths[row] != (padding ? 0 : (tnd_replica_step(replica) * 5 + row * 3) % 7))
            return TND_FAILED;
        for (uint64_t i = 0; i < 6; i++)
            if (x[row * 6 + i] != (i < lengths[row] ? 1 + i : 0))
                return TND_FAILED;
    }
    return tnd_replica_lengths(replica, "y") == NULL && tnd_replica_lengths(replica, "z") == NULL
               ? TND_OK
               : TND_FAILED;
}

Test(device_workers, shows_ragged_rows_with_zeros_after_them_whatever_the_slot_held_before)
{
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6};
    static const char *const devices[] = {"cpu:0"};
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "x", TND_U8, 1, (uint64_t[]){6}, &error) == TND_OK);
    cr_assert(tnd_schema_add(&schema, "y", TND_F32, 0, NULL, &error) == TND_OK);
    uint64_t lengths[5];
    const uint64_t index[5] = {0}; /* all rows begin at the same byte */
    const tnd_block_column_t from = {.base = data, .stride = 1, .index = index, .lengths = lengths};
    fixture_t waker = {.count = 1};
    tnd_device_workers_config_t config = {.name = "feed",
                                          .schema = &schema,
                                          .replicas = 1,
                                          .count = 1,
                                          .devices = devices,
                                          .depth = 2,
                                          .rows_max = 5,
                                          .wake = fixture_wake,
                                          .context = &waker};
    const tnd_task_t task = {.step = look_at_ragged};
    tnd_device_workers_t *workers;
    tnd_done_t done;
    cr_assert(tnd_device_workers_new(&workers, &config, NULL, &error) == TND_OK);
    tnd_device_workers_run_all(workers, &task);
    for (uint64_t step = 0; step < 40; step++) {
        uint32_t slot = (uint32_t)step % 2, rows = (uint32_t)(step * 7 % 5);
        tnd_device_workers_share(workers, slot, 0, rows, 5 - rows > 2 ? 2 : 5 - rows);
        for (uint32_t row = 0; row < rows; row++)
            lengths[row] = (step * 5 + row * 3) % 7;
        cr_assert(tnd_device_workers_put(workers, slot, 0, 0, 0, &from, 0, rows, &error) == TND_OK);
        tnd_device_workers_ready(workers, slot, &(tnd_slice_note_t){.step = step}, NULL);
        tnd_device_workers_flush(workers);
        while (!take_done(workers, &done) && tnd_device_workers_error(workers) == NULL)
            sched_yield();
        cr_assert(tnd_device_workers_error(workers) == NULL, "step %llu", (unsigned long long)step);
    }
    tnd_device_workers_destroy(&workers);
}

/*  A reducer in the middle of two groups of workers, as the actor of that name is. */
typedef struct {
    void *memory;
    tnd_reducer_core_t *machine;
    fixture_t *feeders[2];
} middle_t;

static const tnd_actor_id_t carriers[] = {10, 10, 10, 11};

static middle_t middle_of(fixture_t *left, fixture_t *right)
{
    static const char *const names[] = {"left", "left", "left", "right"};
    tnd_reducer_core_config_t config = {.self = 1,
                                        .replicas = FIXTURE_REPLICAS,
                                        .feeders = carriers,
                                        .names = names,
                                        .rounds_max = 16};
    middle_t self = {.memory = calloc(1, tnd_reducer_core_bytes(&config)),
                     .feeders = {left, right}};
    self.machine = tnd_reducer_core_init(self.memory, &config);
    tnd_reducer_core_feeder_up(self.machine, 10);
    tnd_reducer_core_feeder_up(self.machine, 11);
    return self;
}

static void compute_root(middle_t *self, const tnd_msg_t *round)
{
    tnd_post_note_t posts[FIXTURE_REPLICAS];
    tnd_reduction_tree_input_t inputs[FIXTURE_REPLICAS];
    tnd_tensor_head_t head;
    tnd_error_t error;
    uint32_t count = tnd_reducer_core_nodes(self->machine, round->post.round,
                                            round->post.reducer_slot, posts, FIXTURE_REPLICAS);
    cr_assert(eq(u32, count, 3), "replicas 0 and 1 share a node, 2 and 3 are leaves");
    for (uint32_t i = 0; i < count; i++) {
        const void *values;
        cr_assert(tnd_tensor_read(posts[i].payload, posts[i].weight == 0, &head, &values, &error) ==
                      TND_OK,
                  "%s", error.text);
        inputs[i] = (tnd_reduction_tree_input_t){
            {posts[i].first, posts[i].count}, values, posts[i].weight, true, 0};
    }
    tnd_buffer_t *root = tnd_buffer_new(tnd_tensor_bytes(TND_F32, false, 0, (size_t)head.count));
    tnd_tensor_head_t result = {.reduce = TND_MEAN, .dtype = TND_F32, .count = head.count};
    tnd_segment_t *none;
    tnd_reduction_tree_job_t job = {TND_MEAN, TND_F32, {0, FIXTURE_REPLICAS}, inputs, count, false};
    tnd_reduction_tree_root(&job, 0, (size_t)head.count, tnd_tensor_begin(root, &result, &none));
    tnd_buffer_seal(root);
    tnd_reducer_core_reduced(self->machine, round, root);
}

static void pass_on(middle_t *self)
{
    tnd_error_t error;
    for (int f = 0; f < 2; f++) {
        tnd_outgoing_t outgoing;
        while (tnd_device_workers_outgoing(self->feeders[f]->workers, &outgoing)) {
            tnd_msg_t msg = {.kind = TND_MSG_POST, .from = carriers[3 * f], .to = 1};
            msg.post = outgoing.post;
            cr_assert(tnd_reducer_core_post(self->machine, &msg, &error) == TND_OK, "%s",
                      error.text);
        }
    }
    tnd_effect_t effect;
    while (tnd_reducer_core_next(self->machine, 0, &effect)) {
        tnd_buffer_t *buffer = effect.payload;
        if (effect.kind == TND_EFFECT_REDUCE)
            compute_root(self, &effect.msg);
        if (effect.kind == TND_EFFECT_FORGET || effect.kind == TND_EFFECT_DROP)
            tnd_buffer_drop(&buffer);
        if (effect.kind != TND_EFFECT_LINK)
            continue;
        fixture_t *to = self->feeders[effect.msg.to == 11];
        if (effect.msg.kind == TND_MSG_CLOSED) {
            tnd_device_workers_closed(to->workers);
            continue;
        }
        tnd_buffer_hold(effect.msg.post.payload);
        cr_assert(tnd_device_workers_incoming(to->workers, 1, &effect.msg.post, &error) == TND_OK,
                  "%s", error.text);
    }
    for (int f = 0; f < 2; f++) {
        tnd_used_t used;
        while (tnd_device_workers_used(self->feeders[f]->workers, &used)) {
            tnd_msg_t got = {.kind = TND_MSG_GOT, .from = carriers[3 * f], .to = used.reducer};
            got.post = used.result;
            tnd_reducer_core_got(self->machine, &got);
        }
    }
}

Test(device_workers, gives_the_same_bits_when_its_replicas_are_spread_over_two_feeders)
{
    fixture_t *one = fixture_new(0, 4, 1, 2), *left = fixture_new(0, 3, 2, 2),
              *right = fixture_new(3, 1, 1, 2);
    fixture_run(one, STEPS, 2);
    middle_t middle = middle_of(left, right);
    uint64_t fed[2] = {0, 0}, taken[2] = {0, 0};
    for (int f = 0; f < 2; f++)
        tnd_device_workers_run_all(middle.feeders[f]->workers, &middle.feeders[f]->task);
    while (taken[0] < STEPS || taken[1] < STEPS) {
        for (int f = 0; f < 2; f++) {
            tnd_done_t done;
            while (fed[f] < STEPS && fed[f] - taken[f] < 2)
                fixture_feed(middle.feeders[f], fed[f]++, 2);
            while (take_done(middle.feeders[f]->workers, &done))
                taken[f]++;
            cr_assert(tnd_device_workers_error(middle.feeders[f]->workers) == NULL);
        }
        pass_on(&middle);
        sched_yield();
    }
    while (tnd_reducer_core_open(middle.machine) > 0) /* results that were copied just now */
        pass_on(&middle);
    pass_on(&middle);
    assert_same(one, left);
    assert_same(one, right);
    fixture_destroy(left);
    fixture_destroy(right);
    fixture_destroy(one);
    free(middle.memory);
}

Test(device_workers, says_which_replica_failed_where_and_why)
{
    fixture_t *self = fixture_new(0, 4, 2, 2);
    self->fail_at = 5;
    fixture_run(self, STEPS, 2);
    cr_assert(eq(str, (char *)tnd_device_workers_error(self->workers),
                 (char *)"feed: the step of replica 1 on cpu:0, step 5: the mould has cracked"));
    fixture_destroy(self);
}

Test(device_workers, refuses_reductions_that_not_all_replicas_post)
{
    for (uint32_t silent = 0; silent < 4; silent++) {
        fixture_t *self = fixture_new(0, 4, 2, 1);
        self->silent_replica = silent;
        fixture_run(self, 1, 1);
        cr_assert(tnd_device_workers_error(self->workers) != NULL);
        cr_assert(strstr(tnd_device_workers_error(self->workers), "step 0") != NULL);
        cr_assert(strstr(tnd_device_workers_error(self->workers), "same") != NULL, "%s",
                  tnd_device_workers_error(self->workers));
        fixture_destroy(self);
    }
    fixture_t *self = fixture_new(0, 4, 4, 1);
    self->silent_replica = 2;
    fixture_run(self, 1, 1);
    cr_assert(strstr(tnd_device_workers_error(self->workers), "2") != NULL);
    fixture_destroy(self);
}

static tnd_status_t post_own_count(void *context, tnd_replica_t *replica)
{
    static float few[1], many[1 << 16];
    bool posts_few = tnd_replica_id(replica) >= 2;
    (void)context;
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, posts_few ? few : many,
                              posts_few ? 1 : 1 << 16);
}

Test(device_workers, refuses_reductions_of_different_length_before_it_reads_them)
{
    fixture_t *self = fixture_new(0, 4, 2, 1);
    self->task = (tnd_task_t){.step = post_own_count};
    fixture_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->workers) != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->workers),
                     "replicas 0 and 2 posted different reductions") != NULL,
              "%s", tnd_device_workers_error(self->workers));
    fixture_destroy(self);
}

static tnd_status_t post_elsewhere(void *context, tnd_replica_t *replica)
{
    (void)context;
    static float value;
    return tnd_replica_reduce(replica, "sum", TND_SUM, TND_F32, &value, 1);
}

static tnd_status_t gather_much(void *context, tnd_replica_t *replica)
{
    (void)context;
    static float value;
    return tnd_replica_gather(replica, "mean", TND_F32, &value, 3 << 20);
}

Test(device_workers, refuses_to_send_more_than_fits_a_message_to_where_it_is_gathered)
{
    fixture_t *self = fixture_new(0, 3, 2, 1);
    self->task = (tnd_task_t){.step = gather_much};
    fixture_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->workers) != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->workers),
                     "in step 0 more is gathered than 32 MiB") != NULL,
              "%s", tnd_device_workers_error(self->workers));
    fixture_destroy(self);
}

Test(device_workers, names_the_reducers_there_are_when_another_is_asked_for)
{
    fixture_t *self = fixture_new(0, 4, 1, 1);
    self->task = (tnd_task_t){.step = post_elsewhere};
    fixture_run(self, 1, 1);
    cr_assert(strstr(tnd_device_workers_error(self->workers), "no reducer 'sum'") != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->workers), "there: mean") != NULL);
    fixture_destroy(self);
}

Test(device_workers, makes_padded_rows_zeros)
{
    fixture_t *self = fixture_new(0, 1, 1, 1);
    float *x = tnd_device_workers_row(self->workers, 0, 0, 0, 0);
    for (size_t i = 0; i < FIXTURE_ROWS * FIXTURE_WIDTH; i++)
        x[i] = 3;
    tnd_device_workers_share(self->workers, 0, 0, 2, 5);
    for (size_t i = 0; i < FIXTURE_ROWS * FIXTURE_WIDTH; i++)
        cr_assert(eq(flt, x[i], i < 2 * FIXTURE_WIDTH || i >= 7 * FIXTURE_WIDTH ? 3 : 0));
    fixture_destroy(self);
}

Test(device_workers, discards_steps_that_will_not_be_pulled)
{
    fixture_t *self = fixture_new(0, 4, 2, 2);
    tnd_done_t done;
    fixture_feed(self, 0, 2);
    cr_assert(not(take_done(self->workers, &done)), "the program may still pull it");
    tnd_device_workers_discard(self->workers);
    cr_assert(gt(u32, self->wakes, 0));
    cr_assert(take_done(self->workers, &done));
    cr_assert(eq(u64, done.step, 0));
    cr_assert(tnd_device_workers_next(self->workers) == TND_FAILED, "too late to pull");
    fixture_destroy(self);
}

Test(device_workers, hands_steps_to_a_program_and_commits_with_the_next)
{
    fixture_t *one = fixture_new(0, 4, 1, 2), *self = fixture_new(0, 4, 2, 2);
    tnd_done_t done;
    fixture_run(one, 3, 2);
    fixture_feed(self, 0, 2);
    fixture_feed(self, 1, 2);
    cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
    cr_assert(tnd_device_workers_run(self->workers, &self->task) == TND_OK);
    cr_assert(tnd_device_workers_run(self->workers, &self->task) == TND_FAILED, "once a step");
    cr_assert(not(take_done(self->workers, &done)));
    cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
    cr_assert(take_done(self->workers, &done));
    cr_assert(eq(u64, done.step, 0));
    fixture_feed(self, 2, 2);
    cr_assert(tnd_device_workers_run(self->workers, &self->task) == TND_OK);
    cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
    cr_assert(tnd_device_workers_run(self->workers, &self->task) == TND_OK);
    tnd_device_workers_over(self->workers, TND_END);
    cr_assert(tnd_device_workers_next(self->workers) == TND_END);
    cr_assert(tnd_device_workers_next(self->workers) == TND_END);
    assert_same(one, self);
    fixture_destroy(self);
    fixture_destroy(one);
}

static tnd_status_t note_policy(void *context, tnd_replica_t *replica)
{
    _Atomic int *policies = context;
    policies[tnd_replica_id(replica)] = sched_getscheduler(0);
    return TND_OK;
}

/*  What an actor does. */
static void *start_workers(void *context)
{
    const tnd_task_t task = {.step = note_policy, .context = context};
    tnd_error_t error;
    tnd_thread_begin("actor");
    fixture_t *self = fixture_new(0, 4, 2, 1);
    cr_assert(tnd_device_workers_call(self->workers, &task, &error) == TND_OK);
    fixture_destroy(self);
    return NULL;
}

Test(device_workers, computes_on_threads_with_another_scheduling_than_actors)
{
    _Atomic int policies[4] = {SCHED_BATCH, SCHED_BATCH, SCHED_BATCH, SCHED_BATCH};
    pthread_t actor;
    cr_assert(pthread_create(&actor, NULL, start_workers, policies) == 0);
    pthread_join(actor, NULL);
    for (int r = 0; r < 4; r++)
        cr_assert(eq(int, policies[r], sched_getscheduler(0)));
}

/*  A step on two threads, of which the second is interrupted once its replicas have posted, until
 *  the first has the result of the reduction. */
typedef struct {
    fixture_t *fixture;
    int entered[2], resume[2]; /* pipes: the handler runs; it may return */
} interrupted_t;

static interrupted_t interrupted;

static void hold_thread(int signal)
{
    char byte = 0;
    (void)signal;
    if (write(interrupted.entered[1], &byte, 1) != 1 || read(interrupted.resume[0], &byte, 1) != 1)
        abort();
}

static tnd_status_t post_and_interrupt(void *context, tnd_replica_t *replica)
{
    tnd_device_workers_t *workers = interrupted.fixture->workers;
    const worker_t *other = &workers->workers[1];
    tnd_status_t status = fixture_step(context, replica);
    char byte;
    if (tnd_replica_id(replica) != 1)
        return status;
    while (atomic_load(&other->word) % (1 << MEETING_BITS) == 0)
        sched_yield();
    cr_assert(pthread_kill(other->thread, SIGUSR1) == 0);
    cr_assert(read(interrupted.entered[0], &byte, 1) == 1);
    return status;
}

static tnd_status_t apply_and_resume(void *context, tnd_replica_t *replica)
{
    tnd_status_t status = fixture_apply(context, replica);
    char byte = 0;
    if (tnd_replica_id(replica) == 0)
        cr_assert(write(interrupted.resume[1], &byte, 1) == 1);
    return status;
}

Test(device_workers, a_thread_that_is_interrupted_does_not_hold_up_a_reduction)
{
    fixture_t *one = fixture_new(0, 4, 1, 1), *self = fixture_new(0, 4, 2, 1);
    interrupted.fixture = self;
    cr_assert(pipe(interrupted.entered) == 0);
    cr_assert(pipe(interrupted.resume) == 0);
    signal(SIGUSR1, hold_thread);
    fixture_run(one, 1, 1);
    self->task =
        (tnd_task_t){.step = post_and_interrupt, .apply = apply_and_resume, .context = self};
    fixture_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->workers) == NULL);
    assert_same(one, self);
    fixture_destroy(self);
    fixture_destroy(one);
}
