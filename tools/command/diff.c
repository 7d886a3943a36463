/*  tools/command/diff.c - `tundish diff`: compares two graphs key by key. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/option_print.h"
#include "tools/cli/json.h"
#include "tools/cli/load.h"

typedef struct {
    tnd_load_options_t load;
    bool graph, json;
} diff_options_t;

/*  The value of a key on one side. */
typedef struct {
    const char *text; /* NULL: it has no such thing */
    tnd_mark_t mark;  /* 0: a default */
} side_t;

typedef struct {
    tnd_arena_t *arena;
    unsigned roles;
    bool json;
    size_t count; /* of differences, which are printed when they are found */
} diff_t;

static void print_side_json(const side_t *side)
{
    if (side->text == NULL) {
        fputs("null", stdout);
        return;
    }
    tnd_json_begin(stdout, false, "value", side->text);
    if (side->mark.origin != NULL && side->mark.line > 0) {
        tnd_json_member(stdout, "file", side->mark.origin->name);
        printf(",\"line\":%" PRIu32 ",\"column\":%" PRIu32, side->mark.line, side->mark.column);
    }
    putchar('}');
}

static void print_side(char sign, const side_t *side)
{
    if (side->text == NULL)
        printf("  %c absent\n", sign);
    else if (side->mark.origin == NULL || side->mark.line == 0)
        printf("  %c %s  (default)\n", sign, side->text);
    else
        printf("  %c %s  (%s:%" PRIu32 ":%" PRIu32 ")\n", sign, side->text, side->mark.origin->name,
               side->mark.line, side->mark.column);
}

static void report(diff_t *self, const char *key, side_t a, side_t b)
{
    if (self->json) {
        tnd_json_begin(stdout, self->count > 0, "key", key);
        fputs(",\"a\":", stdout);
        print_side_json(&a);
        fputs(",\"b\":", stdout);
        print_side_json(&b);
        putchar('}');
    } else {
        printf("%s\n", key);
        print_side('-', &a);
        print_side('+', &b);
    }
    self->count++;
}

/*  ---------------------------------------------------------------------------------- options */

/*  A struct that a table describes, and the options that were written for it. */
typedef struct {
    const void *options;
    const tnd_value_t *value;
} filled_t;

static const char *text_of(diff_t *self, const tnd_option_t *option, const void *options)
{
    const tnd_table_t one = {.name = "", .options = option, .option_count = 1};
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_options_print(&one, options, self->roles, out);
    fclose(out);
    /* "{key: text}" */
    size_t before = strlen(option->name) + 3;
    const char *kept = tnd_option_is_any(option) || size < before + 1
                           ? tnd_arena_text(self->arena, text, size)
                           : tnd_arena_text(self->arena, text + before, size - before - 1);
    free(text);
    return kept;
}

static tnd_mark_t mark_of(const tnd_value_t *map, const char *key)
{
    const tnd_value_t *value = tnd_value_get(map, key);
    return value != NULL && value->type != TND_VALUE_NULL ? value->mark : (tnd_mark_t){0};
}

static void compare_tables(diff_t *self, const tnd_table_t *table, const char *path, filled_t a,
                           filled_t b);

/*  For `{NAME: {options}}` or NAME: the options that were written. */
static const tnd_value_t *inside(const tnd_value_t *value)
{
    return value != NULL && value->type == TND_VALUE_MAP && value->count == 1
               ? value->entries[0].value
               : NULL;
}

/*  Whether both name the same table, so that its options can be compared. */
static bool compare_parts(diff_t *self, const char *path, const tnd_part_t *a, const tnd_part_t *b)
{
    if (a->table == NULL || a->table != b->table)
        return false;
    compare_tables(self, a->table, tnd_arena_format(self->arena, "%s.%s", path, a->table->name),
                   (filled_t){a->options, inside(a->value)},
                   (filled_t){b->options, inside(b->value)});
    return true;
}

/*  Compares lists of equal length item by item, others as a whole. */
static bool compare_part_lists(diff_t *self, const char *path, const tnd_part_list_t *a,
                               const tnd_part_list_t *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].table != b->items[i].table)
            return false;
    for (size_t i = 0; i < a->count; i++)
        (void)compare_parts(self, tnd_arena_format(self->arena, "%s[%zu]", path, i), &a->items[i],
                            &b->items[i]);
    return true;
}

