/*  Covers what a chain does with ragged columns: they pass unchanged, also if rows are dropped or
 *  repeated; `pad_ragged` gives them one length, `slice` cuts them, `concat` joins them, and operations on
 *  each number leave the lengths. */
#include "actors/chain/chain.h"
#include "actors/chain/chain_probe.h"
#include "runtime/core/numeric/numeric.h"
#include "tests/actors/source/opened.h"

enum { ROWS = 5 };

static const uint64_t lengths[ROWS] = {3, 0, 5, 1, 2}, offsets[ROWS] = {0, 6, 6, 16, 18};

typedef struct {
    tnd_schema_t schema; /* y i32, x u16[<=5], z u8[<=4] */
    tnd_arena_t *arena;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool;
    tnd_chain_t *chain;
    tnd_block_t *in, *out;
} bench_t;

static void nothing(void *owner)
{
    (void)owner;
}

static tnd_status_t open_bench(bench_t *self, const char *ops, bool skip_bad, tnd_error_t *error)
{
    char text[512];
    *self = (bench_t){.arena = tnd_arena_new(), .block_pool = tnd_block_pool_new()};
    cr_assert_eq(tnd_schema_add(&self->schema, "y", TND_I32, 0, NULL, NULL), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->schema, "x", TND_U16, 1, (uint64_t[]){5}, NULL),
                 TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->schema, "z", TND_U8, 1, (uint64_t[]){5}, NULL),
                 TND_OK);
    snprintf(text, sizeof text, "ops: [%s]", ops);
    const parsed_parts_t *parts = parse_parts(self->arena, text);
    return tnd_chain_open(&self->chain, &parts->ops, skip_bad, &self->schema, NULL, NULL, error);
}

static void close_bench(bench_t *self)
{
    tnd_block_drop(&self->in);
    tnd_block_drop(&self->out);
    tnd_chain_close(&self->chain);
    tnd_pool_destroy(&self->pool);
    tnd_block_pool_destroy(&self->block_pool);
    tnd_arena_destroy(&self->arena);
}

/*  Rows whose x counts on from 10 * their number, z likewise; y is their number. */
static tnd_status_t run(bench_t *self, tnd_buffer_kind_t kind, tnd_error_t *error)
{
    static int32_t numbers[ROWS];
    static uint16_t wide[16];
    static uint8_t narrow[ROWS * 5];
    const tnd_chain_key_t key = {.seed = 7, .lanes = 1};
    self->in = tnd_block_pool_take(self->block_pool, &self->schema);
    for (int32_t row = 0; row < ROWS; row++) {
        numbers[row] = row;
        for (uint64_t i = 0; i < lengths[row]; i++) {
            wide[offsets[row] / 2 + i] = (uint16_t)(10 * (uint64_t)row + i);
            narrow[(uint64_t)row * 5 + i] = (uint8_t)(10 * (uint64_t)row + i);
        }
    }
    self->in->note = (tnd_block_note_t){.count = ROWS, .asked = ROWS, .rows = ROWS};
    self->in->columns[0] = (tnd_block_column_t){
        .base = (const uint8_t *)numbers,
        .stride = 4,
        .buffer = tnd_buffer_wrap(kind, numbers, sizeof numbers, nothing, NULL)};
    self->in->columns[1] =
        (tnd_block_column_t){.base = (const uint8_t *)wide,
                             .stride = 1,
                             .index = offsets,
                             .lengths = lengths,
                             .buffer = tnd_buffer_wrap(kind, wide, sizeof wide, nothing, NULL)};
    self->in->columns[2] =
        (tnd_block_column_t){.base = narrow,
                             .stride = 5,
                             .lengths = lengths,
                             .buffer = tnd_buffer_wrap(kind, narrow, sizeof narrow, nothing, NULL)};
    self->in->index = tnd_buffer_wrap(kind, (void *)(uintptr_t)offsets, 0, nothing, NULL);
    tnd_block_seal(self->in);
    self->pool = tnd_pool_new(tnd_chain_bytes(self->chain, ROWS));
    return tnd_chain_run(self->chain, &key, self->in, self->block_pool, self->pool, &self->out,
                         error);
}

