/*  tools/new/data_folder.c - detects the data of a directory. */
#include "tools/new/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tools/new/file_head.h"

/*  More endings of pictures than this are one pattern without an ending. */
enum { ENDINGS_MOST = 4 };

/*  What is in a directory: paths, sorted by name. */
typedef struct {
    tnd_detected_format_list_t *found;
    tnd_arena_t *arena;
    const char *path;
    const char **files, **folders;
    size_t file_count, folder_count;
    size_t first;      /* item of the directory */
    size_t first_left; /* of `left_out` */
} folder_t;

static void leave_out(folder_t *self, const char *path, const char *what)
{
    const tnd_left_out_t item = {.path = path, .what = what};
    tnd_left_out_add(&self->found->left_out, self->arena, &item);
}

static void take_entry(folder_t *self, const char *name)
{
    struct stat is;
    bool slash = self->path[strlen(self->path) - 1] == '/';
    const char *path = tnd_arena_format(self->arena, "%s%s%s", self->path, slash ? "" : "/", name);
    bool there = stat(path, &is) == 0;
    if (name[0] == '.')
        leave_out(self, path, "its name begins with a dot");
    else if (there && S_ISDIR(is.st_mode))
        self->folders[self->folder_count++] = path;
    else if (there && !S_ISREG(is.st_mode))
        leave_out(self, path, "neither a file nor a folder");
    else
        self->files[self->file_count++] = path;
}

static tnd_status_t list(folder_t *self, tnd_detected_format_list_t *found, tnd_arena_t *arena,
                         const char *path, tnd_error_t *error)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return tnd_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    *self = (folder_t){.found = found,
                       .arena = arena,
                       .path = path,
                       .files = tnd_arena_array(arena, (size_t)count, sizeof *self->files),
                       .folders = tnd_arena_array(arena, (size_t)count, sizeof *self->folders),
                       .first = found->count,
                       .first_left = found->left_out.count};
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            take_entry(self, name);
        free(entries[i]);
    }
    free(entries);
    return TND_OK;
}

/*  ------------------------------------------------------------------------------------- choices */

/*  What a table beside pictures may be for; "". */
static const char *hint(const folder_t *self, const tnd_detected_format_t *item)
{
    const tnd_detected_format_list_t *found = self->found;
    for (size_t i = 0; i < found->count && strcmp(item->source, "csv") == 0; i++)
        if (found->items[i].pictures)
            return "; if it has the labels of the pictures, name it by `table` of the source: "
                   "tundish help folder";
    return "";
}

/*  Leaves out the items from `first` to `end` of a source (NULL: of any); `why` is what is read instead
 *  of them. */
static void drop_items(folder_t *self, size_t first, size_t end, const char *source,
                       const char *why)
{
    tnd_detected_format_list_t *found = self->found;
    size_t kept = first;
    for (size_t i = first; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        if (i < end && (source == NULL || strcmp(item->source, source) == 0))
            leave_out(self, item->named,
                      tnd_arena_format(self->arena, "%s, which is not read together with %s%s",
                                       item->pictures ? "a picture" : item->source, why,
                                       hint(self, item)));
        else
            found->items[kept++] = *item;
    }
    found->count = kept;
}

/*  Keeps the files of the clearest kind: a folder of arrays may also have notes and drawings, and
 *  one of tables lists of words. */
static void keep_clearest(folder_t *self)
{
    static const char *const vague[] = {"text", "csv", "folder"};
    tnd_detected_format_list_t *found = self->found;
    for (size_t v = 0; v < sizeof vague / sizeof vague[0]; v++) {
        const tnd_detected_format_t *clear = NULL;
        for (size_t i = self->first; i < found->count && clear == NULL; i++)
            if (strcmp(found->items[i].source, vague[v]) != 0)
                clear = &found->items[i];
        if (clear != NULL)
            drop_items(self, self->first, found->count, vague[v],
                       clear->pictures ? "pictures" : clear->source);
    }
}

static bool are_pictures(const folder_t *self)
{
    return self->found->count > self->first && self->found->items[self->first].pictures;
}

/*  Whether the items are text, which may also describe other data. */
static bool are_text(const tnd_detected_format_list_t *found, size_t first)
{
    const char *source = first < found->count ? found->items[first].source : "";
    return strcmp(source, "text") == 0 || strcmp(source, "csv") == 0;
}

static void leave_out_folders(folder_t *self, const char *kept)
{
    for (size_t i = 0; i < self->folder_count; i++)
        if (kept == NULL || strcmp(self->folders[i], kept) != 0)
            leave_out(self, self->folders[i],
                      kept == NULL
                          ? "a folder beside the data: name it to read what is in it"
                          : tnd_arena_format(self->arena,
                                             "a folder beside %s, which is read: name it to read "
                                             "what is in it",
                                             kept));
}

/*  ------------------------------------------------------------------------------------- endings */

