/*  runtime/data/block.c - rows of a stream in columns: the unit of exchange.  */
#include "runtime/data/block.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/free_list.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/data/mapped.h"

/*  One free list per size of slices: room for 8, 16, 32 ... pieces. */
enum { SLICE_PIECES_MIN = 8, SLICE_SIZES = 29 };

/*  Gathering asks for rows ahead of the one it copies: about this many bytes, this many rows. */
enum { AHEAD_BYTES = 2048, AHEAD_MIN = 2, AHEAD_MAX = 16 };
enum { LINE_BYTES = 64, AHEAD_LINES_MAX = 8 };

struct tnd_block_pool {
    tnd_free_list_t blocks;
    tnd_free_list_t slices[SLICE_SIZES];
    /*  The owner and all that is out. */
    _Alignas(TND_BUFFER_ALIGN) atomic_size_t holders;
};

/*  What precedes a block or a slice in memory. */
typedef struct {
    _Alignas(TND_BUFFER_ALIGN) tnd_free_list_node_t node;
    tnd_block_pool_t *block_pool;
    tnd_free_list_t *free_list;
    atomic_uint holders;
    atomic_bool sealed;
} header_t;

static header_t *header_of(const void *thing)
{
    return (header_t *)((uintptr_t)thing - sizeof(header_t));
}

/*  Returns an item of this free list, used or new, held once. */
static void *take(tnd_block_pool_t *block_pool, tnd_free_list_t *free_list, size_t size)
{
    atomic_fetch_add_explicit(&block_pool->holders, 1, memory_order_relaxed);
    header_t *self = (header_t *)(void *)tnd_free_list_take(free_list);
    if (self == NULL) {
        self = tnd_allocate_aligned(TND_BUFFER_ALIGN, sizeof *self + size);
        *self = (header_t){.block_pool = block_pool, .free_list = free_list};
    }
    atomic_store_explicit(&self->sealed, false, memory_order_relaxed);
    atomic_store_explicit(&self->holders, 1, memory_order_relaxed);
    return self + 1;
}

static void hold(header_t *self)
{
    assert(atomic_load_explicit(&self->sealed, memory_order_acquire));
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
}

static bool was_last(header_t *self)
{
    return atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) == 1;
}

static void clear(tnd_free_list_t *free_list)
{
    for (tnd_free_list_node_t *node; (node = tnd_free_list_take(free_list)) != NULL;)
        free(node);
}

static void pool_leave(tnd_block_pool_t *self)
{
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    clear(&self->blocks);
    for (size_t i = 0; i < SLICE_SIZES; i++)
        clear(&self->slices[i]);
    free(self);
}

static void put_back(header_t *self)
{
    tnd_block_pool_t *block_pool = self->block_pool;
    tnd_free_list_put(self->free_list, &self->node);
    pool_leave(block_pool);
}

tnd_block_pool_t *tnd_block_pool_new(void)
{
    tnd_block_pool_t *self = tnd_allocate_aligned(TND_BUFFER_ALIGN, sizeof *self);
    memset(self, 0, sizeof *self);
    atomic_init(&self->holders, 1);
    return self;
}

void tnd_block_pool_destroy(tnd_block_pool_t **self_p)
{
    tnd_block_pool_t *self = *self_p;
    *self_p = NULL;
    if (self != NULL)
        pool_leave(self);
}

tnd_block_t *tnd_block_pool_take(tnd_block_pool_t *self, const tnd_schema_t *schema)
{
    tnd_block_t *block = take(self, &self->blocks, sizeof *block);
    memset(block, 0, offsetof(tnd_block_t, columns) + schema->count * sizeof block->columns[0]);
    block->schema = schema;
    block->column_count = schema->count;
    return block;
}

void tnd_block_seal(tnd_block_t *self)
{
    header_t *header = header_of(self);
    assert(!atomic_load_explicit(&header->sealed, memory_order_relaxed));
    atomic_store_explicit(&header->sealed, true, memory_order_release);
}

bool tnd_block_sealed(const tnd_block_t *self)
{
    return atomic_load_explicit(&header_of(self)->sealed, memory_order_acquire);
}

