/*  runtime/core/places/skip.c - leaves out the first positions. */
#include "runtime/core/places/place_map.h"

static uint64_t skip_count(const tnd_place_map_t *map, uint64_t input)
{
    if (map->skip >= input)
        return 0;
    return input == TND_PLACES_ENDLESS ? input : input - map->skip;
}

static uint64_t skip_demand(const tnd_place_stage_t *self)
{
    return self->wanted > self->count ? UINT64_MAX : self->wanted + self->map->skip;
}

static void skip_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    uint64_t skip = self->map->skip;
    for (size_t i = 0; i < count; i++)
        positions[i] += skip;
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_skip = {
    .name = "skip", .count = skip_count, .demand = skip_demand, .trace = skip_trace};
