/*  Covers actors/op/: chains over rows that NumPy wrote give, bit for bit, what NumPy computes, for
 *  packed and gathered blocks of any size; accounts, references and random draws are as promised.
 */
#include "actors/chain/chain_probe.h"

#include <math.h>

#include "tests/actors/op/chain_fixture.h"

/*  Compares rows [first, ...) of the expected columns with a block that the chain made. */
static void compare_block(const char *name, opened_t *expected, const tnd_block_t *block,
                          uint64_t first)
{
    cr_assert_eq(block->schema->count, expected->facts.schema.count, "%s", name);
    for (uint32_t i = 0; i < block->schema->count; i++) {
        const tnd_column_t *column = &block->schema->columns[i];
        int at = tnd_schema_find(&expected->facts.schema, column->name);
        cr_assert(at >= 0);
        size_t bytes = tnd_column_bytes(column);
        cr_assert_eq(column->dtype, expected->facts.schema.columns[at].dtype, "%s", name);
        cr_assert_eq(column->rank, expected->facts.schema.columns[at].rank, "%s", name);
        cr_assert_arr_eq(column->shape, expected->facts.schema.columns[at].shape,
                         column->rank * sizeof column->shape[0], "%s", name);
        for (uint32_t row = 0; row < block->note.rows; row++) {
            uint64_t index = first + row;
            tnd_error_t error;
            tnd_block_t *wanted = read_rows(expected, &index, 1, &error);
            cr_assert_not_null(wanted, "%s: %s", name, error.text);
            cr_assert_eq(memcmp(tnd_block_row(block, i, row), tnd_block_row(wanted, at, 0), bytes),
                         0, "%s: row %u of column %s", name, (unsigned)index, column->name);
            tnd_block_drop(&wanted);
        }
    }
}

static void source_text(char *text, size_t room, const char *folder, const char *name,
                        const char *what, char *columns)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", columns);
    size_t used = (size_t)snprintf(text, room, "source: {npy: {");
    for (char *column = strtok(copy, ","); column != NULL; column = strtok(NULL, ","))
        used += (size_t)snprintf(text + used, room - used, "%s: \"%s/%s.%s.%s.npy\",", column,
                                 folder, name, what, column);
    snprintf(text + used - 1, room - used + 1, "}}");
}

/*  Runs one line of ops.txt in blocks of `size` rows; an empty outcome has no file to compare with
 *  that a source would open. */
static void run_case(const char *folder, char *line, uint32_t size)
{
    char text[2048];
    char *name = strtok(line, "|"), *reverse = strtok(NULL, "|"), *columns = strtok(NULL, "|");
    char *made_columns = strtok(NULL, "|"), *ops = strtok(NULL, "\n");
    bool reversed = reverse[0] == '1';
    opened_t in, expected;
    run_t run;
    tnd_error_t error;
    source_text(text, sizeof text, folder, name, "in", columns);
    cr_assert_eq(open_source(&in, text, &error), TND_OK, "%s", error.text);
    source_text(text, sizeof text, folder, name, reversed ? "rev" : "out", made_columns);
    bool empty = open_source(&expected, text, &error) != TND_OK;
    if (empty)
        cr_assert_not_null(strstr(error.text, "no elements"), "%s", error.text);
    cr_assert_eq(open_chain(&run, ops, false, &in.facts.schema, &error), TND_OK, "%s: %s", name,
                 error.text);
    uint64_t made = 0, total = in.facts.count;
    for (uint64_t first = 0; first < total; first += size) {
        uint64_t index[1024];
        uint32_t rows = total - first < size ? (uint32_t)(total - first) : size;
        for (uint32_t i = 0; i < rows; i++)
            index[i] = reversed ? total - 1 - first - i : first + i;
        tnd_block_t *block = read_rows(&in, index, rows, &error), *out = NULL;
        cr_assert_not_null(block);
        cr_assert_eq(
            tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
            TND_OK, "%s: %s", name, error.text);
        if (!empty)
            compare_block(name, &expected, out, made);
        made += out->note.rows;
        cr_assert_eq(out->note.bytes, out->note.rows * tnd_schema_row_bytes(out->schema));
        tnd_block_drop(&block);
        tnd_block_drop(&out);
    }
    cr_assert_eq(made, empty ? 0 : expected.facts.count, "%s", name);
    close_chain(&run);
    close_source(&in);
    if (empty)
        leave_source(&expected);
    else
        close_source(&expected);
}

