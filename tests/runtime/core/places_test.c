/*  Places against TensorFlow (order.txt, shuffle.txt) and against a program in Python that makes the
 *  sequences of each map (places.txt); tests/oracle/README.md describes the lines. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/core/places.h"

enum { LINE = 1 << 16, FILES = 64, VALUES = 1 << 12 };

typedef struct {
    uint64_t files[FILES], rows;
    uint32_t file_count;
    tnd_place_list_t list;
    uint64_t values[VALUES]; /* of rows, if `valued` */
    bool valued, refused, hashed;
    uint64_t epoch;
    const char *expected;
} case_t;

static uint64_t number(char **text)
{
    while (**text == ' ')
        (*text)++;
    if (strncmp(*text, "all", 3) == 0) {
        *text += 3;
        return UINT64_MAX;
    }
    return strtoull(*text, text, 10);
}

static uint32_t seed(char **text)
{
    return tnd_places_seed(strtoll(*text, text, 10));
}

/*  "-" or a number. */
static uint32_t global_seed(char **text)
{
    while (**text == ' ')
        (*text)++;
    if (**text != '-')
        return seed(text);
    (*text)++;
    return TND_PLACES_NO_GLOBAL_SEED;
}

static void parse_map(tnd_place_map_t *map, char *text)
{
    char name[32];
    int used;
    cr_assert_eq(sscanf(text, " %31s%n", name, &used), 1);
    text += used;
    map->kind = 0;
    while (strcmp(tnd_place_name(map->kind), name) != 0)
        cr_assert_lt(++map->kind, TND_PLACE_KINDS, "%s", name);
    switch (map->kind) {
    case TND_PLACE_INTERLEAVE:
        map->interleave.cycle = number(&text);
        map->interleave.block = number(&text);
        break;
    case TND_PLACE_REPEAT:
        map->repeat.times = number(&text);
        map->repeat.fused = number(&text) != 0;
        map->repeat.group = text[strspn(text, " ")] != '\0' ? number(&text) : 0;
        break;
    case TND_PLACE_SHARD:
        map->shard.shards = number(&text);
        map->shard.index = number(&text);
        map->shard.rows = text[strspn(text, " ")] != '\0' ? number(&text) : 1;
        break;
    case TND_PLACE_FILES:
    case TND_PLACE_SHUFFLE:
        map->shuffle.buffer = number(&text); /* fallthrough */
    case TND_PLACE_INDEX_SHUFFLE: {
        uint32_t own = seed(&text);
        tnd_places_seeds(global_seed(&text), own, map->shuffle.seeds);
        map->shuffle.reshuffle = number(&text) != 0;
        break;
    }
    case TND_PLACE_WINDOW:
        map->window.size = number(&text);
        map->window.shift = number(&text);
        map->window.stride = number(&text);
        map->window.drop_remainder = number(&text) != 0;
        break;
    default:
        map->skip = number(&text); /* they have one number */
    }
}

static void parse(case_t *self, char *line)
{
    *self = (case_t){0};
    char *bar = strchr(line, '|'), *word = bar + 1;
    *bar = '\0';
    self->refused = strstr(word, "refused") != NULL;
    self->epoch = number(&word);
    self->hashed = strncmp(word, " hash", 5) == 0;
    word += strcspn(word + (*word == ' '), " ") + (*word == ' ');
    self->expected = word;
    char *values = strchr(line, '=');
    if (values != NULL) {
        *values++ = '\0';
        self->valued = true;
        for (uint64_t i = 0; *values != '\0' && i < VALUES; i++)
            self->values[i] = number(&values), values += strspn(values, " ");
    }
    char *at = line, *end;
    for (;; at = end + 1) {
        self->rows += self->files[self->file_count++] = strtoull(at, &end, 10);
        if (*end != ',')
            break;
    }
    for (char *map = strtok(end + strspn(end, " "), ";"); map != NULL; map = strtok(NULL, ";"))
        parse_map(&self->list.maps[self->list.count++], map);
}

static tnd_places_t *open_places(const case_t *self, uint32_t lane, uint32_t lanes, uint64_t recall)
{
    const tnd_places_config_t config = {.list = &self->list,
                                        .rows = self->rows,
                                        .files = self->files,
                                        .file_count = self->file_count,
                                        .lane = lane,
                                        .lanes = lanes,
                                        .recall = recall};
    size_t bytes = tnd_places_bytes(&config);
    return tnd_places_init(malloc(bytes), &config);
}

static bool is_shuffled(const case_t *self)
{
    for (uint32_t i = 0; i < self->list.count; i++)
        if (self->list.maps[i].kind == TND_PLACE_SHUFFLE)
            return true;
    return false;
}

