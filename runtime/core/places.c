/*  runtime/core/places.c - which stored rows are at a position of a lane. */
#include "runtime/core/places.h"

#include <inttypes.h>
#include <string.h>

static const tnd_place_op_t *const ops[TND_PLACE_KINDS] = {
#define MAP(NAME, name) [TND_PLACE_##NAME] = &tnd_place_##name,
#include "runtime/core/places/maps.def"
#undef MAP
};

/*  ---------------------------------------------------------------------------------- the lane */

static void lane_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count);

static const tnd_place_op_t lane_op = {.name = "lane", .trace = lane_trace};

static void lane_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    const tnd_places_config_t *config = self->state;
    for (size_t i = 0; i < count; i++)
        positions[i] = positions[i] * config->lanes + config->lane;
    tnd_place_below(self, pass, positions, count);
}

/*  ------------------------------------------------------------------- places that were found */

/*  The places of positions [low, high), counted over all passes, in a ring. */
typedef struct {
    uint64_t low, high, room; /* a power of two */
    uint64_t ring[];
} recall_t;

enum { TRACED_AT_ONCE = 128 };

/*  Finds the places up to the position `last`, also those between `high` and `first`: they are
 *  other readers', whose tickets this one may get.  last - first < room. */
static void find_up_to(tnd_place_stage_t *self, uint64_t first, uint64_t last)
{
    recall_t *state = self->state;
    uint64_t found[TRACED_AT_ONCE];
    if (first < state->low || first - state->low > state->high - state->low + state->room)
        state->low = state->high = first;
    while (state->high - state->low <= last - state->low) {
        uint64_t pass = state->high / self->count, position = state->high % self->count;
        uint64_t count = last - state->high + 1, left = self->count - position;
        count = count < left ? count : left;
        count = count < TRACED_AT_ONCE ? count : TRACED_AT_ONCE;
        for (uint64_t i = 0; i < count; i++)
            found[i] = position + i;
        tnd_place_below(self, pass, found, count);
        for (uint64_t i = 0; i < count; i++)
            state->ring[(state->high + i) & (state->room - 1)] = found[i];
        state->high += count;
        if (state->high - state->low > state->room)
            state->low = state->high - state->room;
    }
}

static void recall_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    recall_t *state = self->state;
    uint64_t before = pass * self->count;
    for (size_t from = 0, to; from < count; from = to) {
        uint64_t first = positions[from];
        for (to = from + 1; to < count && positions[to] - first < state->room;)
            to++;
        find_up_to(self, before + first, before + positions[to - 1]);
        for (size_t i = from; i < to; i++)
            positions[i] = state->ring[(before + positions[i]) & (state->room - 1)];
    }
}

static const tnd_place_op_t recall_op = {.name = "recall", .trace = recall_trace};

/*  ---------------------------------------------------------------------------------- the list */

struct tnd_places {
    tnd_places_config_t config;
    const tnd_place_map_t *window; /* NULL: none */
    uint64_t count;                /* positions of the list, before the lanes divide them */
    uint64_t *part_files; /* of a `part` before other maps of files: its rows in each file */
    uint32_t stage_count;
    tnd_place_stage_t stages[2 * TND_PLACES_MAPS_MAX + 2];
};

const char *tnd_place_name(tnd_place_kind_t kind)
{
    return ops[kind]->name;
}

static bool refuse(tnd_places_fault_t *fault, uint32_t map, const char *help)
{
    fault->map = map;
    fault->help = help;
    return false;
}

/*  Whether a map orders the files with the rows that a `part` before it leaves in them. */
static bool orders_part(const tnd_place_list_t *self, uint32_t i)
{
    if (i == 0 || i >= self->count || self->maps[0].kind != TND_PLACE_PART)
        return false;
    tnd_place_kind_t kind = self->maps[i].kind;
    return (i == 1 && (kind == TND_PLACE_FILES || kind == TND_PLACE_INTERLEAVE)) ||
           (i == 2 && self->maps[1].kind == TND_PLACE_FILES && kind == TND_PLACE_INTERLEAVE);
}

/*  Whether the place of a map in the list is allowed; `sequential` is the map before it whose
 *  result has no random access. */
