/*  actors/batcher/packed_batches.c - the batches of packed rows, from their first value until they are
 *  sent. */
#include "actors/batcher/packed_batches.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

typedef struct {
    tnd_buffer_t *buffer; /* while it is filled */
    tnd_block_t *block;   /* after that */
    uint64_t values;
} batch_t;

struct tnd_packed_batches {
    const tnd_schema_t *joined, *packed;
    tnd_block_pool_t *blocks;
    tnd_pool_t *buffers;
    uint32_t measured; /* the column of `joined` whose rows say where documents end */
    uint64_t length;   /* of a row */
    tnd_pack_batch_layout_t layout;
    batch_t batches[TND_PACKED_PLACES];
};

tnd_packed_batches_t *tnd_packed_batches_new(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *joined, const tnd_schema_t *packed,
                                             tnd_block_pool_t *pool)
{
    tnd_packed_batches_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->joined = joined;
    self->packed = packed;
    self->blocks = pool;
    self->measured = (uint32_t)tnd_schema_find(joined, options->pack->column);
    self->length = options->pack->length;
    self->layout = tnd_plan_pack_layout(options, packed);
    self->buffers = tnd_pool_new(self->layout.bytes);
    return self;
}

static void drop(batch_t *batch)
{
    tnd_buffer_drop(&batch->buffer);
    tnd_block_drop(&batch->block);
}

void tnd_packed_batches_destroy(tnd_packed_batches_t **self_p)
{
    tnd_packed_batches_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t i = 0; i < TND_PACKED_PLACES; i++)
        drop(&self->batches[i]);
    tnd_pool_destroy(&self->buffers);
    free(self);
}

/*  Bytes of a value. */
static size_t unit_of(const tnd_packed_batches_t *self, uint32_t column)
{
    return tnd_column_bytes(&self->packed->columns[column]) / self->length;
}

/*  The values of a column from value `at` of the batch on. */
static uint8_t *values_of(const tnd_packed_batches_t *self, const batch_t *batch, uint32_t column,
                          uint64_t at)
{
    return (uint8_t *)tnd_buffer_data(batch->buffer) + self->layout.data[column] +
           at * unit_of(self, column);
}

static int32_t *numbers_of(const tnd_packed_batches_t *self, const batch_t *batch, uint32_t which,
                           uint64_t at)
{
    return (int32_t *)(void *)values_of(self, batch, self->joined->count + which, at);
}

static void number_values(const tnd_packed_batches_t *self, const batch_t *batch, uint32_t at,
                          const tnd_packed_part_t *part)
{
    int32_t *segments = numbers_of(self, batch, TND_PACK_SEGMENTS, at);
    int32_t *positions = numbers_of(self, batch, TND_PACK_POSITIONS, at);
    uint64_t in_row = self->length - at % self->length;
    for (uint64_t i = 0; i < part->values; i++) {
        segments[i] = i < in_row ? (int32_t)part->segment : 1;
        positions[i] = (int32_t)(part->from + i);
    }
}

tnd_status_t tnd_packed_batches_check(const tnd_packed_batches_t *self, const tnd_block_t *block,
                                      uint32_t row, tnd_error_t *error)
{
    uint64_t length = block->columns[self->measured].lengths[row];
    for (uint32_t c = 0; c < self->joined->count; c++)
        if (block->columns[c].lengths[row] != length)
            return tnd_fail(error,
                            "the row has %" PRIu64 " values in `%s` and %" PRIu64 " in `%s`, but "
                            "`pack` lays them side by side: make them equal or remove one column "
                            "(`select`)",
                            length, self->joined->columns[self->measured].name,
                            block->columns[c].lengths[row], self->joined->columns[c].name);
    return TND_OK;
}

/*  Returns the bytes copied. */
static size_t copy_values(const tnd_packed_batches_t *self, const batch_t *batch, uint32_t column,
                          uint64_t at, const tnd_block_t *block, const tnd_packed_part_t *part)
{
    size_t unit = unit_of(self, column), bytes = part->values * unit;
    assert(part->from + part->values <= block->columns[column].lengths[part->row]);
    if (bytes > 0)
        memcpy(values_of(self, batch, column, at),
               (const uint8_t *)tnd_block_row(block, column, part->row) + part->from * unit, bytes);
    return bytes;
}

tnd_status_t tnd_packed_batches_store(tnd_packed_batches_t *self, uint32_t place, uint32_t at,
                                      const tnd_block_t *block, const tnd_packed_part_t *part,
                                      size_t *bytes_p, tnd_error_t *error)
{
    assert(place < TND_PACKED_PLACES);
    batch_t *batch = &self->batches[place];
    if (at == 0) {
        drop(batch);
        batch->buffer = tnd_pool_take(self->buffers);
        batch->values = 0;
    }
    assert(batch->buffer != NULL && at == batch->values);
    *bytes_p = 0;
    for (uint32_t c = 0; c < self->joined->count; c++)
        *bytes_p += copy_values(self, batch, c, at, block, part);
    if (self->packed->count > self->joined->count) {
        number_values(self, batch, at, part);
        *bytes_p += part->values * TND_PACK_NUMBERS * sizeof(int32_t);
    }
    batch->values += part->values;
    return tnd_block_intact(block, part->row, 1, error);
}

/*  Fills the last row. */
static void pad(const tnd_packed_batches_t *self, const batch_t *batch)
{
    uint64_t rest = (self->length - batch->values % self->length) % self->length;
    for (uint32_t c = 0; c < self->packed->count; c++) {
        uint8_t *from = values_of(self, batch, c, batch->values);
        memset(from, 0, (size_t)(values_of(self, batch, c, batch->values + rest) - from));
    }
}

tnd_block_t *tnd_packed_batches_block(tnd_packed_batches_t *self, uint32_t place)
{
    assert(place < TND_PACKED_PLACES);
    batch_t *batch = &self->batches[place];
    if (batch->block != NULL)
        return batch->block;
    assert(batch->buffer != NULL);
    pad(self, batch);
    tnd_block_t *block = tnd_block_pool_take(self->blocks, self->packed);
    block->note.rows = block->note.count =
        (uint32_t)((batch->values + self->length - 1) / self->length);
    tnd_buffer_seal(batch->buffer);
    for (uint32_t c = 0; c < self->packed->count; c++)
        block->columns[c] =
            (tnd_block_column_t){.base = values_of(self, batch, c, 0),
                                 .stride = tnd_column_bytes(&self->packed->columns[c]),
                                 .buffer = tnd_buffer_hold(batch->buffer)};
    block->note.bytes = tnd_block_bytes(block);
    tnd_block_seal(block);
    tnd_buffer_drop(&batch->buffer);
    batch->block = block;
    return block;
}
