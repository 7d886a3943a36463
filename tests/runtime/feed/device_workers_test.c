/*  tests/runtime/feed/device_workers_test.c - device threads: the same bits on any number of them.
 */
#include <signal.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/interface/collective.h"
#include "runtime/core/reducer.h"
#include "runtime/feed/device_workers_internal.h"
#include "runtime/base/thread.h"
#include "tests/runtime/feed/device_workers_fixture.h"

enum { STEPS = 40, DEPTH = 3 };

static void assert_same(const crewed_t *one, const crewed_t *other)
{
    for (uint32_t r = other->first; r < other->first + other->count; r++)
        cr_assert(memcmp(one->weights[0], other->weights[r], sizeof one->weights[0]) == 0,
                  "replica %u has other bits", r);
}

static void compare_threads(bool gathers)
{
    crewed_t *one = crewed_new(0, 4, 1, DEPTH);
    one->gathers = gathers;
    crewed_run(one, STEPS, DEPTH);
    cr_assert(tnd_device_workers_error(one->crew) == NULL);
    assert_same(one, one);
    cr_assert(one->weights[0][0] != 0);
    for (uint32_t devices = 2; devices <= 4; devices += 2) {
        crewed_t *more = crewed_new(0, 4, devices, DEPTH);
        more->gathers = gathers;
        crewed_run(more, STEPS, DEPTH);
        assert_same(one, more);
        crewed_destroy(more);
    }
    crewed_destroy(one);
}

Test(crew, gives_the_same_bits_on_one_two_and_four_threads)
{
    compare_threads(false);
}

Test(crew, gathers_and_weighs_alike_on_one_two_and_four_threads)
{
    compare_threads(true);
}

Test(crew, agrees_with_a_mean_computed_by_hand)
{
    crewed_t *self = crewed_new(0, 4, 2, 1);
    double sum = 0, rows = 0;
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t k = 0; k < crewed_rows(0, r); k++, rows++)
            sum += (double)((r * 7 + k * CREWED_WIDTH * 13) % 101) / 7.0 - 5.0;
    crewed_run(self, 1, 1);
    cr_assert(ieee_ulp_eq(flt, self->weights[0][0], (float)(sum / rows), 8));
    crewed_destroy(self);
}

/*  The rows of a column that are asked for, with what the slot holds behind each. */
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

Test(crew, shows_ragged_rows_with_zeros_behind_them_whatever_the_slot_held_before)
{
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6};
    static const char *const devices[] = {"cpu:0"};
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "x", TND_U8, 1, (uint64_t[]){6}, &error) == TND_OK);
    cr_assert(tnd_schema_add(&schema, "y", TND_F32, 0, NULL, &error) == TND_OK);
    crewed_t waker = {.count = 1};
    tnd_device_workers_config_t config = {.name = "feed",
                                          .schema = &schema,
                                          .replicas = 1,
                                          .count = 1,
                                          .devices = devices,
                                          .depth = 2,
                                          .rows_max = 5,
                                          .wake = crewed_wake,
                                          .context = &waker};
    const tnd_task_t task = {look_at_ragged, NULL, NULL};
    tnd_device_workers_t *crew;
    tnd_done_t done;
    cr_assert(tnd_device_workers_new(&crew, &config, &error) == TND_OK);
    tnd_device_workers_run_all(crew, &task);
    for (uint64_t step = 0; step < 40; step++) {
        uint32_t slot = (uint32_t)step % 2, rows = (uint32_t)(step * 7 % 5);
        tnd_device_workers_share(crew, slot, 0, rows, 5 - rows > 2 ? 2 : 5 - rows);
        for (uint32_t row = 0; row < rows; row++)
            tnd_device_workers_put(crew, slot, 0, 0, row, data, (step * 5 + row * 3) % 7);
        tnd_device_workers_ready(crew, slot, &(tnd_slice_note_t){.step = step}, NULL);
        tnd_device_workers_flush(crew);
        while (!tnd_device_workers_done(crew, &done) && tnd_device_workers_error(crew) == NULL)
            sched_yield();
        cr_assert(tnd_device_workers_error(crew) == NULL, "step %llu", (unsigned long long)step);
    }
    tnd_device_workers_destroy(&crew);
}