static bool check_place(const tnd_place_list_t *self, uint32_t i, const char *sequential,
                        uint64_t input, tnd_places_fault_t *fault)
{
    const tnd_place_op_t *op = ops[self->maps[i].kind];
    /* These are in the order of maps.def. */
    bool follows =
        i > 0 && (ops[self->maps[i - 1].kind]->rules & TND_PLACE_FIRST) != 0 &&
        self->maps[i - 1].kind < self->maps[i].kind &&
        (self->maps[0].kind != TND_PLACE_PART || self->maps[i].kind != TND_PLACE_UNBATCH);
    if ((op->rules & TND_PLACE_FIRST) != 0 && i > 0 && !follows && !orders_part(self, i)) {
        static const char *const help[] = {
            [TND_PLACE_FILES] = "make `files` the first of the list",
            [TND_PLACE_INTERLEAVE] =
                "make `interleave` the first of the list, or the next after `files`",
            [TND_PLACE_UNBATCH] =
                "make `unbatch` the first of the list, or the next after `interleave`",
            [TND_PLACE_PART] = "make `part` the first of the list, or the next after `unbatch`",
        };
        bool files = self->maps[i].kind < TND_PLACE_UNBATCH;
        (void)tnd_fail(&fault->why, "`%s` after `%s`: it works on %s", op->name,
                       tnd_place_name(self->maps[i - 1].kind), files ? "files" : "rows as stored");
        return refuse(fault, i, help[self->maps[i].kind]);
    }
    if (self->maps[i].kind == TND_PLACE_PART && self->maps[i].part.list != 0 && i > 0 &&
        self->maps[0].kind != TND_PLACE_UNBATCH) {
        (void)tnd_fail(
            &fault->why,
            "`part` after `%s`: `by` and `stratified` divide the rows as they are stored",
            tnd_place_name(self->maps[0].kind));
        return refuse(fault, i, "make `part` the first of the list");
    }
    if ((op->rules & TND_PLACE_LAST) != 0 && i + 1 < self->count) {
        (void)tnd_fail(&fault->why,
                       "`%s` before `%s`: a window is several rows, and this orders single ones",
                       op->name, tnd_place_name(self->maps[i + 1].kind));
        return refuse(fault, i, "make `window` the last of the list");
    }
    if ((op->rules & TND_PLACE_WHOLE) != 0 && sequential != NULL) {
        (void)tnd_fail(
            &fault->why,
            "`%s` after `%s`, whose rows come one after the other: it needs them in any order",
            op->name, sequential);
        return refuse(fault, i, "one of the two is enough");
    }
    if ((op->rules & TND_PLACE_WHOLE) != 0 && input == TND_PLACES_ENDLESS) {
        (void)tnd_fail(&fault->why, "`%s` of rows that never end", op->name);
        return refuse(fault, i, "write it before `repeat`, or put a `take` between them");
    }
    return true;
}

/*  What positions of groups are repeated from a shuffle is remembered. */
enum { GROUP_MAX = 1 << 20 };

