/*  actors/op/python/python_tile.c - passes a tile to the interpreter, and takes what it made of it. */
#include <stdlib.h>
#include <string.h>

#include "actors/op/python/python_internal.h"
#include "actors/python/reply.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

/*  So often a row may end the interpreter until it is bad; the first time another process may have
 *  done it. */
enum { DEATHS_MAX = 3 };

enum { HEAD_WORDS = 5, COLUMN_WORDS = 3 };

/*  Where a request takes memory from. */
typedef struct {
    uint8_t *base; /* NULL: only the size is asked for */
    size_t used;
} memory_t;

/*  The offset of so many bytes. */
static uint64_t take(memory_t *memory, size_t bytes)
{
    size_t at = tnd_round_up(memory->used, TND_BUFFER_ALIGN);
    memory->used = at + bytes;
    return at;
}

static uint64_t ragged_length(const tnd_tile_t *in, uint32_t column)
{
    uint64_t sum = 0;
    for (uint32_t row = 0; row < in->rows; row++)
        sum += in->columns[column].ragged[row].length;
    return sum;
}

static void put_ragged(const tnd_tile_t *in, uint32_t column, size_t unit, uint8_t *data,
                       uint64_t *lengths)
{
    for (uint32_t row = 0; row < in->rows; row++) {
        const tnd_ragged_t *from = &in->columns[column].ragged[row];
        lengths[row] = from->length;
        if (from->length > 0)
            memcpy(data, from->data, from->length * unit);
        data += from->length * unit;
    }
}

static void put_fixed(const tnd_tile_t *in, uint32_t column, size_t bytes, uint8_t *data)
{
    if (in->columns[column].stride == bytes) {
        memcpy(data, in->columns[column].base, in->rows * bytes);
        return;
    }
    for (uint32_t row = 0; row < in->rows; row++)
        memcpy(data + row * bytes, tnd_tile_row(in, column, row), bytes);
}

/*  Places a column, and copies it if there is memory. */
static void put_column(const tnd_python_t *self, const tnd_tile_t *in, uint32_t column,
                       memory_t *memory, uint64_t words[COLUMN_WORDS])
{
    const tnd_column_t *like = &self->in.columns[column];
    size_t unit = like->ragged ? tnd_column_unit(like) : tnd_column_bytes(like);
    words[2] = (like->ragged ? ragged_length(in, column) : in->rows) * unit;
    words[0] = take(memory, words[2]);
    words[1] = like->ragged ? take(memory, in->rows * sizeof(uint64_t)) : 0;
    if (memory->base == NULL)
        return;
    if (like->ragged)
        put_ragged(in, column, unit, memory->base + words[0],
                   (uint64_t *)(void *)(memory->base + words[1]));
    else
        put_fixed(in, column, unit, memory->base + words[0]);
}

/*  64 bits of each row, as the first that a random operation draws. */
static uint64_t put_keys(const tnd_op_key_t *key, const tnd_tile_t *in, memory_t *memory)
{
    uint64_t at = take(memory, in->rows * sizeof(uint64_t));
    uint64_t *keys = (uint64_t *)(void *)(memory->base + at);
    for (uint32_t row = 0; row < in->rows && memory->base != NULL; row++) {
        tnd_random_t random;
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        keys[row] = tnd_random_u64(&random);
    }
    return at;
}

/*  Fills the request; returns how many words it has. */
static size_t put_tile(const tnd_python_t *self, const tnd_op_key_t *key, const tnd_tile_t *in,
                       memory_t *memory, uint64_t *request)
{
    /* An offset of 0 says that there is nothing. */
    (void)take(memory, TND_BUFFER_ALIGN);
    request[1] = in->rows;
    request[4] = self->random ? put_keys(key, in, memory) : 0;
    for (uint32_t i = 0; i < self->read_count; i++)
        put_column(self, in, self->read[i], memory, &request[HEAD_WORDS + i * COLUMN_WORDS]);
    request[3] = memory->used;
    return HEAD_WORDS + self->read_count * COLUMN_WORDS;
}

