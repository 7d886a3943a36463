/*  tests/runtime/tundish_test.c - sources and operations of a program, through the public header
 *  alone: what each sort of source can do, what is refused before the start, what fails and how it
 *  is told. */
#include "tests/runtime/numbers_graph.h"

#include <sched.h>

Test(tundish, a_source_read_in_order_gives_the_rows_that_one_of_any_index_gives)
{
    numbers_t random = {0}, order = {0}, open = {.unknown = true};
    outcome_t a = run(compose(&random, TND_SOURCE_RANDOM, "epochs: 2", ""));
    outcome_t b = run(compose(&order, TND_SOURCE_REWINDS, "epochs: 2", ""));
    outcome_t c = run(compose(&open, TND_SOURCE_REWINDS, "epochs: 2", ""));
    cr_assert(a.status == TND_OK && a.rows == 2 * ROWS && a.sum == 2 * whole, "%s", a.error);
    cr_expect(b.status == TND_OK, "%s", b.error);
    cr_expect(c.status == TND_OK, "%s", c.error);
    cr_expect_str_eq(b.digest, a.digest);
    cr_expect_str_eq(c.digest, a.digest);
    cr_expect_eq(order.starts, 2);
    cr_expect_eq(open.starts, 2);
}

Test(tundish, a_source_that_cannot_go_back_feeds_one_epoch)
{
    numbers_t numbers = {.unknown = true};
    outcome_t outcome = run(compose(&numbers, 0, "epochs: 1", ""));
    cr_assert(outcome.status == TND_OK, "%s", outcome.error);
    cr_expect_eq(outcome.sum, whole);
    cr_expect_eq(numbers.starts, 1);
}

Test(tundish, unsupported_options_of_a_source_are_refused_before_the_start)
{
    numbers_t numbers = {.unknown = true};
    refused(compose(&numbers, 0, "epochs: 2", ""), "`numbers` can be read only once");
    refused(compose(&numbers, TND_SOURCE_REWINDS, "shuffle: global", ""),
            "`numbers` is read from its start only and cannot be shuffled");
    tnd_graph_t *lanes = compose(&numbers, TND_SOURCE_REWINDS, "epochs: 1", "");
    tnd_graph_set(lanes, "lanes", "2");
    refused(lanes, "in one lane, not in 2");
    cr_expect_eq(numbers.starts, 0);
}

Test(tundish, a_random_source_must_report_its_rows)
{
    numbers_t numbers = {.unknown = true};
    outcome_t outcome = run(compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "does not report how many") != NULL, "%s", outcome.error);
}

Test(tundish, a_failing_read_ends_the_run_with_its_text)
{
    numbers_t numbers = {.fails_at = 200};
    outcome_t outcome = run(compose(&numbers, TND_SOURCE_REWINDS, "epochs: 1", ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "source `numbers`, row ") != NULL, "%s", outcome.error);
    cr_expect(strstr(outcome.error, "the well is dry") != NULL, "%s", outcome.error);
}

Test(tundish, records_that_a_source_refuses_stop_the_run_or_are_left_out)
{
    numbers_t numbers = {.refuses = 100};
    outcome_t outcome = run(compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "record 0 is bad: ") != NULL, "%s", outcome.error);
    cr_expect(strstr(outcome.error, "it is a multiple") != NULL, "%s", outcome.error);
    outcome = run(compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1, on_error: skip", ""));
    cr_expect(outcome.status == TND_OK, "%s", outcome.error);
    cr_expect_eq(outcome.rows, ROWS - 5);
    cr_expect_eq(outcome.sum, whole - 1000);
    outcome = run(compose(&numbers, TND_SOURCE_RANDOM,
                          "epochs: 1, on_error: skip, shuffle: global, max_bad: 4", ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "records are bad, more than `max_bad` allows") != NULL, "%s",
              outcome.error);
}

/* --- operations --- */

typedef struct {
    uint64_t times;
} repeat_t;

static tnd_status_t repeat_open(void *state, void *shared, const char *options,
                                const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                                tnd_error_t *error)
{
    repeat_t *self = state;
    (void)in, (void)out;
    self->times = *(const uint64_t *)shared;
    if (tnd_option_only(options, "times", error) != TND_OK ||
        tnd_option_u64(options, "times", &self->times, error) != TND_OK)
        return TND_FAILED;
    *most_p = (uint32_t)self->times;
    return TND_OK;
}

