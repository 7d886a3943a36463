/*  runtime/graph/options.c - values to structs, by a table. */
#include "runtime/graph/options.h"

#include <assert.h>
#include <ctype.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/given.h"
#include "runtime/graph/quantity.h"

/*  A number in its widest form, so that ranges have one comparison. */
typedef struct {
    tnd_option_type_t type;
    uint64_t u64;
    int64_t i64;
    double f64;
} number_t;

typedef struct {
    const tnd_options_context_t *context;
    const tnd_option_t *option;
    const char *key; /* as written: differs from option->name for "*" */
    bool failed;
} field_t;

bool tnd_options_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    size_t size = strlen(text);
    return size >= 1 && size <= 63 && strspn(text, letters) >= 1 && strspn(text, others) == size;
}

static bool catches_all(const tnd_option_t *option)
{
    return strcmp(option->name, "*") == 0;
}

const tnd_option_t *tnd_options_find(const tnd_table_t *table, const char *name)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (!catches_all(&table->options[i]) && strcmp(table->options[i].name, name) == 0)
            return &table->options[i];
    return NULL;
}

/*  The next of the words in "a|b|c"; *text_p moves past it.  Its size is 0 at the end. */
static size_t next_choice(const char **text_p, const char **word_p)
{
    *word_p = *text_p;
    size_t size = strcspn(*text_p, "|");
    *text_p += size + ((*text_p)[size] == '|');
    return size;
}

static tnd_quantity_t read_number(tnd_option_type_t type, const char *text, number_t *number_p)
{
    number_p->type = type;
    switch (type) {
    case TND_OPTION_U64:
        return tnd_quantity_u64(text, &number_p->u64);
    case TND_OPTION_I64:
        return tnd_quantity_i64(text, &number_p->i64);
    case TND_OPTION_F64:
    case TND_OPTION_F64S:
        number_p->type = TND_OPTION_F64;
        return tnd_quantity_f64(text, &number_p->f64);
    case TND_OPTION_BYTES:
        return tnd_quantity_bytes(text, &number_p->u64);
    case TND_OPTION_DURATION:
        return tnd_quantity_duration(text, &number_p->u64);
    case TND_OPTION_BOOL:
    case TND_OPTION_STRING:
    case TND_OPTION_STRINGS:
    case TND_OPTION_ENUM:
    case TND_OPTION_EXTENT:
    case TND_OPTION_INTERVAL:
    case TND_OPTION_COLUMN:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATH:
    case TND_OPTION_PATHS:
    case TND_OPTION_TABLE:
    case TND_OPTION_PART:
    case TND_OPTION_PARTS:
    case TND_OPTION_MAP:
    case TND_OPTION_VALUE:
        break;
    }
    assert(!"a type of number");
    return TND_QUANTITY_NOT_A_NUMBER;
}

static bool is_less(const number_t *a, const number_t *b)
{
    if (a->type == TND_OPTION_I64)
        return a->i64 < b->i64;
    if (a->type == TND_OPTION_F64)
        return a->f64 < b->f64;
    return a->u64 < b->u64;
}

/*  Both ends of "1..64MiB" as texts; an end that is left out is "". */
static void split_range(const tnd_option_t *option, char ends[2][32])
{
    const char *dots = strstr(option->range, "..");
    assert(dots != NULL && strlen(option->range) < 32);
    memset(ends, 0, 2 * 32);
    memcpy(ends[0], option->range, (size_t)(dots - option->range));
    memcpy(ends[1], dots + 2, strlen(dots + 2));
}

static bool in_range(const tnd_option_t *option, const number_t *number)
{
    char ends[2][32];
    if (option->range == NULL)
        return true;
    split_range(option, ends);
    for (int end = 0; end < 2; end++) {
        number_t limit = {0};
        if (ends[end][0] == '\0')
            continue;
        tnd_quantity_t outcome = read_number(option->type, ends[end], &limit);
        assert(outcome == TND_QUANTITY_OK);
        (void)outcome;
        if (end == 0 ? is_less(number, &limit) : is_less(&limit, number))
            return false;
    }
    return true;
}

static const char *range_text(tnd_arena_t *arena, const tnd_option_t *option)
{
    char ends[2][32];
    if (option->range == NULL)
        return "";
    split_range(option, ends);
    if (ends[1][0] == '\0')
        return tnd_arena_format(arena, " from %s on", ends[0]);
    if (ends[0][0] == '\0')
        return tnd_arena_format(arena, " up to %s", ends[1]);
    return tnd_arena_format(arena, " from %s to %s", ends[0], ends[1]);
}

