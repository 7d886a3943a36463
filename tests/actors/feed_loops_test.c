/*  tests/actors/feed_loops_test.c - the loops that a program can have over a feed: several steps at a
 *  time, the end of an epoch, epochs that it ends early, and replicas that share a model. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tundish/tundish.h>

/*  12 steps of 8 rows and one of 4, twice. */
enum { ROWS = 100, SIZE = 8, STEPS = 13, EPOCHS = 2, REPLICAS = 4 };

static tnd_status_t number(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                           tnd_error_t *error)
{
    (void)user, (void)error;
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
    return TND_OK;
}

typedef struct {
    tnd_graph_t *graph;
    tnd_session_t *session;
    tnd_feed_t *feed;
    uint64_t rows[REPLICAS], steps[REPLICAS]; /* by replica */
    int64_t sum[REPLICAS];
    uint64_t fail_at; /* the step that fails; TND_UNKNOWN: none */
    /*  Of replicas that share models. */
    uint32_t share;
    float weight[REPLICAS], gradient[REPLICAS], norm[REPLICAS]; /* by model */
    uint64_t applied[REPLICAS];                                 /* by replica */
} loop_t;

/*  The numbers 0 to 99 in order, for four replicas on so many devices; COPIES: on two to which rows are
 *  copied. */
enum { COPIES = 3 };

static void begin_with(loop_t *self, uint32_t devices, const char *batcher, const char *feeder)
{
    static const char *const lists[] = {"[\"cpu:0\"]", "[\"cpu:0\", \"cpu:1\"]",
                                        "[\"sim:0\", \"sim:1\"]"};
    char text[128];
    tnd_schema_t schema = {0};
    *self = (loop_t){.fail_at = TND_UNKNOWN};
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    self->graph = tnd_graph_new("loops", 7);
    tnd_graph_callback(self->graph, "numbers", &schema, ROWS, TND_SOURCE_RANDOM, number, NULL);
    snprintf(text, sizeof text, "source: numbers, epochs: %d", EPOCHS);
    tnd_graph_add(self->graph, "read", "reader", text);
    snprintf(text, sizeof text, "size: %d, replicas: %d%s", SIZE, REPLICAS, batcher);
    tnd_graph_add(self->graph, "batch", "batcher", text);
    snprintf(text, sizeof text, "devices: %s%s", lists[devices - 1], feeder);
    tnd_graph_add(self->graph, "feed", "feeder", text);
    tnd_graph_add(self->graph, "mean", "reducer", NULL);
    tnd_graph_link(self->graph, "read -> batch -> feed <-> mean");
    cr_assert(tnd_session_open(&self->session, self->graph, NULL) == TND_OK, "%s",
              tnd_graph_errors(self->graph));
    self->feed = tnd_session_feed(self->session, "feed");
}

static void begin(loop_t *self, uint32_t devices, const char *batcher)
{
    begin_with(self, devices, batcher, "");
}

static tnd_status_t end(loop_t *self)
{
    tnd_status_t status = tnd_session_destroy(&self->session);
    tnd_graph_destroy(&self->graph);
    return status;
}

static tnd_status_t add(tnd_replica_t *replica, void *user)
{
    loop_t *self = user;
    uint32_t id = tnd_replica_id(replica);
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    if (tnd_replica_step(replica) == self->fail_at)
        return tnd_replica_error(replica, "the mould has cracked"), TND_FAILED;
    self->steps[id]++;
    self->rows[id] += tnd_replica_rows(replica);
    self->sum[id] = 0;
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        self->sum[id] += (int64_t)numbers[i];
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_I64, &self->sum[id], 1);
}

/*  The sum of the numbers of step `step` of an epoch. */
static int64_t sum_of(uint64_t step)
{
    int64_t sum = 0;
    for (uint64_t i = step * SIZE; i < (step + 1) * SIZE && i < ROWS; i++)
        sum += (int64_t)i;
    return sum;
}