/*  Every multiple of five disappears; 499 is refused. */
static tnd_status_t repeat_apply(void *state, const tnd_rows_t *in, size_t row,
                                 tnd_random_t *random, tnd_rows_t *out, tnd_error_t *error)
{
    const repeat_t *self = state;
    uint64_t number = *(const uint64_t *)tnd_rows_at(in, 0, row);
    (void)random;
    if (number == 499 && self->times == 9)
        return tnd_fail(error, "499 is one too many");
    out->count = number % 5 == 0 ? 0 : (size_t)self->times;
    return TND_OK;
}

static const tnd_op_ops_t repeat_ops = {
    .abi = TND_ABI,
    .name = "again",
    .caps = TND_OP_DROPS | TND_OP_EXPANDS,
    .state_bytes = sizeof(repeat_t),
    .open = repeat_open,
    .apply = repeat_apply,
};

static outcome_t run_repeat(const char *op)
{
    numbers_t numbers = {0};
    uint64_t times = 3;
    tnd_graph_t *graph = compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", op);
    tnd_graph_op(graph, &repeat_ops, &times);
    return run(graph);
}

/*  The multiples of five below 500 are 0, 5 ... 495: 100 of them. */
static const uint64_t kept_sum = (uint64_t)ROWS * (ROWS - 1) / 2 - 5 * 99 * 100 / 2;

Test(tundish, an_operation_drops_and_multiplies_rows_as_it_says)
{
    outcome_t shared = run_repeat("again");
    cr_assert(shared.status == TND_OK, "%s", shared.error);
    cr_expect_eq(shared.rows, 3 * 400);
    cr_expect_eq(shared.sum, 3 * kept_sum);
    outcome_t given = run_repeat("{again: {times: 2}}");
    cr_expect_eq(given.sum, 2 * kept_sum, "%s", given.error);
}

Test(tundish, an_operation_that_refuses_a_row_ends_the_run_with_its_text)
{
    outcome_t outcome = run_repeat("{again: {times: 9}}");
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error,
                     "record 499 is bad: prep, operation 1, `again`: 499 is one too many") != NULL,
              "%s", outcome.error);
}

Test(tundish, tables_that_cannot_be_used_are_errors_of_the_graph)
{
    numbers_t numbers = {0};
    uint64_t times = 1;
    tnd_op_ops_t old = repeat_ops, empty = repeat_ops, taken = repeat_ops;
    old.abi = TND_ABI + 7;
    empty.apply = NULL;
    taken.name = "cast";
    const struct {
        const tnd_op_ops_t *ops;
        const char *text;
    } cases[] = {{&old, "operation `again` was built for version"},
                 {&empty, "operation `again` lacks open or apply"},
                 {&taken, "there is an operation `cast` already"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_graph_t *graph = compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", "");
        tnd_graph_op(graph, cases[i].ops, &times);
        refused(graph, cases[i].text);
    }
}

Test(tundish, a_misspelt_name_is_suggested)
{
    numbers_t numbers = {0};
    uint64_t times = 1;
    tnd_graph_t *graph = compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", "agian");
    tnd_graph_op(graph, &repeat_ops, &times);
    refused(graph, "did you mean `again`?");
}

/* --- ragged columns --- */

/*  Row n is n % 13 letters, each n. */
static uint64_t length_of(uint64_t row)
{
    return row % 13;
}

static tnd_status_t read_words(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                               tnd_error_t *error)
{
    const uint64_t *longest = user;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        *(uint64_t *)tnd_rows_at(rows, 0, i) = index[i];
        if (length_of(index[i]) < *longest)
            memset(tnd_rows_room(rows, 1, i, length_of(index[i])), (int)(index[i] & 255),
                   length_of(index[i]));
    }
    return TND_OK;
}

/*  Rows of an odd length disappear. */
static tnd_status_t even_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                               tnd_rows_t *out, tnd_error_t *error)
{
    const uint8_t *word = tnd_rows_at(in, 1, row);
    uint64_t length = tnd_rows_length(in, 1, row);
    (void)state, (void)random, (void)error;
    out->count = length % 2 == 0 && (length == 0 || word[0] == word[length - 1]) ? 1 : 0;
    return TND_OK;
}

