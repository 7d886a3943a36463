/*  actors/file/content.c - the bytes of one file, mapped or read.  */
#include "actors/file/content.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/data/open_files.h"

enum { IDENTITY_BYTES = 64 * 1024, HASH_BYTES = 1024 * 1024, WINDOW_BYTES = 1 << 20 };

static const uint64_t pause_first_ns = 10000000, pause_most_ns = 1000000000;

/*  File systems whose pages may come from another machine or program (`man 2 statfs`). */
static bool is_remote(const char *path)
{
    static const uint32_t magics[] = {
        0x6969,     /* nfs */
        0x517b,     /* smb */
        0xfe534d42, /* smb2 */
        0xff534d42, /* cifs */
        0x0bd00bd0, /* lustre */
        0x65735546, /* fuse */
        0x00c36400, /* ceph */
        0x01021997, /* 9p */
        0x5346414f, /* afs */
        0x47504653, /* gpfs */
        0x19830326, /* beegfs */
    };
    struct statfs system;
    if (statfs(path, &system) != 0)
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if ((uint32_t)system.f_type == magics[i])
            return true;
    return false;
}

static bool is_transient(int code)
{
    return code == EIO || code == ESTALE || code == EAGAIN || code == ETIMEDOUT;
}

static void pause_for(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
}