Test(chain, gives_what_numpy_computes_in_blocks_of_any_size)
{
    static const uint32_t sizes[] = {1000, 7};
    char folder[64], list[128], line[16384];
    unsigned compared = 0;
    numpy_folder(folder);
    snprintf(list, sizeof list, "%s/ops.txt", folder);
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(list, "r");
        cr_assert_not_null(file);
        while (fgets(line, sizeof line, file) != NULL) {
            run_case(folder, line, sizes[i]);
            compared++;
        }
        fclose(file);
    }
    cr_assert(compared >= 1200, "%u", compared);
    remove_folder(folder);
}

Test(chain, without_operations_passes_the_block_itself)
{
    static const int64_t values[] = {1, 2};
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_chain(&run, "", false, &schema, &error), TND_OK);
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 2), *out = NULL;

    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);

    cr_assert_eq(out, block);
    cr_assert_eq(tnd_chain_facts(run.chain)->copied, 0);
    cr_assert_eq(tnd_chain_probe(run.chain), 0);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
}

Test(chain, takes_rows_at_any_address_and_a_pool_of_any_size)
{
    static const float values[] = {1.5f, -2.25f, 1e30f};
    _Alignas(4) uint8_t data[sizeof values + 1];
    tnd_schema_t schema = schema_of(TND_F32, 0, NULL);
    run_t run;
    tnd_error_t error;
    memcpy(data + 1, values, sizeof values);
    cr_assert_eq(open_chain(&run, "{scale: {column: x, factor: 2}}", false, &schema, &error),
                 TND_OK);
    tnd_pool_t *small = tnd_pool_new(1);
    tnd_block_t *whole = numbers(run.block_pool, &schema, values, 3), *out = NULL;
    tnd_block_t *block = tnd_block_pool_take(run.block_pool, &schema);
    block->note = whole->note;
    block->columns[0] = whole->columns[0];
    tnd_buffer_hold(block->columns[0].buffer);
    block->columns[0].base = data + 1;
    tnd_block_seal(block);

    cr_assert_eq(tnd_chain_run(run.chain, &plain_key, block, run.block_pool, small, &out, &error),
                 TND_OK);

    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(*(const float *)tnd_block_row(out, 0, i), 2 * values[i]);
    cr_assert_eq(tnd_chain_facts(run.chain)->copied, sizeof values);
    tnd_block_drop(&whole);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    tnd_pool_destroy(&small);
    close_chain(&run);
}

Test(chain, a_column_that_is_not_read_is_passed_by_reference)
{
    static const uint64_t index[] = {1, 0};
    opened_t in;
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_source(&in,
                             "source: {memory: {x: {dtype: u8, data: [1, 2]}, y: {dtype: i64, "
                             "data: [3, 4]}}}",
                             &error),
                 TND_OK);
    cr_assert_eq(open_chain(&run, "{scale: {column: x}}", false, &in.facts.schema, &error), TND_OK);
    tnd_block_t *block = read_rows(&in, index, 2, &error), *out = NULL;

    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);

    cr_assert_eq(tnd_block_row(out, 1, 0), tnd_block_row(block, 1, 0));
    cr_assert_eq(out->columns[1].buffer, block->columns[1].buffer);
    cr_assert_eq(tnd_chain_facts(run.chain)->copied, 2, "the two gathered bytes of x");
    tnd_block_drop(&block);
    close_source(&in);
    cr_assert_eq(*(const int64_t *)tnd_block_row(out, 1, 0), 4);
    tnd_block_drop(&out);
    close_chain(&run);
}

Test(chain, rows_keep_the_position_that_they_were_made_from)
{
    static const int64_t values[] = {5, 1, 0, 2, 9};
    static const uint32_t expected[] = {1, 3, 3}, again[] = {21, 23, 23};
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_chain(&run,
                            "{filter: {column: x, op: lt, value: 5}}, {repeat_rows: {column: x, "
                            "max: 4}}",
                            false, &schema, &error),
                 TND_OK);
    cr_assert_eq(tnd_chain_rows_max(run.chain), 4);
    cr_assert(tnd_chain_facts(run.chain)->caps & TND_OP_EXPANDS);
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 5), *out = NULL;

    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    cr_assert_eq(out->note.rows, 3);
    cr_assert_eq(out->note.first, 1000);
    cr_assert_eq(out->note.count, 5);
    cr_assert_arr_eq(out->note.origin, expected, sizeof expected);
    tnd_block_drop(&out);
    tnd_block_drop(&block);

    static const uint32_t origin[] = {20, 21, 22, 23, 24};
    block = tnd_block_pool_take(run.block_pool, &schema);
    tnd_block_t *data = numbers(run.block_pool, &schema, values, 5);
    block->note = data->note;
    block->note.origin = origin;
    block->columns[0] = data->columns[0];
    tnd_buffer_hold(block->columns[0].buffer);
    tnd_block_seal(block);
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    cr_assert_arr_eq(out->note.origin, again, sizeof again);
    tnd_block_drop(&out);
    tnd_block_drop(&block);
    tnd_block_drop(&data);
    close_chain(&run);
}

