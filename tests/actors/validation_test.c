/*  tests/actors/validation_test.c - a program that pulls a feed, and another one with `every:` while the
 *  first one rests.
 *
 *  A step takes 4 rows of 40, so an epoch has 10 steps; a validation has 20 rows, so 5 steps. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tundish/tundish.h>

enum { ROWS = 40, SIZE = 4, TESTED = 20, OF_TEST = TESTED / SIZE };

typedef struct {
    tnd_graph_t *graph;
    tnd_session_t *session;
    tnd_feed_t *feed, *test, *other;
    const char *devices;
    uint64_t steps;        /* of the feed */
    uint64_t validated[8]; /* steps before each validation that was pulled whole */
    uint32_t validations;
} run_t;

static tnd_status_t read_rows(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    (void)user;
    (void)error;
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
    return TND_OK;
}

static void add_chain(run_t *self, const char *test, const char *more)
{
    char read[16], cut[16], text[128], link[64];
    snprintf(read, sizeof read, "read_%s", test);
    snprintf(cut, sizeof cut, "cut_%s", test);
    snprintf(text, sizeof text, "source: numbers, %s", more);
    tnd_graph_add(self->graph, read, "reader", text);
    snprintf(text, sizeof text, "size: %d, replicas: 2", SIZE);
    tnd_graph_add(self->graph, cut, "batcher", text);
    snprintf(link, sizeof link, "%s -> %s -> %s", read, cut, test);
    tnd_graph_link(self->graph, link);
}

static void add_test(run_t *self, const char *test, const char *every)
{
    char text[160];
    snprintf(text, sizeof text, "after: feed, every: %s", every);
    tnd_graph_add(self->graph, test, "feeder", text);
    snprintf(text, sizeof text, "take: %d", TESTED);
    add_chain(self, test, text);
}

static void open_run(run_t *self, const char *reader, const char *every, const char *other)
{
    char text[160];
    tnd_schema_t schema = {0};
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    self->graph = tnd_graph_new("validation", 7);
    tnd_graph_callback(self->graph, "numbers", &schema, ROWS, TND_SOURCE_RANDOM, read_rows, NULL);
    snprintf(text, sizeof text, "devices: [%s]", self->devices);
    tnd_graph_add(self->graph, "feed", "feeder", text);
    add_chain(self, "feed", reader);
    add_test(self, "test", every);
    if (other != NULL)
        add_test(self, "other", other);
    cr_assert(tnd_session_open(&self->session, self->graph, NULL) == TND_OK, "%s",
              tnd_graph_errors(self->graph));
    self->feed = tnd_session_feed(self->session, "feed");
    self->test = tnd_session_feed(self->session, "test");
    self->other = other != NULL ? tnd_session_feed(self->session, "other") : NULL;
    self->steps = self->validations = 0;
}

static void close_run(run_t *self, tnd_status_t status)
{
    cr_assert(eq(int, tnd_session_destroy(&self->session), status));
    tnd_graph_destroy(&self->graph);
}

static tnd_status_t add(tnd_replica_t *replica, void *sum)
{
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        __atomic_fetch_add((uint64_t *)sum, numbers[i], __ATOMIC_RELAXED);
    tnd_replica_report(replica, "mean", 1, 1);
    return TND_OK;
}

static bool train(run_t *self)
{
    uint64_t sum = 0;
    if (tnd_feed_next(self->feed) != TND_OK)
        return false;
    cr_assert(eq(int, tnd_feed_run(self->feed, add, NULL, &sum), TND_OK));
    self->steps++;
    return true;
}

/*  Pulls so many steps of a feed, or all; returns how many there were. */
static uint64_t pull(tnd_feed_t *test, uint64_t most, uint64_t *sum_p)
{
    uint64_t steps = 0;
    for (*sum_p = 0; steps < most; steps++) {
        tnd_status_t status = tnd_feed_next(test);
        if (status != TND_OK) {
            cr_assert(eq(int, status, TND_END));
            break;
        }
        cr_assert(eq(int, tnd_feed_run(test, add, NULL, sum_p), TND_OK));
    }
    return steps;
}

static void validate(run_t *self)
{
    uint64_t sum;
    cr_assert(eq(u64, pull(self->test, UINT64_MAX, &sum), OF_TEST));
    cr_assert(eq(u64, sum, TESTED * (TESTED - 1) / 2), "each begins at its start");
    cr_assert(eq(int, tnd_feed_next(self->test), TND_END), "again");
    cr_assert_not(tnd_feed_due(self->test));
    self->validated[self->validations++] = self->steps;
}

static void loop(run_t *self)
{
    for (bool more = true; more; more = train(self))
        if (tnd_feed_due(self->test))
            validate(self);
}

static void were_validated(const run_t *self, const uint64_t *after, uint32_t count)
{
    cr_assert(eq(u32, self->validations, count));
    for (uint32_t i = 0; i < count; i++)
        cr_assert(eq(u64, self->validated[i], after[i]));
}

