/*  Covers actors/expression/expression.h: values as Python and NumPy compute them, types, and the place
 *  of each mistake. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/expression/expression.h"

enum { ROWS = 1000 };

/*  Row r: i = r - 500 (i32), n = 2^63 - 1 (i64), f = r / 8 - 50 (f32), d = 0.1 * r (f64), b = r is odd,
 *  v = 10 r + 0, 1, 2 (u8, lower bits), t: the first r % 4 of v, ragged, u: u64. */
static int32_t ints[ROWS];
static int64_t tops[ROWS];
static float floats[ROWS];
static double doubles[ROWS];
static uint8_t odd[ROWS], vectors[ROWS][3];
static tnd_ragged_t ragged[ROWS];

static tnd_schema_t schema;
static tnd_tile_t tile;

static void add(const char *name, tnd_dtype_t dtype, uint32_t rank, void *base, size_t stride)
{
    tnd_error_t error;
    tile.columns[schema.count].base = base;
    tile.columns[schema.count].stride = stride;
    cr_assert_eq(tnd_schema_add(&schema, name, dtype, rank, (uint64_t[]){3}, &error), TND_OK);
}

static void make_rows(void)
{
    tnd_error_t error;
    for (int r = 0; r < ROWS; r++) {
        ints[r] = r - 500;
        tops[r] = INT64_MAX;
        floats[r] = (float)r / 8 - 50;
        doubles[r] = 0.1 * r;
        odd[r] = r % 2;
        for (int i = 0; i < 3; i++)
            vectors[r][i] = (uint8_t)(10 * r + i);
    }
    schema = (tnd_schema_t){0};
    tile = (tnd_tile_t){.rows = ROWS};
    add("i", TND_I32, 0, ints, sizeof ints[0]);
    add("n", TND_I64, 0, tops, sizeof tops[0]);
    add("f", TND_F32, 0, floats, sizeof floats[0]);
    add("d", TND_F64, 0, doubles, sizeof doubles[0]);
    add("b", TND_BOOL, 0, odd, 1);
    add("v", TND_U8, 1, vectors, 3);
    add("odd name", TND_I32, 0, ints, sizeof ints[0]);
    add("u", TND_U64, 0, tops, sizeof tops[0]);
    for (int r = 0; r < ROWS; r++)
        ragged[r] = (tnd_ragged_t){vectors[r], (uint64_t)r % 4};
    tile.columns[schema.count].ragged = ragged;
    cr_assert_eq(tnd_schema_add_ragged(&schema, "t", TND_U8, 1, (uint64_t[]){3}, &error), TND_OK);
}

TestSuite(expression, .init = make_rows);

/*  Computes a formula of this type; the caller frees the result. */
static void *computed(const char *text, tnd_dtype_t type)
{
    tnd_expression_t *expression;
    tnd_error_t error;
    cr_assert_eq(tnd_expression_new(&expression, text, &schema, &error), TND_OK, "%s: %s", text,
                 error.text);
    const tnd_column_t *result = tnd_expression_result(expression);
    cr_expect_eq(result->dtype, type, "%s", text);
    uint64_t elements = result->rank > 0 ? result->shape[0] : 1;
    void *out = malloc(ROWS * elements * 8);
    cr_assert_eq(tnd_expression_run(expression, &tile, type, out, &error), TND_OK, "%s: %s", text,
                 error.text);
    tnd_expression_free(&expression);
    return out;
}

#define EXPECT_EACH(text, type, dtype, expected)                                                   \
    do {                                                                                           \
        type *got = computed(text, dtype);                                                         \
        for (int r = 0; r < ROWS; r++)                                                             \
            cr_assert_eq(got[r], (type)(expected), "%s: row %d", text, r);                         \
        free(got);                                                                                 \
    } while (0)

Test(expression, integers_are_computed_as_i64_and_wrap_around)
{
    EXPECT_EACH("2 * i + 1", int64_t, TND_I64, 2 * (int64_t)ints[r] + 1);
    EXPECT_EACH("n + 1", int64_t, TND_I64, INT64_MIN);
    EXPECT_EACH("n * 2", int64_t, TND_I64, -2);
    EXPECT_EACH("-i - -3", int64_t, TND_I64, 3 - ints[r]);
    EXPECT_EACH("`odd name` * (i - 1) - i", int64_t, TND_I64,
                (int64_t)ints[r] * (ints[r] - 1) - ints[r]);
    EXPECT_EACH("7", int64_t, TND_I64, 7);
}

