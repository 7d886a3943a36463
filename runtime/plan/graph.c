/*  runtime/plan/graph.c - merges files, calls and overlays to a tree, and resolves it. */
#include "runtime/plan/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tundish/tundish.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/core/session/roster.h"
#include "runtime/data/program_array.h"
#include "runtime/data/schema.h"
#include "runtime/option/custom.h"
#include "runtime/option/python_module.h"
#include "runtime/option/registry.h"
#include "runtime/text/yaml.h"
#include "runtime/topology/overlay.h"

/*  One `batch.size=64`: maps around a value, as many as the path has names. */
typedef struct setting {
    struct setting *next;
    tnd_value_t *tree;
    unsigned depth;
} setting_t;

struct tnd_graph {
    tnd_arena_t *arena;
    tnd_diagnostics_t *reading; /* found while texts were parsed */
    tnd_diagnostics_t *checked; /* found by the last check */
    tnd_value_t *base;          /* the graph's own file and calls */
    tnd_value_t *overlays;      /* a list */
    setting_t *first_setting;   /* what was set, in order */
    setting_t *last_setting;
    uint32_t origins;
    bool broken; /* a text could not be read to its end */
    bool kept;
    const char *directory;
    tnd_custom_t *custom;
    tnd_program_array_t *first_array; /* of the program, in order */
    tnd_program_array_t *last_array;
    tnd_graph_purpose_t purpose;
    const tnd_roster_list_t *launched; /* NULL: one process */
    const tnd_topology_t *topology;
    const tnd_plan_t *plan;
    const tnd_plan_t *sketch;
    void (*undo)(void *context); /* at the end; or NULL */
    void *undo_context;
};

static const char *copied(tnd_graph_t *self, const char *text)
{
    return text != NULL ? tnd_arena_text(self->arena, text, strlen(text)) : NULL;
}

/*  A text that is not a file, named `name` in errors. */
static tnd_origin_t *origin_new(tnd_graph_t *self, const char *name, const char *text)
{
    tnd_origin_t *origin = tnd_arena_take(self->arena, sizeof *origin);
    *origin = (tnd_origin_t){.name = name, .text = text, .size = strlen(text)};
    origin->order = self->origins++;
    return origin;
}

static tnd_value_t *parse(tnd_graph_t *self, const tnd_origin_t *origin, size_t skip)
{
    tnd_value_t *value = tnd_yaml_parse(self->arena, self->reading, origin, skip);
    self->broken = self->broken || value == NULL;
    return value;
}

/*  Invalidates the results of a check. */
static void change(tnd_graph_t *self)
{
    self->checked = NULL;
    self->topology = NULL;
    self->plan = NULL;
    self->sketch = NULL;
}

static tnd_graph_t *graph_new(void)
{
    tnd_arena_t *arena = tnd_arena_new();
    tnd_graph_t *self = tnd_arena_take(arena, sizeof *self);
    self->arena = arena;
    self->reading = tnd_diagnostics_new(arena);
    self->overlays = tnd_value_list(arena, (tnd_mark_t){0});
    self->directory = ".";
    return self;
}

tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed)
{
    tnd_graph_t *self = graph_new();
    const char *text =
        tnd_arena_format(self->arena, "{tundish: 1, seed: %llu}", (unsigned long long)seed);
    self->base = parse(self, origin_new(self, "<graph>", text), 0);
    if (name != NULL)
        tnd_value_put(self->arena, self->base, "name", self->base->mark,
                      tnd_value_scalar(self->arena, self->base->mark, name));
    return self;
}