/*  The digest of 20 steps that are not validated. */
static void digest_alone(const char *devices, char digest[33])
{
    run_t run = {.devices = devices};
    open_run(&run, "epochs: 2", "9 epochs", NULL);
    while (train(&run))
        continue;
    cr_assert(eq(u64, run.steps, 20));
    cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
    cr_assert(tnd_session_digest(run.session, "feed", digest));
    close_run(&run, TND_OK);
}

static const char *const devices[] = {"\"cpu:0\"", "\"cpu:0\", \"cpu:1\"", "\"sim:0\", \"sim:1\""};

Test(validation, after_steps_or_epochs_and_at_the_end, .timeout = 20)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        char alone[33], digest[33];
        double mean;
        tnd_summary_t of;
        digest_alone(devices[d], alone);
        run_t run = {.devices = devices[d]};
        open_run(&run, "epochs: 2", "7 steps", NULL);
        cr_assert(tnd_feed_repeats(run.test) && !tnd_feed_repeats(run.feed));
        loop(&run);
        were_validated(&run, (uint64_t[]){7, 14, 20}, 3);
        cr_assert(tnd_session_metric(run.session, "test", "mean", &mean) && mean == 1);
        cr_assert(tnd_session_summary(run.session, "test", &of));
        cr_assert(eq(u64, of.steps, OF_TEST));
        cr_assert(eq(u64, of.fed, TESTED));
        cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
        cr_assert(tnd_session_digest(run.session, "feed", digest));
        cr_assert(strcmp(digest, alone) == 0, "%s, %s", digest, alone);
        close_run(&run, TND_OK);
        open_run(&run, "epochs: 2", "1 epoch", NULL);
        loop(&run);
        were_validated(&run, (uint64_t[]){10, 20}, 2);
        close_run(&run, TND_OK);
    }
}

Test(validation, a_program_that_pulls_none, .timeout = 20)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        run_t run = {.devices = devices[d]};
        open_run(&run, "epochs: 2", "3 steps", NULL);
        while (train(&run))
            continue;
        cr_assert(eq(u64, run.steps, 20));
        cr_assert(eq(int, tnd_session_wait(run.session), TND_OK));
        cr_assert(eq(int, tnd_feed_next(run.test), TND_FAILED), "it was waited for");
        close_run(&run, TND_OK);
        open_run(&run, "epochs: 2", "3 steps", NULL);
        while (train(&run))
            continue;
        close_run(&run, TND_OK); /* the rest is discarded */
    }
}

Test(validation, only_the_one_at_the_end, .timeout = 20)
{
    run_t run = {.devices = devices[0]};
    open_run(&run, "epochs: 2", "1 epoch", NULL);
    while (train(&run))
        continue;
    cr_assert(tnd_feed_due(run.test));
    validate(&run);
    close_run(&run, TND_OK);
}

Test(validation, pulled_too_early, .timeout = 20)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        run_t run = {.devices = devices[d]};
        open_run(&run, "epochs: 2", "7 steps", NULL);
        for (int i = 0; i < 2; i++) {
            cr_assert_not(tnd_feed_due(run.test));
            cr_assert(eq(int, tnd_feed_next(run.test), TND_FAILED));
            const char *why = "test: it is not its turn: `every: 7 steps` says after which steps "
                              "of feed it is pulled, and tnd_feed_due tells when";
            cr_assert(strcmp(tnd_session_error(run.session), why) == 0, "%s",
                      tnd_session_error(run.session));
            cr_assert(train(&run));
        }
        loop(&run);
        were_validated(&run, (uint64_t[]){7, 14, 20}, 3);
        close_run(&run, TND_OK);
    }
}

Test(validation, pulled_in_part, .timeout = 20)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        run_t run = {.devices = devices[d]};
        uint64_t sum;
        open_run(&run, "epochs: 2", "7 steps", NULL);
        while (run.steps < 7)
            cr_assert(train(&run));
        cr_assert(eq(u64, pull(run.test, 2, &sum), 2));
        cr_assert(tnd_feed_due(run.test), "the rest of it");
        cr_assert(train(&run), "which is discarded");
        cr_assert_not(tnd_feed_due(run.test));
        loop(&run);
        were_validated(&run, (uint64_t[]){14, 20}, 2);
        close_run(&run, TND_OK);
        open_run(&run, "epochs: 1", "1 epoch", NULL);
        while (train(&run))
            continue;
        cr_assert(eq(u64, pull(run.test, 1, &sum), 1));
        cr_assert(eq(int, tnd_session_wait(run.session), TND_OK), "the rest is discarded");
        close_run(&run, TND_OK);
    }
}

