/*  runtime/observe/pages.c - the file in shared memory with the pages of a process. */
#include "runtime/observe/pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/observe/process.h"
#include "runtime/pages/page_folders.h"
#include "runtime/touch/touch.h"

struct tnd_pages {
    char path[304];
    int file; /* the lock on it is held until the process ends; -1: no other process sees the pages */
    size_t size_bytes;
    void *memory;
    tnd_run_record_t record;
};

/*  How long the file of a killed process is kept. */
static const uint64_t dead_for_ns = UINT64_C(600000000000);

_Static_assert(sizeof(tnd_pages_header_t) <= TND_PAGE_BYTES, "a header fills one page");

uint64_t tnd_pages_last(uint64_t last_ns, const tnd_run_page_t *page)
{
    uint64_t written = atomic_load_explicit(&page->written_ns, memory_order_relaxed);
    return written > last_ns ? written : last_ns;
}

bool tnd_pages_are_old(uint64_t last_ns, uint64_t now)
{
    return last_ns == 0 || last_ns > now || now - last_ns > dead_for_ns;
}

/*  Which files of killed processes, whose lock is free, are removed beside the old ones. */
typedef struct {
    uint64_t session;       /* 0: no others */
    const char *run, *host; /* all of this host but the latest two; NULL: all of the session */
    struct {
        char name[NAME_MAX + 1];
        uint64_t last_ns; /* 0: none yet */
    } kept[2];            /* the latest */
} sweep_t;

/*  The most actors of a file; a run has far fewer. */
enum { ACTORS_MAX = 4096 };

/*  Whether a killed process had the host of `sweep`.  One that had not joined a session was of a run
 *  of the same name. */
static bool is_predecessor(const tnd_pages_header_t *header, const char *name, const sweep_t *sweep)
{
    char own[32];
    snprintf(own, sizeof own, "-%" PRIx64 ".pages", header->session);
    bool joined = strlen(name) < strlen(own) || strcmp(name + strlen(name) - strlen(own), own) != 0;
    return strncmp(header->host, sweep->host, sizeof header->host) == 0 &&
           (header->session == sweep->session ||
            (!joined && strncmp(header->run, sweep->run, sizeof header->run) == 0));
}

/*  Whether a file can be removed, or else when it last changed: 0 for any other process. */
static bool is_forgotten(int file, const char *name, const sweep_t *sweep, uint64_t *last_p)
{
    tnd_pages_header_t header;
    tnd_statistics_t page;
    tnd_run_page_t run;
    *last_p = 0;
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.magic, "TNDPAGES", sizeof header.magic) != 0 ||
        header.version != TND_PAGES_VERSION || header.shape.actors > ACTORS_MAX)
        return true;
    if (sweep->session != 0 && sweep->host == NULL && header.session == sweep->session)
        return true;
    for (uint32_t i = 0; i < header.shape.actors; i++) {
        off_t at = (off_t)(i + 1) * TND_PAGE_BYTES;
        if (pread(file, &page, sizeof page, at) != (ssize_t)sizeof page)
            break;
        uint64_t of_page = tnd_statistics_last(&page);
        *last_p = of_page > *last_p ? of_page : *last_p;
    }
    off_t at = (off_t)(header.shape.actors + (uint64_t)1) * TND_PAGE_BYTES;
    if (pread(file, &run, sizeof run, at) == (ssize_t)sizeof run)
        *last_p = tnd_pages_last(*last_p, &run);
    if (tnd_pages_are_old(*last_p, tnd_clock_now()))
        return true;
    if (sweep->host == NULL || !is_predecessor(&header, name, sweep))
        *last_p = 0;
    return false;
}

static void sweep_file(int folder, const char *name, sweep_t *sweep)
{
    uint64_t last;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (flock(file, LOCK_SH | LOCK_NB) != 0) {
        close(file);
        return;
    }
    tnd_touch_forget(folder, file);
    unsigned older = sweep->kept[1].last_ns < sweep->kept[0].last_ns;
    if (is_forgotten(file, name, sweep, &last) ||
        (last != 0 && last < sweep->kept[older].last_ns)) {
        (void)unlinkat(folder, name, 0);
    } else if (last != 0) {
        if (sweep->kept[older].last_ns != 0)
            (void)unlinkat(folder, sweep->kept[older].name, 0);
        snprintf(sweep->kept[older].name, sizeof sweep->kept[older].name, "%s", name);
        sweep->kept[older].last_ns = last;
    }
    close(file);
}