static void run_steps(uint32_t devices)
{
    loop_t loop;
    uint64_t ran;
    begin(&loop, devices, "");
    cr_assert_not(tnd_feed_last(loop.feed), "no step yet");
    cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 0, &ran, add, NULL, &loop), TND_OK));
    cr_assert(eq(u64, ran, 0));
    cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 5, &ran, add, NULL, &loop), TND_OK), "%s",
              tnd_session_error(loop.session));
    cr_assert(eq(u64, ran, 5));
    cr_assert(eq(i64, loop.sum[3], sum_of(4)), "reduced over both devices");
    cr_assert_not(tnd_feed_last(loop.feed));
    cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_FAILED), "it was run");
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK), "one that is not run");
    cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 100, &ran, add, NULL, &loop), TND_OK));
    cr_assert(eq(u64, ran, STEPS - 6), "to the end of the epoch");
    cr_assert(tnd_feed_last(loop.feed));
    cr_assert(eq(i64, loop.sum[0], sum_of(STEPS - 1)));
    cr_assert(eq(int, tnd_feed_run_steps(loop.feed, STEPS - 1, &ran, add, NULL, &loop), TND_OK));
    cr_assert_not(tnd_feed_last(loop.feed));
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    cr_assert(tnd_feed_last(loop.feed));
    cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_OK));
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 5, &ran, add, NULL, &loop), TND_END));
        cr_assert(eq(u64, ran, 0));
    }
    cr_assert(eq(u64, loop.steps[1], 2 * STEPS - 1));
    tnd_summary_t summary;
    cr_assert(tnd_session_summary(loop.session, "feed", &summary));
    cr_assert(eq(u64, summary.steps, 2 * STEPS));
    cr_assert(eq(u64, summary.fed, 2 * ROWS));
    cr_assert(eq(int, end(&loop), TND_OK));
}

Test(feed_loops, several_steps_at_a_time_on_the_programs_thread)
{
    run_steps(1);
}

Test(feed_loops, several_steps_at_a_time_on_two_devices)
{
    run_steps(2);
}

static void fail_within(uint32_t devices)
{
    loop_t loop;
    uint64_t ran;
    begin(&loop, devices, "");
    loop.fail_at = 3;
    cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 9, &ran, add, NULL, &loop), TND_FAILED));
    cr_assert(devices == 1 ? ran == 3 : ran <= 3, "another device may not have done step 2");
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "step 3: the mould has cracked") != NULL, "%s", why);
    cr_assert(eq(int, end(&loop), TND_FAILED));
}

Test(feed_loops, a_step_among_several_fails)
{
    fail_within(1);
    fail_within(2);
}

/* --- epochs that end early -------------------------------------------------------------------- */

typedef struct {
    char digest[33];
    tnd_summary_t summary;
    int64_t last_sum; /* of replica 0 */
} result_t;

static void finish(loop_t *self, result_t *result)
{
    cr_assert(eq(int, tnd_feed_next(self->feed), TND_END), "%s", tnd_session_error(self->session));
    cr_assert(tnd_session_summary(self->session, "feed", &result->summary));
    cr_assert(eq(int, tnd_session_wait(self->session), TND_OK));
    cr_assert(tnd_session_digest(self->session, "feed", result->digest));
    result->last_sum = self->sum[0];
    cr_assert(eq(int, end(self), TND_OK));
}

/*  All steps of batches of which `take` makes the end of each epoch. */
static result_t take(uint32_t devices, uint64_t steps)
{
    loop_t loop;
    result_t result;
    char batcher[32];
    snprintf(batcher, sizeof batcher, ", take: %u", (unsigned)steps);
    begin(&loop, devices, batcher);
    for (uint64_t i = 0; i < EPOCHS * steps; i++) {
        cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
        cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_OK));
    }
    finish(&loop, &result);
    return result;
}

/*  The same, where the program ends each epoch. */
static result_t rewind_after(uint32_t devices, uint64_t steps, bool at_once)
{
    loop_t loop;
    result_t result;
    begin(&loop, devices, "");
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        uint64_t ran = 0;
        cr_assert(eq(int, tnd_feed_rewind(loop.feed), TND_OK), "no step of this epoch yet");
        if (at_once)
            cr_assert(
                eq(int, tnd_feed_run_steps(loop.feed, steps, &ran, add, NULL, &loop), TND_OK));
        for (; ran < steps; ran++) {
            cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK), "%s",
                      tnd_session_error(loop.session));
            cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_OK));
        }
        cr_assert(eq(i64, loop.sum[0], sum_of(steps - 1)));
        cr_assert(eq(int, tnd_feed_rewind(loop.feed), TND_OK));
        cr_assert(tnd_feed_last(loop.feed));
        cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_FAILED), "it is over");
    }
    finish(&loop, &result);
    return result;
}

