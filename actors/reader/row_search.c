/*  actors/reader/row_search.c - at which positions of a run a row is: the reverse of its order. */
#include "actors/reader/row_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"

enum { AT_ONCE = 4096, REPORTED = 1 << 20 };

/*  A list of maps in use, and the row that is searched for in it. */
typedef struct {
    const tnd_row_search_t *search;
    tnd_places_t *places;
    uint64_t width, unit, count; /* places of a position, rows inside one, positions */
    uint32_t epoch;
    bool repeats; /* a row may be at several positions */
    uint64_t sample, *found;
    uint32_t most;
} scan_t;

static bool repeats(const tnd_place_list_t *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        tnd_place_kind_t kind = list->maps[i].kind;
        if (kind == TND_PLACE_REPEAT || kind == TND_PLACE_WINDOW || kind == TND_PLACE_UNBATCH)
            return true;
    }
    return false;
}

static bool has_sample(const scan_t *self, uint64_t position, const uint64_t *places)
{
    uint64_t pieces = self->width > 1 ? tnd_places_pieces(self->places, position) : 1;
    for (uint64_t i = 0; i < pieces; i++)
        if (places[i] / self->unit == self->sample)
            return true;
    return false;
}

static void report(const scan_t *self, uint64_t done)
{
    if (self->search->progress != NULL && done % REPORTED == 0)
        self->search->progress(self->search->context, done, self->count);
}

static uint32_t scan(const scan_t *self)
{
    uint64_t *places = tnd_allocate(AT_ONCE * self->width, sizeof *places);
    uint32_t found = 0;
    for (uint64_t first = 0; first < self->count && (found == 0 || self->repeats);
         first += AT_ONCE) {
        size_t count = self->count - first < AT_ONCE ? (size_t)(self->count - first) : AT_ONCE;
        report(self, first);
        tnd_places_fill(self->places, self->epoch, first, count, places);
        for (size_t i = 0; i < count; i++) {
            if (!has_sample(self, first + i, places + i * self->width))
                continue;
            if (found < self->most)
                self->found[found] = first + i;
            found++;
        }
    }
    free(places);
    return found;
}

bool tnd_row_search_can(const tnd_row_search_t *self, uint32_t lane)
{
    return tnd_stream_lane_count(self->stream, lane) != TND_UNKNOWN;
}

bool tnd_row_search_repeats(const tnd_row_search_t *self)
{
    const tnd_stream_t *stream = self->stream;
    return stream->undivided || stream->repeat > 1 || repeats(&stream->order);
}

uint32_t tnd_row_search(const tnd_row_search_t *self, uint32_t lane, uint32_t epoch,
                        uint64_t sample, uint64_t *positions, uint32_t most)
{
    const tnd_sample_order_config_t config = {.shuffle = self->shuffle,
                                              .stream = self->stream,
                                              .lane = lane,
                                              .files = self->files,
                                              .file_count = self->file_count};
    tnd_sample_order_t order;
    tnd_sample_order_init(&order, &config);
    const scan_t of = {.search = self,
                       .places = order.places,
                       .width = tnd_places_width(&order.list),
                       .unit = tnd_places_unit(&order.list),
                       .count = tnd_stream_lane_count(self->stream, lane),
                       .epoch = epoch,
                       .repeats = repeats(&order.list),
                       .sample = sample,
                       .found = positions,
                       .most = most};
    uint32_t found = scan(&of);
    tnd_sample_order_free(&order);
    return found;
}

/* --- why it is at none ------------------------------------------------------------------------ */