static int64_t modified_of(const struct stat *status)
{
    return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

static tnd_status_t open_to_read(tnd_content_t *self, int file, tnd_error_t *error)
{
    struct stat status;
    self->file = file;
    TND_TRY(tnd_mapping_open_file(self->path, &self->file, &status, error));
    self->size = (size_t)status.st_size;
    self->modified_ns = modified_of(&status);
    self->device = status.st_dev;
    self->inode = status.st_ino;
    self->is_read = true;
    return TND_OK;
}

void tnd_content_rest(tnd_content_t *self)
{
    if (self->is_read && self->file >= 0)
        self->kept = tnd_kept_file_new(self->file);
    self->file = -1;
}

tnd_status_t tnd_content_open(tnd_content_t *self, const char *path,
                              const tnd_source_scope_t *scope, tnd_error_t *error)
{
    return tnd_content_adopt(self, path, -1, scope, error);
}

tnd_status_t tnd_content_adopt(tnd_content_t *self, const char *path, int file,
                               const tnd_source_scope_t *scope, tnd_error_t *error)
{
    *self = (tnd_content_t){.path = path, .file = -1, .retry_ns = scope->retry_ns};
    if (scope->access == TND_ACCESS_READ || (scope->access == TND_ACCESS_AUTO && is_remote(path)))
        return open_to_read(self, file, error);
    TND_TRY(tnd_mapping_adopt(&self->mapping, path, file, error));
    self->size = tnd_mapping_size(self->mapping);
    self->modified_ns = tnd_mapping_modified(self->mapping);
    return TND_OK;
}

tnd_status_t tnd_content_intact(const tnd_content_t *self, tnd_error_t *error)
{
    return self->mapping != NULL ? tnd_mapping_intact(self->mapping, error) : TND_OK;
}

tnd_status_t tnd_content_unmap(tnd_content_t *self, tnd_error_t *error)
{
    size_t size = self->size;
    tnd_mapping_destroy(&self->mapping);
    TND_TRY(open_to_read(self, -1, error));
    tnd_content_rest(self);
    if (self->size == size)
        return TND_OK;
    return tnd_fail(error, "%s: had %zu bytes when it was opened, and now has %zu", self->path,
                    size, self->size);
}

void tnd_content_advise(tnd_content_t *self, tnd_access_pattern_t pattern, bool fits)
{
    if (self->mapping != NULL)
        tnd_mapping_advise(self->mapping, pattern, fits);
    self->at_random = self->is_read && pattern != TND_PATTERN_FORWARD;
    int file = self->at_random && self->kept != NULL ? tnd_kept_file_borrow(self->kept) : -1;
    if (file < 0)
        return;
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    tnd_kept_file_return(self->kept);
}

bool tnd_content_by_rows(const tnd_content_t *self)
{
    return self->mapping != NULL ? tnd_mapping_by_rows(self->mapping) : self->at_random;
}

bool tnd_content_ahead(const tnd_content_t *self, size_t offset, size_t size)
{
    if (self->mapping != NULL)
        return tnd_mapping_ahead(self->mapping, offset, size);
    int file = self->kept != NULL ? tnd_kept_file_borrow(self->kept) : -1;
    if (file < 0)
        return false;
    (void)posix_fadvise(file, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
    tnd_kept_file_return(self->kept);
    return self->at_random;
}

void tnd_content_forget(tnd_content_t *self)
{
    free(self->seen);
    self->seen = NULL;
    self->seen_size = 0;
}

void tnd_content_close(tnd_content_t *self)
{
    tnd_mapping_destroy(&self->mapping);
    tnd_content_forget(self);
    tnd_kept_file_destroy(&self->kept);
    if (self->is_read && self->file >= 0)
        close(self->file);
    self->file = -1;
    self->is_read = false;
}

tnd_status_t tnd_content_view(tnd_content_t *self, size_t offset, size_t size,
                              const uint8_t **data_p, tnd_error_t *error)
{
    assert(offset <= self->size);
    if (size > self->size - offset)
        size = self->size - offset;
    if (self->mapping != NULL) {
        TND_TRY(tnd_mapping_check(self->mapping, error));
        *data_p = tnd_mapping_data(self->mapping) + offset;
        return TND_OK;
    }
    if (self->seen == NULL || self->seen_offset != offset || self->seen_size < size) {
        tnd_content_forget(self);
        self->seen = malloc(size + 1);
        if (self->seen == NULL)
            return tnd_fail(error, "%s: cannot allocate %zu bytes for it", self->path, size);
        self->seen_offset = offset;
        self->seen_size = size;
        TND_TRY(tnd_content_read(self, offset, size, self->seen, error));
    }
    *data_p = self->seen;
    return TND_OK;
}

static void watch(const tnd_content_t *self, size_t at)
{
    if (self->watch != NULL)
        self->watch(self->watcher, at);
}

tnd_status_t tnd_content_window(tnd_content_window_t *self, size_t at, size_t least,
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
        watch(content, at);
        return tnd_content_view(content, at, *size_p, data_p, error);
    }
    if (self->populated == 0)
        TND_TRY(tnd_mapping_check(content->mapping, error));
    *size_p = left;
    least = least < left ? least : left;
    if (at + least > self->populated) {
        size_t some = least > 2 * WINDOW_BYTES ? least : 2 * WINDOW_BYTES;
        some = some < left ? some : left;
        watch(content, at);
        TND_TRY(tnd_mapping_populate(content->mapping, at, some, error));
        self->populated = at + some;
    }
    *data_p = tnd_mapping_data(content->mapping) + at;
    return TND_OK;
}

/*  Whether an open file is the one that was opened at first: some servers number files anew. */
static bool is_same(const tnd_content_t *self, const struct stat *status)
{
    return (status->st_dev == self->device && status->st_ino == self->inode) ||
           (modified_of(status) == self->modified_ns && (size_t)status->st_size == self->size);
}

/*  Opens the file by its name once more; -1: with errno.  `stale`: the server has lost the first one,
 *  and may find it again. */
static int open_again(const tnd_content_t *self, bool stale)
{
    struct stat status;
    int file = open(self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || stale)
        return file;
    if (fstat(file, &status) != 0 || !is_same(self, &status)) {
        close(file);
        errno = ENOENT;
        return -1;
    }
    if (self->at_random)
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    return file;
}

/*  One attempt. */
static ssize_t read_once(const tnd_content_t *self, bool stale, size_t offset, size_t size,
                         void *out)
{
    if (self->file >= 0 && !stale)
        return pread(self->file, out, size, (off_t)offset);
    int file = self->kept != NULL && !stale ? tnd_kept_file_borrow(self->kept) : -1;
    bool borrowed = file >= 0;
    if (!borrowed)
        file = open_again(self, stale);
    if (file < 0)
        return -1;
    ssize_t got = pread(file, out, size, (off_t)offset);
    int code = errno;
    if (borrowed)
        tnd_kept_file_return(self->kept);
    else
        close(file);
    errno = code;
    return got;
}

tnd_status_t tnd_content_read(const tnd_content_t *self, size_t offset, size_t size, void *out,
                              tnd_error_t *error)
{
    uint64_t pause_ns = pause_first_ns, waited_ns = 0;
    size_t done = 0;
    bool stale = false;
    while (done < size) {
        ssize_t got = read_once(self, stale, offset + done, size - done, (uint8_t *)out + done);
        if (got > 0) {
            done += (size_t)got;
            continue;
        }
        if (got == 0)
            return tnd_fail(error,
                            "%s: shrank while it was read: it had %zu bytes and now ends at byte "
                            "%zu; put it back and do not write to data during a run",
                            self->path, self->size, offset + done);
        int code = errno;
        if (code == EINTR)
            continue;
        if (code == ENOENT)
            return tnd_fail(error,
                            "%s: was removed or replaced while it was read; put it back and do "
                            "not write to data during a run",
                            self->path);
        if (!is_transient(code) || waited_ns >= self->retry_ns)
            return tnd_fail(error,
                            "%s: bytes %zu to %zu cannot be read%s: %s; check the disk or "
                            "its server",
                            self->path, offset + done, offset + size,
                            waited_ns > 0 ? ", also when retried" : "", strerror(code));
        stale = stale || code == ESTALE;
        pause_for(pause_ns);
        waited_ns += pause_ns;
        pause_ns = 2 * pause_ns < pause_most_ns ? 2 * pause_ns : pause_most_ns;
    }
    return TND_OK;
}

/*  Hashes the first and last `end` bytes of `size`. */
static uint64_t hash_ends(const void *first, const void *last, size_t end, size_t size)
{
    return XXH3_64bits_withSeed(last, end, XXH3_64bits_withSeed(first, end, size));
}

uint64_t tnd_content_hash(const void *data, size_t size)
{
    size_t end = size < IDENTITY_BYTES ? size : IDENTITY_BYTES;
    return hash_ends(data, (const uint8_t *)data + size - end, end, size);
}

tnd_status_t tnd_content_identity(tnd_content_t *self, uint64_t *identity_p, tnd_error_t *error)
{
    static const size_t most = IDENTITY_BYTES;
    const uint8_t *data;
    if (self->mapping != NULL || self->size <= most || self->seen_size == self->size) {
        TND_TRY(tnd_content_view(self, 0, self->size, &data, error));
        *identity_p = tnd_content_hash(data, self->size);
        return TND_OK;
    }
    uint8_t first[IDENTITY_BYTES];
    TND_TRY(tnd_content_view(self, 0, most, &data, error));
    memcpy(first, data, most);
    TND_TRY(tnd_content_view(self, self->size - most, most, &data, error));
    *identity_p = hash_ends(first, data, most, self->size);
    return TND_OK;
}

static tnd_status_t hash_all(const tnd_content_t *self, uint64_t hash[2], tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    XXH3_state_t *state = tnd_require_memory(XXH3_createState());
    uint8_t *bytes = tnd_allocate(1, HASH_BYTES);
    XXH3_128bits_reset(state);
    for (size_t at = 0, some; at < self->size && status == TND_OK; at += some) {
        some = self->size - at < HASH_BYTES ? self->size - at : HASH_BYTES;
        status = tnd_content_read(self, at, some, bytes, error);
        if (status == TND_OK)
            XXH3_128bits_update(state, bytes, some);
    }
    XXH128_hash_t all = XXH3_128bits_digest(state);
    hash[0] = all.low64;
    hash[1] = all.high64;
    free(bytes);
    XXH3_freeState(state);
    return status;
}

tnd_status_t tnd_content_whole(const char *path, size_t size, uint64_t retry_ns, uint64_t hash[2],
                               tnd_error_t *error)
{
    static const tnd_source_scope_t scope = {.access = TND_ACCESS_READ};
    tnd_content_t content;
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    content.retry_ns = retry_ns;
    tnd_status_t status =
        content.size == size
            ? hash_all(&content, hash, error)
            : tnd_fail(error, "%s: had %zu bytes when it was opened, and now has %zu", path, size,
                       content.size);
    tnd_content_close(&content);
    return status;
}
