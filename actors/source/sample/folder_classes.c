/*  actors/source/sample/folder_classes.c - the classes of files in folders: which number is which label. */
#include "actors/source/sample/folder_classes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/text/quantity.h"

static void add(tnd_folder_classes_t *self, const char *name, size_t size)
{
    self->names = tnd_grow(self->names, self->count, &self->room, sizeof *self->names);
    self->names[self->count++] = tnd_format_string("%.*s", (int)size, name);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*  The name of the folder that gives a folder its label; *size_p: its bytes. */
static const char *word_of(const tnd_names_folder_t *folder, size_t *size_p)
{
    size_t begin = folder->label;
    while (begin > 0 && folder->path[begin - 1] != '/')
        begin--;
    *size_p = folder->label - begin;
    return folder->path + begin;
}

/*  Sorts the names, and keeps each once. */
static void sort_names(tnd_folder_classes_t *self)
{
    size_t distinct = 0;
    if (self->count > 0)
        qsort(self->names, self->count, sizeof *self->names, compare_words);
    for (size_t i = 0; i < self->count; i++)
        if (distinct == 0 || strcmp(self->names[distinct - 1], self->names[i]) != 0)
            self->names[distinct++] = self->names[i];
        else
            free(self->names[i]);
    self->count = distinct;
}

void tnd_folder_classes_find_words(tnd_folder_classes_t *self, const char *const *words,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(self, words[i], strlen(words[i]));
        /* Few words, of many files. */
        if (self->count == self->room)
            sort_names(self);
    }
    sort_names(self);
}

void tnd_folder_classes_find(tnd_folder_classes_t *self, const tnd_names_t *names)
{
    for (size_t f = 0; f < names->folder_count; f++) {
        size_t size;
        const char *word = word_of(&names->folders[f], &size);
        add(self, word, size);
    }
    sort_names(self);
}

void tnd_folder_classes_list(tnd_folder_classes_t *self, const tnd_strings_t *list)
{
    for (size_t i = 0; i < list->count; i++)
        add(self, list->items[i], strlen(list->items[i]));
}

tnd_status_t tnd_folder_classes_read(tnd_folder_classes_t *self, const char *path,
                                     tnd_error_t *error)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return tnd_fail(error, "folder: `classes`: %s: %s", path, strerror(errno));
    while (getline(&line, &room, file) > 0) {
        size_t size = strcspn(line, "\r\n");
        if (size > 0)
            add(self, line, size);
    }
    bool failed = ferror(file) != 0;
    free(line);
    fclose(file);
    if (failed || self->count == 0)
        return tnd_fail(error, "folder: `classes`: %s: %s", path,
                        failed ? "cannot be read" : "has no names: write one on each line");
    return TND_OK;
}

/*  A class; several are sorted by name. */
typedef struct {
    const char *name;
    size_t size;
    int32_t place;
} class_t;

static int compare_classes(const void *a, const void *b)
{
    const class_t *one = a, *two = b;
    size_t size = one->size < two->size ? one->size : two->size;
    int order = memcmp(one->name, two->name, size);
    return order != 0 ? order : (one->size > two->size) - (one->size < two->size);
}

static class_t *sort(const tnd_folder_classes_t *self)
{
    class_t *sorted = tnd_allocate(self->count, sizeof *sorted);
    for (size_t i = 0; i < self->count; i++)
        sorted[i] = (class_t){self->names[i], strlen(self->names[i]), (int32_t)i};
    qsort(sorted, self->count, sizeof *sorted, compare_classes);
    return sorted;
}

static size_t files_of(const tnd_names_t *names, size_t folder)
{
    size_t end = folder + 1 < names->folder_count ? names->folders[folder + 1].first : names->count;
    return end - names->folders[folder].first;
}

static tnd_status_t check_twice(const class_t *sorted, size_t count, tnd_error_t *error)
{
    for (size_t i = 1; i < count; i++)
        if (compare_classes(&sorted[i - 1], &sorted[i]) == 0)
            return tnd_fail(error, "folder: `classes` has `%s` twice", sorted[i].name);
    return TND_OK;
}

static tnd_status_t number(const class_t *sorted, size_t count, const tnd_names_t *names,
                           int32_t *labels, tnd_error_t *error)
{
    TND_TRY(check_twice(sorted, count, error));
    for (size_t f = 0; f < names->folder_count; f++) {
        class_t word = {.place = 0};
        word.name = word_of(&names->folders[f], &word.size);
        const class_t *found = bsearch(&word, sorted, count, sizeof *sorted, compare_classes);
        if (found == NULL && files_of(names, f) > 0)
            return tnd_fail(error,
                            "folder: `%.*s` of %s is not one of the %zu `classes`: add it, or name "
                            "only other folders in `files`",
                            (int)word.size, word.name, names->folders[f].path, count);
        labels[f] = found == NULL ? 0 : found->place;
    }
    return TND_OK;
}

tnd_status_t tnd_folder_classes_number(const tnd_folder_classes_t *self, const tnd_names_t *names,
                                       int32_t *labels, tnd_error_t *error)
{
    class_t *sorted = sort(self);
    tnd_status_t status = number(sorted, self->count, names, labels, error);
    free(sorted);
    return status;
}

static tnd_status_t number_words(const class_t *sorted, size_t count, const char *const *words,
                                 size_t word_count, int32_t *labels, size_t *unknown_p,
                                 tnd_error_t *error)
{
    TND_TRY(check_twice(sorted, count, error));
    for (size_t i = 0; i < word_count; i++) {
        const class_t word = {.name = words[i], .size = strlen(words[i])};
        const class_t *found = bsearch(&word, sorted, count, sizeof *sorted, compare_classes);
        *unknown_p = i;
        if (found == NULL)
            return tnd_fail(error, "`%.100s` is not one of the %zu `classes`: add it", words[i],
                            count);
        labels[i] = found->place;
    }
    return TND_OK;
}

tnd_status_t tnd_folder_classes_number_words(const tnd_folder_classes_t *self,
                                             const char *const *words, size_t count,
                                             int32_t *labels, size_t *unknown_p, tnd_error_t *error)
{
    class_t *sorted = sort(self);
    *unknown_p = SIZE_MAX;
    tnd_status_t status = number_words(sorted, self->count, words, count, labels, unknown_p, error);
    free(sorted);
    return status;
}

char *tnd_folder_classes_empty(const tnd_folder_classes_t *self, const size_t *files)
{
    size_t empty = 0, first = 0;
    for (size_t i = self->count; i-- > 0;)
        if (files[i] == 0) {
            empty++;
            first = i;
        }
    return empty == 0 ? NULL
                      : tnd_format_string("folder: %zu of %zu classes %s no file: `%s`%s", empty,
                                          self->count, empty == 1 ? "has" : "have",
                                          self->names[first], empty > 1 ? " and others" : "");
}

char *tnd_folder_classes_disordered(const tnd_folder_classes_t *self)
{
    size_t disordered = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < self->count; i++) {
        uint64_t number;
        if (tnd_quantity_u64(self->names[i], &number) != TND_QUANTITY_OK)
            return NULL;
        if (number < before && disordered == 0)
            disordered = i;
        before = number;
    }
    return disordered == 0
               ? NULL
               : tnd_format_string("folder: the classes are numbers, but sorted as texts, so `%s` "
                                   "is label %zu; `classes: [...]` gives them another order",
                                   self->names[disordered - 1], disordered - 1);
}

void tnd_folder_classes_free(tnd_folder_classes_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->names[i]);
    free(self->names);
    *self = (tnd_folder_classes_t){0};
}
