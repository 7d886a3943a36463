/*  runtime/option/field.c - fills a field by the type of its option. */

#include "runtime/option/option_parse_internal.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "runtime/option/number.h"
#include "runtime/option/option_print.h"

/*  Whether the type is a number in YAML; a size or time has a unit and is text. */
static bool is_plain(tnd_option_type_t type)
{
    return type == TND_OPTION_U64 || type == TND_OPTION_I64 || type == TND_OPTION_F64 ||
           type == TND_OPTION_F64S;
}

static bool scalar_number(tnd_field_t *field, const tnd_value_t *value, tnd_number_t *number_p)
{
    if (value->type != TND_VALUE_SCALAR) {
        tnd_option_error_type(field, value);
        return false;
    }
    if (field->option->type != TND_OPTION_F64S &&
        tnd_number_word(field->option, value->text, number_p))
        return true;
    tnd_quantity_t outcome = tnd_number_read(field->option->type, value->text, number_p);
    if (outcome != TND_QUANTITY_OK) {
        tnd_option_error_number(field, value, outcome);
        return false;
    }
    if (value->quoted && is_plain(field->option->type)) {
        tnd_option_error_quoted(field, value);
        return false;
    }
    if (tnd_number_in_range(field->option, number_p))
        return true;
    tnd_diagnostics_add(field->context->diagnostics, TND_T015_RANGE, value->mark,
                        "`%s` expects %s, not %s", field->key,
                        tnd_option_expects(field->context->arena, field->option), value->text);
    field->failed = true;
    return false;
}

static void parse_bool(tnd_field_t *field, const tnd_value_t *value, bool *out)
{
    static const char *const yes[] = {"yes", "on", "True", "TRUE", "Yes", "1"};
    static const char *const no[] = {"no", "off", "False", "FALSE", "No", "0"};
    const char *text = value->type == TND_VALUE_SCALAR ? value->text : "";
    bool known = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    if (known && value->quoted) {
        tnd_option_error_quoted(field, value);
        return;
    }
    if (known) {
        *out = *text == 't';
        return;
    }
    tnd_option_error_type(field, value);
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0)
            tnd_diagnostics_help(field->context->diagnostics, "write %s",
                                 strcmp(text, yes[i]) == 0 ? "true" : "false");
}

static void parse_enum(tnd_field_t *field, const tnd_value_t *value, int *out)
{
    const char *text = value->type == TND_VALUE_SCALAR ? value->text : "";
    tnd_nearest_t nearest = {.word = text};
    const char *word = NULL;
    int index = 0;
    for (const char *at = field->option->choices; *at != '\0'; index++) {
        size_t size = tnd_option_choice(&at, &word);
        const char *choice = tnd_arena_text(field->context->arena, word, size);
        if (strcmp(choice, text) == 0) {
            *out = index;
            return;
        }
        tnd_nearest_offer(&nearest, choice);
    }
    if (value->type != TND_VALUE_SCALAR) {
        tnd_option_error_type(field, value);
        return;
    }
    field->failed = true;
    tnd_diagnostics_add(field->context->diagnostics, TND_T017_CHOICE, value->mark,
                        "`%s` expects %s, not `%s`", field->key,
                        tnd_option_expects(field->context->arena, field->option), text);
    if (nearest.best != NULL)
        tnd_diagnostics_help(field->context->diagnostics, "did you mean `%s`?", nearest.best);
}

/*  A count of something or a quantity, never both: "100 rows" or 128KiB, "500 steps" or 60s, or one
 *  of two counts: "500 steps" or "1 epoch". */
typedef struct {
    tnd_quantity_t (*count)(const char *text, uint64_t *value_p);
    tnd_quantity_t (*other)(const char *text, uint64_t *value_p);
    const char *unit, *other_unit, *least;
} either_t;

static void parse_either(tnd_field_t *field, const tnd_value_t *value, const either_t *either,
                         uint64_t *count_p, uint64_t *other_p)
{
    if (value->type != TND_VALUE_SCALAR) {
        tnd_option_error_type(field, value);
        return;
    }
    const char *text = value->text;
    uint64_t count = 0, other = 0;
    tnd_quantity_t outcome = either->count(text, &count);
    if (outcome == TND_QUANTITY_WRONG_UNIT)
        outcome = either->other(text, &other);
    if (outcome != TND_QUANTITY_OK) {
        tnd_option_error_number(field, value, outcome);
        if (outcome == TND_QUANTITY_NO_UNIT)
            tnd_diagnostics_help(field->context->diagnostics, "write `%s %s` or `%s%s`", text,
                                 either->unit, text, either->other_unit);
        return;
    }
    if (count == 0 && other == 0) {
        tnd_diagnostics_add(field->context->diagnostics, TND_T015_RANGE, value->mark,
                            "`%s` expects at least %s", field->key, either->least);
        field->failed = true;
        return;
    }
    *count_p = count;
    *other_p = other;
}