tnd_block_t *tnd_block_hold(tnd_block_t *self)
{
    hold(header_of(self));
    return self;
}

void tnd_block_drop(tnd_block_t **self_p)
{
    tnd_block_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || !was_last(header_of(self)))
        return;
    /* Not by the schema: libzmq may drop what it still had after a session is gone. */
    for (uint32_t i = 0; i < self->column_count; i++)
        tnd_buffer_drop(&self->columns[i].buffer);
    tnd_buffer_drop(&self->index);
    tnd_buffer_drop(&self->lists);
    tnd_buffer_drop(&self->marks);
    tnd_buffer_drop(&self->about);
    put_back(header_of(self));
}

/*  Rows of 1, 2, 4 or 8 bytes are scalars: one load and one store each, at any alignment.  `known`
 *  rows are in the index, of which `rows` are copied: the others will be requested next. */
#define GATHER(bits)                                                                               \
    static void gather_##bits(const tnd_block_column_t *from, const uint64_t *index,               \
                              uint32_t rows, uint32_t known, uint8_t *target)                      \
    {                                                                                              \
        for (uint32_t i = 0; i < rows; i++) {                                                      \
            if (i + AHEAD_MAX < known)                                                             \
                __builtin_prefetch(from->base + index[i + AHEAD_MAX] * from->stride);              \
            memcpy(target + (size_t)i * ((bits) / 8), from->base + index[i] * from->stride,        \
                   (bits) / 8);                                                                    \
        }                                                                                          \
    }

GATHER(8)
GATHER(16)
GATHER(32)
GATHER(64)

static void prefetch(const uint8_t *row, size_t lines)
{
    for (size_t i = 0; i < lines; i++)
        __builtin_prefetch(row + i * LINE_BYTES);
}

/*  The hardware follows a row once it has begun, within a page; only where the next ones begin it
 *  cannot know.  Asking for more than AHEAD_LINES_MAX lines of a row delays the row that is copied.
 */
static void gather_rows(const tnd_block_column_t *from, const uint64_t *index, uint32_t rows,
                        uint32_t known, size_t row_bytes, uint8_t *target)
{
    size_t ahead = AHEAD_BYTES / row_bytes;
    ahead = ahead < AHEAD_MIN ? AHEAD_MIN : tnd_least(ahead, AHEAD_MAX);
    size_t lines = tnd_least((row_bytes + LINE_BYTES - 1) / LINE_BYTES, AHEAD_LINES_MAX);
    for (uint32_t i = 0; i < rows && i < ahead; i++)
        prefetch(from->base + index[i] * from->stride, lines);
    for (uint32_t i = 0; i < rows; i++) {
        if (i + ahead < known)
            prefetch(from->base + index[i + ahead] * from->stride, lines);
        memcpy(target + i * row_bytes, from->base + index[i] * from->stride, row_bytes);
    }
}

static void gather(const tnd_block_column_t *from, const uint64_t *index, uint32_t rows,
                   uint32_t known, size_t row_bytes, uint8_t *target)
{
    switch (row_bytes) {
    case 1:
        gather_8(from, index, rows, known, target);
        return;
    case 2:
        gather_16(from, index, rows, known, target);
        return;
    case 4:
        gather_32(from, index, rows, known, target);
        return;
    case 8:
        gather_64(from, index, rows, known, target);
        return;
    default:
        gather_rows(from, index, rows, known, row_bytes, target);
    }
}

size_t tnd_block_row_bytes(const tnd_block_t *self, uint32_t column, uint32_t row)
{
    const tnd_column_t *of = &self->schema->columns[column];
    const uint64_t *lengths = self->columns[column].lengths;
    return lengths == NULL ? tnd_column_bytes(of) : lengths[row] * tnd_column_unit(of);
}

size_t tnd_block_rows_bytes(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows)
{
    const tnd_column_t *of = &self->schema->columns[column];
    const uint64_t *lengths = self->columns[column].lengths;
    uint64_t length = 0;
    if (lengths == NULL)
        return rows * tnd_column_bytes(of);
    for (uint32_t i = 0; i < rows; i++)
        length += lengths[first + i];
    return length * tnd_column_unit(of);
}

