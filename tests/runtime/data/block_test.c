/*  Covers runtime/data/block.h: both forms give the same rows, copies are exact for rows of every
 *  size, and blocks and slices give back what they hold. */
#include "runtime/core/protocol/effect.h"
#include "runtime/data/block.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static tnd_schema_t schema_of(size_t row_bytes)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    uint64_t shape[] = {row_bytes};
    cr_assert_eq(tnd_schema_add(&schema, "x", TND_U8, 1, shape, &error), TND_OK);
    return schema;
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static tnd_block_t *packed(tnd_block_pool_t *block_pool, const tnd_schema_t *schema, uint8_t *data,
                           uint32_t rows, size_t stride, int *released)
{
    tnd_block_t *block = tnd_block_pool_take(block_pool, schema);
    block->note.rows = rows;
    block->columns[0] = (tnd_block_column_t){
        .base = data,
        .stride = stride,
        .buffer = tnd_buffer_wrap(TND_BUFFER_MAPPED, data, rows * stride, count_release, released)};
    return block;
}

Test(block, a_gathered_block_shows_the_rows_of_its_index)
{
    static const uint64_t order[] = {3, 0, 3, 2};
    uint8_t data[] = {0, 1, 10, 11, 20, 21, 30, 31}, rows[8];
    int released = 0;
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_schema_t schema = schema_of(2);
    tnd_block_t *block = packed(block_pool, &schema, data, 4, 2, &released);
    block->index = tnd_buffer_new(sizeof order);
    memcpy(tnd_buffer_data(block->index), order, sizeof order);
    tnd_buffer_seal(block->index);
    block->columns[0].index = tnd_buffer_data(block->index);
    cr_assert_not(tnd_block_sealed(block));
    tnd_block_seal(block);
    cr_assert(tnd_block_sealed(block));

    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 1), 0);
    cr_assert_eq(tnd_block_copy(block, 0, 0, 4, rows), 8);

    cr_assert_arr_eq(rows, ((uint8_t[]){30, 31, 0, 1, 30, 31, 20, 21}), 8);
    tnd_block_drop(&block);
    cr_assert_null(block);
    cr_assert_eq(released, 1);
    tnd_block_pool_destroy(&block_pool);
}

Test(block, rows_of_every_size_are_copied_exactly_in_every_form)
{
    static const size_t sizes[] = {1,  2,   3,    4,    5,    7,    8,    9,    16,   63,    64,
                                   65, 784, 1023, 1024, 1025, 2047, 3072, 3073, 4096, 100000};
    enum { ROWS = 40, MOST = 100001 };
    uint8_t *data = malloc((size_t)ROWS * MOST), *target = malloc((size_t)ROWS * MOST);
    for (size_t i = 0; i < (size_t)ROWS * MOST; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int gathered = 0; gathered < 2; gathered++)
            for (size_t gap = 0; gap < 2; gap++) {
                int released = 0;
                size_t stride = sizes[s] + gap;
                tnd_schema_t schema = schema_of(sizes[s]);
                tnd_block_t *block = packed(block_pool, &schema, data, ROWS, stride, &released);
                uint64_t index[ROWS];
                for (uint64_t i = 0; i < ROWS; i++)
                    index[i] = gathered ? (i * 17 + 5) % ROWS : i;
                if (gathered)
                    block->columns[0].index = index;
                tnd_block_seal(block);

                memset(target, 0xee, (size_t)ROWS * MOST);
                size_t bytes = tnd_block_copy(block, 0, 3, ROWS - 4, target);

                cr_assert_eq(bytes, (ROWS - 4) * sizes[s]);
                for (size_t i = 0; i < ROWS - 4; i++)
                    cr_assert_eq(
                        memcmp(target + i * sizes[s], data + index[i + 3] * stride, sizes[s]), 0,
                        "row %zu of %zu bytes", i, sizes[s]);
                cr_assert_eq(target[bytes], 0xee, "nothing is written after the rows");
                tnd_block_drop(&block);
                cr_assert_eq(released, 1);
            }
    tnd_block_pool_destroy(&block_pool);
    free(data);
    free(target);
}