/*  The ending of a name with its dot; "" if it has none that a pattern can contain. */
static const char *ending_of(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(name, '.');
    return dot == NULL || strpbrk(dot, "*?[\\") != NULL ? "" : dot;
}

/*  The endings of the pictures from item `first` on; one "" if any file matches. */
static size_t find_endings(const tnd_detected_format_list_t *found, size_t first,
                           const char *endings[ENDINGS_MOST])
{
    size_t count = 0;
    for (size_t i = first; i < found->count; i++) {
        const char *ending = ending_of(found->items[i].named);
        size_t e = 0;
        while (e < count && strcmp(endings[e], ending) != 0)
            e++;
        if (*ending == '\0' || (e == count && count == ENDINGS_MOST)) {
            endings[0] = "";
            return 1;
        }
        if (e == count)
            endings[count++] = ending;
    }
    return count;
}

/*  Whether a path is as many folders below the directory as the pictures, with one of their endings. */
static bool is_matched(const folder_t *self, const char *path, bool below,
                       const char *const *endings, size_t count)
{
    size_t slashes = 0, size = strlen(self->path);
    if (strncmp(path, self->path, size) != 0)
        return false;
    while (size > 0 && self->path[size - 1] == '/')
        size--;
    for (const char *at = path + size; *at != '\0'; at++)
        slashes += *at == '/';
    for (size_t i = 0; i < count; i++)
        if (*endings[i] == '\0' || strcmp(ending_of(path), endings[i]) == 0)
            return slashes == (below ? 2 : 1) && strrchr(path, '/')[1] != '.';
    return false;
}

static void add_pattern(tnd_detected_format_list_t *found, tnd_arena_t *arena, const char *text,
                        size_t fixed)
{
    tnd_file_pattern_t *all = tnd_arena_array(arena, found->pattern_count + 1, sizeof *all);
    if (found->pattern_count > 0)
        memcpy(all, found->patterns, found->pattern_count * sizeof *all);
    all[found->pattern_count++] = (tnd_file_pattern_t){.text = text, .fixed = fixed};
    found->patterns = all;
}

/*  Writes the patterns of pictures.  Files that they match and that are not pictures are bad rows. */
static void write_patterns(folder_t *self, size_t first, bool below)
{
    tnd_detected_format_list_t *found = self->found;
    const char *endings[ENDINGS_MOST];
    size_t count = find_endings(found, first, endings);
    char *whole = realpath(self->path, NULL);
    if (whole == NULL)
        return;
    const char *slash = strcmp(whole, "/") == 0 ? "" : "/";
    for (size_t i = 0; i < count; i++)
        add_pattern(
            found, self->arena,
            tnd_arena_format(self->arena, "%s%s%s*%s", whole, slash, below ? "*/" : "", endings[i]),
            strlen(whole) + strlen(slash));
    free(whole);
    for (size_t i = self->first_left; i < found->left_out.count; i++) {
        tnd_left_out_t *item = &found->left_out.items[i];
        struct stat is;
        bool folder = stat(item->path, &is) == 0 && !S_ISREG(is.st_mode);
        item->fed = item->fed || (!folder && is_matched(self, item->path, below, endings, count));
    }
}

/*  ------------------------------------------------------------------------------ folders below */

static bool is_picture(const char *path)
{
    tnd_file_head_t head;
    tnd_error_t error;
    return tnd_file_head_read(&head, path, &error) == TND_OK && tnd_file_head_is_picture(&head);
}

/*  Whether a picture is in a folder, or in a folder of it. */
static bool has_picture(const char *path, bool below)
{
    tnd_detected_format_list_t none = {0};
    tnd_arena_t *arena = tnd_arena_new();
    tnd_error_t error;
    folder_t folder;
    bool has = false;
    if (list(&folder, &none, arena, path, &error) == TND_OK) {
        for (size_t i = 0; !below && i < folder.file_count && !has; i++)
            has = is_picture(folder.files[i]);
        for (size_t i = 0; below && i < folder.folder_count && !has; i++)
            has = has_picture(folder.folders[i], false);
    }
    tnd_arena_destroy(&arena);
    return has;
}

/*  The folder of the part to propose, preferably training; NULL if the folders are not parts.  Names
 *  such as `train` may be classes too: then folders beside them have pictures. */
static const char *find_part(const folder_t *self)
{
    const char *chosen = NULL;
    bool nested = false, classes = false;
    for (size_t i = 0; i < self->folder_count; i++) {
        const char *part = tnd_detected_part(self->folders[i]);
        if (*part != '\0' && (chosen == NULL || (strcmp(part, "train") == 0 &&
                                                 strcmp(tnd_detected_part(chosen), "train") != 0)))
            chosen = self->folders[i];
    }
    if (chosen == NULL)
        return NULL;
    nested = has_picture(chosen, true);
    for (size_t i = 0; i < self->folder_count && !nested && !classes; i++)
        classes =
            *tnd_detected_part(self->folders[i]) == '\0' && has_picture(self->folders[i], false);
    return classes ? NULL : chosen;
}