/*  Removes a file that a process was killed over, before the file had its name: it has that within
 *  milliseconds. */
static void sweep_draft(int folder, const char *name)
{
    struct stat facts;
    struct timespec now;
    const char *end = strstr(name, ".pages.new");
    if (strncmp(name, "tundish-", 8) != 0 || end == NULL || end[10] != '\0' ||
        fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec - facts.st_mtim.tv_sec > (time_t)(dead_for_ns / 1000000000u))
        (void)unlinkat(folder, name, 0);
}

static void sweep(const char *folder, sweep_t *what)
{
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(open_folder)) != NULL;)
        if (tnd_pages_named(entry->d_name))
            sweep_file(dirfd(open_folder), entry->d_name, what);
        else
            sweep_draft(dirfd(open_folder), entry->d_name);
    closedir(open_folder);
}

static void sweep_session(const tnd_pages_t *self, bool predecessors)
{
    char folder[sizeof self->path];
    const tnd_pages_header_t *header = self->memory;
    if (self->file < 0)
        return;
    snprintf(folder, sizeof folder, "%s", self->path);
    *strrchr(folder, '/') = '\0';
    sweep_t what = {.session = header->session};
    if (predecessors) {
        what.run = header->run;
        what.host = header->host;
    }
    sweep(folder, &what);
}

void tnd_pages_forget(const tnd_pages_t *self)
{
    sweep_session(self, false);
}

/*  Whether the file is of this process: numbers are reused, and a container has its own. */
static bool is_of_process(int file, int process)
{
    tnd_pages_header_t header;
    char state;
    return pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header.magic, "TNDPAGES", sizeof header.magic) == 0 &&
           header.version == TND_PAGES_VERSION && header.process == process &&
           header.process_start == tnd_process_start(process, &state);
}

