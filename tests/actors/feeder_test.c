/*  tests/actors/feeder_test.c - programs that compose a graph, pull its steps and reduce. */
#include <stdatomic.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tundish/tundish.h>

/*  Ten rows, two epochs, batches of four over two replicas: steps of 4, 4 and 2 rows. */
static tnd_graph_t *small_graph(const char *feeder)
{
    tnd_graph_t *graph = tnd_graph_new("small", 7);
    tnd_graph_add(graph, "read", "reader",
                  "source: {memory: {x: {dtype: f32, data: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}}, "
                  "epochs: 2");
    tnd_graph_add(graph, "batch", "batcher", "size: 4, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", feeder);
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    return graph;
}

typedef struct {
    float sums[2];
    _Atomic uint32_t rows, applied;
} user_t;

static tnd_status_t add_rows(tnd_replica_t *replica, void *context)
{
    user_t *user = context;
    const float *x = tnd_replica_column(replica, "x");
    float *sum = &user->sums[tnd_replica_id(replica)];
    *sum = 0;
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        *sum += x[i];
    user->rows += (uint32_t)tnd_replica_rows(replica);
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, sum, 1);
}

static tnd_status_t count_apply(tnd_replica_t *replica, void *context)
{
    (void)replica;
    ((user_t *)context)->applied++;
    return TND_OK;
}

static void pull_all(const char *feeder)
{
    static const float sums[] = {6, 22, 17};
    tnd_graph_t *graph = small_graph(feeder);
    tnd_session_t *session = NULL;
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    cr_assert(feed != NULL, "%s", tnd_session_error(session));
    uint32_t first, count;
    cr_assert(eq(u32, tnd_feed_replicas(feed, &first, &count), 2));
    cr_assert(eq(u32, first, 0));
    cr_assert(eq(u32, count, 2));
    cr_assert(eq(u64, tnd_feed_steps(feed), 3));
    user_t user = {{0}, 0, 0};
    uint32_t steps = 0;
    while (tnd_feed_next(feed) == TND_OK) {
        cr_assert(tnd_feed_run(feed, add_rows, count_apply, &user) == TND_OK);
        cr_assert(eq(flt, user.sums[0], sums[steps % 3]), "step %u", steps);
        cr_assert(eq(flt, user.sums[1], sums[steps % 3]), "the same in every replica");
        steps++;
    }
    cr_assert(tnd_feed_next(feed) == TND_END);
    cr_assert(eq(u32, steps, 6));
    cr_assert(eq(u32, user.rows, 20));
    cr_assert(eq(u32, user.applied, 12));
    cr_assert(tnd_session_destroy(&session) == TND_OK);
    tnd_graph_destroy(&graph);
}

Test(feeder, hands_all_steps_to_a_program_on_one_device)
{
    pull_all("");
}

Test(feeder, hands_all_steps_to_a_program_on_two_devices)
{
    pull_all("depth: 4, devices: [\"cpu:0\", \"cpu:1\"]");
}

Test(feeder, discards_steps_that_are_not_pulled)
{
    tnd_graph_t *graph = small_graph("depth: 1");
    tnd_session_t *session = NULL;
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    cr_assert(tnd_session_wait(session) == TND_OK, "%s", tnd_session_error(session));
    cr_assert(tnd_session_destroy(&session) == TND_OK);
    tnd_graph_destroy(&graph);
}

static tnd_status_t fail_at_two(tnd_replica_t *replica, void *context)
{
    (void)context;
    if (tnd_replica_step(replica) != 2 || tnd_replica_id(replica) != 1)
        return TND_OK;
    tnd_replica_error(replica, "the mould has cracked");
    return TND_FAILED;
}

Test(feeder, ends_the_run_with_the_text_of_a_step_that_fails)
{
    tnd_graph_t *graph = small_graph("");
    tnd_session_t *session = NULL;
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    uint32_t steps = 0;
    while (tnd_feed_next(feed) == TND_OK && tnd_feed_run(feed, fail_at_two, NULL, NULL) == TND_OK)
        steps++;
    cr_assert(eq(u32, steps, 2));
    cr_assert(tnd_feed_next(feed) == TND_FAILED);
    cr_assert(tnd_session_wait(session) == TND_FAILED);
    cr_assert(strstr(tnd_session_error(session),
                     "the step of replica 1 on cpu:0, step 2: the mould has cracked") != NULL,
              "%s", tnd_session_error(session));
    cr_assert(tnd_session_destroy(&session) == TND_FAILED);
    tnd_graph_destroy(&graph);
}

/*  Nine rows over two replicas, batches of four: 0 1 | 2 3, then 4 5 | 6 7, then 8 | nothing.  By
 *  weights 1 0 2 0.5, then 2 1 0 0, then 3. */
static tnd_graph_t *weighted_graph(const char *reducer)
{
    tnd_graph_t *graph = tnd_graph_new("weighted", 7);
    tnd_graph_add(graph, "read", "reader",
                  "source: {memory: {x: {dtype: f64, data: [10, 20, 30, 40, 60, 90, 70, 80, 50]}, "
                  "w: {dtype: f32, data: [1, 0, 2, 0.5, 2, 1, 0, 0, 3]}, "
                  "two: {dtype: u8, shape: [2], data: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                  "0, 0, 0, 0]}}}");
    tnd_graph_add(graph, "batch", "batcher", "size: 4, replicas: 2, remainder: pad");
    tnd_graph_add(graph, "feed", "feeder", "devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(graph, "mean", "reducer", reducer);
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    return graph;
}

