/*  runtime/option/option_errors.c - reports values that an option refuses. */

#include "runtime/option/option_parse_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/option/option_print.h"

/*  A part with its required options: "{scale: {column: ...}}", or just "flip". */
static const char *part_text(tnd_field_t *field, const char *name)
{
    tnd_arena_t *arena = field->context->arena;
    const tnd_table_t *table = tnd_part_find(field->context, field->option, name);
    const char *needs = "";
    for (size_t i = 0; table != NULL && i < table->option_count; i++)
        if (table->options[i].fallback == NULL && !tnd_option_is_any(&table->options[i]))
            needs = tnd_arena_format(arena, "%s%s%s: ...", needs, *needs != '\0' ? ", " : "",
                                     table->options[i].name);
    return *needs != '\0' ? tnd_arena_format(arena, "{%s: {%s}}", name, needs) : name;
}

/*  The likely correction of a value of the wrong type. */
static void help_type(tnd_field_t *field, const tnd_value_t *value)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    const char *key = field->key;
    tnd_option_type_t type = field->option->type;
    bool list = value->type == TND_VALUE_LIST && value->count > 0;
    bool single_map = value->type == TND_VALUE_MAP && value->count == 1;
    if (type == TND_OPTION_PARTS && value->type == TND_VALUE_SCALAR)
        tnd_diagnostics_help(diagnostics, "write `%s: [%s]`", key, part_text(field, value->text));
    else if (type == TND_OPTION_PARTS && single_map && tnd_options_is_name(value->entries[0].key))
        tnd_diagnostics_help(diagnostics, "it is a list: write `%s: [{%s: ...}]`", key,
                             value->entries[0].key);
    else if (type == TND_OPTION_PART && list && value->count == 1 && value->items[0]->text != NULL)
        tnd_diagnostics_help(diagnostics, "write `%s: %s`", key, value->items[0]->text);
    else if (type == TND_OPTION_MAP && list && value->items[0]->type == TND_VALUE_MAP)
        tnd_diagnostics_help(diagnostics, "leave out the dashes: each name is a key of `%s:`", key);
    else if (type == TND_OPTION_MAP)
        tnd_diagnostics_help(diagnostics, "`%s:` says %s", key, field->option->help);
}

void tnd_option_error_type(tnd_field_t *field, const tnd_value_t *value)
{
    tnd_arena_t *arena = field->context->arena;
    const char *got = value->type == TND_VALUE_SCALAR ? tnd_arena_format(arena, "`%s`", value->text)
                                                      : tnd_value_type_name(value->type);
    tnd_diagnostics_add(field->context->diagnostics, TND_T014_WRONG_TYPE, value->mark,
                        "`%s` expects %s, not %s", field->key,
                        tnd_option_expects(arena, field->option), got);
    help_type(field, value);
    field->failed = true;
}

void tnd_option_error_quoted(tnd_field_t *field, const tnd_value_t *value)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    tnd_diagnostics_add(diagnostics, TND_T014_WRONG_TYPE, value->mark,
                        "`%s` expects %s, not the text \"%s\"", field->key,
                        tnd_option_expects(field->context->arena, field->option), value->text);
    tnd_diagnostics_help(diagnostics, "write %s, without quotes", value->text);
    field->failed = true;
}

/*  The correction of a number in another notation: 0x20, 1e3, 32.0, 1,000. */
static void help_number(tnd_field_t *field, const char *text)
{
    char digits[64];
    size_t used = 0;
    char *end = NULL;
    bool whole = field->option->type == TND_OPTION_U64 || field->option->type == TND_OPTION_I64;
    bool octal = strncmp(text, "0o", 2) == 0 && text[2] != '\0';
    double number = 0;
    for (const char *at = text; *at != '\0' && used + 1 < sizeof digits; at++)
        if (*at != ',' && *at != ' ' && *at != '\'')
            digits[used++] = *at;
    digits[used] = '\0';
    const char *sign = text + (*text == '-' || *text == '+');
    if (!whole && (strcasecmp(sign, ".nan") == 0 || strcasecmp(sign, "nan") == 0 ||
                   strcasecmp(sign, ".inf") == 0 || strncasecmp(sign, "inf", 3) == 0)) {
        tnd_diagnostics_help(field->context->diagnostics, "only finite numbers are allowed here");
        return;
    }
    if (*text == '\0' || strspn(digits, "+-.0123456789eExXoabcdefABCDEF") != used)
        return;
    number = octal ? (double)strtoull(text + 2, &end, 8) : strtod(digits, &end);
    if (*end != '\0' || !(number >= -9007199254740992.0 && number <= 9007199254740992.0))
        return;
    if (whole && number == (double)(int64_t)number)
        tnd_diagnostics_help(field->context->diagnostics, "write %lld", (long long)number);
    else if (!whole)
        tnd_diagnostics_help(field->context->diagnostics, "write %.15g", number);
}