size_t tnd_block_bytes(const tnd_block_t *self)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < self->schema->count; i++)
        bytes += tnd_block_rows_bytes(self, i, 0, self->note.rows);
    return bytes;
}

const void *tnd_block_run(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows)
{
    const tnd_block_column_t *from = &self->columns[column];
    const uint8_t *begin = tnd_block_row(self, column, first), *end = begin;
    if (from->lengths == NULL)
        return from->index == NULL &&
                       from->stride == tnd_column_bytes(&self->schema->columns[column])
                   ? begin
                   : NULL;
    for (uint32_t i = 0; i < rows; i++) {
        if (tnd_block_row(self, column, first + i) != end)
            return NULL;
        end += tnd_block_row_bytes(self, column, first + i);
    }
    return begin;
}

uint64_t tnd_block_row_ragged(const tnd_block_t *self, uint32_t row)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < self->schema->count; i++)
        if (self->columns[i].lengths != NULL)
            bytes += tnd_block_row_bytes(self, i, row);
    return bytes;
}

uint64_t tnd_block_ragged(const tnd_block_t *self)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < self->schema->count; i++)
        if (self->columns[i].lengths != NULL)
            bytes += tnd_block_rows_bytes(self, i, 0, self->note.rows);
    return bytes;
}

void tnd_block_measure(const tnd_block_t *self, uint32_t column, tnd_block_note_t *note)
{
    assert(column < self->schema->count && self->schema->columns[column].ragged);
    note->measured = column + 1;
    note->lengths = note->rows > 0 ? self->columns[column].lengths : NULL;
}

static uint32_t below(const uint32_t *offsets, uint32_t count, uint32_t end)
{
    while (count > 0 && offsets[count - 1] >= end)
        count--;
    return count;
}

tnd_block_t *tnd_block_pool_prefix(tnd_block_pool_t *self, const tnd_block_t *block,
                                   uint32_t positions)
{
    tnd_block_t *prefix = tnd_block_pool_take(self, block->schema);
    tnd_block_note_t *note = &prefix->note;
    memcpy(prefix, block, sizeof *prefix);
    for (uint32_t i = 0; i < block->schema->count; i++)
        if (block->columns[i].buffer != NULL)
            tnd_buffer_hold(block->columns[i].buffer);
    tnd_buffer_t *const held[] = {block->index, block->lists, block->marks, block->about};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        if (held[i] != NULL)
            tnd_buffer_hold(held[i]);
    note->count = positions;
    note->rows = note->origin != NULL ? below(note->origin, note->rows, positions) : positions;
    note->bad_count = below(note->bad, note->bad_count, positions);
    const char *end = note->why;
    for (uint32_t i = 0; i < note->bad_count && end != NULL; i++)
        end += strlen(end) + 1;
    note->why_bytes = note->why != NULL ? (uint32_t)(end - note->why) : 0;
    note->end = false;
    note->bytes = tnd_block_bytes(prefix);
    tnd_block_seal(prefix);
    return prefix;
}

/*  Rows that follow one another are copied at once. */
static size_t copy_ragged(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows,
                          uint8_t *target)
{
    size_t unit = tnd_column_unit(&self->schema->columns[column]), done = 0;
    const uint64_t *lengths = self->columns[column].lengths;
    for (uint32_t i = first, end = first + rows; i < end;) {
        const uint8_t *begin = tnd_block_row(self, column, i), *next = begin;
        do {
            next += lengths[i] * unit;
            i++;
        } while (i < end && tnd_block_row(self, column, i) == next);
        if (i < end)
            prefetch(tnd_block_row(self, column, i), AHEAD_MIN);
        if (next != begin)
            memcpy(target + done, begin, (size_t)(next - begin));
        done += (size_t)(next - begin);
    }
    return done;
}