/*  A reducer in the middle of two crews, as the actor of that name is. */
typedef struct {
    void *memory;
    tnd_reducer_core_t *machine;
    crewed_t *feeders[2];
} middle_t;

static const tnd_actor_id_t carriers[] = {10, 10, 10, 11};

static middle_t middle_of(crewed_t *left, crewed_t *right)
{
    static const char *const names[] = {"left", "left", "left", "right"};
    tnd_reducer_core_config_t config = {.self = 1,
                                        .replicas = CREWED_REPLICAS,
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
    tnd_post_note_t posts[CREWED_REPLICAS];
    tnd_reduction_tree_input_t inputs[CREWED_REPLICAS];
    tnd_tensor_head_t head;
    tnd_error_t error;
    uint32_t count = tnd_reducer_core_nodes(self->machine, round->post.round,
                                            round->post.reducer_slot, posts, CREWED_REPLICAS);
    cr_assert(eq(u32, count, 3), "replicas 0 and 1 share a node, 2 and 3 are leaves");
    for (uint32_t i = 0; i < count; i++) {
        const void *values;
        cr_assert(tnd_tensor_read(posts[i].payload, posts[i].weight == 0, &head, &values, &error) ==
                      TND_OK,
                  "%s", error.text);
        inputs[i] = (tnd_reduction_tree_input_t){
            {posts[i].first, posts[i].count}, values, posts[i].weight, true, 0};
    }
    tnd_buffer_t *root = tnd_buffer_new(tnd_tensor_bytes(TND_F32, false, (size_t)head.count));
    tnd_reduction_tree_job_t job = {TND_MEAN, TND_F32, {0, CREWED_REPLICAS}, inputs, count, false};
    tnd_reduction_tree_root(&job, 0, (size_t)head.count,
                            tnd_tensor_begin(root, TND_MEAN, TND_F32, false, (size_t)head.count));
    tnd_buffer_seal(root);
    tnd_reducer_core_reduced(self->machine, round, root);
}

static void pass_on(middle_t *self)
{
    tnd_error_t error;
    for (int f = 0; f < 2; f++) {
        tnd_outgoing_t outgoing;
        while (tnd_device_workers_outgoing(self->feeders[f]->crew, &outgoing)) {
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
        if (effect.kind != TND_EFFECT_LINK || effect.msg.kind != TND_MSG_RESULT)
            continue;
        crewed_t *to = self->feeders[effect.msg.to == 11];
        cr_assert(tnd_device_workers_incoming(
                      to->crew, effect.msg.post.round, effect.msg.post.reducer_slot,
                      tnd_buffer_hold(effect.msg.post.payload), &error) == TND_OK,
                  "%s", error.text);
        tnd_msg_t got = {.kind = TND_MSG_GOT, .from = effect.msg.to, .to = 1};
        got.post = effect.msg.post;
        tnd_reducer_core_got(self->machine, &got);
    }
}

Test(crew, gives_the_same_bits_when_its_replicas_are_spread_over_two_feeders)
{
    crewed_t *one = crewed_new(0, 4, 1, 2), *left = crewed_new(0, 3, 2, 2),
             *right = crewed_new(3, 1, 1, 2);
    crewed_run(one, STEPS, 2);
    middle_t middle = middle_of(left, right);
    uint64_t fed[2] = {0, 0}, taken[2] = {0, 0};
    for (int f = 0; f < 2; f++)
        tnd_device_workers_run_all(middle.feeders[f]->crew, &middle.feeders[f]->task);
    while (taken[0] < STEPS || taken[1] < STEPS) {
        for (int f = 0; f < 2; f++) {
            tnd_done_t done;
            while (fed[f] < STEPS && fed[f] - taken[f] < 2)
                crewed_feed(middle.feeders[f], fed[f]++, 2);
            while (tnd_device_workers_done(middle.feeders[f]->crew, &done))
                taken[f]++;
            cr_assert(tnd_device_workers_error(middle.feeders[f]->crew) == NULL);
        }
        pass_on(&middle);
        sched_yield();
    }
    assert_same(one, left);
    assert_same(one, right);
    crewed_destroy(left);
    crewed_destroy(right);
    crewed_destroy(one);
    free(middle.memory);
}

Test(crew, says_which_replica_failed_where_and_why)
{
    crewed_t *self = crewed_new(0, 4, 2, 2);
    self->fail_at = 5;
    crewed_run(self, STEPS, 2);
    cr_assert(eq(str, (char *)tnd_device_workers_error(self->crew),
                 (char *)"feed: the step of replica 1 on cpu:0, step 5: the mould has cracked"));
    crewed_destroy(self);
}

Test(crew, refuses_reductions_that_not_all_replicas_post)
{
    for (uint32_t silent = 0; silent < 4; silent++) {
        crewed_t *self = crewed_new(0, 4, 2, 1);
        self->silent_replica = silent;
        crewed_run(self, 1, 1);
        cr_assert(tnd_device_workers_error(self->crew) != NULL);
        cr_assert(strstr(tnd_device_workers_error(self->crew), "step 0") != NULL);
        cr_assert(strstr(tnd_device_workers_error(self->crew), "same") != NULL, "%s",
                  tnd_device_workers_error(self->crew));
        crewed_destroy(self);
    }
    crewed_t *self = crewed_new(0, 4, 4, 1);
    self->silent_replica = 2;
    crewed_run(self, 1, 1);
    cr_assert(strstr(tnd_device_workers_error(self->crew), "2") != NULL);
    crewed_destroy(self);
}

static tnd_status_t post_own_count(void *context, tnd_replica_t *replica)
{
    static float few[1], many[1 << 16];
    bool posts_few = tnd_replica_id(replica) >= 2;
    (void)context;
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, posts_few ? few : many,
                              posts_few ? 1 : 1 << 16);
}

Test(crew, refuses_reductions_of_different_length_before_it_reads_them)
{
    crewed_t *self = crewed_new(0, 4, 2, 1);
    self->task = (tnd_task_t){post_own_count, NULL, NULL};
    crewed_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->crew) != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->crew),
                     "replicas 0 and 2 posted different reductions") != NULL,
              "%s", tnd_device_workers_error(self->crew));
    crewed_destroy(self);
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

