/*  runtime/text/value.c - trees of values, merged and printed. */
#include "runtime/text/value.h"

#include <assert.h>
#include <string.h>

#include "runtime/text/json_string.h"

const char *tnd_value_type_name(tnd_value_type_t type)
{
    static const char *const names[] = {[TND_VALUE_NULL] = "nothing",
                                        [TND_VALUE_SCALAR] = "a value",
                                        [TND_VALUE_LIST] = "a list",
                                        [TND_VALUE_MAP] = "a map"};
    return names[type];
}

static tnd_value_t *value_new(tnd_arena_t *arena, tnd_value_type_t type, tnd_mark_t mark)
{
    tnd_value_t *self = tnd_arena_take(arena, sizeof *self);
    self->type = type;
    self->mark = mark;
    return self;
}

tnd_value_t *tnd_value_scalar(tnd_arena_t *arena, tnd_mark_t mark, const char *text)
{
    tnd_value_t *self = value_new(arena, TND_VALUE_SCALAR, mark);
    self->text = tnd_arena_text(arena, text, strlen(text));
    return self;
}

tnd_value_t *tnd_value_list(tnd_arena_t *arena, tnd_mark_t mark)
{
    return value_new(arena, TND_VALUE_LIST, mark);
}

tnd_value_t *tnd_value_map(tnd_arena_t *arena, tnd_mark_t mark)
{
    return value_new(arena, TND_VALUE_MAP, mark);
}

/*  Makes room for an item: capacities are powers of two; an array is full if its count is one. */
static void *grown(tnd_arena_t *arena, void *items, size_t count, size_t item_size)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return items;
    void *larger = tnd_arena_array(arena, count == 0 ? 1 : 2 * count, item_size);
    if (count > 0)
        memcpy(larger, items, count * item_size);
    return larger;
}

void tnd_value_append(tnd_arena_t *arena, tnd_value_t *list, tnd_value_t *item)
{
    assert(list->type == TND_VALUE_LIST);
    list->items = grown(arena, list->items, list->count, sizeof(tnd_value_t *));
    list->items[list->count++] = item;
}

void tnd_value_put(tnd_arena_t *arena, tnd_value_t *map, const char *key, tnd_mark_t key_mark,
                   tnd_value_t *value)
{
    assert(map->type == TND_VALUE_MAP);
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, key) == 0) {
            map->entries[i].mark = key_mark;
            map->entries[i].value = value;
            return;
        }
    map->entries = grown(arena, map->entries, map->count, sizeof(tnd_value_entry_t));
    map->entries[map->count++] = (tnd_value_entry_t){
        .key = tnd_arena_text(arena, key, strlen(key)), .mark = key_mark, .value = value};
}

const tnd_value_entry_t *tnd_value_entry(const tnd_value_t *map, const char *key)
{
    if (map == NULL || map->type != TND_VALUE_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, key) == 0)
            return &map->entries[i];
    return NULL;
}

tnd_value_t *tnd_value_get(const tnd_value_t *map, const char *key)
{
    const tnd_value_entry_t *entry = tnd_value_entry(map, key);
    return entry != NULL ? entry->value : NULL;
}

tnd_value_t *tnd_value_without(tnd_arena_t *arena, const tnd_value_t *map, const char *key)
{
    tnd_value_t *copy = tnd_value_map(arena, map->mark);
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, key) != 0)
            tnd_value_put(arena, copy, map->entries[i].key, map->entries[i].mark,
                          map->entries[i].value);
    return copy;
}

tnd_value_t *tnd_value_merge(tnd_arena_t *arena, tnd_value_t *base, tnd_value_t *over)
{
    if (over == NULL)
        return base;
    if (base == NULL || base->type != TND_VALUE_MAP || over->type != TND_VALUE_MAP)
        return over;
    tnd_value_t *merged = tnd_value_map(arena, base->mark);
    for (size_t i = 0; i < base->count; i++)
        tnd_value_put(arena, merged, base->entries[i].key, base->entries[i].mark,
                      base->entries[i].value);
    for (size_t i = 0; i < over->count; i++) {
        const tnd_value_entry_t *entry = &over->entries[i];
        const tnd_value_entry_t *before = tnd_value_entry(base, entry->key);
        tnd_value_t *value =
            tnd_value_merge(arena, before != NULL ? before->value : NULL, entry->value);
        /* A merged map keeps the place where it was first written. */
        bool added = before != NULL && before->value->type == TND_VALUE_MAP &&
                     entry->value->type == TND_VALUE_MAP;
        tnd_value_put(arena, merged, entry->key, added ? before->mark : entry->mark, value);
    }
    return merged;
}

bool tnd_value_equal(const tnd_value_t *a, const tnd_value_t *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case TND_VALUE_NULL:
        return true;
    case TND_VALUE_SCALAR:
        return strcmp(a->text, b->text) == 0;
    case TND_VALUE_LIST:
        if (a->count != b->count)
            return false;
        for (size_t i = 0; i < a->count; i++)
            if (!tnd_value_equal(a->items[i], b->items[i]))
                return false;
        return true;
    case TND_VALUE_MAP:
        if (a->count != b->count)
            return false;
        for (size_t i = 0; i < a->count; i++)
            if (!tnd_value_equal(a->entries[i].value, tnd_value_get(b, a->entries[i].key)))
                return false;
        return true;
    }
    return false;
}

/*  The entry with the least key above `last`; NULL at the end.  Maps are small. */
static const tnd_value_entry_t *entry_after(const tnd_value_t *map, const char *last)
{
    const tnd_value_entry_t *best = NULL;
    for (size_t i = 0; i < map->count; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        if ((last == NULL || strcmp(entry->key, last) > 0) &&
            (best == NULL || strcmp(entry->key, best->key) < 0))
            best = entry;
    }
    return best;
}

static void print_map(const tnd_value_t *self, FILE *out)
{
    const char *separator = "";
    fputc('{', out);
    for (const tnd_value_entry_t *entry = entry_after(self, NULL); entry != NULL;
         entry = entry_after(self, entry->key)) {
        fputs(separator, out);
        separator = ", ";
        tnd_json_string_print(entry->key, out);
        fputs(": ", out);
        tnd_value_print(entry->value, out);
    }
    fputc('}', out);
}

void tnd_value_print(const tnd_value_t *self, FILE *out)
{
    switch (self->type) {
    case TND_VALUE_NULL:
        fputs("null", out);
        return;
    case TND_VALUE_SCALAR:
        tnd_json_string_print(self->text, out);
        return;
    case TND_VALUE_LIST:
        fputc('[', out);
        for (size_t i = 0; i < self->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            tnd_value_print(self->items[i], out);
        }
        fputc(']', out);
        return;
    case TND_VALUE_MAP:
        print_map(self, out);
        return;
    }
}
