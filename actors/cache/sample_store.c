/*  actors/cache/sample_store.c - the rows that were made of each sample, in memory. */
#include "actors/cache/sample_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

enum { ROW_ALIGN = 8, HUGE_BYTES_MIN = 8 << 20 };

/*  Of a sample: how many rows follow. */
typedef struct {
    uint64_t rows;
} record_t;

/*  A row: its fixed columns, each aligned to its elements, then the length of each ragged column,
 *  then the bytes of those, each aligned to ROW_ALIGN. */
struct tnd_sample_store {
    const tnd_schema_t *schema;
    size_t at[TND_COLUMNS_MAX];    /* of a fixed column, or of the length of a ragged one */
    size_t bytes[TND_COLUMNS_MAX]; /* of a fixed column; of a unit of a ragged one */
    size_t head;                   /* bytes of a row without its ragged columns */
    uint32_t ragged;
    uint64_t samples;
    uint64_t *records; /* by sample: where its record is, plus 1; 0: it is not stored */
    uint8_t *memory;
    uint64_t limit, used;
    tnd_buffer_t *buffer; /* around the memory */
    tnd_pool_t *lists;
};

typedef struct {
    void *memory;
    size_t bytes;
} mapped_t;

static void unmap(void *owner)
{
    mapped_t *mapped = owner;
    (void)munmap(mapped->memory, mapped->bytes);
    free(mapped);
}

static void lay_out(tnd_sample_store_t *self)
{
    for (uint32_t c = 0; c < self->schema->count; c++) {
        const tnd_column_t *column = &self->schema->columns[c];
        size_t align = column->ragged ? sizeof(uint64_t) : tnd_dtype_size(column->dtype);
        self->head = tnd_round_up(self->head, align);
        self->at[c] = self->head;
        self->bytes[c] = column->ragged ? tnd_column_unit(column) : tnd_column_bytes(column);
        self->head += column->ragged ? sizeof(uint64_t) : self->bytes[c];
        self->ragged += column->ragged;
    }
    self->head = tnd_round_up(self->head, ROW_ALIGN);
}

tnd_sample_store_t *tnd_sample_store_new(const tnd_schema_t *schema, uint64_t samples,
                                         uint64_t limit)
{
    tnd_sample_store_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->schema = schema;
    self->samples = samples;
    self->limit = limit;
    lay_out(self);
    self->records = tnd_allocate_zeroed(samples + 1, sizeof *self->records);
    void *memory = mmap(NULL, limit, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        self->limit = 0; /* nothing fits then */
    else
        self->memory = memory;
    if (self->limit >= HUGE_BYTES_MIN)
        (void)madvise(memory, limit, MADV_HUGEPAGE);
    if (self->limit > 0) {
        mapped_t *mapped = tnd_allocate(1, sizeof *mapped);
        *mapped = (mapped_t){memory, limit};
        self->buffer = tnd_buffer_wrap(TND_BUFFER_HEAP, memory, limit, unmap, mapped);
    }
    return self;
}

void tnd_sample_store_destroy(tnd_sample_store_t **self_p)
{
    tnd_sample_store_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    tnd_pool_destroy(&self->lists);
    tnd_buffer_drop(&self->buffer);
    free(self->records);
    free(self);
}

uint64_t tnd_sample_store_list_bytes(uint64_t samples)
{
    return samples * sizeof(uint64_t);
}

bool tnd_sample_store_has(const tnd_sample_store_t *self, uint64_t sample)
{
    return sample < self->samples && self->records[sample] != 0;
}

uint64_t tnd_sample_store_bytes(const tnd_sample_store_t *self)
{
    return self->used;
}

static size_t row_bytes(const tnd_sample_store_t *self, const tnd_block_t *block, uint32_t row)
{
    size_t bytes = self->head;
    for (uint32_t c = 0; c < self->schema->count && self->ragged > 0; c++)
        if (self->schema->columns[c].ragged)
            bytes += tnd_round_up(tnd_block_row_bytes(block, c, row), ROW_ALIGN);
    return bytes;
}

static size_t put_row(const tnd_sample_store_t *self, const tnd_block_t *block, uint32_t row,
                      uint8_t *to)
{
    size_t used = self->head;
    for (uint32_t c = 0; c < self->schema->count; c++) {
        const void *from = tnd_block_row(block, c, row);
        if (!self->schema->columns[c].ragged) {
            memcpy(to + self->at[c], from, self->bytes[c]);
            continue;
        }
        uint64_t length = block->columns[c].lengths[row];
        memcpy(to + self->at[c], &length, sizeof length);
        if (length > 0)
            memcpy(to + used, from, length * self->bytes[c]);
        used += tnd_round_up(length * self->bytes[c], ROW_ALIGN);
    }
    return used;
}

bool tnd_sample_store_put(tnd_sample_store_t *self, uint64_t sample, const tnd_block_t *block,
                          uint32_t first, uint32_t rows)
{
    if (tnd_sample_store_has(self, sample))
        return true;
    uint64_t bytes = sizeof(record_t);
    for (uint32_t i = 0; i < rows; i++)
        bytes += row_bytes(self, block, first + i);
    if (sample >= self->samples || bytes > self->limit - self->used)
        return false;
    record_t record = {.rows = rows};
    uint8_t *at = self->memory + self->used;
    memcpy(at, &record, sizeof record);
    at += sizeof record;
    for (uint32_t i = 0; i < rows; i++)
        at += put_row(self, block, first + i, at);
    self->records[sample] = self->used + 1;
    self->used += bytes;
    return true;
}

/*  The first row of a sample. */
static const uint8_t *rows_of(const tnd_sample_store_t *self, uint64_t sample, uint64_t *rows_p)
{
    assert(tnd_sample_store_has(self, sample));
    const uint8_t *at = self->memory + self->records[sample] - 1;
    record_t record;
    memcpy(&record, at, sizeof record);
    *rows_p = record.rows;
    return at + sizeof record;
}

static uint64_t length_of(const tnd_sample_store_t *self, const uint8_t *row, uint32_t column)
{
    uint64_t length;
    memcpy(&length, row + self->at[column], sizeof length);
    return length;
}

/*  The row after `row`; adds the bytes of its ragged columns to *ragged_p. */
static const uint8_t *skip_row(const tnd_sample_store_t *self, const uint8_t *row,
                               uint64_t *ragged_p)
{
    const uint8_t *next = row + self->head;
    for (uint32_t c = 0; c < self->schema->count && self->ragged > 0; c++) {
        if (!self->schema->columns[c].ragged)
            continue;
        uint64_t bytes = length_of(self, row, c) * self->bytes[c];
        *ragged_p += bytes;
        next += tnd_round_up(bytes, ROW_ALIGN);
    }
    return next;
}

uint32_t tnd_sample_store_fit(const tnd_sample_store_t *self, const uint64_t *samples,
                              uint32_t count, uint64_t budget, uint64_t *ragged_p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count && self->ragged > 0; i++) {
        uint64_t rows, ragged = 0;
        const uint8_t *row = rows_of(self, samples[i], &rows);
        while (rows-- > 0)
            row = skip_row(self, row, &ragged);
        if (ragged > budget - sum) {
            *ragged_p = i > 0 ? sum : ragged;
            return i;
        }
        sum += ragged;
    }
    *ragged_p = sum;
    return count;
}

