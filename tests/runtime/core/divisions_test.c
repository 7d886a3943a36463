/*  Covers runtime/core/places/division.c and row_parts.c: parts by the values of a column. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/places.h"
#include "runtime/core/places/division.h"
#include "runtime/core/places/row_parts.h"

enum { ROWS = 5000, VALUES = 300 };

typedef struct {
    tnd_place_map_t map;
    tnd_division_value_t values[VALUES];
    uint32_t count;
    uint32_t of_row[ROWS], part[ROWS];
} case_t;

static const uint32_t shares[][4] = {{4, 1}, {1, 1}, {7, 3}, {99, 1}, {14, 3, 3}, {1, 2, 3, 94}};

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % bound;
}

/*  Rows of `count` values, the first ones the most frequent. */
static void make(case_t *self, size_t of, uint32_t count, uint32_t rows, uint32_t seed)
{
    memset(self, 0, sizeof *self);
    self->map.kind = TND_PLACE_PART;
    for (uint32_t p = 0; p < 4 && shares[of][p] > 0; p++)
        self->map.part.of[self->map.part.parts++] = shares[of][p];
    self->map.part.seed = seed;
    self->count = count;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t value = i < count ? i : below(&seed, 1 + below(&seed, count));
        self->of_row[i] = self->part[i] = value;
        self->values[value].rows++;
        self->values[value].hash = 77 + value * UINT64_C(0x9e3779b97f4a7c15);
    }
}

static double share_of(const case_t *self, uint32_t part, uint64_t rows)
{
    double sum = 0;
    for (uint32_t p = 0; p < self->map.part.parts; p++)
        sum += self->map.part.of[p];
    return (double)rows * self->map.part.of[part] / sum;
}

Test(divisions, each_value_has_its_share_to_within_one_row)
{
    static case_t self;
    static uint64_t made[VALUES * 4];
    for (size_t of = 0; of < sizeof shares / sizeof shares[0]; of++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            uint32_t counts[VALUES][4] = {{0}}, totals[4] = {0}, rows = 2 * VALUES + seed * 113;
            make(&self, of, 1 + seed * 14, rows, seed);
            tnd_division_each(&self.map, self.values, self.count, self.part, rows, made);
            for (uint32_t i = 0; i < rows; i++) {
                cr_assert_lt(self.part[i], self.map.part.parts);
                counts[self.of_row[i]][self.part[i]]++;
                totals[self.part[i]]++;
            }
            for (uint32_t p = 0; p < self.map.part.parts; p++) {
                for (uint32_t v = 0; v < self.count; v++) {
                    double off = counts[v][p] - share_of(&self, p, self.values[v].rows);
                    cr_assert_lt(fabs(off), 1);
                    cr_assert_eq(counts[v][p], made[v * self.map.part.parts + p]);
                }
                if (self.map.part.parts == 2)
                    cr_assert_lt(fabs(totals[p] - share_of(&self, p, rows)), 1);
            }
        }
}

Test(divisions, a_value_is_never_divided_and_parts_are_near_their_share)
{
    static case_t self;
    static tnd_division_value_t drawn[VALUES];
    static uint32_t made[VALUES];
    for (size_t of = 0; of < sizeof shares / sizeof shares[0]; of++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            uint32_t totals[4] = {0}, rows = 2 * VALUES + seed * 113, parts;
            double most = 0;
            make(&self, of, 2 + seed * 14, rows, seed);
            parts = self.map.part.parts;
            tnd_division_whole(&self.map, self.values, self.count, self.part, rows, drawn, made);
            for (uint32_t i = 0; i < rows; i++) {
                cr_assert_eq(self.part[i], made[self.of_row[i]]);
                totals[self.part[i]]++;
            }
            for (uint32_t v = 0; v < self.count; v++)
                most = fmax(most, (double)self.values[v].rows);
            double bound = most * (parts - 1) / parts;
            for (uint32_t p = 0; p < parts; p++) {
                double off = totals[p] - share_of(&self, p, rows);
                cr_assert_leq(off, bound);
                cr_assert(parts > 2 || off >= -bound);
            }
        }
}