/*  The correction of a unit. */
static void help_unit(tnd_field_t *field, const char *text)
{
    static const struct {
        tnd_option_type_t type;
        const char *written, *meant, * or ;
    } units[] = {
        {TND_OPTION_BYTES, "k", "KiB", "kB"},
        {TND_OPTION_BYTES, "kb", "KiB", "kB"},
        {TND_OPTION_BYTES, "kib", "KiB", NULL},
        {TND_OPTION_BYTES, "m", "MiB", "MB"},
        {TND_OPTION_BYTES, "mb", "MiB", "MB"},
        {TND_OPTION_BYTES, "mib", "MiB", NULL},
        {TND_OPTION_BYTES, "mibs", "MiB", NULL},
        {TND_OPTION_BYTES, "g", "GiB", "GB"},
        {TND_OPTION_BYTES, "gb", "GiB", "GB"},
        {TND_OPTION_BYTES, "gib", "GiB", NULL},
        {TND_OPTION_BYTES, "t", "TiB", "TB"},
        {TND_OPTION_BYTES, "tb", "TiB", "TB"},
        {TND_OPTION_BYTES, "tib", "TiB", NULL},
        {TND_OPTION_BYTES, "bytes", "B", NULL},
        {TND_OPTION_BYTES, "byte", "B", NULL},
        {TND_OPTION_BYTES, "b", "B", NULL},
        {TND_OPTION_DURATION, "m", "min", "ms"},
        {TND_OPTION_DURATION, "mins", "min", NULL},
        {TND_OPTION_DURATION, "minute", "min", NULL},
        {TND_OPTION_DURATION, "minutes", "min", NULL},
        {TND_OPTION_DURATION, "sec", "s", NULL},
        {TND_OPTION_DURATION, "secs", "s", NULL},
        {TND_OPTION_DURATION, "second", "s", NULL},
        {TND_OPTION_DURATION, "seconds", "s", NULL},
        {TND_OPTION_DURATION, "msec", "ms", NULL},
        {TND_OPTION_DURATION, "millis", "ms", NULL},
        {TND_OPTION_DURATION, "milliseconds", "ms", NULL},
        {TND_OPTION_DURATION, "usec", "us", NULL},
        {TND_OPTION_DURATION, "hr", "h", NULL},
        {TND_OPTION_DURATION, "hour", "h", NULL},
        {TND_OPTION_DURATION, "hours", "h", NULL},
        {TND_OPTION_DURATION, "s", "s", NULL},
    };
    size_t size = strspn(text, "0123456789.");
    const char *unit = text + size + strspn(text + size, " ");
    tnd_option_type_t type =
        field->option->type == TND_OPTION_EXTENT ? TND_OPTION_BYTES : field->option->type;
    for (size_t i = 0; size > 0 && i < sizeof units / sizeof units[0]; i++) {
        if (units[i].type != type || strcasecmp(units[i].written, unit) != 0)
            continue;
        if (units[i].or != NULL)
            tnd_diagnostics_help(field->context->diagnostics, "write `%.*s%s` or `%.*s%s`",
                                 (int)size, text, units[i].meant, (int)size, text, units[i].or);
        else
            tnd_diagnostics_help(field->context->diagnostics, "write `%.*s%s`", (int)size, text,
                                 units[i].meant);
        return;
    }
    tnd_diagnostics_help(field->context->diagnostics, "`%s` expects %s", field->key,
                         tnd_option_expects(field->context->arena, field->option));
}

/*  Suggests the missing unit of a number: that of the option's default, and another common one.
 *  Large numbers of bytes get `B`. */
