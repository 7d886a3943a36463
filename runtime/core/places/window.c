/*  runtime/core/places/window.c - several positions as one.
 *
 *  Position p is positions p * shift, p * shift + stride, ... of the input.  places.c asks for them;
 *  the windows at the end of the input are shorter, or left out. */
#include "runtime/core/places/place_map.h"

static uint64_t window_count(const tnd_place_map_t *map, uint64_t input)
{
    uint64_t span = map->window.drop_remainder ? (map->window.size - 1) * map->window.stride : 0;
    if (input == TND_PLACES_ENDLESS)
        return input;
    return input <= span ? 0 : (input - span - 1) / map->window.shift + 1;
}

const tnd_place_op_t tnd_place_window = {
    .name = "window", .rules = TND_PLACE_LAST, .count = window_count};