/*  ", `keep`, `drop` or `pad`" without the leading comma; of "auto=0" only the word. */
static const char *choice_text(tnd_arena_t *arena, const char *choices)
{
    const char *text = "";
    const char *word = NULL;
    for (const char *at = choices; *at != '\0';) {
        size_t size = next_choice(&at, &word);
        size_t shown = strcspn(word, "=");
        if (shown > size)
            shown = size;
        const char *glue = *text == '\0' ? "" : *at == '\0' ? " or " : ", ";
        text = tnd_arena_format(arena, "%s%s`%.*s`", text, glue, (int)shown, word);
    }
    return text;
}

const char *tnd_option_expects(tnd_arena_t *arena, const tnd_option_t *option)
{
    const char *range = range_text(arena, option);
    const char *of = option->unit != NULL ? " of " : "";
    const char *unit = option->unit != NULL ? option->unit : "";
    const char *words = "";
    if (option->choices != NULL && option->type != TND_OPTION_ENUM)
        words = tnd_arena_format(arena, ", or %s", choice_text(arena, option->choices));
    switch (option->type) {
    case TND_OPTION_BOOL:
        return "`true` or `false`";
    case TND_OPTION_U64:
    case TND_OPTION_I64:
        return tnd_arena_format(arena, "a whole number%s%s%s%s", of, unit, range, words);
    case TND_OPTION_F64:
        return tnd_arena_format(arena, "a number%s%s%s%s", of, unit, range, words);
    case TND_OPTION_F64S:
        return tnd_arena_format(arena, "a list of numbers%s such as [0, 0.5]", range);
    case TND_OPTION_STRING:
        return "a text";
    case TND_OPTION_STRINGS:
        return "a list of texts such as [a, b]";
    case TND_OPTION_ENUM:
        return choice_text(arena, option->choices);
    case TND_OPTION_BYTES:
        return tnd_arena_format(arena, "a size%s, such as 64MiB", range);
    case TND_OPTION_DURATION:
        return tnd_arena_format(arena, "a time%s, such as 10s or 50ms", range);
    case TND_OPTION_EXTENT:
        return "rows or a size, such as `100 rows` or `128KiB`";
    case TND_OPTION_INTERVAL:
        return "steps or a time, such as `500 steps` or `60s`";
    case TND_OPTION_COLUMN:
        return "the name of a column";
    case TND_OPTION_COLUMNS:
        return "names of columns such as [image, label]";
    case TND_OPTION_PATH:
        return "a path such as \"${data}/train.npy\"";
    case TND_OPTION_PATHS:
        return "a list of paths such as [\"${data}/a.npy\", \"${data}/b.npy\"]";
    case TND_OPTION_TABLE:
        return "a map of options";
    case TND_OPTION_PART:
        return "a map such as `{NAME: {options}}`";
    case TND_OPTION_PARTS:
        return "a list such as `[{NAME: {options}}, ...]`";
    case TND_OPTION_MAP:
        return "a map";
    case TND_OPTION_VALUE:
        return "a value";
    }
    return "a value";
}

/*  How a value of the wrong type was most likely meant. */
static void help_type(field_t *field, const tnd_value_t *value)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    const char *key = field->key;
    bool scalar = value->type == TND_VALUE_SCALAR;
    bool single_map = value->type == TND_VALUE_MAP && value->count == 1;
    switch (field->option->type) {
    case TND_OPTION_PARTS:
        if (scalar)
            tnd_diagnostics_help(diagnostics, "write `%s: [%s]`", key, value->text);
        if (single_map && tnd_options_is_name(value->entries[0].key))
            tnd_diagnostics_help(diagnostics, "it is a list: write `%s: [{%s: ...}]`", key,
                                 value->entries[0].key);
        break;
    case TND_OPTION_PART:
        if (value->type == TND_VALUE_LIST && value->count == 1 && value->items[0]->text != NULL)
            tnd_diagnostics_help(diagnostics, "write `%s: %s`", key, value->items[0]->text);
        break;
    case TND_OPTION_MAP:
        if (value->type == TND_VALUE_LIST && value->count > 0 &&
            value->items[0]->type == TND_VALUE_MAP)
            tnd_diagnostics_help(diagnostics, "leave out the dashes: each name is a key of `%s:`",
                                 key);
        else
            tnd_diagnostics_help(diagnostics, "`%s:` says %s", key, field->option->help);
        break;
    case TND_OPTION_BOOL:
    case TND_OPTION_U64:
    case TND_OPTION_I64:
    case TND_OPTION_F64:
    case TND_OPTION_F64S:
    case TND_OPTION_STRING:
    case TND_OPTION_STRINGS:
    case TND_OPTION_ENUM:
    case TND_OPTION_BYTES:
    case TND_OPTION_DURATION:
    case TND_OPTION_EXTENT:
    case TND_OPTION_INTERVAL:
    case TND_OPTION_COLUMN:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATH:
    case TND_OPTION_PATHS:
    case TND_OPTION_TABLE:
    case TND_OPTION_VALUE:
        break;
    }
}

