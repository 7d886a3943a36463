/*  runtime/data/buffer.h - memory that actors share without copying it.
 *
 *  One owner writes a buffer and seals it; then any number of actors read it.  The last drop
 *  returns the memory to its pool, to libzmq or to the file mapping it belongs to.  Pools keep what
 *  they allocated, so a running pipeline allocates nothing.  Free buffers are in a lock-free list:
 *  any thread may push to it, only the owner pops from it.
 *
 *  Threads: hold, drop, accessors on any; writing, sealing and tnd_pool_take on the owner's. */
#ifndef TND_RUNTIME_DATA_BUFFER_H
#define TND_RUNTIME_DATA_BUFFER_H

#include "runtime/base/status.h"

typedef enum {
    TND_BUFFER_HEAP,
    TND_BUFFER_MAPPED,   /* pages of a file; not counted as our memory */
    TND_BUFFER_RECEIVED, /* libzmq's memory, of any alignment */
    TND_BUFFER_PINNED,   /* page-locked: devices copy from it */
    TND_BUFFER_SHARED    /* other processes of this machine can read it */
} tnd_buffer_kind_t;

typedef struct tnd_buffer tnd_buffer_t;
typedef struct tnd_shared_memory tnd_shared_memory_t;
typedef struct tnd_pool tnd_pool_t;

enum { TND_BUFFER_ALIGN = 64 };

/*  A buffer without a pool, aligned to TND_BUFFER_ALIGN; the caller holds it. The process aborts
 *  when memory is exhausted. */
tnd_buffer_t *tnd_buffer_new(size_t size_bytes);

/*  A sealed buffer around memory of the caller. The last drop calls `release(owner)` on its thread;
 *  `release` must not block. */
tnd_buffer_t *tnd_buffer_wrap(tnd_buffer_kind_t kind, void *data, size_t size_bytes,
                              void (*release)(void *owner), void *owner);

/*  The buffer, which is not sealed, has only so many bytes, until it is back in its pool. */
void tnd_buffer_trim(tnd_buffer_t *self, size_t size_bytes);
/*  After this the content never changes. */
void tnd_buffer_seal(tnd_buffer_t *self);
/*  Whether the buffer is sealed. A thread that receives a buffer in a way that tools cannot follow
 *  calls this first. */
bool tnd_buffer_sealed(const tnd_buffer_t *self);
tnd_buffer_t *tnd_buffer_hold(tnd_buffer_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_buffer_drop(tnd_buffer_t **self_p);

void *tnd_buffer_data(tnd_buffer_t *self);
size_t tnd_buffer_size(const tnd_buffer_t *self);
tnd_buffer_kind_t tnd_buffer_kind(const tnd_buffer_t *self);
/*  The memory that a TND_BUFFER_SHARED of a pool is in; NULL for all others. */
tnd_shared_memory_t *tnd_buffer_memory(const tnd_buffer_t *self);

/*  A pool of buffers of `size_bytes` each. A take never fails; the credit of the actor that takes
 *  is the bound. The pool lives until its last buffer is dropped. */
tnd_pool_t *tnd_pool_new(size_t size_bytes);
/*  The same, and `most` of its buffers are TND_BUFFER_SHARED, as far as the system allows.  A message
 *  that carries one to another process may only name it: its owner holds the buffer until the
 *  receiver has said that it does not read it any more. */
tnd_pool_t *tnd_pool_new_shared(size_t size_bytes, uint32_t most);
void tnd_pool_destroy(tnd_pool_t **self_p);
tnd_buffer_t *tnd_pool_take(tnd_pool_t *self);
/*  A buffer of at least `size_bytes` of *self_p, which becomes a pool of larger ones if its own are
 *  too small, or NULL. */
tnd_buffer_t *tnd_pool_take_of(tnd_pool_t **self_p, size_t size_bytes);
/*  Buffers that exist, and that are in use; for statistics. */
size_t tnd_pool_total(const tnd_pool_t *self);
size_t tnd_pool_out(const tnd_pool_t *self);

#endif
