/*  actors/chain/chain_probe.c - a hash of what a chain makes of built-in rows. */
#include "actors/chain/chain_probe.h"

#include <string.h>

#include <xxhash.h>

/*  So many rows are built in, but of large ones only as many as have so many bytes. */
enum { PROBE_ROWS = 64, PROBE_BYTES = 4 << 20 };

/*  Any bits, but for floats no infinity and no NaN; every eighth is a denormal. */
static uint64_t probe_float(uint64_t bits, uint64_t exponent)
{
    if (bits >> 61 == 0)
        return bits & ~exponent;
    return (bits & exponent) == exponent ? bits & ~(exponent & (~exponent + 1)) : bits;
}

static uint64_t probe_integer(uint64_t bits, tnd_dtype_t dtype)
{
    switch (bits >> 61) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << (8 * tnd_dtype_size(dtype) - 1);
    case 3:
    case 4:
        return bits % 16;
    default:
        return bits;
    }
}

static uint64_t probe_bits(uint64_t number, tnd_dtype_t dtype)
{
    uint64_t bits = XXH3_64bits(&number, sizeof number);
    switch (dtype) {
    case TND_F16:
        return probe_float(bits, 0x7c00);
    case TND_BF16:
        return probe_float(bits, 0x7f80);
    case TND_F32:
        return probe_float(bits, 0x7f800000);
    case TND_F64:
        return probe_float(bits, UINT64_C(0x7ff) << 52);
    case TND_BOOL:
        return bits & 1;
    case TND_U8:
    case TND_I8:
    case TND_U16:
    case TND_I16:
    case TND_U32:
    case TND_I32:
    case TND_U64:
    case TND_I64:
        return probe_integer(bits, dtype);
    }
    return bits;
}

/*  The built-in rows of a ragged column have lengths up to this. */
enum { PROBE_LENGTH_MAX = 4096 };

static uint64_t probe_length(const tnd_column_t *column, uint32_t row)
{
    uint64_t most = column->shape[0] < PROBE_LENGTH_MAX ? column->shape[0] : PROBE_LENGTH_MAX;
    return (row + 1) * UINT64_C(0x9e3779b1) % (most + 1);
}

/*  About as many as one of the built-in rows takes. */
static size_t probe_bytes(const tnd_chain_t *self)
{
    const tnd_schema_t *in = tnd_chain_input(self);
    size_t bytes = 0, made = tnd_schema_row_bytes(tnd_chain_schema(self));
    for (uint32_t i = 0; i < in->count; i++) {
        const tnd_column_t *column = &in->columns[i];
        bytes +=
            column->ragged ? PROBE_LENGTH_MAX * tnd_column_unit(column) : tnd_column_bytes(column);
    }
    return tnd_schema_ragged(in) > 0 && made > bytes ? made : bytes;
}

/*  Row `row` of the built-in rows, as a block of its own. */
static tnd_block_t *probe_block(const tnd_schema_t *in, tnd_block_pool_t *block_pool, uint32_t row)
{
    tnd_block_t *block = tnd_block_pool_take(block_pool, in);
    block->note.first = row;
    block->note.count = block->note.asked = block->note.rows = 1;
    block->index = tnd_buffer_new(TND_COLUMNS_MAX * sizeof(uint64_t));
    uint64_t *lengths = tnd_buffer_data(block->index);
    for (uint32_t i = 0; i < in->count; i++) {
        const tnd_column_t *column = &in->columns[i];
        tnd_dtype_t dtype = column->dtype;
        size_t size = tnd_dtype_size(dtype), bytes = tnd_column_bytes(column);
        if (column->ragged) {
            lengths[i] = probe_length(column, row);
            bytes = lengths[i] * tnd_column_unit(column);
        }
        tnd_buffer_t *buffer = tnd_buffer_new(bytes);
        uint8_t *data = tnd_buffer_data(buffer);
        for (size_t at = 0; at < bytes; at += size) {
            uint64_t bits = probe_bits(((uint64_t)i * PROBE_ROWS + row) << 40 | at, dtype);
            memcpy(data + at, &bits, size);
        }
        tnd_buffer_seal(buffer);
        block->columns[i] = (tnd_block_column_t){.base = data,
                                                 .stride = bytes,
                                                 .buffer = buffer,
                                                 .lengths = column->ragged ? &lengths[i] : NULL};
    }
    tnd_buffer_seal(block->index);
    tnd_block_seal(block);
    return block;
}

static uint64_t hash_block(const tnd_block_t *block, uint64_t hash)
{
    for (uint32_t row = 0; row < block->note.rows; row++)
        for (uint32_t i = 0; i < block->schema->count; i++)
            hash = XXH3_64bits_withSeed(tnd_block_row(block, i, row),
                                        tnd_block_row_bytes(block, i, row), hash);
    return hash;
}

uint64_t tnd_chain_probe(tnd_chain_t *self)
{
    if (tnd_chain_empty(self))
        return 0;
    const tnd_chain_key_t key = {.seed = 1, .lanes = 1};
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(tnd_chain_bytes(self, 1));
    uint64_t hash = tnd_schema_hash(tnd_chain_schema(self)) ^ tnd_chain_content(self);
    size_t most = PROBE_BYTES / probe_bytes(self) + 1;
    for (uint32_t row = 0; row < PROBE_ROWS && row < most; row++) {
        tnd_error_t error;
        tnd_block_t *block = probe_block(tnd_chain_input(self), block_pool, row), *out = NULL;
        uint64_t rows = UINT64_MAX; /* of a row that is refused */
        if (tnd_chain_run(self, &key, block, block_pool, pool, &out, &error) == TND_OK)
            rows = out->note.rows;
        hash = XXH3_64bits_withSeed(&rows, sizeof rows, hash);
        if (out != NULL)
            hash = hash_block(out, hash);
        tnd_block_drop(&block);
        tnd_block_drop(&out);
    }
    tnd_pool_destroy(&pool);
    tnd_block_pool_destroy(&block_pool);
    return hash != 0 ? hash : 1;
}