static int open_in(const char *path, int process)
{
    char part[24];
    int found = -1;
    snprintf(part, sizeof part, "-%d-", process);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return -1;
    for (const struct dirent *entry; found < 0 && (entry = readdir(folder)) != NULL;) {
        if (!tnd_pages_named(entry->d_name) || strstr(entry->d_name, part) == NULL)
            continue;
        found = openat(dirfd(folder), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (found >= 0 && !is_of_process(found, process)) {
            close(found);
            found = -1;
        }
    }
    closedir(folder);
    return found;
}

int tnd_pages_open_child(int process)
{
    tnd_pages_folders_t folders;
    size_t count = tnd_pages_folders(&folders);
    int found = -1;
    for (size_t i = 0; i < count && found < 0; i++)
        found = open_in(folders.path[i], process);
    return found;
}

uint64_t tnd_pages_beat(int file)
{
    tnd_pages_header_t header;
    uint64_t control[2]; /* tnd_control_state_t, and when that began */
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return 0;
    off_t page = (off_t)(header.shape.actors + (uint64_t)1) * TND_PAGE_BYTES;
    if (pread(file, control, sizeof control, page + (off_t)offsetof(tnd_run_page_t, control)) !=
        (ssize_t)sizeof control)
        return 0;
    return control[0] == TND_CONTROL_WAITS || control[0] == TND_CONTROL_WORKS ? control[1] : 0;
}

void tnd_pages_note_death(int process, int number)
{
    uint64_t by = (uint64_t)number;
    int file = tnd_pages_open_child(process);
    if (file < 0)
        return;
    /* Without the note, it is only said that the process was killed or crashed. */
    (void)!pwrite(file, &by, sizeof by, offsetof(tnd_pages_header_t, killed_by));
    close(file);
}

/* --- a process's own -------------------------------------------------------------------------- */

static size_t bytes_of(const tnd_pages_shape_t *shape)
{
    return (shape->actors + (size_t)1) * TND_PAGE_BYTES + tnd_run_record_bytes(shape) +
           TND_TAP_BYTES;
}

static void place_record(tnd_pages_t *self, const tnd_pages_shape_t *shape)
{
    char *at = (char *)self->memory + (shape->actors + (size_t)1) * TND_PAGE_BYTES;
    self->record = tnd_run_record_at(at, shape);
}

/*  Fills a file before it is visible. */
static int fill(tnd_pages_t *self, const char *name, const char *run, const char *host,
                uint64_t session, const tnd_pages_shape_t *shape)
{
    if (flock(self->file, LOCK_EX | LOCK_NB) != 0)
        return errno;
    int failure = posix_fallocate(self->file, 0, (off_t)self->size_bytes);
    if (failure != 0)
        return failure;
    self->memory = mmap(NULL, self->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, 0);
    if (self->memory == MAP_FAILED)
        return errno;
    char state;
    tnd_pages_header_t *header = self->memory;
    memcpy(header->magic, "TNDPAGES", sizeof header->magic);
    header->version = TND_PAGES_VERSION;
    header->actor_bytes = sizeof(tnd_statistics_t);
    header->shape = *shape;
    header->record_bytes = (uint32_t)tnd_run_record_bytes(shape);
    header->process = (int32_t)getpid();
    header->process_start = tnd_process_start(getpid(), &state);
    header->session = session;
    snprintf(header->run, sizeof header->run, "%s", run);
    snprintf(header->host, sizeof header->host, "%s", host);
    /* Process numbers are reused: a file of this name belongs to a killed process. */
    return rename(name, self->path) == 0 ? 0 : errno;
}

tnd_status_t tnd_pages_new(tnd_pages_t **self_p, const char *run, const char *host,
                           uint64_t session, tnd_pages_shape_t shape, tnd_error_t *error)
{
    char folder[128], name[320];
    TND_TRY(tnd_pages_folder(folder, sizeof folder, error));
    sweep(folder, &(sweep_t){0});
    tnd_pages_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->memory = MAP_FAILED;
    self->size_bytes = bytes_of(&shape);
    /* Long names are cut so that the file name keeps its end and is valid on any file system. */
    snprintf(self->path, sizeof self->path, "%s/tundish-%.60s-%.60s-%d-%" PRIx64 ".pages", folder,
             run, host, (int)getpid(), session);
    snprintf(name, sizeof name, "%s.new", self->path);
    (void)unlink(name);
    self->file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failure = self->file < 0 ? errno : fill(self, name, run, host, session, &shape);
    if (failure == 0) {
        place_record(self, &shape);
        *self_p = self;
        return TND_OK;
    }
    tnd_status_t status = tnd_fail(error, "%s: %s", self->path, strerror(failure));
    if (self->memory != MAP_FAILED)
        munmap(self->memory, self->size_bytes);
    if (self->file >= 0) {
        unlink(name);
        close(self->file);
    }
    free(self);
    return status;
}

tnd_pages_t *tnd_pages_new_unseen(tnd_pages_shape_t shape)
{
    tnd_pages_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->file = -1;
    self->size_bytes = bytes_of(&shape);
    self->memory = tnd_allocate_aligned(TND_PAGE_BYTES, self->size_bytes);
    memset(self->memory, 0, self->size_bytes);
    place_record(self, &shape);
    return self;
}

const char *tnd_pages_path(const tnd_pages_t *self)
{
    return self->path;
}

void tnd_pages_join(tnd_pages_t *self, uint64_t session)
{
    tnd_pages_header_t *header = self->memory;
    if (header->session == session)
        return; /* the leader repeats it */
    header->session = session;
    sweep_session(self, true);
}

tnd_statistics_t *tnd_pages_at(tnd_pages_t *self, size_t index)
{
    return (tnd_statistics_t *)(void *)((char *)self->memory + (index + 1) * TND_PAGE_BYTES);
}

const tnd_run_record_t *tnd_pages_record(const tnd_pages_t *self)
{
    return &self->record;
}

tnd_tap_t *tnd_pages_tap(const tnd_pages_t *self)
{
    return (tnd_tap_t *)(void *)((char *)self->memory + self->size_bytes - TND_TAP_BYTES);
}

size_t tnd_pages_looked_at(const tnd_pages_t *self)
{
    tnd_pages_shape_t shape = self->record.shape;
    shape.rings = 0;
    return self->file < 0
               ? 0
               : (shape.actors + (size_t)1) * TND_PAGE_BYTES + tnd_run_record_bytes(&shape);
}

bool tnd_pages_read(const tnd_pages_t *self, void *bytes, size_t size, size_t at)
{
    return pread(self->file, bytes, size, (off_t)at) == (ssize_t)size;
}

void tnd_pages_destroy(tnd_pages_t **self_p)
{
    if (*self_p == NULL)
        return;
    if ((*self_p)->file < 0) {
        free((*self_p)->memory);
    } else {
        munmap((*self_p)->memory, (*self_p)->size_bytes);
        unlink((*self_p)->path);
        close((*self_p)->file);
    }
    free(*self_p);
    *self_p = NULL;
}