static void compare(uint32_t devices, uint64_t steps, bool at_once)
{
    result_t expected = take(devices, steps), is = rewind_after(devices, steps, at_once);
    cr_assert(eq(str, is.digest, expected.digest));
    cr_assert(eq(i64, is.last_sum, expected.last_sum));
    cr_assert(eq(u64, is.summary.steps, EPOCHS * steps));
    cr_assert(eq(u64, is.summary.epochs, EPOCHS));
    cr_assert(eq(u64, is.summary.read, expected.summary.read));
    cr_assert(eq(u64, is.summary.fed, expected.summary.fed));
    cr_assert(eq(u64, is.summary.dropped, 0));
    if (steps < STEPS)
        cr_assert(eq(u64, is.summary.read, EPOCHS * steps * SIZE), "no row that was read ahead");
}

Test(feed_loops, a_rewind_after_some_steps_feeds_what_take_does)
{
    compare(1, 1, false);
    compare(1, 5, true);
    compare(2, 4, false);
}

Test(feed_loops, a_rewind_after_several_steps_on_two_devices)
{
    compare(2, 3, true);
    compare(2, STEPS - 1, true);
}

Test(feed_loops, rows_that_were_copied_to_devices_are_dropped_by_a_rewind)
{
    run_steps(COPIES);
    compare(COPIES, 4, false);
    compare(COPIES, 3, true);
}

Test(feed_loops, a_rewind_after_the_last_step_of_an_epoch_changes_nothing)
{
    compare(1, STEPS, false);
    compare(2, STEPS, true);
}

Test(feed_loops, a_step_that_was_pulled_and_not_run_ends_an_epoch_too)
{
    loop_t loop;
    result_t result;
    begin(&loop, 2, "");
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
        cr_assert(eq(int, tnd_feed_rewind(loop.feed), TND_OK));
        cr_assert(eq(int, tnd_feed_rewind(loop.feed), TND_OK), "once more");
    }
    finish(&loop, &result);
    cr_assert(eq(u64, result.summary.fed, EPOCHS * SIZE));
}

static tnd_status_t rewind_inside(tnd_replica_t *replica, void *user)
{
    (void)replica;
    loop_t *self = user;
    cr_assert(eq(int, tnd_feed_rewind(self->feed), TND_FAILED));
    return TND_OK;
}

Test(feed_loops, a_rewind_inside_of_a_step_is_refused)
{
    loop_t loop;
    begin(&loop, 1, "");
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    cr_assert(eq(int, tnd_feed_run(loop.feed, rewind_inside, NULL, &loop), TND_OK));
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "inside of a step") != NULL, "%s", why);
    cr_assert(eq(int, end(&loop), TND_STOPPED));
}

Test(feed_loops, a_rewind_of_a_stream_that_spans_epochs_is_refused)
{
    loop_t loop;
    begin(&loop, 1, ", span_epochs: true");
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    cr_assert(eq(int, tnd_feed_rewind(loop.feed), TND_FAILED));
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "span_epochs") != NULL, "%s", why);
    cr_assert(eq(int, end(&loop), TND_STOPPED));
}

/* --- replicas that share a model -------------------------------------------------------------- */

static tnd_status_t learn(tnd_replica_t *replica, void *user)
{
    loop_t *self = user;
    uint32_t model = tnd_replica_id(replica) / self->share;
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    self->gradient[model] = self->weight[model] / 3;
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        self->gradient[model] += 1.0f / (float)(numbers[i] + 3 + tnd_replica_id(replica));
    tnd_replica_report(replica, "gradient", self->gradient[model], 1);
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, &self->gradient[model], 1);
}

/*  Posts once more, what counts for each replica of the model. */
static tnd_status_t use(tnd_replica_t *replica, void *user)
{
    loop_t *self = user;
    uint32_t id = tnd_replica_id(replica), model = id / self->share;
    if (self->applied[id]++ % 2 == 0) {
        self->norm[model] = self->gradient[model] * self->gradient[model];
        return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, &self->norm[model], 1);
    }
    self->weight[model] -= 0.1f * self->gradient[model] / (1 + self->norm[model]);
    return TND_OK;
}