/*  Whether column `name` has in each row that of row `from` of what came in. */
static void expect_rows(const bench_t *self, const char *name, const uint32_t *from, uint32_t rows)
{
    int column = tnd_schema_find(self->out->schema, name);
    cr_assert(column >= 0);
    uint32_t in = *name == 'x' ? 1 : 2;
    cr_assert_eq(self->out->note.rows, rows);
    for (uint32_t row = 0; row < rows; row++) {
        size_t bytes = tnd_block_row_bytes(self->in, in, from[row]);
        cr_assert_eq(tnd_block_row_bytes(self->out, (uint32_t)column, row), bytes);
        cr_assert_arr_eq((const uint8_t *)tnd_block_row(self->out, (uint32_t)column, row),
                         (const uint8_t *)tnd_block_row(self->in, in, from[row]), bytes);
    }
}

/*  x has 10 * row + i; the table has 3 * k for k, and others become 7. */
Test(ragged, integers_are_looked_up_and_rows_keep_their_lengths)
{
    static const char *const ops[] = {
        "{lookup: {column: x, map: {0: 0, 2: 6, 20: 60, 24: 72, 41: 123}, to: f64, missing: 7}}",
        "{lookup: {column: x, into: found, map: {0: 0, 2: 6, 20: 60, 24: 72, 41: 123}, to: f64, "
        "missing: 7}}"};
    static const double found[] = {0, 7, 6, 60, 7, 7, 7, 72, 7, 7, 123};
    for (size_t c = 0; c < sizeof ops / sizeof ops[0]; c++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, ops[c], false, &error), TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
        int column = tnd_schema_find(bench.out->schema, c == 0 ? "x" : "found");
        const tnd_column_t *made = &bench.out->schema->columns[column];
        cr_assert(made->ragged && made->dtype == TND_F64 && made->shape[0] == 5);
        for (uint32_t row = 0, at = 0; row < ROWS; at += (uint32_t)lengths[row++]) {
            cr_assert_eq(tnd_block_row_bytes(bench.out, (uint32_t)column, row), 8 * lengths[row]);
            cr_assert_arr_eq(tnd_block_row(bench.out, (uint32_t)column, row), found + at,
                             8 * lengths[row]);
        }
        close_bench(&bench);
    }
}

Test(ragged, an_integer_without_an_entry_makes_its_row_bad)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(
        open_bench(&bench, "{lookup: {column: x, map: {0: 1, 1: 1, 2: 1}}}", false, &error), TND_OK,
        "%s", error.text);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_FAILED);
    cr_assert_str_eq(error.text,
                     "operation 1, `lookup`, position 2 of the stream: column `x` has 20, "
                     "which `map` does not have; `missing` gives a value to others");
    close_bench(&bench);
}

Test(ragged, columns_pass_by_reference_where_all_rows_stay)
{
    static const uint32_t all[] = {0, 1, 2, 3, 4};
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench,
                            "{cast: {column: y, to: f32}}, {rename: {x: xx}}, {select: {columns: "
                            "[xx, y]}}",
                            false, &error),
                 TND_OK, "%s", error.text);

    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);

    expect_rows(&bench, "xx", all, ROWS);
    cr_assert_eq(bench.out->columns[0].buffer, bench.in->columns[1].buffer);
    cr_assert_eq(bench.out->note.bytes, 22 + 4 * ROWS);
    close_bench(&bench);
}

Test(ragged, kept_and_repeated_rows_have_their_values)
{
    static const uint32_t kept[] = {1, 2, 2, 3, 3, 3, 4, 4, 4, 4};
    static const tnd_buffer_kind_t kinds[] = {TND_BUFFER_HEAP, TND_BUFFER_MAPPED};
    for (size_t k = 0; k < 2; k++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, "{repeat_rows: {column: y, max: 4}}", false, &error),
                     TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, kinds[k], &error), TND_OK, "%s", error.text);
        expect_rows(&bench, "x", kept, 10);
        expect_rows(&bench, "z", kept, 10);
        cr_assert_eq(bench.out->note.bytes, 4 * 10 + 3 * (2 * 5 + 3 * 1 + 4 * 2));
        close_bench(&bench);
    }
}

