/*  actors/reader/order_options.c - the maps of `order:` as options. */
#include "actors/reader/order_options.h"

#include <string.h>

#include <xxhash.h>

#include "actors/reader/part_words.h"

/*  What each of the tables fills. */
typedef struct {
    tnd_place_map_t map;
    int64_t seed, global_seed; /* of shuffles */
} order_map_t;

/*  `files: {shuffle: {...}}`. */
typedef struct {
    const order_map_t *shuffle;
} files_map_t;

/*  A seed that was not given: TensorFlow takes none so low. */
static const int64_t seed_unset = INT64_MIN;

/*  An option of a map by its field. */
#define MAP_OPTION(text, field, type, unit_name, range_text, choices_text, help_text)              \
    {                                                                                              \
        TND_OPTION_NAMED(text, order_map_t, map.field, type, GRAPH),                               \
            .unit = unit_name, .range = range_text, .choices = choices_text, .help = help_text     \
    }
#define COUNT_RANGE "0..4503599627370496"
#define ALL "all=18446744073709551615"
#define SEED_OPTION                                                                                \
    {                                                                                              \
        TND_OPTION(order_map_t, seed, I64, GRAPH),                                                 \
            .fallback = "run", .choices = "run=-9223372036854775808",                              \
            .help = "the seed of this map; by default that of the topology"                        \
    }
/*  Of the two that draw as TensorFlow does. */
#define TENSORFLOW_OPTIONS                                                                         \
    SEED_OPTION,                                                                                   \
        {TND_OPTION(order_map_t, global_seed, I64, GRAPH), .fallback = "none",                     \
         .choices = "none=-9223372036854775808", .help = "what `tf.random.set_seed` was given"},   \
    {                                                                                              \
        TND_OPTION_NAMED("reshuffle_each_iteration", order_map_t, map.shuffle.reshuffle, BOOL,     \
                         GRAPH),                                                                   \
            .fallback = "true", .help = "another order in each pass"                               \
    }

static const tnd_option_t interleave_options[] = {
    MAP_OPTION("cycle", interleave.cycle, U64, "files", "1..1024", NULL,
               "files that are read at the same time, `cycle_length`"),
    {TND_OPTION_NAMED("block", order_map_t, map.interleave.block, U64, GRAPH), .unit = "rows",
     .fallback = "1", .range = "1..4294967296", .help = "rows of each in turn, `block_length`"},
};

static const tnd_option_t unbatch_options[] = {
    MAP_OPTION("rows", unbatch, U64, "rows", "1..4294967295", NULL,
               "rows in each stored row: the length of the first axis of every column")};

static const tnd_option_t window_options[] = {
    MAP_OPTION("size", window.size, U64, "rows", "1..65536", NULL, "rows of a window"),
    {TND_OPTION_NAMED("shift", order_map_t, map.window.shift, U64, GRAPH), .unit = "rows",
     .fallback = "size", .choices = "size=0", .range = "1..1048576",
     .help = "rows from the first of a window to the first of the next"},
    {TND_OPTION_NAMED("stride", order_map_t, map.window.stride, U64, GRAPH), .unit = "rows",
     .fallback = "1", .range = "1..1048576", .help = "rows from one row of a window to the next"},
    {TND_OPTION_NAMED("drop_remainder", order_map_t, map.window.drop_remainder, BOOL, GRAPH),
     .fallback = "false",
     .help = "whether windows that are short, at the end, are left out; otherwise the columns are "
             "ragged"},
};

static const tnd_option_t part_options[] = {
    {TND_OPTION(tnd_order_part_t, of, F64S, GRAPH),
     .help = "the sizes of all parts, relative to each other, such as [80, 20]"},
    {TND_OPTION(tnd_order_part_t, index, U64, GRAPH), .fallback = "none", .range = "0..15",
     .choices = "none=18446744073709551615", .help = "which part is used, from 0"},
    {TND_OPTION(tnd_order_part_t, except, F64S, GRAPH), .fallback = "", .range = "0..15",
     .help =
         "instead of `index`: a part that is not used, or a list of such; all others are, as to "
         "train on all folds but one"},
    {TND_OPTION(tnd_order_part_t, seed, U64, GRAPH), .fallback = "0",
     .help = "another seed divides the rows in another way; that of the topology does not"},
    {TND_OPTION(tnd_order_part_t, by, COLUMN, GRAPH), .fallback = "",
     .help = "a column of the source, or that an operation makes, of integers or texts, such as "
             "`patient`: all rows of a value are of the same part, and each part is as near to its "
             "share as the rows of the most frequent value allow"},
    {TND_OPTION(tnd_order_part_t, stratified, COLUMN, GRAPH), .fallback = "",
     .help = "such a column, of at most 65536 values, such as `label`: each part has its share of "
             "the rows of every value, to within one row"},
};

