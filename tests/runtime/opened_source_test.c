/*  tests/runtime/opened_source_test.c - what an opened source can do, what it is told of the run,
 *  and a source per lane. */
#include "tests/runtime/numbers_graph.h"

/*  A source whose table declares any index, and which finds at `open` what it can do. */
typedef struct {
    uint32_t caps;
    tnd_source_context_t context;
    bool unknown; /* how many rows there are */
} found_t;

/*  Row i of a lane is lanes * i + lane; each lane has 100 rows fewer than the one before. */
typedef struct {
    uint64_t lane, lanes, rows;
    bool unknown;
} found_lane_t;

static tnd_status_t found_open(void *state, void *shared, const char *options,
                               const tnd_source_context_t *context, tnd_source_data_t *data,
                               tnd_error_t *error)
{
    found_t *found = shared;
    found_lane_t *lane = state;
    (void)options;
    context->progress(context->reporter, 3, 16, "files");
    found->context = *context;
    cr_assert_eq(data->caps, TND_SOURCE_RANDOM | TND_SOURCE_REWINDS);
    *lane =
        (found_lane_t){context->lane, context->lanes, ROWS - 100 * context->lane, found->unknown};
    data->caps = found->caps;
    data->count = lane->unknown ? TND_UNKNOWN : lane->rows;
    return tnd_schema_add(&data->schema, "number", TND_U64, 0, NULL, error);
}

static tnd_status_t found_read(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                               tnd_error_t *error)
{
    const found_lane_t *lane = state;
    (void)error;
    for (rows->count = 0; rows->count < count; rows->count++) {
        if (lane->unknown && index[rows->count] == lane->rows)
            return TND_END;
        *(uint64_t *)tnd_rows_at(rows, 0, rows->count) =
            index[rows->count] * lane->lanes + lane->lane;
    }
    return TND_OK;
}

static const tnd_source_ops_t found_ops = {.abi = TND_ABI,
                                           .name = "found",
                                           .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
                                           .state_bytes = sizeof(found_lane_t),
                                           .open = found_open,
                                           .read = found_read};

static tnd_graph_t *compose_found(found_t *found)
{
    numbers_t unused = {0};
    tnd_graph_t *graph = compose(&unused, TND_SOURCE_RANDOM, "epochs: 1", "");
    tnd_graph_source(graph, &found_ops, found);
    tnd_graph_set(graph, "read.source", "found");
    tnd_graph_set(graph, "read.shuffle", "global");
    return graph;
}

Test(opened_source, what_an_open_source_cannot_do_is_an_error_as_if_its_table_said_so)
{
    found_t found = {.caps = TND_SOURCE_REWINDS};
    outcome_t outcome = run(compose_found(&found));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "`found` is read from its start only and cannot be shuffled") !=
                  NULL,
              "%s", outcome.error);
    found.caps = TND_SOURCE_RANDOM;
    outcome = run(compose_found(&found));
    cr_expect(outcome.status == TND_OK, "%s", outcome.error);
    cr_expect_eq(outcome.sum, whole);
    found.caps = 8;
    outcome = run(compose_found(&found));
    cr_expect(strstr(outcome.error, "can do more than its table declares"), "%s", outcome.error);
}

Test(opened_source, a_source_is_told_for_what_it_is_opened)
{
    found_t found = {.caps = TND_SOURCE_RANDOM};
    outcome_t outcome = run(compose_found(&found));
    cr_expect(outcome.status == TND_OK, "%s", outcome.error);
    cr_expect(found.context.lane == 0 && found.context.lanes == 1);
    cr_expect(found.context.replicas == 1 && found.context.batch == 64);
}

Test(opened_source, each_lane_opens_its_own_source_with_as_many_rows_as_it_has)
{
    for (int unknown = 0; unknown < 2; unknown++) {
        found_t found = {.caps = unknown ? TND_SOURCE_REWINDS : TND_SOURCE_RANDOM,
                         .unknown = unknown};
        tnd_graph_t *graph = compose_found(&found);
        tnd_graph_set(graph, "read.shuffle", unknown ? "none" : "global");
        tnd_graph_set(graph, "read.shard", "source");
        tnd_graph_set(graph, "batch.replicas", "2");
        tnd_graph_set(graph, "lanes", "2");
        outcome_t outcome = run(graph);
        cr_expect(outcome.status == TND_OK, "%s", outcome.error);
        cr_expect_eq(outcome.rows, 2 * ROWS - 100);
        uint64_t even = (uint64_t)ROWS * (ROWS - 1);
        uint64_t odd = (uint64_t)(ROWS - 100) * (ROWS - 100);
        cr_expect_eq(outcome.sum, even + odd);
        cr_expect_eq(found.context.lanes, 2);
    }
    found_t found = {.caps = TND_SOURCE_REWINDS, .unknown = true};
    tnd_graph_t *graph = compose_found(&found);
    tnd_graph_set(graph, "read.shuffle", "none");
    tnd_graph_set(graph, "read.shard", "source");
    tnd_graph_set(graph, "read.take", "5");
    tnd_graph_set(graph, "batch.replicas", "2");
    tnd_graph_set(graph, "lanes", "2");
    outcome_t outcome = run(graph);
    cr_expect(strstr(outcome.error, "the source of lane 0 does not report how many it has"), "%s",
              outcome.error);
}

Test(opened_source, a_source_of_unknown_length_skips_and_takes)
{
    static const struct {
        const char *reader;
        uint64_t rows, sum;
    } cases[] = {{"epochs: 2, skip: 10, take: 100", 2 * 100, 2 * (10 * 100 + 100 * 99 / 2)},
                 {"epochs: 1, skip: 400", ROWS - 400, 0},
                 {"epochs: 2, take: 7", 2 * 7, 2 * 21},
                 {"epochs: 1, take: 100000", ROWS, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        numbers_t numbers = {.unknown = true};
        outcome_t outcome = run(compose(&numbers, TND_SOURCE_REWINDS, cases[i].reader, ""));
        cr_expect(outcome.status == TND_OK, "%s", outcome.error);
        cr_expect_eq(outcome.rows, cases[i].rows, "%s", cases[i].reader);
        cr_expect(cases[i].sum == 0 || outcome.sum == cases[i].sum, "%s", cases[i].reader);
    }
    numbers_t numbers = {.unknown = true};
    outcome_t outcome = run(compose(&numbers, TND_SOURCE_REWINDS, "epochs: 1, skip: 5000", ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "`skip: 5000` leaves no row") != NULL, "%s", outcome.error);
}

Test(opened_source, a_window_with_a_bad_row_is_bad)
{
    numbers_t numbers = {.refuses = 7};
    const char *order = "order: [{window: {size: 4, drop_remainder: true}}], epochs: 1, on_error: ";
    char reader[256];
    snprintf(reader, sizeof reader, "%sskip", order);
    outcome_t outcome = run(compose(&numbers, TND_SOURCE_RANDOM, reader, ""));
    cr_expect(outcome.status == TND_OK, "%s", outcome.error);
    cr_expect_eq(outcome.rows, ROWS / 4 - (ROWS + 6) / 7);
    snprintf(reader, sizeof reader, "%sstop", order);
    outcome = run(compose(&numbers, TND_SOURCE_RANDOM, reader, ""));
    cr_expect(strstr(outcome.error, "record 0 is bad: source `numbers`, row 0: it is a multiple"),
              "%s", outcome.error);
}