static void parse_extent(tnd_field_t *field, const tnd_value_t *value, tnd_extent_t *out)
{
    static const either_t extent = {tnd_quantity_rows, tnd_quantity_bytes, "rows", "KiB",
                                    "one row or byte"};
    parse_either(field, value, &extent, &out->rows, &out->bytes);
}

static void parse_interval(tnd_field_t *field, const tnd_value_t *value, tnd_interval_t *out)
{
    static const either_t interval = {tnd_quantity_steps, tnd_quantity_duration, "steps", "s",
                                      "one step or nanosecond"};
    parse_either(field, value, &interval, &out->steps, &out->ns);
}

static void parse_period(tnd_field_t *field, const tnd_value_t *value, tnd_period_t *out)
{
    static const either_t period = {tnd_quantity_steps, tnd_quantity_epochs, "steps", " epochs",
                                    "one step or epoch"};
    parse_either(field, value, &period, &out->steps, &out->epochs);
}

/*  Variables of a shell, which are not replaced in paths: ~/x, $HOME/x, {data}/x. */
static bool looks_substituted(const char *text)
{
    static const char data[] = "{data}";
    const char *brace = strstr(text, data);
    return strncmp(text, "~/", 2) == 0 ||
           (*text == '$' && (text[1] == '_' || isalpha((unsigned char)text[1]))) ||
           (brace != NULL && (brace == text || brace[-1] != '$'));
}

size_t tnd_option_variable(const char *text, const tnd_path_variables_t *variables,
                           const char **value_p)
{
    static const struct {
        const char *name;
        size_t value; /* its offset */
    } known[] = {{"${data}", offsetof(tnd_path_variables_t, data)},
                 {"${rank}", offsetof(tnd_path_variables_t, rank)},
                 {"${local_rank}", offsetof(tnd_path_variables_t, local_rank)},
                 {"${hosts}", offsetof(tnd_path_variables_t, hosts)}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t size = strlen(known[i].name);
        if (strncmp(text, known[i].name, size) != 0)
            continue;
        *value_p = variables != NULL
                       ? *(const char *const *)((const char *)variables + known[i].value)
                       : NULL;
        return size;
    }
    return 0;
}

const char *tnd_options_replace(tnd_arena_t *arena, const tnd_path_variables_t *variables,
                                const char *text, bool *known_p)
{
    const char *result = "", *value;
    *known_p = true;
    for (const char *open = strstr(text, "${"); open != NULL; open = strstr(text, "${")) {
        size_t size = tnd_option_variable(open, variables, &value);
        *known_p = size > 0;
        if (size == 0)
            break;
        result =
            tnd_arena_format(arena, "%s%.*s%.*s", result, (int)(open - text), text,
                             value != NULL ? INT_MAX : (int)size, value != NULL ? value : open);
        text = open + size;
    }
    return *result == '\0' ? text : tnd_arena_format(arena, "%s%s", result, text);
}

/*  A path of a host, with `${data}` and its other variables replaced. */
static const char *parse_path(tnd_field_t *field, const tnd_value_t *value)
{
    bool known;
    const char *path =
        tnd_options_replace(field->context->arena, &field->context->variables, value->text, &known);
    if (known && !looks_substituted(value->text))
        return path;
    tnd_option_error_variable(field, value);
    return NULL;
}

/*  A scalar as text of the option's type; NULL after an error. */
static const char *parse_text(tnd_field_t *field, const tnd_value_t *value)
{
    if (value->type != TND_VALUE_SCALAR) {
        tnd_option_error_type(field, value);
        return NULL;
    }
    tnd_option_type_t type = tnd_option_item(field->option->type);
    assert(type == TND_OPTION_STRING || type == TND_OPTION_COLUMN || type == TND_OPTION_PATH);
    if (type == TND_OPTION_PATH && value->text[0] == '\0') {
        tnd_option_error_type(field, value);
        return NULL;
    }
    if (type == TND_OPTION_PATH)
        return parse_path(field, value);
    if (type == TND_OPTION_STRING || tnd_options_is_name(value->text))
        return value->text;
    tnd_diagnostics_add(field->context->diagnostics, TND_T019_BAD_NAME, value->mark,
                        "`%s` cannot be the name of a column", value->text);
    tnd_diagnostics_help(field->context->diagnostics,
                         "a name is a letter or `_`, then letters, digits, `_` and `-`");
    field->failed = true;
    return NULL;
}

