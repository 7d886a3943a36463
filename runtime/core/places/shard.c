/*  runtime/core/places/shard.c - each of N parts gets every N-th position, or group of positions. */
#include "runtime/core/places/place_map.h"

static uint64_t shard_count(const tnd_place_map_t *map, uint64_t input)
{
    uint64_t rows = map->shard.rows, before = map->shard.index * rows;
    if (input == TND_PLACES_ENDLESS)
        return input;
    uint64_t whole = input / rows / map->shard.shards;
    uint64_t rest = input - whole * rows * map->shard.shards;
    uint64_t own = rest > before ? rest - before : 0;
    return whole * rows + (own < rows ? own : rows);
}

static uint64_t place_of(const tnd_place_map_t *map, uint64_t position)
{
    uint64_t rows = map->shard.rows;
    return (position / rows * map->shard.shards + map->shard.index) * rows + position % rows;
}

static uint64_t shard_demand(const tnd_place_stage_t *self)
{
    if (self->wanted == 0 || self->wanted > self->count)
        return self->wanted == 0 ? 0 : UINT64_MAX;
    return place_of(self->map, self->wanted - 1) + 1;
}

static void shard_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        positions[i] = place_of(self->map, positions[i]);
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_shard = {
    .name = "shard", .count = shard_count, .demand = shard_demand, .trace = shard_trace};