Test(chain, a_block_with_few_rows_left_uses_little_memory)
{
    int64_t values[500];
    for (int64_t i = 0; i < 500; i++)
        values[i] = i;
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(
        open_chain(&run, "{filter: {column: x, op: ge, value: 498}}", false, &schema, &error),
        TND_OK);
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 500), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    cr_assert_eq(out->note.rows, 2);
    cr_assert_leq(tnd_buffer_size(out->columns[0].buffer), 2 * 64,
                  "a cache line each for rows "
                  "and where they came from");
    cr_assert_eq(*(const int64_t *)tnd_block_row(out, 0, 0), 498);
    cr_assert_eq(*(const int64_t *)tnd_block_row(out, 0, 1), 499);
    cr_assert(out->note.origin[0] == 498 && out->note.origin[1] == 499);
    tnd_block_drop(&out);
    tnd_block_drop(&block);
    close_chain(&run);
}

Test(chain, a_bad_row_fails_the_run_or_is_left_out_and_named)
{
    static const int64_t values[] = {1, -1, 2, 7, 1};
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    const char *ops = "{repeat_rows: {column: x, max: 4}}";
    cr_assert_eq(open_chain(&run, ops, false, &schema, &error), TND_OK);
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 5), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_FAILED);
    cr_assert_str_eq(error.text, "operation 1, `repeat_rows`, position 1001 of the stream: "
                                 "column `x` says -1 times; 0 to 4 are possible");
    tnd_block_drop(&block);
    close_chain(&run);

    /* The most that is possible, and one more. */
    static const int64_t bounds[] = {4, 5};
    cr_assert_eq(open_chain(&run, ops, true, &schema, &error), TND_OK);
    block = numbers(run.block_pool, &schema, bounds, 2);
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    cr_assert_eq(out->note.rows, 4);
    cr_assert_eq(out->note.bad_count, 1);
    cr_assert_eq(out->note.bad[0], 1);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);

    cr_assert_eq(open_chain(&run, ops, true, &schema, &error), TND_OK);
    block = numbers(run.block_pool, &schema, values, 5);
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    cr_assert_eq(out->note.rows, 4);
    cr_assert_eq(out->note.bad_count, 2);
    cr_assert_eq(out->note.bad[0], 1);
    cr_assert_eq(out->note.bad[1], 3);
    cr_assert_arr_eq(out->note.origin, ((const uint32_t[]){0, 2, 2, 4}), 16);
    static const char first[] =
        "0operations, operation 1, `repeat_rows`\tcolumn `x` says -1 times; 0 "
        "to 4 are possible";
    cr_assert_str_eq(out->note.why, first);
    cr_assert_not_null(strstr(out->note.why + sizeof first, "says 7 times"));
    cr_assert_eq(out->note.why_bytes, 2 * sizeof first - 1);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
}

Test(chain, output_that_is_final_is_not_copied_again)
{
    static const uint64_t index[] = {1, 0};
    opened_t in;
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_source(&in,
                             "source: {memory: {x: {dtype: u8, data: [1, 2]}, y: {dtype: i64, "
                             "data: [3, 4]}, z: {dtype: u8, data: [9, 8]}}}",
                             &error),
                 TND_OK);
    cr_assert_eq(open_chain(&run,
                            "{scale: {column: x}}, {rename: {x: a, z: b}}, {one_hot: {column: y, "
                            "depth: 5}}, {select: {columns: [b, a, y]}}",
                            false, &in.facts.schema, &error),
                 TND_OK, "%s", error.text);
    tnd_block_t *block = read_rows(&in, index, 2, &error), *out = NULL;

    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);

    cr_assert_eq(tnd_chain_facts(run.chain)->copied, 2 + 16, "two gathered rows of x and of y");
    cr_assert_eq(tnd_block_row(out, 0, 0), tnd_block_row(block, 2, 0));
    cr_assert_eq(*(const float *)tnd_block_row(out, 1, 0), 2.0f / 255.0f);
    cr_assert_eq(((const float *)tnd_block_row(out, 2, 1))[3], 1.0f);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
    close_source(&in);
}

