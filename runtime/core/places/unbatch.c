/*  runtime/core/places/unbatch.c - rows inside stored rows.
 *
 *  A place of a list with `unbatch` is a row inside a stored row: stored row place / rows, and in it
 *  row place % rows.  places.c counts in such rows from the start, and so does `interleave`. */
#include "runtime/core/places/place_map.h"

static uint64_t unbatch_count(const tnd_place_map_t *map, uint64_t input)
{
    uint64_t all;
    return __builtin_mul_overflow(input, map->unbatch, &all) ? TND_PLACES_ENDLESS - 1 : all;
}

const tnd_place_op_t tnd_place_unbatch = {
    .name = "unbatch", .rules = TND_PLACE_FIRST, .count = unbatch_count};
