/*  runtime/data/room.c - memory for the ragged rows of a block, which is taken row by row.  */
#include "runtime/data/room.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"

/*  Pieces of up to so many bytes come from a pool; larger ones are rare, and a pool would retain as
 *  many as were ever in use at once. */
enum { PIECE_BYTES_MIN = 4096, POOL_BYTES_MAX = 1 << 20 };

void tnd_room_fini(tnd_room_t *self)
{
    tnd_room_clear(self);
    tnd_pool_destroy(&self->pool);
}

/*  A piece for at least `bytes`; the first one for as many as blocks usually take. */
static tnd_buffer_t *take_piece(tnd_room_t *self, size_t bytes)
{
    size_t size = self->count == 0 ? self->usual : self->used;
    size = size > bytes ? size : bytes;
    size = size > PIECE_BYTES_MIN ? size : PIECE_BYTES_MIN;
    if (size > POOL_BYTES_MAX)
        return tnd_buffer_new(size);
    if (size > self->pool_bytes) {
        tnd_pool_destroy(&self->pool);
        for (self->pool_bytes = PIECE_BYTES_MIN; self->pool_bytes < size;)
            self->pool_bytes *= 2;
        self->pool = tnd_pool_new(self->pool_bytes);
    }
    return tnd_pool_take(self->pool);
}

void *tnd_room_take(tnd_room_t *self, size_t bytes, size_t align)
{
    size_t at = tnd_round_up(self->last, align);
    size_t size = self->count > 0 ? tnd_buffer_size(self->pieces[self->count - 1]) : 0;
    if (self->count == 0 || at > size || bytes > size - at) {
        assert(self->count < TND_ROOM_PIECES_MAX);
        tnd_buffer_t *piece = take_piece(self, bytes);
        self->pieces[self->count++] = piece;
        at = 0;
    }
    self->last = at + bytes;
    self->used += bytes;
    return (uint8_t *)tnd_buffer_data(self->pieces[self->count - 1]) + at;
}

bool tnd_room_owns(const tnd_room_t *self, const void *at)
{
    for (uint32_t i = self->count; i > 0; i--) {
        uintptr_t base = (uintptr_t)tnd_buffer_data(self->pieces[i - 1]);
        if ((uintptr_t)at >= base && (uintptr_t)at - base < tnd_buffer_size(self->pieces[i - 1]))
            return true;
    }
    return false;
}

tnd_buffer_t *tnd_room_buffer(tnd_room_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        tnd_buffer_seal(self->pieces[i]);
    bool full = self->count == 1 && 2 * self->used >= tnd_buffer_size(self->pieces[0]);
    return full ? self->pieces[0] : NULL;
}

void tnd_room_clear(tnd_room_t *self)
{
    /* After a block that took much more than others, one eighth less each time. */
    size_t less = self->usual - self->usual / 8;
    self->usual = self->used > less ? self->used : less;
    while (self->count > 0)
        tnd_buffer_drop(&self->pieces[--self->count]);
    self->last = self->used = 0;
}

size_t tnd_room_column(uint64_t *index, const uint64_t *lengths, uint32_t rows, size_t unit,
                       tnd_buffer_t *buffer, tnd_block_column_t *column)
{
    uint64_t base = UINT64_MAX, bytes = 0, end = 0;
    for (uint32_t i = 0; i < rows; i++) {
        bytes += lengths[i] * unit;
        if (lengths[i] > 0 && index[i] < base)
            base = index[i];
    }
    tnd_buffer_t *moved = buffer == NULL ? tnd_buffer_new(bytes) : NULL;
    uint8_t *to = moved != NULL ? tnd_buffer_data(moved) : (uint8_t *)(uintptr_t)base;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t size = lengths[i] * unit;
        if (moved != NULL && size > 0)
            memcpy(to + end, (const void *)(uintptr_t)index[i], size);
        /* A row without bytes follows the one before it, so that rows remain a run. */
        index[i] = moved != NULL || size == 0 ? end : index[i] - base;
        end = index[i] + size;
    }
    if (moved != NULL)
        tnd_buffer_seal(moved);
    *column =
        (tnd_block_column_t){.base = bytes > 0 || moved != NULL ? to : tnd_buffer_data(buffer),
                             .stride = 1,
                             .index = index,
                             .buffer = moved != NULL ? moved : tnd_buffer_hold(buffer),
                             .lengths = lengths};
    return moved != NULL ? bytes : 0;
}

/* --- for the code of users --- */

void tnd_room_serve(tnd_room_t *self, const tnd_schema_t *schema, const tnd_schema_t *in_schema,
                    const tnd_rows_t *in)
{
    self->schema = schema;
    self->in_schema = in_schema;
    self->in = in;
    self->error.text[0] = '\0';
}

/*  Whether a row of this length fits the column; it is an error of the room if not. */
static bool fits(tnd_room_t *self, uint32_t column, uint64_t length)
{
    const tnd_column_t *of = column < self->schema->count ? &self->schema->columns[column] : NULL;
    tnd_error_t *error = self->error.text[0] == '\0' ? &self->error : NULL;
    if (of == NULL || !of->ragged)
        (void)tnd_fail(error, "room is wanted in column %u, which is not ragged", column);
    else if (length > of->shape[0])
        (void)tnd_fail(error,
                       "column `%s` has length %llu, above the %llu that its `open` declared",
                       of->name, (unsigned long long)length, (unsigned long long)of->shape[0]);
    else
        return true;
    return false;
}

void *tnd_rows_room(tnd_rows_t *rows, uint32_t column, size_t row, uint64_t length)
{
    tnd_room_t *self = rows->room;
    if (!fits(self, column, length))
        return NULL;
    const tnd_column_t *of = &self->schema->columns[column];
    void *data = tnd_room_take(self, length * tnd_column_unit(of), tnd_dtype_size(of->dtype));
    rows->columns[column].ragged[row] = (tnd_ragged_t){data, length};
    return data;
}

/*  Whether these bytes are in a ragged row of the input. */
static bool is_input(const tnd_room_t *self, const void *data, size_t bytes)
{
    for (uint32_t i = 0; self->in != NULL && i < self->in_schema->count; i++) {
        if (self->in->columns[i].ragged == NULL)
            continue;
        const tnd_ragged_t *from = &self->in->columns[i].ragged[self->in_row];
        uintptr_t at = (uintptr_t)data - (uintptr_t)from->data;
        size_t size = from->length * tnd_column_unit(&self->in_schema->columns[i]);
        if (at <= size && bytes <= size - at)
            return true;
    }
    return false;
}

void tnd_rows_keep(tnd_rows_t *rows, uint32_t column, size_t row, const void *data, uint64_t length)
{
    tnd_room_t *self = rows->room;
    if (!fits(self, column, length))
        return;
    const tnd_column_t *of = &self->schema->columns[column];
    size_t bytes = length * tnd_column_unit(of);
    if ((uintptr_t)data % tnd_dtype_size(of->dtype) == 0 && is_input(self, data, bytes)) {
        rows->columns[column].ragged[row] = (tnd_ragged_t){(void *)(uintptr_t)data, length};
        return;
    }
    void *room = tnd_rows_room(rows, column, row, length);
    if (bytes > 0)
        memcpy(room, data, bytes);
}
