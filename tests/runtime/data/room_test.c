/*  tests/runtime/data/room_test.c - memory for the ragged rows of a block. */
#include "runtime/data/room.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROWS = 50 };

/*  One column of rows of these lengths, each byte the number of its row; the room is cleared before
 *  they are read. */
static size_t make(tnd_room_t *room, const uint64_t *lengths, tnd_block_column_t *column)
{
    static uint64_t index[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        void *at = tnd_room_take(room, lengths[i], 1);
        cr_assert(tnd_room_owns(room, at) || lengths[i] == 0);
        memset(at, (int)i, lengths[i]);
        index[i] = (uintptr_t)at;
    }
    size_t copied = tnd_room_column(index, lengths, ROWS, 1, tnd_room_buffer(room), column);
    tnd_room_clear(room);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint64_t b = 0; b < lengths[i]; b++)
            cr_assert_eq(column->base[index[i] + b], i);
    return copied;
}

Test(room, blocks_of_usual_size_are_not_moved_and_follow_one_another)
{
    uint64_t lengths[ROWS];
    tnd_room_t room = {0};
    for (uint32_t i = 0; i < ROWS; i++)
        lengths[i] = 1000 + i % 3;
    for (uint32_t block = 0; block < 8; block++) {
        tnd_block_column_t column;
        size_t copied = make(&room, lengths, &column);
        cr_assert(block == 0 || copied == 0, "block %u", block);
        for (uint32_t i = 1; i < ROWS; i++)
            cr_assert_eq(column.index[i], column.index[i - 1] + lengths[i - 1]);
        tnd_buffer_drop(&column.buffer);
    }
    tnd_room_fini(&room);
}

Test(room, a_block_holds_less_than_twice_its_bytes_after_one_large_row)
{
    uint64_t lengths[ROWS] = {0};
    tnd_room_t room = {0};
    for (uint32_t block = 0; block < 100; block++) {
        tnd_block_column_t column;
        size_t bytes = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            bytes += lengths[i] = i == 7 && block % 50 == 5 ? 8 << 20 : i % 5 == 0 ? 0 : 300;
        (void)make(&room, lengths, &column);
        cr_assert_leq(tnd_buffer_size(column.buffer), 2 * bytes, "block %u", block);
        tnd_buffer_drop(&column.buffer);
    }
    tnd_room_fini(&room);
}

Test(room, a_block_of_empty_rows_has_a_buffer)
{
    uint64_t lengths[ROWS] = {0};
    tnd_room_t room = {0};
    tnd_block_column_t column;
    (void)make(&room, lengths, &column);
    cr_assert_not_null(column.buffer);
    tnd_buffer_drop(&column.buffer);
    tnd_room_fini(&room);
}