Test(ragged, dropped_rows_are_not_kept_in_memory)
{
    static const uint32_t kept[] = {3, 4};
    static const tnd_buffer_kind_t kinds[] = {TND_BUFFER_HEAP, TND_BUFFER_MAPPED};
    for (size_t k = 0; k < 2; k++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, "{filter: {column: y, op: ge, value: 3}}", false, &error),
                     TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, kinds[k], &error), TND_OK, "%s", error.text);
        expect_rows(&bench, "x", kept, 2);
        expect_rows(&bench, "z", kept, 2);
        cr_assert_eq(bench.out->columns[1].buffer == bench.in->columns[1].buffer, k == 1,
                     "what is mapped costs nothing");
        tnd_block_drop(&bench.in);
        cr_assert_eq(*(const uint16_t *)tnd_block_row(bench.out, 1, 0), 30);
        close_bench(&bench);
    }
}

Test(ragged, a_block_without_rows_keeps_no_memory)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench, "{filter: {column: y, op: gt, value: 9}}", false, &error),
                 TND_OK);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK);
    cr_assert_eq(bench.out->note.rows, 0);
    cr_assert_eq(bench.out->note.bytes, 0);
    close_bench(&bench);
}

/*  As tensorflow.RaggedTensor.to_tensor(default_value=7, shape=[None, 4]) and row_lengths. */
Test(ragged, rows_are_padded_or_cut_to_one_length)
{
    static const uint16_t padded[ROWS][4] = {
        {0, 1, 2, 7}, {7, 7, 7, 7}, {20, 21, 22, 23}, {30, 7, 7, 7}, {40, 41, 7, 7}};
    static const int64_t said[ROWS] = {3, 0, 4, 1, 2};
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench,
                            "{pad_ragged: {column: x, to: 4, value: 7, cut: true, lengths: n}}, "
                            "{cast: {column: x, to: i32}}, {cast: {column: x, to: u16}}",
                            false, &error),
                 TND_OK, "%s", error.text);

    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);

    const tnd_schema_t *schema = bench.out->schema;
    cr_assert(!schema->columns[1].ragged && schema->columns[1].shape[0] == 4);
    cr_assert_str_eq(schema->columns[3].name, "n");
    for (uint32_t row = 0; row < ROWS; row++) {
        cr_assert_arr_eq((const uint16_t *)tnd_block_row(bench.out, 1, row), padded[row], 8);
        cr_assert_eq(*(const int64_t *)tnd_block_row(bench.out, 3, row), said[row]);
    }
    expect_rows(&bench, "z", (uint32_t[]){0, 1, 2, 3, 4}, ROWS);
    close_bench(&bench);
}

/*  Whether row `row` of a column of u16 is these numbers. */
static void expect_numbers(const bench_t *self, uint32_t column, uint32_t row,
                           const uint16_t *numbers, size_t count)
{
    cr_assert_eq(tnd_block_row_bytes(self->out, column, row), 2 * count, "row %u", row);
    if (count > 0)
        cr_assert_arr_eq((const uint8_t *)tnd_block_row(self->out, column, row),
                         (const uint8_t *)numbers, 2 * count);
}

/*  As x[:, 1:3] of a RaggedTensor. */
Test(ragged, a_slice_is_bytes_of_the_input_which_are_not_copied)
{
    static const uint16_t sliced[ROWS][2] = {{1, 2}, {0}, {21, 22}, {0}, {41}};
    static const size_t counts[ROWS] = {2, 0, 2, 0, 1};
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(
        open_bench(&bench, "{slice: {column: x, start: 1, length: 2, into: w}}", false, &error),
        TND_OK, "%s", error.text);
    cr_assert_eq(run(&bench, TND_BUFFER_MAPPED, &error), TND_OK, "%s", error.text);
    cr_assert(bench.out->schema->columns[3].ragged);
    cr_assert_eq(bench.out->schema->columns[3].shape[0], 2);
    for (uint32_t row = 0; row < ROWS; row++)
        expect_numbers(&bench, 3, row, sliced[row], counts[row]);
    expect_rows(&bench, "x", (uint32_t[]){0, 1, 2, 3, 4}, ROWS);
    cr_assert_eq(bench.out->columns[3].buffer, bench.in->columns[1].buffer);
    cr_assert_eq(tnd_chain_facts(bench.chain)->copied, 0);
    close_bench(&bench);
}