Test(chain, one_block_in_sixteen_is_timed)
{
    static const int64_t values[] = {1, 2, 3};
    static tnd_actor_detail_t detail;
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_chain(&run,
                            "{scale: {column: x, factor: 2}}, {filter: {column: x, op: ge, value: "
                            "4}}",
                            false, &schema, &error),
                 TND_OK, "%s", error.text);
    tnd_chain_time(run.chain, &detail);
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 3), *out = NULL;
    for (unsigned i = 0; i <= 2 * TND_DETAIL_SAMPLE; i++) {
        uint64_t before = detail.operations[1].ns;
        cr_assert_eq(
            tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
            TND_OK, "%s", error.text);
        tnd_block_drop(&out);
        cr_assert_eq(detail.operations[1].ns > before, i % TND_DETAIL_SAMPLE == 0, "block %u", i);
    }
    cr_assert_eq(detail.operation_count, 2);
    cr_assert_str_eq(detail.operations[0].name, "scale");
    cr_assert_str_eq(detail.operations[1].name, "filter");
    cr_assert_eq(detail.operations[0].blocks, 3);
    tnd_block_drop(&block);
    close_chain(&run);
}

Test(lookup, a_number_without_an_entry_is_a_bad_row)
{
    static const int64_t values[] = {1, 0, 2};
    tnd_schema_t schema = schema_of(TND_I64, 0, NULL);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(
        open_chain(&run, "{lookup: {column: x, values: [0.5, 7]}}", false, &schema, &error), TND_OK,
        "%s", error.text);
    cr_assert_eq(tnd_chain_facts(run.chain)->loaded,
                 2 * tnd_schema_row_bytes(tnd_chain_schema(run.chain)));
    tnd_block_t *block = numbers(run.block_pool, &schema, values, 3), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_FAILED);
    cr_assert_str_eq(error.text, "operation 1, `lookup`, position 1002 of the stream: column `x` "
                                 "has 2, and the table has entries for 0 to 1; `missing` gives "
                                 "others a value");
    tnd_block_drop(&block);
    close_chain(&run);
}

Test(one_hot, gives_what_tensorflow_gives)
{
    FILE *file = fopen("tests/oracle/one_hot.txt", "r");
    static const uint64_t first = 0;
    char line[4096], text[4096], ops[512], in[8], out[8], on[32], off[32];
    unsigned depth, compared = 0;
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        cr_assert_eq(sscanf(line, "%7s %7s %u %31s %31s", in, out, &depth, on, off), 5, "%s", line);
        char *indices = strchr(line, '|') + 1, *results = strchr(indices, '|') + 1;
        results[-1] = '\0';
        unsigned count = 0;
        for (char *c = indices; *c != '\0'; c++)
            if (*c == ' ' && c[1] != '\0') {
                *c = count++ > 0 ? ',' : ' ';
            }
        snprintf(text, sizeof text, "source: {memory: {x: {dtype: %s, shape: [%u], data: [%s]}}}",
                 in, count, indices);
        bool into = compared % 2 == 1; /* every other case keeps the class numbers */
        snprintf(ops, sizeof ops, "{one_hot: {column: x%s, depth: %u, to: %s, on: %s, off: %s}}",
                 into ? ", into: o" : "", depth, out, on, off);
        opened_t source;
        run_t run;
        tnd_error_t error;
        cr_assert_eq(open_source(&source, text, &error), TND_OK, "%s", error.text);
        cr_assert_eq(open_chain(&run, ops, false, &source.facts.schema, &error), TND_OK, "%s",
                     error.text);
        tnd_block_t *block = read_rows(&source, &first, 1, &error), *made = NULL;
        cr_assert_eq(
            tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &made, &error),
            TND_OK);
        cr_assert_eq(made->schema->count, 1 + into);
        cr_assert_str_eq(made->schema->columns[into].name, into ? "o" : "x");
        cr_assert_eq(made->schema->columns[into].rank, 2);
        char *number = indices;
        for (unsigned i = 0; into && strcmp(in, "i64") == 0 && i < count; i++, number++)
            cr_assert_eq(((const int64_t *)tnd_block_row(made, 0, 0))[i],
                         strtoll(number, &number, 10));
        for (unsigned i = 0; i < count * depth; i++) {
            double wanted = strtod(results, &results);
            const void *row = tnd_block_row(made, into, 0);
            double got = strcmp(out, "f32") == 0 ? (double)((const float *)row)[i]
                                                 : (double)((const int32_t *)row)[i];
            cr_assert_eq(got, wanted, "element %u of: %s", i, line);
        }
        tnd_block_drop(&block);
        tnd_block_drop(&made);
        close_chain(&run);
        close_source(&source);
        compared++;
    }
    fclose(file);
    cr_assert(compared >= 6);
}