const tnd_table_t tnd_order_part_table = {.name = "part",
                                          .help =
                                              "One or some of several disjoint parts of the rows, "
                                              "such as those to train on; first in the list, or "
                                              "after `unbatch`.",
                                          TND_OPTIONS(part_options, tnd_order_part_t)};

static const tnd_option_t skip_options[] = {
    MAP_OPTION("count", skip, U64, "rows", COUNT_RANGE, ALL, "rows that are left out")};

static const tnd_option_t take_options[] = {
    MAP_OPTION("count", take, U64, "rows", COUNT_RANGE, ALL, "rows that are used")};

static const tnd_option_t repeat_options[] = {
    MAP_OPTION("count", repeat.times, U64, "times", COUNT_RANGE, "forever=18446744073709551615",
               "passes over the rows, one after the other"),
    {TND_OPTION_NAMED("group", order_map_t, map.repeat.group, U64, GRAPH), .unit = "rows",
     .fallback = "all", .choices = "all=0", .range = "1..1048576",
     .help =
         "rows that are repeated before the next ones, as an interleave of repeated batches does"},
    {TND_OPTION_NAMED("fusion", order_map_t, map.repeat.fused, BOOL, GRAPH), .fallback = "true",
     .help = "TensorFlow's `shuffle_and_repeat_fusion`: without it a shuffle before the repeat "
             "draws its seeds once more per epoch"},
};

static const tnd_option_t shard_options[] = {
    MAP_OPTION("count", shard.shards, U64, "shards", "1..4294967295", "lanes=0",
               "how many parts there are, `num_shards`; `lanes`: as many as lanes"),
    MAP_OPTION("index", shard.index, U64, NULL, "0..4294967294", "lane=4294967295",
               "which of them is used; `lane`: by each lane its own, `input_pipeline_id`"),
    {TND_OPTION_NAMED("rows", order_map_t, map.shard.rows, U64, GRAPH), .unit = "rows",
     .fallback = "1", .range = "1..4294967295",
     .help = "rows of each part in turn: those of a batch, if whole batches are dealt"},
};

static const tnd_option_t global_options[] = {SEED_OPTION};

static const tnd_option_t index_shuffle_options[] = {TENSORFLOW_OPTIONS};

static const tnd_option_t shuffle_options[] = {
    MAP_OPTION("buffer", shuffle.buffer, U64, "rows", "1..4294967295", ALL,
               "rows among which each is chosen, `buffer_size`"),
    TENSORFLOW_OPTIONS,
};

static const tnd_option_t files_shuffle_options[] = {
    {TND_OPTION_NAMED("buffer", order_map_t, map.shuffle.buffer, U64, GRAPH), .unit = "files",
     .fallback = "all", .choices = ALL, .range = "1..4294967295",
     .help = "files among which each is chosen, `buffer_size`"},
    TENSORFLOW_OPTIONS,
};

static const tnd_table_t files_shuffle_table = {.name = "shuffle",
                                                .help =
                                                    "TensorFlow's shuffle, of the names of files.",
                                                TND_OPTIONS(files_shuffle_options, order_map_t)};

static const tnd_option_t files_options[] = {
    {TND_OPTION(files_map_t, shuffle, TABLE, GRAPH), .table = &files_shuffle_table,
     .help = "draws the order as TensorFlow's shuffle of their names: `{}`, or {seed: 42}"},
};

#define TABLE(title, text, lone)                                                                   \
    {                                                                                              \
        .name = #title, .help = text, TND_OPTIONS(title##_options, order_map_t), .scalar = lone    \
    }