static void report_type(field_t *field, const tnd_value_t *value)
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

/*  A number as it should be written, of one in another notation: 0x20, 1e3, 32.0, 1,000. */
static void help_number(field_t *field, const char *text)
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
        tnd_diagnostics_help(field->context->diagnostics,
                             "what is no number, or has no end, cannot stand here");
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

/*  A unit as it should be written, of one that people write instead. */
static void help_unit(field_t *field, const char *text)
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
        {TND_OPTION_BYTES, "", "MiB", "GiB"},
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
        {TND_OPTION_DURATION, "", "s", "ms"},
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

/*  The likeliest fix of a number that could not be read. */
static void report_number(field_t *field, const tnd_value_t *value, tnd_quantity_t outcome)
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
        report_type(field, value);
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
        if (field->option->type != TND_OPTION_EXTENT)
            help_unit(field, text);
        return;
    case TND_QUANTITY_WRONG_UNIT:
        tnd_diagnostics_add(diagnostics, TND_T016_UNIT, value->mark,
                            "`%s`: `%s` has a unit that is not known here", field->key, text);
        help_unit(field, text);
        return;
    }
}

/*  A word that stands for a number: "auto=0|forever=18446744073709551615". */
static bool find_word(const tnd_option_t *option, const char *text, number_t *number_p)
{
    const char *word = NULL;
    for (const char *at = option->choices != NULL ? option->choices : ""; *at != '\0';) {
        size_t size = next_choice(&at, &word);
        size_t name = strcspn(word, "=");
        assert(name < size && size < 64);
        if (strlen(text) != name || memcmp(word, text, name) != 0)
            continue;
        char digits[64] = {0};
        memcpy(digits, word + name + 1, size - name - 1);
        tnd_quantity_t outcome = read_number(option->type, digits, number_p);
        assert(outcome == TND_QUANTITY_OK);
        (void)outcome;
        return true;
    }
    return false;
}

static bool scalar_number(field_t *field, const tnd_value_t *value, number_t *number_p)
{
    if (value->type != TND_VALUE_SCALAR) {
        report_type(field, value);
        return false;
    }
    if (find_word(field->option, value->text, number_p))
        return true;
    tnd_quantity_t outcome = read_number(field->option->type, value->text, number_p);
    if (outcome != TND_QUANTITY_OK) {
        report_number(field, value, outcome);
        return false;
    }
    if (in_range(field->option, number_p))
        return true;
    tnd_diagnostics_add(field->context->diagnostics, TND_T015_RANGE, value->mark,
                        "`%s` expects %s, not %s", field->key,
                        tnd_option_expects(field->context->arena, field->option), value->text);
    field->failed = true;
    return false;
}

static void parse_bool(field_t *field, const tnd_value_t *value, bool *out)
{
    static const char *const yes[] = {"yes", "on", "True", "TRUE", "Yes", "1"};
    static const char *const no[] = {"no", "off", "False", "FALSE", "No", "0"};
    const char *text = value->type == TND_VALUE_SCALAR ? value->text : "";
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *out = *text == 't';
        return;
    }
    report_type(field, value);
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0)
            tnd_diagnostics_help(field->context->diagnostics, "write %s",
                                 strcmp(text, yes[i]) == 0 ? "true" : "false");
}

static void parse_enum(field_t *field, const tnd_value_t *value, int *out)
{
    const char *text = value->type == TND_VALUE_SCALAR ? value->text : "";
    tnd_nearest_t nearest = {.word = text};
    const char *word = NULL;
    int index = 0;
    for (const char *at = field->option->choices; *at != '\0'; index++) {
        size_t size = next_choice(&at, &word);
        const char *choice = tnd_arena_text(field->context->arena, word, size);
        if (strcmp(choice, text) == 0) {
            *out = index;
            return;
        }
        tnd_nearest_offer(&nearest, choice);
    }
    if (value->type != TND_VALUE_SCALAR) {
        report_type(field, value);
        return;
    }
    field->failed = true;
    tnd_diagnostics_add(field->context->diagnostics, TND_T017_CHOICE, value->mark,
                        "`%s` expects %s, not `%s`", field->key,
                        tnd_option_expects(field->context->arena, field->option), text);
    if (nearest.best != NULL)
        tnd_diagnostics_help(field->context->diagnostics, "did you mean `%s`?", nearest.best);
}

