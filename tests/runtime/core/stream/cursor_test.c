/*  Covers runtime/core/stream/cursor.h: bytes laid out by hand, hostile bytes of every kind. */
#include "runtime/core/stream/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <criterion/criterion.h>

enum { TWO_LANES_BYTES = 16 + 16 * 8 + 2 * 24 + 8 };

/*  Number i of the cursor is i + 1, lane l is at (100 + l, 3, 7 + l), l batches ago. */
static void fill(tnd_cursor_t *cursor)
{
    tnd_cursor_start(cursor, 2);
    cursor->step = 2;
    cursor->step_of_epoch = 1;
    cursor->rank = 3;
    cursor->seed = 4;
    cursor->graph[0] = 5;
    cursor->graph[1] = 6;
    cursor->data = 7;
    cursor->digest[0] = 8;
    cursor->digest[1] = UINT64_C(0x0102030405060708);
    cursor->ledger = (tnd_ledger_t){10, 11, 12, 13, 14, 15, 16};
    cursor->epoch = 3;
    for (uint32_t lane = 0; lane < 2; lane++)
        cursor->part[lane] = (tnd_position_t){100 + lane, 3, 7 + lane}, cursor->since[lane] = lane;
}

Test(cursor, bytes_are_little_endian_numbers_in_the_order_of_the_struct_and_a_hash)
{
    tnd_cursor_t cursor;
    unsigned char bytes[TWO_LANES_BYTES + 1], expected[TWO_LANES_BYTES] = "TNDC\2\0\0\0\2\0\0\0\3";
    static const unsigned char numbers[16] = {2, 1,  3,  4,  5,  6,  7,  8,
                                              0, 10, 11, 12, 13, 14, 15, 16};
    for (int i = 0; i < 16; i++)
        expected[16 + 8 * i] = numbers[i];
    memcpy(expected + 16 + 8 * 8, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    for (int lane = 0; lane < 2; lane++) {
        expected[144 + 24 * lane] = (unsigned char)(100 + lane);
        expected[152 + 24 * lane] = 3;
        expected[156 + 24 * lane] = (unsigned char)(7 + lane);
        expected[160 + 24 * lane] = (unsigned char)lane;
    }
    uint64_t hash = XXH3_64bits(expected, TWO_LANES_BYTES - 8);
    for (int i = 0; i < 8; i++)
        expected[TWO_LANES_BYTES - 8 + i] = (unsigned char)(hash >> 8 * i);

    fill(&cursor);
    bytes[TWO_LANES_BYTES] = 0xee;
    cr_assert_eq(tnd_cursor_encode(&cursor, bytes, sizeof bytes), TWO_LANES_BYTES);

    cr_assert_eq(memcmp(bytes, expected, TWO_LANES_BYTES), 0);
    cr_assert_eq(bytes[TWO_LANES_BYTES], 0xee);
}

Test(cursor, a_written_cursor_is_read_back)
{
    tnd_cursor_t cursor, again;
    unsigned char bytes[TND_CURSOR_FIXED_BYTES + 24 * TND_LANES_MAX];
    for (uint32_t lanes = 1; lanes <= TND_LANES_MAX; lanes++) {
        tnd_cursor_start(&cursor, lanes);
        cursor.step = cursor.step_of_epoch = cursor.since[lanes - 1] = lanes;
        cursor.part[lanes - 1].index = UINT64_MAX;
        size_t size = tnd_cursor_encode(&cursor, bytes, sizeof bytes);
        cr_assert_leq(size, TND_CURSOR_FIXED_BYTES + 24 * lanes);
        cr_assert_eq(tnd_cursor_decode(&again, bytes, size, NULL), TND_OK);
        cr_assert_eq(memcmp(&cursor, &again, sizeof cursor), 0);
    }
}

Test(cursor, too_little_room_writes_nothing_and_says_how_much_is_needed)
{
    tnd_cursor_t cursor;
    unsigned char bytes[TWO_LANES_BYTES];
    memset(bytes, 0xee, sizeof bytes);

    fill(&cursor);
    cr_assert_eq(tnd_cursor_encode(&cursor, bytes, sizeof bytes - 1), TWO_LANES_BYTES);

    for (size_t i = 0; i < sizeof bytes; i++)
        cr_assert_eq(bytes[i], 0xee);
}

/*  Refused with a text, and nothing written. */
static bool is_refused(const unsigned char *bytes, size_t size, const char *word)
{
    tnd_cursor_t cursor, before;
    tnd_error_t error = {.text = ""};
    memset(&cursor, 0x5a, sizeof cursor);
    before = cursor;
    unsigned char *exact = malloc(size + !size); /* so that a sanitizer sees a read beyond it */
    memcpy(exact, bytes, size);
    tnd_status_t status = tnd_cursor_decode(&cursor, exact, size, &error);
    free(exact);
    return status == TND_FAILED && strstr(error.text, word) != NULL &&
           memcmp(&cursor, &before, sizeof cursor) == 0;
}

Test(cursor, every_truncation_and_every_flipped_bit_is_refused)
{
    tnd_cursor_t cursor;
    unsigned char bytes[TWO_LANES_BYTES + 8] = {0};
    fill(&cursor);
    size_t size = tnd_cursor_encode(&cursor, bytes, sizeof bytes);

    for (size_t cut = 0; cut < size; cut++)
        cr_assert(is_refused(bytes, cut, "cursor: "), "%zu bytes", cut);
    cr_assert(is_refused(bytes, size + 8, "damaged"));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        cr_assert(is_refused(bytes, size, "cursor: "), "bit %zu", bit);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void sign(unsigned char *bytes, size_t size)
{
    uint64_t hash = XXH3_64bits(bytes, size - 8);
    for (int i = 0; i < 8; i++)
        bytes[size - 8 + i] = (unsigned char)(hash >> 8 * i);
}

Test(cursor, invalid_contents_with_a_correct_hash_are_refused_by_name)
{
    tnd_cursor_t cursor;
    unsigned char bytes[TWO_LANES_BYTES];
    fill(&cursor);

    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    bytes[0] = 'X';
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "not a cursor"));

    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    bytes[4] = 9;
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "version 9"));
    cr_assert(is_refused(bytes, sizeof bytes, "or a later one"));

    bytes[4] = 1;
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes,
                         "version 1, which only development versions of "
                         "release 0.1.0 read"));

    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    bytes[165] = 1; /* 2^40 values of a row */
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "cannot have made so much of an epoch"));

    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    bytes[8] = 0;
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "0 lanes"));

    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    bytes[11] = 0xff;
    sign(bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "lanes"));

    cursor.step_of_epoch = cursor.step + 1;
    tnd_cursor_encode(&cursor, bytes, sizeof bytes);
    cr_assert(is_refused(bytes, sizeof bytes, "out of range"));
}