static tnd_status_t even_open(void *state, void *shared, const char *options,
                              const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                              tnd_error_t *error)
{
    (void)state, (void)options, (void)most_p;
    if (!in->columns[1].ragged)
        return tnd_fail(error, "words are ragged");
    if (*(const bool *)shared)
        out->columns[1].shape[0] = 99;
    return TND_OK;
}

static const tnd_op_ops_t even_ops = {
    .abi = TND_ABI, .name = "even", .caps = TND_OP_DROPS, .open = even_open, .apply = even_apply};

static tnd_graph_t *compose_words(uint64_t *longest, bool *changes, uint32_t caps, const char *ops)
{
    tnd_schema_t schema = {0};
    char text[64];
    cr_assert(tnd_schema_add(&schema, "number", TND_U64, 0, NULL, NULL) == TND_OK);
    cr_assert(tnd_schema_add_ragged(&schema, "word", TND_U8, 1, (uint64_t[]){12}, NULL) == TND_OK);
    tnd_graph_t *graph = tnd_graph_new("test", 7);
    tnd_graph_callback(graph, "words", &schema, ROWS, caps, read_words, longest);
    tnd_graph_op(graph, &even_ops, changes);
    tnd_graph_add(graph, "read", "reader", "source: words, epochs: 2");
    snprintf(text, sizeof text, "ops: [%s]", ops);
    tnd_graph_add(graph, "prep", "preprocessor", text);
    tnd_graph_add(graph, "batch", "batcher", "size: 64, block: 7 rows");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_link(graph, "read -> prep -> batch -> feed");
    return graph;
}

static tnd_status_t check_words(tnd_replica_t *replica, void *user)
{
    uint64_t *rows = user;
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    const uint64_t *lengths = tnd_replica_lengths(replica, "word");
    const uint8_t *words = tnd_replica_column(replica, "word");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++, ++*rows) {
        cr_assert_eq(lengths[i], length_of(numbers[i]));
        for (uint64_t k = 0; k < 12; k++)
            cr_assert_eq(words[i * 12 + k], k < lengths[i] ? (numbers[i] & 255) : 0);
    }
    return tnd_replica_lengths(replica, "number") == NULL ? TND_OK : TND_FAILED;
}

Test(tundish, ragged_rows_reach_a_step_with_their_lengths_and_zeros_after_them)
{
    static const struct {
        uint32_t caps;
        const char *ops;
        uint64_t rows;
    } cases[] = {{TND_SOURCE_RANDOM, "", 2 * ROWS},
                 {TND_SOURCE_REWINDS, "{select: {columns: [number, word]}}", 2 * ROWS},
                 {TND_SOURCE_RANDOM, "even", 2 * 269}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t longest = 99, rows = 0;
        bool changes = false;
        tnd_session_t *session = NULL;
        tnd_graph_t *graph = compose_words(&longest, &changes, cases[i].caps, cases[i].ops);
        cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
        tnd_feed_t *feed = tnd_session_feed(session, "feed");
        cr_assert(feed != NULL, "%s", tnd_session_error(session));
        while (tnd_feed_next(feed) == TND_OK)
            cr_assert(tnd_feed_run(feed, check_words, NULL, &rows) == TND_OK);
        (void)tnd_session_wait(session);
        cr_expect_str_eq(tnd_session_error(session), "");
        cr_expect(tnd_session_destroy(&session) == TND_OK);
        cr_expect_eq(rows, cases[i].rows, "%llu", (unsigned long long)rows);
        tnd_graph_destroy(&graph);
    }
}

Test(tundish, a_source_that_does_not_set_a_length_ends_the_run)
{
    uint64_t longest = 5;
    bool changes = false;
    outcome_t outcome = run(compose_words(&longest, &changes, TND_SOURCE_RANDOM, ""));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(
        strstr(outcome.error, "source `words`, row 5: the length of column `word` is not set"),
        "%s", outcome.error);
}

