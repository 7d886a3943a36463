/*  runtime/core/places/take.c - the first positions only. */
#include "runtime/base/bounds.h"
#include "runtime/core/places/place_map.h"

static uint64_t take_count(const tnd_place_map_t *map, uint64_t input)
{
    return tnd_least(map->take, input);
}

/*  A `take` that is satisfied does not look for the end of its input. */
static uint64_t take_demand(const tnd_place_stage_t *self)
{
    return tnd_least(self->map->take, self->wanted);
}

static void take_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_take = {
    .name = "take", .count = take_count, .demand = take_demand, .trace = take_trace};
