/*  Covers actors/batcher/packed_batches.h: values of rows, copied to packed rows and numbered there. */
#include "actors/batcher/packed_batches.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { LENGTH = 4, SIZE = 2, ROWS = 3 };

typedef struct {
    tnd_schema_t joined, packed;
    tnd_batcher_options_t options;
    tnd_pack_options_t pack;
    tnd_block_pool_t *pool;
    tnd_packed_batches_t *batches;
    tnd_block_t *block;
} world_t;

/*  Rows of two i16 per value: 1 value, 6 values, 3 values, which are numbered from 1 on. */
static void open_world(world_t *world, bool segments)
{
    static const uint64_t lengths[ROWS] = {1, 6, 3}, index[ROWS] = {0, 4, 28};
    tnd_error_t error;
    *world = (world_t){.pack = {.column = "x", .length = LENGTH, .segments = segments},
                       .pool = tnd_block_pool_new()};
    world->options = (tnd_batcher_options_t){.size = SIZE, .pack = &world->pack};
    cr_assert(tnd_schema_add_ragged(&world->joined, "x", TND_I16, 2, (uint64_t[]){9, 2}, &error) ==
              TND_OK);
    cr_assert(tnd_plan_pack_schema(&world->pack, &world->joined, &world->packed, &error) == TND_OK);
    world->batches =
        tnd_packed_batches_new(&world->options, &world->joined, &world->packed, world->pool);
    tnd_buffer_t *buffer = tnd_buffer_new(40);
    for (int16_t i = 0; i < 20; i++)
        ((int16_t *)tnd_buffer_data(buffer))[i] = i / 2 + 1;
    tnd_buffer_seal(buffer);
    world->block = tnd_block_pool_take(world->pool, &world->joined);
    world->block->columns[0] = (tnd_block_column_t){.base = tnd_buffer_data(buffer),
                                                    .stride = 1,
                                                    .index = index,
                                                    .buffer = buffer,
                                                    .lengths = lengths};
    world->block->note.rows = world->block->note.count = ROWS;
    tnd_block_seal(world->block);
}

static void close_world(world_t *world)
{
    tnd_block_drop(&world->block);
    tnd_packed_batches_destroy(&world->batches);
    tnd_block_pool_destroy(&world->pool);
}

static void store(world_t *world, uint32_t place, uint32_t at, tnd_packed_part_t part)
{
    tnd_error_t error;
    size_t bytes;
    cr_assert(tnd_packed_batches_store(world->batches, place, at, world->block, &part, &bytes,
                                       &error) == TND_OK);
    cr_assert(eq(sz, bytes, part.values * (world->pack.segments ? 12 : 4)));
}

static void expect_values(const tnd_block_t *batch, const int16_t *values, uint32_t rows)
{
    cr_assert(eq(u32, batch->note.rows, rows));
    for (uint32_t i = 0; i < rows * LENGTH; i++) {
        const int16_t *row = tnd_block_row(batch, 0, i / LENGTH);
        cr_assert(eq(i16, row[2 * (i % LENGTH)], values[i]));
        cr_assert(eq(i16, row[2 * (i % LENGTH) + 1], values[i]));
    }
}

static void expect_numbers(const tnd_block_t *batch, uint32_t column, const int32_t *numbers)
{
    for (uint32_t i = 0; i < SIZE * LENGTH; i++)
        cr_assert(eq(i32, ((const int32_t *)tnd_block_row(batch, column, i / LENGTH))[i % LENGTH],
                     numbers[i]));
}

Test(packed_batches, number_the_documents_of_each_row_and_their_values)
{
    static world_t world;
    open_world(&world, true);
    cr_assert(eq(str, world.packed.columns[1 + TND_PACK_SEGMENTS].name, (char *)"x_segment_ids"));
    cr_assert(eq(str, world.packed.columns[1 + TND_PACK_POSITIONS].name, (char *)"x_positions"));
    store(&world, 1, 0, (tnd_packed_part_t){.row = 0, .segment = 1, .values = 1});
    store(&world, 1, 1, (tnd_packed_part_t){.row = 1, .segment = 2, .values = 6});
    store(&world, 1, 7, (tnd_packed_part_t){.row = 2, .segment = 2, .values = 1});
    const tnd_block_t *batch = tnd_packed_batches_block(world.batches, 1);
    expect_values(batch, (int16_t[]){1, 2, 3, 4, 5, 6, 7, 8}, 2);
    expect_numbers(batch, 1 + TND_PACK_SEGMENTS, (int32_t[]){1, 2, 2, 2, 1, 1, 1, 2});
    expect_numbers(batch, 1 + TND_PACK_POSITIONS, (int32_t[]){0, 0, 1, 2, 3, 4, 5, 0});
    store(&world, 0, 0, (tnd_packed_part_t){.row = 2, .segment = 1, .from = 1, .values = 2});
    batch = tnd_packed_batches_block(world.batches, 0);
    expect_values(batch, (int16_t[]){9, 10, 0, 0}, 1);
    cr_assert(eq(i32, ((const int32_t *)tnd_block_row(batch, 1 + TND_PACK_POSITIONS, 0))[1], 2));
    cr_assert(eq(i32, ((const int32_t *)tnd_block_row(batch, 1 + TND_PACK_SEGMENTS, 0))[2], 0));
    close_world(&world);
}