/*  Whether two names are of the same file; not known for pipes. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

tnd_graph_t *tnd_graph_load(const char *const *files, size_t count)
{
    tnd_graph_t *self = graph_new();
    tnd_graph_purpose(self, &(tnd_graph_purpose_t){.fallback_data = getenv("TUNDISH_DATA")});
    tnd_mark_t none = {0};
    for (size_t i = 0; i < count; i++) {
        tnd_origin_t *origin = tnd_yaml_read(self->arena, self->reading, files[i]);
        if (origin == NULL) {
            self->broken = true;
            continue;
        }
        origin->order = self->origins++;
        origin->overlay = i > 0;
        for (size_t before = 0; before < i; before++)
            if (is_same_file(files[before], files[i])) {
                tnd_diagnostics_add(self->reading, TND_T037_FILE_ORDER,
                                    (tnd_mark_t){.origin = origin}, "is given twice");
                self->broken = true;
                break;
            }
        tnd_value_t *value = parse(self, origin, 0);
        if (value == NULL)
            continue;
        if (value->type == TND_VALUE_NULL) {
            tnd_diagnostics_add(self->reading, TND_T002_UNREADABLE, (tnd_mark_t){.origin = origin},
                                "is empty");
            if (i == 0)
                tnd_diagnostics_help(self->reading, "a topology begins with `tundish: 1`");
            self->broken = true;
            continue;
        }
        if (i == 0)
            self->base = value;
        else
            tnd_value_append(self->arena, self->overlays, value);
        const char *slash = strrchr(files[i], '/');
        if (i == 0 && slash != NULL)
            self->directory = tnd_arena_text(self->arena, files[i],
                                             (size_t)(slash - files[i]) + (slash == files[i]));
    }
    if (count == 0) {
        tnd_diagnostics_add(self->reading, TND_T002_UNREADABLE, none, "no topology file is given");
        self->broken = true;
    }
    return self;
}

/*  The map under `key` of the graph's own tree, created if it is missing. */
static tnd_value_t *map_under(tnd_graph_t *self, const char *key, tnd_mark_t mark)
{
    if (self->base == NULL || self->base->type != TND_VALUE_MAP)
        return NULL;
    tnd_value_t *map = tnd_value_get(self->base, key);
    if (map == NULL || map->type == TND_VALUE_NULL) {
        map = tnd_value_map(self->arena, mark);
        tnd_value_put(self->arena, self->base, key, mark, map);
    }
    return map->type == TND_VALUE_MAP ? map : NULL;
}

void tnd_graph_add(tnd_graph_t *self, const char *name, const char *kind, const char *options)
{
    change(self);
    const char *text = tnd_arena_format(self->arena, "{%s}", options != NULL ? options : "");
    tnd_origin_t *origin = origin_new(self, tnd_arena_format(self->arena, "<add %s>", name), text);
    tnd_value_t *value = parse(self, origin, 0);
    tnd_mark_t mark = {.origin = origin, .line = 1, .column = 1};
    tnd_value_t *actors = map_under(self, "actors", mark);
    if (value == NULL || actors == NULL)
        return;
    if (tnd_value_entry(actors, name) != NULL) {
        tnd_diagnostics_add(self->reading, TND_T034_DUPLICATE_ACTOR, mark,
                            "actor `%s` is defined twice", name);
        tnd_diagnostics_also(self->reading, tnd_value_entry(actors, name)->mark,
                             "first defined here");
        return;
    }
    tnd_value_put(self->arena, value, "kind", mark, tnd_value_scalar(self->arena, mark, kind));
    tnd_value_put(self->arena, actors, name, mark, value);
}

void tnd_graph_link(tnd_graph_t *self, const char *path)
{
    change(self);
    if (self->base == NULL || self->base->type != TND_VALUE_MAP)
        return;
    tnd_origin_t *origin = origin_new(self, "<link>", copied(self, path));
    tnd_mark_t mark = {.origin = origin, .line = 1, .column = 1, .width = (uint32_t)origin->size};
    tnd_value_t *links = tnd_value_get(self->base, "links");
    if (links == NULL || links->type != TND_VALUE_LIST) {
        tnd_value_t *list = tnd_value_list(self->arena, mark);
        if (links != NULL && links->type != TND_VALUE_NULL)
            tnd_value_append(self->arena, list, links);
        tnd_value_put(self->arena, self->base, "links", mark, list);
        links = list;
    }
    tnd_value_append(self->arena, links, tnd_value_scalar(self->arena, mark, path));
}