/*  A count of something or a quantity, never both: "100 rows" or 128KiB, "500 steps" or 60s. */
typedef struct {
    tnd_quantity_t (*count)(const char *text, uint64_t *value_p);
    tnd_quantity_t (*other)(const char *text, uint64_t *value_p);
    const char *unit, *other_unit, *least;
} either_t;

static void parse_either(field_t *field, const tnd_value_t *value, const either_t *either,
                         uint64_t *count_p, uint64_t *other_p)
{
    if (value->type != TND_VALUE_SCALAR) {
        report_type(field, value);
        return;
    }
    const char *text = value->text;
    uint64_t count = 0, other = 0;
    tnd_quantity_t outcome = either->count(text, &count);
    if (outcome == TND_QUANTITY_WRONG_UNIT)
        outcome = either->other(text, &other);
    if (outcome != TND_QUANTITY_OK) {
        report_number(field, value, outcome);
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

static void parse_extent(field_t *field, const tnd_value_t *value, tnd_extent_t *out)
{
    static const either_t extent = {tnd_quantity_rows, tnd_quantity_bytes, "rows", "KiB",
                                    "one row or byte"};
    parse_either(field, value, &extent, &out->rows, &out->bytes);
}

static void parse_interval(field_t *field, const tnd_value_t *value, tnd_interval_t *out)
{
    static const either_t interval = {tnd_quantity_steps, tnd_quantity_duration, "steps", "s",
                                      "one step or nanosecond"};
    parse_either(field, value, &interval, &out->steps, &out->ns);
}

/*  What a shell would replace in a path and this language does not: ~/x, $HOME/x, {data}/x. */
static bool looks_substituted(const char *text)
{
    static const char data[] = "{data}";
    const char *brace = strstr(text, data);
    return strncmp(text, "~/", 2) == 0 ||
           (*text == '$' && (text[1] == '_' || isalpha((unsigned char)text[1]))) ||
           (brace != NULL && (brace == text || brace[-1] != '$'));
}

static void report_variable(field_t *field, const tnd_value_t *value)
{
    tnd_diagnostics_t *diagnostics = field->context->diagnostics;
    const char *name = value->text + strcspn(value->text, "${~");
    size_t size = strspn(name, "${}~");
    size += strcspn(name + size, "}/");
    size += name[size] == '}';
    tnd_diagnostics_add(diagnostics, TND_T050_DATA, value->mark,
                        "`%s`: only `${data}` is replaced in paths, not `%.*s`", field->key,
                        (int)size, name);
    tnd_diagnostics_help(diagnostics,
                         "write `\"${data}%s\"`, and say what it stands for by "
                         "`--data DIR`, `data:` or TUNDISH_DATA",
                         name[size] == '/' ? name + size : "/...");
    field->failed = true;
}

/*  A path of a host: `${data}` stands for its directory. */
static const char *parse_path(field_t *field, const tnd_value_t *value)
{
    tnd_arena_t *arena = field->context->arena;
    const char *text = value->text;
    const char *result = "";
    if (looks_substituted(text)) {
        report_variable(field, value);
        return NULL;
    }
    for (const char *open = strstr(text, "${"); open != NULL; open = strstr(text, "${")) {
        const char *close = strchr(open, '}');
        if (close == NULL || strncmp(open, "${data}", strlen("${data}")) != 0) {
            report_variable(field, value);
            return NULL;
        }
        if (field->context->data == NULL)
            break;
        result = tnd_arena_format(arena, "%s%.*s%s", result, (int)(open - text), text,
                                  field->context->data);
        text = close + 1;
    }
    return *result == '\0' ? text : tnd_arena_format(arena, "%s%s", result, text);
}

/*  A scalar as a text of the option's type; NULL after an error. */
static const char *parse_text(field_t *field, const tnd_value_t *value)
{
    if (value->type != TND_VALUE_SCALAR) {
        report_type(field, value);
        return NULL;
    }
    switch (field->option->type) {
    case TND_OPTION_PATH:
    case TND_OPTION_PATHS:
        if (value->text[0] == '\0') {
            report_type(field, value);
            return NULL;
        }
        return parse_path(field, value);
    case TND_OPTION_COLUMN:
    case TND_OPTION_COLUMNS:
        if (tnd_options_is_name(value->text))
            return value->text;
        tnd_diagnostics_add(field->context->diagnostics, TND_T019_BAD_NAME, value->mark,
                            "`%s` cannot be the name of a column", value->text);
        tnd_diagnostics_help(field->context->diagnostics,
                             "a name is a letter or `_`, then letters, digits, `_` and `-`");
        field->failed = true;
        return NULL;
    case TND_OPTION_STRING:
    case TND_OPTION_STRINGS:
        return value->text;
    case TND_OPTION_BOOL:
    case TND_OPTION_U64:
    case TND_OPTION_I64:
    case TND_OPTION_F64:
    case TND_OPTION_F64S:
    case TND_OPTION_ENUM:
    case TND_OPTION_BYTES:
    case TND_OPTION_DURATION:
    case TND_OPTION_EXTENT:
    case TND_OPTION_INTERVAL:
    case TND_OPTION_TABLE:
    case TND_OPTION_PART:
    case TND_OPTION_PARTS:
    case TND_OPTION_MAP:
    case TND_OPTION_VALUE:
        break;
    }
    assert(!"a type of text");
    return NULL;
}

/*  A list, or one scalar that stands for a list of one. */
static void parse_texts(field_t *field, const tnd_value_t *value, tnd_strings_t *out)
{
    bool one = value->type == TND_VALUE_SCALAR;
    if (!one && value->type != TND_VALUE_LIST) {
        report_type(field, value);
        return;
    }
    size_t count = one ? 1 : value->count;
    const char **items = tnd_arena_array(field->context->arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = parse_text(field, one ? value : value->items[i]);
    *out = (tnd_strings_t){items, count};
}

static void parse_numbers(field_t *field, const tnd_value_t *value, tnd_numbers_t *out)
{
    bool one = value->type == TND_VALUE_SCALAR;
    if (!one && value->type != TND_VALUE_LIST) {
        report_type(field, value);
        return;
    }
    size_t count = one ? 1 : value->count;
    double *items = tnd_arena_array(field->context->arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        number_t number = {0};
        if (scalar_number(field, one ? value : value->items[i], &number))
            items[i] = number.f64;
    }
    *out = (tnd_numbers_t){items, count};
}

static void report_unknown_part(field_t *field, const tnd_option_t *option, const char *name,
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
    for (size_t i = 0; tnd_given_part(field->context->given, option->parts, i) != NULL; i++)
        tnd_nearest_offer(&nearest, tnd_given_part(field->context->given, option->parts, i)->name);
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

/*  The part called `name`: of the list, or given. */
static const tnd_table_t *find_part(const tnd_options_context_t *context,
                                    const tnd_option_t *option, const char *name)
{
    for (size_t i = 0; option->parts(i) != NULL; i++)
        if (strcmp(option->parts(i)->name, name) == 0)
            return option->parts(i);
    const tnd_table_t *given = NULL;
    for (size_t i = 0; (given = tnd_given_part(context->given, option->parts, i)) != NULL; i++)
        if (strcmp(given->name, name) == 0)
            return given;
    return NULL;
}

/*  `{plugin: NAME, options}`. */
static void parse_plugin(field_t *field, const tnd_value_t *value, tnd_part_t *out)
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
        tnd_given_plugin(field->context->given, field->option->parts, entry->value->text, &why);
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

/*  `{NAME: {options}}`, `{NAME: }` or just `NAME`. */
static void parse_part(field_t *field, const tnd_value_t *value, tnd_part_t *out)
{
    if (field->context->given != NULL && tnd_value_entry(value, "plugin") != NULL) {
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
            field->context->diagnostics, "options stand in a map of their own: `%s: {...}`%s",
            value->entries[0].key,
            field->option->type == TND_OPTION_PARTS ? ", and each item of the list begins with `-`"
                                                    : "");
        field->failed = true;
        return;
    } else {
        report_type(field, value);
        return;
    }
    const tnd_table_t *table = find_part(field->context, field->option, name);
    if (table == NULL) {
        report_unknown_part(field, field->option, name, mark);
        return;
    }
    const char *what = tnd_arena_format(field->context->arena, "`%s`", name);
    const void *parsed = tnd_options_parse(field->context, table, options, what, mark);
    if (parsed == NULL) {
        field->failed = true;
        return;
    }
    *out = (tnd_part_t){.table = table, .options = parsed, .value = value};
}

static void parse_parts(field_t *field, const tnd_value_t *value, tnd_part_list_t *out)
{
    if (value->type != TND_VALUE_LIST) {
        report_type(field, value);
        return;
    }
    tnd_part_t *items = tnd_arena_array(field->context->arena, value->count, sizeof *items);
    for (size_t i = 0; i < value->count; i++)
        parse_part(field, value->items[i], &items[i]);
    *out = (tnd_part_list_t){items, value->count};
}

/*  Fills one field of the struct.  `value` is not null. */
static void parse_field(field_t *field, const tnd_value_t *value, void *out)
{
    number_t number = {0};
    const char *text = NULL;
    switch (field->option->type) {
    case TND_OPTION_BOOL:
        parse_bool(field, value, out);
        return;
    case TND_OPTION_U64:
    case TND_OPTION_BYTES:
    case TND_OPTION_DURATION:
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
    case TND_OPTION_TABLE:
        *(const void **)out = tnd_options_parse(
            field->context, field->option->parts(0), value,
            tnd_arena_format(field->context->arena, "`%s`", field->key), value->mark);
        field->failed = field->failed || *(const void **)out == NULL;
        return;
    case TND_OPTION_PART:
        parse_part(field, value, out);
        return;
    case TND_OPTION_PARTS:
        parse_parts(field, value, out);
        return;
    case TND_OPTION_MAP:
        if (value->type != TND_VALUE_MAP) {
            report_type(field, value);
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
    field_t field = {.context = context, .option = option, .key = option->name};
    parse_field(&field, value, out);
    return !field.failed;
}

const void *tnd_options_field(const tnd_table_t *table, const void *options, const char *name,
                              tnd_option_type_t type)
{
    const tnd_option_t *option = tnd_options_find(table, name);
    if (option == NULL || option->type != type || options == NULL)
        return NULL;
    return (const char *)options + option->offset;
}

static void parse_pair(field_t *field, const tnd_value_entry_t *entry, tnd_pairs_t *pairs)
{
    tnd_pair_t *pair = (tnd_pair_t *)&pairs->items[pairs->count++];
    *pair = (tnd_pair_t){.name = entry->key, .value = entry->value};
    if (field->option->type == TND_OPTION_PATHS)
        parse_texts(field, entry->value, &pair->texts);
    else if (field->option->type != TND_OPTION_VALUE)
        pair->text = parse_text(field, entry->value);
}

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
    tnd_diagnostics_add(context->diagnostics, TND_T012_UNKNOWN_KEY, entry->mark,
                        "%s has no option `%s`", what, entry->key);
    if (top && tnd_value_get(entry->value, "kind") != NULL)
        tnd_diagnostics_help(context->diagnostics, "actors stand under `actors:`");
    else if (top && tnd_value_get(entry->value, "actors") != NULL)
        tnd_diagnostics_help(context->diagnostics, "hosts stand under `hosts:`");
    else if (nearest.best != NULL)
        tnd_diagnostics_help(context->diagnostics, "did you mean `%s`?", nearest.best);
    else if (*list != '\0')
        tnd_diagnostics_help(context->diagnostics, "its options are %s", list);
    else
        tnd_diagnostics_help(context->diagnostics, "it has no options");
}

/*  Whether a key that the table does not know is likely to mean `option`: one slip, one error. */
static bool is_misspelt(const tnd_table_t *table, const tnd_value_t *map,
                        const tnd_option_t *option)
{
    bool takes_all =
        table->option_count > 0 && catches_all(&table->options[table->option_count - 1]);
    for (size_t i = 0; map != NULL && map->type == TND_VALUE_MAP && i < map->count; i++) {
        tnd_nearest_t nearest = {.word = map->entries[i].key};
        if (takes_all || tnd_options_find(table, map->entries[i].key) != NULL)
            continue;
        tnd_nearest_offer(&nearest, option->name);
        if (nearest.best != NULL)
            return true;
    }
    return false;
}

/*  The field of an option that was not given. */
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

/*  The key that somebody means who writes a text instead of a map. */
static const char *first_text_option(const tnd_table_t *table)
{
    if (table->option_count == 0)
        return NULL;
    switch (table->options[0].type) {
    case TND_OPTION_STRING:
    case TND_OPTION_COLUMN:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATH:
    case TND_OPTION_PATHS:
        return catches_all(&table->options[0]) ? "COLUMN" : table->options[0].name;
    case TND_OPTION_BOOL:
    case TND_OPTION_U64:
    case TND_OPTION_I64:
    case TND_OPTION_F64:
    case TND_OPTION_F64S:
    case TND_OPTION_STRINGS:
    case TND_OPTION_ENUM:
    case TND_OPTION_BYTES:
    case TND_OPTION_DURATION:
    case TND_OPTION_EXTENT:
    case TND_OPTION_INTERVAL:
    case TND_OPTION_TABLE:
    case TND_OPTION_PART:
    case TND_OPTION_PARTS:
    case TND_OPTION_MAP:
    case TND_OPTION_VALUE:
        break;
    }
    return NULL;
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
        const char *first = map->type == TND_VALUE_SCALAR ? first_text_option(table) : NULL;
        if (colon != NULL && colon > map->text && isalpha((unsigned char)*map->text) &&
            colon[1] != ' ' && colon[1] != '\0')
            tnd_diagnostics_help(context->diagnostics, "write `%.*s: %s`, with a space",
                                 (int)(colon - map->text), map->text, colon + 1);
        else if (strcmp(table->name, "topology") == 0)
            tnd_diagnostics_help(context->diagnostics, "a topology begins with `tundish: 1`");
        else if (first != NULL)
            tnd_diagnostics_help(context->diagnostics, "write `{%s: %s}`", first, map->text);
        return NULL;
    }
    size_t given = null ? 0 : map->count;
    const tnd_option_t *rest = NULL;
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        if (catches_all(option)) {
            rest = option;
            ((tnd_pairs_t *)(void *)(out + option->offset))->items =
                tnd_arena_array(context->arena, given, sizeof(tnd_pair_t));
            continue;
        }
        const tnd_value_t *value = tnd_value_get(map, option->name);
        if (value == NULL || value->type == TND_VALUE_NULL) {
            if (!set_fallback(context, table, map, option, out + option->offset, what,
                              value != NULL ? value->mark : where))
                failed = true;
            continue;
        }
        field_t field = {.context = context, .option = option, .key = option->name};
        parse_field(&field, value, out + option->offset);
        failed = failed || field.failed;
    }
    for (size_t i = 0; i < given; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        if (tnd_options_find(table, entry->key) != NULL)
            continue;
        if (rest != NULL) {
            field_t field = {.context = context, .option = rest, .key = entry->key};
            parse_pair(&field, entry, (tnd_pairs_t *)(void *)(out + rest->offset));
            failed = failed || field.failed;
            continue;
        }
        report_unknown_key(context, table, entry, what);
        failed = true;
    }
    return failed ? NULL : out;
}

/*  The table and options of a part, as they are written. */
static const tnd_table_t *part_of(const tnd_options_context_t *context, const tnd_option_t *option,
                                  const tnd_value_t *value, const tnd_value_t **options_p)
{
    if (value == NULL || value->type != TND_VALUE_MAP || value->count != 1)
        return NULL;
    *options_p = value->entries[0].value;
    return find_part(context, option, value->entries[0].key);
}

void tnd_options_check_overlay(const tnd_options_context_t *context, const tnd_table_t *table,
                               const tnd_value_t *base, const tnd_value_t *over, const char *what)
{
    if (over == NULL || over->type != TND_VALUE_MAP)
        return;
    for (size_t i = 0; i < over->count; i++) {
        const tnd_value_entry_t *entry = &over->entries[i];
        const tnd_option_t *option = tnd_options_find(table, entry->key);
        if (option == NULL)
            option =
                table->option_count > 0 && catches_all(&table->options[table->option_count - 1])
                    ? &table->options[table->option_count - 1]
                    : NULL;
        const tnd_value_t *before = tnd_value_get(base, entry->key);
        if (option == NULL || option->role != TND_ROLE_GRAPH ||
            tnd_value_equal(before, entry->value))
            continue;
        if (option->type == TND_OPTION_TABLE && entry->value->type == TND_VALUE_MAP) {
            tnd_options_check_overlay(context, option->parts(0), before, entry->value, entry->key);
            continue;
        }
        const tnd_value_t *old = NULL;
        const tnd_value_t *new = NULL;
        if (option->type == TND_OPTION_PART) {
            const tnd_table_t *part = part_of(context, option, before, &old);
            if (part != NULL && part == part_of(context, option, entry->value, &new) &&
                new->type == TND_VALUE_MAP) {
                tnd_options_check_overlay(context, part, old, new, part->name);
                continue;
            }
        }
        tnd_diagnostics_add(
            context->diagnostics, TND_T032_OVERLAY, entry->mark,
            "an overlay may only place, secure and tune; `%s` of %s changes the graph", entry->key,
            what);
        if (before != NULL)
            tnd_diagnostics_also(context->diagnostics, before->mark, "the graph says this");
        tnd_diagnostics_help(context->diagnostics,
                             "change it in the graph's own file, or for one run with `--set`");
    }
}

/*  Seventeen digits name every double; the point is a point in every locale. */
static void print_number(double number, FILE *out)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    fprintf(out, "%.17g", number);
    if (plain == (locale_t)0)
        return;
    uselocale(before);
    freelocale(plain);
}

static void print_texts(const tnd_strings_t *texts, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < texts->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        tnd_value_print_text(texts->items[i], out);
    }
    fputc(']', out);
}