size_t tnd_block_copy(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows,
                      void *target)
{
    assert(column < self->schema->count && first <= self->note.rows &&
           rows <= self->note.rows - first);
    const tnd_block_column_t *from = &self->columns[column];
    size_t row_bytes = tnd_column_bytes(&self->schema->columns[column]);
    size_t bytes = rows * row_bytes;
    if (rows == 0)
        return 0;
    if (from->lengths != NULL)
        return copy_ragged(self, column, first, rows, target);
    if (from->index != NULL) {
        gather(from, from->index + first, rows, self->note.rows - first, row_bytes, target);
    } else if (from->stride == row_bytes) {
        memcpy(target, from->base + first * row_bytes, bytes);
    } else {
        const uint8_t *row = from->base + first * from->stride;
        for (uint32_t i = 0; i < rows; i++, row += from->stride)
            memcpy((uint8_t *)target + i * row_bytes, row, row_bytes);
    }
    return bytes;
}

tnd_status_t tnd_block_intact(const tnd_block_t *self, uint32_t first, uint32_t rows,
                              tnd_error_t *error)
{
    if (!tnd_mapped_any_lost())
        return TND_OK;
    for (uint32_t column = 0; column < self->schema->count; column++)
        for (uint32_t row = first; row < first + rows; row++)
            TND_TRY(tnd_mapped_check(tnd_block_row(self, column, row),
                                     tnd_block_row_bytes(self, column, row), error));
    return TND_OK;
}

tnd_status_t tnd_block_check_rows(const tnd_block_t *self, uint32_t first, uint32_t rows,
                                  tnd_error_t *error)
{
    for (uint32_t column = 0; column < self->schema->count; column++) {
        const tnd_row_check_t *check = self->columns[column].check;
        for (uint32_t row = first; check != NULL && row < first + rows; row++)
            TND_TRY(check->row(check->context, tnd_block_row(self, column, row),
                               tnd_block_row_bytes(self, column, row), error));
    }
    return TND_OK;
}

tnd_slice_t *tnd_block_pool_slice(tnd_block_pool_t *self, const tnd_schema_t *schema,
                                  const tnd_slice_note_t *note, const tnd_piece_t *pieces,
                                  uint32_t piece_count)
{
    size_t room = SLICE_PIECES_MIN, size = 0;
    for (; room < piece_count; room *= 2)
        size++;
    assert(size < SLICE_SIZES);
    tnd_slice_t *slice;
    slice = take(self, &self->slices[size], sizeof *slice + room * sizeof slice->pieces[0]);
    slice->note = *note;
    slice->schema = schema;
    slice->piece_count = piece_count;
    for (uint32_t i = 0; i < piece_count; i++) {
        slice->pieces[i].block = tnd_block_hold(pieces[i].payload);
        slice->pieces[i].first = pieces[i].first;
        slice->pieces[i].rows = pieces[i].rows;
    }
    atomic_store_explicit(&header_of(slice)->sealed, true, memory_order_release);
    return slice;
}

size_t tnd_slice_bytes(const tnd_slice_t *self)
{
    size_t bytes = 0;
    if (tnd_schema_ragged(self->schema) == 0)
        return self->note.rows * tnd_schema_row_bytes(self->schema);
    for (uint32_t p = 0; p < self->piece_count; p++)
        for (uint32_t c = 0; c < self->schema->count; c++)
            bytes += tnd_block_rows_bytes(self->pieces[p].block, c, self->pieces[p].first,
                                          self->pieces[p].rows);
    return bytes;
}

tnd_status_t tnd_slice_intact(const tnd_slice_t *self, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->piece_count; i++)
        TND_TRY(tnd_block_intact(self->pieces[i].block, self->pieces[i].first, self->pieces[i].rows,
                                 error));
    return TND_OK;
}

tnd_status_t tnd_slice_check_rows(const tnd_slice_t *self, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->piece_count; i++)
        TND_TRY(tnd_block_check_rows(self->pieces[i].block, self->pieces[i].first,
                                     self->pieces[i].rows, error));
    return TND_OK;
}

bool tnd_slice_sealed(const tnd_slice_t *self)
{
    return atomic_load_explicit(&header_of(self)->sealed, memory_order_acquire);
}

void tnd_slice_drop(tnd_slice_t **self_p)
{
    tnd_slice_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || !was_last(header_of(self)))
        return;
    for (uint32_t i = 0; i < self->piece_count; i++)
        tnd_block_drop(&self->pieces[i].block);
    put_back(header_of(self));
}