static const char *pair_text(diff_t *self, const tnd_pair_t *pair)
{
    const tnd_pairs_t one = {.items = pair, .count = 1};
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_pairs_print(&one, out);
    fclose(out);
    /* {"name": text} */
    const char *from = strstr(text, "\": ") + 3;
    const char *kept = tnd_arena_text(self->arena, from, strlen(from) - 1);
    free(text);
    return kept;
}

static const tnd_pair_t *pair_called(const tnd_pairs_t *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].name, name) == 0)
            return &pairs->items[i];
    return NULL;
}

static const char *names_of(diff_t *self, const tnd_pairs_t *pairs)
{
    const char *text = "";
    for (size_t i = 0; i < pairs->count; i++)
        text =
            tnd_arena_format(self->arena, "%s%s%s", text, i > 0 ? ", " : "", pairs->items[i].name);
    return text;
}

/*  Keys that the table does not name: columns, options of a plugin.  Their order matters. */
static void compare_pairs(diff_t *self, const char *path, const tnd_pairs_t *a,
                          const tnd_pairs_t *b, filled_t left, filled_t right)
{
    size_t before = self->count;
    for (size_t i = 0; i < a->count; i++) {
        const tnd_pair_t *one = &a->items[i], *two = pair_called(b, one->name);
        const char *key = tnd_arena_format(self->arena, "%s.%s", path, one->name);
        side_t first = {pair_text(self, one), mark_of(left.value, one->name)};
        if (two == NULL)
            report(self, key, first, (side_t){0});
        else if (strcmp(first.text, pair_text(self, two)) != 0)
            report(self, key, first,
                   (side_t){pair_text(self, two), mark_of(right.value, two->name)});
    }
    for (size_t i = 0; i < b->count; i++)
        if (pair_called(a, b->items[i].name) == NULL)
            report(self, tnd_arena_format(self->arena, "%s.%s", path, b->items[i].name),
                   (side_t){0},
                   (side_t){pair_text(self, &b->items[i]), mark_of(right.value, b->items[i].name)});
    const char *first = names_of(self, a), *second = names_of(self, b);
    if (self->count == before && strcmp(first, second) != 0)
        report(self, tnd_arena_format(self->arena, "%s, the order", path),
               (side_t){first, left.value != NULL ? left.value->mark : (tnd_mark_t){0}},
               (side_t){second, right.value != NULL ? right.value->mark : (tnd_mark_t){0}});
}

static void compare_option(diff_t *self, const tnd_option_t *option, const char *path, filled_t a,
                           filled_t b)
{
    const char *first = text_of(self, option, a.options);
    const char *second = text_of(self, option, b.options);
    if (strcmp(first, second) == 0)
        return;
    const void *one = (const char *)a.options + option->offset;
    const void *two = (const char *)b.options + option->offset;
    if (tnd_option_is_any(option)) {
        compare_pairs(self, path, one, two, a, b);
        return;
    }
    const char *key = tnd_arena_format(self->arena, "%s.%s", path, option->name);
    const tnd_value_t *left = tnd_value_get(a.value, option->name);
    const tnd_value_t *right = tnd_value_get(b.value, option->name);
    if (option->type == TND_OPTION_TABLE) {
        const void *inner = *(const void *const *)one, *other = *(const void *const *)two;
        if (inner != NULL && other != NULL) {
            compare_tables(self, option->table, key, (filled_t){inner, left},
                           (filled_t){other, right});
            return;
        }
    }
    if (option->type == TND_OPTION_PART && compare_parts(self, key, one, two))
        return;
    if (option->type == TND_OPTION_PARTS && compare_part_lists(self, key, one, two))
        return;
    report(self, key, (side_t){first, mark_of(a.value, option->name)},
           (side_t){second, mark_of(b.value, option->name)});
}

static void compare_tables(diff_t *self, const tnd_table_t *table, const char *path, filled_t a,
                           filled_t b)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (((unsigned)table->options[i].role & self->roles) != 0)
            compare_option(self, &table->options[i], path, a, b);
}

/*  ------------------------------------------------------------------------------------ graphs */

static side_t actor_side(const tnd_topology_actor_t *actor)
{
    return (side_t){actor->kind->table.name, actor->mark};
}

