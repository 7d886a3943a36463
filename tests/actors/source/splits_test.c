/*  Covers actors/stored/splits.h and the ragged columns of columns.h: the rows that the splits
 *  give, mapped and read, from one file and several; invalid splits are refused with their place.
 */
#include "tests/actors/source/opened.h"

static char folder[64], text[512];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-splits-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void drop_folder(void)
{
    remove_folder(folder);
}

TestSuite(splits, .init = make_folder, .fini = drop_folder);

/*  A file of numpy.save, in its version 1.0. */
static void save(const char *name, const char *descr, const char *shape, const void *data,
                 size_t bytes)
{
    char path[128], header[119];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    memset(header, ' ', sizeof header);
    int used = snprintf(header, sizeof header,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    header[used] = ' ';
    header[sizeof header - 1] = '\n';
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, 118, file);
    fwrite(data, 1, bytes, file);
    cr_assert_eq(fclose(file), 0);
}

static const char *source(const char *values, const char *splits, const char *more)
{
    snprintf(text, sizeof text,
             "source: {npy: {x: {values: \"%s/%s.npy\", splits: \"%s/%s.npy\"%s}}}", folder, values,
             folder, splits, more);
    return text;
}

static const uint16_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static void save_usual(void)
{
    save("v", "<u2", "(10,)", values, sizeof values);
    save("s", "<i8", "(6,)", (int64_t[]){0, 3, 3, 8, 9, 10}, 48);
}

Test(splits, rows_are_those_values_mapped_and_read)
{
    static const uint64_t index[] = {2, 1, 0, 4, 2};
    static const uint16_t expected[] = {3, 4, 5, 6, 7, 0, 1, 2, 9, 3, 4, 5, 6, 7};
    save_usual();
    for (tnd_access_t access = TND_ACCESS_MAP; access <= TND_ACCESS_READ; access++) {
        opened_t opened;
        tnd_error_t error;
        uint16_t got[14];
        tnd_source_scope_t scope = {.lanes = 1, .access = access};
        cr_assert_eq(open_scope(&opened, source("v", "s", ""), scope, &error), TND_OK, "%s",
                     error.text);
        const tnd_column_t *column = &opened.facts.schema.columns[0];
        cr_assert_eq(opened.facts.count, 5);
        cr_assert(column->ragged && column->rank == 1 && column->shape[0] == 5);

        tnd_block_t *block = read_rows(&opened, index, 5, &error);

        cr_assert_not_null(block, "%s", error.text);
        cr_assert_arr_eq(block->columns[0].lengths, ((uint64_t[]){5, 0, 3, 1, 5}), 40);
        cr_assert_eq(tnd_block_copy(block, 0, 0, 5, got), sizeof expected);
        cr_assert_arr_eq(got, expected, sizeof expected);
        cr_assert_eq(tnd_buffer_kind(block->columns[0].buffer) == TND_BUFFER_MAPPED,
                     access == TND_ACCESS_MAP);
        tnd_source_place_t place;
        opened.source->where(opened.state, 3, &place);
        cr_assert_eq(place.record, 3);
        cr_assert_eq(place.offset, 128 + 8 * sizeof(uint16_t));
        close_source(&opened);
        cr_assert_eq(*(const uint16_t *)tnd_block_row(block, 0, 3), 9, "a block outlives it");
        tnd_block_drop(&block);
    }
}

/*  Rows that follow each other are read together: 300 rows of 0, 1 and 2 values, and one of the first
 *  after them. */
Test(splits, of_both_widths_divide_many_rows_in_a_row)
{
    enum { ROWS = 300, VALUES = 300 };
    uint16_t all[VALUES], got[VALUES + 2];
    int64_t wide[ROWS + 1] = {0};
    int32_t narrow[ROWS + 1] = {0};
    uint64_t index[ROWS + 1], lengths[ROWS + 1];
    for (int i = 0; i <= ROWS; i++) {
        index[i] = i < ROWS ? (uint64_t)i : 2;
        lengths[i] = index[i] % 3;
        if (i < ROWS)
            narrow[i + 1] = (int32_t)(wide[i + 1] = wide[i] + i % 3);
    }
    for (int i = 0; i < VALUES; i++)
        all[i] = (uint16_t)(7 * i);
    save("v", "<u2", "(300,)", all, sizeof all);
    save("i8", "<i8", "(301,)", wide, sizeof wide);
    save("i4", "<i4", "(301,)", narrow, sizeof narrow);
    for (int k = 0; k < 4; k++) {
        opened_t opened;
        tnd_error_t error;
        tnd_source_scope_t scope = {.lanes = 1,
                                    .access = k % 2 == 0 ? TND_ACCESS_MAP : TND_ACCESS_READ};
        cr_assert_eq(open_scope(&opened, source("v", k < 2 ? "i8" : "i4", ""), scope, &error),
                     TND_OK, "%s", error.text);

        tnd_block_t *block = read_rows(&opened, index, ROWS + 1, &error);

        cr_assert_not_null(block, "%s", error.text);
        cr_assert_arr_eq(block->columns[0].lengths, lengths, sizeof lengths);
        cr_assert_eq(tnd_block_copy(block, 0, 0, ROWS + 1, got), sizeof got);
        cr_assert_arr_eq(got, all, sizeof all);
        cr_assert_arr_eq(got + VALUES, all + 1, 2 * sizeof *all);
        tnd_block_drop(&block);
        close_source(&opened);
    }
}

