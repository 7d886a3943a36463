/*  actors/op/ragged.c - rows of varying length made one length: pad_ragged. */
#include <inttypes.h>
#include <string.h>

#include "actors/op/ops.h"

typedef struct {
    const char *column;
    uint64_t to;
    const char *value;
    bool cut;
    const char *lengths;
} pad_options_t;

typedef struct {
    uint32_t columns, column;
    char name[TND_COLUMN_NAME_MAX];
    bool cut, has_lengths, zeros;
    uint64_t to;
    size_t unit, size; /* bytes of one step along the first axis, of an element */
    uint64_t value;    /* an element, in its type */
} pad_t;

static const tnd_option_t pad_options[] = {
    {TND_OPTION(pad_options_t, column, COLUMN, GRAPH), .help = "the ragged column"},
    {TND_OPTION(pad_options_t, to, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..", .help = "the length of every row that comes out, along the first axis"},
    {TND_OPTION(pad_options_t, value, STRING, GRAPH), .unit = "number", .fallback = "0",
     .help = "the value that follows a shorter row, as a number of the column's type"},
    {TND_OPTION(pad_options_t, cut, BOOL, GRAPH), .fallback = "false",
     .help = "whether a longer row is cut; if not, it is a bad row"},
    {TND_OPTION(pad_options_t, lengths, COLUMN, GRAPH), .fallback = "",
     .help = "a new column, i64, of how long each row was, at most `to`"},
};

const tnd_op_spec_t tnd_op_pad_ragged_spec = {
    .table = {.name = "pad_ragged",
              .help = "Makes the rows of a ragged column one length, as padded_batch does in "
                      "TensorFlow.",
              TND_OPTIONS(pad_options, pad_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t find_ragged(const tnd_schema_t *in, const char *name, uint32_t *index_p,
                                tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, name, index_p, error));
    if (in->columns[*index_p].ragged)
        return TND_OK;
    return tnd_fail(error, "column `%s` is not ragged: all its rows have one length already", name);
}

static tnd_status_t pad_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    pad_t *self = state;
    const pad_options_t *chosen = given;
    TND_TRY(find_ragged(in, chosen->column, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    uint64_t shape[TND_RANK_MAX];
    memcpy(shape, column->shape, sizeof shape);
    shape[0] = chosen->to != 0 ? chosen->to : column->shape[0];
    TND_TRY(tnd_op_number("value", chosen->value, column, &self->value, error));
    TND_TRY(tnd_op_replace(facts, in, self->column, column->dtype, column->rank, shape, error));
    if (chosen->lengths != NULL)
        TND_TRY(tnd_schema_add(&facts->schema, chosen->lengths, TND_I64, 0, NULL, error));
    strcpy(self->name, column->name);
    self->columns = in->count;
    self->cut = chosen->cut;
    self->has_lengths = chosen->lengths != NULL;
    self->to = shape[0];
    self->unit = tnd_column_unit(column);
    self->size = tnd_dtype_size(column->dtype);
    self->zeros = self->value == 0;
    return TND_OK;
}

static void fill(const pad_t *self, uint8_t *to, size_t bytes)
{
    if (self->zeros) {
        memset(to, 0, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += self->size)
        memcpy(to + at, &self->value, self->size);
}

static tnd_status_t pad_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const pad_t *self = state;
    tnd_op_pass(in, out, self->columns, self->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        const uint8_t *data = in->columns[self->column].ragged[row].data;
        uint64_t length = in->columns[self->column].ragged[row].length;
        if (length > self->to && !self->cut)
            return tnd_fail(error,
                            "column `%s` has length %" PRIu64 ", more than `to` (%" PRIu64
                            "); `cut: true` cuts such rows off",
                            self->name, length, self->to);
        length = length < self->to ? length : self->to;
        uint8_t *to = tnd_tile_row(out, self->column, row);
        if (length > 0)
            memcpy(to, data, length * self->unit);
        fill(self, to + length * self->unit, (self->to - length) * self->unit);
        if (self->has_lengths)
            memcpy(tnd_tile_row(out, self->columns, row), &length, sizeof length);
    }
    return TND_OK;
}

const tnd_op_t tnd_op_pad_ragged = {
    .spec = &tnd_op_pad_ragged_spec,
    .state_bytes = sizeof(pad_t),
    .open = pad_open,
    .apply = pad_apply,
};