Test(validation, of_several_steps_at_a_time, .timeout = 20)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        run_t run = {.devices = devices[d]};
        uint64_t sum = 0, ran;
        open_run(&run, "epochs: 2", "7 steps", NULL);
        const uint64_t expected[] = {7, 3, 4, 6};
        for (int i = 0; i < 4; i++) {
            cr_assert(eq(int, tnd_feed_run_steps(run.feed, 100, &ran, add, NULL, &sum), TND_OK));
            cr_assert(eq(u64, ran, expected[i]), "the next validation, or the end of the epoch");
            cr_assert(eq(int, tnd_feed_last(run.feed), i % 2 == 1));
            run.steps += ran;
            cr_assert(eq(int, tnd_feed_due(run.test), i != 1));
            if (i != 1)
                cr_assert(
                    eq(int, tnd_feed_run_steps(run.test, 100, &ran, add, NULL, &sum), TND_OK));
            cr_assert(i == 1 || ran == OF_TEST);
        }
        cr_assert(eq(int, tnd_feed_run_steps(run.test, 100, &ran, add, NULL, &sum), TND_END));
        cr_assert(eq(int, tnd_feed_run_steps(run.feed, 100, &ran, add, NULL, &sum), TND_END));
        close_run(&run, TND_OK);
    }
}

Test(validation, and_an_epoch_that_is_left, .timeout = 20)
{
    run_t run = {.devices = devices[0]};
    open_run(&run, "epochs: 2", "7 steps", NULL);
    while (run.steps < 7)
        cr_assert(train(&run));
    cr_assert(eq(int, tnd_feed_rewind(run.feed), TND_OK));
    cr_assert(tnd_feed_due(run.test));
    validate(&run);
    while (run.steps < 14)
        cr_assert(train(&run));
    cr_assert(tnd_feed_due(run.test));
    validate(&run);
    cr_assert(eq(int, tnd_feed_rewind(run.feed), TND_FAILED));
    const char *why = "feed: its last step is committed, since another feed was pulled after it: "
                      "call tnd_feed_rewind before that, or after the next step";
    cr_assert(strcmp(tnd_session_error(run.session), why) == 0, "%s",
              tnd_session_error(run.session));
    cr_assert(train(&run));
    cr_assert(eq(int, tnd_feed_rewind(run.feed), TND_OK), "after the next step");
    cr_assert(tnd_feed_due(run.test), "that was the last epoch");
    validate(&run);
    cr_assert_not(train(&run));
    were_validated(&run, (uint64_t[]){7, 14, 15}, 3);
    close_run(&run, TND_OK);
}

/*  Those that follow are fed in the order of the file. */
Test(validation, by_two_feeds, .timeout = 20)
{
    run_t run = {.devices = devices[1]};
    uint64_t sum;
    open_run(&run, "epochs: 2", "4 steps", "6 steps");
    for (bool more = true; more; more = train(&run)) {
        bool due = run.steps > 0 && (run.steps % 4 == 0 || run.steps == 20);
        bool other = run.steps > 0 && (run.steps % 6 == 0 || run.steps == 20);
        if (run.steps == 12) { /* the second one first */
            cr_assert(eq(u64, pull(run.other, UINT64_MAX, &sum), OF_TEST));
            cr_assert_not(tnd_feed_due(run.test), "which discards the first one");
            continue;
        }
        cr_assert(eq(int, tnd_feed_due(run.test), due));
        if (due)
            validate(&run);
        cr_assert(eq(int, tnd_feed_due(run.other), other));
        if (other)
            cr_assert(eq(u64, pull(run.other, UINT64_MAX, &sum), OF_TEST));
    }
    were_validated(&run, (uint64_t[]){4, 8, 16, 20}, 4);
    close_run(&run, TND_OK);
}

Test(validation, of_a_run_that_its_program_finishes, .timeout = 20)
{
    for (uint64_t pulled = 0; pulled <= OF_TEST + 1; pulled++) {
        run_t run = {.devices = devices[pulled % 2]};
        uint64_t sum;
        tnd_summary_t of;
        open_run(&run, "epochs: 1000", "7 steps", NULL);
        while (run.steps < 14)
            cr_assert(train(&run));
        if (pulled > 0) /* the END too, or all steps, or some */
            (void)pull(run.test, pulled, &sum);
        cr_assert(eq(int, tnd_session_finish(run.session), TND_OK));
        cr_assert(eq(int, tnd_feed_next(run.feed), TND_STOPPED));
        cr_assert(tnd_session_summary(run.session, "feed", &of));
        cr_assert(eq(u64, of.steps, 14));
        close_run(&run, TND_OK);
    }
}

Test(validation, of_a_run_that_is_drained_or_stopped, .timeout = 20)
{
    for (int i = 0; i < 4; i++) {
        run_t run = {.devices = devices[i % 3]};
        uint64_t sum;
        open_run(&run, "epochs: 1000", "7 steps", NULL);
        while (run.steps < 7)
            cr_assert(train(&run));
        cr_assert(eq(u64, pull(run.test, 1, &sum), 1));
        (i < 2 ? tnd_session_drain : tnd_session_stop)(run.session);
        tnd_status_t status;
        while ((status = tnd_feed_next(run.test)) == TND_OK)
            continue;
        cr_assert(status == TND_STOPPED || status == TND_END, "the few steps may be through");
        cr_assert(eq(int, tnd_feed_next(run.feed), TND_STOPPED));
        cr_assert_not(tnd_feed_due(run.test));
        close_run(&run, TND_STOPPED);
    }
}
