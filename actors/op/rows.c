/*  actors/op/rows.c - fewer rows, or more: filter, repeat_rows, unbatch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/expression/expression.h"
#include "actors/op/ops.h"
#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/text/quantity.h"

/*  Appends row `row` of one tile, `copy`-th time, to another. */
static void append_row(const tnd_schema_t *schema, const tnd_tile_t *in, uint32_t row,
                       tnd_tile_t *out, uint64_t copy)
{
    for (uint32_t i = 0; i < schema->count; i++)
        if (schema->columns[i].ragged)
            out->columns[i].ragged[out->rows] = in->columns[i].ragged[row];
        else
            memcpy(tnd_tile_row(out, i, out->rows), tnd_tile_row(in, i, row),
                   tnd_column_bytes(&schema->columns[i]));
    out->sample[out->rows] = tnd_op_sample_of_copy(in->sample[row], copy);
    out->origin[out->rows] = in->origin[row];
    out->rows++;
}

/*  A column of one number a row. */
static tnd_status_t find_scalar(const tnd_schema_t *in, const char *name, uint32_t *column_p,
                                tnd_error_t *error)
{
    TND_TRY(tnd_op_find(in, name, column_p, error));
    const tnd_column_t *column = &in->columns[*column_p];
    if (tnd_column_elements(column) != 1)
        return tnd_fail(error, "column `%s` has %llu numbers a row; one is needed", name,
                        (unsigned long long)tnd_column_elements(column));
    return TND_OK;
}

enum { EQ, NE, LT, LE, GT, GE };

typedef struct {
    const char *column;
    int op;
    const char *value, *expr;
} filter_options_t;

/*  An integer of any type, ordered by sign and then by bits. */
typedef struct {
    bool negative;
    uint64_t bits;
} integer_t;

typedef struct {
    tnd_schema_t schema;
    uint32_t column;
    tnd_dtype_t dtype;
    int op;
    integer_t integer; /* unless the column is of floats */
    double number;
    /*  A formula instead, and what it gives for each row of a tile. */
    tnd_expression_t *expression;
    uint8_t *kept;
    size_t room;
} filter_t;

static const tnd_option_t filter_options[] = {
    {TND_OPTION(filter_options_t, expr, STRING, GRAPH), .unit = "formula",
     .example = "label % 3 == 1 and w > 0.5", .fallback = "",
     .help = "a condition over columns with one number per row, or length(x) of a ragged one, of + "
             "- * / % "
             "== != < <= > >= and or not ( ): rows of which it is true are kept"},
    {TND_OPTION(filter_options_t, column, COLUMN, GRAPH), .fallback = "",
     .help = "without `expr`: the column to compare, one number a row"},
    {TND_OPTION(filter_options_t, op, ENUM, GRAPH), .fallback = "eq",
     .choices = "eq|ne|lt|le|gt|ge", .help = "rows of which this is true are kept"},
    {TND_OPTION(filter_options_t, value, STRING, GRAPH), .unit = "number", .fallback = "",
     .help = "what it is compared with, as a number of the column's type"},
};

const tnd_op_spec_t tnd_op_filter_spec = {
    .table = {.name = "filter",
              .help = "Keeps the rows of which a condition is true, as Dataset.filter does in "
                      "TensorFlow.",
              TND_OPTIONS(filter_options, filter_options_t)},
    .caps = TND_OP_DROPS | TND_OP_FAILS,
};

static tnd_status_t parse_value(filter_t *self, const char *text, tnd_error_t *error)
{
    const char *name = self->schema.columns[self->column].name;
    if (tnd_dtype_is_float(self->dtype)) {
        uint64_t bits;
        if (tnd_quantity_f64(text, &self->number) != TND_QUANTITY_OK)
            return tnd_fail(error, "`%s` is not a number to compare column `%s` with", text, name);
        tnd_cast(self->dtype, TND_F64, 1, &bits, &self->number);
        tnd_cast(TND_F64, self->dtype, 1, &self->number, &bits);
        return TND_OK;
    }
    int64_t low;
    if (tnd_quantity_u64(text, &self->integer.bits) == TND_QUANTITY_OK)
        return TND_OK;
    if (tnd_quantity_i64(text, &low) != TND_QUANTITY_OK)
        return tnd_fail(error, "`%s` is not an integer to compare column `%s` (%s) with", text,
                        name, tnd_dtype_name(self->dtype));
    self->integer = (integer_t){low < 0, (uint64_t)low};
    return TND_OK;
}