/*  Whether a list has the row, over all lanes. */
static bool list_has(const tnd_row_search_t *self, const tnd_place_list_t *list,
                     const tnd_row_parts_t *parts, uint32_t lane, uint32_t epoch, uint64_t sample)
{
    const tnd_stream_t *stream = self->stream;
    tnd_places_fault_t fault;
    const tnd_places_config_t config = {.list = list,
                                        .rows = stream->by_file ? stream->lane[lane].count
                                                                : stream->count,
                                        .files = self->files,
                                        .file_count = self->file_count,
                                        .lanes = 1,
                                        .row_parts = parts};
    uint64_t count = tnd_places_count(list, config.rows), found;
    /* One that ends only by a later map drops nothing. */
    if (count == TND_PLACES_ENDLESS || !tnd_places_check(list, config.rows, &fault))
        return true;
    void *memory = tnd_allocate(1, tnd_places_bytes(&config));
    const scan_t of = {.search = self,
                       .places = tnd_places_init(memory, &config),
                       .width = tnd_places_width(list),
                       .unit = tnd_places_unit(list),
                       .count = count,
                       .epoch = epoch,
                       .sample = sample,
                       .found = &found,
                       .most = 1};
    bool has = scan(&of) > 0;
    free(memory);
    return has;
}

static void choose_part(tnd_place_map_t *map, const tnd_row_parts_t *parts, uint64_t part)
{
    map->part.chosen = UINT32_C(1) << part;
    if (map->part.rows > 0)
        map->part.own = tnd_row_parts_count(parts, map->part.chosen, 0, map->part.rows);
}

/*  Which of the shards or parts of the last map has the row; `count`: none. */
static uint64_t other_of(const tnd_row_search_t *self, tnd_place_list_t *list,
                         const tnd_row_parts_t *parts, uint32_t lane, uint32_t epoch,
                         uint64_t sample, uint64_t count)
{
    tnd_place_map_t *map = &list->maps[list->count - 1];
    uint64_t other = 0;
    for (; other < count; other++) {
        if (map->kind == TND_PLACE_PART)
            choose_part(map, parts, other);
        else
            map->shard.index = other;
        if (list_has(self, list, parts, lane, epoch, sample))
            break;
    }
    return other;
}

/*  The last map of the list leaves the row out. */
static void say(const tnd_row_search_t *self, tnd_place_list_t *list, const tnd_row_parts_t *parts,
                uint32_t lane, uint32_t epoch, uint64_t sample, char *text, size_t room)
{
    const tnd_place_map_t map = list->maps[list->count - 1];
    const char *name = tnd_place_name(map.kind);
    bool part = map.kind == TND_PLACE_PART, shard = map.kind == TND_PLACE_SHARD;
    uint64_t count = part ? map.part.parts : shard ? map.shard.shards : 0;
    uint64_t other = other_of(self, list, parts, lane, epoch, sample, count);
    char own[64];
    if (other < count && part)
        snprintf(text, room, "it reads %s, and part %" PRIu64 " has the row",
                 tnd_place_part_text(map.part.chosen, own), other);
    else if (other < count)
        snprintf(text, room, "it reads shard %" PRIu64 ", and shard %" PRIu64 " has the row",
                 map.shard.index, other);
    else if (map.kind == TND_PLACE_SKIP)
        snprintf(text, room, "`skip: %" PRIu64 "` leaves it out", map.skip);
    else if (map.kind == TND_PLACE_TAKE)
        snprintf(text, room, "`take: %" PRIu64 "` leaves it out", map.take);
    else
        snprintf(text, room, "`%s` leaves it out", name);
}

void tnd_row_search_why(const tnd_row_search_t *self, uint32_t lane, uint32_t epoch,
                        uint64_t sample, char *text, size_t room)
{
    const tnd_sample_order_config_t config = {.shuffle = self->shuffle,
                                              .stream = self->stream,
                                              .lane = lane,
                                              .files = self->files,
                                              .file_count = self->file_count};
    tnd_sample_order_t order;
    tnd_sample_order_init(&order, &config);
    tnd_place_list_t list = order.list;
    uint32_t count = list.count;
    *text = '\0';
    for (list.count = 1; list.count <= count && *text == '\0'; list.count++)
        if (!list_has(self, &list, &order.parts, lane, epoch, sample))
            say(self, &list, &order.parts, lane, epoch, sample, text, room);
    tnd_sample_order_free(&order);
}