/* --- what comes back -------------------------------------------------------------------------- */

static tnd_status_t broken(const tnd_python_t *self, tnd_error_t *error)
{
    return tnd_fail(error, "%s: its interpreter gave a reply that makes no sense", self->call);
}

/*  Whether the numbers of rows are as declared.  They are copied first: a process that the function has
 *  left may still write. */
static bool take_counts(tnd_python_t *self, const tnd_reply_t *reply, uint32_t rows)
{
    uint64_t sum = 0, offset = reply->more;
    self->counted = offset != 0;
    if (offset == 0 || self->rows == TND_PYTHON_ONE)
        return offset == 0 && self->rows == TND_PYTHON_ONE && reply->rows == rows;
    const volatile uint64_t *counts = tnd_reply_at(reply, offset, rows * sizeof *counts);
    if (rows > self->counts_room) {
        free(self->counts);
        self->counts = tnd_allocate(rows, sizeof *self->counts);
        self->counts_room = rows;
    }
    for (uint32_t row = 0; counts != NULL && row < rows; row++) {
        uint64_t count = counts[row];
        if (count > self->most)
            return false;
        self->counts[row] = (uint32_t)count;
        sum += count;
    }
    return counts != NULL && sum == reply->rows;
}

static tnd_status_t read_reply(tnd_python_t *self, const uint64_t *words, size_t count,
                               uint32_t rows, tnd_reply_t *reply, tnd_error_t *error)
{
    size_t size;
    const uint8_t *base = tnd_interpreter_reply(self->interpreter, &size);
    return tnd_reply_init(reply, base, size, words, count, &self->made) &&
                   take_counts(self, reply, rows)
               ? TND_OK
               : broken(self, error);
}

/*  Copies ragged rows to memory of the block. */
static tnd_status_t take_ragged(tnd_python_t *self, const tnd_reply_t *reply, uint32_t made,
                                tnd_tile_t *out, tnd_error_t *error)
{
    const tnd_column_t *column = &self->made.columns[made];
    size_t unit = tnd_column_unit(column), sum;
    tnd_ragged_t *ragged = out->columns[self->place[made]].ragged;
    if (reply->rows > self->lengths_room) {
        free(self->lengths);
        self->lengths = tnd_allocate(reply->rows, sizeof *self->lengths);
        self->lengths_room = reply->rows;
    }
    const uint8_t *data = tnd_reply_ragged(reply, made, self->lengths, &sum);
    if (data == NULL)
        return broken(self, error);
    uint8_t *to = tnd_room_take(out->room, sum, tnd_dtype_size(column->dtype));
    memcpy(to, data, sum);
    for (uint64_t row = 0; row < reply->rows; row++) {
        ragged[row] = (tnd_ragged_t){.data = to, .length = self->lengths[row]};
        to += ragged[row].length * unit;
    }
    return TND_OK;
}

static tnd_status_t take_fixed(const tnd_python_t *self, const tnd_reply_t *reply, uint32_t made,
                               tnd_tile_t *out, tnd_error_t *error)
{
    const uint8_t *data = tnd_reply_fixed(reply, made);
    if (data == NULL)
        return broken(self, error);
    memcpy(out->columns[self->place[made]].base, data,
           reply->rows * tnd_column_bytes(&self->made.columns[made]));
    return TND_OK;
}

