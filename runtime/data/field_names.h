/*  runtime/data/field_names.h - the names of the fields of records, as the headers of their files have
 *  them.
 *
 *  Hosts without the files get them with the facts of the stream.  Control characters of a name become
 *  spaces, and a name is cut after TND_FIELD_NAME_MAX bytes.
 *
 *  Threads: a plain value; any. */
#ifndef TND_RUNTIME_DATA_FIELD_NAMES_H
#define TND_RUNTIME_DATA_FIELD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/tundish/types.h"

enum { TND_FIELD_NAME_MAX = 255, TND_FIELD_NAMES_BYTES = 32 << 10, TND_FIELD_DIFFER_MAX = 400 };

typedef struct {
    char column[TND_COLUMN_NAME_MAX]; /* of the records; "": there are no names */
    uint32_t count;
    uint32_t used;                     /* bytes of `text` */
    bool cut;                          /* there are more than fit */
    char differ[TND_FIELD_DIFFER_MAX]; /* which files have other names; "": all have these */
    char text[TND_FIELD_NAMES_BYTES];  /* the names, each with a zero byte after it */
} tnd_field_names_t;

/*  No names yet, of the records in this column. */
void tnd_field_names_init(tnd_field_names_t *self, const char *column);
void tnd_field_names_add(tnd_field_names_t *self, const char *name, size_t size);

/*  The name after `name`, the first after NULL; NULL: there is none. */
const char *tnd_field_names_next(const tnd_field_names_t *self, const char *name);

/*  The place of a name, from 0; -1: none has it; -2: several have. */
enum { TND_FIELD_NAME_MISSING = -1, TND_FIELD_NAME_AGAIN = -2 };
int64_t tnd_field_names_find(const tnd_field_names_t *self, const char *name);

/*  "`a`, `b`, `c` ..." into `text`, cut if need be; returns text. */
const char *tnd_field_names_text(const tnd_field_names_t *self, char *text, size_t room);

/*  Notes if another host or lane has files with other names. */
void tnd_field_names_merge(tnd_field_names_t *self, const tnd_field_names_t *other);

#endif