Test(chain, options_that_do_not_fit_are_refused_with_their_place)
{
    static const uint64_t shape[] = {3};
    static const char *const cases[][2] = {
        {"{cast: {column: y, to: f32}}", "operation 1, `cast`: unknown column `y`|x f32[3]"},
        {"{cast: {column: x, to: float}}", "type `float` does not exist"},
        {"{cast: {column: x, to: u8}}, {scale: {column: z}}", "operation 2, `scale`"},
        {"{scale: {column: x}}", "no range of its own"},
        {"{scale: {column: x, factor: 1, to: i8}}", "scale makes floats"},
        {"{scale: {column: x, factor: 1, range: [0, 1]}}", "either `range`"},
        {"{cast: {column: x, to: u8}}, {scale: {column: x, range: [1]}}", "two numbers"},
        {"{one_hot: {column: x, depth: 3}}", "integers"},
        {"{filter: {column: x, op: eq, value: 1}}", "3 numbers a row"},
        {"{random_flip: {column: x}}", "1 dimensions"},
        {"{repeat_rows: {}}", "either `times` or `column`"},
        {"{repeat_rows: {times: 2, max: 2}}", "`max` belongs to `column`"},
        {"{repeat_rows: {column: x}}", "`column` needs `max`"},
        {"{repeat_rows: {times: 65536}}, {repeat_rows: {times: 2}}", "at most 65536"},
        {"{reshape: {column: x, shape: [1, 3]}}, {flip: {column: x}}, {crop: {column: x, height: "
         "2, width: 1}}",
         "operation 3, `crop`|1 x 3|2 x 1"},
        {"{reshape: {column: x, shape: [1, 3]}}, {crop: {column: x, height: 1, width: 2, at: [0, "
         "2]}}",
         "beyond|1 x 3"},
        {"{reshape: {column: x, shape: [1, 3]}}, {crop: {column: x, height: 1, width: 2, at: "
         "1}}",
         "two numbers"},
        {"{flip: {column: x}}", "1 dimensions"},
        {"{reshape: {column: x, shape: [1, 3]}}, {pad: {column: x, by: [1, 2, 3]}}", "3 numbers"},
        {"{reshape: {column: x, shape: [1, 3]}}, {pad: {column: x, by: -1}}", "from 0 on"},
        {"{reshape: {column: x, shape: [1, 3]}}, {cast: {column: x, to: u8}}, {pad: {column: x, "
         "by: 1, value: 256}}",
         "256 of `value` does not fit column `x`, which is u8"},
        {"{reshape: {column: x, shape: [2, -1]}}", "x f32[3]|3 numbers a row"},
        {"{reshape: {column: x, shape: [-1, -1]}}", "two lengths"},
        {"{reshape: {column: x, shape: [0]}}", "is 0"},
        {"{reshape: {column: x, shape: [1.5]}}", "1.5"},
        {"{reshape: {column: x, shape: [1000000000000, 1000000000000, 3]}}", "does not hold"},
        {"{transpose: {column: x, axes: [0, 0]}}", "each axis of column `x f32[3]` once: 0 to 0"},
        {"{transpose: {column: x, axes: [1]}}", "0 to 0"},
        {"{select: {columns: [x, x]}}", "two columns called `x`"},
        {"{select: {columns: []}}", "names none"},
        {"{select: {columns: [y]}}", "unknown column `y`|x f32[3]"},
        {"{rename: {y: z}}", "unknown column `y`"},
        {"{rename: {}}", "no column is named"},
        {"{clip: {column: x}}", "`min`, `max` or both"},
        {"{clip: {column: x, min: 2, max: 1}}", "`min` (2) is greater than `max` (1)"},
        {"{cast: {column: x, to: u8}}, {clip: {column: x, min: -1}}", "-1 of `min` does not fit"},
        {"{cast: {column: x, to: u8}}, {clip: {column: x, min: 0.5}}", "not an integer"},
        {"{normalize: {column: x, mean: [1, 2], std: 1}}", "`mean` has 2 numbers|3 channels"},
        {"{normalize: {column: x, mean: 0, std: [1, 0, 1]}}", "`std` has 0"},
        {"{normalize: {column: x, mean: 0, std: 1e-60}}", "`std` has 1e-60"},
        {"{normalize: {column: x, mean: [1, 2, 3], std: 1, axis: 1}}", "no axis 1"},
        {"{normalize: {column: x, mean: 0, std: 1, to: i32}}", "makes floats"},
        {"{lookup: {column: x, values: [1]}}", "integers are looked up"},
        {"{scale: {column: x, factor: 1e60}}", "1e+60 is too large to compute with in f32"},
        {"{clip: {column: x, max: 1e60}}", "1e60 of `max` is too large for column `x`"},
        {"{cast: {column: x, to: u8}}, {one_hot: {column: x, depth: 3, to: u8, on: 256}}",
         "`on` is 256, which u8 does not hold"},
        {"{cast: {column: x, to: u8}}, {one_hot: {column: x, depth: 3, to: f16, off: 1e6}}",
         "`off` is 1e+06, which f16 does not hold"},
        {"{cast: {column: x, to: u8}}, {lookup: {column: x, values: [300], to: u8}}",
         "300 of `values` does not fit column `x`, which is u8"},
        {"{cast: {column: x, to: u8}}, {lookup: {column: x}}",
         "one of `values`, `map`, `file` and `vocabulary`"},
        {"{cast: {column: x, to: u8}}, {lookup: {column: x, map: {a: 1}}}", "`a` in `map`"},
        {"{cast: {column: x, to: u8}}, {lookup: {column: x, file: /no/such.npy}}", "/no/such.npy"},
        {"{cast: {column: x, to: u8}}, {lookup: {column: x, into: x, values: 1}}, {lookup: "
         "{column: x, values: 2}}",
         "operation 3"},
    };
    tnd_schema_t schema = schema_of(TND_F32, 1, shape);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_t run;
        tnd_error_t error = {.text = ""};
        char words[256];
        cr_assert_eq(open_chain(&run, cases[i][0], false, &schema, &error), TND_FAILED, "%s",
                     cases[i][0]);
        snprintf(words, sizeof words, "%s", cases[i][1]);
        for (char *word = strtok(words, "|"); word != NULL; word = strtok(NULL, "|"))
            cr_assert_not_null(strstr(error.text, word), "no `%s` in: %s", word, error.text);
        cr_assert_null(run.chain);
        close_chain(&run);
    }
}