static bool check_values(const tnd_place_map_t *map, uint32_t i, uint64_t input,
                         tnd_places_fault_t *fault)
{
    if (map->kind == TND_PLACE_SHARD &&
        (map->shard.shards == 0 || map->shard.index == TND_PLACES_OWN_LANE)) {
        (void)tnd_fail(&fault->why,
                       "`shard`: `count: lanes` without `index: lane`, or the reverse");
        return refuse(fault, i, "write `shard: {count: lanes, index: lane}`");
    }
    if (map->kind == TND_PLACE_SHARD && map->shard.index >= map->shard.shards) {
        (void)tnd_fail(&fault->why, "`shard`: `index: %" PRIu64 "` of %" PRIu64 " shards",
                       map->shard.index, map->shard.shards);
        return refuse(fault, i, "shards are numbered from 0");
    }
    if (map->kind == TND_PLACE_REPEAT && map->repeat.group > GROUP_MAX) {
        (void)tnd_fail(&fault->why,
                       "`repeat`: `group: %" PRIu64 "`, and a group has at most %d rows",
                       map->repeat.group, GROUP_MAX);
        return refuse(fault, i, "leave `group` out to repeat all rows");
    }
    if (map->kind == TND_PLACE_PART && map->part.parts == 0) {
        (void)tnd_fail(
            &fault->why,
            "`part`: `of` has two to %d whole numbers from 1 on, whose sum in lowest terms "
            "is at most %d",
            TND_PLACES_PARTS_MAX, TND_PLACES_PARTS_SUM);
        return refuse(fault, i, "write `of: [80, 20]` for four fifths and one fifth of the rows");
    }
    char parts[64];
    if (map->kind == TND_PLACE_PART && map->part.chosen >> map->part.parts != 0) {
        (void)tnd_fail(
            &fault->why, "`part`: %s of %" PRIu32 " parts",
            tnd_place_part_text(map->part.chosen >> map->part.parts << map->part.parts, parts),
            map->part.parts);
        return refuse(fault, i, "parts are numbered from 0");
    }
    if (map->kind == TND_PLACE_PART && map->part.chosen == 0) {
        (void)tnd_fail(&fault->why, "`part`: `except` leaves out all %" PRIu32 " parts",
                       map->part.parts);
        return refuse(fault, i, "leave at least one part");
    }
    if (map->kind == TND_PLACE_PART && map->part.list != 0 && map->part.rows > 0 &&
        map->part.own == 0) {
        (void)tnd_fail(&fault->why, "`part`: no row is of %s",
                       tnd_place_part_text(map->part.chosen, parts));
        return refuse(fault, i, "give that part a larger share");
    }
    if (map->kind == TND_PLACE_SHUFFLE && map->shuffle.buffer == TND_PLACES_ENDLESS &&
        input == TND_PLACES_ENDLESS) {
        (void)tnd_fail(&fault->why, "`buffer: all` of rows that never end");
        return refuse(fault, i, "write `shuffle` before `repeat`, or give `buffer:` a number");
    }
    return true;
}

/*  Positions that a map makes of `input` ones. */
static uint64_t count_of(const tnd_place_map_t *map, uint64_t input)
{
    const tnd_place_op_t *op = ops[map->kind];
    return op->count != NULL ? op->count(map, input) : input;
}

bool tnd_places_check(const tnd_place_list_t *self, uint64_t rows, tnd_places_fault_t *fault)
{
    /* Any number of rows shows what never ends. */
    uint64_t count = rows == TND_PLACES_ENDLESS ? 1 : rows;
    const char *sequential = NULL;
    *fault = (tnd_places_fault_t){0};
    if (self->count == 0) {
        (void)tnd_fail(&fault->why, "the list is empty");
        return refuse(fault, 0, "leave `order` out to read rows as they are stored");
    }
    for (uint32_t i = 0; i < self->count; i++) {
        const tnd_place_map_t *map = &self->maps[i];
        if (!check_place(self, i, sequential, count, fault) || !check_values(map, i, count, fault))
            return false;
        count = count_of(map, count);
        if (count > INT64_MAX && count != TND_PLACES_ENDLESS) {
            (void)tnd_fail(&fault->why, "`%s` gives more positions than can be counted",
                           ops[map->kind]->name);
            return refuse(fault, i, NULL);
        }
        if ((ops[map->kind]->rules & TND_PLACE_SEQUENTIAL) != 0)
            sequential = ops[map->kind]->name;
    }
    if (count != TND_PLACES_ENDLESS)
        return true;
    (void)tnd_fail(&fault->why, "the rows of one epoch never end");
    return refuse(fault, self->count - 1,
                  "write `epochs: forever` and leave out the `repeat`, or add a `take`");
}

uint64_t tnd_places_count(const tnd_place_list_t *self, uint64_t rows)
{
    for (uint32_t i = 0; i < self->count; i++)
        rows = count_of(&self->maps[i], rows);
    return rows;
}

static const tnd_place_map_t *window_of(const tnd_place_list_t *self)
{
    const tnd_place_map_t *last = self->count > 0 ? &self->maps[self->count - 1] : NULL;
    return last != NULL && last->kind == TND_PLACE_WINDOW ? last : NULL;
}

uint64_t tnd_places_width(const tnd_place_list_t *self)
{
    const tnd_place_map_t *window = window_of(self);
    return window != NULL ? window->window.size : 1;
}

