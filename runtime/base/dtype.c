/*  runtime/base/dtype.c - the type of one element of a column.  */
#include "runtime/base/dtype.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    bool is_float;
    bool is_signed;
} dtypes[TND_DTYPE_COUNT] = {
    [TND_U8] = {"u8", 1, false, false},     [TND_I8] = {"i8", 1, false, true},
    [TND_U16] = {"u16", 2, false, false},   [TND_I16] = {"i16", 2, false, true},
    [TND_U32] = {"u32", 4, false, false},   [TND_I32] = {"i32", 4, false, true},
    [TND_U64] = {"u64", 8, false, false},   [TND_I64] = {"i64", 8, false, true},
    [TND_F16] = {"f16", 2, true, true},     [TND_BF16] = {"bf16", 2, true, true},
    [TND_F32] = {"f32", 4, true, true},     [TND_F64] = {"f64", 8, true, true},
    [TND_BOOL] = {"bool", 1, false, false},
};

static size_t index_of(tnd_dtype_t dtype)
{
    assert((int)dtype >= 0 && (int)dtype < TND_DTYPE_COUNT);
    return (size_t)dtype;
}

size_t tnd_dtype_size(tnd_dtype_t dtype)
{
    return dtypes[index_of(dtype)].size;
}

const char *tnd_dtype_name(tnd_dtype_t dtype)
{
    return dtypes[index_of(dtype)].name;
}

bool tnd_dtype_parse(const char *name, tnd_dtype_t *dtype_p)
{
    for (int i = 0; i < TND_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype_p = (tnd_dtype_t)i;
            return true;
        }
    return false;
}

bool tnd_dtype_is_float(tnd_dtype_t dtype)
{
    return dtypes[index_of(dtype)].is_float;
}

bool tnd_dtype_is_signed(tnd_dtype_t dtype)
{
    return dtypes[index_of(dtype)].is_signed;
}