Test(divisions, another_seed_divides_in_another_way)
{
    static case_t self, other;
    static uint64_t made[VALUES * 4];
    static tnd_division_value_t drawn[VALUES];
    static uint32_t of[VALUES];
    make(&self, 0, 20, 1000, 1);
    other = self;
    other.map.part.seed = 2;
    tnd_division_each(&self.map, self.values, 20, self.part, 1000, made);
    tnd_division_each(&other.map, other.values, 20, other.part, 1000, made);
    cr_assert_neq(memcmp(self.part, other.part, 1000 * sizeof self.part[0]), 0);
    memcpy(self.part, self.of_row, sizeof self.part);
    memcpy(other.part, other.of_row, sizeof other.part);
    tnd_division_whole(&self.map, self.values, 20, self.part, 1000, drawn, of);
    tnd_division_whole(&other.map, other.values, 20, other.part, 1000, drawn, of);
    cr_assert_neq(memcmp(self.part, other.part, 1000 * sizeof self.part[0]), 0);
}

Test(divisions, a_row_without_a_value_is_of_the_first_part)
{
    static case_t self;
    static uint64_t made[VALUES * 4];
    make(&self, 1, 1, 10, 1);
    self.part[3] = TND_DIVISION_NO_VALUE;
    self.values[0].rows--;
    tnd_division_each(&self.map, self.values, 1, self.part, 10, made);
    cr_assert_eq(self.part[3], 0);
}

/*  A list of random parts, and its text. */
static char *text_of(uint32_t parts, uint64_t rows, uint32_t *part_of)
{
    uint32_t seed = parts;
    char *text = malloc(tnd_row_parts_bytes(rows, parts));
    for (uint64_t i = 0; i < rows; i++)
        part_of[i] = below(&seed, parts);
    tnd_row_parts_write(part_of, rows, parts, text);
    return text;
}

/*  Each part, and all but each. */
static uint32_t set_of(uint32_t set, uint32_t parts)
{
    return set < parts ? 1U << set : ((1U << parts) - 1) ^ 1U << (set - parts);
}

Test(divisions, a_list_has_the_rows_of_the_chosen_parts_in_their_order)
{
    static const uint64_t numbers[] = {1, 5, 6, 7, 384, 385, 4607, 4608, 4609, ROWS};
    static uint32_t part_of[ROWS];
    for (uint32_t parts = 2; parts <= TND_PLACES_PARTS_MAX; parts++)
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            uint64_t rows = numbers[n], counts[TND_PLACES_PARTS_MAX], sum = 0;
            char *text = text_of(parts, rows, part_of);
            tnd_row_parts_t list = {.text = text, .rows = rows, .parts = parts};
            cr_assert(tnd_row_parts_check(&list, counts));
            for (uint32_t set = 0; set < 2 * parts; set++) {
                uint32_t chosen = set_of(set, parts);
                tnd_row_finder_t finder;
                uint64_t *before = malloc(tnd_row_finder_bytes(rows, parts));
                tnd_row_finder_init(&finder, &list, chosen, before);
                uint64_t number = 0, last = 0;
                for (uint64_t row = 0; row < rows; row++)
                    if ((chosen >> part_of[row] & 1) != 0) {
                        last = row;
                        cr_assert_eq(tnd_row_finder_row(&finder, number++), row);
                    }
                cr_assert(set >= parts || number == counts[set]);
                cr_assert_eq(number, tnd_row_parts_count(&list, chosen, 0, rows));
                cr_assert(number == 0 || tnd_row_finder_row(&finder, number - 1) == last);
                for (uint64_t i = 0; i < number; i++) { /* in any order */
                    uint64_t row = tnd_row_finder_row(&finder, i * 37 % number);
                    cr_assert(row < rows && (chosen >> part_of[row] & 1) != 0);
                }
                sum += number;
                free(before);
            }
            cr_assert_eq(sum, parts * rows);
            free(text);
        }
}

