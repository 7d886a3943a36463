/*  runtime/option/option.c - queries of option tables. */
#include "runtime/option/option.h"

#include <string.h>

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
