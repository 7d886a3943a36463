/*  actors/source/sample/folder_table_match.c - which file an entry of a table names.
 *
 *  An entry is the end of a path, so paths are sorted from their ends: then those that end alike are
 *  neighbours. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/source/sample/folder_table.h"
#include "runtime/base/allocation.h"

/*  A path of a file, or a part of one that ends at `size`. */
typedef struct {
    const char *text;
    size_t size, file;
} ending_t;

static int compare_endings(const void *a, const void *b)
{
    const ending_t *one = a, *two = b;
    size_t size = one->size < two->size ? one->size : two->size;
    for (size_t i = 1; i <= size; i++) {
        int order = (uint8_t)one->text[one->size - i] - (uint8_t)two->text[two->size - i];
        if (order != 0)
            return order;
    }
    return (one->size > two->size) - (one->size < two->size);
}

/*  The paths of all files: whole, and without their endings. */
typedef struct {
    char **paths;
    ending_t *sides[2];
    size_t count;
} index_t;

/*  Bytes of a path without the ending of its name. */
static size_t stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot > name ? (size_t)(dot - path) : strlen(path);
}

static void make_index(index_t *self, const tnd_names_t *names)
{
    *self = (index_t){.count = names->count};
    self->paths = tnd_allocate(names->count, sizeof *self->paths);
    for (int side = 0; side < 2; side++)
        self->sides[side] = tnd_allocate(names->count, sizeof *self->sides[side]);
    for (size_t i = 0; i < names->count; i++) {
        char path[PATH_MAX];
        tnd_names_path(names, i, path);
        self->paths[i] = tnd_copy_string(path);
        self->sides[0][i] = (ending_t){self->paths[i], strlen(path), i};
        self->sides[1][i] = (ending_t){self->paths[i], stem_of(path), i};
    }
    for (int side = 0; side < 2; side++)
        qsort(self->sides[side], self->count, sizeof *self->sides[side], compare_endings);
}

static void free_index(index_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->paths[i]);
    free(self->paths);
    free(self->sides[0]);
    free(self->sides[1]);
}

/*  The first path of a side that does not come before `key`. */
static size_t lower_bound(const index_t *self, int side, const ending_t *key)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_endings(&self->sides[side][middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool ends_with(const ending_t *path, const ending_t *key)
{
    return path->size >= key->size &&
           memcmp(path->text + path->size - key->size, key->text, key->size) == 0;
}

/*  Finds the first two paths of a side that are `text`, or end with it; returns how many. */
static size_t find_ending(const index_t *self, int side, const char *text, bool whole,
                          size_t files[2])
{
    const ending_t key = {.text = text, .size = strlen(text)};
    size_t found = 0;
    for (size_t i = lower_bound(self, side, &key); i < self->count && found < 2; i++) {
        const ending_t *path = &self->sides[side][i];
        if (!ends_with(path, &key) || (whole && path->size != key.size))
            break;
        files[found++] = path->file;
    }
    return found;
}

/*  The path of an entry in the folder of the table. */
static char *path_of(const tnd_folder_table_t *self, const char *name)
{
    const char *slash = strrchr(self->path, '/');
    int size = slash != NULL && name[0] != '/' ? (int)(slash - self->path) + 1 : 0;
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    return tnd_format_string("%.*s%s", size, self->path, name);
}

/*  The files that a name may mean: the one in the folder of the table, or those in any. */
static size_t find_files(const index_t *self, const tnd_folder_table_t *table, const char *name,
                         size_t files[2])
{
    size_t found = 0;
    char *own = path_of(table, name);
    char *below = tnd_format_string("/%s", strncmp(name, "./", 2) == 0 ? name + 2 : name);
    for (int side = 0; side < 2 && found == 0; side++) {
        found = find_ending(self, side, own, true, files);
        if (found == 0)
            found = find_ending(self, side, below + 1, true, files);
        if (found == 0)
            found = find_ending(self, side, below, false, files);
    }
    free(own);
    free(below);
    return found;
}

/*  Sets *file_p to the file of an entry, or to SIZE_MAX. */
static tnd_status_t find_file(const index_t *self, const tnd_folder_table_t *table,
                              const tnd_folder_entry_t *entry, size_t *file_p, tnd_error_t *error)
{
    size_t files[2], found = find_files(self, table, entry->name, files);
    *file_p = found == 1 ? files[0] : SIZE_MAX;
    if (found < 2)
        return TND_OK;
    return tnd_fail(error,
                    "folder: %s:%" PRIu64 ": `%.100s` is the name of several files, such as "
                    "%.200s and %.200s",
                    table->path, entry->line, entry->name, self->paths[files[0]],
                    self->paths[files[1]]);
}

static tnd_status_t match_entries(const tnd_folder_table_t *self, const index_t *index,
                                  tnd_folder_match_t *match, tnd_error_t *error)
{
    for (size_t i = 0; i < self->count; i++) {
        size_t file;
        TND_TRY(find_file(index, self, &self->entries[i], &file, error));
        if (file == SIZE_MAX) {
            match->first_missing = match->missing++ == 0 ? i : match->first_missing;
            continue;
        }
        if (match->entries[file] >= 0)
            return tnd_fail(error,
                            "folder: %s:%" PRIu64 ": names %.200s, as line %" PRIu64
                            " does; name each file once",
                            self->path, self->entries[i].line, index->paths[file],
                            self->entries[match->entries[file]].line);
        match->entries[file] = (int64_t)i;
    }
    return TND_OK;
}

tnd_status_t tnd_folder_table_match(const tnd_folder_table_t *self, const tnd_names_t *names,
                                    tnd_folder_match_t *match, tnd_error_t *error)
{
    index_t index;
    *match = (tnd_folder_match_t){.entries = tnd_allocate(names->count, sizeof *match->entries)};
    for (size_t i = 0; i < names->count; i++)
        match->entries[i] = -1;
    make_index(&index, names);
    tnd_status_t status = match_entries(self, &index, match, error);
    free_index(&index);
    for (size_t i = names->count; i-- > 0;)
        if (match->entries[i] < 0) {
            match->unnamed++;
            match->first_unnamed = i;
        }
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void tnd_folder_table_list(const tnd_folder_table_t *self, tnd_names_t *names)
{
    char folder[PATH_MAX] = "", **paths = tnd_allocate(self->count, sizeof *paths);
    for (size_t i = 0; i < self->count; i++)
        paths[i] = path_of(self, self->entries[i].name);
    qsort(paths, self->count, sizeof *paths, compare_paths);
    for (size_t i = 0; i < self->count; i++) {
        /* A file that is named twice is one, which tnd_folder_table_match then refuses. */
        if (i + 1 < self->count && strcmp(paths[i], paths[i + 1]) == 0)
            continue;
        char *slash = strrchr(paths[i], '/');
        const char *name = slash != NULL ? slash + 1 : paths[i];
        int size = slash == paths[i] ? 1 : slash != NULL ? (int)(slash - paths[i]) : 0;
        char *here = tnd_format_string("%.*s", size, paths[i]);
        if (names->folder_count == 0 || strcmp(folder, here) != 0)
            tnd_names_folder(names, here);
        snprintf(folder, sizeof folder, "%s", here);
        tnd_names_add(names, name);
        free(here);
    }
    for (size_t i = 0; i < self->count; i++)
        free(paths[i]);
    free(paths);
    tnd_names_settle(names);
}
