/*  runtime/data/buffer.c - memory that actors share without copying it.  */
#include "runtime/data/buffer.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/base/allocation.h"
#include "runtime/base/free_list.h"
#include "runtime/data/shared_memory.h"

struct tnd_buffer {
    tnd_free_list_node_t node;
    atomic_uint holders;
    atomic_bool sealed;
    tnd_buffer_kind_t kind;
    uint8_t *data;
    size_t size;
    tnd_pool_t *pool; /* NULL: not of a pool */
    void (*release)(void *owner);
    void *owner;
};

/*  `holders` counts the pool's owner and each buffer that is out, and is apart from what the owner
 *  alone writes. */
struct tnd_pool {
    tnd_free_list_t free_list;
    size_t size;
    tnd_shared_memory_t *memory; /* NULL: it has none */
    atomic_size_t total;
    _Alignas(TND_BUFFER_ALIGN) atomic_size_t holders;
    atomic_bool closed;
};

enum {
    HEADER_BYTES =
        (sizeof(tnd_buffer_t) + TND_BUFFER_ALIGN - 1) / TND_BUFFER_ALIGN * TND_BUFFER_ALIGN
};

/*  The buffers of a pool that grows have at least so many bytes. */
enum { POOLED_MIN = 4096 };

/*  A large piece asks for huge pages: it is there sooner, and found faster. */
enum { HUGE_PAGE_BYTES = 2 << 20, HUGE_BYTES_MIN = 8 << 20 };