static void compare_actors(diff_t *self, const tnd_topology_t *a, const tnd_topology_t *b)
{
    for (uint32_t i = 0; i < a->actor_count; i++) {
        const tnd_topology_actor_t *one = &a->actors[i], *two = NULL;
        uint32_t other = tnd_topology_find(b, one->name);
        if (other != TND_TOPOLOGY_NONE)
            two = &b->actors[other];
        if (two == NULL || two->kind != one->kind)
            report(self, tnd_arena_format(self->arena, "actors.%s", one->name), actor_side(one),
                   two != NULL ? actor_side(two) : (side_t){0});
        else
            compare_tables(self, &one->kind->table, one->name, (filled_t){one->options, one->value},
                           (filled_t){two->options, two->value});
    }
    for (uint32_t i = 0; i < b->actor_count; i++)
        if (tnd_topology_find(a, b->actors[i].name) == TND_TOPOLOGY_NONE)
            report(self, tnd_arena_format(self->arena, "actors.%s", b->actors[i].name), (side_t){0},
                   actor_side(&b->actors[i]));
}

static const tnd_topology_link_t *link_between(const tnd_topology_t *topology, const char *from,
                                               const char *to)
{
    for (uint32_t i = 0; i < topology->link_count; i++)
        if (strcmp(topology->actors[topology->links[i].from].name, from) == 0 &&
            strcmp(topology->actors[topology->links[i].to].name, to) == 0)
            return &topology->links[i];
    return NULL;
}

/*  The links of `a` that `b` lacks or has in another form; `turned`: `a` is the second side. */
static void compare_links(diff_t *self, const tnd_topology_t *a, const tnd_topology_t *b,
                          bool turned)
{
    for (uint32_t i = 0; i < a->link_count; i++) {
        const tnd_topology_link_t *link = &a->links[i];
        const char *from = a->actors[link->from].name, *to = a->actors[link->to].name;
        const tnd_topology_link_t *other = link_between(b, from, to);
        if (other != NULL && (turned || other->call == link->call))
            continue;
        const char *arrow = link->call ? "<->" : "->";
        side_t here = {tnd_arena_format(self->arena, "%s %s %s", from, arrow, to), link->mark};
        side_t there = {0};
        if (other != NULL)
            there = (side_t){
                tnd_arena_format(self->arena, "%s %s %s", from, other->call ? "<->" : "->", to),
                other->mark};
        report(self, "links", turned ? there : here, turned ? here : there);
    }
}

/*  The top level; actors, links and hosts are compared separately. */
static void compare_settings(diff_t *self, const tnd_topology_t *a, const tnd_topology_t *b)
{
    for (size_t i = 0; i < tnd_settings_table.option_count; i++) {
        const tnd_option_t *option = &tnd_settings_table.options[i];
        if (((unsigned)option->role & self->roles) == 0 || strcmp(option->name, "actors") == 0 ||
            strcmp(option->name, "links") == 0)
            continue;
        const char *first = text_of(self, option, a->settings);
        const char *second = text_of(self, option, b->settings);
        if (strcmp(first, second) != 0)
            report(self, option->name, (side_t){first, mark_of(a->root, option->name)},
                   (side_t){second, mark_of(b->root, option->name)});
    }
}

static int compare(const tnd_request_t *request, const tnd_topology_t *a, const tnd_topology_t *b)
{
    const diff_options_t *options = request->options;
    diff_t self = {.arena = tnd_arena_new(),
                   .roles = options->graph ? TND_ROLE_GRAPH : TND_ROLE_ALL,
                   .json = options->json};
    fputs(self.json ? "{\"differences\":[" : "", stdout);
    compare_settings(&self, a, b);
    compare_actors(&self, a, b);
    compare_links(&self, a, b, false);
    compare_links(&self, b, a, true);
    bool graph = a->fingerprint[0] == b->fingerprint[0] && a->fingerprint[1] == b->fingerprint[1];
    bool same = graph && self.count == 0;
    if (self.json) {
        printf("],\"same\":%s,\"same_graph\":%s,\"fingerprints\":[", same ? "true" : "false",
               graph ? "true" : "false");
        tnd_json_hash(stdout, a->fingerprint);
        putchar(',');
        tnd_json_hash(stdout, b->fingerprint);
        puts("]}");
    } else if (graph) {
        printf("same graph%s: %016" PRIx64 "%016" PRIx64 "\n",
               same ? "" : ", placed or tuned in another way", a->fingerprint[1],
               a->fingerprint[0]);
    } else {
        printf("not the same graph: %016" PRIx64 "%016" PRIx64 " and %016" PRIx64 "%016" PRIx64
               "\n",
               a->fingerprint[1], a->fingerprint[0], b->fingerprint[1], b->fingerprint[0]);
    }
    tnd_arena_destroy(&self.arena);
    return same ? TND_EXIT_OK : TND_EXIT_FAILED;
}