Test(expression, the_remainder_has_the_sign_of_the_divisor_as_in_python)
{
    EXPECT_EACH("i % 3", int64_t, TND_I64, (ints[r] % 3 + 3) % 3);
    EXPECT_EACH("i % -3", int64_t, TND_I64, (ints[r] % 3 - 3) % 3);
    EXPECT_EACH("(-n - 1) % -1", int64_t, TND_I64, 0);
    EXPECT_EACH("f % 3", float, TND_F32, floats[r] - 3 * floorf(floats[r] / 3));
    EXPECT_EACH("(-7) % 4 == 1 and 7 % -4 == -1", uint8_t, TND_BOOL, 1);
    EXPECT_EACH("(-5.5) % 2 == 0.5 and 5.5 % -2 == -0.5", uint8_t, TND_BOOL, 1);
}

Test(expression, floats_keep_their_type_and_numbers_take_it)
{
    EXPECT_EACH("f * 0.1", float, TND_F32, floats[r] * 0.1f);
    EXPECT_EACH("f + 1", float, TND_F32, floats[r] + 1);
    EXPECT_EACH("d * 0.1", double, TND_F64, doubles[r] * 0.1);
    EXPECT_EACH("f + d", double, TND_F64, (double)floats[r] + doubles[r]);
    EXPECT_EACH("i + f", double, TND_F64, ints[r] + (double)floats[r]);
    EXPECT_EACH("i * 0.5", double, TND_F64, ints[r] * 0.5);
    EXPECT_EACH("i / 2", double, TND_F64, ints[r] / 2.0);
    EXPECT_EACH("1e2 - .5", double, TND_F64, 99.5);
}

Test(expression, operators_bind_as_in_python)
{
    EXPECT_EACH("1 + 2 * 3 - 4 / 2", double, TND_F64, 5);
    EXPECT_EACH("2 - 3 - 4", int64_t, TND_I64, -5);
    EXPECT_EACH("i % 3 == 1 and f > 0.5", uint8_t, TND_BOOL,
                (ints[r] % 3 + 3) % 3 == 1 && floats[r] > 0.5f);
    EXPECT_EACH("not i < 0 and b or i == -500", uint8_t, TND_BOOL,
                (!(ints[r] < 0) && odd[r]) || ints[r] == -500);
    EXPECT_EACH("b == (i >= 0)", uint8_t, TND_BOOL, odd[r] == (ints[r] >= 0));
    EXPECT_EACH("b != true", uint8_t, TND_BOOL, !odd[r]);
    EXPECT_EACH("not not i <= -1", uint8_t, TND_BOOL, ints[r] <= -1);
}

Test(expression, columns_of_one_shape_are_computed_element_by_element)
{
    int64_t *got = computed("v + i", TND_I64);
    for (int k = 0; k < 3 * ROWS; k++)
        cr_assert_eq(got[k], vectors[k / 3][k % 3] + ints[k / 3], "element %d", k);
    free(got);
}

Test(expression, the_length_of_a_ragged_row_is_a_number)
{
    EXPECT_EACH("length(t)", int64_t, TND_I64, r % 4);
    EXPECT_EACH("length( `t` ) >= 2 and i > 0", uint8_t, TND_BOOL, r % 4 >= 2 && ints[r] > 0);
    int64_t *got = computed("v * 0 + length(t)", TND_I64);
    for (int k = 0; k < 3 * ROWS; k++)
        cr_assert_eq(got[k], k / 3 % 4);
    free(got);
}