Test(ragged, a_small_slice_does_not_hold_the_memory_of_the_whole)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench, "{slice: {column: x, length: 1}}, {select: {columns: [x]}}",
                            false, &error),
                 TND_OK);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
    cr_assert_neq(bench.out->columns[0].buffer, bench.in->columns[1].buffer);
    tnd_block_drop(&bench.in);
    expect_numbers(&bench, 0, 2, (uint16_t[]){20}, 1);
    expect_numbers(&bench, 0, 1, NULL, 0);
    close_bench(&bench);
}

/*  As tf.concat([x[:, 1:], x], axis=1), of the rows that are left, the first one repeated. */
Test(ragged, rows_that_operations_make_pass_through_those_that_drop_and_repeat)
{
    static const uint16_t joined[][5] = {{30},         {30},         {30},        {41, 40, 41},
                                         {41, 40, 41}, {41, 40, 41}, {41, 40, 41}};
    static const tnd_buffer_kind_t kinds[] = {TND_BUFFER_HEAP, TND_BUFFER_MAPPED};
    for (size_t k = 0; k < 2; k++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(
            open_bench(&bench,
                       "{filter: {column: y, op: ge, value: 3}}, {slice: {column: x, start: 1, "
                       "into: tail}}, {concat: {columns: [tail, x], into: j}}, "
                       "{repeat_rows: {column: y, max: 4}}",
                       true, &error),
            TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, kinds[k], &error), TND_OK, "%s", error.text);
        cr_assert_eq(bench.out->note.rows, 7);
        expect_rows(&bench, "x", (uint32_t[]){3, 3, 3, 4, 4, 4, 4}, 7);
        for (uint32_t row = 0; row < 7; row++)
            expect_numbers(&bench, 4, row, joined[row], row < 3 ? 1 : 3);
        cr_assert_eq(tnd_chain_facts(bench.chain)->growth_max, 2 * 3 * 4);
        tnd_block_drop(&bench.in);
        expect_numbers(&bench, 4, 6, joined[6], 3);
        close_bench(&bench);
    }
}

Test(ragged, a_row_that_is_too_long_is_bad_unless_it_may_be_cut)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench, "{pad_ragged: {column: x, to: 4}}", false, &error), TND_OK);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "position 2"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "length 5, more than `to` (4); `cut: true`"), "%s",
                       error.text);
    close_bench(&bench);

    cr_assert_eq(open_bench(&bench, "{pad_ragged: {column: x, to: 4}}", true, &error), TND_OK);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK);
    cr_assert_eq(bench.out->note.rows, 4);
    cr_assert_eq(bench.out->note.bad_count, 1);
    expect_rows(&bench, "z", (uint32_t[]){0, 1, 3, 4}, 4);
    close_bench(&bench);
}