/*  Compares positions [first, first + count) with `all`, where width * position of them begin. */
static void compare(tnd_places_t *places, const case_t *self, const uint64_t *all, uint64_t first,
                    uint64_t count, uint32_t lane, uint32_t lanes, const char *line)
{
    uint64_t width = tnd_places_width(&self->list), got[4096];
    cr_assert_leq(count * width, 4096);
    tnd_places_fill(places, self->epoch, first, count, got);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t position = (first + i) * lanes + lane;
        for (uint64_t k = 0; k < tnd_places_pieces(places, first + i); k++)
            cr_assert_eq(got[i * width + k], all[position * width + k],
                         "%s: lane %u of %u, position %lu, %lu: %lu, not %lu", line, lane, lanes,
                         first + i, k, got[i * width + k], all[position * width + k]);
    }
}

/*  Lanes and readers find what one reader finds from the start, tickets in another order, twice, or
 *  after a resume. */
static void compare_lanes(const case_t *self, const uint64_t *all, uint64_t count, const char *line)
{
    unsigned state = (unsigned)count + 1;
    for (uint32_t lanes = 1; lanes <= 3; lanes += 2)
        for (uint32_t lane = 0; lane < lanes; lane++) {
            uint64_t own = count / lanes + (count % lanes > lane), reach = 700;
            tnd_places_t *places = open_places(self, lane, lanes, 1000);
            for (uint64_t first = 0; first < own;) {
                uint64_t back = (unsigned)rand_r(&state) % reach, more = 1 + first % 250;
                uint64_t from = first > back ? first - back : 0;
                more = more < own - first ? more : own - first;
                compare(places, self, all, first, more, lane, lanes, line);
                compare(places, self, all, from, more, lane, lanes, line);
                first +=
                    more * (1 + (unsigned)rand_r(&state) % 3); /* others are another reader's */
            }
            if (own > 1) {
                compare(places, self, all, own / 2, 1, lane, lanes, line);
                compare(places, self, all, 0, 1, lane, lanes, line);
                compare(places, self, all, own - 1, 1, lane, lanes, line);
            }
            free(places);
        }
}

static void check_all(const case_t *self, const uint64_t *all, uint64_t count,
                      const tnd_places_t *places, const char *line)
{
    const char *at = self->expected;
    uint64_t width = tnd_places_width(&self->list);
    for (uint64_t p = 0; p < count; p++)
        for (uint64_t k = 0; k < tnd_places_pieces(places, p); k++) {
            uint64_t place = all[p * width + k];
            cr_assert_neq(*at, '\0', "%s: too many places", line);
            uint64_t expected = strtoull(at + 1, (char **)&at, 10);
            cr_assert_eq(self->valued ? self->values[place] : place, expected, "%s: position %lu",
                         line, p);
        }
    cr_assert_eq(at[strspn(at, " \n")], '\0', "%s: too few places: %s", line, at);
}

static void check_hash(const case_t *self, const uint64_t *all, uint64_t count, const char *line)
{
    uint64_t width = tnd_places_width(&self->list), hash = 0, position;
    char *at;
    cr_assert_eq(strtoull(self->expected, &at, 10), count, "%s: %lu", line, count);
    tnd_places_t *places = open_places(self, 0, 1, 100);
    if (at[1] == '-') {
        at += 2;
    } else {
        uint64_t expected = strtoull(at, &at, 10);
        for (uint64_t p = 0; p < count; p++)
            for (uint64_t k = 0; k < tnd_places_pieces(places, p); k++)
                hash = 31 * hash + all[p * width + k];
        cr_assert_eq(hash, expected, "%s", line);
    }
    while (*at == ' ') {
        uint64_t got[16];
        position = strtoull(at, &at, 10);
        tnd_places_fill(places, self->epoch, position, 1, got);
        for (uint64_t k = 0; k < tnd_places_pieces(places, position); k++)
            cr_assert_eq(got[k], strtoull(at + 1, &at, 10), "%s: position %lu", line, position);
    }
    free(places);
}

static void run_line(char *line)
{
    static case_t self;
    char shown[200];
    tnd_places_fault_t fault;
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(line, "=\n"), line);
    parse(&self, line);
    bool good = tnd_places_check(&self.list, self.rows, &fault);
    if (is_shuffled(&self) && self.refused)
        return; /* a buffer of 0 or -1, which options refuse */
    cr_assert_eq(good, !self.refused, "%s: %s", shown, fault.why.text);
    if (self.refused)
        return;
    uint64_t count = tnd_places_count(&self.list, self.rows);
    uint64_t width = tnd_places_width(&self.list), *all = NULL;
    if (count < 1 << 20) {
        all = calloc(count * width + 1, sizeof *all);
        tnd_places_t *places = open_places(&self, 0, 1, 0);
        tnd_places_fill(places, self.epoch, 0, count, all);
        if (!self.hashed)
            check_all(&self, all, count, places, shown);
        free(places);
    }
    if (self.hashed)
        check_hash(&self, all, count, shown);
    if (all != NULL)
        compare_lanes(&self, all, count, shown);
    free(all);
}