/*  The columns that are passed on, of the rows that there are. */
static void pass_rows(const tnd_python_t *self, const tnd_tile_t *in, tnd_tile_t *out)
{
    uint32_t made = 0;
    for (uint32_t row = 0; row < in->rows; row++)
        for (uint32_t copy = 0; copy < self->counts[row]; copy++, made++) {
            out->sample[made] = tnd_op_sample_of_copy(in->sample[row], copy);
            out->origin[made] = in->origin[row];
            for (uint32_t c = 0; c < self->out.count; c++) {
                uint32_t from = (uint32_t)self->from[c];
                if (self->from[c] >= 0 && self->out.columns[c].ragged)
                    out->columns[c].ragged[made] = in->columns[from].ragged[row];
                else if (self->from[c] >= 0)
                    memcpy(tnd_tile_row(out, c, made), tnd_tile_row(in, from, row),
                           tnd_column_bytes(&self->out.columns[c]));
            }
        }
}

static tnd_status_t take_tile(tnd_python_t *self, const tnd_reply_t *reply, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    for (uint32_t made = 0; made < self->made.count; made++)
        TND_TRY(self->made.columns[made].ragged ? take_ragged(self, reply, made, out, error)
                                                : take_fixed(self, reply, made, out, error));
    out->rows = (uint32_t)reply->rows;
    if (self->counted) {
        pass_rows(self, in, out);
        return TND_OK;
    }
    for (uint32_t c = 0; c < self->out.count; c++)
        if (self->from[c] >= 0)
            out->columns[c] = in->columns[self->from[c]];
    return TND_OK;
}

/* --- calls ------------------------------------------------------------------------------------ */

/*  Starts the interpreter again, which has ended, or whose replies cannot be trusted. */
static tnd_status_t restart(tnd_python_t *self, const tnd_error_t *why, tnd_error_t *error)
{
    tnd_error_t failed;
    self->scope->renew(self->scope->context);
    if (tnd_interpreter_restart(self->interpreter, &failed) != TND_OK)
        return tnd_fail(error, "%s", failed.text);
    self->scope->log(self->scope->context, TND_LOG_WARNING, why->text);
    return TND_OK;
}

/*  One call, after which the interpreter runs again whatever it did. */
static tnd_status_t call(tnd_python_t *self, const tnd_op_key_t *key, const tnd_tile_t *in,
                         tnd_tile_t *out, tnd_call_end_t *end_p, tnd_error_t *error)
{
    uint64_t request[TND_INTERPRETER_WORDS] = {0}, words[TND_INTERPRETER_WORDS];
    memory_t memory = {.base = NULL};
    tnd_reply_t reply;
    (void)put_tile(self, key, in, &memory, request);
    memory = (memory_t){.base = tnd_interpreter_memory(self->interpreter, memory.used, error)};
    if (memory.base == NULL)
        return TND_FAILED;
    size_t count = put_tile(self, key, in, &memory, request);
    self->scope->renew(self->scope->context);
    *end_p = tnd_interpreter_call(self->interpreter, request, count, words, &count, error);
    if (*end_p == TND_CALL_DIED || *end_p == TND_CALL_HUNG) {
        const tnd_error_t why = *error;
        TND_TRY(restart(self, &why, error));
    }
    if (*end_p != TND_CALL_DONE)
        return TND_FAILED;
    if (read_reply(self, words, count, in->rows, &reply, error) == TND_OK &&
        take_tile(self, &reply, in, out, error) == TND_OK)
        return TND_OK;
    const tnd_error_t why = *error;
    TND_TRY(restart(self, &why, error));
    return tnd_fail(error, "%s", why.text);
}

tnd_status_t tnd_python_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error)
{
    tnd_python_t *self = state;
    tnd_status_t status = TND_FAILED;
    tnd_call_end_t end = TND_CALL_DIED;
    tnd_error_t why;
    if (self->interpreter == NULL)
        return tnd_fail(error, "%s: no interpreter was started", self->call);
    /* A tile that fails is run again row by row, which finds the row. */
    for (uint32_t deaths = 0; end == TND_CALL_DIED && deaths < DEATHS_MAX; deaths++) {
        end = TND_CALL_REFUSED;
        status = call(self, key, in, out, &end, &why);
        if (in->rows > 1)
            break;
    }
    return status == TND_OK ? TND_OK : tnd_fail(error, "%s", why.text);
}
