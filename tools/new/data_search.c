/*  tools/new/data_search.c - finds the data that files, directories and patterns name. */
#include "tools/new/data_search.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/new/data_folder.h"
#include "tools/new/data_source.h"

/*  Adds a pattern as it is, of a source to whose labels folders without files count too. */
static void add_whole_pattern(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                              const char *pattern, const char *as)
{
    char here[PATH_MAX] = "";
    bool absolute = pattern[0] == '/' || getcwd(here, sizeof here) == NULL;
    tnd_detected_format_t item = {.source = "folder",
                                  .named = pattern,
                                  .written = as,
                                  .records = true,
                                  .part = "",
                                  .labels = ""};
    item.path = absolute ? pattern : tnd_arena_format(arena, "%s/%s", here, pattern);
    tnd_detected_append(self, arena, &item);
}

/*  Adds a file that the user named. */
static tnd_status_t add_named(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                              const char *path, const char *as, tnd_error_t *error)
{
    const char *name = tnd_arena_text(arena, path, strlen(path));
    TND_TRY(tnd_detected_add_file(self, arena, name, as, false, error));
    self->named = self->named || self->items[self->count - 1].pictures;
    return TND_OK;
}

static tnd_status_t add_pattern(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                const char *pattern, const char *as, tnd_error_t *error)
{
    glob_t found = {0};
    tnd_status_t status = TND_OK;
    const char *source = NULL;
    if (as != NULL)
        TND_TRY(tnd_data_source_name(&source, arena, as, error));
    if (source != NULL && strcmp(source, "folder") == 0) {
        add_whole_pattern(self, arena, pattern, as);
        return TND_OK;
    }
    if (glob(pattern, 0, NULL, &found) != 0)
        status = tnd_fail(error, "%s: no file matches", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == TND_OK; i++)
        status = add_named(self, arena, found.gl_pathv[i], as, error);
    globfree(&found);
    return status;
}

static void note_largest(tnd_detected_format_list_t *self, const tnd_detected_format_t *item)
{
    if (tnd_picture_size_pixels(item->size) > tnd_picture_size_pixels(self->largest))
        self->largest = item->size;
}

/*  The table among the files that are not used which has the labels of the pictures; it is used then. */
static void find_table(tnd_detected_format_list_t *self, tnd_arena_t *arena)
{
    tnd_strings_t patterns = {.count = self->pattern_count};
    const char **texts = tnd_arena_array(arena, self->pattern_count + 1, sizeof *texts);
    for (size_t i = 0; i < self->pattern_count; i++)
        texts[i] = self->patterns[i].text;
    patterns.items = texts;
    bool wanted = self->pattern_count > 0 && !self->labelled && !self->named;
    for (size_t i = 0; i < self->left_out.count && wanted && self->table == NULL; i++) {
        const char *path = self->left_out.items[i].path, *dot = strrchr(path, '.');
        char whole[PATH_MAX];
        if (dot == NULL || (strcmp(dot, ".csv") != 0 && strcmp(dot, ".tsv") != 0) ||
            realpath(path, whole) == NULL)
            continue;
        self->table =
            tnd_picture_table_read(arena, tnd_arena_text(arena, whole, strlen(whole)), &patterns);
        if (self->table != NULL)
            tnd_left_out_remove(&self->left_out, i);
    }
}

tnd_status_t tnd_data_search(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                             const char *const *names, size_t count, const char *as,
                             tnd_error_t *error)
{
    *self = (tnd_detected_format_list_t){0};
    for (size_t i = 0; i < count; i++) {
        struct stat is;
        bool there = stat(names[i], &is) == 0;
        if (there && S_ISDIR(is.st_mode))
            TND_TRY(tnd_data_folder_add(self, arena, names[i], as, error));
        else if (!there && strpbrk(names[i], "*?[") != NULL)
            TND_TRY(add_pattern(self, arena, names[i], as, error));
        else
            TND_TRY(add_named(self, arena, names[i], as, error));
    }
    for (size_t i = 0; i < self->count; i++)
        if (self->items[i].pictures)
            note_largest(self, &self->items[i]);
        else
            self->items[i].part = tnd_detected_part(self->items[i].path);
    find_table(self, arena);
    return TND_OK;
}