static uint64_t run_file(const char *path)
{
    static char line[LINE];
    FILE *file = fopen(path, "r");
    uint64_t lines = 0;
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        run_line(line);
        lines++;
    }
    fclose(file);
    return lines;
}

Test(places, tensorflow_orders_rows_alike)
{
    cr_assert_eq(run_file("tests/oracle/order.txt"), 41);
}

Test(places, tensorflow_shuffles_alike)
{
    cr_assert_eq(run_file("tests/oracle/shuffle.txt"), 148);
}

Test(places, python_finds_the_same_places)
{
    cr_assert_gt(run_file("tests/oracle/places.txt"), 300);
}

Test(places, lists_that_cannot_be_used_are_refused_with_a_suggestion)
{
    static const struct {
        const char *line, *why, *help;
        uint32_t map;
    } cases[] = {
        {"9 ; skip 1 ; interleave 2 2 | 0", "`interleave` after `skip`", "first of the list", 1},
        {"9 ; skip 1 ; unbatch 2 | 0", "`unbatch` after `skip`", "first of the list", 1},
        {"9 ; window 2 2 1 0 ; shuffle 5 1 - 1 | 0", "`window` before `shuffle`", "the last", 0},
        {"9 ; shuffle 5 1 - 1 ; skip 1 ; global 3 | 0", "`global` after `shuffle`", "one of", 2},
        {"9 ; repeat all 1 ; index_shuffle 3 - 1 ; take 4 | 0", "never end", "before `repeat`", 1},
        {"9 ; repeat all 1 ; shuffle all 3 - 1 ; take 4 | 0", "never end", "a number", 1},
        {"9 ; skip 2 ; repeat all 1 | 0", "never end", "epochs: forever", 1},
        {"9 ; shard 3 3 | 0", "`index: 3` of 3", "from 0", 0},
        {"9 ; shard 0 1 | 0", "without `index: lane`", "{count: lanes, index: lane}", 0},
        {"9 ; shard 2 4294967295 | 0", "or the reverse", "{count: lanes, index: lane}", 0},
        {"9 ; skip 1 ; repeat 2 1 1048577 | 0", "at most 1048576 rows", "leave `group` out", 1},
        {"9 ; unbatch 1099511627776 ; repeat 9000000 1 | 0", "can be counted", "", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        case_t self;
        char line[200];
        tnd_places_fault_t fault;
        snprintf(line, sizeof line, "%s", cases[i].line);
        parse(&self, line);
        cr_assert(!tnd_places_check(&self.list, self.rows, &fault), "%s", cases[i].line);
        cr_assert(strstr(fault.why.text, cases[i].why) != NULL, "%s: %s", cases[i].line,
                  fault.why.text);
        const char *help = fault.help != NULL ? fault.help : "";
        cr_assert(strstr(help, cases[i].help) != NULL, "%s: %s", cases[i].line, help);
        cr_assert_eq(fault.map, cases[i].map);
    }
    tnd_places_fault_t fault;
    tnd_place_list_t inside = {
        .count = 3,
        .maps = {{.kind = TND_PLACE_PART, .part = {.of = {4, 1}, .parts = 2, .chosen = 1}},
                 {.kind = TND_PLACE_INTERLEAVE, .interleave = {.cycle = 2, .block = 1}},
                 {.kind = TND_PLACE_UNBATCH, .unbatch = 2}}};
    cr_assert(!tnd_places_check(&inside, 9, &fault),
              "a part counts stored rows, unbatch those inside");
    cr_assert_eq(fault.map, 2);
    inside.count = 2;
    cr_assert(tnd_places_check(&inside, 9, &fault));
    cr_assert(!tnd_places_check(&(tnd_place_list_t){0}, 9, &fault));
    cr_assert(strstr(fault.why.text, "empty") != NULL);
}

/*  A ticket that is issued again is not drawn again; one from before the snapshots is. */
Test(places, a_shuffle_draws_again_only_what_it_no_longer_knows)
{
    case_t self;
    char line[] = "1000000 ; shuffle 1000 7 - 1 | 0";
    uint64_t got[1000], again[1000];
    parse(&self, line);
    tnd_places_t *places = open_places(&self, 0, 1, 4096);
    tnd_places_fill(places, 0, 199000, 1000, got);
    uint64_t drawn = tnd_places_drawn(places);
    cr_assert_eq(drawn, 200000);
    tnd_places_fill(places, 0, 199000, 1000, again);
    cr_assert_eq(tnd_places_drawn(places), drawn, "recalled");
    cr_assert_arr_eq(got, again, sizeof got);
    tnd_places_fill(places, 0, 140000, 1000, again);
    drawn = tnd_places_drawn(places) - drawn;
    cr_assert_eq(drawn, 141000 - 2 * 65536, "from a snapshot, drawn %lu", drawn);
    tnd_places_fill(places, 0, 199000, 1000, again);
    cr_assert_arr_eq(got, again, sizeof got);
    drawn = tnd_places_drawn(places);
    tnd_places_fill(places, 0, 10, 1000, again);
    cr_assert_eq(tnd_places_drawn(places) - drawn, 1010, "from the start");
    free(places);
}

typedef struct {
    uint64_t calls, left, most; /* most: calls before it ends */
} watch_t;

static bool watch(void *watcher, uint64_t left)
{
    watch_t *self = watcher;
    cr_assert(self->calls == 0 || left < self->left);
    self->left = left;
    return ++self->calls < self->most;
}

/*  Rows that a reader does not need, as after a resume. */
Test(places, long_drawing_can_be_watched_and_ended)
{
    case_t self;
    char line[] = "10000000 ; shuffle 1000 7 - 1 | 0";
    uint64_t got[100], again[100];
    parse(&self, line);
    watch_t watched = {.most = UINT64_MAX};
    const tnd_places_config_t config = {
        .list = &self.list, .rows = self.rows, .watch = watch, .watcher = &watched};
    tnd_places_t *places = tnd_places_init(malloc(tnd_places_bytes(&config)), &config);
    tnd_places_fill(places, 0, 9000000, 100, got);
    cr_assert_eq(watched.calls, 9000000 / TND_PLACES_WATCHED);
    cr_assert_leq(watched.left, 2 * TND_PLACES_WATCHED);
    tnd_places_fill(places, 0, 9000100, 100, again);
    cr_assert_eq(watched.calls, 9000000 / TND_PLACES_WATCHED, "found in order");
    watched = (watch_t){.most = 3};
    tnd_places_fill(places, 0, 10, 100, again);
    uint64_t drawn = tnd_places_drawn(places);
    tnd_places_fill(places, 0, 8000000, 1, again);
    cr_assert_eq(tnd_places_drawn(places) - drawn, 2 * TND_PLACES_WATCHED);
    watched = (watch_t){.most = UINT64_MAX};
    tnd_places_fill(places, 1, 9000000, 1, again);
    watched = (watch_t){.most = UINT64_MAX};
    tnd_places_fill(places, 0, 9000000, 100, again);
    cr_assert_arr_eq(got, again, sizeof got, "after it was ended too");
    free(places);
}

static double ns_of(const char *text, uint64_t files, uint64_t lanes)
{
    case_t self;
    char line[200];
    uint64_t places[256], rows[1024], sum = 0;
    struct timespec from, to;
    snprintf(line, sizeof line, "%s", text);
    parse(&self, line);
    for (uint64_t i = 0; i < files; i++)
        rows[i] = self.rows / files + (self.rows % files > i);
    const tnd_places_config_t config = {.list = &self.list,
                                        .rows = self.rows,
                                        .files = rows,
                                        .file_count = (uint32_t)files,
                                        .lanes = (uint32_t)lanes,
                                        .recall = 4096};
    tnd_places_t *opened = tnd_places_init(malloc(tnd_places_bytes(&config)), &config);
    uint64_t count = tnd_places_count(&self.list, self.rows) / lanes / 256 * 256;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (uint64_t first = 0; first < count; first += 256) {
        tnd_places_fill(opened, 1, first, 256, places);
        sum += places[255];
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    free(opened);
    cr_assert_neq(sum, 0);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
           (double)count;
}

/*  Printed, and bounded only where a mistake in the algorithm would show. */
Test(places, time_per_position)
{
    static const struct {
        const char *line;
        uint64_t files, lanes;
    } cases[] = {
        {"4000000 ; shuffle 1000 7 - 1 | 0", 1, 1},
        {"4000000 ; shuffle 1000 7 - 1 | 0", 1, 4},
        {"4000000 ; shuffle 100000 7 - 1 | 0", 1, 1},
        {"4000000 ; interleave 4 16 | 0", 1000, 1},
        {"4000000 ; interleave 16 1 | 0", 1000, 1},
        {"4000000 ; interleave 4 16 | 0", 1000, 4},
        {"4000000 ; global 7 | 0", 1, 1},
        {"4000000 ; index_shuffle 7 - 1 | 0", 1, 1},
        {"4000000 ; skip 10 ; take 3000000 ; repeat 2 1 | 0", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double ns = ns_of(cases[i].line, cases[i].files, cases[i].lanes);
        fprintf(stderr, "%5.1f ns: %s, %lu files, %lu lanes\n", ns, cases[i].line, cases[i].files,
                cases[i].lanes);
        cr_expect_lt(ns, 1000);
    }
}