Test(splits, files_of_values_each_have_their_own_and_rows_their_own_shape)
{
    static const uint64_t index[] = {3, 0, 2};
    opened_t opened;
    tnd_error_t error;
    float got[8];
    save("v0", "<f4", "(3, 2)", (float[]){0, 1, 2, 3, 4, 5}, 24);
    save("v1", "<f4", "(2, 2)", (float[]){6, 7, 8, 9}, 16);
    save("s0", "<i4", "(3,)", (int32_t[]){0, 1, 3}, 12);
    save("s1", "<u4", "(3,)", (uint32_t[]){0, 0, 2}, 12);

    cr_assert_eq(open_source(&opened, source("v[0-1]", "s*", ""), &error), TND_OK, "%s",
                 error.text);
    cr_assert_eq(opened.facts.count, 4);
    cr_assert_eq(opened.facts.schema.columns[0].rank, 2);
    tnd_block_t *block = read_rows(&opened, index, 3, &error);
    cr_assert_not_null(block, "%s", error.text);
    cr_assert_eq(tnd_block_copy(block, 0, 0, 3, got), 24);
    cr_assert_arr_eq(got, ((float[]){6, 7, 8, 9, 0, 1}), 24);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(splits, the_bytes_of_rows_are_known_before_they_are_read)
{
    static const uint64_t index[] = {2, 1, 0, 4};
    static const uint64_t expected[] = {10, 0, 6, 2};
    uint64_t bytes[4];
    opened_t opened;
    tnd_error_t error;
    save_usual();
    cr_assert_eq(open_source(&opened, source("v", "s", ""), &error), TND_OK, "%s", error.text);
    cr_assert_eq(opened.source->sizes(opened.state, index, 4, bytes, &error), TND_OK);
    cr_assert_arr_eq(bytes, expected, sizeof expected);
    close_source(&opened);
}

Test(splits, other_splits_of_the_same_values_are_other_data)
{
    opened_t opened;
    tnd_error_t error;
    uint64_t identity[2];
    save_usual();
    save("t", "<i8", "(6,)", (int64_t[]){0, 2, 3, 8, 9, 10}, 48);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(open_source(&opened, source("v", i == 0 ? "s" : "t", ""), &error), TND_OK);
        identity[i] = opened.facts.identity;
        close_source(&opened);
    }
    cr_assert_neq(identity[0], identity[1]);
}

Test(splits, rows_longer_than_max_are_refused_by_name)
{
    static const uint64_t good[] = {0, 1, 3}, bad[] = {0, 2};
    opened_t opened;
    tnd_error_t error;
    save_usual();
    cr_assert_eq(open_source(&opened, source("v", "s", ", max: 3"), &error), TND_OK);
    cr_assert_eq(opened.facts.schema.columns[0].shape[0], 3);
    tnd_block_t *block = read_rows(&opened, good, 3, &error);
    cr_assert_not_null(block);
    tnd_block_drop(&block);

    block = read_rows(&opened, bad, 2, &error);

    cr_assert_null(block);
    cr_assert_not_null(strstr(error.text, "column `x` has length 5, above `max: 3`"), "%s",
                       error.text);
    close_source(&opened);
}

Test(splits, invalid_splits_are_refused_with_their_place)
{
    static const struct {
        const char *descr, *shape;
        int64_t numbers[4];
        const char *words;
    } cases[] = {
        {"<i8", "(4,)", {0, 3, 2, 10}, "/b.npy|number 2, at byte 144, is 2, less than the 3"},
        {"<i8", "(4,)", {0, -3, 2, 10}, "/b.npy|number 1, at byte 136, is -3, below 0"},
        {"<i8", "(4,)", {1, 3, 4, 10}, "begins with 1"},
        {"<i8", "(4,)", {0, 3, 4, 9}, "last number is 9|v.npy has 10 values|belong together"},
        {"<f8", "(4,)", {0, 0, 0, 0}, "is not a list of splits"},
        {"<i8", "(2, 2)", {0, 3, 4, 10}, "is not a list of splits"},
        {"<i8", "(1,)", {10}, "begins with 10"},
    };
    save_usual();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool one = strcmp(cases[i].shape, "(1,)") == 0;
        save("b", cases[i].descr, cases[i].shape, cases[i].numbers, one ? 8 : 32);
        expect_refusal(source("v", "b", ""), cases[i].words);
    }
    save("e", "<i8", "(3,)", (int64_t[]){0, 3, 10}, 24);
    snprintf(text, sizeof text,
             "source: {npy: {y: \"%s/s.npy\", x: {values: \"%s/v.npy\", splits: \"%s/e.npy\"}}}",
             folder, folder, folder);
    expect_refusal(text, "v.npy has 2 rows|s.npy has 6");
    snprintf(text, sizeof text,
             "source: {npy: {x: {values: \"%s/v.npy\", splits: [\"%s/s.npy\", \"%s/e.npy\"]}}}",
             folder, folder, folder);
    expect_refusal(text, "1 files of values, but 2 of splits");
}

Test(splits, that_change_while_they_are_used_are_an_error)
{
    static const uint64_t index[] = {2};
    opened_t opened;
    tnd_error_t error;
    char path[128];
    save_usual();
    cr_assert_eq(open_source(&opened, source("v", "s", ""), &error), TND_OK);
    snprintf(path, sizeof path, "%s/s.npy", folder);
    FILE *file = fopen(path, "r+");
    fseek(file, 128 + 3 * 8, SEEK_SET);
    fwrite((int64_t[]){1 << 20}, 8, 1, file);
    fclose(file);

    cr_assert_null(read_rows(&opened, index, 1, &error));

    cr_assert_not_null(strstr(error.text, "row 2, at byte 144"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "do not write to data"), "%s", error.text);
    close_source(&opened);
}