/*  Adds the column `w`, of one i64 per value, whose rows have `lengths`. */
static void add_column(world_t *world, const uint64_t lengths[ROWS])
{
    static const uint64_t index[ROWS] = {0, 8, 56};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&world->joined, "w", TND_I64, 1, (uint64_t[]){9}, &error) ==
              TND_OK);
    cr_assert(tnd_plan_pack_schema(&world->pack, &world->joined, &world->packed, &error) == TND_OK);
    tnd_packed_batches_destroy(&world->batches);
    world->batches =
        tnd_packed_batches_new(&world->options, &world->joined, &world->packed, world->pool);
    tnd_buffer_t *buffer = tnd_buffer_new(80);
    for (int64_t i = 0; i < 10; i++)
        ((int64_t *)tnd_buffer_data(buffer))[i] = -i - 1;
    tnd_buffer_seal(buffer);
    world->block->column_count = 2;
    world->block->columns[1] = (tnd_block_column_t){.base = tnd_buffer_data(buffer),
                                                    .stride = 1,
                                                    .index = index,
                                                    .buffer = buffer,
                                                    .lengths = lengths};
}

Test(packed_batches, have_columns_side_by_side)
{
    static world_t world;
    tnd_error_t error;
    size_t bytes;
    const tnd_packed_part_t parts[] = {{.row = 1, .segment = 1, .from = 1, .values = 5},
                                       {.row = 0, .segment = 2, .values = 0},
                                       {.row = 2, .segment = 2, .values = 2}};
    open_world(&world, true);
    add_column(&world, (uint64_t[]){1, 6, 3});
    for (uint32_t i = 0, at = 0; i < 3; at += (uint32_t)parts[i++].values) {
        cr_assert(tnd_packed_batches_check(world.batches, world.block, parts[i].row, &error) ==
                  TND_OK);
        cr_assert(tnd_packed_batches_store(world.batches, 0, at, world.block, &parts[i], &bytes,
                                           &error) == TND_OK);
        cr_assert(eq(sz, bytes, parts[i].values * (4 + 8 + 4 + 4)));
    }
    const tnd_block_t *batch = tnd_packed_batches_block(world.batches, 0);
    expect_values(batch, (int16_t[]){3, 4, 5, 6, 7, 8, 9, 0}, 2);
    for (int64_t i = 0; i < 8; i++)
        cr_assert(eq(i64,
                     ((const int64_t *)tnd_block_row(batch, 1, (uint32_t)i / LENGTH))[i % LENGTH],
                     i < 7 ? -i - 3 : 0));
    expect_numbers(batch, 2 + TND_PACK_SEGMENTS, (int32_t[]){1, 1, 1, 1, 1, 2, 2, 0});
    expect_numbers(batch, 2 + TND_PACK_POSITIONS, (int32_t[]){1, 2, 3, 4, 5, 0, 1, 0});
    close_world(&world);
}

Test(packed_batches, name_columns_of_other_lengths)
{
    static world_t world;
    tnd_error_t error;
    open_world(&world, false);
    add_column(&world, (uint64_t[]){1, 5, 3});
    cr_assert(tnd_packed_batches_check(world.batches, world.block, 0, &error) == TND_OK);
    cr_assert(tnd_packed_batches_check(world.batches, world.block, 1, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "6 values in `x` and 5 in `w`") != NULL, "%s", error.text);
    close_world(&world);
}

Test(packed_batches, survive_in_the_slices_that_were_cut_from_them)
{
    static world_t world;
    open_world(&world, false);
    store(&world, 0, 0, (tnd_packed_part_t){.row = 1, .segment = 1, .values = 6});
    tnd_block_t *batch = tnd_block_hold(tnd_packed_batches_block(world.batches, 0));
    store(&world, 0, 0, (tnd_packed_part_t){.row = 2, .segment = 1, .values = 3});
    expect_values(batch, (int16_t[]){2, 3, 4, 5, 6, 7, 0, 0}, 2);
    close_world(&world);
    tnd_block_drop(&batch);
}
