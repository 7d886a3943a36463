/*  runtime/data/mapping.c - a file mapped for reading, whose loss is an error and not a signal.  */
#include "runtime/data/mapping.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

/*  Since Linux 5.14; headers of older distributions lack it. */
enum { POPULATE_READ = 22 };

enum { CHUNK_BITS = 16, PAGE_BYTES = 4096 };

/*  What was brought in is taken to be there for so many seconds: looking at a page costs as much as
 *  reading a row.  Of larger files less is used in that time than is mapped, and some of it may
 *  have been thrown out for the rest: there each row is looked at. */
enum { FRESH_SECONDS = 4 };

static const size_t large_bytes = (size_t)4 << 30;

/*  The mark of a chunk that was requested and has not been waited for; seconds are larger. */
enum { REQUESTED = 1 };

/*  How far populate reads ahead of a file that is used from begin to end. */
static const size_t forward_bytes = (size_t)8 << 20;

struct tnd_mapping {
    /* What each row is compared with is together, in one line of the cache. */
    _Atomic uint32_t *populated; /* by chunk: the second it was brought in, by any thread; or 0 */
    _Atomic uint32_t seen;       /* the tick when it was looked at */
    _Atomic uint32_t whole;      /* the tick in which nothing of it has to be brought in */
    bool advised;
    bool plain;          /* a chunk that is fresh needs nothing: it is neither large nor forward */
    atomic_bool by_rows; /* as the watch says */
    tnd_buffer_t *buffer;
    tnd_mapped_t *mapped;
    const uint8_t *data;
    size_t size;
    char *path; /* the descriptor is closed: there may be more files than a process can have open */
    dev_t device;
    ino_t inode;
    int64_t modified_ns;
    tnd_access_pattern_t pattern;
    size_t last;       /* its last byte that is not zero, in its last page if there is one */
    uint8_t last_byte; /* as of tnd_mapping_advise */
    _Atomic uint32_t measured; /* the second when its size was looked at */
    atomic_size_t forward;     /* up to where it was read ahead */
    atomic_flag watching;      /* guards the watch; a thread that finds it taken skips its note */
    tnd_access_watch_t watch;
};

/*  What the last drop of the buffer needs to unmap. */
typedef struct {
    void *data;
    size_t size;
    tnd_mapped_t *mapped;
} pages_t;

static void unmap(void *owner)
{
    pages_t *pages = owner;
    tnd_mapped_remove(pages->mapped);
    munmap(pages->data, pages->size);
    free(pages);
}

tnd_status_t tnd_mapping_missing(const char *path, tnd_error_t *error)
{
    char here[PATH_MAX];
    if (path[0] != '/' && getcwd(here, sizeof here) != NULL)
        return tnd_fail(error,
                        "%s: no such file in the working directory %s; check the path and `data:`",
                        path, here);
    return tnd_fail(error, "%s: no such file; check the path and `data:`", path);
}

static tnd_status_t fail_to_open(const char *path, int code, tnd_error_t *error)
{
    if (code == ENOENT)
        return tnd_mapping_missing(path, error);
    if (code == EACCES)
        return tnd_fail(error, "%s: may not be read; check its permissions", path);
    if (code == EMFILE)
        return tnd_fail(error,
                        "%s: cannot be opened, so many files are; raise the limit with `ulimit "
                        "-n`, or use larger files",
                        path);
    return tnd_fail(error, "%s: cannot be opened: %s", path, strerror(code));
}

static tnd_status_t check_regular(const char *path, const struct stat *status, tnd_error_t *error)
{
    if (S_ISDIR(status->st_mode))
        return tnd_fail(error, "%s: is a directory; name a file in it", path);
    if (!S_ISREG(status->st_mode))
        return tnd_fail(
            error, "%s: not a regular file: a source must be able to read at any offset", path);
    return TND_OK;
}

/*  A named pipe would block until another process writes. */
tnd_status_t tnd_mapping_open_file(const char *path, int *file_p, struct stat *status_p,
                                   tnd_error_t *error)
{
    int file = *file_p >= 0 ? *file_p : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail_to_open(path, errno, error);
    int failed = fstat(file, status_p);
    assert(failed == 0);
    tnd_status_t fits = check_regular(path, status_p, error);
    if (fits != TND_OK)
        close(file);
    *file_p = fits == TND_OK ? file : -1;
    return fits;
}