Test(crew, refuses_to_send_more_than_fits_a_message_to_where_it_is_gathered)
{
    crewed_t *self = crewed_new(0, 3, 2, 1);
    self->task = (tnd_task_t){gather_much, NULL, NULL};
    crewed_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->crew) != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->crew),
                     "in step 0 more is gathered than 32 MiB") != NULL,
              "%s", tnd_device_workers_error(self->crew));
    crewed_destroy(self);
}

Test(crew, names_the_reducers_there_are_when_another_is_asked_for)
{
    crewed_t *self = crewed_new(0, 4, 1, 1);
    self->task = (tnd_task_t){post_elsewhere, NULL, NULL};
    crewed_run(self, 1, 1);
    cr_assert(strstr(tnd_device_workers_error(self->crew), "no reducer 'sum'") != NULL);
    cr_assert(strstr(tnd_device_workers_error(self->crew), "there: mean") != NULL);
    crewed_destroy(self);
}

Test(crew, makes_padded_rows_zeros)
{
    crewed_t *self = crewed_new(0, 1, 1, 1);
    float *x = tnd_device_workers_row(self->crew, 0, 0, 0, 0);
    for (size_t i = 0; i < CREWED_ROWS * CREWED_WIDTH; i++)
        x[i] = 3;
    tnd_device_workers_share(self->crew, 0, 0, 2, 5);
    for (size_t i = 0; i < CREWED_ROWS * CREWED_WIDTH; i++)
        cr_assert(eq(flt, x[i], i < 2 * CREWED_WIDTH || i >= 7 * CREWED_WIDTH ? 3 : 0));
    crewed_destroy(self);
}

Test(crew, discards_steps_that_nobody_will_pull)
{
    crewed_t *self = crewed_new(0, 4, 2, 2);
    tnd_done_t done;
    crewed_feed(self, 0, 2);
    cr_assert(not(tnd_device_workers_done(self->crew, &done)), "the program may still pull it");
    tnd_device_workers_discard(self->crew);
    cr_assert(gt(u32, self->wakes, 0));
    cr_assert(tnd_device_workers_done(self->crew, &done));
    cr_assert(eq(u64, done.step, 0));
    cr_assert(tnd_device_workers_next(self->crew) == TND_FAILED, "too late to pull");
    crewed_destroy(self);
}

