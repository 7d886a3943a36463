/*  tools/table/column_name.h - names of columns, made of what data call them.
 *
 *  Threads: any number at once. */
#ifndef TND_TOOLS_TABLE_COLUMN_NAME_H
#define TND_TOOLS_TABLE_COLUMN_NAME_H

#include <stdbool.h>

enum { TND_NEW_NAME_MAX = 40 };

/*  Letters and digits of the text, in lower case, with `_` for what is between them.  False: it has no
 *  letter to begin with. */
bool tnd_column_name_make(char name[TND_NEW_NAME_MAX], const char *text);
/*  The name as decode_csv finds it: control characters of the header are spaces.  `name` has room for
 *  the text; returns it. */
const char *tnd_column_name_in_header(char *name, const char *text);
/*  Whether this is what people call the class of a row: label, target, species ... */
bool tnd_column_name_is_label(const char *name);

#endif
