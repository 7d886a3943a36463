/*  runtime/core/places/shard.c - each of N parts gets every N-th position. */
#include "runtime/core/places/place_map.h"

static uint64_t shard_count(const tnd_place_map_t *map, uint64_t input)
{
    if (input == TND_PLACES_ENDLESS)
        return input;
    return input / map->shard.shards + (input % map->shard.shards > map->shard.index);
}

static uint64_t shard_demand(const tnd_place_stage_t *self)
{
    if (self->wanted == 0 || self->wanted > self->count)
        return self->wanted == 0 ? 0 : UINT64_MAX;
    return (self->wanted - 1) * self->map->shard.shards + self->map->shard.index + 1;
}

static void shard_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    uint64_t shards = self->map->shard.shards, index = self->map->shard.index;
    for (size_t i = 0; i < count; i++)
        positions[i] = positions[i] * shards + index;
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_shard = {
    .name = "shard", .count = shard_count, .demand = shard_demand, .trace = shard_trace};
