/*  tools/new/file_series.c - finds series of files by the numbers in their names. */
#include "tools/new/file_series.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/*  Whether two names differ, and only in numbers. */
static bool are_numbered(const char *a, const char *b)
{
    bool differ = strcmp(a, b) != 0;
    while (*a != '\0' && *b != '\0') {
        bool numbers = strspn(a, digits) > 0 && strspn(b, digits) > 0;
        if (!numbers && *a != *b)
            return false;
        a += numbers ? strspn(a, digits) : 1;
        b += numbers ? strspn(b, digits) : 1;
    }
    return differ && *a == *b;
}

/*  The place, in both names, of the first number in which they differ. */
static size_t differ_at(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] == b[at])
        at++;
    while (at > 0 && isdigit((unsigned char)a[at - 1]))
        at--;
    return at;
}

static int compare(const void *one, const void *other)
{
    const char *a = ((const tnd_detected_format_t *)one)->path,
               *b = ((const tnd_detected_format_t *)other)->path;
    if (strcmp(a, b) == 0)
        return 0;
    size_t at = differ_at(a, b);
    unsigned long long first = strtoull(a + at, NULL, 10), second = strtoull(b + at, NULL, 10);
    return first < second ? -1 : first > second ? 1 : strcmp(a, b);
}

static bool is_like(const tnd_detected_format_t *a, const tnd_detected_format_t *b)
{
    return strcmp(a->source, b->source) == 0 && a->column.dtype == b->column.dtype &&
           a->column.rank == b->column.rank &&
           memcmp(a->column.shape, b->column.shape, a->column.rank * sizeof a->column.shape[0]) ==
               0 &&
           are_numbered(a->path, b->path);
}

/*  Whether that number is a word of its own: in x-1, but not in x1. */
static bool stands_alone(const char *a, const char *b)
{
    size_t at = differ_at(a, b);
    return at == 0 || !isalpha((unsigned char)a[at - 1]);
}

/*  The files similar to the one at `first`, including it, and whether all are parts of a column. */
static size_t count_like(const tnd_detected_format_list_t *found, size_t first, bool *parts_p)
{
    const tnd_detected_format_t *one = &found->items[first];
    size_t count = 1;
    *parts_p = false;
    for (size_t i = first + 1; i < found->count; i++) {
        const tnd_detected_format_t *other = &found->items[i];
        if (!is_like(one, other))
            continue;
        count++;
        *parts_p = *parts_p || other->rows != one->rows || stands_alone(one->path, other->path);
    }
    return count;
}

/*  One item of all files of some. */
static tnd_detected_format_t join(const tnd_detected_format_t *items, size_t count,
                                  tnd_arena_t *arena)
{
    tnd_detected_format_t whole = items[0];
    const char **paths = tnd_arena_array(arena, count, sizeof *paths);
    whole.rows = 0;
    for (size_t i = 0; i < count; i++) {
        paths[i] = items[i].path;
        whole.rows += items[i].rows;
    }
    whole.paths = paths;
    whole.path_count = count;
    return whole;
}

/*  Joins the files after `first` that are similar to it into one. */
static tnd_detected_format_t take_like(tnd_detected_format_list_t *found, size_t first,
                                       size_t count, tnd_arena_t *arena)
{
    tnd_detected_format_t *like = tnd_arena_array(arena, count, sizeof *like);
    size_t taken = 0, rest = first + 1;
    like[taken++] = found->items[first];
    for (size_t i = first + 1; i < found->count; i++) {
        bool is = is_like(&found->items[first], &found->items[i]);
        *(is ? &like[taken++] : &found->items[rest++]) = found->items[i];
    }
    found->count = rest;
    qsort(like, count, sizeof *like, compare);
    return join(like, count, arena);
}

void tnd_file_series_join_records(tnd_detected_format_list_t *found, tnd_arena_t *arena)
{
    tnd_detected_format_t *all = found->items;
    size_t kept = 0;
    while (kept < found->count) {
        size_t count = 1, rest = kept + 1;
        bool numbered = true;
        tnd_detected_format_t *like = tnd_arena_array(arena, found->count, sizeof *like);
        like[0] = all[kept];
        for (size_t i = kept + 1; i < found->count; i++) {
            bool is = all[i].records && strcmp(all[i].source, like[0].source) == 0;
            *(is ? &like[count++] : &all[rest++]) = all[i];
        }
        found->count = rest;
        for (size_t i = 1; i < count; i++)
            numbered = numbered && are_numbered(like[0].path, like[i].path);
        if (numbered)
            qsort(like, count, sizeof *like, compare);
        all[kept] = count > 1 ? join(like, count, arena) : like[0];
        kept++;
    }
}

void tnd_file_series_join(tnd_detected_format_list_t *found, tnd_arena_t *arena)
{
    for (size_t i = 0; i < found->count; i++) {
        bool parts;
        size_t count = count_like(found, i, &parts);
        if (parts)
            found->items[i] = take_like(found, i, count, arena);
    }
}

const char *tnd_file_series_range(tnd_arena_t *arena, const tnd_detected_format_t *item)
{
    if (item->path_count < 2 || strpbrk(item->path, "*?[") != NULL)
        return NULL;
    const char *first = item->paths[0], *last = item->paths[item->path_count - 1];
    size_t at = differ_at(first, last), low = strspn(first + at, digits);
    size_t high = strspn(last + at, digits);
    unsigned long begin = strtoul(first + at, NULL, 10);
    int width = first[at] == '0' ? (int)low : 1;
    for (size_t i = 0; i < item->path_count; i++)
        if (low > 9 || high > 9 ||
            strcmp(item->paths[i], tnd_arena_format(arena, "%.*s%0*lu%s", (int)at, first, width,
                                                    begin + i, first + at + low)) != 0)
            return NULL;
    return tnd_arena_format(arena, "%.*s[%.*s-%.*s]%s", (int)at, first, (int)low, first + at,
                            (int)high, last + at, first + at + low);
}

/*  The pattern of files of one ending in a directory or in directories of it; NULL: they are not. */
static const char *pattern_of(tnd_arena_t *arena, const tnd_detected_format_t *item)
{
    const char *first = item->paths[0], *ending = strrchr(first, '.');
    size_t size = (size_t)(strrchr(first, '/') + 1 - first);
    bool below = false;
    for (size_t i = 1; i < item->path_count; i++)
        while (strncmp(first, item->paths[i], size) != 0) {
            do
                size--;
            while (first[size - 1] != '/');
            below = true;
        }
    for (size_t i = 0; i < item->path_count; i++) {
        const char *name = strrchr(item->paths[i], '/'), *dot = strrchr(name, '.');
        if ((strchr(item->paths[i] + size, '/') != NULL) != below)
            return NULL;
        if (below && strchr(item->paths[i] + size, '/') != name)
            return NULL;
        if (ending == NULL || dot == NULL || strcmp(dot, ending) != 0)
            ending = "";
    }
    return tnd_arena_format(arena, "%.*s%s*%s", (int)size, first, below ? "*/" : "", ending);
}

const char *tnd_file_series_pattern(tnd_arena_t *arena, const tnd_detected_format_t *item)
{
    glob_t found = {0};
    if (item->path_count < 2 || strpbrk(item->path, "*?[") != NULL)
        return NULL;
    const char *pattern = pattern_of(arena, item);
    bool same = pattern != NULL && glob(pattern, 0, NULL, &found) == 0 &&
                found.gl_pathc == item->path_count;
    globfree(&found);
    return same ? pattern : NULL;
}
