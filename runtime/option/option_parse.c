/*  runtime/option/option_parse.c - fills structs from maps by a table. */
#include "runtime/option/option_parse_internal.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "runtime/option/option_print.h"

static void report_unknown_key(const tnd_options_context_t *context, const tnd_table_t *table,
                               const tnd_value_entry_t *entry, const char *what)
{
    tnd_nearest_t nearest = {.word = entry->key};
    const char *list = "";
    for (size_t i = 0; i < table->option_count; i++) {
        tnd_nearest_offer(&nearest, table->options[i].name);
        list = tnd_arena_format(context->arena, "%s%s%s", list, i > 0 ? ", " : "",
                                table->options[i].name);
    }
    bool top = strcmp(table->name, "topology") == 0;
    const char *dot = strchr(entry->key, '.');
    tnd_diagnostics_add(context->diagnostics, TND_T012_UNKNOWN_KEY, entry->mark,
                        "%s has no option `%s`", what, entry->key);
    if (top && tnd_value_get(entry->value, "kind") != NULL)
        tnd_diagnostics_help(context->diagnostics, "actors belong under `actors:`");
    else if (top && tnd_value_get(entry->value, "actors") != NULL)
        tnd_diagnostics_help(context->diagnostics, "hosts belong under `hosts:`");
    else if (top && dot != NULL)
        tnd_diagnostics_help(context->diagnostics,
                             "names with dots are for --set: write `actors: {%.*s: {%s: ...}}`",
                             (int)(dot - entry->key), entry->key, dot + 1);
    else if (nearest.best != NULL)
        tnd_diagnostics_help(context->diagnostics, "did you mean `%s`?", nearest.best);
    else if (*list != '\0')
        tnd_diagnostics_help(context->diagnostics, "its options are %s", list);
    else
        tnd_diagnostics_help(context->diagnostics, "it has no options");
}

/*  Whether an unknown key is probably a misspelt `option`, so that one mistake gives one error. */
static bool is_misspelt(const tnd_table_t *table, const tnd_value_t *map,
                        const tnd_option_t *option)
{
    if (map == NULL || map->type != TND_VALUE_MAP || tnd_options_any(table) != NULL)
        return false;
    for (size_t i = 0; i < map->count; i++) {
        tnd_nearest_t nearest = {.word = map->entries[i].key};
        if (tnd_options_find(table, map->entries[i].key) != NULL)
            continue;
        tnd_nearest_offer(&nearest, option->name);
        if (nearest.best != NULL)
            return true;
    }
    return false;
}

/*  Sets the default of an option that is not given. */
static bool set_fallback(const tnd_options_context_t *context, const tnd_table_t *table,
                         const tnd_value_t *map, const tnd_option_t *option, void *out,
                         const char *what, tnd_mark_t where)
{
    if (option->fallback == NULL) {
        if (is_misspelt(table, map, option))
            return false;
        tnd_diagnostics_add(context->diagnostics, TND_T013_MISSING_KEY, where, "%s needs `%s`: %s",
                            what, option->name, option->help);
        tnd_diagnostics_help(context->diagnostics, "`%s` expects %s", option->name,
                             tnd_option_expects(context->arena, option));
        return false;
    }
    if (option->fallback[0] == '\0')
        return true;
    bool parsed = tnd_option_parse(context, option,
                                   tnd_value_scalar(context->arena, where, option->fallback), out);
    assert(parsed);
    return parsed;
}

/*  The key that was probably meant by a text, or a list, instead of a map. */
static const char *first_text_option(const tnd_table_t *table, bool list)
{
    if (table->option_count == 0)
        return NULL;
    tnd_option_type_t type = tnd_option_item(table->options[0].type);
    if (list && type == table->options[0].type)
        return NULL;
    if (type != TND_OPTION_STRING && type != TND_OPTION_COLUMN && type != TND_OPTION_PATH)
        return NULL;
    return tnd_option_is_any(&table->options[0]) ? "COLUMN" : table->options[0].name;
}

void *tnd_options_parse(const tnd_options_context_t *context, const tnd_table_t *table,
                        const tnd_value_t *map, const char *what, tnd_mark_t where)
{
    bool failed = false;
    char *out = tnd_arena_take(context->arena, table->size);
    if (table->reflects)
        *(const tnd_table_t **)(void *)out = table;
    bool null = map == NULL || map->type == TND_VALUE_NULL;
    if (!null && map->type != TND_VALUE_MAP) {
        tnd_diagnostics_add(context->diagnostics, TND_T011_NOT_A_MAP, map->mark,
                            "%s expects a map of options, not %s", what,
                            map->type == TND_VALUE_SCALAR
                                ? tnd_arena_format(context->arena, "`%s`", map->text)
                                : tnd_value_type_name(map->type));
        const char *colon = map->type == TND_VALUE_SCALAR ? strchr(map->text, ':') : NULL;
        const char *first = first_text_option(table, map->type != TND_VALUE_SCALAR);
        if (colon != NULL && colon > map->text && isalpha((unsigned char)*map->text) &&
            colon[1] != ' ' && colon[1] != '\0')
            tnd_diagnostics_help(context->diagnostics, "write `%.*s: %s`, with a space",
                                 (int)(colon - map->text), map->text, colon + 1);
        else if (strcmp(table->name, "topology") == 0)
            tnd_diagnostics_help(context->diagnostics, "a topology begins with `tundish: 1`");
        else if (first != NULL)
            tnd_diagnostics_help(context->diagnostics, "write `{%s: %s}`", first,
                                 map->type == TND_VALUE_SCALAR ? map->text : "[...]");
        return NULL;
    }
    size_t count = null ? 0 : map->count;
    const tnd_option_t *rest = NULL;
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        if (tnd_option_is_any(option)) {
            rest = option;
            ((tnd_pairs_t *)(void *)(out + option->offset))->items =
                tnd_arena_array(context->arena, count, sizeof(tnd_pair_t));
            continue;
        }
        const tnd_value_t *value = tnd_value_get(map, option->name);
        if (value == NULL || value->type == TND_VALUE_NULL) {
            if (!set_fallback(context, table, map, option, out + option->offset, what,
                              value != NULL ? value->mark : where))
                failed = true;
            continue;
        }
        tnd_field_t field = {.context = context, .option = option, .key = option->name};
        tnd_field_parse(&field, value, out + option->offset);
        failed = failed || field.failed;
    }
    for (size_t i = 0; i < count; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        if (tnd_options_find(table, entry->key) != NULL)
            continue;
        if (rest != NULL) {
            tnd_field_t field = {.context = context, .option = rest, .key = entry->key};
            tnd_field_pair(&field, entry, (tnd_pairs_t *)(void *)(out + rest->offset));
            failed = failed || field.failed;
            continue;
        }
        report_unknown_key(context, table, entry, what);
        failed = true;
    }
    return failed && !context->lenient ? NULL : out;
}
