/*  tests/actors/feeder_test.c - programs that compose a graph, pull its steps and reduce. */
#include <stdatomic.h>

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

Test(feeder, discards_what_nobody_pulls)
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
