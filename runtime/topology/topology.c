/*  runtime/topology/topology.c - resolves a tree to actors, links and chains. */
#include "runtime/topology/topology_internal.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/option_print.h"
#include "runtime/option/registry.h"
#include "runtime/tundish/tundish.h"

/*  For an actor of unknown kind. */
static const tnd_table_t actor_table = {.name = "actor", .help = "an actor"};

uint32_t tnd_topology_find(const tnd_topology_t *self, const char *name)
{
    for (uint32_t i = 0; i < self->actor_count; i++)
        if (strcmp(self->actors[i].name, name) == 0)
            return i;
    return TND_TOPOLOGY_NONE;
}

const void *tnd_topology_option(const tnd_topology_actor_t *actor, const char *name,
                                tnd_option_type_t type)
{
    return actor->kind == NULL ? NULL
                               : tnd_options_field(&actor->kind->table, actor->options, name, type);
}

tnd_mark_t tnd_topology_option_mark(const tnd_topology_actor_t *actor, const char *name)
{
    const tnd_value_t *value = tnd_value_get(actor->value, name);
    return value != NULL ? value->mark : actor->mark;
}

/*  ------------------------------------------------------------------------------------ actors */

/*  `knid: reader`, `type: reader`: the kind under another key. */
static const tnd_value_entry_t *kind_in_disguise(const tnd_value_t *actor)
{
    for (size_t i = 0; actor->type == TND_VALUE_MAP && i < actor->count; i++) {
        const tnd_value_t *value = actor->entries[i].value;
        if (value->type == TND_VALUE_SCALAR && tnd_registry_kind(value->text) != NULL)
            return &actor->entries[i];
    }
    return NULL;
}

/*  The kind; if misspelt, the most likely one, so that other errors are found too; or NULL. */
static const tnd_kind_spec_t *resolve_kind(tnd_resolver_t *self, const tnd_topology_actor_t *actor,
                                           const tnd_value_t *value)
{
    const tnd_value_t *name = tnd_value_get(value, "kind");
    tnd_nearest_t nearest = {.word = ""};
    const char *list = "";
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        list = tnd_arena_format(self->context->arena, "%s%s%s", list, i > 0 ? ", " : "",
                                kinds[i]->table.name);
    if (name != NULL && name->type != TND_VALUE_SCALAR) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, name->mark,
                            "`kind` expects one of %s, not %s", list,
                            tnd_value_type_name(name->type));
        return NULL;
    }
    if (name == NULL) {
        const tnd_value_entry_t *meant = kind_in_disguise(value);
        tnd_diagnostics_add(diagnostics_of(self), TND_T013_MISSING_KEY,
                            meant != NULL ? meant->mark : actor->mark, "actor `%s` needs `kind`",
                            actor->name);
        if (meant != NULL)
            tnd_diagnostics_help(diagnostics_of(self), "write `kind: %s`", meant->value->text);
        else
            tnd_diagnostics_help(diagnostics_of(self), "one of %s", list);
        return meant != NULL ? tnd_registry_kind(meant->value->text) : NULL;
    }
    const tnd_kind_spec_t *kind = tnd_registry_kind(name->text);
    if (kind != NULL)
        return kind;
    nearest.word = name->text;
    for (size_t i = 0; i < count; i++)
        tnd_nearest_offer(&nearest, kinds[i]->table.name);
    tnd_diagnostics_add(diagnostics_of(self), TND_T020_UNKNOWN_KIND, name->mark,
                        "unknown kind `%s`", name->text);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?", nearest.best);
    else
        tnd_diagnostics_help(diagnostics_of(self), "there is %s", list);
    return nearest.best != NULL ? tnd_registry_kind(nearest.best) : NULL;
}

