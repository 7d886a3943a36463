/*  actors/op/compute.c - columns that are computed from others, or counted: compute, enumerate. */
#include <string.h>

#include "actors/expression/expression.h"
#include "actors/op/ops.h"

typedef struct {
    const char *to;
    tnd_pairs_t columns;
} compute_options_t;

typedef struct {
    tnd_expression_t *expression;
    uint32_t column; /* that it makes */
    tnd_dtype_t dtype;
} computed_t;

typedef struct {
    uint32_t columns, count;
    computed_t computed[TND_COLUMNS_MAX];
} compute_t;

static const tnd_option_t compute_options[] = {
    {TND_OPTION(compute_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "",
     .help = "the type of the results; without it i64, f32, f64 or bool, as they are computed"},
    {TND_OPTION_NAMED("*", compute_options_t, columns, STRING, GRAPH), .unit = "formula",
     .example = "2 * x + 1", .fallback = "",
     .help =
         "a column and the formula for it, of columns, numbers, + - * / % == != < <= > >= and or "
         "not ( ), and length(x) of a ragged column; a column of that name is replaced"},
};

const tnd_op_spec_t tnd_op_compute_spec = {
    .table = {.name = "compute",
              .help = "Computes columns from others, as Dataset.map with arithmetic does in "
                      "TensorFlow; integers are computed as int64.",
              TND_OPTIONS(compute_options, compute_options_t)},
    .caps = TND_OP_FAILS,
};

static void compute_close(void *state)
{
    compute_t *self = state;
    for (uint32_t i = 0; i < self->count; i++)
        tnd_expression_free(&self->computed[i].expression);
}

/*  The columns of `in` with the results in their places, then the new ones. */
static tnd_status_t add_columns(compute_t *self, const tnd_pairs_t *pairs, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    const computed_t *replaced[TND_COLUMNS_MAX] = {NULL};
    for (uint32_t i = 0; i < self->count; i++) {
        int column = tnd_schema_find(in, pairs->items[i].name);
        self->computed[i].column = (uint32_t)column;
        if (column >= 0)
            replaced[column] = &self->computed[i];
    }
    for (uint32_t i = 0; i < in->count; i++) {
        tnd_column_t made = in->columns[i];
        facts->passes[i] = (int8_t)i;
        if (replaced[i] != NULL) {
            made = *tnd_expression_result(replaced[i]->expression);
            made.dtype = replaced[i]->dtype;
            facts->passes[i] = -1;
        }
        TND_TRY(tnd_schema_add_like(&facts->schema, in->columns[i].name, &made, error));
    }
    for (uint32_t i = 0; i < self->count; i++) {
        computed_t *computed = &self->computed[i];
        if (tnd_schema_find(in, pairs->items[i].name) >= 0)
            continue;
        tnd_column_t made = *tnd_expression_result(computed->expression);
        made.dtype = computed->dtype;
        computed->column = facts->schema.count;
        TND_TRY(tnd_schema_add_like(&facts->schema, pairs->items[i].name, &made, error));
    }
    return TND_OK;
}

/*  Bytes of the smallest element of the ragged columns of a formula. */
static size_t least_size(const tnd_expression_t *expression, const tnd_schema_t *in)
{
    size_t least = 8;
    for (uint32_t i = 0; i < in->count; i++) {
        size_t size = tnd_dtype_size(in->columns[i].dtype);
        if (in->columns[i].ragged && (tnd_expression_reads(expression) >> i & 1) != 0)
            least = size < least ? size : least;
    }
    return least;
}

/*  Bytes of ragged columns per byte of those that come in: a result has as many values as a column that
 *  it reads. */
static void set_growth(const compute_t *self, const tnd_schema_t *in, tnd_op_facts_t *facts)
{
    double all = (double)tnd_schema_ragged_bytes(in);
    for (uint32_t i = 0; i < self->count; i++) {
        const tnd_expression_t *expression = self->computed[i].expression;
        if (tnd_expression_result(expression)->ragged)
            facts->growth_max += (double)tnd_dtype_size(self->computed[i].dtype) /
                                 (double)least_size(expression, in);
    }
    if (all > 0)
        facts->growth_usual = (double)tnd_schema_ragged_bytes(&facts->schema) / all;
}

static tnd_status_t compile(compute_t *self, const compute_options_t *chosen,
                            const tnd_schema_t *in, tnd_op_facts_t *facts, tnd_error_t *error)
{
    const tnd_pairs_t *pairs = &chosen->columns;
    tnd_dtype_t to = TND_F32;
    if (pairs->count == 0 || pairs->count > TND_COLUMNS_MAX)
        return tnd_fail(error, "say 1 to %d columns and their formulas, `{y: 2 * x + 1}`",
                        TND_COLUMNS_MAX);
    if (chosen->to != NULL)
        TND_TRY(tnd_op_dtype(chosen->to, &to, error));
    for (size_t i = 0; i < pairs->count; i++) {
        computed_t *computed = &self->computed[i];
        TND_TRY(tnd_expression_new(&computed->expression, pairs->items[i].text, in, error));
        self->count++;
        computed->dtype =
            chosen->to != NULL ? to : tnd_expression_result(computed->expression)->dtype;
        facts->reads |= tnd_expression_reads(computed->expression);
    }
    self->columns = in->count;
    TND_TRY(add_columns(self, pairs, in, facts, error));
    set_growth(self, in, facts);
    return TND_OK;
}

static tnd_status_t compute_open(void *state, const void *given, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error)
{
    tnd_status_t status = compile(state, given, in, facts, error);
    if (status != TND_OK)
        compute_close(state);
    return status;
}

static bool is_computed(const compute_t *self, uint32_t column)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->computed[i].column == column)
            return true;
    return false;
}

