/*  Covers actors/plan/packing.h: what cannot be packed, with the reason, and the columns of packed
 *  rows. */
#include "actors/plan/packing.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static tnd_pack_options_t pack_options(void)
{
    return (tnd_pack_options_t){.column = "x", .length = 128, .segments = true};
}

static tnd_batcher_options_t batcher_options(const tnd_pack_options_t *pack)
{
    return (tnd_batcher_options_t){.size = 8, .pack = pack, .pad_value = "0", .replicas = 1};
}

static void expect_refused(const tnd_batcher_options_t *options, uint32_t lanes, const char *word)
{
    tnd_error_t error;
    cr_assert(tnd_plan_pack_check(options, lanes, &error) == TND_FAILED);
    cr_assert(strstr(error.text, word) != NULL, "%s: %s", word, error.text);
}

Test(packing, names_each_option_that_does_not_fit)
{
    tnd_pack_options_t pack = pack_options();
    tnd_bucket_options_t bucket = {.column = "x"};
    tnd_error_t error;
    tnd_batcher_options_t options = batcher_options(&pack);
    cr_assert(tnd_plan_pack_check(&options, 1, &error) == TND_OK);
    expect_refused(&options, 2, "the graph has 2 lanes");
    options.bytes = 4096;
    expect_refused(&options, 1, "`bytes` is for ragged rows");
    options.pad_value = "7";
    expect_refused(&options, 1, "`pad_value`");
    options.ragged = TND_RAGGED_PACK;
    expect_refused(&options, 1, "`ragged: pack`");
    options.bucket = &bucket;
    expect_refused(&options, 1, "`bucket`");
    options = batcher_options(&pack);
    pack.length = INT32_MAX / 8;
    cr_assert(tnd_plan_pack_check(&options, 1, &error) == TND_OK);
    pack.length++;
    expect_refused(&options, 1, "smaller `size` or `length`");
}

Test(packing, makes_columns_of_fixed_shape)
{
    tnd_pack_options_t pack = pack_options();
    tnd_schema_t joined = {0}, packed = {0};
    tnd_error_t error;
    char text[256];
    cr_assert(tnd_schema_add_ragged(&joined, "x", TND_U16, 2, (uint64_t[]){100, 3}, &error) ==
              TND_OK);
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_OK);
    cr_assert(strcmp(tnd_schema_text(&packed, text, sizeof text),
                     "x u16[128,3], x_segment_ids i32[128], x_positions i32[128]") == 0);
    tnd_batcher_options_t options = batcher_options(&pack);
    cr_assert(eq(u64, tnd_plan_pack_layout(&options, &packed).bytes, 8 * 128 * (6 + 4 + 4)));
    pack.segments = false;
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_OK);
    cr_assert(eq(u32, packed.count, 1));
    pack.column = "y";
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "`y`, which does not exist") != NULL, "%s", error.text);
    cr_assert(tnd_schema_add(&joined, "y", TND_I64, 0, NULL, &error) == TND_OK);
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "whose rows all have one length") != NULL, "%s", error.text);
    pack.column = "x";
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "column `y` has one entry per document") != NULL, "%s",
              error.text);
}

Test(packing, lays_ragged_columns_side_by_side)
{
    tnd_pack_options_t pack = pack_options();
    tnd_schema_t joined = {0}, packed = {0};
    tnd_error_t error;
    char text[256];
    cr_assert(tnd_schema_add_ragged(&joined, "w", TND_F32, 2, (uint64_t[]){90, 2}, &error) ==
              TND_OK);
    cr_assert(tnd_schema_add_ragged(&joined, "x", TND_U16, 1, (uint64_t[]){100}, &error) == TND_OK);
    cr_assert(tnd_plan_pack_schema(&pack, &joined, &packed, &error) == TND_OK);
    cr_assert(strcmp(tnd_schema_text(&packed, text, sizeof text),
                     "w f32[128,2], x u16[128], x_segment_ids i32[128], x_positions i32[128]") == 0,
              "%s", text);
    tnd_batcher_options_t options = batcher_options(&pack);
    cr_assert(eq(u64, tnd_plan_pack_layout(&options, &packed).bytes, 8 * 128 * (8 + 2 + 4 + 4)));
}