static tnd_status_t open_expression(filter_t *self, const char *expr, const tnd_schema_t *in,
                                    tnd_error_t *error)
{
    TND_TRY(tnd_expression_new(&self->expression, expr, in, error));
    const tnd_column_t *result = tnd_expression_result(self->expression);
    tnd_status_t status = TND_OK;
    if (result->dtype != TND_BOOL)
        status = tnd_fail_about(error, expr,
                                "the formula gives numbers (%s), not a condition; "
                                "compare them, `... != 0`",
                                tnd_dtype_name(result->dtype));
    else if (result->ragged || tnd_column_elements(result) != 1)
        status = tnd_fail_about(error, expr,
                                "the formula reads columns with several numbers per "
                                "row; one condition is needed");
    if (status != TND_OK)
        tnd_expression_free(&self->expression);
    return status;
}

static tnd_status_t filter_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    filter_t *self = state;
    const filter_options_t *chosen = given;
    bool compares = chosen->column != NULL && chosen->value != NULL;
    if (compares == (chosen->expr != NULL) || (chosen->column != NULL) != (chosen->value != NULL))
        return tnd_fail(error, "say either `expr`, or `column`, `op` and `value`");
    self->schema = *in;
    facts->schema = *in;
    facts->reads = UINT64_MAX;
    if (!compares)
        return open_expression(self, chosen->expr, in, error);
    TND_TRY(find_scalar(in, chosen->column, &self->column, error));
    self->dtype = in->columns[self->column].dtype;
    self->op = chosen->op;
    return parse_value(self, chosen->value, error);
}

static void filter_close(void *state)
{
    filter_t *self = state;
    tnd_expression_free(&self->expression);
    free(self->kept);
}

/*  Less, equal, greater as -1, 0, 1; 2: not comparable. */
static int compare(const filter_t *self, const uint8_t *row)
{
    if (tnd_dtype_is_float(self->dtype)) {
        double number;
        tnd_cast(TND_F64, self->dtype, 1, &number, row);
        return number < self->number    ? -1
               : number > self->number  ? 1
               : number == self->number ? 0
                                        : 2;
    }
    int64_t value;
    tnd_cast(TND_I64, self->dtype, 1, &value, row);
    integer_t integer = {tnd_dtype_is_signed(self->dtype) && value < 0, (uint64_t)value};
    if (integer.negative != self->integer.negative)
        return integer.negative ? -1 : 1;
    return integer.bits < self->integer.bits ? -1 : integer.bits > self->integer.bits;
}

static bool holds(int op, int order)
{
    switch (op) {
    case EQ:
        return order == 0;
    case NE:
        return order != 0;
    case LT:
        return order == -1;
    case LE:
        return order == -1 || order == 0;
    case GT:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

/*  Keeps the rows of which the formula is true.  The room grows with the first tiles. */
static tnd_status_t keep_rows(filter_t *self, const tnd_tile_t *in, tnd_tile_t *out,
                              tnd_error_t *error)
{
    if (self->room < in->rows) {
        self->room = in->rows;
        self->kept = tnd_resize(self->kept, self->room, sizeof *self->kept);
    }
    TND_TRY(tnd_expression_run(self->expression, in, TND_BOOL, self->kept, error));
    for (uint32_t row = 0; row < in->rows; row++)
        if (self->kept[row])
            append_row(&self->schema, in, row, out, 0);
    return TND_OK;
}

static tnd_status_t filter_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    filter_t *self = state;
    out->rows = 0;
    if (self->expression != NULL)
        return keep_rows(self, in, out, error);
    for (uint32_t row = 0; row < in->rows; row++)
        if (holds(self->op, compare(self, tnd_tile_row(in, self->column, row))))
            append_row(&self->schema, in, row, out, 0);
    return TND_OK;
}

typedef struct {
    uint64_t times;
    const char *column;
    uint64_t max;
} repeat_options_t;

typedef struct {
    tnd_schema_t schema;
    uint64_t times; /* 0: by column */
    uint32_t column;
    uint64_t max;
} repeat_t;

static const tnd_option_t repeat_options[] = {
    {TND_OPTION(repeat_options_t, times, U64, GRAPH), .fallback = "", .range = "1..65536",
     .help = "how often each row comes; or say `column`"},
    {TND_OPTION(repeat_options_t, column, COLUMN, GRAPH), .fallback = "",
     .help = "an integer of each row says how often it comes; 0 leaves it out"},
    {TND_OPTION(repeat_options_t, max, U64, GRAPH), .fallback = "", .range = "1..65536",
     .help = "the most that `column` says; memory is kept for it, and more is a bad row"},
};

const tnd_op_spec_t tnd_op_repeat_rows_spec = {
    .table = {.name = "repeat_rows",
              .help = "Repeats each row, all copies together, as flat_map with Dataset.repeat.",
              TND_OPTIONS(repeat_options, repeat_options_t)},
    .caps = TND_OP_DROPS | TND_OP_EXPANDS | TND_OP_FAILS,
};

static tnd_status_t repeat_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    repeat_t *self = state;
    const repeat_options_t *chosen = given;
    if ((chosen->times == 0) == (chosen->column == NULL))
        return tnd_fail(error, "say either `times` or `column`, and one of them");
    if (chosen->max == 0 && chosen->column != NULL)
        return tnd_fail(error, "`column` needs `max`: the most times that `%s` says",
                        chosen->column);
    if (chosen->max != 0 && chosen->column == NULL)
        return tnd_fail(error, "`max` belongs to `column`; `times` says it already");
    self->schema = *in;
    self->times = chosen->times;
    self->max = chosen->times != 0 ? chosen->times : chosen->max;
    if (chosen->column != NULL) {
        TND_TRY(find_scalar(in, chosen->column, &self->column, error));
        tnd_dtype_t dtype = in->columns[self->column].dtype;
        if (tnd_dtype_is_float(dtype))
            return tnd_fail(error, "column `%s` is %s; how often a row comes is an integer",
                            chosen->column, tnd_dtype_name(dtype));
    }
    facts->schema = *in;
    facts->reads = UINT64_MAX;
    facts->rows_max = (uint32_t)self->max;
    facts->growth_max = (double)self->max;
    facts->growth_usual = self->times != 0 ? (double)self->times : 1;
    return TND_OK;
}

