/*  actors/op/shape.c - the same numbers in another shape or order: reshape, transpose. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actors/op/ops.h"

typedef struct {
    const char *column;
    tnd_numbers_t shape;
} reshape_options_t;

typedef struct {
    uint32_t columns;
} reshape_t;

static const tnd_option_t reshape_options[] = {
    {TND_OPTION(reshape_options_t, column, COLUMN, GRAPH),
     .help = "the column that gets another shape"},
    {TND_OPTION(reshape_options_t, shape, F64S, GRAPH),
     .help = "the new shape of one row; one length may be -1, and follows from the others"},
};

const tnd_op_spec_t tnd_op_reshape_spec = {
    .table = {.name = "reshape",
              .help = "Gives the rows of a column another shape, without touching them, as "
                      "tf.reshape.",
              TND_OPTIONS(reshape_options, reshape_options_t)},
};

static const char *column_text(const tnd_column_t *column, char *text, size_t room)
{
    tnd_schema_t alone = {.count = 1};
    alone.columns[0] = *column;
    return tnd_schema_text(&alone, text, room);
}

/*  The lengths of the new shape, with the one that is left open. */
static tnd_status_t read_shape(const tnd_numbers_t *numbers, const tnd_column_t *column,
                               uint64_t shape[TND_RANK_MAX], tnd_error_t *error)
{
    int64_t lengths[TND_RANK_MAX];
    uint64_t product = 1, elements = tnd_column_elements(column);
    int open = -1;
    char text[128];
    TND_TRY(tnd_op_whole("shape", numbers, -1, lengths, TND_RANK_MAX, error));
    for (size_t i = 0; i < numbers->count; i++) {
        if (lengths[i] == 0 || (lengths[i] == -1 && open >= 0))
            return tnd_fail(error, lengths[i] == 0 ? "a length of `shape` is 0"
                                                   : "two lengths of `shape` are -1");
        if (lengths[i] == -1)
            open = (int)i;
        else if ((uint64_t)lengths[i] <= elements / product)
            product *= (uint64_t)lengths[i];
        else
            product = elements + 1; /* no divisor of it, and never less again */
        if (product > elements)
            break;
        shape[i] = (uint64_t)lengths[i];
    }
    if (product > elements || (open >= 0 ? elements % product != 0 : elements != product))
        return tnd_fail(error,
                        "column `%s` has %" PRIu64 " numbers a row, which `shape` does not "
                        "hold",
                        column_text(column, text, sizeof text), elements);
    if (open >= 0)
        shape[open] = elements / product;
    return TND_OK;
}

static tnd_status_t reshape_open(void *state, const void *given, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error)
{
    reshape_t *self = state;
    const reshape_options_t *chosen = given;
    uint32_t index;
    uint64_t shape[TND_RANK_MAX];
    TND_TRY(tnd_op_find(in, chosen->column, &index, error));
    const tnd_column_t *column = &in->columns[index];
    TND_TRY(read_shape(&chosen->shape, column, shape, error));
    TND_TRY(tnd_op_replace(facts, in, index, column->dtype, (uint32_t)chosen->shape.count, shape,
                           error));
    facts->reads = 0;
    facts->passes[index] = (int8_t)index;
    self->columns = in->count;
    return TND_OK;
}

static tnd_status_t reshape_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                  tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    tnd_op_pass(in, out, ((const reshape_t *)state)->columns, UINT32_MAX);
    return TND_OK;
}

typedef struct {
    const char *column;
    tnd_numbers_t axes;
} transpose_options_t;

/*  An axis of what comes out, and the bytes from one place to the next on both sides. */
typedef struct {
    size_t length, step, out_step;
} axis_t;

typedef struct {
    uint32_t columns, column, rank;
    axis_t axes[TND_RANK_MAX]; /* the longest last; those that stay together are one */
    size_t size;               /* of what is moved at a time */
} transpose_t;

static const tnd_option_t transpose_options[] = {
    {TND_OPTION(transpose_options_t, column, COLUMN, GRAPH),
     .help = "the column whose axes change places"},
    {TND_OPTION(transpose_options_t, axes, F64S, GRAPH),
     .help = "the axes of a row in their new order, as NumPy's: [2, 0, 1] puts channels first"},
};

const tnd_op_spec_t tnd_op_transpose_spec = {
    .table = {.name = "transpose",
              .help = "Puts the axes of each row into another order, as tf.transpose.",
              TND_OPTIONS(transpose_options, transpose_options_t)},
};

static tnd_status_t read_axes(const tnd_numbers_t *numbers, const tnd_column_t *column,
                              int64_t axes[TND_RANK_MAX], tnd_error_t *error)
{
    char text[128];
    uint32_t seen = 0;
    TND_TRY(tnd_op_whole("axes", numbers, 0, axes, TND_RANK_MAX, error));
    for (size_t i = 0; i < numbers->count; i++)
        seen |= axes[i] < (int64_t)column->rank ? UINT32_C(1) << axes[i] : 0;
    if (numbers->count != column->rank || seen != (UINT32_C(1) << column->rank) - 1)
        return tnd_fail(error, "`axes` must name each axis of column `%s` once: 0 to %d",
                        column_text(column, text, sizeof text), (int)column->rank - 1);
    return TND_OK;
}