Test(ragged, an_operation_that_reads_a_column_is_refused_by_name_with_the_remedy)
{
    static const char *const cases[][2] = {
        {"{flip: {column: x}}", "operation 1, `flip`: column `x` is ragged"},
        {"{transpose: {column: x, axes: [0]}}",
         "`pad_ragged: {column: x, to: 5}` makes them one length"},
        {"{normalize: {column: x, mean: [1, 2, 3, 4, 5], std: 1}}",
         "column `x` is ragged, its rows have no fixed number of channels along axis 0"},
        {"{cast: {column: x, to: int}}", "type `int` does not exist"},
        {"{filter: {column: x, op: eq, value: 1}}", "is ragged"},
        {"{repeat_rows: {column: z, max: 2}}", "column `z` is ragged"},
        {"{reshape: {column: x, shape: [5]}}", "is ragged"},
        {"{filter: {expr: x > 3}}", "several numbers per row; one condition is needed"},
        {"{pad_ragged: {column: y}}", "`y` is not ragged"},
        {"{slice: {column: y}}", "`y` is not ragged"},
        {"{slice: {column: x, start: 5}}", "`start: 5` leaves nothing of column `x`"},
        {"{concat: {columns: [x], into: w}}", "2 to 64 can be joined"},
        {"{concat: {columns: [x, z], into: w}}", "columns `x` and `z` differ in type"},
        {"{concat: {columns: [x, x], into: z}}", "two columns called `z`"},
        {"{pad_ragged: {column: x, value: 70000}}", "does not fit"},
        {"{pad_ragged: {column: x}}, {pad_ragged: {column: x}}", "operation 2, `pad_ragged`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, cases[i][0], false, &error), TND_FAILED, "%s", cases[i][0]);
        cr_assert_not_null(strstr(error.text, cases[i][1]), "%s", error.text);
        close_bench(&bench);
    }
}

/*  x as numpy.array(row, "u2") of each row, through the arithmetic of each operation. */
Test(ragged, numbers_are_made_one_by_one_and_rows_keep_their_lengths)
{
    static const struct {
        const char *ops;
        tnd_dtype_t dtype;
        double second, growth; /* of row 2, 21; of x from u16 to the new type, beside z */
    } cases[] = {
        {"{cast: {column: x, to: f32}}", TND_F32, 21, 2},
        {"{cast: {column: x, to: i64}}", TND_I64, 21, 4},
        {"{cast: {column: x, to: u8}}", TND_U8, 21, 1},
        {"{scale: {column: x, factor: 0.5, offset: -3}}", TND_F32, 7.5, 2},
        {"{scale: {column: x, to: f64}}", TND_F64, 21.0 / 65535, 4},
        {"{normalize: {column: x, mean: 1, std: 4}}", TND_F32, 5, 2},
        {"{clip: {column: x, min: 3, max: 20}}", TND_U16, 20, 1},
        {"{cast: {column: x, to: i32}}, {normalize: {column: x, mean: 1, std: 4, to: f64}}",
         TND_F64, 5, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, cases[i].ops, false, &error), TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
        const tnd_column_t *x = &bench.out->schema->columns[1];
        cr_assert(x->ragged && x->rank == 1 && x->shape[0] == 5 && x->dtype == cases[i].dtype);
        for (uint32_t row = 0; row < ROWS; row++)
            cr_assert_eq(tnd_block_row_bytes(bench.out, 1, row),
                         lengths[row] * tnd_dtype_size(x->dtype), "%s", cases[i].ops);
        double second;
        const uint8_t *at = tnd_block_row(bench.out, 1, 2);
        tnd_cast(TND_F64, x->dtype, 1, &second, at + tnd_dtype_size(x->dtype));
        cr_assert_eq(second, cases[i].second, "%s: %.17g", cases[i].ops, second);
        expect_rows(&bench, "z", (uint32_t[]){0, 1, 2, 3, 4}, ROWS);
        cr_assert_eq(tnd_chain_facts(bench.chain)->growth_max, cases[i].growth, "%s", cases[i].ops);
        close_bench(&bench);
    }
}

/*  x[row][i] = 10 * row + i: numpy.eye(depth)[x] where x < depth. */
Test(ragged, class_numbers_become_vectors)
{
    static const char *const ops[] = {"{one_hot: {column: x, depth: 22, to: u8}}",
                                      "{one_hot: {column: x, into: v, depth: 22, to: u8}}"};
    for (int into = 0; into < 2; into++) {
        bench_t bench;
        tnd_error_t error;
        cr_assert_eq(open_bench(&bench, ops[into], false, &error), TND_OK, "%s", error.text);
        cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
        uint32_t column = into ? 3 : 1;
        const tnd_column_t *made = &bench.out->schema->columns[column];
        cr_assert(made->ragged && made->rank == 2 && made->shape[0] == 5 && made->shape[1] == 22);
        for (uint32_t row = 0; row < ROWS; row++) {
            const uint8_t *at = tnd_block_row(bench.out, column, row);
            cr_assert_eq(tnd_block_row_bytes(bench.out, column, row), lengths[row] * 22);
            for (uint64_t i = 0; i < lengths[row]; i++)
                for (uint64_t k = 0; k < 22; k++)
                    cr_assert_eq(at[i * 22 + k], k == 10 * row + i);
        }
        cr_assert_eq(tnd_chain_facts(bench.chain)->growth_max, 12);
        expect_rows(&bench, "z", (uint32_t[]){0, 1, 2, 3, 4}, ROWS);
        if (into)
            expect_rows(&bench, "x", (uint32_t[]){0, 1, 2, 3, 4}, ROWS);
        close_bench(&bench);
    }
}

Test(ragged, formulas_compute_each_number_and_filter_by_length)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench,
                            "{compute: {w: 2 * x - z + y, n: length(x), to: i16}}, "
                            "{filter: {expr: length(w) >= 2 and n != 3}}",
                            false, &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
    static const uint32_t kept[] = {2, 4};
    expect_rows(&bench, "x", kept, 2);
    expect_rows(&bench, "z", kept, 2);
    for (uint32_t row = 0; row < 2; row++) {
        const int16_t *w = (const int16_t *)tnd_block_row(bench.out, 3, row);
        cr_assert_eq(tnd_block_row_bytes(bench.out, 3, row), lengths[kept[row]] * 2);
        for (uint32_t i = 0; i < lengths[kept[row]]; i++)
            cr_assert_eq(w[i], (int)(10 * kept[row] + i + kept[row]));
        cr_assert_eq(*(const int16_t *)tnd_block_row(bench.out, 4, row), (int)lengths[kept[row]]);
    }
    close_bench(&bench);
}

