/*  runtime/topology/overlay.c - compares an overlay with the graph. */
#include "runtime/topology/overlay.h"

#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"

/*  The table and options of a part, as written. */
static const tnd_table_t *part_of(const tnd_options_context_t *context, const tnd_option_t *option,
                                  const tnd_value_t *value, const tnd_value_t **options_p)
{
    if (value == NULL || value->type != TND_VALUE_MAP || value->count != 1)
        return NULL;
    *options_p = value->entries[0].value;
    return tnd_part_find(context, option, value->entries[0].key);
}

void tnd_overlay_check_options(const tnd_options_context_t *context, const tnd_table_t *table,
                               const tnd_value_t *base, const tnd_value_t *over, const char *what)
{
    if (over == NULL || over->type != TND_VALUE_MAP)
        return;
    for (size_t i = 0; i < over->count; i++) {
        const tnd_value_entry_t *entry = &over->entries[i];
        const tnd_option_t *option = tnd_options_find(table, entry->key);
        if (option == NULL)
            option = tnd_options_any(table);
        const tnd_value_t *before = tnd_value_get(base, entry->key);
        if (option == NULL || option->role != TND_ROLE_GRAPH ||
            tnd_value_equal(before, entry->value))
            continue;
        if (option->type == TND_OPTION_TABLE && entry->value->type == TND_VALUE_MAP) {
            tnd_overlay_check_options(context, option->table, before, entry->value, entry->key);
            continue;
        }
        const tnd_value_t *old = NULL;
        const tnd_value_t *new = NULL;
        if (option->type == TND_OPTION_PART) {
            const tnd_table_t *part = part_of(context, option, before, &old);
            if (part != NULL && part == part_of(context, option, entry->value, &new) &&
                new->type == TND_VALUE_MAP) {
                tnd_overlay_check_options(context, part, old, new, part->name);
                continue;
            }
        }
        tnd_diagnostics_add(
            context->diagnostics, TND_T032_OVERLAY, entry->mark,
            "an overlay may only place, secure and tune; `%s` of %s changes the graph", entry->key,
            what);
        if (before != NULL)
            tnd_diagnostics_also(context->diagnostics, before->mark, "the graph has this value");
        tnd_diagnostics_help(context->diagnostics,
                             "change it in the graph's own file, or for one run with `--set`");
    }
}

/*  False if the entry cannot be merged. */
static bool check_overlay_actor(const tnd_options_context_t *context, const tnd_value_t *actors,
                                const tnd_value_entry_t *entry)
{
    const tnd_value_t *base = tnd_value_get(actors, entry->key);
    if (base == NULL || base->type != TND_VALUE_MAP) {
        tnd_nearest_t nearest = {.word = entry->key};
        for (size_t i = 0; actors != NULL && i < actors->count; i++)
            tnd_nearest_offer(&nearest, actors->entries[i].key);
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, entry->mark,
                            "an overlay cannot add an actor, and the graph has no `%s`",
                            entry->key);
        if (nearest.best != NULL)
            tnd_diagnostics_help(context->diagnostics, "did you mean `%s`?", nearest.best);
        return false;
    }
    if (entry->value->type == TND_VALUE_NULL)
        return false; /* the overlay does not set it */
    if (entry->value->type != TND_VALUE_MAP) {
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, entry->value->mark,
                            "an overlay cannot replace the actor `%s`", entry->key);
        return false;
    }
    const tnd_value_t *kind = tnd_value_get(base, "kind");
    const tnd_value_t *other = tnd_value_get(entry->value, "kind");
    if (other != NULL && !tnd_value_equal(kind, other)) {
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, other->mark,
                            "an overlay cannot change the kind of `%s`", entry->key);
        if (kind != NULL)
            tnd_diagnostics_also(context->diagnostics, kind->mark, "the graph has this value");
        return false;
    }
    const tnd_kind_spec_t *spec =
        kind != NULL && kind->text != NULL ? tnd_registry_kind(kind->text) : NULL;
    if (spec == NULL)
        return true;
    tnd_overlay_check_options(context, &spec->table, base, entry->value,
                              tnd_arena_format(context->arena, "`%s`", entry->key));
    return true;
}

tnd_value_t *tnd_overlay_check(const tnd_options_context_t *context, const tnd_value_t *base,
                               tnd_value_t *over)
{
    const tnd_value_t *actors = tnd_value_get(over, "actors");
    const tnd_value_t *links = tnd_value_get(over, "links");
    tnd_overlay_check_options(context, &tnd_settings_table, base, over, "the topology");
    tnd_value_t *sound = over;
    if (links != NULL)
        sound = tnd_value_without(context->arena, sound, "links");
    if (actors == NULL || actors->type != TND_VALUE_MAP)
        return sound;
    tnd_value_t *kept = tnd_value_map(context->arena, actors->mark);
    for (size_t i = 0; i < actors->count; i++) {
        const tnd_value_entry_t *entry = &actors->entries[i];
        if (check_overlay_actor(context, tnd_value_get(base, "actors"), entry))
            tnd_value_put(context->arena, kept, entry->key, entry->mark, entry->value);
    }
    const tnd_value_entry_t *entry = tnd_value_entry(over, "actors");
    sound = tnd_value_without(context->arena, sound, "actors");
    tnd_value_put(context->arena, sound, "actors", entry->mark, kept);
    return sound;
}