typedef struct {
    double weighted[2], by_hand[2];
    uint32_t steps;
} means_t;

/*  The mean of the replica's rows by their weights; NaN if all weights are 0.  Each row is reported
 *  by itself. */
static tnd_status_t post_means(tnd_replica_t *replica, void *context)
{
    means_t *means = context;
    uint32_t id = tnd_replica_id(replica);
    const double *x = tnd_replica_column(replica, "x");
    const float *w = tnd_replica_column(replica, "w");
    double sum = 0, weight = tnd_replica_weight(replica, "mean");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        sum += x[i] * (double)w[i];
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        tnd_replica_report(replica, "x", x[i] * (double)w[i], (double)w[i]);
    means->weighted[id] = means->by_hand[id] = weight > 0 ? sum / weight : 0.0 / 0.0;
    if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F64, &means->weighted[id], 1) != TND_OK ||
        tnd_replica_gather(replica, "mean", TND_F64, x, tnd_replica_rows(replica)) != TND_OK ||
        tnd_replica_gather(replica, "mean", TND_F32, w, id) != TND_OK)
        return TND_FAILED;
    return tnd_replica_mean(replica, "mean", TND_F64, &means->by_hand[id], 1, id == 0 ? 3 : weight);
}

static tnd_status_t check_gathered(tnd_replica_t *replica, void *context)
{
    static const double all[] = {10, 20, 30, 40, 60, 90, 70, 80, 50};
    static const float weights[] = {2, 0, 0}; /* the first of replica 1; a padded row is of zeros */
    uint64_t step = tnd_replica_step(replica);
    bool last = step == 2;
    uint32_t id = tnd_replica_id(replica);
    size_t count = 7;
    (void)context;
    const double *x = tnd_replica_gathered(replica, 0, TND_ALL_REPLICAS, &count);
    cr_assert(eq(sz, count, last ? 1 : 4));
    cr_assert(memcmp(x, all + 4 * step, count * sizeof *x) == 0);
    x = tnd_replica_gathered(replica, 0, id, &count);
    cr_assert(eq(sz, count, last ? 1 - id : 2));
    cr_assert(count == 0 || x[0] == all[4 * step + 2 * id]);
    const float *w = tnd_replica_gathered(replica, 1, 1, &count);
    cr_assert(count == 1 && w[0] == weights[step]);
    cr_assert(tnd_replica_gathered(replica, 1, 0, &count) != NULL && count == 0);
    cr_assert(tnd_replica_gathered(replica, 2, 0, &count) == NULL);
    cr_assert(tnd_replica_gathered(replica, 0, 2, &count) == NULL);
    return TND_OK;
}

Test(reducer, means_weigh_by_a_column_and_gathers_keep_the_order_of_replicas)
{
    tnd_graph_t *graph = weighted_graph("weight: w");
    tnd_session_t *session = NULL;
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    /* 10 by 1, 20 by 0 | 30 by 2, 40 by 0.5; then 60 by 2, 90 by 1 | 70, 80 by 0; then replica 0 by
     * 3. */
    const double weighted[] = {(10 + 60 + 20) / 3.5, 70, 50};
    const double by_hand[] = {(3 * 10 + 60 + 20) / 5.5, 70, 50};
    double reported = 0;
    means_t means = {.steps = 0};
    while (tnd_feed_next(feed) == TND_OK) {
        cr_assert(tnd_feed_run(feed, post_means, check_gathered, &means) == TND_OK, "%s",
                  tnd_session_error(session));
        for (int r = 0; r < 2; r++) {
            cr_assert(ieee_ulp_eq(dbl, means.weighted[r], weighted[means.steps], 2));
            cr_assert(ieee_ulp_eq(dbl, means.by_hand[r], by_hand[means.steps], 2));
        }
        means.steps++;
    }
    cr_assert(eq(u32, means.steps, 3));
    cr_assert(tnd_session_wait(session) == TND_OK, "%s", tnd_session_error(session));
    cr_assert(tnd_session_metric(session, "feed", "x", &reported));
    cr_assert(ieee_ulp_eq(dbl, reported, (90 + 210 + 150) / 9.5, 2));
    cr_assert(tnd_session_destroy(&session) == TND_OK, "%s", tnd_session_error(session));
    tnd_graph_destroy(&graph);
}

Test(reducer, columns_that_cannot_be_weights_are_refused_before_the_start)
{
    static const char *const cases[][2] = {
        {"weight: y", "column `y`, which is to weight means, does not exist"},
        {"weight: two", "column `two` has 2 numbers a row"}};
    for (int i = 0; i < 2; i++) {
        tnd_graph_t *graph = weighted_graph(cases[i][0]);
        tnd_session_t *session = NULL;
        cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK);
        cr_assert(tnd_session_wait(session) == TND_FAILED);
        cr_assert(strstr(tnd_session_error(session), cases[i][1]) != NULL, "%s",
                  tnd_session_error(session));
        cr_assert(tnd_session_destroy(&session) == TND_FAILED);
        tnd_graph_destroy(&graph);
    }
}