uint64_t tnd_places_unit(const tnd_place_list_t *self)
{
    for (uint32_t i = 0; i < self->count && i < 3; i++)
        if (self->maps[i].kind == TND_PLACE_UNBATCH)
            return self->maps[i].unbatch;
    return 1;
}

uint32_t tnd_places_seed(int64_t seed)
{
    const int64_t modulus = INT32_MAX;
    int64_t rest = seed % modulus;
    return (uint32_t)(rest < 0 ? rest + modulus : rest);
}

void tnd_places_seeds(uint32_t global_seed, uint32_t seed, uint32_t seeds[2])
{
    seeds[0] = global_seed;
    seeds[1] = global_seed == 0 && seed == 0 ? INT32_MAX : seed;
}

/*  ---------------------------------------------------------------------------------- in use */

static tnd_place_stage_t *add_stage(tnd_places_t *self, const tnd_place_op_t *op,
                                    const tnd_place_map_t *map, uint64_t input, uint64_t count)
{
    tnd_place_stage_t *stage = &self->stages[self->stage_count];
    *stage = (tnd_place_stage_t){.op = op,
                                 .map = map,
                                 .below = self->stage_count > 0 ? stage - 1 : NULL,
                                 .input = input,
                                 .count = count,
                                 .passes = 1};
    self->stage_count++;
    return stage;
}

bool tnd_places_of_lane(tnd_place_list_t *self, uint32_t lane, uint32_t lanes)
{
    bool any = false;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_place_map_t *map = &self->maps[i];
        if (map->kind != TND_PLACE_SHARD || !map->shard.by_lane)
            continue;
        map->shard.shards = lanes;
        map->shard.index = lane;
        any = true;
    }
    return any;
}

/*  Positions of the ring: what the lane may ask for again, and what is found at once; before a repeat of
 *  groups, those of a group. */
static uint64_t recall_room(const tnd_places_t *self, const tnd_place_stage_t *stage)
{
    uint64_t wanted = self->config.recall, room = 1024;
    if (stage->map != NULL)
        wanted = 2 * stage->map->repeat.group;
    else if (self->window != NULL) {
        uint64_t lanes = self->config.lanes, shift = self->window->window.shift;
        wanted = wanted * lanes * shift + self->window->window.size * self->window->window.stride;
    }
    while (room < wanted)
        room *= 2;
    return room;
}

/*  Makes the stages, without their state. */
static void link_stages(tnd_places_t *self, const tnd_places_config_t *config)
{
    const tnd_place_list_t *list = config->list;
    uint64_t unit = tnd_places_unit(list), count = config->rows * unit;
    bool sequential = false;
    self->config = *config;
    self->window = window_of(list);
    self->stage_count = 0;
    self->count = tnd_places_count(list, config->rows);
    for (uint32_t i = 0; i < list->count; i++) {
        const tnd_place_map_t *map = &list->maps[i];
        const tnd_place_op_t *op = ops[map->kind];
        if (map->kind == TND_PLACE_UNBATCH || map == self->window)
            continue;
        uint64_t input = count;
        count = count_of(map, input);
        if (sequential && map->kind == TND_PLACE_REPEAT && map->repeat.group > 0)
            add_stage(self, &recall_op, map, input, input);
        tnd_place_stage_t *stage = add_stage(self, op, map, input, count);
        stage->files = orders_part(list, i)     ? self->part_files
                       : config->file_count > 0 ? config->files
                                                : &self->config.rows;
        stage->file_count = config->file_count > 0 ? config->file_count : 1;
        stage->row_parts = config->row_parts;
        stage->unit = unit;
        stage->watch = config->watch;
        stage->watcher = config->watcher;
        sequential |= (op->rules & TND_PLACE_SEQUENTIAL) != 0;
    }
    if (self->window == NULL && config->lanes > 1) {
        uint64_t input = count;
        count = input / config->lanes + (input % config->lanes > config->lane);
        add_stage(self, &lane_op, NULL, input, count)->state = &self->config;
    }
    if (sequential)
        add_stage(self, &recall_op, NULL, count, count);
}

static uint32_t files_of(const tnd_places_config_t *config)
{
    return config->file_count > 0 ? config->file_count : 1;
}

