/*  actors/stored/record_index.c - builds, publishes and opens the indexes of data files. */
#include "actors/stored/record_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/stored/npy_file.h"
#include "actors/stored/npy_header.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"

enum { WINDOW_BYTES = 1 << 20, HEADER_BYTES = 128 };

struct tnd_offsets {
    FILE *file;
    uint64_t count;
};

void tnd_offsets_add(tnd_offsets_t *self, uint64_t offset)
{
    self->count++;
    (void)fwrite(&offset, sizeof offset, 1, self->file);
}

tnd_status_t tnd_record_window(tnd_record_window_t *self, size_t at, size_t least,
                               const uint8_t **data_p, size_t *size_p, tnd_error_t *error)
{
    tnd_content_t *content = self->content;
    size_t left = content->size - at;
    if (content->mapping == NULL) {
        size_t some = least > WINDOW_BYTES ? least : WINDOW_BYTES;
        *size_p = some < left ? some : left;
        /* The bytes that the last view shows are asked for again only where they are not enough. */
        size_t skip = at - content->seen_offset;
        if (content->seen != NULL && at >= content->seen_offset && skip < content->seen_size &&
            content->seen_size - skip >= (least < left ? least : left)) {
            *data_p = content->seen + skip;
            *size_p = content->seen_size - skip;
            return TND_OK;
        }
        return tnd_content_view(content, at, *size_p, data_p, error);
    }
    if (self->populated == 0)
        TND_TRY(tnd_mapping_check(content->mapping, error));
    *size_p = left;
    least = least < left ? least : left;
    if (at + least > self->populated) {
        size_t some = least > 2 * WINDOW_BYTES ? least : 2 * WINDOW_BYTES;
        some = some < left ? some : left;
        TND_TRY(tnd_mapping_populate(content->mapping, at, some, error));
        self->populated = at + some;
    }
    *data_p = tnd_mapping_data(content->mapping) + at;
    return TND_OK;
}

/*  The folder of indexes: of the data file, or of the user's cache. */
static void folder_of(char folder[PATH_MAX], const char *path, tnd_index_place_t place)
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

static char *index_path(const char *folder, const tnd_stored_t *data, const char *format)
{
    const char *name = strrchr(data->path, '/');
    const uint64_t key[] = {data->identity, data->size, (uint64_t)data->modified_ns};
    return tnd_format_string("%s/%.100s.%016" PRIx64 ".%s.npy", folder,
                             name != NULL ? name + 1 : data->path,
                             tnd_content_hash(key, sizeof key), format);
}

/*  A file without a name where the file system has that, so that nothing is left of it if the
 *  process is killed; else one with the name `draft`. */
static int open_draft(const char *folder, const char *draft)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    return file >= 0 ? file : open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/*  Gives the draft its name.  Another process may have published the same index before. */
static bool publish(int file, const char *draft, const char *path)
{
    char by_number[64];
    snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", file);
    if (access(draft, F_OK) == 0)
        return rename(draft, path) == 0;
    return linkat(AT_FDCWD, by_number, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

static bool write_header(FILE *file, uint64_t count)
{
    char head[TND_NPY_HEADER_MAX];
    const tnd_column_t column = {.dtype = TND_U64};
    size_t size = tnd_npy_header(head, &column, count, HEADER_BYTES);
    return fseek(file, 0, SEEK_SET) == 0 && fwrite(head, 1, size, file) == size;
}

static tnd_status_t fill(FILE *file, tnd_stored_t *data, const tnd_record_finder_t *finder,
                         bool *written_p, tnd_error_t *error)
{
    tnd_record_window_t window = {.content = &data->content};
    tnd_offsets_t offsets = {.file = file};
    *written_p = write_header(file, 0);
    TND_TRY(finder->find(finder->context, &window, data->content.size, &offsets, error));
    TND_TRY(tnd_content_intact(&data->content, error));
    *written_p = *written_p && write_header(file, offsets.count) && fflush(file) == 0 &&
                 ferror(file) == 0 && fdatasync(fileno(file)) == 0;
    return TND_OK;
}

static tnd_status_t fail_index(const char *path, tnd_error_t *error)
{
    return tnd_fail(error,
                    "%s: the index of the data file cannot be written there: %s; make room, or set "
                    "XDG_CACHE_HOME to another folder",
                    path, strerror(errno));
}

static tnd_status_t build(const char *folder, const char *path, tnd_stored_t *data,
                          const tnd_record_finder_t *finder, tnd_error_t *error)
{
    char draft[PATH_MAX];
    snprintf(draft, sizeof draft, "%s.%d.draft", path, (int)getpid());
    int number = tnd_folder_make(folder) ? open_draft(folder, draft) : -1;
    FILE *file = number >= 0 ? fdopen(number, "w+") : NULL;
    if (file == NULL)
        return fail_index(path, error);
    bool written = false;
    tnd_status_t status = fill(file, data, finder, &written, error);
    if (status == TND_OK && !(written && publish(number, draft, path)))
        status = fail_index(path, error);
    (void)unlink(draft);
    fclose(file);
    return status;
}

tnd_status_t tnd_record_index_open(tnd_stored_t *index, tnd_stored_t *data,
                                   const tnd_record_finder_t *finder, tnd_index_place_t place,
                                   uint64_t *longest_p, tnd_error_t *error)
{
    char folder[PATH_MAX];
    tnd_error_t why;
    folder_of(folder, data->path, TND_INDEX_BESIDE);
    char *path = index_path(folder, data, finder->name);
    if (place == TND_INDEX_CACHE && access(path, R_OK) != 0) {
        free(path);
        folder_of(folder, data->path, place);
        path = index_path(folder, data, finder->name);
    }
    tnd_status_t status = TND_FAILED;
    /* One that is there may be cut, or of something else; the one just built is right. */
    for (int built = 0; status != TND_OK && built < 2; built++) {
        status = built > 0 || access(path, R_OK) != 0 ? build(folder, path, data, finder, error)
                                                      : TND_OK;
        if (status != TND_OK)
            break;
        status = tnd_npy_open(index, path, error);
        if (status == TND_OK &&
            tnd_splits_check_index(index, data->content.size, finder->stray_max, finder->skips_head,
                                   longest_p, &why) != TND_OK) {
            status = tnd_fail(error, "%s", why.text);
            tnd_stored_close(index);
        }
        if (status != TND_OK)
            (void)unlink(path);
    }
    if (status != TND_OK)
        free(path);
    tnd_content_forget(&data->content);
    return status;
}

void tnd_record_index_close(tnd_stored_t *index)
{
    char *path = (char *)(uintptr_t)index->path;
    tnd_stored_close(index);
    free(path);
}
