/*  Covers the operations on pictures of one shape in actors/op/image: rows are those of TensorFlow
 *  (tests/oracle/image.txt), shapes and types are those that are declared, and what does not fit is
 *  refused. */
#include "tests/actors/image/oracle.h"
#include "tests/actors/op/chain_fixture.h"

/*  Puts the array of a case through operations and compares. */
static void check(const oracle_case_t *one, const char *ops)
{
    const tnd_pixels_t *in = &one->input->pixels;
    const uint64_t shape[] = {in->height, in->width, in->channels};
    tnd_schema_t schema = schema_of(in->floats ? TND_F32 : TND_U8, 3, shape);
    run_t run;
    tnd_error_t error;
    cr_assert_eq(open_chain(&run, ops, false, &schema, &error), TND_OK, "%s", error.text);
    tnd_block_t *block = numbers(run.block_pool, &schema, in->data, 1), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error), TND_OK,
        "%s", error.text);
    const tnd_column_t *column = &out->schema->columns[0];
    cr_assert_eq(column->rank, 3u);
    tnd_pixels_t made = {(void *)(uintptr_t)tnd_block_row(out, 0, 0), (uint32_t)column->shape[0],
                         (uint32_t)column->shape[1], (uint32_t)column->shape[2],
                         column->dtype == TND_F32};
    oracle_compare(one, &made, 2e-5, 1);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
}

/*  The name of TensorFlow's function is the first word of a case. */
static void check_any(const oracle_case_t *one)
{
    static const struct {
        const char *name, *ops;
    } kinds[] = {
        {"flip_left_right", "{flip: {column: x}}"},
        {"flip_up_down", "{flip: {column: x, axis: vertical}}"},
        {"transpose", "{transpose: {column: x, axes: [1, 0, 2]}}"},
        {"convert_image_dtype", "{scale: {column: x, range: [0, 1]}}"},
        {"rot90", "{rot90: {column: x, times: %s}}"},
        {"rgb_to_grayscale", "{grayscale: {column: x}}"},
        {"grayscale_to_rgb", "{rgb: {column: x}}"},
        {"per_image_standardization", "{standardize: {column: x}}"},
        {"adjust_brightness", "{brightness: {column: x, value: %s}}"},
        {"adjust_contrast", "{contrast: {column: x, value: %s}}"},
        {"adjust_saturation", "{saturation: {column: x, value: %s}}"},
        {"adjust_hue", "{hue: {column: x, value: %s}}"},
        {"adjust_gamma", "{gamma: {column: x, value: %s}}"},
    };
    char ops[256];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *hole = strstr(kinds[i].ops, "%s");
        if (strcmp(kinds[i].name, one->words[0]) != 0)
            continue;
        int before = hole != NULL ? (int)(hole - kinds[i].ops) : (int)strlen(kinds[i].ops);
        snprintf(ops, sizeof ops, "%.*s%s%s", before, kinds[i].ops,
                 hole != NULL ? one->words[2] : "", hole != NULL ? hole + 2 : "");
        check(one, ops);
    }
}

Test(pictures, rows_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("flip_left_right", check_any), 1u);
    cr_expect_eq(oracle_each("flip_up_down", check_any), 1u);
    cr_expect_eq(oracle_each("transpose", check_any), 1u);
    cr_expect_eq(oracle_each("convert_image_dtype", check_any), 1u);
    cr_expect_eq(oracle_each("rot90", check_any), 3u);
    cr_expect_eq(oracle_each("grayscale_to_rgb", check_any), 1u);
    cr_expect_eq(oracle_each("rgb_to_grayscale", check_any), 2u);
    cr_expect_eq(oracle_each("per_image_standardization", check_any), 5u);
    cr_expect_eq(oracle_each("adjust_brightness", check_any), 6u);
    cr_expect_eq(oracle_each("adjust_contrast", check_any), 4u);
    cr_expect_eq(oracle_each("adjust_saturation", check_any), 2u);
    cr_expect_eq(oracle_each("adjust_hue", check_any), 1u);
    cr_expect_eq(oracle_each("adjust_gamma", check_any), 2u);
}

static void check_resize(const oracle_case_t *one)
{
    char ops[256];
    const char *method = strcmp(one->words[4], "mitchellcubic") == 0 ? "mitchell" : one->words[4];
    snprintf(ops, sizeof ops,
             "{resize: {column: x, size: [%s, %s], method: %s, antialias: %s, keep_aspect: %s}}",
             one->words[2], one->words[3], method, *one->words[5] == '1' ? "true" : "false",
             *one->words[6] == '1' ? "true" : "false");
    check(one, ops);
}

Test(pictures, sizes_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("resize", check_resize), 81u);
}

Test(pictures, what_does_not_fit_is_refused)
{
    static const struct {
        const char *ops, *why;
    } cases[] = {
        {"{hue: {column: x, value: 0.1}}",
         "column `x` has 4 channels, and this is for pictures of 3"},
        {"{rgb: {column: x}}", "this is for pictures of 1"},
        {"{resize: {column: x, size: [1, 2, 3]}}", "at most 2"},
        {"{cast: {column: x, to: i32}}, {gamma: {column: x, value: 2}}", "`cast` makes"},
        {"{random_contrast: {column: x, low: 2, high: 1}}", "`low` is 2, more than `high`, 1"},
        {"{decode_image: {column: x, then: [{resize: {size: 4}}]}}", "has no files"},
    };
    static const uint64_t shape[] = {5, 5, 4};
    tnd_schema_t schema = schema_of(TND_U8, 3, shape);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_t run;
        tnd_error_t error;
        cr_assert_eq(open_chain(&run, cases[i].ops, false, &schema, &error), TND_FAILED, "%s",
                     cases[i].ops);
        cr_assert_not_null(strstr(error.text, cases[i].why), "%s", error.text);
        close_chain(&run);
    }
}