static float train(uint32_t devices, uint32_t share)
{
    loop_t loop;
    char feeder[32];
    uint64_t ran, steps = 0;
    snprintf(feeder, sizeof feeder, ", accumulate: %u", share);
    begin_with(&loop, devices, "", feeder);
    cr_assert(eq(u32, tnd_feed_accumulate(loop.feed), share));
    loop.share = share;
    while (tnd_feed_run_steps(loop.feed, 5, &ran, learn, use, &loop) == TND_OK)
        steps += ran;
    cr_assert(eq(u64, steps, EPOCHS * STEPS), "%s", tnd_session_error(loop.session));
    for (uint32_t id = 0; id < REPLICAS; id++)
        cr_expect(eq(u64, loop.applied[id], id % share == 0 ? 2 * steps : 0), "replica %u", id);
    for (uint32_t model = 1; model < REPLICAS / share; model++)
        cr_expect(eq(flt, loop.weight[model], loop.weight[0]));
    cr_assert(eq(int, end(&loop), TND_OK));
    return loop.weight[0];
}

Test(feed_loops, replicas_that_share_a_model_give_the_same_bits)
{
    float apart = train(1, 1);
    cr_assert(ne(flt, apart, 0));
    cr_expect(eq(flt, train(1, 2), apart));
    cr_expect(eq(flt, train(1, 4), apart));
    cr_expect(eq(flt, train(2, 1), apart));
    cr_expect(eq(flt, train(2, 2), apart));
    cr_expect(eq(flt, train(COPIES, 2), apart));
}

/*  Each posting has its own memory: all of them get the result. */
Test(feed_loops, what_each_replica_posts_has_the_result)
{
    loop_t loop;
    begin_with(&loop, 1, "", ", accumulate: 4");
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    cr_assert(eq(int, tnd_feed_run(loop.feed, add, NULL, &loop), TND_OK), "it has no `apply`");
    for (uint32_t id = 0; id < REPLICAS; id++)
        cr_expect(eq(i64, loop.sum[id], sum_of(0)), "replica %u", id);
    (void)end(&loop);
}

static void refuse_unasked(bool several)
{
    loop_t loop;
    uint64_t ran;
    begin_with(&loop, 1, "", ", accumulate: 2");
    loop.share = 1;
    if (several)
        cr_assert(eq(int, tnd_feed_run_steps(loop.feed, 5, &ran, learn, use, &loop), TND_FAILED));
    else
        cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    if (!several)
        cr_assert(eq(int, tnd_feed_run(loop.feed, learn, use, &loop), TND_FAILED));
    cr_assert(loop.applied[0] == 0);
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "`accumulate: 2` gives") != NULL, "%s", why);
    cr_assert(strstr(why, "`id / number`") != NULL, "%s", why);
    (void)end(&loop);
}

Test(feed_loops, a_program_that_does_not_know_of_shared_models_is_refused)
{
    refuse_unasked(false);
    refuse_unasked(true);
}

static tnd_status_t post_unlike(tnd_replica_t *replica, void *user)
{
    loop_t *self = user;
    uint32_t id = tnd_replica_id(replica);
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_I64, &self->sum[0], id == 2 ? 2 : 1);
}

Test(feed_loops, replicas_of_a_model_that_post_differently_are_refused)
{
    loop_t loop;
    begin_with(&loop, 1, "", ", accumulate: 4");
    cr_assert(eq(int, tnd_feed_next(loop.feed), TND_OK));
    cr_assert(eq(int, tnd_feed_run(loop.feed, post_unlike, NULL, &loop), TND_FAILED));
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "replicas 0 and 2 posted different reductions") != NULL, "%s", why);
    (void)end(&loop);
}

Test(feed_loops, a_share_that_does_not_divide_the_replicas_is_refused)
{
    loop_t loop;
    begin_with(&loop, 1, "", ", accumulate: 3");
    cr_assert(loop.feed == NULL);
    const char *why = tnd_session_error(loop.session);
    cr_assert(strstr(why, "`accumulate: 3` does not divide the 4 replicas") != NULL, "%s", why);
    (void)end(&loop);
}
