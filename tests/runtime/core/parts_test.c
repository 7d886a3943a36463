/*  Covers runtime/core/places/part.c: parts are disjoint and complete, have their share of any stretch
 *  of the rows, and keep the order of the rows. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/places.h"

enum { ROWS = 3000 };

typedef struct {
    uint32_t parts, of[4];
} sizes_t;

/*  In lowest terms. */
static const sizes_t all_sizes[] = {{2, {4, 1}},        {2, {1, 1}},   {3, {14, 3, 3}},
                                    {4, {1, 2, 3, 94}}, {2, {999, 1}}, {2, {1, 9}}};

static tnd_place_list_t list_of_some(const sizes_t *sizes, uint32_t chosen, uint64_t seed)
{
    tnd_place_list_t list = {.count = 1, .maps = {{.kind = TND_PLACE_PART}}};
    memcpy(list.maps[0].part.of, sizes->of, sizeof sizes->of);
    list.maps[0].part.parts = sizes->parts;
    list.maps[0].part.chosen = chosen;
    list.maps[0].part.seed = seed;
    return list;
}

static tnd_place_list_t list_of(const sizes_t *sizes, uint32_t index, uint64_t seed)
{
    return list_of_some(sizes, 1U << index, seed);
}

/*  The places of all positions of a lane of a list, from last to first by blocks of `block`. */
static uint64_t fill(const tnd_place_list_t *list, uint64_t rows, uint64_t epoch, uint64_t block,
                     uint64_t *places)
{
    tnd_places_config_t config = {.list = list, .rows = rows, .lanes = 1, .recall = 64};
    uint64_t count = tnd_places_count(list, rows);
    void *memory = malloc(tnd_places_bytes(&config));
    tnd_places_t *self = tnd_places_init(memory, &config);
    for (uint64_t first = 0; first < count; first += block)
        tnd_places_fill(self, epoch, first, count - first < block ? count - first : block,
                        places + first);
    free(memory);
    return count;
}

static uint32_t total_of(const sizes_t *sizes)
{
    uint32_t total = 0;
    for (uint32_t p = 0; p < sizes->parts; p++)
        total += sizes->of[p];
    return total;
}

Test(parts, every_row_is_in_one_part_whatever_their_number)
{
    static const uint64_t counts[] = {0, 1, 2, 4, 5, 6, 99, 100, 101, 1000, 1999, ROWS};
    for (size_t s = 0; s < sizeof all_sizes / sizeof all_sizes[0]; s++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            static uint8_t seen[ROWS];
            static uint64_t places[ROWS];
            uint64_t sum = 0;
            memset(seen, 0, sizeof seen);
            for (uint32_t p = 0; p < all_sizes[s].parts; p++) {
                tnd_place_list_t list = list_of(&all_sizes[s], p, 7);
                uint64_t count = fill(&list, counts[c], p, 1 + c, places);
                sum += count;
                for (uint64_t i = 0; i < count; i++) {
                    cr_assert_lt(places[i], counts[c]);
                    cr_assert(i == 0 || places[i - 1] < places[i], "the rows are in their order");
                    if (seen[places[i]]++ != 0)
                        cr_assert_fail("row %llu is in two parts", (unsigned long long)places[i]);
                }
            }
            cr_assert_eq(sum, counts[c]);
        }
}

