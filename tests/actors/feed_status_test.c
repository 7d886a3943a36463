/*  tests/actors/feed_status_test.c - what each call of a feed and its session returns at each way a
 *  run can end: at the end of the stream, by a drain, by a stop, by a failure. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tundish/tundish.h>

enum { ROWS = 4096, SIZE = 4, ENDLESS = 1000000 };

/*  A source of numbers that does something to the run when it is asked for row `at`. */
typedef struct {
    tnd_session_t *session;
    sem_t known; /* the session; rows may be read before it is */
    uint64_t at;
    void (*act)(tnd_session_t *session); /* NULL: the read fails */
} source_t;

static tnd_status_t read_rows(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    source_t *self = user;
    for (size_t i = 0; i < count; i++) {
        if (index[i] == self->at && self->act == NULL)
            return tnd_fail(error, "row %zu cannot be read", (size_t)self->at);
        if (index[i] == self->at) {
            while (sem_wait(&self->known) != 0)
                continue;
            sem_post(&self->known);
            self->act(self->session);
        }
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
    }
    return TND_OK;
}

typedef struct {
    source_t source;
    tnd_graph_t *graph;
    tnd_session_t *session;
    tnd_feed_t *feed;
} run_t;

/*  Some rows for two replicas on two devices. */
static void begin(run_t *self, const char *reader, const char *feeder)
{
    char text[128];
    tnd_schema_t schema = {0};
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    self->graph = tnd_graph_new("status", 7);
    tnd_graph_callback(self->graph, "numbers", &schema, ROWS, TND_SOURCE_RANDOM, read_rows,
                       &self->source);
    snprintf(text, sizeof text, "source: numbers, %s", reader);
    tnd_graph_add(self->graph, "read", "reader", text);
    snprintf(text, sizeof text, "size: %d, replicas: 2", SIZE);
    tnd_graph_add(self->graph, "batch", "batcher", text);
    snprintf(text, sizeof text, "devices: [\"cpu:0\", \"cpu:1\"], %s", feeder);
    tnd_graph_add(self->graph, "feed", "feeder", text);
    tnd_graph_link(self->graph, "read -> batch -> feed");
    sem_init(&self->source.known, 0, 0);
    cr_assert(tnd_session_open(&self->session, self->graph, NULL) == TND_OK, "%s",
              tnd_graph_errors(self->graph));
    self->source.session = self->session;
    sem_post(&self->source.known);
    self->feed = tnd_session_feed(self->session, "feed");
}

static tnd_status_t nothing(tnd_replica_t *replica, void *user)
{
    (void)replica;
    (void)user;
    return TND_OK;
}

/*  Pulls and runs steps; returns what ended that, in next or in run. */
static tnd_status_t pull(run_t *self, uint64_t most, uint64_t *steps_p)
{
    tnd_status_t status = TND_OK;
    for (*steps_p = 0; *steps_p < most; ++*steps_p) {
        status = tnd_feed_next(self->feed);
        if (status == TND_OK)
            status = tnd_feed_run(self->feed, nothing, NULL, NULL);
        if (status != TND_OK)
            break;
    }
    return status;
}

/*  All calls agree on how the run ended, as often as they are asked. */
static void ends(run_t *self, tnd_status_t next, tnd_status_t session, const char *why)
{
    tnd_error_t error;
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, tnd_feed_next(self->feed), next));
        cr_assert(eq(int, tnd_feed_run(self->feed, nothing, NULL, NULL), TND_FAILED), "no step");
        cr_assert(tnd_feed_save(self->feed, NULL, NULL, &error) == TND_FAILED, "no folder");
        const char *said = tnd_session_error(self->session);
        bool fits = why[0] != '\0' ? strstr(said, why) != NULL : said[0] == '\0';
        cr_assert(fits, "%s", said);
    }
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, tnd_session_wait(self->session), session));
    cr_assert(eq(int, tnd_feed_next(self->feed), next), "also after it was waited for");
    cr_assert(eq(int, tnd_session_destroy(&self->session), session));
    tnd_graph_destroy(&self->graph);
}

Test(feed_status, the_end_of_the_stream)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1", "");
    cr_assert(eq(int, tnd_feed_run(run.feed, nothing, NULL, NULL), TND_FAILED), "no step yet");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_END));
    cr_assert(eq(u64, steps, ROWS / SIZE));
    ends(&run, TND_END, TND_OK, "");
}

Test(feed_status, a_drain_after_the_end)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1", "");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_END));
    cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
    tnd_session_drain(run.session);
    tnd_session_stop(run.session);
    ends(&run, TND_END, TND_OK, "");
}

Test(feed_status, a_drain_between_two_steps)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t before, after;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, 3, &before), TND_OK));
    tnd_session_drain(run.session);
    cr_assert(eq(int, pull(&run, ENDLESS, &after), TND_STOPPED));
    cr_assert(lt(u64, after, ENDLESS));
    ends(&run, TND_STOPPED, TND_STOPPED, "");
}

Test(feed_status, a_drain_before_the_first_step)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    tnd_session_drain(run.session);
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_STOPPED));
    ends(&run, TND_STOPPED, TND_STOPPED, "");
}