Test(expression, a_ragged_row_is_computed_element_by_element)
{
    tnd_expression_t *expression;
    tnd_error_t error;
    tnd_room_t room = {0};
    cr_assert_eq(tnd_expression_new(&expression, "(t + i) * length(t) - d / t", &schema, &error),
                 TND_OK, "%s", error.text);
    const tnd_column_t *result = tnd_expression_result(expression);
    cr_assert(result->ragged && result->rank == 1 && result->shape[0] == 3);
    for (uint32_t r = 0; r < ROWS; r++) {
        tnd_ragged_t made;
        cr_assert_eq(tnd_expression_run_ragged(expression, &tile, r, TND_F64, &room, &made, &error),
                     TND_OK);
        cr_assert_eq(made.length, r % 4);
        for (uint32_t i = 0; i < r % 4; i++)
            cr_assert_eq(((const double *)made.data)[i],
                         (double)((vectors[r][i] + ints[r]) * (int64_t)(r % 4)) -
                             doubles[r] / vectors[r][i]);
    }
    tnd_room_clear(&room);
    tnd_room_fini(&room);
    tnd_expression_free(&expression);
}

Test(expression, a_remainder_by_zero_fails_and_a_quotient_is_infinite)
{
    tnd_expression_t *expression;
    tnd_error_t error;
    int64_t out[ROWS];
    cr_assert_eq(tnd_expression_new(&expression, "7 % i", &schema, &error), TND_OK);
    cr_expect_eq(tnd_expression_run(expression, &tile, TND_I64, out, &error), TND_FAILED);
    cr_expect_not_null(strstr(error.text, "division by 0"), "%s", error.text);
    tnd_expression_free(&expression);
    EXPECT_EACH("1 / (i - i)", double, TND_F64, INFINITY);
}

static void expect_refused(const char *text, size_t place, const char *why)
{
    tnd_expression_t *expression;
    tnd_error_t error = {.text = ""};
    cr_assert_eq(tnd_expression_new(&expression, text, &schema, &error), TND_FAILED, "%s", text);
    cr_expect_not_null(strstr(error.text, why), "%s: %s", text, error.text);
    cr_expect_eq((size_t)((const char *)error.about - text), place, "%s: %s, at %zu", text,
                 error.text, (size_t)((const char *)error.about - text));
}

Test(expression, a_mistake_is_named_with_its_place)
{
    expect_refused("2 * j", 4, "unknown column `j`; the columns here are: i i32");
    expect_refused("", 0, "the formula ends");
    expect_refused("2 * ", 4, "the formula ends");
    expect_refused("2 * * i", 4, "`*` is at a place");
    expect_refused("i and", 5, "the formula ends");
    expect_refused("1 + and", 4, "`and` is at a place");
    expect_refused("(i + 1", 0, "not closed");
    expect_refused("i + 1)", 5, "`)` is at a place");
    expect_refused("i = 1", 2, "write `==`");
    expect_refused("b && b", 2, "write `and`");
    expect_refused("b || b", 2, "write `or`");
    expect_refused("i < 1 < 2", 6, "a < b and b < c");
    expect_refused("i and b", 0, "`and` is for conditions, and this is a number");
    expect_refused("1 + (i < 2)", 7, "`+` is for numbers, and this is a condition");
    expect_refused("b < 1", 0, "`<` is for numbers");
    expect_refused("v + t", 4, "another shape");
    expect_refused("length(v) > 1", 0, "column `v` is not ragged: all its rows have one length");
    expect_refused("length(t + 1)", 0, "`length` is of one column");
    expect_refused("length(w)", 0, "unknown column `w`");
    expect_refused("u + 1", 0, "`cast` it");
    expect_refused("9223372036854775808", 0, "is not a number of type i64");
    expect_refused("1.5.2 + i", 0, "`1.5.2` is not a number");
    expect_refused("2x", 0, "`2x` is not a number");
    expect_refused("`odd", 0, "backquote");
}

Test(expression, deep_and_long_formulas_are_refused)
{
    char text[4096] = "";
    memset(text, '(', 1000);
    expect_refused(text, 32, "nested too deeply");
    memset(text, '-', 1000);
    expect_refused(text, 31, "nested too deeply");
    char *at = text;
    for (int i = 0; i < 300; i++)
        at += sprintf(at, "i + ");
    sprintf(at, "i");
    tnd_expression_t *expression;
    tnd_error_t error;
    cr_assert_eq(tnd_expression_new(&expression, text, &schema, &error), TND_FAILED);
    cr_expect_not_null(strstr(error.text, "more than 256 parts"), "%s", error.text);
}