void tnd_graph_set(tnd_graph_t *self, const char *key, const char *value)
{
    change(self);
    const char *text = tnd_arena_format(self->arena, "%s=%s", key, value);
    tnd_origin_t *origin = origin_new(self, "--set", text);
    tnd_mark_t mark = {.origin = origin, .line = 1, .column = 1, .width = (uint32_t)strlen(key)};
    tnd_value_t *tree = parse(self, origin, strlen(key) + 1);
    if (tree == NULL)
        return;
    if (*key == '\0' || *key == '.' || key[strlen(key) - 1] == '.' || strstr(key, "..") != NULL) {
        tnd_diagnostics_add(self->reading, TND_T036_UNKNOWN_OVERRIDE, mark,
                            "expected a key such as `batch.size`");
        return;
    }
    /* From the last name of the path to the first, each as a map around the value so far. */
    char *path = tnd_arena_text(self->arena, key, strlen(key));
    setting_t *setting = tnd_arena_take(self->arena, sizeof *setting);
    for (char *dot = strrchr(path, '.'); dot != NULL; dot = strrchr(path, '.')) {
        tnd_value_t *map = tnd_value_map(self->arena, mark);
        tnd_value_put(self->arena, map, dot + 1, mark, tree);
        tree = map;
        *dot = '\0';
        setting->depth++;
    }
    tnd_value_t *map = tnd_value_map(self->arena, mark);
    tnd_value_put(self->arena, map, path, mark, tree);
    setting->tree = map;
    setting->depth++;
    *(self->last_setting != NULL ? &self->last_setting->next : &self->first_setting) = setting;
    self->last_setting = setting;
}

void tnd_graph_place(tnd_graph_t *self, const char *overlay_yaml)
{
    change(self);
    tnd_origin_t *origin = origin_new(self, "<place>", copied(self, overlay_yaml));
    origin->overlay = true;
    tnd_value_t *value = parse(self, origin, 0);
    if (value != NULL && value->type != TND_VALUE_NULL)
        tnd_value_append(self->arena, self->overlays, value);
}

static tnd_custom_t *custom_of(tnd_graph_t *self)
{
    if (self->custom == NULL)
        self->custom = tnd_custom_new(self->arena, self->directory, tnd_registry_source_table,
                                      tnd_registry_op_table);
    return self->custom;
}

static void report_given(tnd_graph_t *self, tnd_status_t status, const tnd_error_t *error)
{
    if (status != TND_OK)
        tnd_diagnostics_add(self->reading, TND_T063_PLUGIN, (tnd_mark_t){0}, "%s", error->text);
}

void tnd_graph_source(tnd_graph_t *self, const tnd_source_ops_t *ops, void *shared)
{
    tnd_error_t error;
    change(self);
    report_given(self, tnd_custom_source(custom_of(self), ops, shared, &error), &error);
}

void tnd_graph_op(tnd_graph_t *self, const tnd_op_ops_t *ops, void *shared)
{
    tnd_error_t error;
    change(self);
    report_given(self, tnd_custom_op(custom_of(self), ops, shared, &error), &error);
}

/*  A name without options. */
typedef struct {
    tnd_source_ops_t ops;
    tnd_source_data_t data;
    tnd_read_fn *read;
    void *user;
} callback_t;

static tnd_status_t callback_open(void *state, void *shared, const char *options,
                                  const tnd_source_context_t *context, tnd_source_data_t *data,
                                  tnd_error_t *error)
{
    const callback_t *callback = shared;
    (void)context;
    TND_TRY(tnd_option_only(options, "", error));
    *(const callback_t **)state = callback;
    *data = callback->data;
    return TND_OK;
}

static tnd_status_t callback_read(void *state, const uint64_t *index, size_t count,
                                  tnd_rows_t *rows, tnd_error_t *error)
{
    const callback_t *callback = *(const callback_t **)state;
    return callback->read(callback->user, index, count, rows, error);
}