Test(block, a_pool_reuses_returned_blocks_which_are_empty)
{
    uint8_t data[4];
    int released = 0;
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_schema_t schema = schema_of(1);
    tnd_block_t *block = packed(block_pool, &schema, data, 4, 1, &released), *first = block;
    block->note.first = 77;
    tnd_block_seal(block);
    tnd_block_t *second = tnd_block_hold(block);
    tnd_block_drop(&block);
    cr_assert_eq(released, 0);
    tnd_block_drop(&second);
    cr_assert_eq(released, 1);

    block = tnd_block_pool_take(block_pool, &schema);

    cr_assert_eq(block, first);
    cr_assert_eq(block->note.first, 0);
    cr_assert_null(block->columns[0].buffer);
    cr_assert_not(tnd_block_sealed(block));
    tnd_block_pool_destroy(&block_pool);
    tnd_block_drop(&block);
}

Test(slice, holds_its_blocks_until_it_is_dropped)
{
    enum { PIECES = 20 };
    uint8_t data[4];
    int released = 0;
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_schema_t schema = schema_of(1);
    tnd_block_t *block = packed(block_pool, &schema, data, 4, 1, &released);
    tnd_block_seal(block);
    tnd_piece_t pieces[PIECES];
    for (uint32_t i = 0; i < PIECES; i++)
        pieces[i] = (tnd_piece_t){.payload = block, .first = i % 4, .rows = 1};
    tnd_slice_note_t note = {.step = 9, .rows = PIECES};

    tnd_slice_t *slice = tnd_block_pool_slice(block_pool, &schema, &note, pieces, PIECES),
                *first = slice;
    tnd_block_drop(&block);

    cr_assert(tnd_slice_sealed(slice));
    cr_assert_eq(slice->note.step, 9);
    cr_assert_eq(slice->piece_count, PIECES);
    cr_assert_eq(slice->pieces[19].first, 3);
    cr_assert_eq(slice->schema, &schema);
    cr_assert_eq(released, 0);
    tnd_slice_drop(&slice);
    cr_assert_eq(released, 1);
    slice = tnd_block_pool_slice(block_pool, &schema, &note, NULL, 0);
    cr_assert_neq(slice, first, "a small slice does not use up a large one");
    tnd_slice_drop(&slice);
    tnd_block_pool_destroy(&block_pool);
}

/*  Rows of 0 to 4 steps of two bytes, as all forms hold them. */
Test(block, ragged_rows_are_as_long_as_they_say_in_every_form)
{
    static const uint64_t packed_lengths[] = {2, 0, 4, 1}, order[] = {4, 0, 12, 4},
                          order_lengths[] = {1, 2, 0, 4};
    static const uint64_t shape[] = {4, 2};
    uint8_t data[32], got[32];
    for (uint8_t i = 0; i < sizeof data; i++)
        data[i] = i;
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert_eq(tnd_schema_add_ragged(&schema, "x", TND_U8, 2, shape, &error), TND_OK);
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    int released = 0;

    tnd_block_t *block = packed(block_pool, &schema, data, 4, 8, &released);
    block->columns[0].lengths = packed_lengths;
    cr_assert_eq(tnd_block_bytes(block), 14);
    cr_assert_eq(tnd_block_row_bytes(block, 0, 2), 8);
    cr_assert_eq(tnd_block_rows_bytes(block, 0, 1, 2), 8);
    cr_assert_null(tnd_block_run(block, 0, 0, 4));
    cr_assert_eq(tnd_block_run(block, 0, 2, 2), data + 16, "a full row and the next one");
    cr_assert_eq(tnd_block_copy(block, 0, 0, 4, got), 14);
    cr_assert_arr_eq(got, ((uint8_t[]){0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}), 14);
    tnd_block_seal(block);
    tnd_block_drop(&block);

    block = packed(block_pool, &schema, data, 4, 1, &released);
    block->columns[0].index = order;
    block->columns[0].lengths = order_lengths;
    cr_assert_eq(tnd_block_copy(block, 0, 0, 4, got), 14);
    cr_assert_arr_eq(got, ((uint8_t[]){4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 14);
    cr_assert_null(tnd_block_run(block, 0, 0, 4));
    tnd_block_seal(block);
    tnd_block_drop(&block);
    cr_assert_eq(released, 2);
    tnd_block_pool_destroy(&block_pool);
}
