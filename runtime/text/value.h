/*  runtime/text/value.h - a parsed tree of maps, lists and scalars with their places.
 *
 *  Scalars are text; the option table that reads them determines their type.  Values are read-only
 *  once built and are stored in an arena.
 *
 *  Threads: any, once built. */
#ifndef TND_RUNTIME_TEXT_VALUE_H
#define TND_RUNTIME_TEXT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/text/arena.h"
#include "runtime/text/diagnostic.h"

typedef enum {
    TND_VALUE_NULL, /* empty, `~` or `null`: restores the default */
    TND_VALUE_SCALAR,
    TND_VALUE_LIST,
    TND_VALUE_MAP
} tnd_value_type_t;

typedef struct tnd_value tnd_value_t;

typedef struct {
    const char *key;
    tnd_mark_t mark; /* of the key */
    tnd_value_t *value;
} tnd_value_entry_t;

struct tnd_value {
    tnd_value_type_t type;
    tnd_mark_t mark;
    bool quoted;                /* a scalar in quotes */
    const char *text;           /* of a scalar */
    size_t count;               /* of items or entries */
    tnd_value_t **items;        /* of a list */
    tnd_value_entry_t *entries; /* of a map, as written; keys differ */
};

/*  "a map", "a list", "a value", "nothing". */
const char *tnd_value_type_name(tnd_value_type_t type);

tnd_value_t *tnd_value_scalar(tnd_arena_t *arena, tnd_mark_t mark, const char *text);
tnd_value_t *tnd_value_list(tnd_arena_t *arena, tnd_mark_t mark);
tnd_value_t *tnd_value_map(tnd_arena_t *arena, tnd_mark_t mark);

/*  Building: adds to the end. tnd_value_put replaces the value of an existing key. */
void tnd_value_append(tnd_arena_t *arena, tnd_value_t *list, tnd_value_t *item);
void tnd_value_put(tnd_arena_t *arena, tnd_value_t *map, const char *key, tnd_mark_t key_mark,
                   tnd_value_t *value);

/*  The value of a key, or its entry; NULL if `map` is NULL, is not a map, or lacks the key. */
tnd_value_t *tnd_value_get(const tnd_value_t *map, const char *key);
const tnd_value_entry_t *tnd_value_entry(const tnd_value_t *map, const char *key);

/*  A copy of `map` without one key; it shares the values. */
tnd_value_t *tnd_value_without(tnd_arena_t *arena, const tnd_value_t *map, const char *key);

/*  Merges `over` into `base`: maps are merged key by key, other values are replaced.  A null stays
 *  in the result, where it restores the default.  Neither is changed; either may be NULL. */
tnd_value_t *tnd_value_merge(tnd_arena_t *arena, tnd_value_t *base, tnd_value_t *over);

/*  Whether two trees are equal, ignoring the order of keys, quotes and places. */
bool tnd_value_equal(const tnd_value_t *a, const tnd_value_t *b);

/*  Writes one line of canonical text: keys sorted, every scalar in quotes. */
void tnd_value_print(const tnd_value_t *self, FILE *out);

#endif
