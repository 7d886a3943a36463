/*  runtime/graph/canon.c - one text for one meaning. */
#include "runtime/graph/canon.h"

#include <locale.h>

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
        size = tnd_option_choice(&at, &word);
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
        if (tnd_option_is_any(option)) {
            separator = print_pairs((const tnd_pairs_t *)(const void *)field, separator, out);
            continue;
        }
        fprintf(out, "%s%s: ", separator, option->name);
        separator = ", ";
        print_field(option, field, roles, out);
    }
    fputc('}', out);
}