static void resolve_actor(tnd_resolver_t *self, const tnd_value_entry_t *entry)
{
    tnd_topology_actor_t *actor = &self->actors[self->topology->actor_count];
    *actor =
        (tnd_topology_actor_t){.name = entry->key, .mark = entry->mark, .chain = TND_TOPOLOGY_NONE};
    self->topology->actor_count++;
    if (!tnd_options_is_name(entry->key)) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T019_BAD_NAME, entry->mark,
                            "`%s` cannot be the name of an actor", entry->key);
        tnd_diagnostics_help(diagnostics_of(self),
                             "a name is a letter or `_`, then letters, digits, `_` and `-`");
    }
    const char *what = tnd_arena_format(self->context->arena, "actor `%s`", entry->key);
    if (entry->value->type != TND_VALUE_MAP && entry->value->type != TND_VALUE_NULL) {
        bool is_kind =
            entry->value->type == TND_VALUE_SCALAR && tnd_registry_kind(entry->value->text) != NULL;
        (void)tnd_options_parse(self->context, &actor_table, entry->value, what, entry->mark);
        if (is_kind)
            tnd_diagnostics_help(diagnostics_of(self), "write `{kind: %s}`", entry->value->text);
        return;
    }
    actor->kind = resolve_kind(self, actor, entry->value);
    if (actor->kind == NULL)
        return;
    bool named = tnd_value_get(entry->value, "kind") != NULL;
    actor->value = tnd_value_without(self->context->arena, entry->value,
                                     named ? "kind" : kind_in_disguise(entry->value)->key);
    actor->options = tnd_options_parse(
        self->context, &actor->kind->table, actor->value,
        tnd_arena_format(self->context->arena, "%s `%s`", actor->kind->table.name, actor->name),
        actor->mark);
}

/*  ----------------------------------------------------------------------------- further checks */

static uint64_t number_of(const tnd_topology_actor_t *reader, const char *name)
{
    const uint64_t *number = tnd_topology_option(reader, name, TND_OPTION_U64);
    return number != NULL ? *number : 1;
}

static int choice_of(const tnd_topology_actor_t *reader, const char *name)
{
    const int *choice = tnd_topology_option(reader, name, TND_OPTION_ENUM);
    return choice != NULL ? *choice : 0;
}

/*  Of the source that was just refused: how its files could be read in any order. */
static void suggest_spool(const tnd_part_t *source, tnd_diagnostics_t *diagnostics)
{
    if (tnd_options_find(source->table, "spool") != NULL)
        tnd_diagnostics_help(diagnostics, "some of its files are compressed: decompress them, or "
                                          "add `spool: {dir: DIR, limit: 100GiB}` to the source");
}

bool tnd_topology_check_source(const tnd_topology_actor_t *reader, uint32_t caps, uint64_t lanes,
                               tnd_diagnostics_t *diagnostics)
{
    const tnd_part_t *source = tnd_topology_option(reader, "source", TND_OPTION_PART);
    const char *name = source->table->name;
    bool random = (caps & TND_SOURCE_RANDOM) != 0;
    size_t before = tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR);
    int shard = choice_of(reader, "shard");
    if (shard == TND_SHARDS_SOURCE && tnd_source_spec_of(source->table)->custom == NULL) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "shard"),
                            "`%s` has the same rows in every lane", name);
        tnd_diagnostics_help(diagnostics, "write `shard: file` or `shard: index`");
    }
    if (lanes > 1 && shard == TND_SHARDS_FILE && (caps & TND_SOURCE_FILES) == 0) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "shard"),
                            "`%s` has no files that lanes could share out", name);
        tnd_diagnostics_help(diagnostics, "write `shard: index`");
    }
    if (choice_of(reader, "shuffle") != 0 && !random) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "shuffle"),
                            "`%s` is read from its start only and cannot be shuffled", name);
        suggest_spool(source, diagnostics);
    }
    const tnd_part_list_t *order = tnd_topology_option(reader, "order", TND_OPTION_PARTS);
    if (order != NULL && order->count > 0 && !random) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "order"),
                            "`%s` is read from its start only, in no other order", name);
        suggest_spool(source, diagnostics);
    }
    if (tnd_value_entry(reader->value, "part") != NULL && !random) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "part"),
                            "`%s` is read from its start only, and cannot be divided", name);
        suggest_spool(source, diagnostics);
    }
    if (number_of(reader, "workers") > 1 && !random) {
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "workers"),
                            "`%s` is read from its start only, by one reader", name);
        suggest_spool(source, diagnostics);
    }
    bool shares = shard == TND_SHARDS_FILE || shard == TND_SHARDS_SOURCE;
    if (lanes > 1 && !random && !shares) {
        bool pieces = shard == TND_SHARDS_PIECES;
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            pieces ? tnd_topology_option_mark(reader, "shard") : reader->mark,
                            "`%s` is read from its start only, in one lane, not in %llu%s", name,
                            (unsigned long long)lanes,
                            pieces ? ", each of which reads all rows" : "");
        suggest_spool(source, diagnostics);
    }
    if (number_of(reader, "repeat") > 1 && !random)
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "repeat"),
                            "`%s` is read from its start only: `epochs:` reads it several times, "
                            "`repeat:` cannot",
                            name);
    if (number_of(reader, "epochs") != 1 && caps == 0)
        tnd_diagnostics_add(diagnostics, TND_T033_SOURCE_ABILITY,
                            tnd_topology_option_mark(reader, "epochs"),
                            "`%s` can be read only once", name);
    return tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) == before;
}