Test(feed_status, a_drain_while_the_program_waits_for_a_step)
{
    run_t run = {.source = {.at = ROWS / 2, .act = tnd_session_drain}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "depth: 1");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_STOPPED));
    ends(&run, TND_STOPPED, TND_STOPPED, "");
}

Test(feed_status, a_stop_between_two_steps)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, 3, &steps), TND_OK));
    tnd_session_stop(run.session);
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_STOPPED));
    ends(&run, TND_STOPPED, TND_STOPPED, "stopped as asked");
}

Test(feed_status, a_stop_while_the_program_waits_for_a_step)
{
    run_t run = {.source = {.at = ROWS / 2, .act = tnd_session_stop}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "depth: 1");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_STOPPED));
    ends(&run, TND_STOPPED, TND_STOPPED, "stopped as asked");
}

Test(feed_status, a_source_that_fails)
{
    run_t run = {.source = {.at = ROWS / 2}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_FAILED));
    cr_assert(lt(u64, steps, ENDLESS));
    ends(&run, TND_FAILED, TND_FAILED, "row 2048 cannot be read");
}

static tnd_status_t fail_at_two(tnd_replica_t *replica, void *user)
{
    (void)user;
    if (tnd_replica_step(replica) != 2 || tnd_replica_id(replica) != 1)
        return TND_OK;
    tnd_replica_error(replica, "the mould has cracked");
    return TND_FAILED;
}

Test(feed_status, a_step_that_fails)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    begin(&run, "epochs: 1000", "");
    for (int step = 0; step < 3; step++) {
        cr_assert(eq(int, tnd_feed_next(run.feed), TND_OK));
        cr_assert(eq(int, tnd_feed_run(run.feed, fail_at_two, NULL, NULL),
                     step < 2 ? TND_OK : TND_FAILED));
    }
    ends(&run, TND_FAILED, TND_FAILED, "step 2: the mould has cracked");
}

Test(feed_status, a_feed_that_was_waited_for_can_no_longer_be_pulled)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    begin(&run, "epochs: 1", "");
    cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
    ends(&run, TND_FAILED, TND_OK, "");
}

/*  The digest of the first rows, from a run whose data end there. */
static void digest_of(uint64_t rows, char text[33])
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    char reader[64];
    uint64_t steps;
    snprintf(reader, sizeof reader, "take: %d", (int)rows);
    begin(&run, reader, "");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_END));
    cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
    cr_assert(tnd_session_digest(run.session, "feed", text));
    cr_assert(eq(int, tnd_session_destroy(&run.session), TND_OK));
    tnd_graph_destroy(&run.graph);
}

/*  The run has ended after so many steps, with their rows in account and digest. */
static void has_finished(run_t *self, uint64_t steps)
{
    char digest[33], expected[33];
    tnd_summary_t summary;
    digest_of(steps * SIZE, expected);
    cr_assert(tnd_session_summary(self->session, "feed", &summary));
    cr_assert(eq(u64, summary.steps, steps));
    cr_assert(eq(u64, summary.fed, steps * SIZE));
    cr_assert(eq(u64, summary.read, steps * SIZE));
    cr_assert(tnd_session_digest(self->session, "feed", digest));
    cr_assert(eq(str, digest, expected));
}

Test(feed_status, a_finish_after_some_steps)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, 3, &steps), TND_OK));
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
    has_finished(&run, 3);
    ends(&run, TND_STOPPED, TND_OK, "");
}

Test(feed_status, a_finish_after_every_step)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1", "");
    cr_assert(eq(int, pull(&run, ROWS / SIZE, &steps), TND_OK));
    cr_assert(eq(int, tnd_session_wait(run.session), TND_FAILED));
    cr_assert(strstr(tnd_session_error(run.session), "call tnd_session_finish to end the run") !=
              NULL);
    cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
    has_finished(&run, ROWS / SIZE);
    cr_assert(eq(int, tnd_session_destroy(&run.session), TND_OK));
    tnd_graph_destroy(&run.graph);
}

Test(feed_status, a_finish_after_the_end_of_the_stream)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1", "");
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_END));
    cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
    ends(&run, TND_END, TND_OK, "");
}

Test(feed_status, a_finish_before_the_first_step)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    tnd_summary_t summary;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
    cr_assert(tnd_session_summary(run.session, "feed", &summary));
    cr_assert(eq(u64, summary.fed, 0));
    ends(&run, TND_STOPPED, TND_OK, "");
}

Test(feed_status, a_finish_leaves_a_step_that_was_not_run)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, 3, &steps), TND_OK));
    cr_assert(eq(int, tnd_feed_next(run.feed), TND_OK));
    cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
    cr_assert(eq(int, tnd_feed_run(run.feed, nothing, NULL, NULL), TND_FAILED));
    has_finished(&run, 3);
    ends(&run, TND_STOPPED, TND_OK, "");
}

