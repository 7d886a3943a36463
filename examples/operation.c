/*  examples/operation.c - a source and an operation, as a plugin or linked in.
 *
 *  Built as operation.so, it is a plugin, named in operation.yaml:
 *
 *      source: {plugin: operation.ramp, rows: 1000}
 *      ops: [{plugin: operation.jitter, column: value, by: 0.5}]
 *
 *  Linked into a program (operation_main.c), the same tables are given to the graph and called
 *  `ramp` and `jitter`. */
#include "operation.h"

/* --- a source: numbers that count up, read from the start only -------------------------------- */

typedef struct {
    uint64_t rows, next;
} ramp_t;

static tnd_status_t ramp_open(void *state, void *shared, const char *options,
                              const tnd_source_context_t *context, tnd_source_data_t *data,
                              tnd_error_t *error)
{
    ramp_t *self = state;
    (void)shared, (void)context;
    self->rows = 100;
    if (tnd_option_only(options, "rows", error) != TND_OK ||
        tnd_option_u64(options, "rows", &self->rows, error) != TND_OK)
        return TND_FAILED;
    if (self->rows == 0)
        return tnd_fail(error, "option `rows` expects at least 1");
    data->identity = self->rows;
    if (tnd_schema_add(&data->schema, "value", TND_F32, 0, NULL, error) != TND_OK)
        return TND_FAILED;
    return tnd_schema_add(&data->schema, "label", TND_U8, 0, NULL, error);
}

/*  How many rows there are shows when they have all been read, as of a file that is decoded. */
static tnd_status_t ramp_read(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    ramp_t *self = state;
    (void)error;
    if (index[0] == 0)
        self->next = 0;
    for (rows->count = 0; rows->count < count; rows->count++, self->next++) {
        if (self->next == self->rows)
            return TND_END;
        *(float *)tnd_rows_at(rows, 0, rows->count) = (float)self->next;
        *(uint8_t *)tnd_rows_at(rows, 1, rows->count) = (uint8_t)(self->next % 10);
    }
    return TND_OK;
}

const tnd_source_ops_t tnd_source_ramp = {
    .abi = TND_ABI,
    .name = "ramp",
    .caps = TND_SOURCE_REWINDS,
    .state_bytes = sizeof(ramp_t),
    .open = ramp_open,
    .read = ramp_read,
};

/* --- an operation: adds a random number to a column of floats, drops rows that become negative  */

typedef struct {
    uint32_t from, to;
    float by;
} jitter_t;

static tnd_status_t jitter_open(void *state, void *shared, const char *options,
                                const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                                tnd_error_t *error)
{
    jitter_t *self = state;
    char column[TND_COLUMN_NAME_MAX] = "value";
    double by = 1;
    (void)shared, (void)most_p;
    if (tnd_option_only(options, "column, by", error) != TND_OK ||
        tnd_option_text(options, "column", column, sizeof column, error) != TND_OK ||
        tnd_option_f64(options, "by", &by, error) != TND_OK)
        return TND_FAILED;
    int found = tnd_schema_find(in, column);
    if (found < 0)
        return tnd_fail(error, "column `%s` does not exist", column);
    if (in->columns[found].dtype != TND_F32 || in->columns[found].rank != 0)
        return tnd_fail(error, "column `%s` does not have one f32 per row", column);
    self->from = (uint32_t)found;
    self->by = (float)by;
    self->to = out->count;
    return tnd_schema_add(out, "jittered", TND_F32, 0, NULL, error);
}

static tnd_status_t jitter_apply(void *state, const tnd_rows_t *in, size_t row,
                                 tnd_random_t *random, tnd_rows_t *out, tnd_error_t *error)
{
    const jitter_t *self = state;
    (void)error;
    float value = *(const float *)tnd_rows_at(in, self->from, row);
    float moved = value + self->by * (2 * tnd_random_f32(random) - 1);
    *(float *)tnd_rows_at(out, self->to, 0) = moved;
    out->count = moved >= 0;
    return TND_OK;
}

const tnd_op_ops_t tnd_op_jitter = {
    .abi = TND_ABI,
    .name = "jitter",
    .caps = TND_OP_DROPS | TND_OP_RANDOM,
    .state_bytes = sizeof(jitter_t),
    .open = jitter_open,
    .apply = jitter_apply,
};