/*  The files of "fashion.yaml,three.yaml". */
static size_t split(tnd_arena_t *arena, const char *text, const char **files)
{
    size_t count = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        if (size > 0)
            files[count++] = tnd_arena_text(arena, text, size);
        if (text[size] == '\0')
            return count;
        text += size + 1;
    }
}

static tnd_graph_t *load_side(const tnd_request_t *request, tnd_arena_t *arena, size_t first,
                              size_t end)
{
    const diff_options_t *options = request->options;
    size_t room = 1, count = 0;
    for (size_t i = first; i < end; i++)
        room += strlen(request->files[i]) + 1;
    const char **files = tnd_arena_array(arena, room, sizeof *files);
    for (size_t i = first; i < end; i++)
        count += split(arena, request->files[i], files + count);
    return tnd_load_form(&options->load, files, count);
}

/*  If a graph is compared with an overlay only, the overlay is applied to the graph. */
static void hint(const tnd_request_t *request, size_t middle, const tnd_graph_t *b)
{
    const tnd_diagnostics_t *found = tnd_graph_diagnostics(b);
    if (middle + 1 == request->file_count && tnd_diagnostics_has(found, TND_T022_VERSION) &&
        tnd_diagnostics_has(found, TND_T035_NO_ACTORS))
        tnd_complain("diff", "is %s an overlay? then write: tundish diff --graph %s %s,%s",
                     request->files[middle], request->files[0], request->files[0],
                     request->files[middle]);
}

static int diff(const tnd_request_t *request)
{
    size_t middle = request->divider;
    if (middle == request->file_count && request->file_count == 2)
        middle = 1;
    if (middle == 0 || middle == request->file_count)
        return tnd_usage_error("diff", "two graphs are compared: A B, each a file or several with "
                                       "commas between them, or A... -- B...");
    tnd_arena_t *arena = tnd_arena_new();
    tnd_graph_t *a = load_side(request, arena, 0, middle);
    tnd_graph_t *b = load_side(request, arena, middle, request->file_count);
    bool good = tnd_load_check(a);
    good = tnd_load_check(b) && good;
    int code = TND_EXIT_TOPOLOGY;
    if (good)
        code = compare(request, tnd_graph_topology(a), tnd_graph_topology(b));
    else
        hint(request, middle, b);
    tnd_graph_destroy(&a);
    tnd_graph_destroy(&b);
    tnd_arena_destroy(&arena);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--graph", FLAG, diff_options_t, graph, NULL,
                  "compares what determines the stream, not placement or speed")},
    {TND_COMMON("--json", diff_options_t, json)},
    {TND_COMMON("--set", diff_options_t, load.settings)},
};

const tnd_command_t tnd_command_diff = {
    .name = "diff",
    .operands = "A B | A... -- B...",
    .summary = "compares two topologies",
    TND_ARGUMENTS(arguments, diff_options_t),
    .details =
        "A and B are one topology each, or a topology and its overlays joined by commas, or\n"
        "several files with `--` between A and B:\n"
        "  tundish diff --graph fashion.yaml fashion.yaml,three.yaml\n"
        "  tundish diff --graph fashion.yaml -- fashion.yaml three.yaml\n"
        "--graph compares only what determines the stream: if they are equal, both feed the\n"
        "same rows in the same order on any placement.  Otherwise placement, security and\n"
        "tuning are compared too.  --set changes both sides.\n",
    .codes = "  0   equal\n"
             "  1   different: each key, with both places\n"
             "  2   usage\n"
             "  78  one of them is wrong\n",
    .operands_min = 1,
    .missing = "no topology is given",
    .run = diff,
};