static tnd_status_t times_of(const repeat_t *self, const tnd_tile_t *in, uint32_t row,
                             uint64_t *times_p, tnd_error_t *error)
{
    *times_p = self->times;
    if (self->times != 0)
        return TND_OK;
    const tnd_column_t *column = &self->schema.columns[self->column];
    int64_t value;
    tnd_cast(TND_I64, column->dtype, 1, &value, tnd_tile_row(in, self->column, row));
    *times_p = (uint64_t)value;
    if (*times_p <= self->max)
        return TND_OK;
    if (tnd_dtype_is_signed(column->dtype) && value < 0)
        return tnd_fail(error, "column `%s` says %lld times; 0 to %llu are possible", column->name,
                        (long long)value, (unsigned long long)self->max);
    return tnd_fail(error, "column `%s` says %llu times, more than `max` (%llu)", column->name,
                    (unsigned long long)*times_p, (unsigned long long)self->max);
}

static tnd_status_t repeat_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const repeat_t *self = state;
    out->rows = 0;
    for (uint32_t row = 0; row < in->rows; row++) {
        uint64_t times = 0;
        TND_TRY(times_of(self, in, row, &times, error));
        for (uint64_t copy = 0; copy < times; copy++)
            append_row(&self->schema, in, row, out, copy);
    }
    return TND_OK;
}

typedef struct {
    tnd_strings_t columns;
    uint64_t max;
} unbatch_options_t;

typedef struct {
    tnd_schema_t in, out;
    uint64_t divided; /* a bit for each column that is divided */
    uint32_t first;   /* of them */
    uint64_t max;
} unbatch_t;