/*  Joins axes that lie in what comes in as they will in what comes out, and drops those of length
 *  1; the last one becomes the unit that is moved if it stays the last. */
static void join_axes(transpose_t *self, const axis_t *axes, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        axis_t *last = self->rank > 0 ? &self->axes[self->rank - 1] : NULL;
        if (axes[i].length == 1)
            continue;
        if (last != NULL && last->step == axes[i].length * axes[i].step)
            *last = (axis_t){.length = last->length * axes[i].length, .step = axes[i].step};
        else
            self->axes[self->rank++] = axes[i];
    }
    if (self->rank > 0 && self->axes[self->rank - 1].step == self->size)
        self->size *= self->axes[--self->rank].length;
}

/*  Says where the output goes, and puts the longest axis last, for the innermost loop. */
static void order_axes(transpose_t *self)
{
    size_t step = self->size;
    uint32_t longest = 0;
    for (uint32_t i = self->rank; i > 0; i--) {
        self->axes[i - 1].out_step = step;
        step *= self->axes[i - 1].length;
    }
    for (uint32_t i = 1; i < self->rank; i++)
        if (self->axes[i].length >= self->axes[longest].length)
            longest = i;
    if (self->rank > 0) {
        axis_t last = self->axes[self->rank - 1];
        self->axes[self->rank - 1] = self->axes[longest];
        self->axes[longest] = last;
    }
}

static tnd_status_t transpose_open(void *state, const void *given, const tnd_schema_t *in,
                                   tnd_op_facts_t *facts, tnd_error_t *error)
{
    transpose_t *self = state;
    const transpose_options_t *chosen = given;
    TND_TRY(tnd_op_find(in, chosen->column, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    int64_t order[TND_RANK_MAX];
    TND_TRY(read_axes(&chosen->axes, column, order, error));
    size_t steps[TND_RANK_MAX], step = tnd_dtype_size(column->dtype);
    axis_t axes[TND_RANK_MAX];
    uint64_t shape[TND_RANK_MAX];
    self->columns = in->count;
    self->size = step;
    for (uint32_t i = column->rank; i > 0; i--) {
        steps[i - 1] = step;
        step *= column->shape[i - 1];
    }
    for (uint32_t i = 0; i < column->rank; i++) {
        shape[i] = column->shape[order[i]];
        axes[i] = (axis_t){.length = shape[i], .step = steps[order[i]]};
    }
    join_axes(self, axes, column->rank);
    order_axes(self);
    return tnd_op_replace(facts, in, self->column, column->dtype, column->rank, shape, error);
}

/*  A size that is known when this is compiled costs no call. */
#define MOVE(bytes)                                                                                \
    for (size_t i = 0; i < axis->length; i++)                                                      \
        memcpy(out + i * axis->out_step, in + i * axis->step, bytes);

static void move_line(uint8_t *restrict out, const uint8_t *restrict in, const axis_t *axis,
                      size_t size)
{
    switch (size) {
    case 1:
        MOVE(1)
        break;
    case 2:
        MOVE(2)
        break;
    case 4:
        MOVE(4)
        break;
    case 8:
        MOVE(8)
        break;
    default:
        MOVE(size)
    }
}

static void move(const transpose_t *self, uint32_t depth, uint8_t *out, const uint8_t *in)
{
    const axis_t *axis = &self->axes[depth];
    if (depth + 1 == self->rank) {
        move_line(out, in, axis, self->size);
        return;
    }
    for (size_t i = 0; i < axis->length; i++)
        move(self, depth + 1, out + i * axis->out_step, in + i * axis->step);
}

static tnd_status_t transpose_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                    tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const transpose_t *self = state;
    tnd_op_pass(in, out, self->columns, self->column);
    for (uint32_t row = 0; row < in->rows; row++) {
        uint8_t *to = tnd_tile_row(out, self->column, row);
        const uint8_t *from = tnd_tile_row(in, self->column, row);
        if (self->rank == 0)
            memcpy(to, from, self->size);
        else
            move(self, 0, to, from);
    }
    return TND_OK;
}

const tnd_op_t tnd_op_reshape = {
    .spec = &tnd_op_reshape_spec,
    .state_bytes = sizeof(reshape_t),
    .open = reshape_open,
    .apply = reshape_apply,
};

const tnd_op_t tnd_op_transpose = {
    .spec = &tnd_op_transpose_spec,
    .state_bytes = sizeof(transpose_t),
    .open = transpose_open,
    .apply = transpose_apply,
};
