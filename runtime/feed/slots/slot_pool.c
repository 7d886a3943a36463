/*  runtime/feed/slots/slot_pool.c - the devices of one feeder, and the memory of its slots. */
#include "runtime/feed/slots/slot_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

struct tnd_slot_pool {
    tnd_slot_pool_config_t config;
    tnd_device_t **devices;             /* by replica; repeated if several replicas share it */
    _Atomic uint32_t users;             /* the owner, and memories that are referenced */
    _Atomic(tnd_slot_reader_t *) ended; /* readers whose streams are not marked yet */
    _Atomic bool orphaned;              /* no owner marks them any more */
    _Atomic bool abandoned;             /* a device still accesses some memory of it */
    pthread_mutex_t lock;               /* guards the rest */
    tnd_slot_memory_t *free;            /* the spares */
    uint32_t free_count, all;           /* all: memories that exist */
    bool closed;
};

static void close_devices(tnd_slot_pool_t *self)
{
    for (uint32_t i = 0; i < self->config.count; i++) {
        tnd_device_t *device = self->devices[i];
        if (i + 1 == self->config.count || self->devices[i + 1] != device)
            tnd_device_close(&device);
    }
}

static void drop_pool(tnd_slot_pool_t *self)
{
    if (atomic_fetch_sub_explicit(&self->users, 1, memory_order_acq_rel) != 1 ||
        atomic_load(&self->abandoned))
        return;
    close_devices(self);
    pthread_mutex_destroy(&self->lock);
    free(self->devices);
    free(self);
}

static void count_memory(tnd_slot_pool_t *self, int more)
{
    pthread_mutex_lock(&self->lock);
    self->all += (uint32_t)more;
    pthread_mutex_unlock(&self->lock);
}

tnd_slot_pool_counts_t tnd_slot_pool_counts(tnd_slot_pool_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint32_t most = self->config.most > 0 ? self->config.most : UINT32_MAX;
    tnd_slot_pool_counts_t counts = {.spares = self->free_count,
                                     .room = self->all < most ? most - self->all : 0,
                                     .all = self->all};
    pthread_mutex_unlock(&self->lock);
    return counts;
}

static void free_memory(tnd_slot_memory_t *self)
{
    tnd_slot_pool_t *pool = self->pool;
    count_memory(pool, -1);
    for (uint32_t i = 0; i < pool->config.count; i++)
        if (self->stages[i].host != NULL)
            pool->devices[i]->ops->unstage(pool->devices[i], &self->stages[i]);
    free(self->stages);
    free(self->slices);
    free(self->lists);
    free(self);
}

/*  Notes the replica whose device is called next. */
static void note(uint32_t *failed_p, uint32_t replica)
{
    if (failed_p != NULL)
        *failed_p = replica;
}

tnd_status_t tnd_slot_pool_new(tnd_slot_pool_t **self_p, const tnd_slot_pool_config_t *config,
                               uint32_t *failed_p, tnd_error_t *error)
{
    assert(config->count > 0);
    tnd_slot_pool_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->config.devices = NULL;
    self->devices = tnd_allocate_zeroed(config->count, sizeof(tnd_device_t *));
    atomic_init(&self->users, 1);
    pthread_mutex_init(&self->lock, NULL);
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < config->count && status == TND_OK; i++) {
        note(failed_p, i);
        if (i > 0 && strcmp(config->devices[i], config->devices[i - 1]) == 0)
            self->devices[i] = self->devices[i - 1];
        else
            status = tnd_device_open(&self->devices[i], config->devices[i], &config->device, error);
    }
    if (status != TND_OK)
        tnd_slot_pool_destroy(&self);
    *self_p = self;
    return status;
}

/*  Marks the streams of readers that have ended.  An error is that of the device, whose next call
 *  returns it. */
static void mark_ended(tnd_slot_pool_t *self)
{
    tnd_slot_reader_t *reader = atomic_exchange(&self->ended, NULL);
    while (reader != NULL) {
        tnd_error_t error;
        tnd_slot_reader_t *next = reader->next;
        tnd_device_t *device = self->devices[reader->replica];
        (void)device->ops->mark(device, &reader->memory->stages[reader->replica], reader->stream,
                                &error);
        tnd_slot_memory_release(&reader->memory);
        free(reader);
        reader = next;
    }
}

void tnd_slot_pool_destroy(tnd_slot_pool_t **self_p)
{
    tnd_slot_pool_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    tnd_slot_memory_t *spare = self->free;
    self->free = NULL;
    self->closed = true;
    pthread_mutex_unlock(&self->lock);
    while (spare != NULL && !atomic_load(&self->abandoned)) {
        tnd_slot_memory_t *next = spare->next;
        free_memory(spare);
        spare = next;
    }
    atomic_store(&self->orphaned, true);
    if (!atomic_load(&self->abandoned))
        mark_ended(self);
    drop_pool(self);
}

void tnd_slot_pool_abandon(tnd_slot_pool_t *self)
{
    atomic_store(&self->abandoned, true);
}