tnd_status_t tnd_mapping_open(tnd_mapping_t **self_p, const char *path, tnd_error_t *error)
{
    return tnd_mapping_adopt(self_p, path, -1, error);
}

tnd_status_t tnd_mapping_adopt(tnd_mapping_t **self_p, const char *path, int file,
                               tnd_error_t *error)
{
    struct stat status;
    TND_TRY(tnd_mapping_open_file(path, &file, &status, error));
    size_t size = (size_t)status.st_size;
    /* A file without bytes has no pages; one that has none of a file is mapped in their place. */
    void *data = size > 0 ? mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0)
                          : mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int code = errno;
    close(file);
    if (data == MAP_FAILED) {
        if (code == ENOMEM)
            return tnd_fail(error,
                            "%s: %zu bytes cannot be mapped: too many files are, or there is no "
                            "room in the address space; raise vm.max_map_count or use larger files",
                            path, size);
        return tnd_fail(error, "%s: %zu bytes cannot be mapped: %s", path, size, strerror(code));
    }

    pages_t *pages = tnd_allocate_zeroed(1, sizeof *pages);
    *pages = (pages_t){.data = data, .size = size > 0 ? size : 1};
    pages->mapped = tnd_mapped_add(data, pages->size, path);
    tnd_mapping_t *self = tnd_allocate_zeroed(1, sizeof *self);
    *self = (tnd_mapping_t){
        .buffer = tnd_buffer_wrap(TND_BUFFER_MAPPED, data, size, unmap, pages),
        .mapped = pages->mapped,
        .data = data,
        .size = size,
        .path = tnd_allocate_zeroed(1, strlen(path) + 1),
        .device = status.st_dev,
        .inode = status.st_ino,
        .modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
        .plain = size <= large_bytes,
        .populated = tnd_allocate_zeroed((size >> CHUNK_BITS) + 1, sizeof(_Atomic uint32_t)),
        .watching = ATOMIC_FLAG_INIT};
    tnd_access_watch_init(&self->watch, true);
    strcpy(self->path, path);
    *self_p = self;
    return TND_OK;
}

void tnd_mapping_destroy(tnd_mapping_t **self_p)
{
    tnd_mapping_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    free(self->path);
    free(self->populated);
    tnd_buffer_drop(&self->buffer);
    free(self);
}

const uint8_t *tnd_mapping_data(const tnd_mapping_t *self)
{
    return self->data;
}

size_t tnd_mapping_size(const tnd_mapping_t *self)
{
    return self->size;
}

int64_t tnd_mapping_modified(const tnd_mapping_t *self)
{
    return self->modified_ns;
}

tnd_buffer_t *tnd_mapping_buffer(tnd_mapping_t *self)
{
    return tnd_buffer_hold(self->buffer);
}

tnd_status_t tnd_mapping_intact(const tnd_mapping_t *self, tnd_error_t *error)
{
    return tnd_mapped_check(self->data, self->size, error);
}

tnd_status_t tnd_mapping_check(const tnd_mapping_t *self, tnd_error_t *error)
{
    struct stat status;
    TND_TRY(tnd_mapping_intact(self, error));
    /* A file that was removed or replaced keeps its pages. */
    if (stat(self->path, &status) != 0 || status.st_ino != self->inode ||
        status.st_dev != self->device)
        return TND_OK;
    if ((size_t)status.st_size < self->size)
        return tnd_fail(error,
                        "%s: shrank while it was mapped: it had %zu bytes and now ends at byte "
                        "%zu; put it back and do not write to data during a run",
                        self->path, self->size, (size_t)status.st_size);
    return TND_OK;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*  When rows are brought in, by a clock that costs nothing to read: `second` is above REQUESTED, and
 *  a tick is a time after which a file is looked at again. */
typedef struct {
    uint32_t second, tick;
} moment_t;

static moment_t moment(void)
{
    static const uint64_t tick_ns = 4000000;
    uint64_t now = now_ns();
    return (moment_t){.second = (uint32_t)(now / 1000000000) + 1 + REQUESTED,
                      .tick = (uint32_t)(now / tick_ns) + 1};
}

static tnd_status_t fail_changed(const tnd_mapping_t *self, tnd_error_t *error)
{
    TND_TRY(tnd_mapping_check(self, error));
    return tnd_fail(error,
                    "%s: changed while it was mapped: byte %zu is not what it was; put it back and "
                    "do not write to data during a run",
                    self->path, self->last);
}

/*  A file that has lost its last page raises a signal; one that has lost a part of it has zeros
 *  there.  So one load shows it, which a system call shows only of files that end in zeros. */
static tnd_status_t look(tnd_mapping_t *self, uint32_t second, tnd_error_t *error)
{
    if (atomic_exchange_explicit(&self->measured, second, memory_order_relaxed) != second ||
        tnd_mapping_by_rows(self))
        TND_TRY(tnd_mapping_check(self, error));
    else if (((const volatile uint8_t *)self->data)[self->last] != self->last_byte)
        return fail_changed(self, error);
    return tnd_mapping_intact(self, error);
}

/*  One load for each page of bytes [offset, offset + size). */
static inline void touch(const tnd_mapping_t *self, size_t offset, size_t size)
{
    const volatile uint8_t *bytes = self->data;
    (void)bytes[offset];
    for (size_t at = (offset / PAGE_BYTES + 1) * PAGE_BYTES; at < offset + size; at += PAGE_BYTES)
        (void)bytes[at];
}

/*  Page faults of this thread, so far, that waited for a disk. */
static uint64_t faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_majflt : 0;
}

