/*  Covers actors/plan/buckets.h: the memory of batches, by arithmetic. */
#include "tests/actors/bucket_options.h"

#include <criterion/new/assert.h>

Test(buckets, rows_of_a_bucket_are_shorter_than_its_bound)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_LONGEST);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    const uint64_t rows[] = {8, 4, 2}, longest[] = {9, 39, 100};
    for (uint32_t i = 0; i < 3; i++) {
        tnd_bucket_batch_layout_t layout = tnd_plan_bucket_layout(&options, &schema, i);
        cr_assert(eq(u64, layout.rows, rows[i]));
        cr_assert(eq(u64, layout.longest[0], longest[i]));
        cr_assert(eq(u64, layout.longest[2], 50));
        cr_assert(eq(u64, layout.ragged, longest[i] * 8 + 50));
    }
    cr_assert(eq(u64, tnd_plan_batch_size(&options), 8));
}

/*  Lists of two u64 per row, then the rows: each from a multiple of 64 bytes on. */
Test(buckets, memory_is_that_of_the_largest_bucket)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_LONGEST);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    const uint64_t bytes[] = {
        128 + 8 * 9 * 8 + 8 * 8 + 128 + 8 * 50,                /* no gaps */
        64 + 4 * 39 * 8 + 32 + 4 * 8 + 32 + 64 + 4 * 50,       /* 1312, 1376 */
        32 + 32 + 2 * 100 * 8 + 2 * 8 + 48 + 32 + 32 + 2 * 50, /* 64, 1680, 1760 */
    };
    for (uint32_t i = 0; i < 3; i++)
        cr_assert(eq(u64, tnd_plan_bucket_layout(&options, &schema, i).bytes, bytes[i]));
    cr_assert(eq(u64, tnd_plan_bucket_batch_bytes(&options, &schema), bytes[2]));
    cr_assert(eq(u32, tnd_plan_bucket_places(&options), 3 + 2));
}

/*  4 x (39 x 8 + 50) is more than 8 x (9 x 8 + 50) and 2 x (100 x 8 + 50). */
Test(buckets, slots_have_room_for_the_rows_of_any_bucket)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_LONGEST);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 3};
    cr_assert(eq(u64, tnd_plan_bucket_ragged(&options, &schema, 1), 2 * (100 * 8 + 50)));
    cr_assert(eq(u64, tnd_plan_bucket_ragged(&options, &schema, 3), 100 * 8 + 50));
    bucket_sizes[2] = 1;
    cr_assert(eq(u64, tnd_plan_bucket_ragged(&options, &schema, 1), 4 * (39 * 8 + 50)));
    cr_assert(eq(u64, tnd_plan_bucket_ragged(&options, &schema, 3), 100 * 8 + 50));
}

Test(buckets, numbers_are_padded_to_the_bound_and_strings_are_not)
{
    tnd_schema_t schema = bucket_schema();
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "pairs", TND_F32, 2, (uint64_t[]){60, 2}, &error) ==
              TND_OK);
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_BOUND);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    cr_assert(eq(u64, tnd_plan_bucket_bounded(&options, &schema), 1 + 8));
    tnd_bucket_batch_layout_t layout = tnd_plan_bucket_layout(&options, &schema, 1);
    cr_assert(eq(u64, layout.ragged, 39 * 8 + 50 + 39 * 2 * 4));
    layout = tnd_plan_bucket_layout(&options, &schema, 2); /* its rows are bad */
    cr_assert(eq(u64, layout.longest[0], 0));
    uint32_t column;
    cr_assert(tnd_plan_buckets_column(&bucket, &schema, &column, &error) == TND_OK);
    cr_assert(eq(u32, column, 0));
    schema.columns[3].shape[0] = 38;
    cr_assert(tnd_plan_buckets_column(&bucket, &schema, &column, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "`pairs`") != NULL, "%s", error.text);
}