void tnd_sample_store_fill(tnd_sample_store_t *self, const uint64_t *samples, uint32_t count,
                           tnd_block_t *block)
{
    uint64_t total = 0, rows;
    bool marked = false;
    for (uint32_t i = 0; i < count; i++) {
        (void)rows_of(self, samples[i], &rows);
        total += rows;
        marked = marked || rows != 1;
    }
    block->note.rows = (uint32_t)total;
    /* A list of rows for all fixed columns, two for each ragged one, and the origins. */
    size_t list = total * sizeof(uint64_t);
    tnd_buffer_t *lists = tnd_pool_take_of(&self->lists, (1 + 2 * (size_t)self->ragged) * list +
                                                             total * sizeof(uint32_t) + 1);
    uint8_t *at = tnd_buffer_data(lists);
    uint64_t *starts = (uint64_t *)(void *)at;
    uint64_t *indices[TND_COLUMNS_MAX], *lengths[TND_COLUMNS_MAX];
    at += list;
    for (uint32_t c = 0; c < self->schema->count; c++) {
        if (!self->schema->columns[c].ragged)
            continue;
        indices[c] = (uint64_t *)(void *)at;
        lengths[c] = (uint64_t *)(void *)(at + list);
        at += 2 * list;
    }
    uint32_t *origin = (uint32_t *)(void *)at;
    uint64_t to = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *row = rows_of(self, samples[i], &rows);
        for (; rows > 0; rows--, to++) {
            uint64_t ragged = 0, after = (uint64_t)(row - self->memory) + self->head;
            starts[to] = (uint64_t)(row - self->memory);
            origin[to] = i;
            for (uint32_t c = 0; c < self->schema->count && self->ragged > 0; c++) {
                if (!self->schema->columns[c].ragged)
                    continue;
                indices[c][to] = after;
                lengths[c][to] = length_of(self, row, c);
                after += tnd_round_up(lengths[c][to] * self->bytes[c], ROW_ALIGN);
            }
            row = skip_row(self, row, &ragged);
        }
    }
    tnd_buffer_seal(lists);
    block->note.origin = marked ? origin : NULL;
    block->index = lists;
    if (marked)
        block->marks = tnd_buffer_hold(lists);
    for (uint32_t c = 0; c < self->schema->count && total > 0; c++) {
        bool is_ragged = self->schema->columns[c].ragged;
        block->columns[c] =
            (tnd_block_column_t){.base = self->memory + (is_ragged ? 0 : self->at[c]),
                                 .stride = 1,
                                 .index = is_ragged ? indices[c] : starts,
                                 .buffer = tnd_buffer_hold(self->buffer),
                                 .lengths = is_ragged ? lengths[c] : NULL};
    }
}