/*  What one call of populate has seen of pieces that had been in memory before. */
typedef struct {
    uint32_t now, first, again;
    uint64_t faults;
} sample_t;

/*  Whether what is brought in ahead may be gone before it is used. */
static inline bool is_watched(const tnd_mapping_t *self)
{
    return self->advised && self->pattern != TND_PATTERN_FORWARD;
}

static inline void note_again(const tnd_mapping_t *self, sample_t *sample)
{
    if (is_watched(self) && sample->again++ == 0)
        sample->faults = faults();
}

static void finish(tnd_mapping_t *self, const sample_t *sample)
{
    bool by_rows = tnd_mapping_by_rows(self);
    /* Which faults are of pieces that came in for the first time is not known. */
    if ((sample->first > 0 || sample->again == 0) && !by_rows)
        return;
    if (atomic_flag_test_and_set_explicit(&self->watching, memory_order_acquire))
        return;
    bool changed;
    if (by_rows) {
        changed = tnd_access_watch_tick(&self->watch, now_ns());
    } else {
        uint64_t missed = faults() - sample->faults;
        changed = tnd_access_watch_note(&self->watch, sample->again,
                                        missed < sample->again ? (uint32_t)missed : sample->again,
                                        now_ns());
    }
    if (changed)
        atomic_store_explicit(&self->by_rows, self->watch.by_rows, memory_order_relaxed);
    atomic_flag_clear_explicit(&self->watching, memory_order_release);
}

/*  Requests bytes [start, end), which are pages. */
static void request(const tnd_mapping_t *self, size_t start, size_t end)
{
    (void)madvise((void *)(uintptr_t)(self->data + start), end - start, MADV_WILLNEED);
}

/*  Brings in pages by a system call, which fails where a touch would raise a signal.  A kernel
 *  without it says EINVAL: then they are touched. */
static tnd_status_t populate_pages(tnd_mapping_t *self, size_t start, size_t size,
                                   tnd_error_t *error)
{
    int failed;
    do
        failed = madvise((void *)(uintptr_t)(self->data + start), size, POPULATE_READ);
    while (failed != 0 && errno == EINTR);
    if (failed != 0 && errno != EINVAL) {
        TND_TRY(tnd_mapping_check(self, error));
        return tnd_fail(error, "%s: bytes %zu to %zu cannot be read: %s; check the disk",
                        self->path, start, start + size, strerror(errno));
    }
    if (failed != 0)
        touch(self, start, size);
    TND_TRY(tnd_mapping_intact(self, error));
    return TND_OK;
}

static inline uint32_t brought(const tnd_mapping_t *self, size_t chunk)
{
    return atomic_load_explicit(&self->populated[chunk], memory_order_relaxed);
}

static inline bool is_fresh(uint32_t then, uint32_t now)
{
    return then > REQUESTED && (int32_t)(now - then) <= FRESH_SECONDS;
}

/*  Whether a chunk has to be brought in; *then_p: the second when it last was. */
static inline bool is_stale(const tnd_mapping_t *self, size_t chunk, uint32_t now, uint32_t *then_p)
{
    *then_p = brought(self, chunk);
    return self->size <= large_bytes ? !is_fresh(*then_p, now) : *then_p <= REQUESTED;
}

