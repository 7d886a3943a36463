/*  Covers actors/reader/row_search.h: a row is found where the order has it, and a row that no position
 *  has is explained. */
#include "actors/reader/row_search.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { MOST = 8 };

static uint64_t drawn = 1;

static uint64_t draw(uint64_t below)
{
    drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (drawn >> 33) % below;
}

static tnd_place_map_t draw_map(void)
{
    tnd_place_map_t map = {.kind = (tnd_place_kind_t)draw(TND_PLACE_KINDS)};
    switch (map.kind) {
    case TND_PLACE_FILES:
    case TND_PLACE_INDEX_SHUFFLE:
    case TND_PLACE_SHUFFLE:
        map.shuffle.seeds[0] = (uint32_t)draw(100);
        map.shuffle.seeds[1] = (uint32_t)draw(100);
        map.shuffle.reshuffle = draw(2) == 1;
        map.shuffle.buffer = 1 + draw(50);
        break;
    case TND_PLACE_INTERLEAVE:
        map.interleave.cycle = 1 + draw(3);
        map.interleave.block = 1 + draw(4);
        break;
    case TND_PLACE_UNBATCH:
        map.unbatch = 1 + draw(4);
        break;
    case TND_PLACE_PART:
        map.part.parts = 2;
        map.part.of[0] = 4;
        map.part.of[1] = 1;
        map.part.chosen = 1U << draw(2);
        break;
    case TND_PLACE_SKIP:
        map.skip = draw(20);
        break;
    case TND_PLACE_TAKE:
        map.take = 1 + draw(200);
        break;
    case TND_PLACE_REPEAT:
        map.repeat.times = 1 + draw(3);
        break;
    case TND_PLACE_SHARD:
        map.shard.shards = 1 + draw(4);
        map.shard.index = draw(map.shard.shards);
        map.shard.rows = 1 + draw(3);
        break;
    case TND_PLACE_GLOBAL:
        map.global = draw(1000);
        break;
    case TND_PLACE_WINDOW:
        map.window.size = 1 + draw(4);
        map.window.shift = map.window.size;
        map.window.stride = 1;
        break;
    case TND_PLACE_KINDS:
        break;
    }
    return map;
}

/*  A list that can be used on the rows of the stream. */
static void draw_order(tnd_stream_t *stream)
{
    tnd_places_fault_t fault;
    do {
        stream->order = (tnd_place_list_t){.count = 1 + (uint32_t)draw(3)};
        for (uint32_t i = 0; i < stream->order.count; i++)
            stream->order.maps[i] = draw_map();
    } while (!tnd_places_check(&stream->order, stream->count, &fault));
}

/*  All places of a lane, found in one call. */
static uint64_t *all_places(const tnd_sample_order_config_t *config, uint32_t epoch, uint64_t count,
                            uint64_t width)
{
    tnd_sample_order_t order;
    uint64_t *places = malloc((count * width + 1) * sizeof *places);
    tnd_sample_order_init(&order, config);
    for (uint64_t i = 0; i < count * width; i++)
        places[i] = UINT64_MAX;
    tnd_sample_order_fill(&order, epoch, 0, (uint32_t)count, places);
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t w = tnd_sample_order_pieces(&order, i); w < width; w++)
            places[i * width + w] = UINT64_MAX;
    tnd_sample_order_free(&order);
    return places;
}

static void check_sample(const tnd_row_search_t *self, uint32_t lane, uint32_t epoch,
                         uint64_t sample, const uint64_t *places, uint64_t count)
{
    const tnd_place_list_t *list = &self->stream->order;
    uint64_t width = tnd_places_width(list), unit = tnd_places_unit(list), found[MOST], seen = 0;
    uint32_t total = tnd_row_search(self, lane, epoch, sample, found, MOST);
    for (uint64_t p = 0; p < count; p++) {
        bool here = false;
        for (uint64_t w = 0; w < width; w++)
            here = here ||
                   (places[p * width + w] != UINT64_MAX && places[p * width + w] / unit == sample);
        if (here && seen < total && seen < MOST)
            cr_assert_eq(found[seen], p);
        seen += here;
    }
    cr_assert(seen == total || (total == 1 && seen >= 1), "row %lu: %lu and %u",
              (unsigned long)sample, (unsigned long)seen, total);
    cr_assert(seen <= 1 || tnd_row_search_repeats(self), "a row is at %lu positions",
              (unsigned long)seen);
}

