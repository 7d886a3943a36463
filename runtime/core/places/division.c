/*  runtime/core/places/division.c - divides rows into parts by the value that each has in a column. */
#include "runtime/core/places/division.h"

#include <string.h>

#include "runtime/core/numeric/random.h"

/*  The draws of rows and of values. */
enum { DRAW_ROWS = 1, DRAW_VALUES = 2 };

static uint64_t sum_of(const tnd_place_map_t *map)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < map->part.parts; p++)
        sum += map->part.of[p];
    return sum;
}

/*  The rows of one value in each part.  lacks[part]: rows of its share of the values before, times the sum
 *  of the sizes, that it did not get. */
static void round_shares(const tnd_place_map_t *map, uint64_t rows, int64_t *lacks, uint64_t *made)
{
    uint64_t sum = sum_of(map), given = 0;
    bool more[TND_PLACES_PARTS_MAX];
    for (uint32_t p = 0; p < map->part.parts; p++) {
        made[p] = rows * map->part.of[p] / sum;
        lacks[p] += (int64_t)(rows * map->part.of[p] % sum);
        more[p] = rows * map->part.of[p] % sum > 0;
        given += made[p];
    }
    for (; given < rows; given++) {
        uint32_t most = TND_PLACES_PARTS_MAX;
        for (uint32_t p = 0; p < map->part.parts; p++)
            if (more[p] && (most == TND_PLACES_PARTS_MAX || lacks[p] > lacks[most]))
                most = p;
        more[most] = false;
        made[most]++;
        lacks[most] -= (int64_t)sum;
    }
}

/*  One of the rows that are left of a value, of which left[part] are still to be drawn. */
static uint32_t draw_part(tnd_random_t *random, uint64_t *left, uint32_t parts)
{
    uint64_t all = 0;
    uint32_t p = 0;
    for (uint32_t i = 0; i < parts; i++)
        all += left[i];
    uint64_t at = tnd_random_below(random, all);
    for (; at >= left[p]; p++)
        at -= left[p];
    left[p]--;
    return p;
}

void tnd_division_each(const tnd_place_map_t *part, const tnd_division_value_t *values,
                       uint32_t count, uint32_t *rows, uint64_t row_count, uint64_t *made)
{
    uint32_t parts = part->part.parts;
    int64_t lacks[TND_PLACES_PARTS_MAX] = {0};
    tnd_random_t random;
    tnd_random_init(&random, part->part.seed, 0, 0, DRAW_ROWS);
    for (uint32_t v = 0; v < count; v++)
        round_shares(part, values[v].rows, lacks, made + (size_t)v * parts);
    for (uint64_t i = 0; i < row_count; i++)
        rows[i] = rows[i] == TND_DIVISION_NO_VALUE
                      ? 0
                      : draw_part(&random, made + (size_t)rows[i] * parts, parts);
    memset(lacks, 0, sizeof lacks);
    for (uint32_t v = 0; v < count; v++)
        round_shares(part, values[v].rows, lacks, made + (size_t)v * parts);
}

static bool is_before(const tnd_division_value_t *one, const tnd_division_value_t *other)
{
    return one->hash != other->hash ? one->hash < other->hash : one->rows < other->rows;
}

/*  Lets value `at` of a heap, whose greatest is the first, sink to its place. */
static void sink(tnd_division_value_t *heap, uint32_t at, uint32_t count)
{
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < count; at = (uint32_t)child) {
        child += child + 1 < count && is_before(&heap[child], &heap[child + 1]);
        if (!is_before(&heap[at], &heap[child]))
            return;
        tnd_division_value_t value = heap[at];
        heap[at] = heap[child];
        heap[child] = value;
    }
}

/*  A sort by heap, which needs no memory. */
static void sort_by_hash(tnd_division_value_t *values, uint32_t count)
{
    for (uint32_t at = count / 2; at > 0; at--)
        sink(values, at - 1, count);
    for (uint32_t last = count; last > 1; last--) {
        tnd_division_value_t value = values[0];
        values[0] = values[last - 1];
        values[last - 1] = value;
        sink(values, 0, last - 1);
    }
}

/*  The part that lacks most rows of its share. */
static uint32_t poorest(const tnd_place_map_t *map, uint64_t all, const uint64_t *given)
{
    uint64_t sum = sum_of(map);
    uint32_t most = 0;
    int64_t lacks = INT64_MIN;
    for (uint32_t p = 0; p < map->part.parts; p++) {
        int64_t own = (int64_t)(all * map->part.of[p]) - (int64_t)(given[p] * sum);
        if (own > lacks)
            lacks = own, most = p;
    }
    return most;
}

void tnd_division_whole(const tnd_place_map_t *part, const tnd_division_value_t *values,
                        uint32_t count, uint32_t *rows, uint64_t row_count,
                        tnd_division_value_t *drawn, uint32_t *made)
{
    uint64_t given[TND_PLACES_PARTS_MAX] = {0}, all = 0;
    for (uint32_t v = 0; v < count; v++) {
        tnd_random_t random;
        tnd_random_init(&random, part->part.seed, 0, values[v].hash, DRAW_VALUES);
        drawn[v] = (tnd_division_value_t){.hash = tnd_random_u64(&random), .rows = v};
        all += values[v].rows;
    }
    sort_by_hash(drawn, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = (uint32_t)drawn[i].rows;
        made[v] = poorest(part, all, given);
        given[made[v]] += values[v].rows;
    }
    for (uint64_t i = 0; i < row_count; i++)
        rows[i] = rows[i] == TND_DIVISION_NO_VALUE ? 0 : made[rows[i]];
}