Test(divisions, a_text_that_is_no_list_is_refused)
{
    static uint32_t part_of[ROWS];
    uint64_t counts[TND_PLACES_PARTS_MAX];
    char *text = text_of(3, ROWS, part_of);
    tnd_row_parts_t list = {.text = text, .rows = ROWS, .parts = 3};
    cr_assert(tnd_row_parts_check(&list, counts));
    list.rows = ROWS - 3;
    cr_assert_not(tnd_row_parts_check(&list, counts), "too long");
    list.rows = ROWS + 3;
    cr_assert_not(tnd_row_parts_check(&list, counts), "too short");
    list.rows = ROWS;
    for (const char *bad = "/p ~"; *bad != '\0'; bad++) {
        char kept = text[100];
        text[100] = *bad;
        cr_assert_not(tnd_row_parts_check(&list, counts), "%c", *bad);
        text[100] = kept;
    }
    text[100] = '0' + 3; /* part 3 of parts 0 to 2 */
    cr_assert_not(tnd_row_parts_check(&list, counts));
    text[100] = '0';
    text[768] = '0'; /* no space */
    cr_assert_not(tnd_row_parts_check(&list, counts));
    text[768] = ' ';
    list.rows = ROWS - 1; /* 4999 = 3 * 1666 + 1: the last character has one row */
    text[strlen(text) - 1] = '0' + (1 << 2);
    cr_assert_not(tnd_row_parts_check(&list, counts), "a row after the last");
    text[strlen(text) - 1] = '0' + 2;
    cr_assert(tnd_row_parts_check(&list, counts));
    free(text);
}

/*  The places of a part by a list, in the orders that may follow it. */
Test(divisions, places_of_a_part_by_a_list)
{
    static uint32_t part_of[ROWS];
    static uint64_t places[ROWS];
    char *text = text_of(2, ROWS, part_of);
    tnd_row_parts_t rows = {.text = text, .rows = ROWS, .parts = 2};
    uint64_t counts[TND_PLACES_PARTS_MAX];
    cr_assert(tnd_row_parts_check(&rows, counts));
    static const tnd_place_map_t orders[] = {
        {.kind = TND_PLACE_GLOBAL, .global = 5},
        {.kind = TND_PLACE_TAKE, .take = UINT64_MAX},
        {.kind = TND_PLACE_SHUFFLE,
         .shuffle = {.seeds = {1, 2}, .reshuffle = true, .buffer = 100}}};
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++)
        for (uint32_t index = 0; index < 2; index++)
            for (uint32_t lanes = 1; lanes <= 3; lanes += 2) {
                tnd_place_list_t list = {.count = 2, .maps = {{.kind = TND_PLACE_PART}, orders[o]}};
                list.maps[0].part.of[0] = list.maps[0].part.of[1] = 1;
                list.maps[0].part.parts = 2;
                list.maps[0].part.chosen = 1U << index;
                list.maps[0].part.list = 1;
                list.maps[0].part.rows = ROWS;
                list.maps[0].part.own = counts[index];
                cr_assert_eq(tnd_places_count(&list, ROWS), counts[index]);
                static uint8_t seen[ROWS];
                memset(seen, 0, sizeof seen);
                uint64_t sum = 0;
                for (uint32_t lane = 0; lane < lanes; lane++) {
                    tnd_places_config_t config = {.list = &list,
                                                  .rows = ROWS,
                                                  .row_parts = &rows,
                                                  .lane = lane,
                                                  .lanes = lanes,
                                                  .recall = 64};
                    tnd_places_t *self =
                        tnd_places_init(malloc(tnd_places_bytes(&config)), &config);
                    uint64_t count = counts[index] / lanes + (counts[index] % lanes > lane);
                    for (uint64_t first = 0; first < count; first += 7) {
                        uint64_t some = count - first < 7 ? count - first : 7;
                        tnd_places_fill(self, 3, first, some, places);
                        for (uint64_t i = 0; i < some; i++) {
                            cr_assert_eq(part_of[places[i]], index);
                            cr_assert_eq(seen[places[i]]++, 0);
                        }
                    }
                    sum += count;
                    free(self);
                }
                cr_assert_eq(sum, counts[index]);
            }
    free(text);
}