static tnd_status_t run_ragged(const computed_t *self, const tnd_tile_t *in, tnd_tile_t *out,
                               tnd_error_t *error)
{
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(tnd_expression_run_ragged(self->expression, in, row, self->dtype, out->room,
                                          &out->columns[self->column].ragged[row], error));
    return TND_OK;
}

static tnd_status_t compute_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                  tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const compute_t *self = state;
    out->rows = in->rows;
    for (uint32_t i = 0; i < self->columns; i++)
        if (!is_computed(self, i))
            out->columns[i] = in->columns[i];
    for (uint32_t i = 0; i < self->count; i++) {
        const computed_t *computed = &self->computed[i];
        if (tnd_expression_result(computed->expression)->ragged)
            TND_TRY(run_ragged(computed, in, out, error));
        else
            TND_TRY(tnd_expression_run(computed->expression, in, computed->dtype,
                                       out->columns[computed->column].base, error));
    }
    return TND_OK;
}

typedef struct {
    const char *into;
    int64_t start;
} enumerate_options_t;

typedef struct {
    uint32_t columns;
    int64_t start;
} enumerate_t;

static const tnd_option_t enumerate_options[] = {
    {TND_OPTION(enumerate_options_t, into, COLUMN, GRAPH), .help = "the new column, i64"},
    {TND_OPTION(enumerate_options_t, start, I64, GRAPH), .fallback = "0",
     .help = "the number of the first sample of an epoch"},
};

const tnd_op_spec_t tnd_op_enumerate_spec = {
    .table = {.name = "enumerate",
              .help =
                  "Numbers the samples of an epoch, as Dataset.enumerate does in TensorFlow; it "
                  "comes before operations that repeat rows.",
              TND_OPTIONS(enumerate_options, enumerate_options_t)},
};

static tnd_status_t enumerate_open(void *state, const void *given, const tnd_schema_t *in,
                                   tnd_op_facts_t *facts, tnd_error_t *error)
{
    enumerate_t *self = state;
    const enumerate_options_t *chosen = given;
    *self = (enumerate_t){.columns = in->count, .start = chosen->start};
    facts->numbered = true;
    return tnd_op_add(facts, in, chosen->into, TND_I64, 0, NULL, error);
}

static tnd_status_t enumerate_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                    tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const enumerate_t *self = state;
    tnd_op_pass(in, out, self->columns, self->columns);
    for (uint32_t row = 0; row < in->rows; row++) {
        uint64_t number = (uint64_t)self->start + in->sample[row];
        memcpy(tnd_tile_row(out, self->columns, row), &number, sizeof number);
    }
    return TND_OK;
}

const tnd_op_t tnd_op_compute = {
    .spec = &tnd_op_compute_spec,
    .state_bytes = sizeof(compute_t),
    .open = compute_open,
    .apply = compute_apply,
    .close = compute_close,
};

const tnd_op_t tnd_op_enumerate = {
    .spec = &tnd_op_enumerate_spec,
    .state_bytes = sizeof(enumerate_t),
    .open = enumerate_open,
    .apply = enumerate_apply,
};