Test(feed_status, a_finish_after_a_drain)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    uint64_t steps;
    begin(&run, "epochs: 1000", "");
    cr_assert(eq(int, pull(&run, 3, &steps), TND_OK));
    tnd_session_drain(run.session);
    cr_assert(eq(int, tnd_session_finish(run.session), TND_STOPPED));
    has_finished(&run, 3);
    ends(&run, TND_STOPPED, TND_STOPPED, "");
}

Test(feed_status, a_finish_after_a_step_that_failed)
{
    run_t run = {.source = {.at = TND_UNKNOWN}};
    begin(&run, "epochs: 1000", "");
    for (int step = 0; step < 3; step++) {
        cr_assert(eq(int, tnd_feed_next(run.feed), TND_OK));
        cr_assert(eq(int, tnd_feed_run(run.feed, fail_at_two, NULL, NULL),
                     step < 2 ? TND_OK : TND_FAILED));
    }
    cr_assert(eq(int, tnd_session_finish(run.session), TND_FAILED));
    ends(&run, TND_FAILED, TND_FAILED, "step 2: the mould has cracked");
}

/* --- two feeders, one after the other ---------------------------------------------------------- */

/*  A second chain of the same numbers, whose feeder comes after the first one. */
static void begin_two(run_t *self, tnd_feed_t **second_p)
{
    tnd_schema_t schema = {0};
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    self->graph = tnd_graph_new("two", 7);
    tnd_graph_callback(self->graph, "numbers", &schema, ROWS, TND_SOURCE_RANDOM, read_rows,
                       &self->source);
    tnd_graph_add(self->graph, "read", "reader", "source: numbers");
    tnd_graph_add(self->graph, "batch", "batcher", "size: 4");
    tnd_graph_add(self->graph, "feed", "feeder", "");
    tnd_graph_add(self->graph, "again", "reader", "source: numbers, take: 40");
    tnd_graph_add(self->graph, "cut", "batcher", "size: 4");
    tnd_graph_add(self->graph, "val", "feeder", "after: feed");
    tnd_graph_link(self->graph, "read -> batch -> feed");
    tnd_graph_link(self->graph, "again -> cut -> val");
    cr_assert(tnd_session_open(&self->session, self->graph, NULL) == TND_OK, "%s",
              tnd_graph_errors(self->graph));
    *second_p = tnd_session_feed(self->session, "val");
    self->feed = tnd_session_feed(self->session, "feed");
}

static void is_too_early(run_t *self, tnd_feed_t *second)
{
    cr_assert(eq(int, tnd_feed_next(second), TND_FAILED));
    const char *why =
        "val: comes after feed, which this program has not pulled to its end: pull all "
        "steps of that feed first, write `every: 1 epoch` in val to validate while it trains, or "
        "feed these rows from a graph of their own";
    cr_assert(strcmp(tnd_session_error(self->session), why) == 0, "%s",
              tnd_session_error(self->session));
}

Test(feed_status, a_second_feeder_before_the_end_of_the_first, .timeout = 20)
{
    run_t run = {.source = {.at = TND_UNKNOWN}}, second;
    uint64_t steps;
    begin_two(&run, &second.feed);
    is_too_early(&run, second.feed);
    cr_assert(eq(int, pull(&run, ROWS / SIZE, &steps), TND_OK), "every step but not the end");
    is_too_early(&run, second.feed);
    cr_assert(eq(int, pull(&run, ENDLESS, &steps), TND_END));
    cr_assert(eq(int, pull(&second, ENDLESS, &steps), TND_END));
    cr_assert(eq(u64, steps, 10));
    cr_assert(eq(int, tnd_session_destroy(&run.session), TND_OK));
    tnd_graph_destroy(&run.graph);
}

static void *pull_all(void *run)
{
    uint64_t steps;
    cr_assert(eq(int, pull(run, ENDLESS, &steps), TND_END));
    return NULL;
}

/*  The first thread has pulled a step before the second one waits for the end of its feed. */
Test(feed_status, a_second_feeder_while_another_thread_pulls_the_first, .timeout = 20)
{
    run_t run = {.source = {.at = TND_UNKNOWN}}, second;
    pthread_t thread;
    uint64_t steps = 0;
    begin_two(&run, &second.feed);
    cr_assert(eq(int, pthread_create(&thread, NULL, pull_all, &run), 0));
    for (tnd_summary_t of = {0}; of.steps == 0;)
        cr_assert(tnd_session_summary(run.session, "feed", &of));
    cr_assert(eq(int, pull(&second, ENDLESS, &steps), TND_END));
    cr_assert(eq(u64, steps, 10));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(int, tnd_session_destroy(&run.session), TND_OK));
    tnd_graph_destroy(&run.graph);
}

Test(feed_status, a_second_feeder_of_a_run_that_is_stopped, .timeout = 20)
{
    run_t run = {.source = {.at = TND_UNKNOWN}}, second;
    begin_two(&run, &second.feed);
    tnd_session_stop(run.session);
    cr_assert(eq(int, tnd_feed_next(second.feed), TND_STOPPED));
    cr_assert(eq(int, tnd_session_destroy(&run.session), TND_STOPPED));
    tnd_graph_destroy(&run.graph);
}