static void help_no_unit(tnd_field_t *field, const char *text)
{
    bool bytes = field->option->type == TND_OPTION_BYTES;
    const char *fallback = field->option->fallback != NULL ? field->option->fallback : "";
    const char *usual = fallback + strspn(fallback, "0123456789. ");
    if (*usual == '\0')
        usual = bytes ? "MiB" : "s";
    if (bytes && strtod(text, NULL) >= 65536)
        usual = "B";
    const char *other = strcmp(usual, "s") == 0 ? "ms" : strcmp(usual, "MiB") == 0 ? "GiB" : "s";
    if (bytes && strcmp(usual, "MiB") != 0)
        tnd_diagnostics_help(field->context->diagnostics, "write `%s%s`", text, usual);
    else
        tnd_diagnostics_help(field->context->diagnostics, "write `%s%s` or `%s%s`", text, usual,
                             text, other);
}

/*  Reports a number that cannot be read, with the likely correction. */
void tnd_option_error_number(tnd_field_t *field, const tnd_value_t *value, tnd_quantity_t outcome)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    const char *expects = tnd_option_expects(field->context->arena, field->option);
    const char *text = value->text;
    field->failed = true;
    switch (outcome) {
    case TND_QUANTITY_OK:
        assert(!"an error");
        return;
    case TND_QUANTITY_NOT_A_NUMBER:
        tnd_option_error_type(field, value);
        help_number(field, text);
        return;
    case TND_QUANTITY_TOO_LARGE:
        tnd_diagnostics_add(diagnostics, TND_T015_RANGE, value->mark, "`%s`: %s is too large",
                            field->key, text);
        return;
    case TND_QUANTITY_NEGATIVE:
        tnd_diagnostics_add(diagnostics, TND_T015_RANGE, value->mark, "`%s` expects %s, not %s",
                            field->key, expects, text);
        return;
    case TND_QUANTITY_LEADING_ZERO: {
        size_t sign = *text == '-' || *text == '+';
        const char *digits = text + sign + strspn(text + sign, "0");
        tnd_diagnostics_add(diagnostics, TND_T018_NUMBER, value->mark,
                            "`%s`: %s begins with 0; octal or decimal?", field->key, text);
        tnd_diagnostics_help(diagnostics, "write %.*s%s", (int)sign, text,
                             *digits == '\0' ? "0" : digits);
        return;
    }
    case TND_QUANTITY_GROUPED: {
        char *plain = tnd_arena_text(field->context->arena, text, strlen(text));
        size_t size = 0;
        for (const char *at = text; *at != '\0'; at++)
            if (*at != '_')
                plain[size++] = *at;
        plain[size] = '\0';
        tnd_diagnostics_add(diagnostics, TND_T018_NUMBER, value->mark,
                            "`%s`: digits are not grouped by `_`", field->key);
        tnd_diagnostics_help(diagnostics, "write %s", plain);
        return;
    }
    case TND_QUANTITY_NO_UNIT:
        tnd_diagnostics_add(diagnostics, TND_T016_UNIT, value->mark, "`%s`: %s lacks a unit",
                            field->key, text);
        if (field->option->type == TND_OPTION_BYTES || field->option->type == TND_OPTION_DURATION)
            help_no_unit(field, text);
        return;
    case TND_QUANTITY_WRONG_UNIT:
        tnd_diagnostics_add(diagnostics, TND_T016_UNIT, value->mark,
                            "`%s`: `%s` has a unit that is not known here", field->key, text);
        help_unit(field, text);
        return;
    }
}

void tnd_option_error_variable(tnd_field_t *field, const tnd_value_t *value)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    const char *name = value->text + strcspn(value->text, "${~"), *known;
    for (size_t length; (length = tnd_option_variable(name, NULL, &known)) > 0;)
        name += length + strcspn(name + length, "${~");
    size_t size = strspn(name, "${}~");
    size += strcspn(name + size, "}/");
    size += name[size] == '}';
    tnd_diagnostics_add(
        diagnostics, TND_T050_DATA, value->mark,
        "`%s`: only `${data}`, `${rank}`, `${local_rank}` and `${hosts}` are replaced "
        "in paths, not `%.*s`",
        field->key, (int)size, name);
    tnd_diagnostics_help(diagnostics,
                         "write `\"${data}%s\"`, and set it by `--data DIR`, `data:` or "
                         "TUNDISH_DATA",
                         name[size] == '/' ? name + size : "/...");
    field->failed = true;
}
