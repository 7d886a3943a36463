/*  Covers actors/source/memory.c: arrays of a program and numbers of a topology file are rows like
 *  any other. */
#include "tests/actors/source/opened.h"

Test(memory, arrays_of_the_program_are_read_without_copying)
{
    static const float points[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const int64_t labels[3] = {7, 8, 9};
    static const uint64_t index[] = {2, 0};
    const tnd_program_array_t label = {
        .actor = "read", .column = "label", .dtype = TND_I64, .rows = 3, .data = labels};
    const tnd_program_array_t arrays = {.next = &label,
                                        .actor = "read",
                                        .column = "point",
                                        .dtype = TND_F32,
                                        .rank = 1,
                                        .shape = {2},
                                        .rows = 3,
                                        .data = points};
    opened_t opened;
    tnd_error_t error;

    cr_assert_eq(open_scope(&opened, "source: memory",
                            (tnd_source_scope_t){.lanes = 1, .arrays = &arrays, .actor = "read"},
                            &error),
                 TND_OK, "%s", error.text);

    cr_assert_eq(opened.facts.count, 3);
    tnd_block_t *block = read_rows(&opened, index, 2, &error);
    cr_assert_eq(tnd_block_row(block, 0, 0), &points[2]);
    cr_assert_eq(*(const int64_t *)tnd_block_row(block, 1, 1), 7);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(memory, numbers_written_in_the_file_are_rows)
{
    static const uint64_t index[] = {1};
    opened_t opened;
    tnd_error_t error;

    cr_assert_eq(open_source(&opened,
                             "source: {memory: {x: {dtype: f32, shape: [2], data: [1, -2, 0.5, "
                             "1e3]}, y: {dtype: i8, data: [-128, 127]}}}",
                             &error),
                 TND_OK, "%s", error.text);

    cr_assert_eq(opened.facts.count, 2);
    tnd_block_t *block = read_rows(&opened, index, 1, &error);
    cr_assert_eq(((const float *)tnd_block_row(block, 0, 0))[1], 1000.0f);
    cr_assert_eq(*(const int8_t *)tnd_block_row(block, 1, 0), 127);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(memory, numbers_that_do_not_fit_are_refused)
{
    expect_refusal("source: {memory: {x: {dtype: u8, data: [1, 256]}}}", "number 1|no u8|256");
    expect_refusal("source: {memory: {x: {dtype: u8, data: [-1]}}}", "number 0|no u8");
    expect_refusal("source: {memory: {x: {dtype: i8, data: [128]}}}", "no i8");
    expect_refusal("source: {memory: {x: {dtype: i64, data: [9223372036854775808]}}}", "no i64");
    expect_refusal("source: {memory: {x: {dtype: f32, data: [one]}}}", "no f32: one");
    expect_refusal("source: {memory: {x: {dtype: bool, data: [2]}}}", "no bool");
    expect_refusal("source: {memory: {x: {dtype: u9, data: [2]}}}", "`dtype`");
    expect_refusal("source: {memory: {x: {dtype: u8}}}", "needs `data`");
    expect_refusal("source: {memory: {x: {dtype: u8, shape: [2], data: [1, 2, 3]}}}",
                   "not a multiple");
    expect_refusal("source: {memory: {x: {dtype: u8, shape: [0], data: [1]}}}", "`shape`");
    expect_refusal("source: {memory: {}}", "no column");
}