/*  A list, or one scalar as a list of one. */
static void parse_texts(tnd_field_t *field, const tnd_value_t *value, tnd_strings_t *out)
{
    bool one = value->type == TND_VALUE_SCALAR;
    if (!one && value->type != TND_VALUE_LIST) {
        tnd_option_error_type(field, value);
        return;
    }
    size_t count = one ? 1 : value->count;
    const char **items = tnd_arena_array(field->context->arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = parse_text(field, one ? value : value->items[i]);
    *out = (tnd_strings_t){items, count};
}

/*  One word of `choices` instead leaves the list empty. */
static void parse_numbers(tnd_field_t *field, const tnd_value_t *value, tnd_numbers_t *out)
{
    bool one = value->type == TND_VALUE_SCALAR;
    if (one && field->option->choices != NULL && strcmp(value->text, field->option->choices) == 0) {
        *out = (tnd_numbers_t){NULL, 0};
        return;
    }
    if (!one && value->type != TND_VALUE_LIST) {
        tnd_option_error_type(field, value);
        return;
    }
    size_t count = one ? 1 : value->count;
    double *items = tnd_arena_array(field->context->arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        tnd_number_t number = {0};
        if (scalar_number(field, one ? value : value->items[i], &number))
            items[i] = number.f64;
    }
    *out = (tnd_numbers_t){items, count};
}

/*  A list instead of the map of a table is the value of the option that the table names for it. */
static const tnd_value_t *map_of(const tnd_field_t *field, const tnd_value_t *value)
{
    const tnd_table_t *table = field->option->table;
    if (value->type != TND_VALUE_LIST || table->scalar == NULL)
        return value;
    tnd_value_t *map = tnd_value_map(field->context->arena, value->mark);
    tnd_value_put(field->context->arena, map, table->scalar, value->mark,
                  (tnd_value_t *)(uintptr_t)value);
    return map;
}

/*  Fills one field of the struct.  `value` is not null. */
void tnd_field_parse(tnd_field_t *field, const tnd_value_t *value, void *out)
{
    tnd_number_t number = {0};
    const char *text = NULL;
    switch (field->option->type) {
    case TND_OPTION_BOOL:
        parse_bool(field, value, out);
        return;
    case TND_OPTION_U64:
    case TND_OPTION_BYTES:
    case TND_OPTION_DURATION:
    case TND_OPTION_RATE:
        if (scalar_number(field, value, &number))
            *(uint64_t *)out = number.u64;
        return;
    case TND_OPTION_I64:
        if (scalar_number(field, value, &number))
            *(int64_t *)out = number.i64;
        return;
    case TND_OPTION_F64:
        if (scalar_number(field, value, &number))
            *(double *)out = number.f64;
        return;
    case TND_OPTION_F64S:
        parse_numbers(field, value, out);
        return;
    case TND_OPTION_STRING:
    case TND_OPTION_COLUMN:
    case TND_OPTION_PATH:
        text = parse_text(field, value);
        if (text != NULL)
            *(const char **)out = text;
        return;
    case TND_OPTION_STRINGS:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATHS:
        parse_texts(field, value, out);
        return;
    case TND_OPTION_ENUM:
        parse_enum(field, value, out);
        return;
    case TND_OPTION_EXTENT:
        parse_extent(field, value, out);
        return;
    case TND_OPTION_INTERVAL:
        parse_interval(field, value, out);
        return;
    case TND_OPTION_PERIOD:
        parse_period(field, value, out);
        return;
    case TND_OPTION_TABLE:
        *(const void **)out = tnd_options_parse(
            field->context, field->option->table, map_of(field, value),
            tnd_arena_format(field->context->arena, "`%s`", field->key), value->mark);
        field->failed = field->failed || *(const void **)out == NULL;
        return;
    case TND_OPTION_PART:
        tnd_part_parse(field, value, out);
        return;
    case TND_OPTION_PARTS:
        tnd_part_parse_list(field, value, out);
        return;
    case TND_OPTION_MAP:
        if (value->type != TND_VALUE_MAP) {
            tnd_option_error_type(field, value);
            return;
        }
        *(const tnd_value_t **)out = value;
        return;
    case TND_OPTION_VALUE:
        *(const tnd_value_t **)out = value;
        return;
    }
}

bool tnd_option_parse(const tnd_options_context_t *context, const tnd_option_t *option,
                      const tnd_value_t *value, void *out)
{
    tnd_field_t field = {.context = context, .option = option, .key = option->name};
    tnd_field_parse(&field, value, out);
    return !field.failed;
}

void tnd_field_pair(tnd_field_t *field, const tnd_value_entry_t *entry, tnd_pairs_t *pairs)
{
    tnd_pair_t *pair = (tnd_pair_t *)&pairs->items[pairs->count++];
    *pair = (tnd_pair_t){.name = entry->key, .value = entry->value};
    const tnd_table_t *table = field->option->table;
    if (table != NULL && entry->value->type == TND_VALUE_MAP) {
        pair->table = table;
        pair->options = tnd_options_parse(
            field->context, table, entry->value,
            tnd_arena_format(field->context->arena, "`%s`", entry->key), entry->value->mark);
        field->failed = field->failed || pair->options == NULL;
    } else if (field->option->type == TND_OPTION_TABLE)
        tnd_option_error_type(field, entry->value);
    else if (field->option->type == TND_OPTION_PATHS)
        parse_texts(field, entry->value, &pair->texts);
    else if (field->option->type != TND_OPTION_VALUE)
        pair->text = parse_text(field, entry->value);
}
