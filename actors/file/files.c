/*  actors/file/files.c - expands paths, ranges and patterns to a list of files. */
#include "actors/file/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/text/diagnostic.h"

/*  The maximum number of digits in a range, and of names that it gives: more are a mistake. */
enum { DIGITS_MAX = 9, RANGE_MAX = 10000000 };

static void add(tnd_files_t *self, const char *path)
{
    self->paths = tnd_grow(self->paths, self->count, &self->room, sizeof *self->paths);
    self->paths[self->count++] = tnd_copy_string(path);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/*  Truncates a path to its directory. */
static void cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        strcpy(path, ".");
    else
        slash[slash == path] = '\0';
}

/*  The directory that must exist for a pattern: the part before its first special character. */
static void directory_of(const char *pattern, char directory[PATH_MAX])
{
    snprintf(directory, PATH_MAX, "%.*s", (int)strcspn(pattern, "*?["), pattern);
    cut_to_parent(directory);
}

/*  Finds the entry most similar to a pattern, or the first; returns the number of entries. */
static size_t look_into(const char *directory, const char *pattern, char name[NAME_MAX + 1])
{
    size_t count = 0;
    const char *slash = strrchr(pattern, '/');
    tnd_nearest_t nearest = {.word = slash != NULL ? slash + 1 : pattern};
    struct dirent **entries = NULL;
    int found = scandir(directory, &entries, NULL, alphasort);
    name[0] = '\0';
    for (int i = 0; i < found; i++) {
        if (entries[i]->d_name[0] == '.')
            continue;
        if (count++ == 0)
            snprintf(name, NAME_MAX + 1, "%s", entries[i]->d_name);
        tnd_nearest_offer(&nearest, entries[i]->d_name);
    }
    if (nearest.best != NULL)
        snprintf(name, NAME_MAX + 1, "%s", nearest.best);
    for (int i = 0; i < found; i++)
        free(entries[i]);
    free(entries);
    return count;
}

tnd_status_t tnd_files_unmatched(const char *what, const char *pattern, tnd_error_t *error)
{
    char directory[PATH_MAX], nearest[PATH_MAX], name[NAME_MAX + 1];
    if (is_directory(pattern))
        return tnd_fail(error,
                        "%s: %s is a directory; write a pattern for the files in it, such as %s/*",
                        what, pattern, pattern);
    directory_of(pattern, directory);
    memcpy(nearest, directory, sizeof nearest);
    while (!is_directory(nearest) && strcmp(nearest, "/") != 0 && strcmp(nearest, ".") != 0)
        cut_to_parent(nearest);
    if (strcmp(nearest, directory) != 0)
        return tnd_fail(error,
                        "%s: no file matches %s: directory %s does not exist; the nearest that "
                        "exists is %s; check the path and `data:`",
                        what, pattern, directory, nearest);
    size_t count = look_into(directory, pattern, name);
    if (count == 0)
        return tnd_fail(error, "%s: no file matches %s: the directory %s is empty", what, pattern,
                        directory);
    return tnd_fail(error,
                    "%s: no file matches %s: the directory %s has %zu entr%s, such as %s; check "
                    "the pattern",
                    what, pattern, directory, count, count == 1 ? "y" : "ies", name);
}

static int fail_on_directory(const char *path, int code)
{
    (void)path;
    return code != ENOENT && code != ENOTDIR;
}

static tnd_status_t search(tnd_files_t *self, const char *what, const char *pattern,
                           tnd_error_t *error)
{
    glob_t found = {0};
    int code = glob(pattern, GLOB_NOSORT, fail_on_directory, &found);
    self->searched = true;
    if (code == GLOB_NOSPACE)
        abort();
    if (code == GLOB_ABORTED) {
        char directory[PATH_MAX];
        directory_of(pattern, directory);
        return tnd_fail(
            error,
            "%s: %s: cannot read a directory on the way, %s or one in it; check its permissions",
            what, pattern, directory);
    }
    if (code != 0)
        return tnd_files_unmatched(what, pattern, error);
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, compare_paths);
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(self, found.gl_pathv[i]);
    globfree(&found);
    return TND_OK;
}

/*  A range of numbers in a name; text[open] is its bracket. */
typedef struct {
    size_t open, close;
    unsigned first, last;
    int width; /* digits of every number, if the first has leading zeros; else 1 */
} range_t;

