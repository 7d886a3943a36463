/*  actors/op/ragged.c - rows of varying length: pad_ragged, slice, concat. */
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

/*  Passes all columns on and appends a ragged one like `column`, whose longest row has `longest`;
 *  without a name it replaces that column. Returns its place in *to_p. */
static tnd_status_t add_ragged(tnd_op_facts_t *facts, const tnd_schema_t *in, uint32_t column,
                               const char *name, uint64_t longest, uint32_t *to_p,
                               tnd_error_t *error)
{
    uint64_t shape[TND_RANK_MAX];
    const tnd_column_t *from = &in->columns[column];
    memcpy(shape, from->shape, sizeof shape);
    shape[0] = longest;
    *to_p = name != NULL ? in->count : column;
    for (uint32_t i = 0; i < in->count + (name != NULL ? 1 : 0); i++) {
        facts->passes[i] = i == *to_p ? -1 : (int8_t)i;
        if (i == *to_p)
            TND_TRY(tnd_schema_add_ragged(&facts->schema, name != NULL ? name : from->name,
                                          from->dtype, from->rank, shape, error));
        else
            TND_TRY(
                tnd_schema_add_like(&facts->schema, in->columns[i].name, &in->columns[i], error));
    }
    facts->reads |= UINT64_C(1) << column;
    facts->growth_max = facts->growth_usual = name != NULL ? 2 : 1;
    return TND_OK;
}

typedef struct {
    const char *column;
    uint64_t start, length;
    const char *into;
} slice_options_t;

typedef struct {
    uint32_t columns, column, to;
    uint64_t start, length;
    size_t unit;
} slice_t;

static const tnd_option_t slice_options[] = {
    {TND_OPTION(slice_options_t, column, COLUMN, GRAPH), .help = "the ragged column"},
    {TND_OPTION(slice_options_t, start, U64, GRAPH), .fallback = "0",
     .help = "how much of the start of each row is left out, along the first axis"},
    {TND_OPTION(slice_options_t, length, U64, GRAPH), .fallback = "rest", .choices = "rest=0",
     .range = "1..", .help = "how much of each row is kept after that, at most"},
    {TND_OPTION(slice_options_t, into, COLUMN, GRAPH), .fallback = "",
     .help = "a new column for it; by default it replaces the column"},
};

const tnd_op_spec_t tnd_op_slice_spec = {
    .table = {.name = "slice",
              .help = "Keeps a part of each row of a ragged column, without copying it; "
                      "x[:, start:start + length] of a tf.RaggedTensor.",
              TND_OPTIONS(slice_options, slice_options_t)},
};

