/*  tests/runtime/combined_source_test.c - combinations of sources that are read from their start only
 *  give the rows of the same combinations of sources that can be read in any order. */
#include <stdlib.h>

#include "tests/runtime/numbers_graph.h"

/*  Numbers first, first + 1 ... and as many bytes as number mod 5. */
typedef struct {
    uint64_t first, rows, next;
    bool unknown;
} series_t;

static uint64_t number_of(const char *options, const char *key)
{
    const char *at = strstr(options, key);
    cr_assert_not_null(at, "no %s in %s", key, options);
    return strtoull(at + strcspn(at, "0123456789"), NULL, 10);
}

static tnd_status_t series_open(void *state, void *shared, const char *options,
                                const tnd_source_context_t *context, tnd_source_data_t *data,
                                tnd_error_t *error)
{
    series_t *self = state;
    (void)context;
    *self = (series_t){.first = number_of(options, "first"),
                       .rows = number_of(options, "rows"),
                       .unknown = shared != NULL};
    data->count = self->unknown ? TND_UNKNOWN : self->rows;
    data->identity = self->first;
    if (strstr(options, "choices") != NULL)
        return tnd_schema_add(&data->schema, "choice", TND_U8, 0, NULL, error);
    if (tnd_schema_add(&data->schema, "number", TND_U64, 0, NULL, error) != TND_OK)
        return TND_FAILED;
    return tnd_schema_add_ragged(&data->schema, "bytes", TND_U8, 1, (const uint64_t[]){4}, error);
}

static tnd_status_t series_read(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                                tnd_error_t *error)
{
    series_t *self = state;
    self->next = index[0] == 0 ? 0 : self->next;
    for (rows->count = 0; rows->count < count; rows->count++) {
        uint64_t number = self->first + index[rows->count];
        if (self->unknown && index[rows->count] != self->next)
            return tnd_fail(error, "not in order");
        if (self->unknown && self->next++ == self->rows)
            return TND_END;
        *(uint64_t *)tnd_rows_at(rows, 0, rows->count) = number;
        uint8_t *bytes = tnd_rows_room(rows, 1, rows->count, number % 5);
        memset(bytes, (int)number, number % 5);
    }
    return TND_OK;
}

/*  0, 1, 1, 0, 0, 2 again and again. */
static tnd_status_t choices_read(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                                 tnd_error_t *error)
{
    static const uint8_t choices[] = {0, 1, 1, 0, 0, 2};
    const series_t *self = state;
    (void)error;
    for (rows->count = 0; rows->count < count; rows->count++) {
        if (index[rows->count] == self->rows)
            return TND_END;
        *(uint8_t *)tnd_rows_at(rows, 0, rows->count) = choices[index[rows->count] % 6];
    }
    return TND_OK;
}

#define OPS(its_name, its_caps, its_read)                                                          \
    {                                                                                              \
        .abi = TND_ABI, .name = its_name, .caps = its_caps, .state_bytes = sizeof(series_t),       \
        .open = series_open, .read = its_read                                                      \
    }
static const tnd_source_ops_t any = OPS("any", TND_SOURCE_RANDOM | TND_SOURCE_REWINDS, series_read);
static const tnd_source_ops_t once = OPS("once", TND_SOURCE_REWINDS, series_read);
static const tnd_source_ops_t picks =
    OPS("picks", TND_SOURCE_RANDOM | TND_SOURCE_REWINDS, choices_read);
static const tnd_source_ops_t picks_once = OPS("picks_once", TND_SOURCE_REWINDS, choices_read);

/*  `source` with `%s` for the names of the sources. */
static outcome_t run_source(const char *source, const char *name, const char *selector)
{
    char text[1024] = "source: ";
    size_t used = strlen(text);
    for (const char *at = source; *at != '\0'; at++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s",
                                 *at == '$' || *at == '%' ? 99 : 1,
                                 *at == '$'   ? name
                                 : *at == '%' ? selector
                                              : at);
    snprintf(text + used, sizeof text - used, ", epochs: 2");
    tnd_graph_t *graph = tnd_graph_new("combined", 11);
    tnd_graph_source(graph, &any, NULL);
    tnd_graph_source(graph, &once, graph);
    tnd_graph_source(graph, &picks, NULL);
    tnd_graph_source(graph, &picks_once, graph);
    tnd_graph_add(graph, "read", "reader", text);
    tnd_graph_add(graph, "batch", "batcher", "size: 64, block: 7 rows");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_link(graph, "read -> batch -> feed");
    return run(graph);
}

Test(combined_source, sequential_sources_give_the_rows_that_random_ones_give)
{
    static const struct {
        const char *source;
        uint64_t rows;
    } cases[] = {
        {"{concatenate: [{$: {first: 0, rows: 100}}, {$: {first: 500, rows: 1}}, {$: {first: 700, "
         "rows: 250}}]}",
         351},
        {"{concatenate: [{concatenate: [{$: {first: 0, rows: 100}}]}, {any: {first: 9, rows: "
         "70}}]}",
         170},
        {"{mix: {sources: [{$: {first: 0, rows: 100}}, {$: {first: 500, rows: 30}}, {$: {first: "
         "700, rows: 250}}], weights: [1, 2, 0.5], seed: 3}}",
         380},
        {"{choose: {sources: [{$: {first: 0, rows: 100}}, {$: {first: 500, rows: 30}}, {any: "
         "{first: "
         "700, rows: 20}}], by: {%: {first: 0, rows: 600, choices: 1}}, stop_on_empty: false}}",
         150},
        {"{choose: {sources: [{$: {first: 0, rows: 100}}, {$: {first: 500, rows: 30}}, {any: "
         "{first: "
         "700, rows: 20}}], by: {%: {first: 0, rows: 600, choices: 1}}}}",
         91},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t random = run_source(cases[i].source, "any", "picks");
        outcome_t ordered = run_source(cases[i].source, "once", "picks_once");
        cr_expect(random.status == TND_OK, "%s: %s", cases[i].source, random.error);
        cr_expect(ordered.status == TND_OK, "%s: %s", cases[i].source, ordered.error);
        cr_expect_eq(random.rows, 2 * cases[i].rows, "%s: %u", cases[i].source,
                     (unsigned)random.rows);
        cr_expect_eq(random.rows, ordered.rows, "%s: %u", cases[i].source, (unsigned)ordered.rows);
        cr_expect_str_eq(random.digest, ordered.digest, "%s", cases[i].source);
    }
}

Test(combined_source, a_zip_ends_with_its_shortest_source_or_refuses_it)
{
    static const char zip[] =
        "{zip: {sources: [{$: {first: 3, rows: 90}}, {%: {first: 0, rows: 80, choices: 1}}]}}";
    static const char equal[] = "{zip: {sources: [{$: {first: 3, rows: 90}}, {%: {first: 0, rows: "
                                "80, choices: 1}}], length: equal}}";
    outcome_t random = run_source(zip, "any", "picks"), ordered = run_source(zip, "once", "picks");
    cr_expect(random.status == TND_OK && ordered.status == TND_OK, "%s%s", random.error,
              ordered.error);
    cr_expect_eq(random.rows, 2 * 80);
    cr_expect_eq(random.sum, 2 * (80 * 3 + 80 * 79 / 2));
    cr_expect_str_eq(random.digest, ordered.digest);
    outcome_t unequal = run_source(equal, "once", "picks_once");
    cr_expect(unequal.status == TND_FAILED);
    cr_expect(strstr(unequal.error, "source 2, `picks_once`, has only 80 rows") != NULL, "%s",
              unequal.error);
}
