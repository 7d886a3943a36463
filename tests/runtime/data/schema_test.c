/*  Covers runtime/data/schema.h: sizes, limits, comparison and text of a schema. */
#include "runtime/data/schema.h"

#include <string.h>

#include <criterion/criterion.h>

static const uint64_t picture[] = {28, 28};

static tnd_schema_t pictures(void)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert_eq(tnd_schema_add(&schema, "image", TND_U8, 2, picture, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&schema, "label", TND_I32, 0, NULL, &error), TND_OK);
    return schema;
}

Test(schema, a_row_is_as_large_as_its_columns)
{
    tnd_schema_t schema = pictures();

    cr_assert_eq(tnd_column_elements(&schema.columns[0]), 784);
    cr_assert_eq(tnd_column_bytes(&schema.columns[0]), 784);
    cr_assert_eq(tnd_column_elements(&schema.columns[1]), 1);
    cr_assert_eq(tnd_schema_row_bytes(&schema), 788);
}

Test(schema, a_column_is_found_by_its_name)
{
    tnd_schema_t schema = pictures();

    cr_assert_eq(tnd_schema_find(&schema, "label"), 1);
    cr_assert_eq(tnd_schema_find(&schema, "labe"), -1);
}

Test(schema, what_does_not_fit_is_refused_and_changes_nothing)
{
    static const uint64_t zero[] = {3, 0}, huge[] = {1 << 20, 1 << 20}, wrap[] = {1ull << 63, 2, 2};
    static const uint64_t deep[TND_RANK_MAX + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    char long_name[TND_COLUMN_NAME_MAX + 1];
    memset(long_name, 'x', TND_COLUMN_NAME_MAX);
    long_name[TND_COLUMN_NAME_MAX] = '\0';
    const struct {
        const char *name;
        uint32_t rank;
        const uint64_t *shape;
        const char *text;
    } cases[] = {
        {"", 0, NULL, "needs a name"},
        {"label", 0, NULL, "two columns called `label`"},
        {long_name, 0, NULL, "64 characters; 63 are possible"},
        {"x", TND_RANK_MAX + 1, deep, "9 dimensions"},
        {"x", 2, zero, "empty"},
        {"x", 2, huge, "2^40"},
        {"x", 3, wrap, "2^40"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_schema_t schema = pictures(), before = schema;
        tnd_error_t error;

        cr_assert_eq(
            tnd_schema_add(&schema, cases[i].name, TND_U8, cases[i].rank, cases[i].shape, &error),
            TND_FAILED, "case %zu", i);

        cr_assert_not_null(strstr(error.text, cases[i].text), "%s", error.text);
        cr_assert_eq(memcmp(&schema, &before, sizeof schema), 0);
    }
}

Test(schema, a_column_too_many_is_refused)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    char name[] = "0";
    for (; name[0] < '0' + TND_COLUMNS_MAX; name[0]++)
        cr_assert_eq(tnd_schema_add(&schema, name, TND_F64, 0, NULL, &error), TND_OK);

    cr_assert_eq(tnd_schema_add(&schema, name, TND_F64, 0, NULL, &error), TND_FAILED);

    cr_assert_eq(schema.count, TND_COLUMNS_MAX);
    cr_assert_not_null(strstr(error.text, "one too many"));
}

Test(schema, equal_schemas_have_equal_hashes_and_others_do_not)
{
    tnd_schema_t one = pictures(), two = pictures();
    tnd_error_t error;
    cr_assert_eq(tnd_schema_hash(&one), tnd_schema_hash(&two));
    cr_assert_eq(tnd_schema_compare(&one, &two, &error), TND_OK);
    tnd_schema_t none = {0};
    cr_assert_neq(tnd_schema_hash(&none), 0);

    two.columns[0].shape[1] = 27;
    cr_assert_neq(tnd_schema_hash(&one), tnd_schema_hash(&two));
    two = pictures();
    two.columns[1].dtype = TND_U32;
    cr_assert_neq(tnd_schema_hash(&one), tnd_schema_hash(&two));
    two = pictures();
    strcpy(two.columns[1].name, "Label");
    cr_assert_neq(tnd_schema_hash(&one), tnd_schema_hash(&two));
    two = pictures();
    two.count = 1;
    cr_assert_neq(tnd_schema_hash(&one), tnd_schema_hash(&two));
}

Test(schema, a_difference_is_named_by_its_column)
{
    tnd_schema_t one = pictures(), two = pictures();
    tnd_error_t error;

    two.columns[0].dtype = TND_F32;
    cr_assert_eq(tnd_schema_compare(&one, &two, &error), TND_FAILED);
    cr_assert_str_eq(error.text, "column 0 is `image u8[28,28]` on one side and `image f32[28,28]` "
                                 "on the other");

    two = pictures();
    two.count = 1;
    cr_assert_eq(tnd_schema_compare(&one, &two, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "column `label` is on one only"));
}

Test(schema, columns_of_other_names_are_other_columns)
{
    tnd_schema_t one = {0}, other = {0};
    tnd_error_t error;
    cr_assert_eq(tnd_schema_add(&one, "image", TND_F32, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&other, "label", TND_F32, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_compare(&one, &one, &error), TND_OK);
    cr_assert_neq(tnd_schema_compare(&one, &other, &error), TND_OK);
    cr_assert_not_null(strstr(error.text, "label"), "%s", error.text);
}

Test(schema, text_is_cut_where_the_room_ends)
{
    tnd_schema_t schema = pictures();
    char text[128];

    cr_assert_str_eq(tnd_schema_text(&schema, text, sizeof text), "image u8[28,28], label i32");
    cr_assert_str_eq(tnd_schema_text(&schema, text, 10), "image u8[");
    cr_assert_str_eq(tnd_schema_text(&schema, text, 1), "");
}

Test(schema, a_ragged_column_is_as_large_as_its_longest_row_and_another_than_a_fixed_one)
{
    static const uint64_t shape[] = {100, 3};
    tnd_schema_t ragged = {0}, fixed = {0};
    tnd_error_t error;
    char text[64];
    cr_assert_eq(tnd_schema_add_ragged(&ragged, "x", TND_F32, 2, shape, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&fixed, "x", TND_F32, 2, shape, &error), TND_OK);

    cr_assert_eq(tnd_schema_row_bytes(&ragged), 1200);
    cr_assert_eq(tnd_column_unit(&ragged.columns[0]), 12);
    cr_assert_eq(tnd_schema_ragged(&ragged), 1);
    cr_assert_eq(tnd_schema_ragged(&fixed), 0);
    cr_assert_neq(tnd_schema_hash(&ragged), tnd_schema_hash(&fixed));
    cr_assert_eq(tnd_schema_compare(&ragged, &fixed, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "`x f32[<=100,3]` on one side and `x f32[100,3]`"), "%s",
                       error.text);
    cr_assert_eq(tnd_schema_add_like(&fixed, "y", &ragged.columns[0], &error), TND_OK);
    cr_assert_str_eq(tnd_schema_text(&fixed, text, sizeof text), "x f32[100,3], y f32[<=100,3]");
    cr_assert_eq(tnd_schema_add_ragged(&ragged, "z", TND_U8, 0, NULL, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "no axis"), "%s", error.text);
}
