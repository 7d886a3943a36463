/*  Covers actors/stored/npy_header.h: headers equal those of numpy.save (NumPy 1.24). */
#include "actors/stored/npy_header.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/*  The head is the text, padded to `bytes`. */
static void expect(const tnd_column_t *column, uint64_t rows, size_t least, const char *text,
                   size_t bytes)
{
    char head[TND_NPY_HEADER_MAX], wanted[TND_NPY_HEADER_MAX];
    memset(wanted, ' ', sizeof wanted);
    memcpy(wanted, "\x93NUMPY\x01\x00", 8);
    wanted[8] = (char)((bytes - 10) & 0xff);
    wanted[9] = (char)((bytes - 10) >> 8);
    memcpy(wanted + 10, text, strlen(text));
    wanted[bytes - 1] = '\n';

    cr_assert(eq(sz, tnd_npy_header(head, column, rows, least), bytes), "%s", text);
    cr_assert(eq(int, memcmp(head, wanted, bytes), 0), "%.*s", (int)bytes - 10, head + 10);
}

Test(npy_head, is_the_one_that_numpy_writes)
{
    tnd_column_t number = {.dtype = TND_I64};
    tnd_column_t picture = {.dtype = TND_U8, .rank = 2, .shape = {28, 28}};
    tnd_column_t line = {.dtype = TND_F32, .rank = 1, .shape = {3}};

    expect(&number, 7, 0, "{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }", 128);
    expect(&line, 10, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }", 128);
    expect(&picture, 60000, 0,
           "{'descr': '|u1', 'fortran_order': False, 'shape': (60000, 28, 28), }", 128);
}

Test(npy_head, of_ragged_rows_is_that_of_their_concatenation)
{
    tnd_column_t words = {.dtype = TND_I32, .rank = 1, .shape = {512}, .ragged = true};
    tnd_column_t sound = {.dtype = TND_F32, .rank = 2, .shape = {900, 2}, .ragged = true};

    expect(&words, 1234, 0, "{'descr': '<i4', 'fortran_order': False, 'shape': (1234,), }", 128);
    expect(&sound, 70, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (70, 2), }", 128);
}

Test(npy_head, leaves_room_for_more_rows_where_that_is_asked)
{
    tnd_column_t number = {.dtype = TND_BOOL};

    expect(&number, 1, 320, "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 320);
    expect(&number, UINT64_MAX, 320,
           "{'descr': '|b1', 'fortran_order': False, 'shape': (18446744073709551615,), }", 320);
}

Test(npy_head, has_the_bits_of_a_type_that_numpy_lacks)
{
    tnd_column_t brain = {.dtype = TND_BF16};

    expect(&brain, 2, 0, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", 128);
}
