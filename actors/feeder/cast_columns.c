/*  actors/feeder/cast_columns.c - the columns that a feeder casts for its steps. */
#include "actors/feeder/cast_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/ops.h"
#include "runtime/base/allocation.h"

typedef struct {
    int to;
    tnd_numbers_t scale, bias;
    int layout;
} column_options_t;

/*  In the order of `choices`. */
static const tnd_dtype_t targets[] = {TND_F32, TND_F16, TND_BF16};
typedef enum { CHANNELS_LAST, CHANNELS_FIRST } layout_t;

static const tnd_option_t column_options[] = {
    {TND_OPTION(column_options_t, to, ENUM, GRAPH), .choices = "f32|f16|bf16",
     .help = "the type that steps read"},
    {TND_OPTION(column_options_t, scale, F64S, GRAPH), .fallback = "",
     .help = "what elements are multiplied by: one number, or one per channel (the last axis)"},
    {TND_OPTION(column_options_t, bias, F64S, GRAPH), .fallback = "",
     .help = "what is then added: one number, or one per channel"},
    {TND_OPTION(column_options_t, layout, ENUM, GRAPH), .fallback = "channels_last",
     .choices = "channels_last|channels_first",
     .help = "whether steps read the channels as the last axis, as they are fed, or as the first"},
};

static const tnd_table_t column_table = {
    .name = "column",
    .help = "how a column is cast: y = x * scale + bias, rounded once",
    TND_OPTIONS(column_options, column_options_t),
};

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("*", tnd_cast_options_t, columns, TABLE, GRAPH), .table = &column_table,
     .fallback = "", .help = "a column and how it is cast"},
};

const tnd_table_t tnd_cast_columns_table = {
    .name = "cast",
    .help = "columns that are cast on the way to devices",
    TND_OPTIONS(options, tnd_cast_options_t),
};

static uint64_t channels_of(const tnd_column_t *column)
{
    return column->rank > 0 ? column->shape[column->rank - 1] : 1;
}

static tnd_status_t check_numbers(const tnd_pair_t *pair, const char *option,
                                  const tnd_numbers_t *numbers, const tnd_column_t *column,
                                  tnd_error_t *error)
{
    const tnd_value_t *at = tnd_value_get(pair->value, option);
    uint64_t channels = channels_of(column);
    if (numbers->count > 1 && numbers->count != channels)
        return tnd_fail_about(error, at,
                              "`%s` has %zu numbers, and column `%s` has %" PRIu64
                              " channels (its last axis): write one number, or one per channel",
                              option, numbers->count, column->name, channels);
    for (size_t i = 0; i < numbers->count; i++)
        if (!isfinite((float)numbers->items[i]))
            return tnd_fail_about(error, at, "`%s`: %g is too large for f32", option,
                                  numbers->items[i]);
    return TND_OK;
}

static tnd_status_t check_column(const tnd_pair_t *pair, const tnd_column_t *column,
                                 tnd_error_t *error)
{
    const column_options_t *chosen = pair->options;
    if (column->ragged)
        return tnd_fail_about(error, pair->value,
                              "column `%s` is ragged, and only columns of a fixed shape are cast: "
                              "the operation `pad_ragged` makes one",
                              column->name);
    if (!tnd_row_cast_takes(column->dtype, targets[chosen->to]))
        return tnd_fail_about(error, pair->value,
                              "column `%s` has type %s, and only u8, i16, u16 and f32 are cast on "
                              "the way to devices: the operation `cast` makes one of these",
                              column->name, tnd_dtype_name(column->dtype));
    if (chosen->layout == CHANNELS_FIRST && column->rank < 2)
        return tnd_fail_about(error, tnd_value_get(pair->value, "layout"),
                              "column `%s` has %s, so channels cannot come first", column->name,
                              column->rank == 0 ? "no axis" : "one axis");
    TND_TRY(check_numbers(pair, "scale", &chosen->scale, column, error));
    return check_numbers(pair, "bias", &chosen->bias, column, error);
}

/*  The column as steps read it. */
static tnd_column_t shown_of(const tnd_column_t *column, const column_options_t *chosen)
{
    tnd_column_t shown = *column;
    shown.dtype = targets[chosen->to];
    if (chosen->layout == CHANNELS_FIRST) {
        memmove(shown.shape + 1, column->shape, (column->rank - 1) * sizeof *shown.shape);
        shown.shape[0] = channels_of(column);
    }
    return shown;
}

tnd_status_t tnd_cast_columns_schema(const tnd_pairs_t *pairs, const tnd_schema_t *fed,
                                     tnd_schema_t *shown, tnd_error_t *error)
{
    *shown = *fed;
    for (size_t i = 0; i < pairs->count; i++) {
        const tnd_pair_t *pair = &pairs->items[i];
        tnd_error_t why;
        uint32_t column;
        if (tnd_op_find_any(fed, pair->name, &column, &why) != TND_OK)
            return tnd_fail_about(error, pair->value, "%s", why.text);
        TND_TRY(check_column(pair, &fed->columns[column], error));
        shown->columns[column] = shown_of(&fed->columns[column], pair->options);
    }
    return TND_OK;
}

static float number_at(const tnd_numbers_t *numbers, uint64_t channel, float otherwise)
{
    if (numbers->count == 0)
        return otherwise;
    return (float)numbers->items[numbers->count == 1 ? 0 : channel];
}

void tnd_cast_columns_make(tnd_cast_columns_t *self, const tnd_pairs_t *pairs,
                           const tnd_schema_t *fed)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const column_options_t *chosen = pairs->items[i].options;
        int found = tnd_schema_find(fed, pairs->items[i].name);
        const tnd_column_t *column = &fed->columns[found];
        uint64_t channels = channels_of(column);
        float *factors = tnd_allocate(2 * channels, sizeof *factors);
        for (uint64_t c = 0; c < channels; c++) {
            factors[c] = number_at(&chosen->scale, c, 1);
            factors[channels + c] = number_at(&chosen->bias, c, 0);
        }
        self->any = true;
        self->factors[found] = factors;
        self->by_column[found] = &self->casts[found];
        self->casts[found] =
            (tnd_row_cast_t){.from = column->dtype,
                             .to = targets[chosen->to],
                             .elements = tnd_column_bytes(column) / tnd_dtype_size(column->dtype),
                             .channels = (uint32_t)channels,
                             .channels_first = chosen->layout == CHANNELS_FIRST,
                             .scale = factors,
                             .bias = factors + channels};
    }
}

void tnd_cast_columns_free(tnd_cast_columns_t *self)
{
    for (uint32_t c = 0; c < TND_COLUMNS_MAX; c++)
        free(self->factors[c]);
}