static void *take_memory(size_t size)
{
    bool huge = size >= HUGE_BYTES_MIN;
    void *memory = tnd_allocate_aligned(huge ? HUGE_PAGE_BYTES : TND_BUFFER_ALIGN, size);
    if (huge)
        (void)madvise(memory, size / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    return memory;
}

/*  Header and data are one piece of memory. */
static tnd_buffer_t *make(size_t size, tnd_pool_t *pool)
{
    assert(size <= SIZE_MAX - HEADER_BYTES);
    tnd_buffer_t *self = take_memory(HEADER_BYTES + size);
    *self = (tnd_buffer_t){.kind = TND_BUFFER_HEAP,
                           .data = (uint8_t *)self + HEADER_BYTES,
                           .size = size,
                           .pool = pool};
    atomic_init(&self->holders, 1);
    return self;
}

tnd_buffer_t *tnd_buffer_new(size_t size_bytes)
{
    return make(size_bytes, NULL);
}

tnd_buffer_t *tnd_buffer_wrap(tnd_buffer_kind_t kind, void *data, size_t size_bytes,
                              void (*release)(void *owner), void *owner)
{
    tnd_buffer_t *self = take_memory(sizeof *self);
    *self = (tnd_buffer_t){
        .kind = kind, .data = data, .size = size_bytes, .release = release, .owner = owner};
    atomic_init(&self->holders, 1);
    atomic_init(&self->sealed, true);
    return self;
}

void tnd_buffer_seal(tnd_buffer_t *self)
{
    assert(!atomic_load_explicit(&self->sealed, memory_order_relaxed));
    atomic_store_explicit(&self->sealed, true, memory_order_release);
}

bool tnd_buffer_sealed(const tnd_buffer_t *self)
{
    return atomic_load_explicit(&self->sealed, memory_order_acquire);
}

tnd_buffer_t *tnd_buffer_hold(tnd_buffer_t *self)
{
    assert(atomic_load_explicit(&self->sealed, memory_order_acquire));
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
    return self;
}

void tnd_buffer_trim(tnd_buffer_t *self, size_t size_bytes)
{
    assert(!atomic_load_explicit(&self->sealed, memory_order_relaxed) && size_bytes <= self->size);
    self->size = size_bytes;
}

static void pool_leave(tnd_pool_t *self)
{
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (tnd_free_list_node_t *node; (node = tnd_free_list_take(&self->free_list)) != NULL;)
        free(node);
    tnd_shared_memory_drop(&self->memory);
    free(self);
}

/*  The buffer is in the free list before its holder leaves, so the last one finds them all.  Once
 *  the owner is gone it will not be taken again: the memory is freed at once. */
static void pool_put(tnd_pool_t *self, tnd_buffer_t *buffer)
{
    if (atomic_load_explicit(&self->closed, memory_order_relaxed))
        free(buffer);
    else
        tnd_free_list_put(&self->free_list, &buffer->node);
    pool_leave(self);
}

void tnd_buffer_drop(tnd_buffer_t **self_p)
{
    tnd_buffer_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    if (self->pool != NULL) {
        pool_put(self->pool, self);
        return;
    }
    if (self->release != NULL)
        self->release(self->owner);
    free(self);
}

void *tnd_buffer_data(tnd_buffer_t *self)
{
    return self->data;
}

size_t tnd_buffer_size(const tnd_buffer_t *self)
{
    return self->size;
}

tnd_buffer_kind_t tnd_buffer_kind(const tnd_buffer_t *self)
{
    return self->kind;
}

tnd_shared_memory_t *tnd_buffer_memory(const tnd_buffer_t *self)
{
    return self->kind == TND_BUFFER_SHARED && self->pool != NULL ? self->pool->memory : NULL;
}

tnd_pool_t *tnd_pool_new(size_t size_bytes)
{
    tnd_pool_t *self = take_memory(sizeof *self);
    *self = (tnd_pool_t){.size = size_bytes};
    atomic_init(&self->holders, 1);
    return self;
}

tnd_pool_t *tnd_pool_new_shared(size_t size_bytes, uint32_t most)
{
    tnd_pool_t *self = tnd_pool_new(size_bytes);
    self->memory = tnd_shared_memory_new(size_bytes, most);
    return self;
}

void tnd_pool_destroy(tnd_pool_t **self_p)
{
    tnd_pool_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    atomic_store_explicit(&self->closed, true, memory_order_relaxed);
    for (tnd_free_list_node_t *node; (node = tnd_free_list_take(&self->free_list)) != NULL;)
        free(node);
    pool_leave(self);
}

static tnd_buffer_t *make_of(tnd_pool_t *pool)
{
    void *data = pool->memory != NULL ? tnd_shared_memory_reserve(pool->memory) : NULL;
    if (data == NULL)
        return make(pool->size, pool);
    tnd_buffer_t *self = tnd_buffer_wrap(TND_BUFFER_SHARED, data, pool->size, NULL, NULL);
    self->pool = pool;
    atomic_store_explicit(&self->sealed, false, memory_order_relaxed);
    return self;
}

tnd_buffer_t *tnd_pool_take(tnd_pool_t *self)
{
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
    tnd_free_list_node_t *node = tnd_free_list_take(&self->free_list);
    if (node == NULL) {
        atomic_fetch_add_explicit(&self->total, 1, memory_order_relaxed);
        return make_of(self);
    }
    tnd_buffer_t *buffer = (tnd_buffer_t *)(void *)node;
    buffer->size = self->size;
    atomic_store_explicit(&buffer->sealed, false, memory_order_relaxed);
    atomic_store_explicit(&buffer->holders, 1, memory_order_relaxed);
    return buffer;
}

tnd_buffer_t *tnd_pool_take_of(tnd_pool_t **self_p, size_t size_bytes)
{
    if (*self_p == NULL || (*self_p)->size < size_bytes) {
        tnd_pool_destroy(self_p);
        *self_p = tnd_pool_new(size_bytes < POOLED_MIN ? POOLED_MIN : size_bytes);
    }
    return tnd_pool_take(*self_p);
}

size_t tnd_pool_total(const tnd_pool_t *self)
{
    return atomic_load_explicit(&self->total, memory_order_relaxed);
}

size_t tnd_pool_out(const tnd_pool_t *self)
{
    return atomic_load_explicit(&self->holders, memory_order_relaxed) - 1;
}
