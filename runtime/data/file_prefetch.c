/*  runtime/data/file_prefetch.c - brings files that will be read soon into the page cache. */
#include "runtime/data/file_prefetch.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"
#include "runtime/data/open_files.h"

/*  Each thread waits for one file at a time to be found on the disk.  IDLE_MOST: successive files in
 *  the page cache after which requests end. */
enum { THREADS = 8, QUEUE_ROOM = 1024, IDLE_MOST = 256 };

typedef enum { NONE, QUEUED, OPENING, OPEN } state_t;

/*  What is known of a requested file, at the remainder of its index. */
typedef struct {
    uint64_t index;
    state_t state;
    tnd_kept_file_t *file; /* OPEN */
} slot_t;

struct tnd_file_prefetch {
    void (*path_of)(const void *context, uint64_t index, char path[PATH_MAX]);
    const void *context;
    pthread_mutex_t lock;
    pthread_cond_t changed, opened;
    slot_t slots[QUEUE_ROOM];
    atomic_uint used;           /* slots that are not NONE */
    uint64_t queue[QUEUE_ROOM]; /* ring */
    uint32_t first, count;
    bool begun, stop;
    atomic_uint idle; /* successive files that were in the page cache */
    pthread_t threads[THREADS];
    uint32_t thread_count;
};

/*  Whether the first byte of the file is in the page cache, as far as is known. */
static bool is_cached(int file)
{
    char byte;
    struct iovec to = {.iov_base = &byte, .iov_len = 1};
    return preadv2(file, &to, 1, 0, RWF_NOWAIT) >= 0;
}

static tnd_kept_file_t *request(tnd_file_prefetch_t *self, uint64_t index)
{
    char path[PATH_MAX];
    self->path_of(self->context, index, path);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (is_cached(file)) {
        atomic_fetch_add_explicit(&self->idle, 1, memory_order_relaxed);
    } else {
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
        atomic_store_explicit(&self->idle, 0, memory_order_relaxed);
    }
    return tnd_kept_file_new(file);
}

/*  Call it with the lock, as what follows. */
static void empty(tnd_file_prefetch_t *self, slot_t *slot)
{
    slot->state = NONE;
    slot->file = NULL;
    atomic_fetch_sub(&self->used, 1);
}

/*  Opens the next file of the queue, unless it has been taken. */
static void open_next(tnd_file_prefetch_t *self)
{
    uint64_t index = self->queue[self->first];
    slot_t *slot = &self->slots[index % QUEUE_ROOM];
    self->first = (self->first + 1) % QUEUE_ROOM;
    self->count--;
    if (slot->index != index || slot->state != QUEUED)
        return;
    slot->state = OPENING;
    pthread_mutex_unlock(&self->lock);
    tnd_kept_file_t *file = request(self, index);
    pthread_mutex_lock(&self->lock);
    slot->file = file;
    slot->state = OPEN;
    if (file == NULL)
        empty(self, slot);
    pthread_cond_broadcast(&self->opened);
}

static void *run(void *argument)
{
    tnd_file_prefetch_t *self = argument;
    tnd_thread_name("prefetch");
    pthread_mutex_lock(&self->lock);
    while (!self->stop) {
        if (self->count == 0)
            pthread_cond_wait(&self->changed, &self->lock);
        else
            open_next(self);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

tnd_file_prefetch_t *tnd_file_prefetch_new(void (*path_of)(const void *context, uint64_t index,
                                                           char path[PATH_MAX]),
                                           const void *context)
{
    tnd_file_prefetch_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->path_of = path_of;
    self->context = context;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    pthread_cond_init(&self->opened, NULL);
    return self;
}

bool tnd_file_prefetch_helps(const tnd_file_prefetch_t *self)
{
    return atomic_load_explicit(&self->idle, memory_order_relaxed) < IDLE_MOST;
}

static void begin(tnd_file_prefetch_t *self)
{
    tnd_error_t error;
    self->begun = true;
    if (tnd_open_files_reserve(THREADS, &error) != TND_OK)
        return;
    while (self->thread_count < THREADS &&
           pthread_create(&self->threads[self->thread_count], NULL, run, self) == 0)
        self->thread_count++;
    if (self->thread_count == 0)
        tnd_open_files_release(THREADS);
}

/*  A file that was opened and not taken makes room for another one. */
static void add(tnd_file_prefetch_t *self, uint64_t index)
{
    slot_t *slot = &self->slots[index % QUEUE_ROOM];
    if (slot->state == QUEUED || slot->state == OPENING)
        return;
    if (slot->state == OPEN)
        tnd_kept_file_destroy(&slot->file);
    else
        atomic_fetch_add(&self->used, 1);
    *slot = (slot_t){.index = index, .state = QUEUED};
    self->queue[(self->first + self->count++) % QUEUE_ROOM] = index;
}

void tnd_file_prefetch_add(tnd_file_prefetch_t *self, const uint64_t *index, uint32_t count)
{
    pthread_mutex_lock(&self->lock);
    if (!self->begun)
        begin(self);
    for (uint32_t i = 0; i < count && self->thread_count > 0 && self->count < QUEUE_ROOM; i++)
        add(self, index[i]);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

tnd_kept_file_t *tnd_file_prefetch_take(tnd_file_prefetch_t *self, uint64_t index)
{
    slot_t *slot = &self->slots[index % QUEUE_ROOM];
    tnd_kept_file_t *file = NULL;
    if (atomic_load_explicit(&self->used, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&self->lock);
    while (slot->index == index && slot->state == OPENING)
        pthread_cond_wait(&self->opened, &self->lock);
    if (slot->index == index && slot->state != NONE) {
        file = slot->file;
        empty(self, slot);
    }
    pthread_mutex_unlock(&self->lock);
    return file;
}

void tnd_file_prefetch_note(tnd_file_prefetch_t *self, int file)
{
    if (!tnd_file_prefetch_helps(self) && !is_cached(file))
        atomic_store_explicit(&self->idle, 0, memory_order_relaxed);
}

void tnd_file_prefetch_destroy(tnd_file_prefetch_t **self_p)
{
    tnd_file_prefetch_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    for (uint32_t i = 0; i < self->thread_count; i++)
        pthread_join(self->threads[i], NULL);
    if (self->thread_count > 0)
        tnd_open_files_release(THREADS);
    for (size_t i = 0; i < QUEUE_ROOM; i++)
        tnd_kept_file_destroy(&self->slots[i].file);
    pthread_cond_destroy(&self->opened);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}