/*  `order` takes the place of the keys that are short for one. */
static void check_order(tnd_resolver_t *self, const tnd_topology_actor_t *actor)
{
    static const char *const keys[] = {"part", "skip", "take", "repeat", "shuffle"};
    const tnd_part_list_t *order = tnd_topology_option(actor, "order", TND_OPTION_PARTS);
    for (size_t i = 0; order != NULL && order->count > 0 && i < sizeof keys / sizeof keys[0]; i++) {
        const tnd_value_entry_t *entry = tnd_value_entry(actor->value, keys[i]);
        if (entry == NULL || entry->value->type == TND_VALUE_NULL)
            continue;
        tnd_diagnostics_add(diagnostics_of(self), TND_T038_ORDER, entry->mark,
                            "`%s` beside `order`, which has the whole order", keys[i]);
        tnd_diagnostics_help(diagnostics_of(self), "add `{%s: ...}` to the list at its place",
                             strcmp(keys[i], "shuffle") == 0 ? "global" : keys[i]);
    }
}

static void check_source(tnd_resolver_t *self, const tnd_topology_actor_t *actor)
{
    check_order(self, actor);
    const tnd_part_t *source = tnd_topology_option(actor, "source", TND_OPTION_PART);
    uint64_t lanes = self->topology->settings != NULL ? self->topology->settings->lanes : 1;
    if (source != NULL && source->table != NULL)
        (void)tnd_topology_check_source(actor, tnd_source_spec_of(source->table)->caps, lanes,
                                        diagnostics_of(self));
}

/*  `own`: lanes have replicas of their own. */
static void check_batch(tnd_resolver_t *self, const tnd_topology_actor_t *actor, bool own)
{
    const uint64_t *size = tnd_topology_option(actor, "size", TND_OPTION_U64);
    const uint64_t *replicas = tnd_topology_option(actor, "replicas", TND_OPTION_U64);
    uint64_t lanes = self->topology->settings->lanes;
    const int *deal = tnd_topology_option(actor, "deal", TND_OPTION_ENUM);
    if (size == NULL || replicas == NULL || *size == 0) /* it may be given otherwise */
        return;
    if (deal != NULL && *deal != 0) /* a batch is not divided */
        return;
    if (*size < *replicas)
        tnd_diagnostics_add(diagnostics_of(self), TND_T074_FEW_ROWS,
                            tnd_topology_option_mark(actor, "size"),
                            "a batch of %llu rows for %llu replicas: some get none",
                            (unsigned long long)*size, (unsigned long long)*replicas);
    else if (lanes > 1 && !own && (*replicas % lanes != 0 || *size % *replicas != 0))
        tnd_diagnostics_add(diagnostics_of(self), TND_T072_UNEVEN_LANES,
                            tnd_topology_option_mark(actor, "replicas"),
                            "%llu lanes, %llu replicas, %llu rows: replicas take rows of several "
                            "lanes",
                            (unsigned long long)lanes, (unsigned long long)*replicas,
                            (unsigned long long)*size);
}