Test(tundish, a_ragged_column_that_an_operation_declares_and_does_not_make_ends_the_run)
{
    uint64_t longest = 99;
    bool changes = true;
    outcome_t outcome = run(compose_words(&longest, &changes, TND_SOURCE_RANDOM, "even"));
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "did not make column `word`, which is ragged: call "
                                    "tnd_rows_room or tnd_rows_keep"),
              "%s", outcome.error);
}

/*  Makes of a word its tail (kept), itself backwards (made), and the number as 8 bytes, which are
 *  not of a ragged row (copied); `longest` of the options is that of the second. */
static tnd_status_t parts_open(void *state, void *shared, const char *options,
                               const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                               tnd_error_t *error)
{
    (void)state, (void)shared, (void)in, (void)most_p;
    uint64_t longest = 12;
    if (tnd_option_u64(options, "longest", &longest, error) != TND_OK ||
        tnd_schema_add_ragged(out, "tail", TND_U8, 1, (uint64_t[]){11}, error) != TND_OK ||
        tnd_schema_add_ragged(out, "back", TND_U8, 1, &longest, error) != TND_OK)
        return TND_FAILED;
    return tnd_schema_add_ragged(out, "bytes", TND_U8, 1, (uint64_t[]){8}, error);
}

static tnd_status_t parts_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                                tnd_rows_t *out, tnd_error_t *error)
{
    (void)state, (void)random, (void)error;
    const uint8_t *word = tnd_rows_at(in, 1, row);
    uint64_t length = tnd_rows_length(in, 1, row);
    tnd_rows_keep(out, 2, 0, word + (length > 0), length - (length > 0));
    uint8_t *back = tnd_rows_room(out, 3, 0, length);
    for (uint64_t i = 0; back != NULL && i < length; i++)
        back[i] = (uint8_t)(word[length - 1 - i] + i);
    tnd_rows_keep(out, 4, 0, tnd_rows_at(in, 0, row), 8);
    return TND_OK;
}

static const tnd_op_ops_t parts_ops = {
    .abi = TND_ABI, .name = "parts", .open = parts_open, .apply = parts_apply};

static tnd_status_t check_parts(tnd_replica_t *replica, void *user)
{
    uint64_t *rows = user;
    const uint64_t *numbers = tnd_replica_column(replica, "number");
    const uint8_t *back = tnd_replica_column(replica, "back");
    const uint8_t *tail = tnd_replica_column(replica, "tail");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++, ++*rows) {
        uint64_t length = length_of(numbers[i]);
        cr_assert_eq(tnd_replica_lengths(replica, "tail")[i], length - (length > 0));
        cr_assert_eq(tnd_replica_lengths(replica, "back")[i], length);
        cr_assert_eq(tnd_replica_lengths(replica, "bytes")[i], 8);
        for (uint64_t k = 0; k < length; k++)
            cr_assert_eq(back[i * 12 + k], (numbers[i] + k) & 255);
        cr_assert(length < 2 || tail[i * 11 + length - 2] == (numbers[i] & 255));
        cr_assert_eq(((const uint64_t *)tnd_replica_column(replica, "bytes"))[i], numbers[i]);
    }
    return TND_OK;
}

Test(tundish, an_operation_makes_ragged_rows_of_bytes_of_the_input_and_of_its_own)
{
    uint64_t longest = 99, rows = 0;
    bool changes = false;
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = compose_words(&longest, &changes, TND_SOURCE_RANDOM, "parts");
    tnd_graph_op(graph, &parts_ops, NULL);
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    while (tnd_feed_next(feed) == TND_OK)
        cr_assert(tnd_feed_run(feed, check_parts, NULL, &rows) == TND_OK);
    (void)tnd_session_wait(session);
    cr_expect_str_eq(tnd_session_error(session), "");
    cr_expect(tnd_session_destroy(&session) == TND_OK);
    cr_expect_eq(rows, 2 * ROWS);
    tnd_graph_destroy(&graph);
}

Test(tundish, a_row_longer_than_an_operation_declared_ends_the_run)
{
    uint64_t longest = 99;
    bool changes = false;
    tnd_graph_t *graph =
        compose_words(&longest, &changes, TND_SOURCE_RANDOM, "{parts: {longest: 7}}");
    tnd_graph_op(graph, &parts_ops, NULL);
    outcome_t outcome = run(graph);
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "column `back` has length 8, above the 7 that its `open` "
                                    "declared"),
              "%s", outcome.error);
}

