/*  runtime/option/part.c - looks up a part and parses its options. */

#include "runtime/option/option_parse_internal.h"

#include <string.h>

#include "runtime/option/custom.h"

static void report_unknown(tnd_field_t *field, const tnd_option_t *option, const char *name,
                           tnd_mark_t mark)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    tnd_arena_t *arena = field->context->arena;
    tnd_nearest_t nearest = {.word = name};
    const char *list = "";
    for (size_t i = 0; option->parts(i) != NULL; i++) {
        tnd_nearest_offer(&nearest, option->parts(i)->name);
        list = tnd_arena_format(arena, "%s%s%s", list, i > 0 ? ", " : "", option->parts(i)->name);
    }
    for (size_t i = 0; tnd_custom_part(field->context->custom, option->parts, i) != NULL; i++)
        tnd_nearest_offer(&nearest,
                          tnd_custom_part(field->context->custom, option->parts, i)->name);
    tnd_diagnostics_add(diagnostics, TND_T021_UNKNOWN_PART, mark, "`%s`: there is no `%s`",
                        field->key, name);
    const char *dot = strrchr(name, '.');
    tnd_nearest_t format = {.word = dot != NULL ? dot + 1 : ""};
    for (size_t i = 0; dot != NULL && option->parts(i) != NULL; i++)
        tnd_nearest_offer(&format, option->parts(i)->name);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics, "did you mean `%s`?", nearest.best);
    else if (format.best != NULL)
        tnd_diagnostics_help(diagnostics, "write `%s: {%s: {COLUMN: %s}}`", field->key, format.best,
                             name);
    else
        tnd_diagnostics_help(diagnostics, "there is %s", *list == '\0' ? "none yet" : list);
    field->failed = true;
}

/*  Searches the list first, then custom parts. */
const tnd_table_t *tnd_part_find(const tnd_options_context_t *context, const tnd_option_t *option,
                                 const char *name)
{
    for (size_t i = 0; option->parts(i) != NULL; i++)
        if (strcmp(option->parts(i)->name, name) == 0)
            return option->parts(i);
    const tnd_table_t *custom = NULL;
    for (size_t i = 0; (custom = tnd_custom_part(context->custom, option->parts, i)) != NULL; i++)
        if (strcmp(custom->name, name) == 0)
            return custom;
    return NULL;
}

/*  `{plugin: NAME, options}`. */
static void parse_plugin(tnd_field_t *field, const tnd_value_t *value, tnd_part_t *out)
{
    tnd_error_t why;
    const tnd_value_entry_t *entry = tnd_value_entry(value, "plugin");
    field->failed = true;
    if (entry->value->type != TND_VALUE_SCALAR) {
        tnd_diagnostics_add(field->context->diagnostics, TND_T014_WRONG_TYPE, entry->value->mark,
                            "`plugin` expects the name of a plugin, not %s",
                            tnd_value_type_name(entry->value->type));
        tnd_diagnostics_help(field->context->diagnostics, "write `{plugin: NAME, option: value}`");
        return;
    }
    const tnd_table_t *table =
        tnd_custom_plugin(field->context->custom, field->option->parts, entry->value->text, &why);
    if (table == NULL) {
        tnd_diagnostics_add(field->context->diagnostics, TND_T063_PLUGIN, entry->value->mark, "%s",
                            why.text);
        return;
    }
    const void *parsed = tnd_options_parse(
        field->context, table, tnd_value_without(field->context->arena, value, "plugin"),
        tnd_arena_format(field->context->arena, "`%s`", table->name), value->mark);
    field->failed = parsed == NULL;
    *out = (tnd_part_t){.table = table, .options = parsed, .value = value};
}

/*  Whether a value is that of one option, whose name is left out. */
static bool stands_alone(const tnd_table_t *table, const tnd_value_t *value)
{
    const tnd_option_t *option =
        table->scalar != NULL ? tnd_options_find(table, table->scalar) : NULL;
    return option != NULL &&
           value->type == (option->type == TND_OPTION_PARTS ? TND_VALUE_LIST : TND_VALUE_SCALAR);
}

/*  `{NAME: {options}}`, `{NAME: }` or just `NAME`. */
void tnd_part_parse(tnd_field_t *field, const tnd_value_t *value, tnd_part_t *out)
{
    if (field->context->custom != NULL && tnd_value_entry(value, "plugin") != NULL) {
        parse_plugin(field, value, out);
        return;
    }
    const char *name = NULL;
    tnd_mark_t mark = value->mark;
    const tnd_value_t *options = NULL;
    if (value->type == TND_VALUE_SCALAR) {
        name = value->text;
    } else if (value->type == TND_VALUE_MAP && value->count == 1) {
        name = value->entries[0].key;
        mark = value->entries[0].mark;
        options = value->entries[0].value;
    } else if (value->type == TND_VALUE_MAP && value->count > 1) {
        tnd_diagnostics_add(field->context->diagnostics, TND_T014_WRONG_TYPE,
                            value->entries[1].mark, "`%s`: one name is expected here, not %zu",
                            field->key, value->count);
        tnd_diagnostics_help(
            field->context->diagnostics, "options belong in a map of their own: `%s: {...}`%s",
            value->entries[0].key,
            field->option->type == TND_OPTION_PARTS ? ", and each item of the list begins with `-`"
                                                    : "");
        field->failed = true;
        return;
    } else {
        tnd_option_error_type(field, value);
        return;
    }
    const tnd_table_t *table = tnd_part_find(field->context, field->option, name);
    if (table == NULL) {
        report_unknown(field, field->option, name, mark);
        return;
    }
    if (options != NULL && stands_alone(table, options)) {
        tnd_value_t *map = tnd_value_map(field->context->arena, options->mark);
        tnd_value_put(field->context->arena, map, table->scalar, options->mark,
                      value->entries[0].value);
        options = map;
    }
    const char *what = tnd_arena_format(field->context->arena, "`%s`", name);
    const void *parsed = tnd_options_parse(field->context, table, options, what, mark);
    if (parsed == NULL) {
        field->failed = true;
        return;
    }
    *out = (tnd_part_t){.table = table, .options = parsed, .value = value};
}

void tnd_part_parse_list(tnd_field_t *field, const tnd_value_t *value, tnd_part_list_t *out)
{
    if (value->type != TND_VALUE_LIST) {
        tnd_option_error_type(field, value);
        return;
    }
    tnd_part_t *items = tnd_arena_array(field->context->arena, value->count, sizeof *items);
    for (size_t i = 0; i < value->count; i++)
        tnd_part_parse(field, value->items[i], &items[i]);
    *out = (tnd_part_list_t){items, value->count};
    tnd_parts_fault_t fault;
    if (field->failed || field->option->check == NULL || field->option->check(out, &fault))
        return;
    const tnd_value_t *at = fault.item < value->count ? value->items[fault.item] : value;
    tnd_diagnostics_add(field->context->diagnostics, TND_T038_ORDER, at->mark, "`%s`: %s",
                        field->key, fault.why.text);
    if (fault.help != NULL)
        tnd_diagnostics_help(field->context->diagnostics, "%s", fault.help);
    field->failed = true;
}