/*  -------------------------------------------------------------------------------- fingerprint */

/*  The index of the actor whose name follows `last` in the alphabet. */
static uint32_t actor_after(const tnd_topology_t *self, const char *last)
{
    uint32_t best = TND_TOPOLOGY_NONE;
    for (uint32_t i = 0; i < self->actor_count; i++)
        if ((last == NULL || strcmp(self->actors[i].name, last) > 0) &&
            (best == TND_TOPOLOGY_NONE ||
             strcmp(self->actors[i].name, self->actors[best].name) < 0))
            best = i;
    return best;
}

static void print_links_between(const tnd_topology_t *self, uint32_t from, uint32_t to,
                                const char *separator, FILE *out)
{
    for (uint32_t i = 0; i < self->link_count; i++)
        if (self->links[i].from == from && self->links[i].to == to)
            fprintf(out, "%s %s %s%s", self->actors[from].name, self->links[i].call ? "<->" : "->",
                    self->actors[to].name, separator);
}

void tnd_topology_print(const tnd_topology_t *self, const char *separator, FILE *out)
{
    fprintf(out, "seed %llu%slanes %llu%s", (unsigned long long)self->settings->seed, separator,
            (unsigned long long)self->settings->lanes, separator);
    for (uint32_t i = actor_after(self, NULL); i != TND_TOPOLOGY_NONE;
         i = actor_after(self, self->actors[i].name)) {
        fprintf(out, "%s: %s ", self->actors[i].name, self->actors[i].kind->table.name);
        tnd_options_print(&self->actors[i].kind->table, self->actors[i].options, TND_ROLE_GRAPH,
                          out);
        fputs(separator, out);
        for (uint32_t j = actor_after(self, NULL); j != TND_TOPOLOGY_NONE;
             j = actor_after(self, self->actors[j].name))
            print_links_between(self, i, j, separator, out);
    }
}

static void compute_fingerprint(tnd_topology_t *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_topology_print(self, "; ", out);
    fclose(out);
    XXH128_hash_t hash = XXH3_128bits(text, size);
    self->fingerprint[0] = hash.low64;
    self->fingerprint[1] = hash.high64;
    free(text);
}

/*  -------------------------------------------------------------------------------- all together */

/*  The tree with the keys that every topology needs; their absence is reported elsewhere. */
static const tnd_value_t *completed(const tnd_resolver_t *self, const tnd_value_t *root)
{
    if (root->type != TND_VALUE_MAP && root->type != TND_VALUE_NULL)
        return root;
    tnd_arena_t *arena = self->context->arena;
    tnd_value_t *whole = tnd_value_map(arena, root->mark);
    for (size_t i = 0; i < root->count; i++)
        tnd_value_put(arena, whole, root->entries[i].key, root->entries[i].mark,
                      root->entries[i].value);
    const tnd_value_t *version = tnd_value_get(root, "tundish");
    const tnd_value_t *actors = tnd_value_get(root, "actors");
    if (version == NULL || version->type == TND_VALUE_NULL)
        tnd_value_put(arena, whole, "tundish", root->mark,
                      tnd_value_scalar(arena, root->mark, "1"));
    if (actors == NULL || actors->type == TND_VALUE_NULL)
        tnd_value_put(arena, whole, "actors", root->mark, tnd_value_map(arena, root->mark));
    return whole;
}

