/*  actors/op/text/column_text.c - the type and the shape of a column, as a text. */
#include "actors/op/text/column_text.h"

#include <string.h>

#include "runtime/text/quantity.h"

/*  Reads the next number of a shape, and the separator after it. */
static bool read_axis(const char **text_p, tnd_column_t *column)
{
    char number[24];
    size_t size = strspn(*text_p, "0123456789");
    if (size == 0 || size >= sizeof number || column->rank == TND_RANK_MAX)
        return false;
    memcpy(number, *text_p, size);
    number[size] = '\0';
    *text_p += size;
    return tnd_quantity_u64(number, &column->shape[column->rank++]) == TND_QUANTITY_OK &&
           (**text_p == ',' || **text_p == ']') && *(*text_p)++ != '\0';
}

bool tnd_column_text(const char *text, tnd_column_t *column)
{
    char type[8] = "";
    size_t size = strcspn(text, "[");
    if (size >= sizeof type)
        return false;
    memcpy(type, text, size);
    text += size;
    if (!tnd_dtype_parse(type, &column->dtype))
        return false;
    if (*text == '\0')
        return true;
    text++;
    column->ragged = strncmp(text, "<=", 2) == 0;
    text += column->ragged ? 2 : 0;
    while (read_axis(&text, column))
        if (text[-1] == ']')
            return *text == '\0';
    return false;
}
