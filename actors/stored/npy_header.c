/*  actors/stored/npy_header.c - the header of a .npy file, version 1.0. */
#include "actors/stored/npy_header.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bounds.h"

/*  The magic, the version and the length of the text. */
enum { MAGIC_BYTES = 10 };

static const char *descr_of(tnd_dtype_t dtype)
{
    /* NumPy has no bf16: the bits. */
    static const char *const descrs[TND_DTYPE_COUNT] = {
        [TND_U8] = "|u1",   [TND_I8] = "|i1",  [TND_U16] = "<u2", [TND_I16] = "<i2",
        [TND_U32] = "<u4",  [TND_I32] = "<i4", [TND_U64] = "<u8", [TND_I64] = "<i8",
        [TND_BF16] = "<u2", [TND_F16] = "<f2", [TND_F32] = "<f4", [TND_F64] = "<f8",
        [TND_BOOL] = "|b1",
    };
    return descrs[dtype];
}

size_t tnd_npy_header(char head[TND_NPY_HEADER_MAX], const tnd_column_t *column, uint64_t rows,
                      size_t least)
{
    char text[TND_NPY_HEADER_MAX];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",",
                                   descr_of(column->dtype), rows);
    for (uint32_t d = column->ragged ? 1 : 0, first = d; d < column->rank; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64,
                                 d > first ? ", " : " ", column->shape[d]);
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    size_t whole = tnd_round_up(MAGIC_BYTES + used + 1, 64);
    whole = whole > least ? whole : least;
    assert(whole <= TND_NPY_HEADER_MAX && whole % 64 == 0);
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)((whole - MAGIC_BYTES) & 0xff);
    head[9] = (char)((whole - MAGIC_BYTES) >> 8);
    memset(head + MAGIC_BYTES, ' ', whole - MAGIC_BYTES);
    memcpy(head + MAGIC_BYTES, text, used);
    head[whole - 1] = '\n';
    return whole;
}
