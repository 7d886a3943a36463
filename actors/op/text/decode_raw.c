/*  actors/op/text/decode_raw.c - bytes as the numbers that they are in memory: decode_raw. */
#include <inttypes.h>
#include <string.h>

#include "actors/op/text/bytes_column.h"

typedef struct {
    const char *column, *into, *to;
    tnd_numbers_t shape;
    bool little_endian;
} raw_options_t;

typedef struct {
    tnd_bytes_column_t bytes;
    tnd_dtype_t dtype;
    size_t size, row_bytes; /* of an element, of a row of fixed shape; 0: it is ragged */
    bool swaps;
} raw_t;

static const tnd_option_t options[] = {
    TND_BYTES_OPTIONS(raw_options_t, "the ragged column of u8 with the bytes"),
    {TND_OPTION(raw_options_t, to, STRING, GRAPH), .unit = "type", .example = "i16",
     .help = "the type of the numbers: u8, i8 ... i64, f16, bf16, f32, f64 or bool"},
    {TND_OPTION(raw_options_t, shape, F64S, GRAPH), .fallback = "",
     .help = "the shape of every row; other rows are bad. Without it the column is ragged"},
    {TND_OPTION(raw_options_t, little_endian, BOOL, GRAPH), .fallback = "true",
     .help = "whether the first byte of a number is its lowest"},
};

const tnd_op_spec_t tnd_op_decode_raw_spec = {
    .table = {.name = "decode_raw",
              .help = "Reads bytes as numbers, as tf.io.decode_raw does in TensorFlow.",
              TND_OPTIONS(options, raw_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t raw_open(void *state, const void *given, const tnd_schema_t *in,
                             tnd_op_facts_t *facts, tnd_error_t *error)
{
    raw_t *self = state;
    const raw_options_t *chosen = given;
    tnd_column_t made = {.rank = 1, .ragged = true};
    TND_TRY(tnd_bytes_find(&self->bytes, in, chosen->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &self->dtype, error));
    made.dtype = self->dtype;
    self->size = tnd_dtype_size(self->dtype);
    self->swaps = !chosen->little_endian && self->size > 1;
    made.shape[0] = self->bytes.longest / self->size;
    if (chosen->shape.count > 0) {
        made.ragged = false;
        TND_TRY(tnd_bytes_shape(&chosen->shape, &made, error));
        self->row_bytes = tnd_column_bytes(&made);
    }
    if (self->row_bytes > self->bytes.longest || made.shape[0] == 0)
        return tnd_fail(error,
                        "a row has %zu bytes, but the rows of column `%s` have at most %" PRIu64,
                        self->row_bytes > 0 ? self->row_bytes : self->size, self->bytes.name,
                        self->bytes.longest);
    return tnd_bytes_make(&self->bytes, in, chosen->into, &made, facts, error);
}

static void copy(const raw_t *self, uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (!self->swaps) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += self->size)
        for (size_t i = 0; i < self->size; i++)
            to[at + i] = from[at + self->size - 1 - i];
}

static tnd_status_t read_row(const raw_t *self, const tnd_ragged_t *from, tnd_tile_t *out,
                             uint32_t row, tnd_error_t *error)
{
    if (from->length % self->size != 0)
        return tnd_fail(error,
                        "column `%s` has %" PRIu64 " bytes, which is not a multiple of the %zu of "
                        "%s",
                        self->bytes.name, from->length, self->size, tnd_dtype_name(self->dtype));
    if (self->row_bytes != 0) {
        if (from->length != self->row_bytes)
            return tnd_fail(error, "column `%s` has %" PRIu64 " bytes, but `shape` needs %zu",
                            self->bytes.name, from->length, self->row_bytes);
        copy(self, tnd_tile_row(out, self->bytes.to, row), from->data, self->row_bytes);
        return TND_OK;
    }
    tnd_ragged_t *made = &out->columns[self->bytes.to].ragged[row];
    *made = (tnd_ragged_t){from->data, from->length / self->size};
    if (from->length == 0 || (!self->swaps && (uintptr_t)from->data % self->size == 0))
        return TND_OK;
    made->data = tnd_room_take(out->room, from->length, self->size);
    copy(self, made->data, from->data, from->length);
    return TND_OK;
}

static tnd_status_t raw_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const raw_t *self = state;
    tnd_op_pass(in, out, self->bytes.columns, self->bytes.to);
    for (uint32_t row = 0; row < in->rows; row++)
        TND_TRY(read_row(self, &in->columns[self->bytes.column].ragged[row], out, row, error));
    return TND_OK;
}

static tnd_ragged_t raw_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const raw_t *self = state;
    size_t bytes = self->row_bytes != 0 ? self->row_bytes : self->size;
    uint8_t *data = tnd_room_take(room, bytes, TND_BUFFER_ALIGN);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(i % 63 + 1);
    *column_p = self->bytes.column;
    return (tnd_ragged_t){data, bytes};
}

const tnd_op_t tnd_op_decode_raw = {
    .spec = &tnd_op_decode_raw_spec,
    .state_bytes = sizeof(raw_t),
    .open = raw_open,
    .apply = raw_apply,
    .record = raw_record,
};