Test(crew, hands_steps_to_a_program_and_commits_with_the_next)
{
    crewed_t *one = crewed_new(0, 4, 1, 2), *self = crewed_new(0, 4, 2, 2);
    tnd_done_t done;
    crewed_run(one, 3, 2);
    crewed_feed(self, 0, 2);
    crewed_feed(self, 1, 2);
    cr_assert(tnd_device_workers_next(self->crew) == TND_OK);
    cr_assert(tnd_device_workers_run(self->crew, &self->task) == TND_OK);
    cr_assert(tnd_device_workers_run(self->crew, &self->task) == TND_FAILED, "once a step");
    cr_assert(not(tnd_device_workers_done(self->crew, &done)));
    cr_assert(tnd_device_workers_next(self->crew) == TND_OK);
    cr_assert(tnd_device_workers_done(self->crew, &done));
    cr_assert(eq(u64, done.step, 0));
    crewed_feed(self, 2, 2);
    cr_assert(tnd_device_workers_run(self->crew, &self->task) == TND_OK);
    cr_assert(tnd_device_workers_next(self->crew) == TND_OK);
    cr_assert(tnd_device_workers_run(self->crew, &self->task) == TND_OK);
    tnd_device_workers_over(self->crew, TND_END);
    cr_assert(tnd_device_workers_next(self->crew) == TND_END);
    cr_assert(tnd_device_workers_next(self->crew) == TND_END);
    assert_same(one, self);
    crewed_destroy(self);
    crewed_destroy(one);
}

static tnd_status_t note_policy(void *context, tnd_replica_t *replica)
{
    _Atomic int *policies = context;
    policies[tnd_replica_id(replica)] = sched_getscheduler(0);
    return TND_OK;
}

/*  What an actor does. */
static void *start_crew(void *context)
{
    const tnd_task_t task = {note_policy, NULL, context};
    tnd_error_t error;
    tnd_thread_begin("actor");
    crewed_t *self = crewed_new(0, 4, 2, 1);
    cr_assert(tnd_device_workers_call(self->crew, &task, &error) == TND_OK);
    crewed_destroy(self);
    return NULL;
}

Test(crew, computes_on_threads_that_do_not_wait_for_their_turn_as_actors_do)
{
    _Atomic int policies[4] = {SCHED_BATCH, SCHED_BATCH, SCHED_BATCH, SCHED_BATCH};
    pthread_t actor;
    cr_assert(pthread_create(&actor, NULL, start_crew, policies) == 0);
    pthread_join(actor, NULL);
    for (int r = 0; r < 4; r++)
        cr_assert(eq(int, policies[r], sched_getscheduler(0)));
}

/*  A step on two threads, of which the second is interrupted once its replicas have posted, until
 *  the first has the result of the reduction.
 */
typedef struct {
    crewed_t *crewed;
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
    tnd_device_workers_t *crew = interrupted.crewed->crew;
    const worker_t *other = &crew->workers[1];
    tnd_status_t status = crewed_step(context, replica);
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
    tnd_status_t status = crewed_apply(context, replica);
    char byte = 0;
    if (tnd_replica_id(replica) == 0)
        cr_assert(write(interrupted.resume[1], &byte, 1) == 1);
    return status;
}

Test(crew, a_thread_that_is_interrupted_does_not_hold_up_a_reduction)
{
    crewed_t *one = crewed_new(0, 4, 1, 1), *self = crewed_new(0, 4, 2, 1);
    interrupted.crewed = self;
    cr_assert(pipe(interrupted.entered) == 0);
    cr_assert(pipe(interrupted.resume) == 0);
    signal(SIGUSR1, hold_thread);
    crewed_run(one, 1, 1);
    self->task = (tnd_task_t){post_and_interrupt, apply_and_resume, self};
    crewed_run(self, 1, 1);
    cr_assert(tnd_device_workers_error(self->crew) == NULL);
    assert_same(one, self);
    crewed_destroy(self);
    crewed_destroy(one);
}
