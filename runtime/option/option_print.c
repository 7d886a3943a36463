/*  runtime/option/option_print.c - prints options as text, field by field. */
#include "runtime/option/option_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/number.h"
#include "runtime/text/json_string.h"

typedef struct {
    FILE *out;
    unsigned roles;
    bool people;
} speller_t;

/*  Seventeen digits identify every double; for people as few as possible. */
static void print_number(const speller_t *self, double number)
{
    char text[TND_QUANTITY_NUMBER];
    if (self->people && fabs(number) < 1e15 && number == floor(number))
        fprintf(self->out, "%.0f", number);
    else
        fputs(tnd_quantity_number(number, self->people ? 1 : 17, text), self->out);
}

static void print_texts(const tnd_strings_t *texts, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < texts->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        tnd_json_string_print(texts->items[i], out);
    }
    fputc(']', out);
}

static void print_table(const speller_t *self, const tnd_table_t *table, const void *options);

static void print_part(const speller_t *self, const tnd_part_t *part)
{
    if (part->table == NULL) {
        fputs("null", self->out);
        return;
    }
    fprintf(self->out, "{%s: ", part->table->name);
    print_table(self, part->table, part->options);
    fputc('}', self->out);
}

/*  Columns keep their written order, which is the order of the schema. */
static const char *print_pairs(const tnd_pairs_t *pairs, const char *separator, FILE *out)
{
    for (size_t i = 0; i < pairs->count; i++) {
        fputs(separator, out);
        separator = ", ";
        tnd_json_string_print(pairs->items[i].name, out);
        fputs(": ", out);
        const tnd_pair_t *pair = &pairs->items[i];
        if (pair->text != NULL)
            tnd_json_string_print(pair->text, out);
        else if (pair->texts.count > 0)
            print_texts(&pair->texts, out);
        else if (pair->options != NULL)
            tnd_options_print(pair->table, pair->options, TND_ROLE_ALL, out);
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

char *tnd_pairs_text(const tnd_pairs_t *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    if (self->count > 0)
        tnd_pairs_print(self, out);
    fclose(out);
    return text;
}

static void print_choice(const tnd_option_t *option, int index, FILE *out)
{
    const char *word = NULL;
    const char *at = option->choices;
    size_t size = 0;
    for (int i = 0; i <= index; i++)
        size = tnd_option_choice(&at, &word);
    fprintf(out, "%.*s", (int)size, word);
}

/*  For people as a word; false: it has none. */
static bool print_word(const speller_t *self, const tnd_option_t *option, uint64_t value)
{
    const char *word = NULL;
    size_t size = self->people ? tnd_number_called(option, value, &word) : 0;
    fprintf(self->out, "%.*s", (int)size, size > 0 ? word : "");
    return size > 0;
}

/*  `null` if none was given. */
static void print_whole(const speller_t *self, const tnd_option_t *option, uint64_t value)
{
    if (self->people && value == 0 && option->fallback != NULL && option->fallback[0] == '\0') {
        fputs("null", self->out);
        return;
    }
    if (!print_word(self, option, value))
        fprintf(self->out, "%llu", (unsigned long long)value);
}

static void print_bytes(const speller_t *self, uint64_t value)
{
    if (self->people)
        tnd_quantity_print_bytes(value, self->out);
    else
        fprintf(self->out, "%lluB", (unsigned long long)value);
}

static void print_duration(const speller_t *self, uint64_t value)
{
    if (self->people)
        tnd_quantity_print_duration(value, self->out);
    else
        fprintf(self->out, "%lluns", (unsigned long long)value);
}

static void print_field(const speller_t *self, const tnd_option_t *option, const void *field)
{
    FILE *out = self->out;
    const char *text = NULL;
    const tnd_value_t *value = NULL;
    switch (option->type) {
    case TND_OPTION_BOOL:
        fputs(*(const bool *)field ? "true" : "false", out);
        return;
    case TND_OPTION_U64:
        print_whole(self, option, *(const uint64_t *)field);
        return;
    case TND_OPTION_BYTES:
        print_bytes(self, *(const uint64_t *)field);
        return;
    case TND_OPTION_DURATION:
        print_duration(self, *(const uint64_t *)field);
        return;
    case TND_OPTION_RATE:
        print_bytes(self, *(const uint64_t *)field);
        fputs("/s", out);
        return;
    case TND_OPTION_I64:
        if (!print_word(self, option, (uint64_t) * (const int64_t *)field))
            fprintf(out, "%lld", (long long)*(const int64_t *)field);
        return;
    case TND_OPTION_F64:
        print_number(self, *(const double *)field);
        return;
    case TND_OPTION_F64S: {
        const tnd_numbers_t *numbers = field;
        if (numbers->items == NULL && option->choices != NULL) {
            fputs(option->choices, out);
            return;
        }
        fputc('[', out);
        for (size_t i = 0; i < numbers->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            print_number(self, numbers->items[i]);
        }
        fputc(']', out);
        return;
    }
    case TND_OPTION_STRING:
    case TND_OPTION_COLUMN:
    case TND_OPTION_PATH:
        text = *(const char *const *)field;
        if (text != NULL)
            tnd_json_string_print(text, out);
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
            print_bytes(self, extent->bytes);
        else
            fputs("null", out);
        return;
    }
    case TND_OPTION_INTERVAL: {
        const tnd_interval_t *interval = field;
        if (interval->steps > 0)
            fprintf(out, "%llu steps", (unsigned long long)interval->steps);
        else if (interval->ns > 0)
            print_duration(self, interval->ns);
        else
            fputs("null", out);
        return;
    }
    case TND_OPTION_PERIOD: {
        const tnd_period_t *period = field;
        if (period->steps > 0)
            fprintf(out, "%llu steps", (unsigned long long)period->steps);
        else if (period->epochs > 0)
            fprintf(out, "%llu epochs", (unsigned long long)period->epochs);
        else
            fputs("null", out);
        return;
    }
    case TND_OPTION_TABLE:
        if (*(const void *const *)field != NULL)
            print_table(self, option->table, *(const void *const *)field);
        else
            fputs("null", out);
        return;
    case TND_OPTION_PART:
        print_part(self, field);
        return;
    case TND_OPTION_PARTS: {
        const tnd_part_list_t *list = field;
        fputc('[', out);
        for (size_t i = 0; i < list->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            print_part(self, &list->items[i]);
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

static void print_table(const speller_t *self, const tnd_table_t *table, const void *options)
{
    FILE *out = self->out;
    const char *separator = "";
    fputc('{', out);
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        if (((unsigned)option->role & self->roles) == 0)
            continue;
        const char *field = (const char *)options + option->offset;
        if (tnd_option_is_any(option)) {
            separator = print_pairs((const tnd_pairs_t *)(const void *)field, separator, out);
            continue;
        }
        fprintf(out, "%s%s: ", separator, option->name);
        separator = ", ";
        print_field(self, option, field);
    }
    fputc('}', out);
}

void tnd_options_print(const tnd_table_t *table, const void *options, unsigned roles, FILE *out)
{
    print_table(&(speller_t){.out = out, .roles = roles}, table, options);
}

void tnd_options_show(const tnd_table_t *table, const void *options, FILE *out)
{
    print_table(&(speller_t){.out = out, .roles = TND_ROLE_ALL, .people = true}, table, options);
}

void tnd_option_show(const tnd_option_t *option, const void *options, FILE *out)
{
    print_field(&(speller_t){.out = out, .roles = TND_ROLE_ALL, .people = true}, option,
                (const char *)options + option->offset);
}

/*  ", `keep`, `drop` or `pad`" without the leading comma; of "auto=0" only the word. */
static const char *choice_text(tnd_arena_t *arena, const char *choices)
{
    const char *text = "";
    const char *word = NULL;
    for (const char *at = choices; *at != '\0';) {
        size_t size = tnd_option_choice(&at, &word);
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
    const char *range = tnd_number_range(arena, option);
    const char *of = option->unit != NULL ? " of " : "";
    const char *unit = option->unit != NULL ? option->unit : "";
    const char *words = "", *example = option->example;
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
        return tnd_arena_format(arena, "a list of numbers%s%s",
                                *range != '\0' ? range : " such as [0, 0.5]", words);
    case TND_OPTION_STRING:
        return tnd_arena_format(arena, "a %s%s%s", *unit != '\0' ? unit : "text",
                                example != NULL ? " such as " : "", example != NULL ? example : "");
    case TND_OPTION_STRINGS:
        return "a list of texts such as [a, b]";
    case TND_OPTION_ENUM:
        return choice_text(arena, option->choices);
    case TND_OPTION_BYTES:
        return tnd_arena_format(arena, "a size%s, such as %s", range,
                                example != NULL ? example : "64MiB");
    case TND_OPTION_DURATION:
        return tnd_arena_format(arena, "a time%s, such as 10s or 50ms", range);
    case TND_OPTION_RATE:
        return tnd_arena_format(arena, "a size per second%s, such as 55GB/s", range);
    case TND_OPTION_EXTENT:
        return "rows or a size, such as `100 rows` or `128KiB`";
    case TND_OPTION_INTERVAL:
        return "steps or a time, such as `500 steps` or `60s`";
    case TND_OPTION_PERIOD:
        return "steps or epochs, such as `500 steps` or `1 epoch`";
    case TND_OPTION_COLUMN:
        return "the name of a column";
    case TND_OPTION_COLUMNS:
        return "names of columns such as [image, label]";
    case TND_OPTION_PATH:
    case TND_OPTION_PATHS:
        return tnd_arena_format(arena, "a path such as \"%s\"%s",
                                example != NULL ? example : "${data}/train",
                                option->type == TND_OPTION_PATHS ? ", or a list of such" : "");
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