Test(chain, the_probe_tells_chains_apart_and_does_not_change)
{
    static const uint64_t shape[] = {3, 5};
    static const char *const ops[] = {
        "{scale: {column: x}}",
        "{scale: {column: x, range: [0, 2]}}",
        "{cast: {column: x, to: f32}}",
        "{random_flip: {column: x}}",
        "{flip: {column: x}}",
        "{random_crop: {column: x, height: 3, width: 2}}",
        "{normalize: {column: x, mean: 3, std: 7}}",
        "{normalize: {column: x, mean: 3, std: 7.1}}",
        "{lookup: {column: x, values: [1], missing: 4}}",
        "{lookup: {column: x, values: [2], missing: 4}}",
        "{reshape: {column: x, shape: [5, 3]}}",
        "{transpose: {column: x, axes: [1, 0]}}",
        "{repeat_rows: {times: 2}}",
    };
    enum { COUNT = sizeof ops / sizeof ops[0] };
    uint64_t probes[COUNT];
    tnd_schema_t schema = schema_of(TND_U8, 2, shape);
    for (size_t i = 0; i < COUNT; i++) {
        run_t run;
        tnd_error_t error;
        cr_assert_eq(open_chain(&run, ops[i], false, &schema, &error), TND_OK, "%s", error.text);
        probes[i] = tnd_chain_probe(run.chain);
        cr_assert_eq(probes[i], tnd_chain_probe(run.chain));
        cr_assert_neq(probes[i], 0);
        for (size_t k = 0; k < i; k++)
            cr_assert_neq(probes[i], probes[k], "%s, %s", ops[i], ops[k]);
        close_chain(&run);
    }
}
