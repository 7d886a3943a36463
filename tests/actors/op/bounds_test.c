/*  Covers values at the bounds of operations: the greatest number of a type, pictures that are nearly of
 *  one colour, NaN. */
#include <math.h>

#include "actors/image/color.h"
#include "tests/actors/op/chain_fixture.h"

/*  What an operation makes of numbers; NULL: it refuses one. */
static tnd_block_t *made_of(run_t *run, const char *ops, tnd_dtype_t dtype, const void *in,
                            uint32_t rows, tnd_error_t *error)
{
    static tnd_schema_t schema;
    tnd_block_t *out = NULL;
    schema = schema_of(dtype, 0, NULL);
    cr_assert_eq(open_chain(run, ops, false, &schema, error), TND_OK, "%s", error->text);
    tnd_block_t *block = numbers(run->block_pool, &schema, in, rows);
    tnd_status_t status =
        tnd_chain_run(run->chain, &plain_key, block, run->block_pool, run->pool, &out, error);
    tnd_block_drop(&block);
    cr_assert_eq(status == TND_OK, out != NULL);
    return out;
}

static const uint64_t greatest[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 7};

/*  -1 and 2^64 - 1 have the same bits. */
Test(lookup, the_greatest_numbers_are_no_negative_ones)
{
    static const char ops[] =
        "{lookup: {column: x, map: {'-1': 10, '-9223372036854775808': 20, '7': 30, "
        "'9223372036854775807': 40}, to: u8, missing: 99}}";
    static const uint8_t unsigned_ones[] = {99, 40, 99, 30}, signed_ones[] = {10, 40, 20, 30};
    run_t run;
    tnd_error_t error = {.text = ""};
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const uint8_t *wanted = is_signed ? signed_ones : unsigned_ones;
        tnd_block_t *out = made_of(&run, ops, is_signed ? TND_I64 : TND_U64, greatest, 4, &error);
        cr_assert_not_null(out, "%s", error.text);
        for (uint32_t row = 0; row < 4; row++)
            cr_expect_eq(*(const uint8_t *)tnd_block_row(out, 0, row), wanted[row], "row %u", row);
        tnd_block_drop(&out);
        close_chain(&run);
    }
}

Test(lookup, the_greatest_number_is_not_in_a_list_and_is_reported_as_it_is)
{
    static const char *const kinds[] = {"values: [1, 2]", "map: {'-1': 1, '0': 2}"};
    static const struct {
        tnd_dtype_t dtype;
        uint64_t number;
        const char *text;
    } cases[] = {{TND_U64, UINT64_MAX, "has 18446744073709551615,"},
                 {TND_U32, UINT32_MAX, "has 4294967295,"},
                 {TND_I64, (uint64_t)INT64_MIN, "has -9223372036854775808,"}};
    char ops[128];
    for (size_t i = 0; i < 6; i++) {
        run_t run;
        tnd_error_t error = {.text = ""};
        snprintf(ops, sizeof ops, "{lookup: {column: x, %s}}", kinds[i % 2]);
        tnd_block_t *out = made_of(&run, ops, cases[i / 2].dtype, &cases[i / 2].number, 1, &error);
        cr_expect_null(out);
        cr_expect_not_null(strstr(error.text, cases[i / 2].text), "%s", error.text);
        close_chain(&run);
    }
}

/*  tf.clip_by_value and numpy.clip keep NaN. */
Test(clip, halves_that_are_no_numbers_stay)
{
    static const uint16_t in[] = {0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x3c00, 0x0000};
    static const uint16_t wanted[] = {0x7e00, 0xfe00, 0x4000, 0x3800, 0x3c00, 0x3800};
    run_t run;
    tnd_error_t error = {.text = ""};
    tnd_block_t *out =
        made_of(&run, "{clip: {column: x, min: 0.5, max: 2}}", TND_F16, in, 6, &error);
    cr_assert_not_null(out, "%s", error.text);
    for (uint32_t row = 0; row < 6; row++)
        cr_expect_eq(*(const uint16_t *)tnd_block_row(out, 0, row), wanted[row], "row %u", row);
    tnd_block_drop(&out);
    close_chain(&run);
}

