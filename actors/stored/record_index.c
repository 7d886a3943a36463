/*  actors/stored/record_index.c - builds, publishes and opens the indexes of data files. */
#include "actors/stored/record_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY /* the size of a state */
#include <xxhash.h>

#include "actors/stored/draft.h"
#include "actors/stored/npy_file.h"
#include "actors/stored/npy_header.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"

/*  Records that are looked at when an index is opened, and how much of each. */
enum { SAMPLES = 4, SAMPLE_BYTES = 1 << 12 };

/*  The header of an index ends with a comment of Python: this, and the hash of the numbers. */
static const char hash_mark[] = " # xxh3 ";
enum { HASH_DIGITS = 16, HASHED_AT_ONCE = 1 << 20 };

struct tnd_offsets {
    FILE *file;
    uint64_t count;
    XXH3_state_t hash;
};

void tnd_offsets_add(tnd_offsets_t *self, uint64_t offset)
{
    self->count++;
    (void)XXH3_64bits_update(&self->hash, &offset, sizeof offset);
    (void)fwrite(&offset, sizeof offset, 1, self->file);
}

static bool write_header(FILE *file, uint64_t count, uint64_t hash)
{
    char head[TND_NPY_HEADER_MAX], comment[sizeof hash_mark + HASH_DIGITS];
    const tnd_column_t column = {.dtype = TND_U64};
    size_t size = tnd_npy_header(head, &column, count, TND_INDEX_HEADER);
    size_t length = (size_t)snprintf(comment, sizeof comment, "%s%016" PRIx64, hash_mark, hash);
    memcpy(head + size - 1 - length, comment, length); /* before the end of the line */
    return fseek(file, 0, SEEK_SET) == 0 && fwrite(head, 1, size, file) == size;
}

/*  All numbers of the index. */
static tnd_status_t find_all(tnd_record_window_t *window, const tnd_record_finder_t *finder,
                             tnd_offsets_t *offsets, tnd_error_t *error)
{
    TND_TRY(finder->find(finder->context, window, offsets, error));
    bool damaged = tnd_record_window_damaged(window);
    if (damaged && offsets->count == 0)
        tnd_offsets_add(offsets, 0);
    if (damaged)
        tnd_offsets_add(offsets, window->reached);
    if (window->decompress != NULL)
        tnd_offsets_add(offsets, window->reached);
    return TND_OK;
}

static tnd_status_t fill(FILE *file, tnd_stored_t *data, const tnd_record_finder_t *finder,
                         bool *written_p, tnd_error_t *error)
{
    tnd_record_window_t window;
    tnd_offsets_t offsets = {.file = file};
    (void)XXH3_64bits_reset(&offsets.hash);
    *written_p = write_header(file, 0, 0);
    tnd_record_window_init(&window, &data->content, data->compression);
    tnd_status_t status = find_all(&window, finder, &offsets, error);
    tnd_record_window_free(&window);
    TND_TRY(status);
    TND_TRY(tnd_content_intact(&data->content, error));
    *written_p = *written_p &&
                 write_header(file, offsets.count, XXH3_64bits_digest(&offsets.hash)) &&
                 fflush(file) == 0 && ferror(file) == 0;
    return TND_OK;
}

/*  The paths of indexes in memory, before the number of the descriptor. */
static const char memory_path[] = "/proc/self/fd/";

static tnd_status_t fail_index(const char *path, tnd_index_place_t place, tnd_error_t *error)
{
    int code = errno;
    bool full = code == ENOSPC || code == EDQUOT;
    return tnd_fail(error, "%s: the index of the data file cannot be stored there: %s; %s%s", path,
                    strerror(code), full ? "make room, or " : "",
                    place == TND_INDEX_BESIDE
                        ? "store it in the cache, without `beside`"
                        : "set XDG_CACHE_HOME to a folder that can be written");
}

/*  Writes the index to a descriptor, which stays open. */
static tnd_status_t build_at(int to, tnd_stored_t *data, const tnd_record_finder_t *finder,
                             bool *written_p, tnd_error_t *error)
{
    int copy = dup(to);
    FILE *file = copy >= 0 ? fdopen(copy, "w+") : NULL;
    *written_p = false;
    if (file == NULL) {
        if (copy >= 0)
            close(copy);
        return TND_OK;
    }
    tnd_status_t status = fill(file, data, finder, written_p, error);
    int reason = errno;
    fclose(file);
    errno = reason;
    return status;
}

/*  Without a folder that can be written the index is a file in memory; *path_p becomes its path, by
 *  which tnd_record_index_close knows its descriptor. */
