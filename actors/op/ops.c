/*  actors/op/ops.c - what operations do with columns, options and rows. */
#include "actors/op/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "runtime/core/numeric/numeric.h"
#include "runtime/text/quantity.h"

tnd_status_t tnd_op_find_any(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                             tnd_error_t *error)
{
    char text[256];
    int index = tnd_schema_find(in, column);
    *index_p = (uint32_t)index;
    if (index >= 0)
        return TND_OK;
    tnd_nearest_t nearest = {.word = column};
    for (uint32_t i = 0; i < in->count; i++)
        tnd_nearest_offer(&nearest, in->columns[i].name);
    return tnd_fail(error, "unknown column `%s`; the columns here are: %s%s%s%s", column,
                    tnd_schema_text(in, text, sizeof text),
                    nearest.best != NULL ? "; did you mean `" : "",
                    nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "`?" : "");
}

tnd_status_t tnd_op_find(const tnd_schema_t *in, const char *column, uint32_t *index_p,
                         tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, column, index_p, error));
    const tnd_column_t *found = &in->columns[*index_p];
    if (!found->ragged)
        return TND_OK;
    return tnd_fail(error,
                    "column `%s` is ragged, its rows have lengths from 0 to %llu; before this, "
                    "`pad_ragged: {column: %s, to: %llu}` makes them one length",
                    column, (unsigned long long)found->shape[0], column,
                    (unsigned long long)found->shape[0]);
}

tnd_status_t tnd_op_dtype(const char *name, tnd_dtype_t *dtype_p, tnd_error_t *error)
{
    if (tnd_dtype_parse(name, dtype_p))
        return TND_OK;
    return tnd_fail(
        error,
        "type `%s` does not exist; the types are u8, i8, u16, i16, u32, i32, u64, i64, f16, "
        "bf16, f32, f64 and bool",
        name);
}

tnd_status_t tnd_op_number(const char *option, const char *text, const tnd_column_t *column,
                           void *out, tnd_error_t *error)
{
    tnd_dtype_t dtype = column->dtype;
    double number;
    uint64_t bits;
    int64_t low;
    if (tnd_dtype_is_float(dtype)) {
        if (strcmp(text, "nan") == 0)
            number = (double)NAN;
        else if (tnd_quantity_f64(text, &number) != TND_QUANTITY_OK)
            return tnd_fail(error, "`%s` of `%s` is not a number", text, option);
        double back;
        tnd_cast(dtype, TND_F64, 1, out, &number);
        tnd_cast(TND_F64, dtype, 1, &back, out);
        if (!isinf(back) || isinf(number))
            return TND_OK;
        return tnd_fail(error, "%s of `%s` is too large for column `%s`, which is %s", text, option,
                        column->name, tnd_dtype_name(dtype));
    }
    if (tnd_quantity_u64(text, &bits) == TND_QUANTITY_OK) {
        uint64_t back;
        tnd_cast_saturate(dtype, TND_U64, 1, out, &bits);
        tnd_cast(TND_U64, dtype, 1, &back, out);
        if (back == bits)
            return TND_OK;
    } else if (tnd_quantity_i64(text, &low) == TND_QUANTITY_OK) {
        int64_t back;
        tnd_cast_saturate(dtype, TND_I64, 1, out, &low);
        tnd_cast(TND_I64, dtype, 1, &back, out);
        if (back == low)
            return TND_OK;
    } else {
        return tnd_fail(error, "`%s` of `%s` is not an integer, and column `%s` is %s", text,
                        option, column->name, tnd_dtype_name(dtype));
    }
    return tnd_fail(error, "%s of `%s` does not fit column `%s`, which is %s", text, option,
                    column->name, tnd_dtype_name(dtype));
}

tnd_status_t tnd_op_whole(const char *option, const tnd_numbers_t *numbers, int64_t least,
                          int64_t *values, size_t room, tnd_error_t *error)
{
    if (numbers->count > room)
        return tnd_fail(error, "`%s` has %zu numbers; at most %zu are possible", option,
                        numbers->count, room);
    for (size_t i = 0; i < numbers->count; i++) {
        double number = numbers->items[i];
        if (!(number >= (double)least && number <= 0x1p40 && number == (double)(int64_t)number))
            return tnd_fail(error, "`%s` has %g in it; integers from %lld on are possible", option,
                            number, (long long)least);
        values[i] = (int64_t)number;
    }
    return TND_OK;
}

tnd_status_t tnd_op_replace(tnd_op_facts_t *facts, const tnd_schema_t *in, uint32_t index,
                            tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                            tnd_error_t *error)
{
    facts->reads = UINT64_C(1) << index;
    for (uint32_t i = 0; i < in->count; i++) {
        const tnd_column_t *column = &in->columns[i];
        facts->passes[i] = i == index ? -1 : (int8_t)i;
        if (i == index)
            TND_TRY(tnd_schema_add(&facts->schema, column->name, dtype, rank, shape, error));
        else
            TND_TRY(tnd_schema_add_like(&facts->schema, column->name, column, error));
    }
    return TND_OK;
}

tnd_status_t tnd_op_add(tnd_op_facts_t *facts, const tnd_schema_t *in, const char *name,
                        tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape, tnd_error_t *error)
{
    facts->schema = *in;
    for (uint32_t i = 0; i < in->count; i++)
        facts->passes[i] = (int8_t)i;
    return tnd_schema_add(&facts->schema, name, dtype, rank, shape, error);
}

/*  The mixing is the finaliser of SplitMix64, a bijection. */
uint64_t tnd_op_sample_of_copy(uint64_t sample, uint64_t copy)
{
    if (copy == 0)
        return sample;
    uint64_t bits = sample + copy * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

void tnd_op_pass(const tnd_tile_t *in, tnd_tile_t *out, uint32_t columns, uint32_t but)
{
    out->rows = in->rows;
    for (uint32_t i = 0; i < columns; i++)
        if (i != but)
            out->columns[i] = in->columns[i];
}
