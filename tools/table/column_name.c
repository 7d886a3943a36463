/*  tools/table/column_name.c - names of columns, made of what data call them. */
#include "tools/table/column_name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool tnd_column_name_make(char name[TND_NEW_NAME_MAX], const char *text)
{
    enum { NUMBER = 8 }; /* room for a number that makes it another one */
    size_t used = 0;
    for (const char *at = text; *at != '\0' && used < TND_NEW_NAME_MAX - NUMBER; at++)
        if (isalnum((unsigned char)*at))
            name[used++] = (char)tolower((unsigned char)*at);
        else if (used > 0 && name[used - 1] != '_')
            name[used++] = '_';
    while (used > 0 && name[used - 1] == '_')
        used--;
    name[used] = '\0';
    return used > 0 && !isdigit((unsigned char)name[0]);
}

const char *tnd_column_name_in_header(char *name, const char *text)
{
    char *at = name;
    do
        *at++ = *text != '\0' && iscntrl((unsigned char)*text) ? ' ' : *text;
    while (*text++ != '\0');
    return name;
}

bool tnd_column_name_is_label(const char *name)
{
    static const char *const names[] = {"label", "labels", "target", "class", "species", "y"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