/*  Bytes of the rows of a part in each file. */
static size_t part_files_bytes(const tnd_places_config_t *config)
{
    return orders_part(config->list, 1) ? files_of(config) * sizeof(uint64_t) : 0;
}

static void fill_part_files(tnd_places_t *self, const tnd_places_config_t *config)
{
    uint64_t from = 0;
    for (uint32_t f = 0; part_files_bytes(config) > 0 && f < files_of(config); f++) {
        uint64_t to = from + (config->file_count > 0 ? config->files[f] : config->rows);
        self->part_files[f] =
            tnd_place_part_rows(&config->list->maps[0], config->row_parts, from, to);
        from = to;
    }
}

static size_t state_bytes(const tnd_places_t *self, const tnd_place_stage_t *stage)
{
    if (stage->op == &recall_op)
        return sizeof(recall_t) + recall_room(self, stage) * sizeof(uint64_t);
    return stage->op->bytes != NULL ? stage->op->bytes(stage) : 0;
}

size_t tnd_places_bytes(const tnd_places_config_t *config)
{
    tnd_places_t plan = {.part_files = NULL};
    size_t bytes = sizeof plan + part_files_bytes(config);
    link_stages(&plan, config);
    for (uint32_t i = 0; i < plan.stage_count; i++)
        bytes += state_bytes(&plan, &plan.stages[i]);
    return bytes;
}

tnd_places_t *tnd_places_init(void *memory, const tnd_places_config_t *config)
{
    tnd_places_t *self = memory;
    uint8_t *at = (uint8_t *)(self + 1) + part_files_bytes(config);
    self->part_files = (uint64_t *)(self + 1);
    link_stages(self, config);
    fill_part_files(self, config);
    uint64_t wanted = UINT64_MAX;
    for (uint32_t i = self->stage_count; i > 0; i--) {
        tnd_place_stage_t *stage = &self->stages[i - 1];
        size_t bytes = state_bytes(self, stage);
        stage->wanted = wanted;
        if (bytes > 0)
            stage->state = at;
        at += bytes;
        if (stage->op == &recall_op)
            *(recall_t *)stage->state = (recall_t){.room = recall_room(self, stage)};
        else if (stage->op->init != NULL)
            stage->op->init(stage);
        wanted = stage->op->demand != NULL ? stage->op->demand(stage) : UINT64_MAX;
    }
    return self;
}

/*  Replaces positions of the top stage by places. */
static void trace(tnd_places_t *self, uint64_t epoch, uint64_t *positions, size_t count)
{
    tnd_place_stage_t *top = &self->stages[self->stage_count - 1];
    if (self->stage_count > 0 && count > 0)
        top->op->trace(top, epoch, positions, count);
}

/*  The position of the list. */
static uint64_t of_list(const tnd_places_t *self, uint64_t position)
{
    return position * self->config.lanes + self->config.lane;
}

uint64_t tnd_places_pieces(const tnd_places_t *self, uint64_t position)
{
    const tnd_place_map_t *window = self->window;
    if (window == NULL)
        return 1;
    const tnd_place_list_t *list = self->config.list;
    tnd_place_list_t input = *list;
    input.count--;
    uint64_t left = tnd_places_count(&input, self->config.rows) -
                    of_list(self, position) * window->window.shift;
    uint64_t most = (left - 1) / window->window.stride + 1;
    return most < window->window.size ? most : window->window.size;
}

void tnd_places_fill(tnd_places_t *self, uint64_t epoch, uint64_t first, size_t count,
                     uint64_t *places)
{
    if (self->window == NULL) {
        for (size_t i = 0; i < count; i++)
            places[i] = first + i;
        trace(self, epoch, places, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *window = places + i * self->window->window.size;
        uint64_t pieces = tnd_places_pieces(self, first + i);
        uint64_t from = of_list(self, first + i) * self->window->window.shift;
        for (uint64_t k = 0; k < pieces; k++)
            window[k] = from + k * self->window->window.stride;
        trace(self, epoch, window, pieces);
    }
}

uint64_t tnd_places_drawn(const tnd_places_t *self)
{
    uint64_t drawn = 0;
    for (uint32_t i = 0; i < self->stage_count; i++)
        drawn += self->stages[i].drawn;
    return drawn;
}
