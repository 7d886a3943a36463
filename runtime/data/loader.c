/*  runtime/data/loader.c - brings whole files into the page cache, from begin to end.  */
#include "runtime/data/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

/*  Large enough for the sequential rate of a disk, small enough for others to be served between. */
enum { PIECE_BYTES = 1 << 21, PIECES_AHEAD = 4 };

struct tnd_loader {
    char **paths;
    size_t count;
    atomic_bool begun, stop;
    bool started; /* the thread is */
    pthread_t thread;
};

/*  Waits until the last page of the piece at `at` is there; false: the file ends there. */
static bool await(int file, off_t at)
{
    char byte;
    ssize_t got;
    do
        got = pread(file, &byte, 1, at);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

static void load(tnd_loader_t *self, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return;
    off_t asked = 0, at = 0;
    /* Nothing but the pieces: what the kernel adds to them would be asked for twice. */
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    do {
        while (asked < at + (off_t)PIECES_AHEAD * PIECE_BYTES) {
            (void)posix_fadvise(file, asked, PIECE_BYTES, POSIX_FADV_WILLNEED);
            asked += PIECE_BYTES;
        }
        at += PIECE_BYTES;
    } while (!atomic_load_explicit(&self->stop, memory_order_relaxed) && await(file, at - 1));
    close(file);
}

static void *run(void *argument)
{
    tnd_loader_t *self = argument;
    pthread_setname_np(pthread_self(), "load");
    for (size_t i = 0; i < self->count; i++)
        if (!atomic_load_explicit(&self->stop, memory_order_relaxed))
            load(self, self->paths[i]);
    return NULL;
}

tnd_loader_t *tnd_loader_new(void)
{
    tnd_loader_t *self = tnd_allocate_zeroed(1, sizeof *self);
    return self;
}

void tnd_loader_add(tnd_loader_t *self, const char *path)
{
    self->paths = tnd_resize(self->paths, self->count + 1, sizeof *self->paths);
    self->paths[self->count] = tnd_copy_string(path);
    self->count++;
}

void tnd_loader_begin(tnd_loader_t *self)
{
    if (atomic_load_explicit(&self->begun, memory_order_relaxed) ||
        atomic_exchange_explicit(&self->begun, true, memory_order_acq_rel))
        return;
    self->started = pthread_create(&self->thread, NULL, run, self) == 0;
}

void tnd_loader_destroy(tnd_loader_t **self_p)
{
    tnd_loader_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    atomic_store_explicit(&self->stop, true, memory_order_relaxed);
    if (self->started)
        pthread_join(self->thread, NULL);
    for (size_t i = 0; i < self->count; i++)
        free(self->paths[i]);
    free(self->paths);
    free(self);
}