/*  Brings in the chunks from *chunk_p to `last` that are to be, up to the first that is not: one
 *  call for all of them. */
static tnd_status_t populate_chunks(tnd_mapping_t *self, size_t *chunk_p, size_t last,
                                    sample_t *sample, tnd_error_t *error)
{
    size_t first = *chunk_p, chunk = first;
    uint32_t then;
    for (; chunk <= last && is_stale(self, chunk, sample->now, &then); chunk++) {
        size_t start = chunk << CHUNK_BITS;
        if (then > REQUESTED)
            note_again(self, sample);
        else
            sample->first++;
        /* One request for the chunk: each page would be one where the kernel adds nothing. */
        if (then == 0 && is_watched(self))
            request(self, start, tnd_least(start + ((size_t)1 << CHUNK_BITS), self->size));
    }
    size_t start = first << CHUNK_BITS, end = tnd_least(chunk << CHUNK_BITS, self->size);
    TND_TRY(populate_pages(self, start, end - start, error));
    for (*chunk_p = chunk; first < chunk; first++)
        atomic_store_explicit(&self->populated[first], sample->now, memory_order_relaxed);
    return TND_OK;
}

/*  Keeps the disk reading while bytes up to `end` are used. */
static void run_forward(tnd_mapping_t *self, size_t end)
{
    size_t asked = atomic_load_explicit(&self->forward, memory_order_relaxed);
    bool here = asked >= end && asked <= end + forward_bytes;
    if (here && (asked == self->size || asked - end > forward_bytes / 2))
        return;
    size_t start = (here ? asked : end) & ~((size_t)PAGE_BYTES - 1);
    size_t to = tnd_least(end + forward_bytes, self->size);
    atomic_store_explicit(&self->forward, to, memory_order_relaxed);
    uint32_t then = start < self->size ? atomic_load_explicit(&self->populated[start >> CHUNK_BITS],
                                                              memory_order_relaxed)
                                       : 0;
    if (start < to && (then == 0 || (int32_t)(moment().second - then) > FRESH_SECONDS))
        request(self, start, to);
}

static inline tnd_status_t populate(tnd_mapping_t *self, size_t offset, size_t size,
                                    sample_t *sample, tnd_error_t *error)
{
    bool large = self->size > large_bytes;
    if (tnd_mapping_by_rows(self)) {
        size_t start = offset & ~((size_t)PAGE_BYTES - 1);
        return populate_pages(self, start, offset + size - start, error);
    }
    size_t last = (offset + size - 1) >> CHUNK_BITS;
    if (self->pattern == TND_PATTERN_FORWARD && self->advised)
        run_forward(self, offset + size);
    for (size_t chunk = offset >> CHUNK_BITS; chunk <= last;) {
        uint32_t then;
        if (is_stale(self, chunk, sample->now, &then)) {
            TND_TRY(populate_chunks(self, &chunk, last, sample, error));
            continue;
        }
        chunk++;
        if (large)
            note_again(self, sample);
    }
    if (!large)
        return TND_OK;
    touch(self, offset, size);
    return tnd_mapping_intact(self, error);
}

static tnd_status_t populate_part(tnd_mapping_t *self, size_t offset, size_t size, uint32_t now,
                                  tnd_error_t *error)
{
    sample_t sample = {.now = now};
    assert(offset <= self->size && size <= self->size - offset);
    if (size == 0)
        return TND_OK;
    TND_TRY(populate(self, offset, size, &sample, error));
    finish(self, &sample);
    return TND_OK;
}

tnd_status_t tnd_mapping_populate(tnd_mapping_t *self, size_t offset, size_t size,
                                  tnd_error_t *error)
{
    return populate_part(self, offset, size, moment().second, error);
}

/*  Whether a part is in one chunk that needs nothing now. */
static inline bool is_brought(const tnd_mapping_t *self, size_t offset, size_t size, uint32_t now)
{
    size_t chunk = offset >> CHUNK_BITS;
    return self->plain && size > 0 && (offset + size - 1) >> CHUNK_BITS == chunk &&
           is_fresh(brought(self, chunk), now) && !tnd_mapping_by_rows(self);
}

/*  Whether all chunks need nothing for the rest of this second. */
static bool is_whole(const tnd_mapping_t *self, uint32_t now)
{
    size_t chunk = 0;
    while (chunk << CHUNK_BITS < self->size && is_fresh(brought(self, chunk), now))
        chunk++;
    return chunk << CHUNK_BITS >= self->size;
}