Test(parts, each_has_its_share_of_any_window_and_draws_it_by_the_seed)
{
    static uint64_t places[ROWS], others[ROWS];
    for (size_t s = 0; s < sizeof all_sizes / sizeof all_sizes[0]; s++)
        for (uint32_t p = 0; p < all_sizes[s].parts; p++) {
            uint32_t total = total_of(&all_sizes[s]), own = all_sizes[s].of[p], firsts = 0;
            tnd_place_list_t list = list_of(&all_sizes[s], p, 7),
                             other = list_of(&all_sizes[s], p, 8);
            uint64_t count = fill(&list, ROWS / total * total, 0, 100, places);
            cr_assert_eq(count, ROWS / total * own);
            for (uint64_t i = 0; i < count; i++)
                cr_assert_eq(places[i] / total, i / own);
            (void)fill(&other, ROWS / total * total, 0, 100, others);
            cr_assert(memcmp(places, others, count * sizeof *places) != 0,
                      "another seed, the same rows");
            (void)fill(&list, ROWS / total * total, 5, 13, others);
            cr_assert(memcmp(places, others, count * sizeof *places) == 0,
                      "another epoch, other rows");
            for (uint64_t i = 0; i < count; i++)
                firsts += places[i] % total == 0;
            /* The first row of a window is in the part as often as any; 6 standard deviations. */
            double windows = (double)(ROWS / total), share = (double)own / total;
            double apart = firsts - windows * share;
            cr_assert_leq(apart * apart, 36 * windows * share * (1 - share) + 1);
        }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(parts, several_have_the_rows_of_each_in_their_order)
{
    for (size_t s = 0; s < sizeof all_sizes / sizeof all_sizes[0]; s++)
        for (uint32_t chosen = 1; chosen < 1U << all_sizes[s].parts; chosen++)
            for (uint64_t rows = 990; rows < 1010; rows++) {
                static uint64_t places[ROWS], wanted[ROWS];
                uint64_t sum = 0;
                for (uint32_t p = 0; p < all_sizes[s].parts; p++) {
                    tnd_place_list_t one = list_of(&all_sizes[s], p, 7);
                    sum += (chosen >> p & 1) != 0 ? fill(&one, rows, 0, 97, wanted + sum) : 0;
                }
                qsort(wanted, sum, sizeof wanted[0], compare);
                tnd_place_list_t some = list_of_some(&all_sizes[s], chosen, 7);
                cr_assert_eq(fill(&some, rows, 3, 100, places), sum);
                cr_assert(memcmp(places, wanted, sum * sizeof places[0]) == 0);
            }
}

Test(parts, maps_after_it_see_its_rows_only)
{
    static uint64_t places[ROWS], shuffled[ROWS];
    tnd_place_list_t list = list_of(&all_sizes[0], 1, 7);
    uint64_t count = fill(&list, 1003, 0, 50, places);
    list.maps[list.count++] = (tnd_place_map_t){.kind = TND_PLACE_GLOBAL, .global = 3};
    for (uint64_t epoch = 0; epoch < 10; epoch++) {
        uint8_t seen[1003] = {0};
        cr_assert_eq(fill(&list, 1003, epoch, 9, shuffled), count);
        for (uint64_t i = 0; i < count; i++)
            seen[shuffled[i]]++;
        for (uint64_t i = 0; i < count; i++)
            cr_assert_eq(seen[places[i]], 1);
    }
    list.maps[1] = (tnd_place_map_t){.kind = TND_PLACE_SKIP, .skip = 3};
    cr_assert_eq(fill(&list, 1003, 0, 9, shuffled), count - 3);
    cr_assert(memcmp(shuffled, places + 3, (count - 3) * sizeof *places) == 0);
}

static void refused(tnd_place_list_t list, const char *why, const char *help)
{
    tnd_places_fault_t fault;
    cr_assert_not(tnd_places_check(&list, 100, &fault));
    cr_assert_not_null(strstr(fault.why.text, why), "%s", fault.why.text);
    cr_assert_not_null(strstr(fault.help, help), "%s", fault.help);
}

Test(parts, mistakes_are_named)
{
    tnd_place_list_t list = list_of(&all_sizes[0], 2, 7);
    refused(list, "part 2 of 2 parts", "numbered from 0");
    list.maps[0].part.chosen = 0;
    refused(list, "`except` leaves out all 2 parts", "leave at least one");
    list.maps[0].part.parts = 0;
    refused(list, "`of` has two to 16 whole numbers from 1 on", "of: [80, 20]");
    list = list_of(&all_sizes[0], 1, 7);
    list.maps[1] = list.maps[0];
    list.maps[0] = (tnd_place_map_t){.kind = TND_PLACE_GLOBAL};
    list.count = 2;
    refused(list, "`part` after `global`: it works on rows as stored",
            "make `part` the first of the list");
}