/*  Of two columns whose rows differ in length, and of one with another longest row. */
Test(ragged, a_formula_of_rows_of_other_lengths_is_a_bad_row)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench, "{pad_ragged: {column: z, to: 5}}, {compute: {w: x + z}}",
                            false, &error),
                 TND_FAILED);
    cr_assert_not_null(strstr(error.text, "has another shape"), "%s", error.text);
    close_bench(&bench);
    cr_assert_eq(
        open_bench(&bench,
                   "{concat: {columns: [z, z], into: v}}, {slice: {column: v, length: 5}}, "
                   "{compute: {w: x + v}}",
                   true, &error),
        TND_OK, "%s", error.text);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
    expect_rows(&bench, "x", (uint32_t[]){1, 2}, 2);
    cr_assert_eq(bench.out->note.bad_count, 3);
    cr_assert_not_null(strstr(bench.out->note.why, "have 3 and 5 values in a row"), "%s",
                       bench.out->note.why);
    close_bench(&bench);
}

enum { STEPS_MAX = 900 };

/*  Runs operations over two rows of u8[<=900, 3], of 900 and of 2 steps: 0, 1, 2 ... each. */
static void run_steps(bench_t *self, const char *ops)
{
    static uint8_t bytes[STEPS_MAX * 3];
    static const uint64_t both[] = {STEPS_MAX, 2}, from[] = {0, 0};
    const tnd_chain_key_t key = {.seed = 7, .lanes = 1};
    tnd_error_t error;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    *self = (bench_t){.arena = tnd_arena_new(), .block_pool = tnd_block_pool_new()};
    cr_assert_eq(
        tnd_schema_add_ragged(&self->schema, "x", TND_U8, 2, (uint64_t[]){STEPS_MAX, 3}, NULL),
        TND_OK);
    cr_assert_eq(tnd_chain_open(&self->chain, &parse_parts(self->arena, ops)->ops, false,
                                &self->schema, NULL, NULL, &error),
                 TND_OK, "%s", error.text);
    self->in = tnd_block_pool_take(self->block_pool, &self->schema);
    self->in->note = (tnd_block_note_t){.count = 2, .asked = 2, .rows = 2};
    self->in->columns[0] = (tnd_block_column_t){
        .base = bytes,
        .stride = 1,
        .index = from,
        .lengths = both,
        .buffer = tnd_buffer_wrap(TND_BUFFER_HEAP, bytes, sizeof bytes, nothing, NULL)};
    self->in->index = tnd_buffer_wrap(TND_BUFFER_HEAP, (void *)(uintptr_t)from, 0, nothing, NULL);
    tnd_block_seal(self->in);
    self->pool = tnd_pool_new(tnd_chain_bytes(self->chain, 2));
    /* Twice: the first block takes memory in small pieces. */
    for (int block = 0; block < 2; block++) {
        tnd_block_drop(&self->out);
        cr_assert_eq(tnd_chain_run(self->chain, &key, self->in, self->block_pool, self->pool,
                                   &self->out, &error),
                     TND_OK, "%s", error.text);
    }
}