/*  Finds the first `[0-15]`; the class `[0-9]` of a pattern means the same files. */
static bool find_range(const char *text, range_t *range)
{
    for (const char *open = strchr(text, '['); open != NULL; open = strchr(open + 1, '[')) {
        size_t low = strspn(open + 1, "0123456789");
        const char *dash = open + 1 + low;
        size_t high = *dash == '-' ? strspn(dash + 1, "0123456789") : 0;
        if (low == 0 || high == 0 || low > DIGITS_MAX || high > DIGITS_MAX || dash[1 + high] != ']')
            continue;
        *range = (range_t){.open = (size_t)(open - text),
                           .close = (size_t)(dash + 1 + high - text),
                           .first = (unsigned)strtoul(open + 1, NULL, 10),
                           .last = (unsigned)strtoul(dash + 1, NULL, 10),
                           .width = open[1] == '0' ? (int)low : 1};
        return true;
    }
    return false;
}

static tnd_status_t expand(tnd_files_t *self, const char *what, const char *text,
                           tnd_error_t *error)
{
    range_t range;
    struct stat status;
    if (strpbrk(text, "*?[") == NULL || stat(text, &status) == 0) {
        add(self, text);
        return TND_OK;
    }
    if (!find_range(text, &range))
        return search(self, what, text, error);
    if (range.last < range.first || range.last - range.first >= RANGE_MAX)
        return tnd_fail(error,
                        "%s: %s: the range goes from %u to %u; at most %d names are possible", what,
                        text, range.first, range.last, RANGE_MAX);
    for (unsigned i = range.first; i <= range.last; i++) {
        char name[PATH_MAX];
        int size = snprintf(name, sizeof name, "%.*s%0*u%s", (int)range.open, text, range.width, i,
                            text + range.close + 1);
        if (size >= (int)sizeof name)
            return tnd_fail(error, "%s: %s: the path is too long", what, text);
        TND_TRY(expand(self, what, name, error));
    }
    return TND_OK;
}

static tnd_status_t check_list(const tnd_files_t *self, const char *what, tnd_error_t *error)
{
    if (self->count == 0)
        return tnd_fail(error, "%s: names no file; write a path, a pattern or a list of them",
                        what);
    char **sorted = tnd_allocate(self->count, sizeof *sorted);
    memcpy(sorted, self->paths, self->count * sizeof *sorted);
    qsort(sorted, self->count, sizeof *sorted, compare_paths);
    const char *twice = NULL;
    for (size_t i = 1; i < self->count && twice == NULL; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            twice = sorted[i];
    free(sorted);
    if (twice != NULL)
        return tnd_fail(error,
                        "%s: %s is named twice; name each file once, and use `repeat:` to "
                        "read rows more than once",
                        what, twice);
    return TND_OK;
}

tnd_status_t tnd_files_find(tnd_files_t *self, const char *what, const tnd_strings_t *written,
                            tnd_error_t *error)
{
    assert(self->count == 0);
    for (size_t i = 0; i < written->count; i++)
        TND_TRY(expand(self, what, written->items[i], error));
    return check_list(self, what, error);
}

tnd_status_t tnd_files_share(tnd_files_t *self, const char *what, uint32_t lane, uint32_t lanes,
                             tnd_error_t *error)
{
    size_t kept = 0;
    if (self->count < lanes)
        return tnd_fail(error,
                        "%s: has %zu file%s for %u lanes: with `shard: file` each lane needs one "
                        "of its own; use fewer lanes, more files, or `shard: index`%s",
                        what, self->count, self->count == 1 ? "" : "s", lanes,
                        self->searched ? "; files that only other hosts have are found by no "
                                         "pattern: name them by a range such as part-[00-15].npy"
                                       : "");
    for (size_t i = 0; i < self->count; i++)
        if (i % lanes == lane)
            self->paths[kept++] = self->paths[i];
        else
            free(self->paths[i]);
    self->count = kept;
    return TND_OK;
}

uint64_t tnd_files_hash(const tnd_files_t *self, uint64_t seed)
{
    for (size_t i = 0; i < self->count; i++) {
        const char *slash = strrchr(self->paths[i], '/');
        const char *name = slash != NULL ? slash + 1 : self->paths[i];
        seed = XXH3_64bits_withSeed(name, strlen(name) + 1, seed);
    }
    return seed;
}

void tnd_files_free(tnd_files_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->paths[i]);
    free(self->paths);
    *self = (tnd_files_t){0};
}