/*  Once per tick: looks at a file that was advised, and at what of it has to be brought in. */
static tnd_status_t look_once(tnd_mapping_t *self, const moment_t *now, tnd_error_t *error)
{
    if (atomic_load_explicit(&self->seen, memory_order_relaxed) == now->tick)
        return TND_OK;
    if (self->advised)
        TND_TRY(look(self, now->second, error));
    atomic_store_explicit(&self->seen, now->tick, memory_order_relaxed);
    if (self->plain && !tnd_mapping_by_rows(self) && is_whole(self, now->second))
        atomic_store_explicit(&self->whole, now->tick, memory_order_relaxed);
    return TND_OK;
}

uint32_t tnd_mapping_tick(void)
{
    return moment().tick;
}

bool tnd_mapping_is_there(const tnd_mapping_t *self, uint32_t tick)
{
    return atomic_load_explicit(&self->whole, memory_order_relaxed) == tick;
}

tnd_status_t tnd_mapping_bring(const tnd_mapping_part_t *parts, uint32_t count, tnd_error_t *error)
{
    const moment_t now = moment();
    for (uint32_t i = 0; i < count; i++) {
        tnd_mapping_t *mapping = parts[i].mapping;
        if (mapping == NULL || tnd_mapping_is_there(mapping, now.tick))
            continue;
        TND_TRY(look_once(mapping, &now, error));
        if (!is_brought(mapping, parts[i].offset, parts[i].size, now.second))
            TND_TRY(populate_part(mapping, parts[i].offset, parts[i].size, now.second, error));
    }
    if (!tnd_mapped_any_lost())
        return TND_OK;
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].mapping != NULL)
            TND_TRY(tnd_mapping_intact(parts[i].mapping, error));
    return TND_OK;
}

tnd_status_t tnd_mapping_populate_rows(tnd_mapping_t *self, size_t offset, size_t size,
                                       const uint64_t *rows, uint32_t count, tnd_error_t *error)
{
    const moment_t now = moment();
    sample_t sample = {.now = now.second};
    TND_TRY(look_once(self, &now, error));
    for (uint32_t i = tnd_mapping_is_there(self, now.tick) ? count : 0; i < count; i++) {
        size_t at = offset + rows[i] * size;
        assert(size > 0 && at <= self->size && size <= self->size - at);
        if (!is_brought(self, at, size, sample.now))
            TND_TRY(populate(self, at, size, &sample, error));
    }
    finish(self, &sample);
    return tnd_mapping_intact(self, error);
}

static size_t find_last(const tnd_mapping_t *self)
{
    size_t at = self->size > 0 ? self->size - 1 : 0, first = at & ~((size_t)PAGE_BYTES - 1);
    while (at > first && self->data[at] == 0)
        at--;
    return at;
}

void tnd_mapping_advise(tnd_mapping_t *self, tnd_access_pattern_t pattern, bool fits)
{
    self->pattern = pattern;
    self->advised = true;
    self->plain = self->size <= large_bytes && pattern != TND_PATTERN_FORWARD;
    self->last = find_last(self);
    self->last_byte = self->data[self->last];
    tnd_access_watch_init(&self->watch, fits || pattern == TND_PATTERN_FORWARD);
    atomic_store_explicit(&self->by_rows, self->watch.by_rows, memory_order_relaxed);
    if (pattern != TND_PATTERN_FORWARD)
        (void)madvise((void *)(uintptr_t)self->data, self->size, MADV_RANDOM);
}

bool tnd_mapping_by_rows(const tnd_mapping_t *self)
{
    return atomic_load_explicit(&self->by_rows, memory_order_relaxed);
}

bool tnd_mapping_ahead(tnd_mapping_t *self, size_t offset, size_t size)
{
    assert(offset <= self->size && size <= self->size - offset);
    if (size == 0)
        return false;
    if (tnd_mapping_by_rows(self)) {
        request(self, offset & ~((size_t)PAGE_BYTES - 1), offset + size);
        return true;
    }
    size_t chunk = offset >> CHUNK_BITS, end = ((offset + size - 1) >> CHUNK_BITS) + 1;
    bool found = false;
    for (; chunk < end; chunk++) {
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong_explicit(&self->populated[chunk], &none, REQUESTED,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        found = true;
        request(self, chunk << CHUNK_BITS, tnd_least((chunk + 1) << CHUNK_BITS, self->size));
    }
    return found;
}
