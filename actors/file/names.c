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
#include "runtime/base/bounds.h"

/*  ------------------------------------------------------------------------------------ storing */

void tnd_names_folder(tnd_names_t *self, const char *path)
{
    self->folders =
        tnd_grow(self->folders, self->folder_count, &self->folder_room, sizeof *self->folders);
    self->folders[self->folder_count++] = (tnd_names_folder_t){
        .path = tnd_copy_string(path), .first = self->count, .label = strlen(path)};
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

void tnd_names_keep(tnd_names_t *self, bool (*keeps)(const void *context, size_t index),
                    const void *context)
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
            if (!keeps(context, i))
                continue;
            memmove(self->text + size, name, bytes);
            self->starts[kept++] = (uint32_t)size;
            size += bytes;
        }
    }
    self->count = kept;
    self->text_size = size;
}

typedef struct {
    uint32_t lane, lanes;
} share_t;

static bool is_shared(const void *context, size_t index)
{
    const share_t *share = context;
    return index % share->lanes == share->lane;
}

void tnd_names_share(tnd_names_t *self, uint32_t lane, uint32_t lanes)
{
    tnd_names_keep(self, is_shared, &(share_t){lane, lanes});
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
    size_t after;
    TND_LOWER_BOUND(after, 1, self->folder_count, self->folders[after].first <= index);
    return after - 1;
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

/*  A folder that is being searched, and those that it is in. */
typedef struct above {
    const struct above *above;
    dev_t device;
    ino_t inode;
} above_t;

/*  A pattern that is followed folder by folder. */
typedef struct {
    tnd_names_t *names;
    const char *what, *pattern;
    char path[PATH_MAX];  /* of the folder so far, with a slash at the end, or "" */
    size_t label;         /* bytes of `path` that end with the folder of the label; 0: all */
    bool matched;         /* a pattern matched the last folder of `path` */
    const above_t *above; /* after `**` */
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
    if (search->label > 0)
        names->folders[names->folder_count - 1].label = search->label;
}

typedef enum { ENTRY_FILE, ENTRY_FOLDER, ENTRY_OTHER, ENTRY_UNREADABLE } entry_t;

static entry_t kind_of(int folder, const struct dirent *entry)
{
    struct stat is;
    if (entry->d_type == DT_REG || entry->d_type == DT_DIR)
        return entry->d_type == DT_DIR ? ENTRY_FOLDER : ENTRY_FILE;
    if (fstatat(folder, entry->d_name, &is, 0) != 0)
        return ENTRY_UNREADABLE;
    return S_ISDIR(is.st_mode) ? ENTRY_FOLDER : S_ISREG(is.st_mode) ? ENTRY_FILE : ENTRY_OTHER;
}

/*  Whether an entry of an open folder is one that is searched for.  A link to nothing is a file, which
 *  the source then cannot read; where a folder is searched for, it is an error, unless its name has an
 *  ending as those of files. */
static tnd_status_t is_wanted(const search_t *search, int folder, const struct dirent *entry,
                              bool directory, bool *wanted_p)
{
    entry_t kind = kind_of(folder, entry);
    *wanted_p = directory ? kind == ENTRY_FOLDER : kind == ENTRY_FILE || kind == ENTRY_UNREADABLE;
    if (!directory || kind != ENTRY_UNREADABLE || strchr(entry->d_name, '.') != NULL)
        return TND_OK;
    return tnd_fail(search->error,
                    "%s: %s: %s%s: cannot be read: %s; if it is a link, its target is not there or "
                    "not mounted",
                    search->what, search->pattern, search->path, entry->d_name, strerror(errno));
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
    tnd_status_t status = TND_OK;
    for (struct dirent *entry; status == TND_OK && (entry = readdir(folder)) != NULL;) {
        bool wanted = false;
        if (fnmatch(word, entry->d_name, FNM_PERIOD) == 0)
            status = is_wanted(search, dirfd(folder), entry, directory, &wanted);
        if (!wanted)
            continue;
        *names_p = tnd_grow(*names_p, *count_p, &room, sizeof **names_p);
        (*names_p)[(*count_p)++] = tnd_copy_string(entry->d_name);
    }
    closedir(folder);
    if (*count_p > 0)
        qsort(*names_p, *count_p, sizeof **names_p, compare_names);
    return status;
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

/*  Adds a file, or a link to nothing. */
static void add_file(search_t *search, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat is;
    snprintf(path, sizeof path, "%s%s", search->path, name);
    if (lstat(path, &is) != 0 || (stat(path, &is) == 0 && !S_ISREG(is.st_mode)))
        return;
    begin_folder(search);
    tnd_names_add(search->names, name);
}

static tnd_status_t add_matching(search_t *search, const char *word)
{
    char **names;
    size_t count;
    TND_TRY(list_folder(search, word, false, &names, &count));
    if (count > 0 || search->matched)
        begin_folder(search);
    for (size_t i = 0; i < count; i++) {
        tnd_names_add(search->names, names[i]);
        free(names[i]);
    }
    free(names);
    return TND_OK;
}

/*  Continues in the folders of search->path that match. */
static tnd_status_t enter_matching(search_t *search, const char *word, const char *rest)
{
    char **names;
    size_t count;
    const bool matched = search->matched;
    tnd_status_t status = list_folder(search, word, true, &names, &count);
    for (size_t i = 0; i < count; i++) {
        search->matched = true;
        if (status == TND_OK)
            status = enter(search, names[i], rest);
        free(names[i]);
    }
    free(names);
    search->matched = matched;
    return status;
}

/*  Continues in search->path and in all folders of it: `rest` follows `**`, which is at `again`.  A link
 *  to a folder that it is in is not followed. */
static tnd_status_t follow_any_depth(search_t *search, const char *again, const char *rest)
{
    const search_t before = {
        .label = search->label, .matched = search->matched, .above = search->above};
    struct stat is = {0};
    if (stat(search->path[0] != '\0' ? search->path : ".", &is) != 0)
        return TND_OK;
    for (const above_t *above = search->above; above != NULL; above = above->above)
        if (above->device == is.st_dev && above->inode == is.st_ino)
            return TND_OK;
    const above_t here = {.above = search->above, .device = is.st_dev, .inode = is.st_ino};
    if (search->above == NULL && search->matched) {
        search->label = strlen(search->path) - 1;
        begin_folder(search);
    }
    search->matched = false;
    tnd_status_t status = follow(search, rest);
    search->above = &here;
    char **names;
    size_t count = 0;
    if (status == TND_OK)
        status = list_folder(search, "*", true, &names, &count);
    for (size_t i = 0; i < count; i++) {
        if (status == TND_OK)
            status = enter(search, names[i], again);
        free(names[i]);
    }
    if (count > 0)
        free(names);
    search->label = before.label;
    search->matched = before.matched;
    search->above = before.above;
    return status;
}

/*  Whether a part of a path exists in search->path as it is written. */
static bool exists(const search_t *search, const char *word)
{
    char path[2 * PATH_MAX];
    struct stat is;
    snprintf(path, sizeof path, "%s%s", search->path, word);
    return lstat(path, &is) == 0;
}

/*  The rest of the pattern, in search->path. */
static tnd_status_t follow(search_t *search, const char *rest)
{
    char word[NAME_MAX + 1];
    const char *again = rest;
    size_t size = strcspn(rest, "/");
    bool last = rest[size] == '\0';
    if (size > NAME_MAX)
        return tnd_fail(search->error, "%s: %s: a name is too long", search->what, search->pattern);
    snprintf(word, sizeof word, "%.*s", (int)size, rest);
    rest += size + !last;
    if (strcmp(word, "**") == 0)
        return follow_any_depth(search, again, last ? "*" : rest);
    if (!is_pattern(word) || exists(search, word)) {
        const bool matched = search->matched;
        search->matched = false;
        tnd_status_t status = TND_OK;
        if (last)
            add_file(search, word);
        else
            status = enter(search, word, rest);
        search->matched = matched;
        return status;
    }
    return last ? add_matching(search, word) : enter_matching(search, word, rest);
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
        const char *any = strstr(pattern, "**");
        if (any != NULL && strstr(any + 1, "**") != NULL)
            return tnd_fail(error, "%s: %s: a pattern may have one `**`", what, pattern);
        TND_TRY(follow(&search, pattern + root));
        if (self->count == before)
            return tnd_files_unmatched(what, pattern, error);
    }
    if (self->count == 0)
        return tnd_fail(error, "%s: names no file; write a pattern such as train/*/*.jpg", what);
    tnd_names_settle(self);
    return patterns->count > 1 ? check_twice(self, what, error) : TND_OK;
}