static tnd_status_t slice_open(void *state, const void *given, const tnd_schema_t *in,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    slice_t *self = state;
    const slice_options_t *chosen = given;
    TND_TRY(find_ragged(in, chosen->column, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    if (chosen->start >= column->shape[0])
        return tnd_fail(error,
                        "`start: %" PRIu64 "` leaves nothing of column `%s`, whose rows have "
                        "lengths up to %" PRIu64,
                        chosen->start, column->name, column->shape[0]);
    uint64_t longest = column->shape[0] - chosen->start;
    if (chosen->length != 0 && chosen->length < longest)
        longest = chosen->length;
    self->columns = in->count;
    self->start = chosen->start;
    self->length = longest;
    self->unit = tnd_column_unit(column);
    return add_ragged(facts, in, self->column, chosen->into, longest, &self->to, error);
}

static tnd_status_t slice_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const slice_t *self = state;
    tnd_op_pass(in, out, self->columns, self->to);
    for (uint32_t row = 0; row < in->rows; row++) {
        const tnd_ragged_t *from = &in->columns[self->column].ragged[row];
        uint64_t start = from->length < self->start ? from->length : self->start;
        uint64_t rest = from->length - start;
        out->columns[self->to].ragged[row] = (tnd_ragged_t){
            (uint8_t *)from->data + start * self->unit, rest < self->length ? rest : self->length};
    }
    return TND_OK;
}

typedef struct {
    tnd_strings_t columns;
    const char *into;
} concat_options_t;

typedef struct {
    uint32_t columns, count, from[TND_COLUMNS_MAX];
    size_t unit, size; /* bytes of one step along the first axis, of an element */
} concat_t;

static const tnd_option_t concat_options[] = {
    {TND_OPTION(concat_options_t, columns, COLUMNS, GRAPH),
     .help = "the ragged columns, in this order"},
    {TND_OPTION(concat_options_t, into, COLUMN, GRAPH), .help = "the new column"},
};

const tnd_op_spec_t tnd_op_concat_spec = {
    .table = {.name = "concat",
              .help = "Joins the rows of ragged columns, as tf.concat(..., axis=1) does.",
              TND_OPTIONS(concat_options, concat_options_t)},
};

static tnd_status_t concat_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    concat_t *self = state;
    const concat_options_t *chosen = given;
    uint64_t longest = 0;
    if (chosen->columns.count < 2 || chosen->columns.count > TND_COLUMNS_MAX)
        return tnd_fail(error, "`columns` names %zu columns; 2 to %d can be joined",
                        chosen->columns.count, TND_COLUMNS_MAX);
    for (size_t i = 0; i < chosen->columns.count; i++) {
        TND_TRY(find_ragged(in, chosen->columns.items[i], &self->from[i], error));
        const tnd_column_t *column = &in->columns[self->from[i]];
        const tnd_column_t *first = &in->columns[self->from[0]];
        if (column->dtype != first->dtype || column->rank != first->rank ||
            memcmp(column->shape + 1, first->shape + 1,
                   (first->rank - 1) * sizeof first->shape[0]) != 0)
            return tnd_fail(error,
                            "columns `%s` and `%s` differ in type or in an axis after the first",
                            first->name, column->name);
        longest += column->shape[0];
        facts->reads |= UINT64_C(1) << self->from[i];
    }
    self->columns = in->count;
    self->count = (uint32_t)chosen->columns.count;
    self->unit = tnd_column_unit(&in->columns[self->from[0]]);
    self->size = tnd_dtype_size(in->columns[self->from[0]].dtype);
    uint32_t to;
    TND_TRY(add_ragged(facts, in, self->from[0], chosen->into, longest, &to, error));
    facts->growth_max = 1 + self->count; /* of a column that is named each time */
    return TND_OK;
}

static tnd_status_t concat_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const concat_t *self = state;
    tnd_op_pass(in, out, self->columns, self->columns);
    for (uint32_t row = 0; row < in->rows; row++) {
        uint64_t length = 0;
        for (uint32_t i = 0; i < self->count; i++)
            length += in->columns[self->from[i]].ragged[row].length;
        uint8_t *to = tnd_room_take(out->room, length * self->unit, self->size);
        out->columns[self->columns].ragged[row] = (tnd_ragged_t){to, length};
        for (uint32_t i = 0; i < self->count; i++) {
            const tnd_ragged_t *from = &in->columns[self->from[i]].ragged[row];
            if (from->length > 0)
                memcpy(to, from->data, from->length * self->unit);
            to += from->length * self->unit;
        }
    }
    return TND_OK;
}

const tnd_op_t tnd_op_pad_ragged = {
    .spec = &tnd_op_pad_ragged_spec,
    .state_bytes = sizeof(pad_t),
    .open = pad_open,
    .apply = pad_apply,
};

const tnd_op_t tnd_op_slice = {
    .spec = &tnd_op_slice_spec,
    .state_bytes = sizeof(slice_t),
    .open = slice_open,
    .apply = slice_apply,
};

const tnd_op_t tnd_op_concat = {
    .spec = &tnd_op_concat_spec,
    .state_bytes = sizeof(concat_t),
    .open = concat_open,
    .apply = concat_apply,
};
