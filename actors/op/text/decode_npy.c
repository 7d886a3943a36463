/*  actors/op/text/decode_npy.c - bytes of .npy files become arrays: decode_npy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actors/op/text/bytes_column.h"
#include "actors/stored/npy_file.h"
#include "actors/stored/npy_header.h"

typedef struct {
    const char *column, *to, *dtype;
    tnd_numbers_t shape;
    bool ragged;
    uint64_t max;
} npy_options_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_column_t made;
    size_t row_bytes, unit,
        size; /* of a row of fixed shape, of one step of its length, an element */
    char what[TND_COLUMN_NAME_MAX + 16];
} npy_t;

static const tnd_option_t options[] = {
    {TND_OPTION(npy_options_t, column, COLUMN, GRAPH),
     .help = "the ragged column of u8 with the bytes of a .npy file per row"},
    {TND_OPTION(npy_options_t, to, COLUMN, GRAPH), .fallback = "",
     .help = "a new column for the arrays; without it, they replace the bytes"},
    {TND_OPTION(npy_options_t, dtype, STRING, GRAPH), .unit = "type", .example = "f32",
     .help = "the type of the arrays; files of another type are bad rows"},
    {TND_OPTION(npy_options_t, shape, F64S, GRAPH), .fallback = "",
     .help = "the shape of the arrays; if they are ragged, of one step along their first axis"},
    {TND_OPTION(npy_options_t, ragged, BOOL, GRAPH), .fallback = "false",
     .help = "whether the length of the first axis differs from row to row"},
    {TND_OPTION(npy_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the maximum length of a ragged array, for which memory is reserved"},
};

const tnd_op_spec_t tnd_op_decode_npy_spec = {
    .table = {.name = "decode_npy",
              .help = "Reads the bytes of .npy files as arrays, as numpy.load does; samples of "
                      "WebDataset have them.",
              TND_OPTIONS(options, npy_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t npy_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    npy_t *self = state;
    const npy_options_t *chosen = given;
    tnd_column_t *made = &self->made;
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    TND_TRY(tnd_op_dtype(chosen->dtype, &made->dtype, error));
    TND_TRY(tnd_bytes_shape(&chosen->shape, made, error));
    if (chosen->max != 0 && !chosen->ragged)
        return tnd_fail(error, "`max` is for arrays with `ragged: true`");
    self->unit = self->row_bytes = tnd_column_bytes(made);
    self->size = tnd_dtype_size(made->dtype);
    if (chosen->ragged) {
        if (made->rank == TND_RANK_MAX)
            return tnd_fail(error, "a ragged array has at most %d axes", TND_RANK_MAX);
        memmove(made->shape + 1, made->shape, made->rank * sizeof made->shape[0]);
        made->shape[0] = chosen->max != 0 ? chosen->max : self->bytes.longest / self->unit;
        made->rank++;
        made->ragged = true;
    }
    if (made->ragged ? made->shape[0] == 0 : self->row_bytes > self->bytes.longest)
        return tnd_fail(error,
                        "an array has %zu bytes or more, but the rows of column `%s` have at most "
                        "%" PRIu64,
                        self->unit, self->bytes.name, self->bytes.longest);
    snprintf(self->what, sizeof self->what, "column `%s`", self->bytes.name);
    return tnd_bytes_make(&self->bytes, in, chosen->to, made, facts, error);
}

static tnd_status_t refuse_shape(const npy_t *self, const tnd_npy_array_t *array,
                                 tnd_error_t *error)
{
    char text[128] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < array->axes && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, i > 0 ? ", " : "",
                                 array->shape[i]);
    return tnd_fail(error, "%s: is %s of shape [%s], which is not what `dtype` and `shape` say",
                    self->what, tnd_dtype_name(array->dtype), text);
}

static bool fits(const npy_t *self, const tnd_npy_array_t *array)
{
    const tnd_column_t *made = &self->made;
    if (array->dtype != made->dtype || array->axes != made->rank)
        return false;
    for (uint32_t i = made->ragged; i < made->rank; i++)
        if (array->shape[i] != made->shape[i])
            return false;
    return true;
}

static tnd_status_t read_row(const npy_t *self, const tnd_ragged_t *from, tnd_tile_t *out,
                             uint32_t row, tnd_error_t *error)
{
    tnd_npy_array_t array;
    TND_TRY(tnd_npy_find(&array, self->what, from->data, from->length, error));
    if (!fits(self, &array))
        return refuse_shape(self, &array, error);
    if (!self->made.ragged) {
        memcpy(tnd_tile_row(out, self->bytes.to, row), array.data, self->row_bytes);
        return TND_OK;
    }
    if (array.shape[0] > self->made.shape[0])
        return tnd_fail(error, "%s: has length %" PRIu64 ", more than `max` (%" PRIu64 ")",
                        self->what, array.shape[0], self->made.shape[0]);
    tnd_ragged_t *made = &out->columns[self->bytes.to].ragged[row];
    *made = (tnd_ragged_t){(void *)(uintptr_t)array.data, array.shape[0]};
    if (array.bytes == 0 || (uintptr_t)array.data % self->size == 0)
        return TND_OK;
    made->data = memcpy(tnd_room_take(out->room, array.bytes, self->size), array.data, array.bytes);
    return TND_OK;
}

static tnd_status_t npy_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const npy_t *self = state;
    tnd_op_pass(in, out, self->bytes.columns, self->bytes.to);
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(read_row(self, &in->columns[self->bytes.column].ragged[row], out, row, error));
    return TND_OK;
}

/*  Its values are all 0.  A row without axes has no record: headers are written with one at least. */
static tnd_ragged_t npy_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const npy_t *self = state;
    tnd_column_t column = self->made;
    char head[TND_NPY_HEADER_MAX];
    *column_p = self->bytes.column;
    if (column.rank == 0)
        return (tnd_ragged_t){0};
    uint64_t rows = column.ragged ? 1 : column.shape[0];
    size_t bytes = column.ragged ? self->unit : self->row_bytes;
    column.ragged = true;
    size_t size = tnd_npy_header(head, &column, rows, 64);
    uint8_t *data = tnd_room_take(room, size + bytes, TND_BUFFER_ALIGN);
    memcpy(data, head, size);
    memset(data + size, 0, bytes);
    return (tnd_ragged_t){data, size + bytes};
}

const tnd_op_t tnd_op_decode_npy = {
    .spec = &tnd_op_decode_npy_spec,
    .state_bytes = sizeof(npy_t),
    .open = npy_open,
    .apply = npy_apply,
    .record = npy_record,
};