void tnd_graph_callback(tnd_graph_t *self, const char *name, const tnd_schema_t *schema,
                        uint64_t count, uint32_t caps, tnd_read_fn *read, void *user)
{
    callback_t *callback = tnd_arena_take(self->arena, sizeof *callback);
    *callback = (callback_t){
        .ops = {.abi = TND_ABI,
                .name = copied(self, name),
                .caps = caps,
                .state_bytes = sizeof(const callback_t *),
                .open = callback_open,
                .read = read != NULL ? callback_read : NULL},
        .data = {.schema = *schema,
                 .caps = caps,
                 .count = count,
                 .identity = tnd_schema_hash(schema) ^ count},
        .read = read,
        .user = user,
    };
    tnd_graph_source(self, &callback->ops, callback);
}

void tnd_graph_array(tnd_graph_t *self, const char *name, const char *column, tnd_dtype_t dtype,
                     uint32_t rank, const uint64_t *shape, const void *data)
{
    tnd_error_t error;
    change(self);
    tnd_program_array_t *array = tnd_arena_take(self->arena, sizeof *array);
    tnd_status_t status = tnd_program_array_set(array, copied(self, name), copied(self, column),
                                                dtype, rank, shape, data, &error);
    if (status == TND_OK)
        status = tnd_program_array_fits(array, self->first_array, &error);
    if (status != TND_OK) {
        tnd_diagnostics_add(self->reading, TND_T061_SOURCE, (tnd_mark_t){0}, "%s", error.text);
        return;
    }
    if (self->last_array != NULL)
        self->last_array->next = array;
    else
        self->first_array = array;
    self->last_array = array;
}

void tnd_graph_purpose(tnd_graph_t *self, const tnd_graph_purpose_t *purpose)
{
    change(self);
    self->purpose = (tnd_graph_purpose_t){.data = copied(self, purpose->data),
                                          .fallback_data = copied(self, purpose->fallback_data),
                                          .host = copied(self, purpose->host),
                                          .open_ended = purpose->open_ended};
}

void tnd_graph_launched(tnd_graph_t *self, const tnd_roster_list_t *launched)
{
    tnd_roster_list_t *list = tnd_arena_take(self->arena, sizeof *list);
    *list = *launched;
    if (launched->processes != NULL) {
        size_t size = launched->count * sizeof *launched->processes;
        tnd_roster_process_t *processes = tnd_arena_take(self->arena, size);
        memcpy(processes, launched->processes, size);
        list->processes = processes;
    }
    if (launched->own != NULL) {
        tnd_roster_request_t *own = tnd_arena_take(self->arena, sizeof *own);
        *own = *launched->own;
        list->own = own;
    }
    change(self);
    self->launched = list;
}

/*  `base` with the value at the path of `tree`, which has `depth` names, replaced as a whole. */
static tnd_value_t *replaced(tnd_graph_t *self, tnd_value_t *base, const tnd_value_t *tree,
                             unsigned depth)
{
    if (depth == 0)
        return (tnd_value_t *)tree;
    const tnd_value_entry_t *entry = &tree->entries[0];
    bool map = base != NULL && base->type == TND_VALUE_MAP;
    tnd_value_t *copy =
        map ? tnd_value_merge(self->arena, base, tnd_value_map(self->arena, base->mark))
            : tnd_value_map(self->arena, tree->mark);
    const tnd_value_entry_t *before = tnd_value_entry(base, entry->key);
    tnd_value_put(self->arena, copy, entry->key,
                  before != NULL && depth > 1 ? before->mark : entry->mark,
                  replaced(self, before != NULL ? before->value : NULL, entry->value, depth - 1));
    return copy;
}

/*  The first actor whose kind has that option; NULL: none. */
static const char *owner_of(const tnd_value_t *actors, const char *option)
{
    for (size_t i = 0; actors != NULL && i < actors->count; i++) {
        const tnd_value_t *kind = tnd_value_get(actors->entries[i].value, "kind");
        const tnd_kind_spec_t *spec =
            kind != NULL && kind->type == TND_VALUE_SCALAR ? tnd_registry_kind(kind->text) : NULL;
        if (spec != NULL && tnd_options_find(&spec->table, option) != NULL)
            return actors->entries[i].key;
    }
    return NULL;
}

