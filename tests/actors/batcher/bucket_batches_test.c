/*  Covers actors/batcher/bucket_batches.h: rows of blocks, copied to the batches of their buckets. */
#include "actors/batcher/bucket_batches.h"

#include "tests/actors/bucket_options.h"

#include <criterion/new/assert.h>

enum { ROWS = 6 };

/*  Row r has r numbers from 10 r on, label 100 + r, and a string of 5 - r bytes 'a' + r. */
static tnd_block_t *block_of(const tnd_schema_t *schema, tnd_block_pool_t *pool)
{
    static const uint64_t lengths[] = {0, 1, 2, 3, 4, 5}, words[] = {5, 4, 3, 2, 1, 0};
    tnd_buffer_t *x = tnd_buffer_new(ROWS * 100 * 8), *label = tnd_buffer_new(ROWS * 8),
                 *word = tnd_buffer_new(ROWS * 50);
    tnd_block_t *block = tnd_block_pool_take(pool, schema);
    for (int64_t row = 0; row < ROWS; row++) {
        ((int64_t *)tnd_buffer_data(label))[row] = 100 + row;
        for (int64_t i = 0; i < row; i++)
            ((int64_t *)tnd_buffer_data(x))[row * 100 + i] = 10 * row + i;
        memset((char *)tnd_buffer_data(word) + row * 50, 'a' + (int)row, 50);
    }
    tnd_buffer_seal(x);
    tnd_buffer_seal(label);
    tnd_buffer_seal(word);
    block->columns[0] = (tnd_block_column_t){
        .base = tnd_buffer_data(x), .stride = 800, .buffer = x, .lengths = lengths};
    block->columns[1] =
        (tnd_block_column_t){.base = tnd_buffer_data(label), .stride = 8, .buffer = label};
    block->columns[2] = (tnd_block_column_t){
        .base = tnd_buffer_data(word), .stride = 50, .buffer = word, .lengths = words};
    block->note.rows = block->note.count = ROWS;
    tnd_block_seal(block);
    return block;
}

static void expect_row(const tnd_block_t *batch, uint32_t at, int64_t row)
{
    const int64_t *x = tnd_block_row(batch, 0, at), *label = tnd_block_row(batch, 1, at);
    const char *word = tnd_block_row(batch, 2, at);
    cr_assert(eq(u64, batch->columns[0].lengths[at], (uint64_t)row));
    cr_assert(eq(u64, batch->columns[2].lengths[at], (uint64_t)(5 - row)));
    cr_assert(eq(i64, *label, 100 + row));
    for (int64_t i = 0; i < row; i++)
        cr_assert(eq(i64, x[i], 10 * row + i));
    for (int64_t i = 0; i < 5 - row; i++)
        cr_assert(eq(chr, word[i], (char)('a' + row)));
}

static void store(tnd_bucket_batches_t *self, uint32_t place, uint32_t at, const tnd_block_t *block,
                  uint32_t row)
{
    tnd_error_t error;
    size_t bytes;
    cr_assert(tnd_bucket_batches_store(self, place, 0, at, block, row, &bytes, &error) == TND_OK);
    cr_assert(eq(sz, bytes, row * 8 + 8 + 5 - row));
}

Test(bucket_batches, have_copies_of_their_rows_in_their_order)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_LONGEST);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    tnd_block_pool_t *pool = tnd_block_pool_new();
    tnd_block_t *block = block_of(&schema, pool);
    tnd_bucket_batches_t *self = tnd_bucket_batches_new(&options, &schema, pool);
    store(self, 1, 0, block, 4);
    store(self, 2, 0, block, 5);
    store(self, 1, 1, block, 0);
    store(self, 1, 2, block, 2);
    tnd_block_drop(&block);
    tnd_block_t *batch = tnd_bucket_batches_block(self, 1);
    cr_assert(eq(u32, batch->note.rows, 3));
    cr_assert(eq(sz, tnd_block_bytes(batch), 6 * 8 + 3 * 8 + 9));
    expect_row(batch, 0, 4);
    expect_row(batch, 1, 0);
    expect_row(batch, 2, 2);
    cr_assert(tnd_block_run(batch, 0, 0, 3) != NULL, "ragged rows do not follow one another");
    cr_assert(tnd_bucket_batches_block(self, 1) == batch);
    expect_row(tnd_bucket_batches_block(self, 2), 0, 5);
    tnd_bucket_batches_destroy(&self);
    tnd_block_pool_destroy(&pool);
}

Test(bucket_batches, stay_as_they_are_while_their_place_is_used_again)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_LONGEST);
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    tnd_block_pool_t *pool = tnd_block_pool_new();
    tnd_block_t *block = block_of(&schema, pool);
    tnd_bucket_batches_t *self = tnd_bucket_batches_new(&options, &schema, pool);
    store(self, 0, 0, block, 3);
    tnd_block_t *sent = tnd_block_hold(tnd_bucket_batches_block(self, 0));
    store(self, 0, 0, block, 1);
    tnd_block_drop(&block);
    expect_row(sent, 0, 3);
    tnd_bucket_batches_destroy(&self);
    expect_row(sent, 0, 3);
    tnd_block_drop(&sent);
    tnd_block_pool_destroy(&pool);
}

/*  As TensorFlow, which pads no component to less than it has. */
Test(bucket_batches, refuse_rows_that_are_longer_than_what_they_are_padded_to)
{
    tnd_schema_t schema = bucket_schema();
    tnd_bucket_options_t bucket = bucket_options(TND_BUCKET_PAD_BOUND);
    bucket.column = "word"; /* rows of 1 to 2 bytes are padded to 2 */
    bucket_bounds[0] = 3;
    tnd_batcher_options_t options = {.bucket = &bucket, .replicas = 1};
    tnd_block_pool_t *pool = tnd_block_pool_new();
    tnd_block_t *block = block_of(&schema, pool);
    tnd_bucket_batches_t *self = tnd_bucket_batches_new(&options, &schema, pool);
    tnd_error_t error;
    cr_assert(tnd_bucket_batches_check(self, 0, block, 3, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "3 elements in `x`") != NULL, "%s", error.text);
    cr_assert(strstr(error.text, "its bucket to 2") != NULL, "%s", error.text);
    tnd_block_drop(&block);
    tnd_bucket_batches_destroy(&self);
    tnd_block_pool_destroy(&pool);
}