static bool is_settled(const tnd_slot_memory_t *self)
{
    tnd_error_t error;
    const tnd_slot_pool_t *pool = self->pool;
    for (uint32_t i = 0; i < pool->config.count; i++) {
        tnd_device_t *device = pool->devices[i];
        if (device->ops->uploaded(device, &self->stages[i], &error) == TND_AGAIN ||
            device->ops->finished(device, &self->stages[i], &error) == TND_AGAIN)
            return false;
    }
    return true;
}

bool tnd_slot_memory_settled(const tnd_slot_memory_t *self)
{
    mark_ended(self->pool);
    return is_settled(self);
}

bool tnd_slot_pool_settled(tnd_slot_pool_t *self)
{
    bool settled = true;
    mark_ended(self);
    pthread_mutex_lock(&self->lock);
    for (tnd_slot_memory_t *spare = self->free; spare != NULL && settled; spare = spare->next)
        settled = is_settled(spare);
    pthread_mutex_unlock(&self->lock);
    return settled;
}

tnd_device_t *tnd_slot_pool_device(const tnd_slot_pool_t *self, uint32_t replica)
{
    return self->devices[replica];
}

/*  The spare that was released last, whose pages are the warmest; NULL: there is none. */
static tnd_slot_memory_t *pop(tnd_slot_pool_t *self)
{
    pthread_mutex_lock(&self->lock);
    tnd_slot_memory_t *memory = self->free;
    if (memory != NULL) {
        self->free = memory->next;
        self->free_count--;
    }
    pthread_mutex_unlock(&self->lock);
    return memory;
}

/*  Keeps a memory as a spare; false: there are enough, or the pool has ended. */
static bool push(tnd_slot_pool_t *self, tnd_slot_memory_t *memory)
{
    pthread_mutex_lock(&self->lock);
    bool kept = !self->closed && self->free_count < self->config.spare;
    if (kept) {
        memory->next = self->free;
        self->free = memory;
        self->free_count++;
    }
    pthread_mutex_unlock(&self->lock);
    return kept;
}

static tnd_status_t make_stage(tnd_slot_pool_t *self, uint32_t replica, tnd_stage_t *stage,
                               tnd_error_t *error)
{
    const tnd_slot_pool_config_t *config = &self->config;
    tnd_device_t *device = self->devices[replica];
    bool own = (device->ops->can & TND_DEVICE_OWN_MEMORY) != 0;
    return device->ops->stage(device, config->bytes, own ? config->device_bytes : config->bytes,
                              config->warm, stage, error);
}

tnd_status_t tnd_slot_pool_take(tnd_slot_pool_t *self, tnd_slot_memory_t **memory_p,
                                uint32_t *failed_p, tnd_error_t *error)
{
    const tnd_slot_pool_config_t *config = &self->config;
    tnd_status_t status = TND_OK;
    mark_ended(self);
    tnd_slot_memory_t *memory = pop(self);
    if (memory == NULL) {
        memory = tnd_allocate_zeroed(1, sizeof *memory);
        count_memory(self, 1);
        memory->pool = self;
        memory->stages = tnd_allocate_zeroed(config->count, sizeof *memory->stages);
        memory->slices = tnd_allocate_zeroed(config->count, sizeof(tnd_slice_t *));
        memory->lists = tnd_allocate_zeroed(config->count * config->lists, sizeof *memory->lists);
        for (uint32_t i = 0; i < config->count && status == TND_OK; i++) {
            note(failed_p, i);
            status = make_stage(self, i, &memory->stages[i], error);
        }
    }
    if (status != TND_OK) {
        free_memory(memory);
        return status;
    }
    atomic_init(&memory->references, 1);
    atomic_fetch_add_explicit(&self->users, 1, memory_order_relaxed);
    *memory_p = memory;
    return TND_OK;
}

tnd_slot_memory_t *tnd_slot_memory_hold(tnd_slot_memory_t *self)
{
    atomic_fetch_add_explicit(&self->references, 1, memory_order_relaxed);
    return self;
}

void tnd_slot_memory_release(tnd_slot_memory_t **self_p)
{
    tnd_slot_memory_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || atomic_fetch_sub_explicit(&self->references, 1, memory_order_acq_rel) != 1)
        return;
    tnd_slot_pool_t *pool = self->pool;
    if (atomic_load(&pool->abandoned))
        return; /* also what it borrows */
    for (uint32_t i = 0; i < pool->config.count; i++)
        tnd_slice_drop(&self->slices[i]);
    if (!push(pool, self))
        free_memory(self);
    drop_pool(pool);
}

/*  The owner either sees the reader when it leaves, or is seen to have left. */
void tnd_slot_memory_return(tnd_slot_reader_t *reader)
{
    tnd_slot_pool_t *pool = reader->memory->pool;
    atomic_fetch_add_explicit(&pool->users, 1, memory_order_relaxed);
    reader->next = atomic_load(&pool->ended);
    while (!atomic_compare_exchange_weak(&pool->ended, &reader->next, reader))
        ;
    if (atomic_load(&pool->orphaned))
        mark_ended(pool);
    drop_pool(pool);
}

bool tnd_slot_memory_shared(const tnd_slot_memory_t *self)
{
    mark_ended(self->pool);
    return atomic_load_explicit(&self->references, memory_order_acquire) > 1;
}