static tnd_status_t build_in_memory(char **path_p, tnd_stored_t *data,
                                    const tnd_record_finder_t *finder,
                                    tnd_record_index_facts_t *facts, tnd_error_t *error)
{
    bool written = false;
    int file = memfd_create("tundish index", MFD_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, "%s", facts->why.text);
    tnd_status_t status = build_at(file, data, finder, &written, error);
    if (status == TND_OK && !written)
        status = tnd_fail(error, "%s", facts->why.text);
    if (status != TND_OK) {
        close(file);
        return status;
    }
    free(*path_p);
    *path_p = tnd_format_string("%s%d", memory_path, file);
    facts->in_memory = true;
    return TND_OK;
}

/*  *file_p: a descriptor of it; -1: it is to be opened. */
static tnd_status_t build(char **path_p, int *file_p, tnd_stored_t *data,
                          const tnd_record_finder_t *finder, tnd_index_place_t place,
                          tnd_record_index_facts_t *facts, tnd_error_t *error)
{
    tnd_draft_t draft;
    bool written = false;
    tnd_status_t status = TND_OK;
    if (tnd_draft_open(&draft, *path_p))
        status = build_at(draft.file, data, finder, &written, error);
    written = status == TND_OK && written && tnd_draft_publish(&draft);
    if (!written)
        (void)fail_index(*path_p, place, &facts->why);
    *file_p = tnd_draft_take(&draft);
    tnd_draft_close(&draft);
    if (status != TND_OK || written)
        return status;
    return build_in_memory(path_p, data, finder, facts, error);
}

/*  Compares the hash in the header with that of the numbers. */
static tnd_status_t check_hash(tnd_stored_t *index, tnd_error_t *error)
{
    const uint8_t *bytes;
    char comment[sizeof hash_mark + HASH_DIGITS] = "";
    uint64_t hash = 0, size = index->rows * sizeof(uint64_t);
    size_t length = sizeof comment - 1;
    if (index->offset > length) {
        TND_TRY(tnd_content_view(&index->content, 0, index->offset, &bytes, error));
        memcpy(comment, bytes + index->offset - 1 - length, length);
    }
    if (strncmp(comment, hash_mark, sizeof hash_mark - 1) != 0 ||
        sscanf(comment + sizeof hash_mark - 1, "%16" SCNx64, &hash) != 1)
        return tnd_fail(error, "%s: has no hash of its numbers: an earlier version made it",
                        index->path);
    XXH3_state_t state;
    (void)XXH3_64bits_reset(&state);
    for (uint64_t at = 0; at < size; at += HASHED_AT_ONCE) {
        size_t some = size - at < HASHED_AT_ONCE ? size - at : HASHED_AT_ONCE;
        TND_TRY(tnd_content_view(&index->content, index->offset + at, some, &bytes, error));
        (void)XXH3_64bits_update(&state, bytes, some);
    }
    tnd_content_forget(&index->content);
    return XXH3_64bits_digest(&state) == hash
               ? TND_OK
               : tnd_fail(error, "%s: its numbers are not those that were written", index->path);
}

/*  Looks at some records of a plain file: most of them should be where the index says.  Damaged ones
 *  may not be. */
static tnd_status_t check_samples(const tnd_stored_t *index, tnd_stored_t *data,
                                  const tnd_record_finder_t *finder, tnd_error_t *error)
{
    uint64_t rows = index->rows - 1, good = 0;
    for (uint64_t i = 0; i < SAMPLES && rows > 0; i++) {
        uint64_t begin, end, row = (rows - 1) / (SAMPLES - 1) * i;
        const uint8_t *bytes;
        row = i + 1 < SAMPLES ? row : rows - 1;
        bool first = row == 0;
        TND_TRY(tnd_splits_row(index, data, row, &begin, &end, error));
        uint64_t at = first ? begin : begin - 1;
        if (at == data->content.size)
            continue;
        TND_TRY(tnd_content_view(&data->content, at, SAMPLE_BYTES, &bytes, error));
        uint64_t left = data->content.size - at;
        size_t have = left < SAMPLE_BYTES ? left : SAMPLE_BYTES;
        good += finder->fits(first ? -1 : bytes[0], bytes + !first, have - !first, end - begin,
                             end == data->content.size);
    }
    TND_TRY(tnd_content_intact(&data->content, error));
    if (rows == 0 || good >= SAMPLES / 2)
        return TND_OK;
    return tnd_fail(error, "%s: is the index of another file", index->path);
}

/*  Leaves the line ends out of the longest record.  The last record may have none; that of a
 *  compressed file is not looked at. */
static tnd_status_t leave_out_ends(const tnd_stored_t *index, tnd_stored_t *data,
                                   uint64_t *longest_p, tnd_error_t *error)
{
    uint64_t begin, end;
    const uint8_t *last = NULL;
    if (index->rows < 2)
        return TND_OK;
    TND_TRY(tnd_splits_row(index, data, index->rows - 2, &begin, &end, error));
    if (data->compression == TND_COMPRESSION_NONE && begin < end)
        TND_TRY(tnd_content_view(&data->content, end - 1, 1, &last, error));
    *longest_p -= *longest_p > 0;
    if (end - begin > *longest_p && !(last != NULL && (*last == '\n' || *last == '\r')))
        *longest_p = end - begin;
    return tnd_content_intact(&data->content, error);
}

