/*  actors/batcher/bucket_batches.c - the batches of buckets, from their first row until they are sent. */
#include "actors/batcher/bucket_batches.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

typedef struct {
    tnd_buffer_t *buffer;          /* while it is filled */
    tnd_block_t *block;            /* after that */
    uint64_t end[TND_COLUMNS_MAX]; /* of the rows of a ragged column, in the buffer */
    uint32_t bucket, rows;
} batch_t;

struct tnd_bucket_batches {
    const tnd_schema_t *schema;
    const tnd_batcher_options_t *options;
    tnd_block_pool_t *blocks;
    tnd_pool_t *buffers;
    uint32_t count;
    batch_t *batches;                   /* by place */
    tnd_bucket_batch_layout_t *layouts; /* by bucket */
};

tnd_bucket_batches_t *tnd_bucket_batches_new(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *schema, tnd_block_pool_t *pool)
{
    tnd_bucket_batches_t *self = tnd_allocate_zeroed(1, sizeof *self);
    uint32_t buckets = (uint32_t)options->bucket->sizes.count;
    self->schema = schema;
    self->options = options;
    self->blocks = pool;
    self->count = tnd_plan_bucket_places(options);
    self->batches = tnd_allocate_zeroed(self->count, sizeof *self->batches);
    self->layouts = tnd_allocate_zeroed(buckets, sizeof *self->layouts);
    for (uint32_t i = 0; i < buckets; i++)
        self->layouts[i] = tnd_plan_bucket_layout(options, schema, i);
    self->buffers = tnd_pool_new(tnd_plan_bucket_batch_bytes(options, schema));
    return self;
}

static void drop(batch_t *batch)
{
    tnd_buffer_drop(&batch->buffer);
    tnd_block_drop(&batch->block);
}

void tnd_bucket_batches_destroy(tnd_bucket_batches_t **self_p)
{
    tnd_bucket_batches_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t i = 0; i < self->count; i++)
        drop(&self->batches[i]);
    tnd_pool_destroy(&self->buffers);
    free(self->batches);
    free(self->layouts);
    free(self);
}

/*  The lists of a ragged column: where its rows begin, then their lengths. */
static uint64_t *index_of(const tnd_bucket_batches_t *self, const batch_t *batch, uint32_t column)
{
    uint8_t *data = tnd_buffer_data(batch->buffer);
    return (uint64_t *)(void *)(data + self->layouts[batch->bucket].lists[column]);
}

static uint64_t *lengths_of(const tnd_bucket_batches_t *self, const batch_t *batch, uint32_t column)
{
    return index_of(self, batch, column) + self->layouts[batch->bucket].rows;
}

tnd_status_t tnd_bucket_batches_check(const tnd_bucket_batches_t *self, uint32_t bucket,
                                      const tnd_block_t *block, uint32_t row, tnd_error_t *error)
{
    const tnd_bucket_batch_layout_t *layout = &self->layouts[bucket];
    for (uint32_t c = 0; c < self->schema->count; c++) {
        const tnd_column_t *column = &self->schema->columns[c];
        if (!column->ragged || block->columns[c].lengths[row] <= layout->longest[c])
            continue;
        return tnd_fail(error,
                        "the row has %" PRIu64 " elements in `%s`, but `pad: bound` pads its "
                        "bucket to %" PRIu64 ", as the length of `%s` decides: cut `%s` "
                        "(pad_ragged), raise the bounds, or use `pad: longest`",
                        block->columns[c].lengths[row], column->name, layout->longest[c],
                        self->options->bucket->column, column->name);
    }
    return TND_OK;
}

static void copy_ragged(tnd_bucket_batches_t *self, batch_t *batch, uint32_t column, uint32_t at,
                        const tnd_block_t *block, uint32_t row)
{
    uint8_t *data = tnd_buffer_data(batch->buffer);
    uint64_t length = block->columns[column].lengths[row];
    size_t bytes = length * tnd_column_unit(&self->schema->columns[column]);
    assert(length <= self->layouts[batch->bucket].longest[column]);
    if (bytes > 0)
        memcpy(data + batch->end[column], tnd_block_row(block, column, row), bytes);
    index_of(self, batch, column)[at] =
        batch->end[column] - self->layouts[batch->bucket].data[column];
    lengths_of(self, batch, column)[at] = length;
    batch->end[column] += bytes;
}

static void begin(tnd_bucket_batches_t *self, batch_t *batch, uint32_t bucket)
{
    drop(batch);
    batch->buffer = tnd_pool_take(self->buffers);
    batch->bucket = bucket;
    memcpy(batch->end, self->layouts[bucket].data, sizeof batch->end);
}

tnd_status_t tnd_bucket_batches_store(tnd_bucket_batches_t *self, uint32_t place, uint32_t bucket,
                                      uint32_t at, const tnd_block_t *block, uint32_t row,
                                      size_t *bytes_p, tnd_error_t *error)
{
    assert(place < self->count);
    batch_t *batch = &self->batches[place];
    *bytes_p = 0;
    if (at == 0)
        begin(self, batch, bucket);
    const tnd_bucket_batch_layout_t *layout = &self->layouts[bucket];
    assert(batch->buffer != NULL && batch->bucket == bucket && at < layout->rows);
    for (uint32_t c = 0; c < self->schema->count; c++) {
        size_t bytes = tnd_block_row_bytes(block, c, row);
        if (self->schema->columns[c].ragged)
            copy_ragged(self, batch, c, at, block, row);
        else
            memcpy((uint8_t *)tnd_buffer_data(batch->buffer) + layout->data[c] + at * bytes,
                   tnd_block_row(block, c, row), bytes);
        *bytes_p += bytes;
    }
    batch->rows = at + 1;
    return tnd_block_intact(block, row, 1, error);
}

tnd_block_t *tnd_bucket_batches_block(tnd_bucket_batches_t *self, uint32_t place)
{
    assert(place < self->count);
    batch_t *batch = &self->batches[place];
    if (batch->block != NULL)
        return batch->block;
    assert(batch->buffer != NULL);
    const tnd_bucket_batch_layout_t *layout = &self->layouts[batch->bucket];
    tnd_block_t *block = tnd_block_pool_take(self->blocks, self->schema);
    block->note.rows = block->note.count = batch->rows;
    tnd_buffer_seal(batch->buffer);
    for (uint32_t c = 0; c < self->schema->count; c++) {
        bool ragged = self->schema->columns[c].ragged;
        block->columns[c] = (tnd_block_column_t){
            .base = (const uint8_t *)tnd_buffer_data(batch->buffer) + layout->data[c],
            .stride = ragged ? 1 : tnd_column_bytes(&self->schema->columns[c]),
            .index = ragged ? index_of(self, batch, c) : NULL,
            .buffer = tnd_buffer_hold(batch->buffer),
            .lengths = ragged ? lengths_of(self, batch, c) : NULL};
    }
    block->note.bytes = tnd_block_bytes(block);
    tnd_block_seal(block);
    tnd_buffer_drop(&batch->buffer);
    batch->block = block;
    return block;
}