/*  Applies the settings to the tree.  A path that begins with an actor's name is of `actors:`. */
static tnd_value_t *apply_settings(tnd_graph_t *self, tnd_value_t *root,
                                   tnd_diagnostics_t *diagnostics)
{
    for (const setting_t *at = self->first_setting; at != NULL; at = at->next) {
        const tnd_value_entry_t *entry = &at->tree->entries[0];
        const tnd_value_t *actors = tnd_value_get(root, "actors");
        if (tnd_value_entry(actors, entry->key) != NULL && at->depth > 1) {
            tnd_value_t *under = tnd_value_map(self->arena, at->tree->mark);
            tnd_value_put(self->arena, under, "actors", entry->mark, at->tree);
            root = replaced(self, root, under, at->depth + 1);
            continue;
        }
        if (tnd_options_find(&tnd_settings_table, entry->key) != NULL) {
            root = replaced(self, root, at->tree, at->depth);
            continue;
        }
        if (tnd_value_entry(actors, entry->key) != NULL) {
            tnd_diagnostics_add(diagnostics, TND_T036_UNKNOWN_OVERRIDE, entry->mark,
                                "which option of `%s`?", entry->key);
            tnd_diagnostics_help(diagnostics, "write `%s.OPTION=VALUE`", entry->key);
            continue;
        }
        tnd_nearest_t nearest = {.word = entry->key};
        for (size_t j = 0; actors != NULL && j < actors->count; j++)
            tnd_nearest_offer(&nearest, actors->entries[j].key);
        for (size_t j = 0; j < tnd_settings_table.option_count; j++)
            tnd_nearest_offer(&nearest, tnd_settings_table.options[j].name);
        tnd_diagnostics_add(diagnostics, TND_T036_UNKNOWN_OVERRIDE, entry->mark,
                            "`%s` is neither an actor with an option nor a key of the top level",
                            entry->key);
        const char *owner = owner_of(actors, entry->key);
        if (owner != NULL)
            tnd_diagnostics_help(diagnostics, "did you mean `%s.%s`?", owner, entry->key);
        else if (nearest.best != NULL)
            tnd_diagnostics_help(diagnostics, "did you mean `%s`?", nearest.best);
        else
            tnd_diagnostics_help(diagnostics, "write `ACTOR.OPTION=VALUE`, or `seed=7`");
    }
    return root;
}

/*  Whether a tree has actors and links, which only a graph has. */
static bool is_graph(const tnd_value_t *tree)
{
    const tnd_value_t *actors = tnd_value_get(tree, "actors");
    bool kinds = tnd_value_get(tree, "links") != NULL;
    for (size_t i = 0; actors != NULL && actors->type == TND_VALUE_MAP && i < actors->count; i++)
        kinds = kinds || tnd_value_get(actors->entries[i].value, "kind") != NULL;
    return kinds;
}

/*  Files in the wrong order would give an error in every line; one error is clearer. */
static bool has_graph_first(const tnd_graph_t *self, tnd_diagnostics_t *diagnostics)
{
    for (size_t i = 0; i < self->overlays->count && !is_graph(self->base); i++) {
        const tnd_value_t *over = self->overlays->items[i];
        if (!is_graph(over))
            continue;
        tnd_diagnostics_add(
            diagnostics, TND_T037_FILE_ORDER, (tnd_mark_t){.origin = self->base->mark.origin},
            "is an overlay, and the graph comes first: %s", over->mark.origin->name);
        return false;
    }
    return true;
}

