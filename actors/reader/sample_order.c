/*  actors/reader/sample_order.c - which sample is at a position of a lane. */
#include "actors/reader/sample_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/plan/lane_window.h"
#include "actors/plan/plan_queries.h"
#include "actors/reader/order_options.h"
#include "actors/reader/part_words.h"
#include "runtime/base/allocation.h"

static tnd_place_map_t *add(tnd_place_list_t *list, tnd_place_kind_t kind)
{
    tnd_place_map_t *map = &list->maps[list->count++];
    *map = (tnd_place_map_t){.kind = kind};
    return map;
}

/*  What `skip`, `take`, `repeat` and `shuffle` are short for. */
static void short_form(const tnd_sample_order_config_t *config, tnd_place_list_t *list)
{
    const tnd_stream_t *stream = config->stream;
    tnd_window_t window = tnd_stream_window(stream, config->lane);
    if (window.first > 0)
        add(list, TND_PLACE_SKIP)->skip = window.first;
    if (stream->count != TND_UNKNOWN && (stream->take > 0 || stream->by_file))
        add(list, TND_PLACE_TAKE)->take = window.count;
    if (window.repeat > 1)
        add(list, TND_PLACE_REPEAT)->repeat.times = window.repeat;
    tnd_order_shuffle((int)config->shuffle, stream->seed, list);
}

/*  They are known, since the stream has been derived of them. */
static void find_parts(const tnd_stream_t *stream, uint64_t list, tnd_row_parts_t *parts)
{
    tnd_part_words_t words;
    bool found = tnd_part_words_find(&words, stream, list);
    assert(found);
    *parts = found ? words.rows : (tnd_row_parts_t){.text = ""};
}

/*  Lanes with files of their own are permuted differently from each other; TensorFlow's shuffles
 *  shuffle them alike, as its workers do. */
static tnd_places_config_t plan(const tnd_sample_order_config_t *config, tnd_place_list_t *list,
                                tnd_row_parts_t *parts)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const tnd_stream_t *stream = config->stream;
    *list = stream->order;
    if (list->count == 0)
        short_form(config, list);
    if (config->renamed && tnd_sample_order_is_steady(list))
        memmove(list->maps, list->maps + 1, --list->count * sizeof *list->maps);
    bool whole = tnd_places_of_lane(list, config->lane, stream->lanes) || stream->by_file ||
                 stream->undivided;
    for (uint32_t i = 0; i < list->count && stream->by_file; i++)
        if (list->maps[i].kind == TND_PLACE_GLOBAL)
            list->maps[i].global ^= odd * config->lane;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->maps[i].kind == TND_PLACE_PART && list->maps[i].part.rows > 0)
            find_parts(stream, list->maps[i].part.list, parts);
    return (tnd_places_config_t){
        .list = list,
        .row_parts = parts,
        .rows = stream->by_file ? stream->lane[config->lane].count : stream->count,
        .files = config->files,
        .file_count = config->file_count,
        .lane = whole ? 0 : config->lane,
        .lanes = whole ? 1 : stream->lanes,
        .recall = config->recall,
        .watch = config->watch,
        .watcher = config->watcher,
    };
}

tnd_shuffle_t tnd_sample_order_shuffle(const tnd_instance_t *reader)
{
    return (tnd_shuffle_t)((const tnd_reader_options_t *)reader->options)->shuffle;
}

tnd_sample_order_config_t tnd_sample_order_planned(const tnd_plan_t *plan, uint32_t chain,
                                                   uint32_t lane, const tnd_stream_t *stream)
{
    uint32_t batcher = tnd_plan_batcher(plan, chain, lane);
    tnd_sample_order_config_t config = {.stream = stream, .lane = lane, .renamed = true};
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == chain && plan->instances[i].kind->role == TND_ROLE_READER)
            config.shuffle = tnd_sample_order_shuffle(&plan->instances[i]);
    if (batcher < plan->instance_count)
        config.recall = tnd_lane_window_alive(plan, batcher, stream) + 1024;
    return config;
}

size_t tnd_sample_order_bytes(const tnd_sample_order_config_t *config)
{
    tnd_place_list_t list;
    tnd_row_parts_t parts;
    tnd_places_config_t places = plan(config, &list, &parts);
    return tnd_places_bytes(&places);
}

void tnd_sample_order_init(tnd_sample_order_t *self, const tnd_sample_order_config_t *config)
{
    tnd_places_config_t places = plan(config, &self->list, &self->parts);
    self->memory = tnd_allocate(1, tnd_places_bytes(&places));
    self->places = tnd_places_init(self->memory, &places);
}

void tnd_sample_order_free(tnd_sample_order_t *self)
{
    free(self->memory);
}

void tnd_sample_order_seek(tnd_sample_order_t *self, uint32_t epoch, uint64_t position)
{
    uint64_t *places = tnd_allocate(tnd_places_width(&self->list), sizeof *places);
    tnd_places_fill(self->places, epoch, position, 1, places);
    free(places);
}

void tnd_sample_order_fill(tnd_sample_order_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                           uint64_t *places)
{
    tnd_places_fill(self->places, epoch, first, count, places);
}

uint32_t tnd_sample_order_pieces(const tnd_sample_order_t *self, uint64_t position)
{
    return (uint32_t)tnd_places_pieces(self->places, position);
}