static bool check_version(tnd_resolver_t *self, const tnd_value_t *root,
                          const tnd_settings_t *settings)
{
    const tnd_value_t *version = tnd_value_get(root, "tundish");
    tnd_mark_t mark = version != NULL ? version->mark : root->mark;
    bool missing = version == NULL || version->type == TND_VALUE_NULL;
    if (!missing && settings != NULL && settings->version == 1)
        return true;
    if (missing)
        tnd_diagnostics_add(diagnostics_of(self), TND_T022_VERSION, mark,
                            "this does not say which version of the language it is written in");
    else if (settings != NULL)
        tnd_diagnostics_add(diagnostics_of(self), TND_T022_VERSION, mark,
                            "this program reads version 1, not %s",
                            version->text != NULL ? version->text : "that");
    else
        return true; /* it exists, and its errors have been reported */
    tnd_diagnostics_help(diagnostics_of(self), "a topology begins with `tundish: 1`");
    return false;
}

bool tnd_topology_resolve(const tnd_options_context_t *context, const tnd_value_t *root,
                          bool open_ended, const tnd_topology_t **topology_p)
{
    tnd_topology_t *topology = tnd_arena_take(context->arena, sizeof *topology);
    tnd_resolver_t self = {.context = context, .topology = topology, .open_ended = open_ended};
    size_t errors = tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR);
    const tnd_settings_t *settings = tnd_options_parse(
        context, &tnd_settings_table, completed(&self, root), "a topology", root->mark);
    if (root->type == TND_VALUE_MAP || root->type == TND_VALUE_NULL)
        (void)check_version(&self, root, settings);
    const tnd_value_t *actors = tnd_value_get(root, "actors");
    size_t count = actors != NULL && actors->type == TND_VALUE_MAP ? actors->count : 0;
    self.actors = tnd_arena_array(context->arena, count, sizeof *self.actors);
    self.choices = tnd_arena_array(context->arena, count, sizeof *self.choices);
    topology->actors = self.actors;
    topology->choices = self.choices;
    topology->root = root;
    *topology_p = topology;
    for (size_t i = 0; i < count; i++)
        resolve_actor(&self, &actors->entries[i]);
    bool unread = actors != NULL && actors->type != TND_VALUE_MAP && actors->type != TND_VALUE_NULL;
    if (topology->actor_count == 0 && root->type == TND_VALUE_MAP && !unread) {
        tnd_diagnostics_add(context->diagnostics, TND_T035_NO_ACTORS,
                            actors != NULL ? actors->mark : root->mark,
                            "a topology needs `actors:`");
        tnd_diagnostics_help(context->diagnostics,
                             "each is `NAME: {kind: KIND, options}`: see `tundish help kinds`");
    }
    const tnd_value_t *links = tnd_value_get(root, "links");
    if (topology->actor_count > 0 && !open_ended &&
        (links == NULL || links->type == TND_VALUE_NULL)) {
        self.links_failed = true;
        if (settings != NULL)
            tnd_diagnostics_add(context->diagnostics, TND_T028_DANGLING, actors->mark,
                                "a topology needs `links:`, which connect its actors");
    }
    tnd_links_resolve(&self, links != NULL && links->type != TND_VALUE_NULL ? links : NULL);
    tnd_links_check_cycles(&self);
    for (uint32_t i = 0; i < topology->actor_count && !self.links_failed; i++)
        tnd_links_check_ports(&self, i);
    topology->settings = settings;
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        tnd_shards_choose(&self, i);
        check_source(&self, &self.actors[i]);
    }
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors) {
        for (uint32_t i = 0; i < topology->actor_count; i++)
            (void)tnd_chains_check_after(&self, i);
        return false;
    }
    tnd_chains_resolve(&self);
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        bool own = tnd_shards_check(&self, i);
        check_batch(&self, &self.actors[i], own);
        tnd_orders_check(topology, &self.actors[i], context->diagnostics);
    }
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return false;
    compute_fingerprint(topology);
    return true;
}
