/*  runtime/option/option.c - what a table says of an option. */
#include "runtime/option/option.h"

#include <string.h>

#include "runtime/option/number.h"

bool tnd_options_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    size_t size = strlen(text);
    return size >= 1 && size <= 63 && strspn(text, letters) >= 1 && strspn(text, others) == size;
}

bool tnd_options_in_word(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z');
}

bool tnd_option_is_any(const tnd_option_t *option)
{
    return strcmp(option->name, "*") == 0;
}

const tnd_table_t *tnd_option_table(const tnd_option_t *option)
{
    bool takes = option->type == TND_OPTION_TABLE ||
                 (option->type == TND_OPTION_PATHS && tnd_option_is_any(option));
    return takes && option->parts != NULL ? option->parts(0) : NULL;
}

const tnd_option_t *tnd_options_find(const tnd_table_t *table, const char *name)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (!tnd_option_is_any(&table->options[i]) && strcmp(table->options[i].name, name) == 0)
            return &table->options[i];
    return NULL;
}

const tnd_option_t *tnd_options_any(const tnd_table_t *table)
{
    size_t count = table->option_count;
    return count > 0 && tnd_option_is_any(&table->options[count - 1]) ? &table->options[count - 1]
                                                                      : NULL;
}

const void *tnd_options_field(const tnd_table_t *table, const void *options, const char *name,
                              tnd_option_type_t type)
{
    const tnd_option_t *option = tnd_options_find(table, name);
    if (option == NULL || option->type != type || options == NULL)
        return NULL;
    return (const char *)options + option->offset;
}

size_t tnd_option_choice(const char **text_p, const char **word_p)
{
    *word_p = *text_p;
    size_t size = strcspn(*text_p, "|");
    *text_p += size + ((*text_p)[size] == '|');
    return size;
}

tnd_option_type_t tnd_option_item(tnd_option_type_t type)
{
    return type == TND_OPTION_F64S      ? TND_OPTION_F64
           : type == TND_OPTION_STRINGS ? TND_OPTION_STRING
           : type == TND_OPTION_COLUMNS ? TND_OPTION_COLUMN
           : type == TND_OPTION_PATHS   ? TND_OPTION_PATH
           : type == TND_OPTION_PARTS   ? TND_OPTION_PART
                                        : type;
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
        return tnd_arena_format(arena, "a list of numbers%s such as [0, 0.5]", range);
    case TND_OPTION_STRING:
        return tnd_arena_format(arena, "a %s%s%s", *unit != '\0' ? unit : "text",
                                example != NULL ? " such as " : "", example != NULL ? example : "");
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