static void print_part(const tnd_part_t *part, unsigned roles, FILE *out)
{
    if (part->table == NULL) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{%s: ", part->table->name);
    tnd_options_print(part->table, part->options, roles, out);
    fputc('}', out);
}

/*  Columns keep the order in which they are written: it is the order of the schema. */
static const char *print_pairs(const tnd_pairs_t *pairs, const char *separator, FILE *out)
{
    for (size_t i = 0; i < pairs->count; i++) {
        fputs(separator, out);
        separator = ", ";
        tnd_value_print_text(pairs->items[i].name, out);
        fputs(": ", out);
        const tnd_pair_t *pair = &pairs->items[i];
        if (pair->text != NULL)
            tnd_value_print_text(pair->text, out);
        else if (pair->texts.count > 0)
            print_texts(&pair->texts, out);
        else
            tnd_value_print(pair->value, out);
    }
    return separator;
}

void tnd_pairs_print(const tnd_pairs_t *pairs, FILE *out)
{
    fputc('{', out);
    (void)print_pairs(pairs, "", out);
    fputc('}', out);
}

static void print_choice(const tnd_option_t *option, int index, FILE *out)
{
    const char *word = NULL;
    const char *at = option->choices;
    size_t size = 0;
    for (int i = 0; i <= index; i++)
        size = next_choice(&at, &word);
    fprintf(out, "%.*s", (int)size, word);
}

static void print_field(const tnd_option_t *option, const void *field, unsigned roles, FILE *out)
{
    const char *text = NULL;
    const tnd_value_t *value = NULL;
    switch (option->type) {
    case TND_OPTION_BOOL:
        fputs(*(const bool *)field ? "true" : "false", out);
        return;
    case TND_OPTION_U64:
        fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        return;
    case TND_OPTION_BYTES:
        fprintf(out, "%lluB", (unsigned long long)*(const uint64_t *)field);
        return;
    case TND_OPTION_DURATION:
        fprintf(out, "%lluns", (unsigned long long)*(const uint64_t *)field);
        return;
    case TND_OPTION_I64:
        fprintf(out, "%lld", (long long)*(const int64_t *)field);
        return;
    case TND_OPTION_F64:
        print_number(*(const double *)field, out);
        return;
    case TND_OPTION_F64S: {
        const tnd_numbers_t *numbers = field;
        fputc('[', out);
        for (size_t i = 0; i < numbers->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            print_number(numbers->items[i], out);
        }
        fputc(']', out);
        return;
    }
    case TND_OPTION_STRING:
    case TND_OPTION_COLUMN:
    case TND_OPTION_PATH:
        text = *(const char *const *)field;
        if (text != NULL)
            tnd_value_print_text(text, out);
        else
            fputs("null", out);
        return;
    case TND_OPTION_STRINGS:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATHS:
        print_texts(field, out);
        return;
    case TND_OPTION_ENUM:
        print_choice(option, *(const int *)field, out);
        return;
    case TND_OPTION_EXTENT: {
        const tnd_extent_t *extent = field;
        if (extent->rows > 0)
            fprintf(out, "%llu rows", (unsigned long long)extent->rows);
        else if (extent->bytes > 0)
            fprintf(out, "%lluB", (unsigned long long)extent->bytes);
        else
            fputs("null", out);
        return;
    }
    case TND_OPTION_INTERVAL: {
        const tnd_interval_t *interval = field;
        if (interval->steps > 0)
            fprintf(out, "%llu steps", (unsigned long long)interval->steps);
        else if (interval->ns > 0)
            fprintf(out, "%lluns", (unsigned long long)interval->ns);
        else
            fputs("null", out);
        return;
    }
    case TND_OPTION_TABLE:
        if (*(const void *const *)field != NULL)
            tnd_options_print(option->parts(0), *(const void *const *)field, roles, out);
        else
            fputs("null", out);
        return;
    case TND_OPTION_PART:
        print_part(field, roles, out);
        return;
    case TND_OPTION_PARTS: {
        const tnd_part_list_t *list = field;
        fputc('[', out);
        for (size_t i = 0; i < list->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            print_part(&list->items[i], roles, out);
        }
        fputc(']', out);
        return;
    }
    case TND_OPTION_MAP:
    case TND_OPTION_VALUE:
        value = *(const tnd_value_t *const *)field;
        if (value != NULL)
            tnd_value_print(value, out);
        else
            fputs("null", out);
        return;
    }
}

void tnd_options_print(const tnd_table_t *table, const void *options, unsigned roles, FILE *out)
{
    const char *separator = "";
    fputc('{', out);
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        if (((unsigned)option->role & roles) == 0)
            continue;
        const char *field = (const char *)options + option->offset;
        if (catches_all(option)) {
            separator = print_pairs((const tnd_pairs_t *)(const void *)field, separator, out);
            continue;
        }
        fprintf(out, "%s%s: ", separator, option->name);
        separator = ", ";
        print_field(option, field, roles, out);
    }
    fputc('}', out);
}