/*  Reports an array for what is not a reader of `source: memory`. */
static void check_array(const tnd_topology_t *topology, const tnd_program_array_t *array,
                        tnd_diagnostics_t *diagnostics)
{
    tnd_nearest_t nearest = {.word = array->actor};
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        const tnd_topology_actor_t *actor = &topology->actors[i];
        tnd_nearest_offer(&nearest, actor->name);
        if (strcmp(actor->name, array->actor) != 0)
            continue;
        const tnd_part_t *source =
            tnd_options_field(&actor->kind->table, actor->options, "source", TND_OPTION_PART);
        if (source != NULL && source->table != NULL &&
            (tnd_source_spec_of(source->table)->caps & TND_SOURCE_ARRAYS) != 0)
            return;
        tnd_diagnostics_add(diagnostics, TND_T061_SOURCE, actor->mark,
                            "actor `%s` does not read arrays of the program, such as `%s`",
                            actor->name, array->column);
        tnd_diagnostics_help(diagnostics, "a reader with `source: memory` does");
        return;
    }
    tnd_diagnostics_add(diagnostics, TND_T061_SOURCE, (tnd_mark_t){0},
                        "array `%s` is passed for actor `%s`, which does not exist", array->column,
                        array->actor);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics, "did you mean `%s`?", nearest.best);
}

/*  A line for each function of Python whose module is found, as of a plugin. */
static const char *python_modules(const tnd_graph_t *self, const tnd_plan_t *plan)
{
    const char *lines = "";
    char path[4096];
    for (uint32_t a = 0; a < plan->topology->actor_count; a++) {
        const tnd_part_list_t *ops =
            tnd_topology_option(&plan->topology->actors[a], "ops", TND_OPTION_PARTS);
        for (size_t i = 0; ops != NULL && i < ops->count; i++) {
            const char *const *call = tnd_options_field(ops->items[i].table, ops->items[i].options,
                                                        "call", TND_OPTION_STRING);
            uint64_t hash = call != NULL
                                ? tnd_python_module_hash(self->directory, *call, path, sizeof path)
                                : 0;
            if (hash != 0)
                lines = tnd_arena_format(self->arena, "%spython %s %016llx\n", lines, *call,
                                         (unsigned long long)hash);
        }
    }
    return lines;
}

tnd_status_t tnd_graph_check(tnd_graph_t *self)
{
    change(self);
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_copy(self->reading);
    self->checked = diagnostics;
    tnd_options_context_t context = {
        .arena = self->arena, .diagnostics = diagnostics, .custom = custom_of(self)};
    tnd_value_t *root = self->base;
    if (self->broken || root == NULL || !has_graph_first(self, diagnostics))
        return TND_FAILED;
    for (size_t i = 0; i < self->overlays->count; i++) {
        tnd_value_t *over = self->overlays->items[i];
        if (over->type != TND_VALUE_MAP) {
            tnd_diagnostics_add(diagnostics, TND_T011_NOT_A_MAP, over->mark,
                                "an overlay expects keys such as `hosts:`, not %s",
                                tnd_value_type_name(over->type));
            continue;
        }
        tnd_value_t *sound = tnd_overlay_check(&context, self->base, over);
        root = tnd_value_merge(self->arena, root, sound);
    }
    root = apply_settings(self, root, diagnostics);
    const tnd_topology_t *topology = NULL;
    if (!tnd_topology_resolve(&context, root, self->purpose.open_ended, &topology)) {
        tnd_placement_look(&context, topology);
        const tnd_plan_t *sketch = tnd_placement_sketch(&context, topology, self->purpose.data,
                                                        self->purpose.fallback_data);
        if (sketch != NULL) {
            tnd_plan_t *whole = tnd_arena_take(self->arena, sizeof *whole);
            *whole = *sketch;
            whole->directory = self->directory;
            self->sketch = whole;
        }
        return TND_FAILED;
    }
    for (const tnd_program_array_t *array = self->first_array; array != NULL; array = array->next)
        check_array(topology, array, diagnostics);
    const tnd_plan_t *plan =
        tnd_placement_resolve(&context, topology, self->purpose.data, self->purpose.fallback_data,
                              self->purpose.host, self->launched);
    if (plan == NULL || tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) > 0)
        return TND_FAILED;
    self->topology = topology;
    tnd_plan_t *whole = tnd_arena_take(self->arena, sizeof *whole);
    *whole = *plan;
    whole->directory = self->directory;
    whole->plugins = tnd_arena_format(self->arena, "%s%s", tnd_custom_plugins(self->custom),
                                      python_modules(self, plan));
    whole->arrays = self->first_array;
    self->plan = whole;
    return TND_OK;
}

