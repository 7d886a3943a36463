/*  tests/actors/op/chain_fixture.h - a chain from the text of its operations, and blocks for it. */
#ifndef TND_TESTS_ACTORS_OP_CHAIN_FIXTURE_H
#define TND_TESTS_ACTORS_OP_CHAIN_FIXTURE_H

#include "actors/chain/chain.h"
#include "actors/op/ops.h"
#include "tests/actors/source/opened.h"

typedef struct {
    tnd_chain_t *chain;
    tnd_arena_t *arena;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool;
} run_t;

static inline tnd_status_t open_chain(run_t *self, const char *ops, bool skip_bad,
                                      const tnd_schema_t *schema, tnd_error_t *error)
{
    char text[16384];
    snprintf(text, sizeof text, "ops: [%s]", ops);
    *self = (run_t){.arena = tnd_arena_new(), .block_pool = tnd_block_pool_new()};
    const parsed_parts_t *parts = parse_parts(self->arena, text);
    tnd_status_t status =
        tnd_chain_open(&self->chain, &parts->ops, skip_bad, schema, NULL, NULL, error);
    if (status == TND_OK)
        self->pool = tnd_pool_new(tnd_chain_bytes(self->chain, 1024));
    return status;
}

static inline void close_chain(run_t *self)
{
    tnd_chain_close(&self->chain);
    tnd_pool_destroy(&self->pool);
    tnd_block_pool_destroy(&self->block_pool);
    tnd_arena_destroy(&self->arena);
}

static const tnd_chain_key_t plain_key = {.seed = 7, .lanes = 1};

/*  Blocks of one column of u8 or i64 numbers in memory. */
static inline tnd_block_t *numbers(tnd_block_pool_t *block_pool, const tnd_schema_t *schema,
                                   const void *data, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(block_pool, schema);
    size_t bytes = tnd_schema_row_bytes(schema);
    tnd_buffer_t *buffer = tnd_buffer_new(rows * bytes);
    memcpy(tnd_buffer_data(buffer), data, rows * bytes);
    tnd_buffer_seal(buffer);
    block->note = (tnd_block_note_t){.first = 1000, .count = rows, .asked = rows, .rows = rows};
    block->columns[0] =
        (tnd_block_column_t){.base = tnd_buffer_data(buffer), .stride = bytes, .buffer = buffer};
    tnd_block_seal(block);
    return block;
}

static inline tnd_schema_t schema_of(tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert_eq(tnd_schema_add(&schema, "x", dtype, rank, shape, &error), TND_OK);
    return schema;
}

#endif
