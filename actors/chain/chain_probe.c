/*  actors/chain/chain_probe.c - a hash of what a chain makes of built-in rows. */
#include "actors/chain/chain_probe.h"

#include <string.h>

#include <xxhash.h>

#include "actors/chain/chain_internal.h"

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
static size_t probe_bytes(const tnd_schema_t *schema)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < schema->count; i++) {
        const tnd_column_t *column = &schema->columns[i];
        bytes +=
            column->ragged ? PROBE_LENGTH_MAX * tnd_column_unit(column) : tnd_column_bytes(column);
    }
    return bytes;
}

static uint32_t count_rows(const tnd_chain_t *self)
{
    size_t most = probe_bytes(&self->in);
    for (size_t s = 0; s < self->count; s++) {
        const tnd_schema_t *made = &self->stages[s].schema;
        size_t bytes = tnd_schema_ragged(made) > 0 ? tnd_schema_row_bytes(made) : probe_bytes(made);
        most = bytes > most ? bytes : most;
    }
    size_t rows = PROBE_BYTES / (most + 1) + 1;
    return rows < PROBE_ROWS ? (uint32_t)rows : PROBE_ROWS;
}

static const tnd_schema_t *input_of(const tnd_chain_t *self, size_t stage)
{
    return stage > 0 ? &self->stages[stage - 1].schema : &self->in;
}

/*  The memory of the rows under way. */
typedef struct {
    tnd_room_t made;  /* built-in rows, and columns of fixed shape */
    tnd_room_t *room; /* ragged rows that operations make */
    uint64_t sample[2];
    uint32_t origin[2];
} probe_t;

/*  Row `row` of the built-in rows, as the only one of a tile. */
static void build_row(probe_t *probe, const tnd_schema_t *schema, uint32_t row, tnd_tile_t *tile)
{
    probe->sample[0] = row;
    probe->origin[0] = 0;
    *tile = (tnd_tile_t){.rows = 1, .sample = probe->sample, .origin = probe->origin};
    for (uint32_t i = 0; i < schema->count; i++) {
        const tnd_column_t *column = &schema->columns[i];
        tnd_dtype_t dtype = column->dtype;
        size_t size = tnd_dtype_size(dtype), bytes = tnd_column_bytes(column);
        uint64_t length = column->ragged ? probe_length(column, row) : 0;
        if (column->ragged)
            bytes = length * tnd_column_unit(column);
        uint8_t *data = tnd_room_take(&probe->made, bytes, TND_BUFFER_ALIGN);
        for (size_t at = 0; at < bytes; at += size) {
            uint64_t bits = probe_bits(((uint64_t)i * PROBE_ROWS + row) << 40 | at, dtype);
            memcpy(data + at, &bits, size);
        }
        tile->columns[i].base = data;
        tile->columns[i].stride = bytes;
        if (!column->ragged)
            continue;
        tnd_ragged_t *ragged = tnd_room_take(&probe->made, sizeof *ragged, _Alignof(tnd_ragged_t));
        *ragged = (tnd_ragged_t){data, length};
        tile->columns[i].ragged = ragged;
    }
}

/*  Where an operation writes what it makes of one row. */
static void offer_tile(probe_t *probe, const stage_t *stage, uint32_t rows, tnd_tile_t *out)
{
    *out = (tnd_tile_t){.room = probe->room};
    out->sample = tnd_room_take(&probe->made, rows * sizeof *out->sample, sizeof *out->sample);
    out->origin = tnd_room_take(&probe->made, rows * sizeof *out->origin, sizeof *out->origin);
    for (uint32_t i = 0; i < stage->schema.count; i++) {
        const tnd_column_t *column = &stage->schema.columns[i];
        if (stage->passes[i] >= 0)
            continue;
        size_t cell = tnd_chain_cell_bytes(column);
        out->columns[i].stride = cell;
        out->columns[i].base = tnd_room_take(&probe->made, rows * cell, TND_BUFFER_ALIGN);
        memset(out->columns[i].base, 0, rows * cell);
        if (column->ragged)
            out->columns[i].ragged = (tnd_ragged_t *)(void *)out->columns[i].base;
    }
}