void tnd_graph_fail(tnd_graph_t *self, const char *text)
{
    if (self->checked == NULL)
        self->checked = tnd_diagnostics_copy(self->reading);
    tnd_diagnostics_add(self->checked, TND_T060_SESSION, (tnd_mark_t){0}, "%s", text);
}

const tnd_diagnostics_t *tnd_graph_diagnostics(const tnd_graph_t *self)
{
    return self->checked != NULL ? self->checked : self->reading;
}

const char *tnd_graph_errors(const tnd_graph_t *self)
{
    const tnd_diagnostics_t *diagnostics = tnd_graph_diagnostics(self);
    if (tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) == 0)
        return "";
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_diagnostics_print(diagnostics, out);
    fclose(out);
    const char *kept = tnd_arena_text(self->arena, text, size);
    free(text);
    return kept;
}

const tnd_topology_t *tnd_graph_topology(const tnd_graph_t *self)
{
    return self->topology;
}

const tnd_plan_t *tnd_graph_plan(const tnd_graph_t *self)
{
    return self->plan;
}

const tnd_plan_t *tnd_graph_sketch(const tnd_graph_t *self)
{
    return self->sketch;
}

void tnd_graph_keep(tnd_graph_t *self)
{
    self->kept = true;
}

bool tnd_graph_is_kept(const tnd_graph_t *self)
{
    return self->kept;
}

/*  A value of the top level, as it is written last; NULL: it is not. */
static const tnd_value_t *find_top(const tnd_graph_t *self, const char *key)
{
    const tnd_value_t *found = tnd_value_get(self->base, key), *over;
    for (size_t i = 0; i < self->overlays->count; i++)
        if ((over = tnd_value_get(self->overlays->items[i], key)) != NULL)
            found = over;
    for (const setting_t *at = self->first_setting; at != NULL; at = at->next)
        if (at->depth == 1 && (over = tnd_value_get(at->tree, key)) != NULL)
            found = over;
    return found;
}

static const char *find_top_text(const tnd_graph_t *self, const char *key)
{
    const tnd_value_t *found = find_top(self, key);
    return found != NULL && found->text != NULL ? found->text : "";
}

const tnd_plan_t *tnd_graph_outline(const tnd_graph_t *self)
{
    tnd_plan_t *plan = tnd_arena_take(self->arena, sizeof *plan);
    tnd_plan_host_t *leader = tnd_arena_take(self->arena, sizeof *leader);
    const tnd_value_t *hosts = find_top(self, "hosts");
    unsigned long port = strtoul(find_top_text(self, "port"), NULL, 10);
    *leader = (tnd_plan_host_t){
        .name = "", .address = "127.0.0.1", .port = port <= 65535 ? (uint32_t)port : 0};
    *plan = (tnd_plan_t){.hosts = leader,
                         .host_count = 1,
                         .link_timeout_ns = 1000000000,
                         .dead_after_ns = 10000000000,
                         .start_timeout_ns = 1000000000,
                         .admission = {.self = geteuid()}};
    plan->admission.insecure = strcmp(find_top_text(self, "insecure"), "true") == 0;
    plan->rest_count = hosts == NULL || hosts->type != TND_VALUE_MAP;
    for (size_t i = 0; plan->rest_count == 0 && i < hosts->count; i++)
        plan->rest_count = strstr(hosts->entries[i].key, "[*]") != NULL;
    return plan;
}

void tnd_graph_undo_at_end(tnd_graph_t *self, void (*undo)(void *context), void *context)
{
    if (self->undo != NULL)
        self->undo(self->undo_context);
    self->undo = undo;
    self->undo_context = context;
}

void tnd_graph_destroy(tnd_graph_t **self_p)
{
    tnd_graph_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || self->kept)
        return;
    tnd_arena_t *arena = self->arena;
    tnd_graph_undo_at_end(self, NULL, NULL);
    tnd_custom_close(self->custom);
    tnd_arena_destroy(&arena);
}
