/*  runtime/core/places/repeat.c - passes over the input, one after the other, or over each group of
 *  its positions. */
#include "runtime/core/places/place_map.h"

static uint64_t repeat_count(const tnd_place_map_t *map, uint64_t input)
{
    uint64_t times = map->repeat.times, all;
    if (input == 0 || times == 0)
        return 0;
    if (input == TND_PLACES_ENDLESS || times == TND_PLACES_ENDLESS)
        return TND_PLACES_ENDLESS;
    return __builtin_mul_overflow(input, times, &all) ? TND_PLACES_ENDLESS - 1 : all;
}

/*  The positions that a group becomes, if it is whole. */
static uint64_t span_of(const tnd_place_map_t *map)
{
    uint64_t span;
    return __builtin_mul_overflow(map->repeat.group, map->repeat.times, &span) ? UINT64_MAX : span;
}

/*  The position of the input; the last group may be a short one. */
static uint64_t in_group(const tnd_place_stage_t *self, uint64_t position)
{
    uint64_t group = self->map->repeat.group, span = span_of(self->map);
    uint64_t first = position / span * group, left = self->input - first;
    return first + position % span % (group < left ? group : left);
}

/*  TensorFlow begins a pass when the one before ends, also after the last, unless the repeat is
 *  fused with the shuffle that it repeats.  A shuffle draws its seeds at the start of a pass. */
static void repeat_init(tnd_place_stage_t *self)
{
    const tnd_place_stage_t *below = self->below;
    if (self->map->repeat.group > 0)
        return; /* one pass, in which each group is read several times */
    bool fused = self->map->repeat.fused && below != NULL && below->op == &tnd_place_shuffle;
    if (self->wanted > self->count)
        self->passes = self->map->repeat.times + !fused;
    else if (self->input > 0)
        self->passes = self->wanted / self->input + (self->wanted % self->input > 0);
}

static uint64_t repeat_demand(const tnd_place_stage_t *self)
{
    if (self->map->repeat.group > 0)
        return UINT64_MAX;
    bool part = self->passes <= 1 && self->wanted <= self->count;
    return part ? self->wanted : UINT64_MAX;
}

/*  Those below ascend. */
static void trace_groups(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        positions[from] = in_group(self, positions[from]);
        for (to = from + 1; to < count; to++) {
            uint64_t next = in_group(self, positions[to]);
            if (next <= positions[to - 1])
                break;
            positions[to] = next;
        }
        tnd_place_below(self, pass, positions + from, to - from);
    }
}

static void repeat_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    if (self->map->repeat.group > 0) {
        trace_groups(self, pass, positions, count);
        return;
    }
    for (size_t from = 0, to; from < count; from = to) {
        uint64_t number = positions[from] / self->input;
        uint64_t first = number * self->input;
        for (to = from; to < count && positions[to] - first < self->input; to++)
            positions[to] -= first;
        tnd_place_below(self, pass * self->passes + number, positions + from, to - from);
    }
}

const tnd_place_op_t tnd_place_repeat = {.name = "repeat",
                                         .count = repeat_count,
                                         .demand = repeat_demand,
                                         .init = repeat_init,
                                         .trace = repeat_trace};