static const struct {
    tnd_place_kind_t kind;
    tnd_table_t table;
} tables[] = {
    {TND_PLACE_FILES,
     {.name = "files",
      .help = "The files in another order; first in the list.",
      TND_OPTIONS(files_options, files_map_t)}},
    {TND_PLACE_INTERLEAVE,
     TABLE(interleave, "Blocks of several files in turn; first in the list.", "cycle")},
    {TND_PLACE_UNBATCH,
     TABLE(unbatch, "Rows inside stored rows; first in the list, or after `interleave`.", "rows")},
    {TND_PLACE_PART,
     {.name = "part",
      .help = "One or some of several disjoint parts of the rows; first in the list, or after "
              "`unbatch`.",
      TND_OPTIONS(part_options, tnd_order_part_t)}},
    {TND_PLACE_SKIP, TABLE(skip, "Leaves out the first rows.", "count")},
    {TND_PLACE_TAKE, TABLE(take, "Uses the first rows only.", "count")},
    {TND_PLACE_REPEAT, TABLE(repeat, "Passes over the rows again.", "count")},
    {TND_PLACE_SHARD,
     TABLE(shard, "Uses every so many rows, or groups of rows, from `index` on.", NULL)},
    {TND_PLACE_GLOBAL, TABLE(global, "A permutation of all rows.", "seed")},
    {TND_PLACE_INDEX_SHUFFLE,
     TABLE(index_shuffle, "TensorFlow's shuffle of a whole dataset.", "seed")},
    {TND_PLACE_SHUFFLE,
     TABLE(shuffle, "TensorFlow's shuffle buffer, which holds no rows here.", "buffer")},
    {TND_PLACE_WINDOW, TABLE(window, "Several rows as one; last in the list.", "size")},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

const tnd_table_t *tnd_order_map_table(size_t index)
{
    return index < TABLES ? &tables[index].table : NULL;
}

static uint32_t seed_of(int64_t chosen, uint64_t otherwise)
{
    return chosen != seed_unset ? tnd_places_seed(chosen)
                                : tnd_places_seed((int64_t)(otherwise % INT32_MAX));
}

static uint64_t at_least_one(uint64_t number)
{
    return number > 0 ? number : 1;
}

static uint64_t divisor_of(uint64_t a, uint64_t b)
{
    return b == 0 ? a : divisor_of(b, a % b);
}

/*  The bits of the parts that are read. */
static uint32_t chosen_of(const tnd_order_part_t *options)
{
    if (options->index != TND_UNKNOWN)
        return UINT32_C(1) << options->index;
    uint32_t chosen = (UINT32_C(1) << options->of.count) - 1;
    for (size_t i = 0; i < options->except.count; i++)
        chosen &= ~(UINT32_C(1) << (uint32_t)options->except.items[i]);
    return chosen;
}

/*  Without parts if the sizes cannot be used; the list is that of any reader. */
static tnd_place_map_t part_of(const tnd_order_part_t *options)
{
    tnd_place_map_t map = {.kind = TND_PLACE_PART,
                           .part = {.seed = options->seed, .list = tnd_part_words_key(options)}};
    uint64_t divisor = 0, sum = 0;
    size_t count = options->of.count;
    for (size_t i = 0; i < count; i++) {
        double size = options->of.items[i];
        if (!(size >= 1 && size <= 4294967295) || size != (double)(uint64_t)size)
            return map;
        divisor = divisor_of((uint64_t)size, divisor);
        sum += (uint64_t)size;
    }
    if (count < 2 || count > TND_PLACES_PARTS_MAX || sum / divisor > TND_PLACES_PARTS_SUM)
        return map;
    for (size_t i = 0; i < count; i++)
        map.part.of[i] = (uint32_t)((uint64_t)options->of.items[i] / divisor);
    map.part.parts = (uint32_t)count;
    map.part.chosen = chosen_of(options);
    return map;
}

static tnd_place_map_t map_of(const tnd_part_t *part, uint64_t seed)
{
    uint32_t i = 0;
    while (&tables[i].table != part->table)
        i++;
    if (tables[i].kind == TND_PLACE_PART)
        return part_of(part->options);
    static const order_map_t none = {.seed = 0};
    const order_map_t *options = part->options;
    if (tables[i].kind == TND_PLACE_FILES) {
        const files_map_t *files = part->options;
        options = files->shuffle != NULL ? files->shuffle : &none;
    }
    tnd_place_map_t map = options->map;
    map.kind = tables[i].kind;
    /* What was refused is 0 where a file with mistakes is looked at as far as possible. */
    if (map.kind == TND_PLACE_UNBATCH)
        map.unbatch = at_least_one(map.unbatch);
    if (map.kind == TND_PLACE_WINDOW) {
        map.window.size = at_least_one(map.window.size);
        map.window.stride = at_least_one(map.window.stride);
        map.window.shift = map.window.shift > 0 ? map.window.shift : map.window.size;
    }
    if (map.kind == TND_PLACE_SHARD) {
        map.shard.rows = at_least_one(map.shard.rows);
        map.shard.by_lane = map.shard.shards == 0 && map.shard.index == TND_PLACES_OWN_LANE;
        if (map.shard.by_lane)
            map.shard.shards = 1, map.shard.index = 0;
    }
    if (map.kind == TND_PLACE_GLOBAL)
        map.global = options->seed != seed_unset ? (uint64_t)options->seed : seed;
    if (map.kind == TND_PLACE_SHUFFLE || map.kind == TND_PLACE_INDEX_SHUFFLE ||
        map.kind == TND_PLACE_FILES)
        tnd_places_seeds(seed_of(options->global_seed, TND_PLACES_NO_GLOBAL_SEED),
                         seed_of(options->seed, seed), map.shuffle.seeds);
    return map;
}

void tnd_order_list(const tnd_part_list_t *parts, uint64_t seed, tnd_place_list_t *list)
{
    list->count = 0;
    for (size_t i = 0; i < parts->count && i < TND_PLACES_MAPS_MAX; i++)
        list->maps[list->count++] = map_of(&parts->items[i], seed);
}

tnd_place_map_t tnd_order_part_map(const tnd_order_part_t *part, const char *reader)
{
    tnd_place_map_t map = part_of(part);
    if (map.part.list != 0)
        map.part.list = XXH3_64bits_withSeed(reader, strlen(reader), map.part.list) | 1;
    return map;
}

tnd_order_part_written_t tnd_order_part_written(const tnd_instance_t *reader)
{
    const tnd_reader_options_t *options = reader->options;
    tnd_order_part_written_t found = {.options = options->part, .unit = 1};
    if (reader->written != NULL)
        found.value = tnd_value_get(reader->written->value, "part");
    for (size_t i = 0; i < options->order.count; i++) {
        const tnd_part_t *item = &options->order.items[i];
        if (item->table == &tables[TND_PLACE_UNBATCH].table)
            found.unit = map_of(item, 0).unbatch;
        if (item->table != &tables[TND_PLACE_PART].table)
            continue;
        found.options = item->options;
        found.value = item->value;
    }
    return found;
}

tnd_status_t tnd_order_resolve(const tnd_instance_t *reader, struct tnd_stream *stream,
                               tnd_error_t *error)
{
    tnd_order_part_written_t part = tnd_order_part_written(reader);
    for (uint32_t i = 0; i < stream->order.count; i++) {
        tnd_place_map_t *map = &stream->order.maps[i];
        tnd_part_words_t words;
        if (map->kind != TND_PLACE_PART || map->part.list == 0)
            continue;
        *map = tnd_order_part_map(part.options, reader->actor);
        if (!tnd_part_words_find(&words, stream, map->part.list))
            continue;
        if (words.rows.rows != stream->count * part.unit || words.rows.parts != map->part.parts)
            return tnd_fail_about(error, part.value,
                                  "`part`: what is known of its rows is of other data");
        map->part.rows = words.rows.rows;
        map->part.own = 0;
        for (uint32_t p = 0; p < words.rows.parts; p++)
            map->part.own += (map->part.chosen >> p & 1) != 0 ? words.counts[p] : 0;
    }
    return TND_OK;
}

/*  Options that exclude or need each other. */
static bool contradicts(const tnd_order_part_t *part, tnd_places_fault_t *fault)
{
    bool one = part->index != TND_UNKNOWN, others = part->except.count > 0;
    if (one != others && (part->by == NULL || part->stratified == NULL))
        return false;
    fault->help = "leave out one of the two";
    if (one && others)
        (void)tnd_fail(&fault->why, "`part`: `index` and `except`, which exclude each other");
    else if (one || others)
        (void)tnd_fail(&fault->why, "`part`: `by` and `stratified`, which exclude each other");
    else {
        (void)tnd_fail(&fault->why, "`part`: neither `index` nor `except`");
        fault->help = "write `index: 0` for the first part, or `except: 0` for all others";
    }
    return true;
}

/*  A part of `except` that does not exist. */
static bool excepts_none(const tnd_order_part_t *part, tnd_places_fault_t *fault)
{
    for (size_t i = 0; i < part->except.count; i++) {
        double number = part->except.items[i];
        if (number == (double)(uint32_t)number && number < (double)part->of.count)
            continue;
        (void)tnd_fail(&fault->why, "`part`: `except: %g` of %zu parts", number, part->of.count);
        fault->help = "parts are numbered from 0";
        return true;
    }
    return false;
}

bool tnd_order_part_usable(const tnd_order_part_t *part, tnd_places_fault_t *fault)
{
    *fault = (tnd_places_fault_t){0};
    if (contradicts(part, fault) || excepts_none(part, fault))
        return false;
    tnd_place_list_t list = {.count = 1, .maps = {part_of(part)}};
    return tnd_places_check(&list, TND_PLACES_ENDLESS, fault);
}

void tnd_order_part_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics)
{
    const tnd_reader_options_t *options = own->options;
    tnd_places_fault_t fault;
    (void)plan;
    if (own->written == NULL || options->part == NULL ||
        tnd_order_part_usable(options->part, &fault))
        return;
    tnd_diagnostics_add(diagnostics, TND_T038_ORDER, tnd_topology_option_mark(own->written, "part"),
                        "%s", fault.why.text);
    tnd_diagnostics_help(diagnostics, "%s", fault.help);
}

