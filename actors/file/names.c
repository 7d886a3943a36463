/*  actors/file/names.c - the names of many files, by folder. */
#include "actors/file/names.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/file/files.h"
#include "runtime/base/allocation.h"

/*  ------------------------------------------------------------------------------------ storing */

void tnd_names_folder(tnd_names_t *self, const char *path)
{
    self->folders =
        tnd_grow(self->folders, self->folder_count, &self->folder_room, sizeof *self->folders);
    self->folders[self->folder_count++] =
        (tnd_names_folder_t){.path = tnd_copy_string(path), .first = self->count};
}

void tnd_names_add(tnd_names_t *self, const char *name)
{
    size_t size = strlen(name) + 1;
    assert(self->folder_count > 0 && self->text_size <= UINT32_MAX - size);
    if (self->text_size + size > self->text_room) {
        self->text_room = 2 * self->text_room + size;
        self->text = tnd_resize(self->text, self->text_room, 1);
    }
    self->starts = tnd_grow(self->starts, self->count, &self->starts_room, sizeof *self->starts);
    self->starts[self->count++] = (uint32_t)self->text_size;
    memcpy(self->text + self->text_size, name, size);
    self->text_size += size;
}

void tnd_names_share(tnd_names_t *self, uint32_t lane, uint32_t lanes)
{
    size_t kept = 0, size = 0;
    for (size_t folder = 0; folder < self->folder_count; folder++) {
        size_t end =
            folder + 1 < self->folder_count ? self->folders[folder + 1].first : self->count;
        size_t begin = self->folders[folder].first;
        self->folders[folder].first = kept;
        for (size_t i = begin; i < end; i++) {
            const char *name = tnd_names_at(self, i);
            size_t bytes = strlen(name) + 1;
            if (i % lanes != lane)
                continue;
            memmove(self->text + size, name, bytes);
            self->starts[kept++] = (uint32_t)size;
            size += bytes;
        }
    }
    self->count = kept;
    self->text_size = size;
}

void tnd_names_settle(tnd_names_t *self)
{
    self->text = tnd_resize(self->text, self->text_size, 1);
    self->starts = tnd_resize(self->starts, self->count, sizeof *self->starts);
    self->text_room = self->text_size;
    self->starts_room = self->count;
}

const char *tnd_names_at(const tnd_names_t *self, size_t index)
{
    return self->text + self->starts[index];
}