Test(row_search, finds_each_row_where_a_random_order_has_it)
{
    tnd_stream_t *stream = calloc(1, sizeof *stream);
    unsigned kinds = 0;
    for (unsigned tried = 0; tried < 200; tried++) {
        const uint64_t files[] = {draw(16), 1 + draw(16), draw(16)};
        *stream = (tnd_stream_t){.lanes = 1 + (uint32_t)draw(3), .repeat = 1, .seed = tried};
        stream->count = files[0] + files[1] + files[2];
        draw_order(stream);
        for (uint32_t i = 0; i < stream->order.count; i++)
            kinds |= 1u << stream->order.maps[i].kind;
        const tnd_row_search_t self = {.stream = stream, .files = files, .file_count = 3};
        uint32_t lane = (uint32_t)draw(stream->lanes), epoch = (uint32_t)draw(3);
        uint64_t count = tnd_stream_lane_count(stream, lane);
        const tnd_sample_order_config_t config = {
            .stream = stream, .lane = lane, .files = files, .file_count = 3};
        uint64_t *places = all_places(&config, epoch, count, tnd_places_width(&stream->order));
        for (uint64_t sample = 0; sample < stream->count; sample++)
            check_sample(&self, lane, epoch, sample, places, count);
        free(places);
    }
    cr_assert_eq(kinds, (1u << TND_PLACE_KINDS) - 1, "every map was tried");
    free(stream);
}

/*  More positions than are looked at at once. */
Test(row_search, counts_positions_after_4096)
{
    tnd_stream_t *stream = calloc(1, sizeof *stream);
    uint64_t found[MOST];
    *stream = (tnd_stream_t){.lanes = 2, .repeat = 2, .count = 10001};
    const tnd_row_search_t self = {.stream = stream};
    /* 20002 positions, of which lane 1 has the odd ones. */
    cr_assert_eq(tnd_row_search(&self, 1, 0, 10000, found, MOST), 1);
    cr_assert_eq(found[0], 20001 / 2);
    cr_assert_eq(tnd_row_search(&self, 0, 0, 10000, found, MOST), 1);
    cr_assert_eq(found[0], 10000 / 2);
    cr_assert_eq(tnd_row_search(&self, 0, 0, 10001, found, MOST), 0);
    cr_assert(tnd_row_search_can(&self, 0));
    stream->count = TND_UNKNOWN;
    cr_assert_not(tnd_row_search_can(&self, 0));
    free(stream);
}

static void check_why(tnd_stream_t *stream, uint64_t sample, const char *expected)
{
    char text[256] = "?";
    const tnd_row_search_t self = {.stream = stream};
    tnd_row_search_why(&self, 0, 0, sample, text, sizeof text);
    cr_expect_str_eq(text, expected);
}

Test(row_search, says_which_map_leaves_a_row_out)
{
    tnd_stream_t *stream = calloc(1, sizeof *stream);
    *stream = (tnd_stream_t){.lanes = 1, .repeat = 1, .count = 100, .skip = 10, .take = 20};
    check_why(stream, 9, "`skip: 10` leaves it out");
    check_why(stream, 10, "");
    check_why(stream, 29, "");
    check_why(stream, 30, "`take: 20` leaves it out");
    stream->skip = stream->take = 0;
    stream->order = (tnd_place_list_t){
        .count = 3,
        .maps = {{.kind = TND_PLACE_GLOBAL, .global = 3},
                 {.kind = TND_PLACE_SHARD, .shard = {.shards = 4, .index = 1, .rows = 1}},
                 {.kind = TND_PLACE_TAKE, .take = 25}}};
    uint64_t found[MOST];
    const tnd_row_search_t self = {.stream = stream};
    for (uint64_t sample = 0; sample < 100; sample++) {
        char text[256], expected[64];
        tnd_row_search_why(&self, 0, 0, sample, text, sizeof text);
        bool here = tnd_row_search(&self, 0, 0, sample, found, MOST) > 0;
        cr_assert_eq(here, *text == '\0');
        unsigned other = 4;
        for (unsigned shard = 0; shard < 4; shard++) {
            snprintf(expected, sizeof expected, "it reads shard 1, and shard %u has the row",
                     shard);
            other = strcmp(text, expected) == 0 ? shard : other;
        }
        cr_assert(here || (other < 4 && other != 1), "%s", text);
    }
    free(stream);
}
