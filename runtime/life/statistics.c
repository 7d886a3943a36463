/*  runtime/life/statistics.c - what an actor counts, readable without its help. */
#include "runtime/life/statistics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tnd_pages {
    char path[256];
    size_t size_bytes;
    void *memory;
};

/*  A page each, so that no two actors' counters share a cache line or a page. */
enum { PAGE_BYTES = 4096 };
_Static_assert(sizeof(tnd_statistics_t) <= PAGE_BYTES, "an actor's statistics fill one page");

/*  $XDG_RUNTIME_DIR, else a folder of the user's own in /tmp, made when it is not there. */
static tnd_status_t runtime_folder(char *folder, size_t room, tnd_error_t *error)
{
    const char *given = getenv("XDG_RUNTIME_DIR");
    if (given != NULL && given[0] == '/') {
        snprintf(folder, room, "%s", given);
        return TND_OK;
    }
    snprintf(folder, room, "/tmp/tundish-%u", (unsigned)getuid());
    struct stat facts;
    if (mkdir(folder, 0700) == 0)
        return TND_OK;
    if (errno != EEXIST || lstat(folder, &facts) != 0 || !S_ISDIR(facts.st_mode) ||
        facts.st_uid != getuid())
        return tnd_fail(error, "%s: cannot be used for statistics: %s; set XDG_RUNTIME_DIR", folder,
                        errno == EEXIST ? "it is not a folder of this user" : strerror(errno));
    return TND_OK;
}

/*  Removes what processes that were killed left behind: the number of the process ends the name. */
static void sweep(const char *folder)
{
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        const char *dash = strrchr(entry->d_name, '-');
        int process, used = 0;
        if (strncmp(entry->d_name, "tundish-", 8) == 0 && dash != NULL &&
            sscanf(dash, "-%d.pages%n", &process, &used) == 1 && used > 0 && dash[used] == '\0' &&
            process > 0 && kill(process, 0) != 0 && errno == ESRCH)
            (void)unlinkat(dirfd(open_folder), entry->d_name, 0);
    }
    closedir(open_folder);
}

tnd_status_t tnd_pages_new(tnd_pages_t **self_p, const char *run, const char *host, size_t count,
                           tnd_error_t *error)
{
    char folder[128];
    TND_TRY(runtime_folder(folder, sizeof folder, error));
    sweep(folder);
    tnd_pages_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    self->size_bytes = (count > 0 ? count : 1) * PAGE_BYTES;
    snprintf(self->path, sizeof self->path, "%s/tundish-%s-%s-%d.pages", folder, run, host,
             (int)getpid());
    /* The numbers of processes come again: a file of this name was left by one that was killed. */
    (void)unlink(self->path);
    int file = open(self->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failure = file < 0 ? errno : posix_fallocate(file, 0, (off_t)self->size_bytes);
    if (failure == 0) {
        self->memory = mmap(NULL, self->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        failure = self->memory == MAP_FAILED ? errno : 0;
    }
    if (file >= 0)
        close(file);
    if (failure != 0) {
        if (file >= 0)
            unlink(self->path);
        tnd_status_t status = tnd_fail(error, "%s: %s", self->path, strerror(failure));
        free(self);
        return status;
    }
    *self_p = self;
    return TND_OK;
}

tnd_statistics_t *tnd_pages_at(tnd_pages_t *self, size_t index)
{
    return (tnd_statistics_t *)(void *)((char *)self->memory + index * PAGE_BYTES);
}

void tnd_pages_destroy(tnd_pages_t **self_p)
{
    if (*self_p == NULL)
        return;
    munmap((*self_p)->memory, (*self_p)->size_bytes);
    unlink((*self_p)->path);
    free(*self_p);
    *self_p = NULL;
}

void tnd_statistics_state(tnd_statistics_t *self, tnd_state_t state, uint32_t waits, uint64_t now)
{
    uint64_t before = atomic_load_explicit(&self->state, memory_order_relaxed);
    uint64_t word = (uint64_t)state | (uint64_t)waits << 8;
    if (before == word)
        return;
    uint64_t spent = now - atomic_load_explicit(&self->since_ns, memory_order_relaxed);
    uint64_t reasons = before >> 8;
    if ((before & 0xff) == TND_STATE_WORKING)
        tnd_count(&self->work_ns, spent);
    /* An actor may wait for several things: each of them is a reason for all of the time. */
    for (unsigned bit = 0; reasons != 0 && bit < TND_WAIT_REASONS; bit++, reasons >>= 1)
        if (reasons & 1)
            tnd_count(&self->wait_ns[bit], spent);
    atomic_store_explicit(&self->since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&self->state, word, memory_order_release);
}
