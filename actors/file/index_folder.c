/*  actors/file/index_folder.c - finds and removes the indexes of data files. */
#include "actors/file/index_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

enum { KEY_DIGITS = 16, NAME_MAX_BYTES = 100 };

static const char ending[] = ".npy";

void tnd_index_folder(char folder[PATH_MAX], const char *path, tnd_index_place_t place)
{
    const char *end = strrchr(path, '/');
    if (place == TND_INDEX_BESIDE) {
        snprintf(folder, PATH_MAX, "%.*s", end != NULL ? (int)(end - path) : 1,
                 end != NULL ? path : ".");
        return;
    }
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && cache[0] == '/')
        snprintf(folder, PATH_MAX, "%s/tundish", cache);
    else
        snprintf(folder, PATH_MAX, "%s/.cache/tundish", home != NULL ? home : "/tmp");
}

/*  NAME.KEY of the index of a data file. */
static char *stem_of(const tnd_indexed_file_t *data)
{
    const uint64_t key[] = {data->identity, data->size, (uint64_t)data->modified_ns};
    return tnd_format_string("%.*s.%016" PRIx64, NAME_MAX_BYTES, basename(data->path),
                             tnd_content_hash(key, sizeof key));
}

char *tnd_index_path(const char *folder, const tnd_indexed_file_t *data, const char *format)
{
    char *stem = stem_of(data);
    char *path = tnd_format_string("%s/%s.%s%s", folder, stem, format, ending);
    free(stem);
    return path;
}

/*  Finds the parts of NAME.KEY.FORMAT.npy: the bytes of NAME and of FORMAT. */
static bool parse(const char *name, size_t *name_p, size_t *format_p)
{
    size_t size = strlen(name), last = sizeof ending - 1;
    if (size <= last || strcmp(name + size - last, ending) != 0)
        return false;
    size_t end = size - last, dot = end;
    while (dot > 0 && name[dot - 1] != '.')
        dot--;
    /* One dot before the format, and one before the key. */
    if (dot < KEY_DIGITS + 3 || dot == end || name[dot - KEY_DIGITS - 2] != '.')
        return false;
    for (size_t i = dot - KEY_DIGITS - 1; i < dot - 1; i++)
        if (!isdigit((unsigned char)name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
            return false;
    *name_p = dot - KEY_DIGITS - 2;
    *format_p = end - dot;
    return true;
}

bool tnd_index_is_name(const char *path)
{
    size_t name, format;
    return parse(basename(path), &name, &format);
}

static bool is_of_compressed(const char *format)
{
    static const char *const packed[] = {"-gzip", "-zlib", "-zstd"};
    size_t size = strlen(format);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        if (size >= strlen(packed[i]) && strcmp(format + size - strlen(packed[i]), packed[i]) == 0)
            return true;
    return false;
}

/*  An index has one number more than there are records, of a compressed file two. */
static uint64_t count_records(uint64_t bytes, bool compressed)
{
    uint64_t least = TND_INDEX_HEADER + (compressed ? 2 : 1) * sizeof(uint64_t);
    return bytes > least ? (bytes - least) / sizeof(uint64_t) : 0;
}

static void add_entry(tnd_index_list_t *self, const char *folder, const char *file)
{
    size_t name, format;
    struct stat is;
    if (!parse(file, &name, &format))
        return;
    char *path = tnd_format_string("%s/%s", folder, file);
    if (stat(path, &is) != 0 || !S_ISREG(is.st_mode)) {
        free(path);
        return;
    }
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    char *text = tnd_format_string("%.*s%c%.*s", (int)name, file, '\0', (int)format,
                                   file + name + KEY_DIGITS + 2);
    self->items[self->count++] = (tnd_index_entry_t){
        .path = path,
        .name = text,
        .format = text + name + 1,
        .bytes = (uint64_t)is.st_size,
        .compressed = is_of_compressed(text + name + 1),
        .records = count_records((uint64_t)is.st_size, is_of_compressed(text + name + 1)),
        .used_ns = is.st_atim.tv_sec * INT64_C(1000000000) + is.st_atim.tv_nsec};
}

/*  Adds the indexes of a folder whose names begin with `stem`; NULL: all. */
static void add_folder(tnd_index_list_t *self, const char *folder, const char *stem)
{
    DIR *list = opendir(folder);
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;)
        if (stem == NULL || strncmp(entry->d_name, stem, strlen(stem)) == 0)
            add_entry(self, folder, entry->d_name);
    if (list != NULL)
        closedir(list);
}

static int compare(const void *one, const void *other)
{
    const tnd_index_entry_t *a = one, *b = other;
    return a->used_ns != b->used_ns ? (a->used_ns < b->used_ns ? 1 : -1) : strcmp(a->path, b->path);
}

static void sort(tnd_index_list_t *self)
{
    if (self->count > 0)
        qsort(self->items, self->count, sizeof *self->items, compare);
}

void tnd_index_list_cache(tnd_index_list_t *self)
{
    char folder[PATH_MAX];
    *self = (tnd_index_list_t){0};
    tnd_index_folder(folder, "", TND_INDEX_CACHE);
    add_folder(self, folder, NULL);
    sort(self);
}

tnd_status_t tnd_index_list_of(tnd_index_list_t *self, const char *path, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    char folder[PATH_MAX];
    tnd_content_t content = {0};
    *self = (tnd_index_list_t){0};
    tnd_index_folder(folder, path, TND_INDEX_BESIDE);
    if (tnd_index_is_name(path)) {
        add_entry(self, folder, basename(path));
        return self->count > 0 ? TND_OK : tnd_fail(error, "%s: no such index", path);
    }
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    tnd_indexed_file_t data = {
        .path = path, .size = content.size, .modified_ns = content.modified_ns};
    tnd_status_t status = tnd_content_identity(&content, &data.identity, error);
    tnd_content_close(&content);
    TND_TRY(status);
    char *stem = stem_of(&data);
    add_folder(self, folder, stem);
    tnd_index_folder(folder, path, TND_INDEX_CACHE);
    add_folder(self, folder, stem);
    free(stem);
    sort(self);
    return TND_OK;
}

void tnd_index_list_free(tnd_index_list_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->items[i].path);
        free(self->items[i].name);
    }
    free(self->items);
    *self = (tnd_index_list_t){0};
}

void tnd_index_trim(uint64_t limit, int64_t spared_ns)
{
    char folder[PATH_MAX];
    tnd_index_list_t list = {0};
    uint64_t bytes = 0;
    tnd_index_folder(folder, "", TND_INDEX_CACHE);
    add_folder(&list, folder, NULL);
    sort(&list);
    for (size_t i = 0; i < list.count; i++)
        bytes += list.items[i].bytes;
    for (size_t i = list.count; i > 0 && bytes > limit; i--) {
        const tnd_index_entry_t *entry = &list.items[i - 1];
        if (entry->used_ns >= spared_ns)
            break;
        (void)unlink(entry->path);
        bytes -= entry->bytes;
    }
    tnd_index_list_free(&list);
}