/*  (x - numpy.array([1, 2, 3], "f4")) / numpy.array([1, 2, 4], "f4") */
Test(ragged, channels_of_each_step_have_their_own_mean)
{
    static const float means[] = {1, 2, 3}, stds[] = {1, 2, 4};
    bench_t bench;
    run_steps(&bench, "ops: [{normalize: {column: x, mean: [1, 2, 3], std: [1, 2, 4]}}]");
    for (uint32_t row = 0; row < 2; row++) {
        const float *made = tnd_block_row(bench.out, 0, row);
        cr_assert_eq(bench.out->columns[0].lengths[row], row == 0 ? STEPS_MAX : 2);
        for (uint32_t i = 0; i < 3 * (row == 0 ? STEPS_MAX : 2); i++)
            cr_assert_eq(made[i], ((float)(uint8_t)i - means[i % 3]) / stds[i % 3], "%u", i);
    }
    close_bench(&bench);
}

Test(ragged, rows_between_operations_are_not_kept_in_memory)
{
    bench_t bench;
    run_steps(&bench, "ops: [{cast: {column: x, to: f64}}, {clip: {column: x, max: 9}}, "
                      "{cast: {column: x, to: f32}}]");
    cr_assert_eq(((const float *)tnd_block_row(bench.out, 0, 1))[5], 5);
    cr_assert_leq(tnd_buffer_size(bench.out->columns[0].buffer), 2 * 4 * 3 * (STEPS_MAX + 2));
    close_bench(&bench);
}

Test(ragged, one_column_of_half_the_size_needs_half_the_memory)
{
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench, "{select: {columns: [y, x]}}, {cast: {column: x, to: i8}}",
                            false, &error),
                 TND_OK);
    cr_assert_eq(tnd_chain_facts(bench.chain)->growth_max, 0.5);
    cr_assert_eq(tnd_chain_facts(bench.chain)->growth_usual, 0.5);
    close_bench(&bench);
}

Test(ragged, rows_that_operations_made_are_made_again_by_others)
{
    static const uint16_t clipped[][5] = {{30}, {41, 40, 41}};
    bench_t bench;
    tnd_error_t error;
    cr_assert_eq(open_bench(&bench,
                            "{filter: {column: y, op: ge, value: 3}}, {slice: {column: x, start: "
                            "1, into: tail}}, {concat: {columns: [tail, x], into: j}}, {clip: "
                            "{column: j, min: 5}}",
                            true, &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(run(&bench, TND_BUFFER_HEAP, &error), TND_OK, "%s", error.text);
    cr_assert_eq(bench.out->note.rows, 2);
    expect_numbers(&bench, 4, 0, clipped[0], 1);
    expect_numbers(&bench, 4, 1, clipped[1], 3);
    close_bench(&bench);
}

Test(ragged, the_probe_covers_rows_of_many_lengths)
{
    bench_t one, other;
    tnd_error_t error;
    cr_assert_eq(open_bench(&one, "{pad_ragged: {column: x}}", false, &error), TND_OK);
    cr_assert_eq(open_bench(&other, "{pad_ragged: {column: x, value: 1}}", false, &error), TND_OK);
    cr_assert_eq(tnd_chain_probe(one.chain), tnd_chain_probe(one.chain));
    cr_assert_neq(tnd_chain_probe(one.chain), tnd_chain_probe(other.chain));
    close_bench(&one);
    close_bench(&other);
}