size_t tnd_names_folder_of(const tnd_names_t *self, size_t index)
{
    size_t low = 0, high = self->folder_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (self->folders[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void tnd_names_path(const tnd_names_t *self, size_t index, char path[PATH_MAX])
{
    const char *folder = self->folders[tnd_names_folder_of(self, index)].path;
    const char *slash = folder[0] == '\0' || strcmp(folder, "/") == 0 ? "" : "/";
    snprintf(path, PATH_MAX, "%s%s%s", folder, slash, tnd_names_at(self, index));
}

size_t tnd_names_bytes(const tnd_names_t *self)
{
    size_t bytes = self->text_room + self->starts_room * sizeof *self->starts +
                   self->folder_room * sizeof *self->folders;
    for (size_t i = 0; i < self->folder_count; i++)
        bytes += strlen(self->folders[i].path) + 1;
    return bytes;
}

void tnd_names_free(tnd_names_t *self)
{
    for (size_t i = 0; i < self->folder_count; i++)
        free(self->folders[i].path);
    free(self->folders);
    free(self->starts);
    free(self->text);
    *self = (tnd_names_t){0};
}

/*  ------------------------------------------------------------------------------------ finding */

/*  A pattern that is followed folder by folder. */
typedef struct {
    tnd_names_t *names;
    const char *what, *pattern;
    char path[PATH_MAX]; /* of the folder so far, with a slash at the end, or "" */
    tnd_error_t *error;
} search_t;

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/*  Begins the folder search->path, unless it is the last one. */
static void begin_folder(search_t *search)
{
    tnd_names_t *names = search->names;
    size_t size = strlen(search->path);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", (int)(size > 1 ? size - 1 : size), search->path);
    if (names->folder_count == 0 || strcmp(names->folders[names->folder_count - 1].path, path) != 0)
        tnd_names_folder(names, path);
}

/*  Whether an entry of an open folder is one that is searched for. */
static bool is_kind(int folder, const struct dirent *entry, bool directory)
{
    struct stat is;
    if (entry->d_type == DT_REG || entry->d_type == DT_DIR)
        return (entry->d_type == DT_DIR) == directory;
    return fstatat(folder, entry->d_name, &is, 0) == 0 &&
           (directory ? S_ISDIR(is.st_mode) : S_ISREG(is.st_mode));
}

/*  The names in search->path that match, sorted; a folder that does not exist has none. */
static tnd_status_t list_folder(search_t *search, const char *word, bool directory, char ***names_p,
                                size_t *count_p)
{
    size_t room = 0;
    *names_p = NULL;
    *count_p = 0;
    DIR *folder = opendir(search->path[0] != '\0' ? search->path : ".");
    if (folder == NULL && (errno == ENOENT || errno == ENOTDIR))
        return TND_OK;
    if (folder == NULL)
        return tnd_fail(search->error, "%s: %s: cannot read the folder %s: %s", search->what,
                        search->pattern, search->path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (fnmatch(word, entry->d_name, FNM_PERIOD) != 0 ||
            !is_kind(dirfd(folder), entry, directory))
            continue;
        *names_p = tnd_grow(*names_p, *count_p, &room, sizeof **names_p);
        (*names_p)[(*count_p)++] = tnd_copy_string(entry->d_name);
    }
    closedir(folder);
    if (*count_p > 0)
        qsort(*names_p, *count_p, sizeof **names_p, compare_names);
    return TND_OK;
}

static tnd_status_t follow(search_t *search, const char *rest);

/*  Continues in the folder `name` of search->path. */
static tnd_status_t enter(search_t *search, const char *name, const char *rest)
{
    size_t size = strlen(search->path), more = strlen(name);
    if (size + more + 2 > PATH_MAX)
        return tnd_fail(search->error, "%s: %s: the path is too long", search->what,
                        search->pattern);
    memcpy(search->path + size, name, more);
    memcpy(search->path + size + more, "/", 2);
    tnd_status_t status = follow(search, rest);
    search->path[size] = '\0';
    return status;
}

/*  A file; false: it does not exist. */
static bool add_file(search_t *search, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat is;
    snprintf(path, sizeof path, "%s%s", search->path, name);
    if (stat(path, &is) != 0 || !S_ISREG(is.st_mode))
        return false;
    begin_folder(search);
    tnd_names_add(search->names, name);
    return true;
}

static tnd_status_t add_matching(search_t *search, const char *word)
{
    char **names;
    size_t count;
    TND_TRY(list_folder(search, word, false, &names, &count));
    if (count > 0)
        begin_folder(search);
    for (size_t i = 0; i < count; i++) {
        tnd_names_add(search->names, names[i]);
        free(names[i]);
    }
    free(names);
    return TND_OK;
}

/*  The rest of the pattern, in search->path. */
static tnd_status_t follow(search_t *search, const char *rest)
{
    char word[NAME_MAX + 1];
    size_t size = strcspn(rest, "/");
    bool last = rest[size] == '\0';
    if (size > NAME_MAX)
        return tnd_fail(search->error, "%s: %s: a name is too long", search->what, search->pattern);
    snprintf(word, sizeof word, "%.*s", (int)size, rest);
    rest += size + !last;
    if (!is_pattern(word)) {
        if (!last)
            return enter(search, word, rest);
        (void)add_file(search, word);
        return TND_OK;
    }
    if (last)
        return add_matching(search, word);
    char **names;
    size_t count;
    TND_TRY(list_folder(search, word, true, &names, &count));
    tnd_status_t status = TND_OK;
    for (size_t i = 0; i < count; i++) {
        if (status == TND_OK)
            status = enter(search, names[i], rest);
        free(names[i]);
    }
    free(names);
    return status;
}

static int compare_files(const void *a, const void *b, void *context)
{
    const tnd_names_t *self = context;
    size_t one = *(const size_t *)a, two = *(const size_t *)b;
    int order = strcmp(self->folders[tnd_names_folder_of(self, one)].path,
                       self->folders[tnd_names_folder_of(self, two)].path);
    return order != 0 ? order : strcmp(tnd_names_at(self, one), tnd_names_at(self, two));
}

static tnd_status_t check_twice(tnd_names_t *self, const char *what, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    size_t *sorted = tnd_allocate(self->count, sizeof *sorted);
    for (size_t i = 0; i < self->count; i++)
        sorted[i] = i;
    qsort_r(sorted, self->count, sizeof *sorted, compare_files, self);
    for (size_t i = 1; i < self->count && status == TND_OK; i++) {
        char path[PATH_MAX];
        if (compare_files(&sorted[i - 1], &sorted[i], self) != 0)
            continue;
        tnd_names_path(self, sorted[i], path);
        status = tnd_fail(error, "%s: %s is named twice; name each file once", what, path);
    }
    free(sorted);
    return status;
}

tnd_status_t tnd_names_find(tnd_names_t *self, const char *what, const tnd_strings_t *patterns,
                            tnd_error_t *error)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const char *pattern = patterns->items[i];
        size_t before = self->count, root = strspn(pattern, "/");
        search_t search = {.names = self,
                           .what = what,
                           .pattern = pattern,
                           .path = {root > 0 ? '/' : '\0'},
                           .error = error};
        TND_TRY(follow(&search, pattern + root));
        if (self->count == before)
            return tnd_files_unmatched(what, pattern, error);
    }
    if (self->count == 0)
        return tnd_fail(error, "%s: names no file; write a pattern such as train/*/*.jpg", what);
    tnd_names_settle(self);
    return patterns->count > 1 ? check_twice(self, what, error) : TND_OK;
}
