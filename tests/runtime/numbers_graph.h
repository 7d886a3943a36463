/*  tests/runtime/numbers_graph.h - a graph whose source is a callback that gives numbers. */
#ifndef TND_TESTS_RUNTIME_NUMBERS_GRAPH_H
#define TND_TESTS_RUNTIME_NUMBERS_GRAPH_H

#include <tundish/tundish.h>

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { ROWS = 500 };

/*  Numbers 0, 1, 2 ...: of ROWS rows, which end unannounced where `unknown`. */
typedef struct {
    bool unknown;
    uint64_t next, starts;
    uint64_t fails_at; /* 0: nowhere */
    uint64_t refuses;  /* multiples of it are no records; 0: none */
} numbers_t;

static inline tnd_status_t read_numbers(void *user, const uint64_t *index, size_t count,
                                        tnd_rows_t *rows, tnd_error_t *error)
{
    numbers_t *self = user;
    for (rows->count = 0; rows->count < count; rows->count++) {
        uint64_t row = index[rows->count];
        if (self->fails_at != 0 && row == self->fails_at)
            return tnd_fail(error, "the well is dry");
        if (self->refuses != 0 && row % self->refuses == 0) {
            (void)tnd_fail(error, "it is a multiple");
            return TND_REFUSED;
        }
        if (self->unknown && row >= ROWS)
            return TND_END;
        *(uint64_t *)tnd_rows_at(rows, 0, rows->count) = row;
    }
    return TND_OK;
}

/*  The same for a source that is read in order; it checks that it is. */
static inline tnd_status_t read_in_order(void *user, const uint64_t *index, size_t count,
                                         tnd_rows_t *rows, tnd_error_t *error)
{
    numbers_t *self = user;
    if (index[0] == 0) {
        self->next = 0;
        self->starts++;
    }
    for (size_t i = 0; i < count; i++)
        if (index[i] != self->next + i)
            return tnd_fail(error, "row %llu after row %llu", (unsigned long long)index[i],
                            (unsigned long long)self->next);
    tnd_status_t status = read_numbers(user, index, count, rows, error);
    self->next += rows->count;
    return status;
}

static inline tnd_graph_t *compose(numbers_t *numbers, uint32_t caps, const char *reader,
                                   const char *ops)
{
    tnd_schema_t schema = {0};
    char text[256];
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    tnd_graph_t *graph = tnd_graph_new("test", 7);
    tnd_graph_callback(graph, "numbers", &schema, numbers->unknown ? TND_UNKNOWN : ROWS, caps,
                       (caps & TND_SOURCE_RANDOM) != 0 ? read_numbers : read_in_order, numbers);
    snprintf(text, sizeof text, "source: numbers, %s", reader);
    tnd_graph_add(graph, "read", "reader", text);
    snprintf(text, sizeof text, "ops: [%s]", ops);
    tnd_graph_add(graph, "prep", "preprocessor", text);
    tnd_graph_add(graph, "batch", "batcher", "size: 64, block: 7 rows");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_link(graph, "read -> prep -> batch -> feed");
    return graph;
}

/*  Runs the graph; the rows that were fed, how many and their sum. */
typedef struct {
    uint64_t rows, sum;
    char digest[33], error[512];
    tnd_status_t status;
} outcome_t;

static inline tnd_status_t add_up(tnd_replica_t *replica, void *user)
{
    outcome_t *outcome = user;
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        outcome->sum += numbers[i];
    outcome->rows += tnd_replica_rows(replica);
    return TND_OK;
}

static inline outcome_t run(tnd_graph_t *graph)
{
    outcome_t outcome = {.digest = ""};
    tnd_session_t *session = NULL;
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    /* What fails meanwhile ends the loop; the outcome tells it. */
    while (feed != NULL && tnd_feed_next(feed) == TND_OK &&
           tnd_feed_run(feed, add_up, NULL, &outcome) == TND_OK) {
    }
    (void)tnd_session_wait(session);
    (void)tnd_session_digest(session, "feed", outcome.digest);
    snprintf(outcome.error, sizeof outcome.error, "%s", tnd_session_error(session));
    outcome.status = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return outcome;
}

static inline void refused(tnd_graph_t *graph, const char *text)
{
    tnd_session_t *session = NULL;
    cr_expect(tnd_session_open(&session, graph, NULL) == TND_FAILED);
    cr_expect(strstr(tnd_graph_errors(graph), text) != NULL, "%s", tnd_graph_errors(graph));
    tnd_graph_destroy(&graph);
}

static const uint64_t whole = (uint64_t)ROWS * (ROWS - 1) / 2;

#endif