/* --- what hangs --- */

/*  Its open returns once it is let, and then looks at what it was given. */
typedef struct {
    _Atomic bool may_go, is_over;
    bool same;
} gate_t;

static tnd_status_t gate_open(void *state, void *shared, const char *options,
                              const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                              tnd_error_t *error)
{
    gate_t *gate = shared;
    uint64_t key = 0;
    (void)state, (void)in, (void)out, (void)most_p;
    while (!gate->may_go)
        sched_yield();
    gate->same = tnd_option_u64(options, "key", &key, error) == TND_OK && key == 77;
    gate->is_over = true;
    return TND_FAILED;
}

static tnd_status_t gate_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                               tnd_rows_t *out, tnd_error_t *error)
{
    (void)state, (void)in, (void)row, (void)random, (void)out, (void)error;
    return TND_FAILED;
}

static const tnd_op_ops_t gate_ops = {
    .abi = TND_ABI, .name = "gate", .open = gate_open, .apply = gate_apply};

/*  LeakSanitizer's, if it is linked: it does not report memory allocated between the two calls. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

Test(tundish, memory_of_a_hanging_hook_is_leaked)
{
    if (__lsan_disable != NULL)
        __lsan_disable();
    numbers_t numbers = {0};
    gate_t gate = {0};
    tnd_graph_t *graph = compose(&numbers, TND_SOURCE_RANDOM, "epochs: 1", "{gate: {key: 77}}");
    tnd_graph_op(graph, &gate_ops, &gate);
    tnd_graph_set(graph, "hung_after", "50ms");
    outcome_t outcome = run(graph);
    if (__lsan_enable != NULL)
        __lsan_enable();
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "`gate`, hangs") != NULL, "%s", outcome.error);
    /* What was freed would be this one's now. */
    bool wanted = true;
    uint64_t longest = 99;
    tnd_graph_t *other = compose_words(&longest, &wanted, TND_SOURCE_RANDOM, "even");
    cr_expect(tnd_graph_check(other) == TND_OK, "%s", tnd_graph_errors(other));
    gate.may_go = true;
    while (!gate.is_over)
        sched_yield();
    cr_expect(gate.same);
    tnd_graph_destroy(&other);
}

/* --- options as text --- */

Test(tundish, options_are_read_by_name_and_type)
{
    const char *options = "{rows: \"12\", by: \"0.5\", name: \"x y\", list: [\"1\"]}";
    tnd_error_t error;
    uint64_t rows = 0, missing = 7;
    double by = 0;
    char name[8], small[3];
    cr_expect(tnd_option_u64(options, "rows", &rows, &error) == TND_OK && rows == 12);
    cr_expect(tnd_option_u64(options, "other", &missing, &error) == TND_OK && missing == 7);
    cr_expect(tnd_option_u64("", "other", &missing, &error) == TND_OK && missing == 7);
    cr_expect(tnd_option_f64(options, "by", &by, &error) == TND_OK && by == 0.5);
    cr_expect(tnd_option_text(options, "name", name, sizeof name, &error) == TND_OK);
    cr_expect_str_eq(name, "x y");
    cr_expect(tnd_option_text(options, "name", small, sizeof small, &error) == TND_FAILED);
    cr_expect_str_eq(error.text, "option `name` has 3 characters; there is room for 2");
    cr_expect(tnd_option_u64(options, "by", &rows, &error) == TND_FAILED && rows == 12);
    cr_expect_str_eq(error.text, "option `by` expects a whole number from 0 on, not 0.5");
    cr_expect(tnd_option_f64(options, "list", &by, &error) == TND_FAILED);
    cr_expect_str_eq(error.text, "option `list` is a list, not one value");
    cr_expect(tnd_option_only(options, "rows, by, name, list", &error) == TND_OK);
    cr_expect(tnd_option_only("", "", &error) == TND_OK);
    cr_expect(tnd_option_only(options, "rows, bye, name, list", &error) == TND_FAILED);
    cr_expect_str_eq(error.text, "unknown option `by`; did you mean `bye`?");
    cr_expect(tnd_option_only(options, "", &error) == TND_FAILED);
    cr_expect_str_eq(error.text, "unknown option `rows` (known: none)");
}