/*  Returns to what was found before. */
static void undo(folder_t *self, size_t count, size_t left)
{
    self->found->count = count;
    self->found->left_out.count = left;
}

/*  Adds the data of one part if the folders are parts, and these data are clearer than the files beside
 *  them. */
static tnd_status_t add_part(folder_t *self, bool *added_p, tnd_error_t *error)
{
    size_t count = self->found->count, left = self->found->left_out.count;
    const char *part = find_part(self);
    *added_p = false;
    if (part == NULL)
        return TND_OK;
    tnd_status_t status = tnd_data_folder_add(self->found, self->arena, part, NULL, error);
    if (status == TND_OK && (count == self->first || !are_text(self->found, count))) {
        drop_items(self, self->first, count, NULL, part);
        leave_out_folders(self, part);
        *added_p = true;
    } else {
        undo(self, count, left);
    }
    return count > self->first ? TND_OK : status;
}

/*  Adds the pictures of the folders, whose names are labels. */
static tnd_status_t add_classes(folder_t *self, tnd_error_t *error)
{
    for (size_t i = 0; i < self->folder_count; i++) {
        folder_t class;
        if (list(&class, self->found, self->arena, self->folders[i], error) != TND_OK) {
            leave_out(self, self->folders[i], "a folder that cannot be read");
            continue;
        }
        for (size_t f = 0; f < class.file_count; f++)
            if (is_picture(class.files[f]))
                TND_TRY(tnd_detected_add_file(self->found, self->arena, class.files[f], NULL, true,
                                              error));
            else
                tnd_detected_leave_out(self->found, self->arena, class.files[f]);
        for (size_t f = 0; f < class.folder_count; f++)
            leave_out(&class, class.folders[f],
                      "a folder in a folder of pictures: `**` in the pattern reads these too");
    }
    return TND_OK;
}

/*  Whether there are more pictures in folders, from `count` on, than data beside these. */
static bool outnumber(const folder_t *self, size_t count)
{
    size_t beside = count - self->first, pictures = self->found->count - count;
    return pictures > 0 && (are_pictures(self) ? pictures > beside : pictures >= beside);
}

static tnd_status_t add_below(folder_t *self, tnd_error_t *error)
{
    size_t count = self->found->count, left = self->found->left_out.count;
    bool added;
    TND_TRY(add_part(self, &added, error));
    if (added)
        return TND_OK;
    TND_TRY(add_classes(self, error));
    if (outnumber(self, count)) {
        drop_items(self, self->first, count, NULL, "pictures in folders");
        write_patterns(self, self->first, true);
        self->found->labelled = self->found->labelled || self->folder_count > 1;
        return TND_OK;
    }
    if (count == self->first && self->folder_count != 1)
        return TND_OK; /* nothing is found, and what is left out says why */
    undo(self, count, left);
    if (count == self->first)
        return tnd_data_folder_add(self->found, self->arena, self->folders[0], NULL, error);
    leave_out_folders(self, NULL);
    if (are_pictures(self))
        write_patterns(self, self->first, false);
    return TND_OK;
}

/*  Files that are about data: README, README.md, LICENSE.txt ... */
static bool is_note(const char *path)
{
    static const char *const names[] = {"README", "LICENSE", "LICENCE", "COPYING", "CHANGELOG"};
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size = strlen(names[i]);
        if (strncasecmp(name, names[i], size) == 0 && (name[size] == '\0' || name[size] == '.'))
            return true;
    }
    return false;
}

static tnd_status_t add_files(folder_t *self, const char *as, tnd_error_t *error)
{
    for (size_t i = 0; i < self->file_count; i++)
        if (as == NULL && is_note(self->files[i]))
            leave_out(self, self->files[i], "notes about the data");
        else
            TND_TRY(tnd_detected_add_file(self->found, self->arena, self->files[i], as, as == NULL,
                                          error));
    if (as == NULL)
        keep_clearest(self);
    return TND_OK;
}

tnd_status_t tnd_data_folder_add(tnd_detected_format_list_t *found, tnd_arena_t *arena,
                                 const char *path, const char *as, tnd_error_t *error)
{
    folder_t self;
    TND_TRY(list(&self, found, arena, path, error));
    TND_TRY(add_files(&self, as, error));
    bool clear = found->count > self.first && !are_text(found, self.first) && !are_pictures(&self);
    if (as != NULL || clear)
        leave_out_folders(&self, NULL);
    else
        TND_TRY(add_below(&self, error));
    if (found->count == self.first)
        return tnd_fail(
            error,
            "%s: contains no file in a known format (%zu in others); folders in it are "
            "searched for JPEG and PNG files only: name other files by a pattern; files "
            "that are one row each are read by the source `folder`: tundish help folder",
            path, found->left_out.count - self.first_left);
    return TND_OK;
}
