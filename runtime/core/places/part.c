/*  runtime/core/places/part.c - one or some of several disjoint parts of the rows, drawn by a seed or by a list.
 *
 *  Without a list, windows of as many rows as the parts have in lowest terms, five for 80 and 20, are divided each by a
 *  draw of its own, so every part has its share of any stretch of the rows, in the order of the rows. */
#include <string.h>

#include "runtime/core/numeric/random.h"
#include "runtime/core/places/place_map.h"
#include "runtime/core/places/row_parts.h"

typedef struct {
    uint64_t window; /* that `slots` are of; UINT64_MAX: none */
    uint16_t slots[];
} part_state_t;

static uint32_t total_of(const tnd_place_map_t *map)
{
    uint32_t total = 0;
    for (uint32_t p = 0; p < map->part.parts; p++)
        total += map->part.of[p];
    return total;
}

static bool is_chosen(const tnd_place_map_t *map, uint32_t part)
{
    return (map->part.chosen >> part & 1) != 0;
}

/*  Rows of a window that are read. */
static uint32_t own_of(const tnd_place_map_t *map)
{
    uint32_t own = 0;
    for (uint32_t p = 0; p < map->part.parts; p++)
        own += is_chosen(map, p) ? map->part.of[p] : 0;
    return own;
}

const char *tnd_place_part_text(uint32_t chosen, char text[64])
{
    static const char *const numbers[TND_PLACES_PARTS_MAX] = {
        " 0", " 1", " 2",  " 3",  " 4",  " 5",  " 6",  " 7",
        " 8", " 9", " 10", " 11", " 12", " 13", " 14", " 15"};
    strcpy(text, (chosen & (chosen - 1)) == 0 ? "part" : "parts");
    for (uint32_t p = 0, count = 0; p < TND_PLACES_PARTS_MAX; p++)
        if ((chosen >> p & 1) != 0)
            strcat(strcat(text, count++ > 0 ? "," : ""), numbers[p]);
    return text;
}

/*  Which rows of a window are in the chosen parts, ascending. */
static void draw(const tnd_place_map_t *map, uint64_t window, uint16_t *slots)
{
    uint16_t rows[TND_PLACES_PARTS_SUM];
    bool chosen[TND_PLACES_PARTS_SUM] = {false};
    uint32_t total = total_of(map), cell = 0, found = 0;
    tnd_random_t random;
    tnd_random_init(&random, map->part.seed, 0, window, 0);
    for (uint32_t i = 0; i < total; i++)
        rows[i] = (uint16_t)i;
    /* Cells up to the last one that is chosen are drawn; the others need no order. */
    for (uint32_t p = 0; map->part.chosen >> p != 0; p++)
        for (uint32_t i = 0; i < map->part.of[p]; i++, cell++) {
            uint32_t with = cell + (uint32_t)tnd_random_below(&random, total - cell);
            uint16_t row = rows[with];
            rows[with] = rows[cell];
            rows[cell] = row;
            chosen[row] = is_chosen(map, p);
        }
    for (uint32_t row = 0; row < total; row++)
        if (chosen[row])
            slots[found++] = (uint16_t)row;
}

static uint64_t part_count(const tnd_place_map_t *map, uint64_t input)
{
    uint16_t slots[TND_PLACES_PARTS_SUM];
    if (input == TND_PLACES_ENDLESS || map->part.chosen == 0 ||
        map->part.chosen >> map->part.parts != 0)
        return input; /* all but the first are refused */
    if (map->part.rows > 0)
        return map->part.own;
    uint32_t own = own_of(map), total = total_of(map), last = 0;
    draw(map, input / total, slots);
    while (last < own && slots[last] < input % total)
        last++;
    return input / total * own + last;
}

uint64_t tnd_place_part_rows(const tnd_place_map_t *map, const tnd_row_parts_t *row_parts,
                             uint64_t from, uint64_t to)
{
    return map->part.rows > 0 ? tnd_row_parts_count(row_parts, map->part.chosen, from, to)
                              : part_count(map, to) - part_count(map, from);
}

static uint64_t place_of(const tnd_place_map_t *map, part_state_t *state, uint64_t position)
{
    uint32_t own = own_of(map);
    uint64_t window = position / own;
    if (state->window != window)
        draw(map, window, state->slots);
    state->window = window;
    return window * total_of(map) + state->slots[position % own];
}

/*  The row that is number `number` of the chosen parts. */
static uint64_t listed(const tnd_place_stage_t *self, uint64_t number)
{
    return tnd_row_finder_row(self->state, number);
}

static uint64_t part_demand(const tnd_place_stage_t *self)
{
    uint16_t slots[TND_PLACES_PARTS_SUM];
    uint32_t own = own_of(self->map);
    if (self->wanted == 0 || self->wanted > self->count)
        return self->wanted == 0 ? 0 : UINT64_MAX;
    if (self->map->part.rows > 0)
        return listed(self, self->wanted - 1) + 1;
    draw(self->map, (self->wanted - 1) / own, slots);
    return (self->wanted - 1) / own * total_of(self->map) + slots[(self->wanted - 1) % own] + 1;
}

static size_t part_bytes(const tnd_place_stage_t *self)
{
    if (self->map->part.rows > 0)
        return sizeof(tnd_row_finder_t) +
               tnd_row_finder_bytes(self->map->part.rows, self->map->part.parts);
    size_t bytes = sizeof(part_state_t) + own_of(self->map) * sizeof(uint16_t);
    return (bytes + 7) / 8 * 8;
}

static void part_init(tnd_place_stage_t *self)
{
    part_state_t *state = self->state;
    tnd_row_finder_t *finder = self->state;
    if (self->map->part.rows > 0)
        tnd_row_finder_init(finder, self->row_parts, self->map->part.chosen,
                            (uint64_t *)(finder + 1));
    else
        state->window = UINT64_MAX;
}

static void part_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        positions[i] = self->map->part.rows > 0 ? listed(self, positions[i])
                                                : place_of(self->map, self->state, positions[i]);
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_part = {.name = "part",
                                       .rules = TND_PLACE_FIRST,
                                       .count = part_count,
                                       .demand = part_demand,
                                       .bytes = part_bytes,
                                       .init = part_init,
                                       .trace = part_trace};
