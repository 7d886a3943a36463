/*  Covers actors/batcher/declared_batches.h: what others learn of batches from the options of a batcher. */
#include "actors/batcher/declared_batches.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/*  A ragged column of at most 100 elements of 8 bytes, and an index. */
static void begin(tnd_stream_t *stream)
{
    tnd_error_t error;
    memset(stream, 0, sizeof *stream);
    stream->fed.rows_max = 1;
    cr_assert(tnd_schema_add_ragged(&stream->fed.schema, "x", TND_I64, 1, (uint64_t[]){100},
                                    &error) == TND_OK);
    cr_assert(tnd_schema_add(&stream->fed.schema, "i", TND_I64, 0, NULL, &error) == TND_OK);
}

static tnd_batcher_options_t plain(void)
{
    return (tnd_batcher_options_t){
        .size = 8, .replicas = 2, .take = UINT64_MAX, .pad_value = "7", .split = 0};
}

static void declare(const tnd_batcher_options_t *options, tnd_stream_t *stream)
{
    tnd_error_t error;
    begin(stream);
    cr_assert(tnd_batches_declare(options, 2, stream, &error) == TND_OK, "%s", error.text);
}

Test(declared_batches, batches_refer_to_blocks_by_default)
{
    static tnd_stream_t stream;
    tnd_batcher_options_t options = plain();
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.size, 8));
    cr_assert(eq(u64, stream.batch.copied, 0));
    cr_assert(eq(u64, stream.batch.positions, 0));
    cr_assert(eq(u64, stream.batch.ragged, 0));
    cr_assert(eq(u64, stream.batch.pads[0], 7));
    cr_assert(eq(u64, stream.batch.bounded, 0));
    cr_assert(eq(u32, stream.measured, 0));
    cr_assert(eq(u32, stream.joined.schema.count, 2));
    cr_assert(not(stream.batch.packs || stream.batch.pads_least));
}

Test(declared_batches, counts_the_positions_of_limited_batches)
{
    static tnd_stream_t stream;
    tnd_batcher_options_t options = plain();
    options.skip = 2;
    options.take = 3;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.positions, (2 + 3) * 8));
    options.take = UINT64_MAX / 2; /* more than a number holds */
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.positions, 0));
}

Test(declared_batches, bounds_the_rows_of_buckets)
{
    static tnd_stream_t stream;
    double bounds[] = {11, 51}, sizes[] = {8, 4, 2};
    tnd_bucket_options_t bucket = {.column = "x",
                                   .bounds = {bounds, 2},
                                   .sizes = {sizes, 3},
                                   .pad = TND_BUCKET_PAD_BOUND,
                                   .value = "3"};
    tnd_batcher_options_t options = plain();
    options.size = 0;
    options.bucket = &bucket;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.size, 8));
    cr_assert(eq(u64, stream.batch.pads[0], 3));
    cr_assert(eq(u64, stream.batch.bounded, 1));
    cr_assert(eq(u32, stream.batch.deciding, 0));
    cr_assert(eq(u32, stream.batch.bound_count, 2));
    cr_assert(eq(u64, stream.batch.bounds[1], 51));
    cr_assert(eq(u64, stream.batch.ragged, 4 * 50 * 8)); /* 8 * 10 and 2 * 0 are less */
    cr_assert(eq(u64, stream.batch.ragged_part, 2 * 50 * 8));
    cr_assert(stream.batch.copied > stream.batch.ragged && stream.batch.pads_least);
    options.bytes = 1000;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.ragged, 1000));
    cr_assert(eq(u64, stream.batch.ragged_part, 800));
}

Test(declared_batches, gives_replicas_parts_or_whole_batches)
{
    static tnd_stream_t stream;
    double bounds[] = {11, 51}, sizes[] = {8, 4, 2};
    tnd_bucket_options_t bucket = {
        .column = "x", .bounds = {bounds, 2}, .sizes = {sizes, 3}, .value = "0"};
    tnd_batcher_options_t options = plain();
    options.size = 9;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.share, 5));
    cr_assert(not(stream.batch.dealt));
    options.deal = TND_DEAL_WHOLE;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.share, 9));
    cr_assert(stream.batch.dealt);
    cr_assert(eq(u32, stream.batch.replicas, 2));
    options.size = 0;
    options.bucket = &bucket;
    declare(&options, &stream);
    cr_assert(eq(u64, stream.batch.share, 8));
    cr_assert(eq(u64, stream.batch.ragged_part, stream.batch.ragged));
}

Test(declared_batches, names_only_the_options_that_drop_rows)
{
    static tnd_stream_t stream;
    tnd_pack_options_t pack = {.column = "x", .length = 128, .drop_remainder = true};
    tnd_batcher_options_t options = plain();
    declare(&options, &stream);
    cr_assert(eq(str, stream.batch.drops, (char *)""));
    options.skip = 2;
    options.remainder = TND_REMAINDER_DROP;
    declare(&options, &stream);
    cr_assert(eq(str, stream.batch.drops, (char *)"`remainder: drop`, `skip`"));
    options.pack = &pack;
    tnd_error_t error;
    memset(&stream, 0, sizeof stream);
    cr_assert(tnd_schema_add_ragged(&stream.fed.schema, "x", TND_I64, 1, (uint64_t[]){100},
                                    &error) == TND_OK);
    cr_assert(tnd_batches_declare(&options, 2, &stream, &error) == TND_OK);
    cr_assert(eq(str, stream.batch.drops,
                 (char *)"`remainder: drop`, `drop_remainder: true` of `pack`, `skip`"));
    cr_assert(stream.joined.schema.columns[0].ragged);
    cr_assert(not(stream.fed.schema.columns[0].ragged));
}

Test(declared_batches, refuses_a_number_that_does_not_pad)
{
    static tnd_stream_t stream;
    tnd_error_t error;
    tnd_batcher_options_t options = plain();
    options.pad_value = "1.5";
    begin(&stream);
    cr_assert(tnd_batches_declare(&options, 2, &stream, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "pad_value") != NULL, "%s", error.text);
}