/*  Opens and checks the index at `path`; one that was just built is right.  Takes the descriptor. */
static tnd_status_t open_index(tnd_stored_t *index, const char *path, int file, tnd_stored_t *data,
                               const tnd_record_finder_t *finder, bool built,
                               tnd_record_index_facts_t *facts, tnd_error_t *error)
{
    bool plain = data->compression == TND_COMPRESSION_NONE;
    uint64_t size = plain ? data->content.size : INT64_MAX;
    tnd_error_t why;
    TND_TRY(tnd_npy_adopt(index, path, file, error));
    data->rows = size;
    tnd_status_t status = built ? TND_OK : check_hash(index, &why);
    if (status == TND_OK)
        status = tnd_splits_check_index(index, size, plain ? 0 : size, finder->skips_head,
                                        &facts->longest, &why);
    uint64_t end = 0;
    if (status == TND_OK && plain && !built)
        status = check_samples(index, data, finder, &why);
    if (status == TND_OK && !plain && index->rows < 2)
        status = tnd_fail(&why, "%s: has one number", path);
    if (status == TND_OK && !plain)
        status = tnd_splits_row(index, data, index->rows - 2, &end, &size, &why);
    if (status == TND_OK && !plain && end != size)
        status = tnd_fail(&why, "%s: ends before the content does", path);
    if (status != TND_OK) {
        tnd_stored_close(index);
        return tnd_fail(error, "%s", why.text);
    }
    data->rows = size;
    if (!plain)
        index->rows--;
    if (finder->line_ends)
        status = leave_out_ends(index, data, &facts->longest, error);
    if (status != TND_OK)
        tnd_stored_close(index);
    return status;
}

/*  Frees the path of an index, and the memory of one that has no other path.  NULL: of one that could
 *  not be made. */
static void free_path(char *path)
{
    int file;
    if (path != NULL && sscanf(path, "/proc/self/fd/%d", &file) == 1)
        close(file);
    free(path);
}

/*  Of a whole file; zeros if it cannot be read. */
static void hash_file(const char *path, uint64_t hash[2])
{
    struct stat is;
    tnd_error_t ignored;
    hash[0] = hash[1] = 0;
    if (stat(path, &is) != 0 ||
        tnd_content_whole(path, (size_t)is.st_size, 0, hash, &ignored) != TND_OK)
        hash[0] = hash[1] = 0;
}

tnd_status_t tnd_record_index_open(tnd_stored_t *index, tnd_stored_t *data,
                                   const tnd_record_finder_t *finder, tnd_index_place_t place,
                                   tnd_record_index_facts_t *facts, tnd_error_t *error)
{
    char folder[PATH_MAX];
    char name[128];
    uint64_t before[2], after[2];
    bool plain = data->compression == TND_COMPRESSION_NONE;
    const tnd_indexed_file_t indexed = {data->path, data->identity, data->size, data->modified_ns};
    *facts = (tnd_record_index_facts_t){0};
    snprintf(name, sizeof name, "%s%s%s", finder->name, plain ? "" : "-",
             plain ? "" : tnd_compression_name(data->compression));
    tnd_index_folder(folder, data->path, TND_INDEX_BESIDE);
    char *path = tnd_index_path(folder, &indexed, name);
    if (place == TND_INDEX_CACHE && access(path, R_OK) != 0) {
        free(path);
        tnd_index_folder(folder, data->path, place);
        path = tnd_index_path(folder, &indexed, name);
    }
    tnd_status_t status = TND_FAILED;
    /* One that is there may be cut, or of something else; the one just built is right. */
    for (int built = 0; status != TND_OK && built < 2; built++) {
        int file = -1;
        bool there = built == 0 && access(path, R_OK) == 0;
        status = there ? TND_OK : build(&path, &file, data, finder, place, facts, error);
        if (status != TND_OK)
            break;
        status = open_index(index, path, file, data, finder, !there, facts, error);
        if (status == TND_OK)
            break;
        if (there) {
            hash_file(path, before);
            facts->again = true;
            facts->why = *error;
        }
        (void)unlink(path);
    }
    if (facts->again && status == TND_OK) {
        /* Many damaged records look like the index of another file. */
        hash_file(path, after);
        facts->again = memcmp(before, after, sizeof after) != 0;
    }
    /* Which indexes were used last decides which are removed; the file system may not record it. */
    static const struct timespec used[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    if (status == TND_OK)
        (void)utimensat(AT_FDCWD, path, used, 0);
    else
        free_path(path);
    tnd_content_forget(&data->content);
    return status;
}

void tnd_record_index_close(tnd_stored_t *index)
{
    char *path = (char *)(uintptr_t)index->path;
    tnd_stored_close(index);
    free_path(path);
}