/*  tf.image.per_image_standardization: (x - mean) / max(stddev, 1 / sqrt(count)). */
static void check_standardized(uint32_t count, const float *in, float mean, float divisor)
{
    float out[64];
    uint8_t bytes[64];
    for (int floats = 0; floats < 2; floats++) {
        for (uint32_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)in[i];
        const tnd_pixels_t picture = {.data = floats ? (void *)(uintptr_t)in : bytes,
                                      .height = 1,
                                      .width = count,
                                      .channels = 1,
                                      .floats = floats};
        tnd_color_standardize(&picture, out);
        for (uint32_t i = 0; i < count; i++)
            cr_expect(fabsf(out[i] - (in[i] - mean) / divisor) < 1e-6f, "%u numbers, %u: %g", count,
                      i, (double)out[i]);
    }
}

Test(standardize, pictures_that_are_nearly_of_one_colour)
{
    /* One of n numbers is greater by 1, so the deviation is sqrt(n - 1) / n, and 1 / sqrt(n) above it. */
    static const float of_two[2] = {7, 8}, of_four[4] = {7, 7, 8, 7}, same[4] = {9, 9, 9, 9};
    float of_many[64] = {[40] = 1};
    check_standardized(2, of_two, 7.5f, 1 / sqrtf(2));
    check_standardized(4, of_four, 7.25f, 0.5f);
    check_standardized(64, of_many, 1 / 64.0f, 0.125f);
    check_standardized(4, same, 9, 0.5f);
    /* Two of four: the deviation is 1, which is more. */
    static const float halves[4] = {0, 2, 2, 0};
    check_standardized(4, halves, 1, 1);
}

/*  The bytes of numpy.array(value, dtype); what is beyond a type is refused. */
Test(constant, each_row_has_the_number_in_its_type)
{
    static const struct {
        const char *value, *dtype;
        uint64_t bits;
        const char *refused;
    } cases[] = {
        {"255", "u8", 255, NULL},
        {"256", "u8", 0, "256 of `value` does not fit column `one`, which is u8"},
        {"-128", "i8", 0x80, NULL},
        {"-129", "i8", 0, "-129 of `value` does not fit column `one`, which is i8"},
        {"18446744073709551615", "u64", UINT64_MAX, NULL},
        {"18446744073709551616", "u64", 0, "is not an integer, and column `one` is u64"},
        {"-1", "i64", UINT64_MAX, NULL},
        {"1", "bool", 1, NULL},
        {"2", "bool", 0, "2 of `value` does not fit column `one`, which is bool"},
        {"0.1", "f32", 0x3dcccccd, NULL},
        {"0.1", "f64", UINT64_C(0x3fb999999999999a), NULL},
        {"65504", "f16", 0x7bff, NULL},
        {"65520", "f16", 0, "65520 of `value` is too large for column `one`, which is f16"},
        {"-1.5", "bf16", 0xbfc0, NULL},
        {"1.5", "i32", 0, "`1.5` of `value` is not an integer, and column `one` is i32"},
        {"cat", "f32", 0, "`cat` of `value` is not a number"},
        {"1", "text", 0, "type `text` does not exist"},
    };
    static const uint8_t in[] = {3, 1, 4};
    tnd_schema_t schema = schema_of(TND_U8, 0, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char ops[128];
        run_t run;
        tnd_error_t error = {.text = ""};
        snprintf(ops, sizeof ops, "{constant: {into: one, value: %s, dtype: %s}}", cases[i].value,
                 cases[i].dtype);
        if (cases[i].refused != NULL) {
            cr_expect_eq(open_chain(&run, ops, false, &schema, &error), TND_FAILED, "%s", ops);
            cr_expect_not_null(strstr(error.text, cases[i].refused), "%s", error.text);
            close_chain(&run);
            continue;
        }
        tnd_block_t *out = made_of(&run, ops, TND_U8, in, 3, &error);
        cr_assert_not_null(out, "%s", error.text);
        cr_expect_str_eq(tnd_dtype_name(out->schema->columns[1].dtype), cases[i].dtype);
        for (uint32_t row = 0; row < 3; row++) {
            uint64_t bits = 0;
            memcpy(&bits, tnd_block_row(out, 1, row),
                   tnd_dtype_size(out->schema->columns[1].dtype));
            cr_expect_eq(bits, cases[i].bits, "%s: row %u", ops, row);
            cr_expect_eq(*(const uint8_t *)tnd_block_row(out, 0, row), in[row]);
        }
        tnd_block_drop(&out);
        close_chain(&run);
    }
}
