/*  actors/op/one_hot.c - numbers of classes as vectors: one_hot, with TensorFlow's meaning: the new
 *  axis is the last, and a number outside 0 ... depth - 1 gives a vector that is off everywhere. */
#include <math.h>
#include <string.h>

#include "actors/op/ops.h"
#include "runtime/core/numeric/numeric.h"

typedef struct {
    const char *column, *into;
    uint64_t depth;
    const char *to;
    double on, off;
} one_hot_options_t;

typedef struct {
    uint32_t columns, column, into; /* into == columns: a new one */
    tnd_dtype_t from;
    size_t elements; /* of a row that comes in; of a ragged one, of a step along its first axis */
    size_t depth;
    size_t size; /* of an element that goes out */
    _Alignas(8) uint8_t on[8], off[8];
    bool off_is_zero;
} one_hot_t;

static const tnd_option_t options[] = {
    {TND_OPTION(one_hot_options_t, column, COLUMN, GRAPH), .help = "the column of class numbers"},
    {TND_OPTION(one_hot_options_t, into, COLUMN, GRAPH), .fallback = "",
     .help = "a new column for the vectors; without it they replace the class numbers"},
    {TND_OPTION(one_hot_options_t, depth, U64, GRAPH), .range = "1..",
     .help = "how many classes there are; a number outside 0 ... depth - 1 is off everywhere, as "
             "in TensorFlow, and no error"},
    {TND_OPTION(one_hot_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "f32",
     .help = "the type of the vectors: u8, i8 ... i64, f16, bf16, f32, f64 or bool"},
    {TND_OPTION(one_hot_options_t, on, F64, GRAPH), .fallback = "1",
     .help = "the value at the place of the class"},
    {TND_OPTION(one_hot_options_t, off, F64, GRAPH), .fallback = "0",
     .help = "the value everywhere else"},
};

const tnd_op_spec_t tnd_op_one_hot_spec = {
    .table = {.name = "one_hot",
              .help = "Turns class numbers into vectors with one place set, as tf.one_hot.",
              TND_OPTIONS(options, one_hot_options_t)},
};

/*  The bits of a number in the type of the vectors. */
static tnd_status_t read_place(const char *option, double number, tnd_dtype_t to, uint8_t bits[8],
                               tnd_error_t *error)
{
    double back;
    tnd_cast(to, TND_F64, 1, bits, &number);
    tnd_cast(TND_F64, to, 1, &back, bits);
    if (tnd_dtype_is_float(to) ? isinf(back) && !isinf(number) : back != number)
        return tnd_fail(error, "`%s` is %g, which %s does not hold", option, number,
                        tnd_dtype_name(to));
    return TND_OK;
}

/*  The vectors of a ragged row are ragged; the other columns remain as they are. */
static void set_ragged(const one_hot_t *self, const tnd_schema_t *in, tnd_op_facts_t *facts)
{
    facts->schema.columns[self->into].ragged = true;
    double all = (double)tnd_schema_ragged_bytes(in);
    facts->growth_usual = (double)tnd_schema_ragged_bytes(&facts->schema) / all;
    facts->growth_max = 1 + (double)(self->depth * self->size) / (double)tnd_dtype_size(self->from);
}

static tnd_status_t one_hot_open(void *state, const void *given, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error)
{
    static const uint8_t zero[8];
    one_hot_t *self = state;
    const one_hot_options_t *chosen = given;
    tnd_dtype_t to;
    TND_TRY(tnd_op_find_any(in, chosen->column, &self->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &to, error));
    const tnd_column_t *column = &in->columns[self->column];
    if (tnd_dtype_is_float(column->dtype) || column->dtype == TND_BOOL)
        return tnd_fail(error, "column `%s` is %s; class numbers are integers: `cast` it first",
                        column->name, tnd_dtype_name(column->dtype));
    if (column->rank == TND_RANK_MAX)
        return tnd_fail(error, "column `%s` has %d dimensions already", column->name, TND_RANK_MAX);
    uint64_t shape[TND_RANK_MAX];
    memcpy(shape, column->shape, sizeof shape);
    shape[column->rank] = chosen->depth;
    self->columns = in->count;
    self->from = column->dtype;
    self->elements = column->ragged ? tnd_column_unit(column) / tnd_dtype_size(column->dtype)
                                    : tnd_column_elements(column);
    self->depth = chosen->depth;
    self->size = tnd_dtype_size(to);
    TND_TRY(read_place("on", chosen->on, to, self->on, error));
    TND_TRY(read_place("off", chosen->off, to, self->off, error));
    self->off_is_zero = memcmp(self->off, zero, self->size) == 0;
    bool is_new = chosen->into != NULL && strcmp(chosen->into, chosen->column) != 0;
    self->into = is_new ? in->count : self->column;
    facts->reads = UINT64_C(1) << self->column;
    TND_TRY(is_new ? tnd_op_add(facts, in, chosen->into, to, column->rank + 1, shape, error)
                   : tnd_op_replace(facts, in, self->column, to, column->rank + 1, shape, error));
    if (column->ragged)
        set_ragged(self, in, facts);
    return TND_OK;
}

static void fill_off(const one_hot_t *self, uint8_t *out, size_t count)
{
    if (self->off_is_zero) {
        memset(out, 0, count * self->size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * self->size, self->off, self->size);
}

/*  The vectors of so many class numbers. */
static void make_vectors(const one_hot_t *self, size_t count, uint8_t *to, const uint8_t *from)
{
    fill_off(self, to, count * self->depth);
    for (size_t i = 0; i < count; i++, to += self->depth * self->size) {
        /* A negative number becomes one that is larger than any depth. */
        uint64_t place;
        tnd_cast(TND_U64, self->from, 1, &place, from + i * tnd_dtype_size(self->from));
        if (place < self->depth)
            memcpy(to + place * self->size, self->on, self->size);
    }
}

static void make_ragged(const one_hot_t *self, const tnd_tile_t *in, tnd_tile_t *out)
{
    for (uint32_t row = 0; row < in->rows; row++) {
        const tnd_ragged_t *from = &in->columns[self->column].ragged[row];
        size_t count = from->length * self->elements;
        uint8_t *to = tnd_room_take(out->room, count * self->depth * self->size, self->size);
        make_vectors(self, count, to, from->data);
        out->columns[self->into].ragged[row] = (tnd_ragged_t){to, from->length};
    }
}

static tnd_status_t one_hot_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                  tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const one_hot_t *self = state;
    tnd_op_pass(in, out, self->columns, self->into);
    if (in->columns[self->column].ragged != NULL) {
        make_ragged(self, in, out);
        return TND_OK;
    }
    size_t row_bytes = self->elements * self->depth * self->size;
    for (uint32_t row = 0; row < in->rows; row++)
        make_vectors(self, self->elements, out->columns[self->into].base + row * row_bytes,
                     tnd_tile_row(in, self->column, row));
    return TND_OK;
}

const tnd_op_t tnd_op_one_hot = {
    .spec = &tnd_op_one_hot_spec,
    .state_bytes = sizeof(one_hot_t),
    .open = one_hot_open,
    .apply = one_hot_apply,
};