static uint64_t hash_tile(const tnd_schema_t *schema, const tnd_tile_t *tile, uint64_t hash)
{
    for (uint32_t row = 0; row < tile->rows; row++)
        for (uint32_t i = 0; i < schema->count; i++) {
            const tnd_column_t *column = &schema->columns[i];
            const tnd_ragged_t *ragged = tile->columns[i].ragged;
            hash = column->ragged
                       ? XXH3_64bits_withSeed(ragged[row].data,
                                              ragged[row].length * tnd_column_unit(column), hash)
                       : XXH3_64bits_withSeed(tnd_tile_row(tile, i, row), tnd_column_bytes(column),
                                              hash);
        }
    return hash;
}

/*  Applies one operation to a row; the tile then has the first that was made of it. */
static tnd_status_t apply_stage(tnd_chain_t *self, probe_t *probe, size_t s, tnd_tile_t *tile,
                                uint64_t *hash)
{
    const stage_t *stage = &self->stages[s];
    const tnd_op_key_t key = {.seed = 1, .operation = (uint32_t)s};
    uint32_t before = s > 0 ? self->stages[s - 1].rows_max : 1;
    uint64_t rows = UINT64_MAX; /* of a row that is refused */
    tnd_tile_t out;
    tnd_error_t error;
    offer_tile(probe, stage, stage->rows_max / before, &out);
    tnd_chain_tell(self, s);
    /* What runs apart is not tried, as if it refused the row: its content is known by a hash. */
    tnd_status_t status = TND_FAILED;
    if ((stage->caps & TND_OP_APART) == 0)
        status = stage->op->apply(stage->state, &key, tile, &out, &error);
    if (status == TND_OK)
        rows = out.rows;
    *hash = XXH3_64bits_withSeed(&rows, sizeof rows, *hash);
    if (status == TND_OK)
        *hash = hash_tile(&stage->schema, &out, *hash);
    if ((stage->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) == 0) {
        out.sample[0] = tile->sample[0];
        out.origin[0] = tile->origin[0];
    }
    out.rows = status == TND_OK && out.rows > 0;
    *tile = out;
    return status;
}

/*  Runs a row through the operations from `first` on; returns the one after the last that it reached. */
static size_t run_row(tnd_chain_t *self, probe_t *probe, size_t first, tnd_tile_t *tile,
                      uint64_t *hash)
{
    size_t s = first;
    while (s < self->count && tile->rows > 0)
        if (apply_stage(self, probe, s++, tile, hash) != TND_OK)
            break;
    tnd_room_clear(&probe->made);
    tnd_room_clear(probe->room);
    return s;
}

/*  Runs the record of a decoder, which no row is longer than, and what is made of it. */
static void probe_record(tnd_chain_t *self, probe_t *probe, size_t s, uint64_t *hash)
{
    const stage_t *stage = &self->stages[s];
    const tnd_schema_t *in = input_of(self, s);
    uint32_t column;
    tnd_tile_t tile;
    if (stage->op->record == NULL)
        return;
    build_row(probe, in, 0, &tile);
    tnd_ragged_t record = stage->op->record(stage->state, &probe->made, &column);
    if (record.length > 0 && record.length <= in->columns[column].shape[0])
        tile.columns[column].ragged[0] = record;
    (void)run_row(self, probe, s, &tile, hash);
}

/*  Runs built-in rows through the operations from `first` on, and returns how many some row reached:
 *  rows that an operation refuses or drops go no further. */
static size_t probe_from(tnd_chain_t *self, probe_t *probe, size_t first, uint64_t *hash)
{
    size_t reached = first;
    uint32_t rows = count_rows(self);
    for (uint32_t row = 0; row < rows; row++) {
        tnd_tile_t tile;
        build_row(probe, input_of(self, first), row, &tile);
        size_t end = run_row(self, probe, first, &tile, hash);
        reached = end > reached ? end : reached;
    }
    return reached;
}

uint64_t tnd_chain_probe(tnd_chain_t *self)
{
    if (tnd_chain_empty(self))
        return 0;
    probe_t probe = {.room = &self->room};
    uint64_t hash = tnd_schema_hash(tnd_chain_schema(self)) ^ tnd_chain_facts(self)->content;
    for (size_t first = 0; first < self->count;)
        first = probe_from(self, &probe, first, &hash);
    for (size_t s = 0; s < self->count; s++)
        probe_record(self, &probe, s, &hash);
    tnd_running_part_set(NULL, 0);
    tnd_room_fini(&probe.made);
    return hash != 0 ? hash : 1;
}