static tnd_place_map_t *add(tnd_place_list_t *list, tnd_place_kind_t kind)
{
    tnd_place_map_t *map = &list->maps[list->count++];
    *map = (tnd_place_map_t){.kind = kind};
    return map;
}

void tnd_order_shuffle(int shuffle, uint64_t seed, tnd_place_list_t *list)
{
    if (shuffle == TND_SHUFFLE_GLOBAL)
        add(list, TND_PLACE_GLOBAL)->global = seed;
    if (shuffle != TND_SHUFFLE_TENSORFLOW)
        return;
    tnd_place_map_t *map = add(list, TND_PLACE_INDEX_SHUFFLE);
    map->index_shuffle.reshuffle = true;
    tnd_places_seeds(TND_PLACES_NO_GLOBAL_SEED, tnd_places_seed((int64_t)(seed % INT32_MAX)),
                     map->index_shuffle.seeds);
}

void tnd_order_short(const tnd_reader_options_t *options, uint64_t seed, tnd_place_list_t *list)
{
    *list = (tnd_place_list_t){.count = 1, .maps = {part_of(options->part)}};
    if (options->skip > 0)
        add(list, TND_PLACE_SKIP)->skip = options->skip;
    if (options->take != UINT64_MAX)
        add(list, TND_PLACE_TAKE)->take = options->take;
    if (options->repeat > 1)
        add(list, TND_PLACE_REPEAT)->repeat.times = options->repeat;
    tnd_order_shuffle(options->shuffle, seed, list);
}

bool tnd_order_check(const tnd_part_list_t *parts, tnd_parts_fault_t *fault)
{
    tnd_place_list_t list;
    tnd_places_fault_t found;
    *fault = (tnd_parts_fault_t){.item = TND_PLACES_MAPS_MAX};
    if (parts->count > TND_PLACES_MAPS_MAX)
        return tnd_fail(&fault->why, "%zu maps, and a list has at most %d", parts->count,
                        TND_PLACES_MAPS_MAX) == TND_OK;
    for (size_t i = 0; i < parts->count; i++) {
        found.map = (uint32_t)i;
        if (parts->items[i].table == &tables[TND_PLACE_PART].table &&
            (contradicts(parts->items[i].options, &found) ||
             excepts_none(parts->items[i].options, &found))) {
            *fault = (tnd_parts_fault_t){.item = i, .why = found.why, .help = found.help};
            return false;
        }
    }
    tnd_order_list(parts, 0, &list);
    if (tnd_places_check(&list, TND_PLACES_ENDLESS, &found))
        return true;
    *fault = (tnd_parts_fault_t){.item = found.map, .why = found.why, .help = found.help};
    return false;
}