static const tnd_option_t unbatch_options[] = {
    {TND_OPTION(unbatch_options_t, columns, COLUMNS, GRAPH),
     .help = "the columns that are divided along their first axis; in a row they have one length. "
             "The others are repeated"},
    {TND_OPTION(unbatch_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..65536",
     .help = "the most rows that one may become; memory is kept for it, and longer rows are bad"},
};

const tnd_op_spec_t tnd_op_unbatch_spec = {
    .table = {.name = "unbatch",
              .help = "Makes a row of each element of columns, as Dataset.unbatch and "
                      "flat_map(from_tensor_slices) do in TensorFlow.",
              TND_OPTIONS(unbatch_options, unbatch_options_t)},
    .caps = TND_OP_DROPS | TND_OP_EXPANDS | TND_OP_FAILS,
};

static tnd_status_t find_divided(unbatch_t *self, const tnd_schema_t *in, const char *name,
                                 tnd_error_t *error)
{
    uint32_t index;
    TND_TRY(tnd_op_find_any(in, name, &index, error));
    const tnd_column_t *column = &in->columns[index];
    if (column->rank == 0)
        return tnd_fail(error, "column `%s` has one number per row, which cannot be divided", name);
    if (self->divided != 0) {
        const tnd_column_t *first = &in->columns[self->first];
        if (!column->ragged && !first->ragged && column->shape[0] != first->shape[0])
            return tnd_fail(error, "columns `%s` and `%s` have different lengths", first->name,
                            name);
    } else {
        self->first = index;
    }
    self->divided |= UINT64_C(1) << index;
    self->max = column->shape[0] > self->max ? column->shape[0] : self->max;
    return TND_OK;
}

static tnd_status_t unbatch_open(void *state, const void *given, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error)
{
    unbatch_t *self = state;
    const unbatch_options_t *chosen = given;
    bool repeats = false;
    self->in = *in;
    for (size_t i = 0; i < chosen->columns.count; i++)
        TND_TRY(find_divided(self, in, chosen->columns.items[i], error));
    if (self->divided == 0)
        return tnd_fail(error, "`columns` names no column");
    self->max = chosen->max != 0 && chosen->max < self->max ? chosen->max : self->max;
    for (uint32_t i = 0; i < in->count; i++) {
        const tnd_column_t *column = &in->columns[i];
        bool divided = (self->divided >> i & 1) != 0;
        repeats = repeats || (column->ragged && !divided);
        if (divided)
            TND_TRY(tnd_schema_add(&facts->schema, column->name, column->dtype, column->rank - 1,
                                   column->shape + 1, error));
        else
            TND_TRY(tnd_schema_add_like(&facts->schema, column->name, column, error));
    }
    self->out = facts->schema;
    facts->reads = UINT64_MAX;
    facts->rows_max = (uint32_t)self->max;
    facts->growth_max = repeats ? (double)self->max : 1;
    return self->max <= 65536
               ? TND_OK
               : tnd_fail(error,
                          "a row may become %" PRIu64 " rows; `max`, at most 65536, limits it",
                          self->max);
}

static uint64_t length_of(const unbatch_t *self, const tnd_tile_t *in, uint32_t column,
                          uint32_t row)
{
    return self->in.columns[column].ragged ? in->columns[column].ragged[row].length
                                           : self->in.columns[column].shape[0];
}

/*  Writes element `element` of a row of a column. */
static void copy_element(const unbatch_t *self, const tnd_tile_t *in, uint32_t column, uint32_t row,
                         uint64_t element, uint8_t *to)
{
    size_t unit = tnd_column_bytes(&self->out.columns[column]);
    const uint8_t *from = self->in.columns[column].ragged ? in->columns[column].ragged[row].data
                                                          : tnd_tile_row(in, column, row);
    memcpy(to, from + element * unit, unit);
}

static tnd_status_t divide_row(const unbatch_t *self, const tnd_tile_t *in, uint32_t row,
                               tnd_tile_t *out, tnd_error_t *error)
{
    uint64_t length = length_of(self, in, self->first, row);
    for (uint32_t i = 0; i < self->in.count; i++)
        if ((self->divided >> i & 1) != 0 && length_of(self, in, i, row) != length)
            return tnd_fail(error,
                            "column `%s` has length %" PRIu64 ", column `%s` %" PRIu64
                            "; they are divided together",
                            self->in.columns[self->first].name, length, self->in.columns[i].name,
                            length_of(self, in, i, row));
    if (length > self->max)
        return tnd_fail(error, "column `%s` has length %" PRIu64 ", more than `max` (%" PRIu64 ")",
                        self->in.columns[self->first].name, length, self->max);
    for (uint64_t element = 0; element < length; element++) {
        for (uint32_t i = 0; i < self->in.count; i++) {
            if ((self->divided >> i & 1) != 0)
                copy_element(self, in, i, row, element, tnd_tile_row(out, i, out->rows));
            else if (self->in.columns[i].ragged)
                out->columns[i].ragged[out->rows] = in->columns[i].ragged[row];
            else
                memcpy(tnd_tile_row(out, i, out->rows), tnd_tile_row(in, i, row),
                       tnd_column_bytes(&self->in.columns[i]));
        }
        out->sample[out->rows] = tnd_op_sample_of_copy(in->sample[row], element);
        out->origin[out->rows] = in->origin[row];
        out->rows++;
    }
    return TND_OK;
}

static tnd_status_t unbatch_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                  tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const unbatch_t *self = state;
    out->rows = 0;
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(divide_row(self, in, row, out, error));
    return TND_OK;
}

const tnd_op_t tnd_op_filter = {
    .spec = &tnd_op_filter_spec,
    .state_bytes = sizeof(filter_t),
    .open = filter_open,
    .apply = filter_apply,
    .close = filter_close,
};

const tnd_op_t tnd_op_repeat_rows = {
    .spec = &tnd_op_repeat_rows_spec,
    .state_bytes = sizeof(repeat_t),
    .open = repeat_open,
    .apply = repeat_apply,
};

const tnd_op_t tnd_op_unbatch = {
    .spec = &tnd_op_unbatch_spec,
    .state_bytes = sizeof(unbatch_t),
    .open = unbatch_open,
    .apply = unbatch_apply,
};
