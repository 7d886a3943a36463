/*  runtime/data/buffer.h - memory that actors share without copying it.
 *
 *  One owner writes a buffer, seals it, and then any number of actors read it.  The memory goes
 *  back by the last drop: to the pool it came from, to libzmq, to the file mapping it belongs to.
 *  Pools keep what they once allocated, so that a running pipeline allocates nothing; a free
 *  buffer lies on a lock-free list that any thread may push to and only the owner pops from.
 *
 *  Threads: hold, drop and the accessors on any thread; writing, sealing and tnd_pool_take on the
 *  owner's.
 */
#ifndef TND_RUNTIME_DATA_BUFFER_H
#define TND_RUNTIME_DATA_BUFFER_H

#include "runtime/base/status.h"

typedef enum {
    TND_BUFFER_HEAP,
    TND_BUFFER_MAPPED,   /* pages of a file; not counted as memory of ours */
    TND_BUFFER_RECEIVED, /* libzmq's memory; alignment is not promised */
    TND_BUFFER_PINNED,   /* of a device's driver */
    TND_BUFFER_KINDS
} tnd_buffer_kind_t;

typedef struct tnd_buffer tnd_buffer_t;
typedef struct tnd_pool tnd_pool_t;

enum { TND_BUFFER_ALIGN = 64 };

/*  A buffer of its own, aligned to TND_BUFFER_ALIGN; exhaustion aborts.  The caller holds it. */
tnd_buffer_t *tnd_buffer_new(size_t size_bytes);

/*  A sealed buffer around memory of somebody else: the last drop calls `release(owner)`, on
 *  whatever thread that is; it must not block.
 */
tnd_buffer_t *tnd_buffer_wrap(tnd_buffer_kind_t kind, void *data, size_t size_bytes,
                              void (*release)(void *owner), void *owner);

/*  From here on the content never changes. */
void tnd_buffer_seal(tnd_buffer_t *self);
/*  Whether it is; who gets a buffer from another thread by a way that tools cannot follow asks this
 *  before anything else.
 */
bool tnd_buffer_sealed(const tnd_buffer_t *self);
tnd_buffer_t *tnd_buffer_hold(tnd_buffer_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_buffer_drop(tnd_buffer_t **self_p);

void *tnd_buffer_data(tnd_buffer_t *self);
size_t tnd_buffer_size(const tnd_buffer_t *self);
tnd_buffer_kind_t tnd_buffer_kind(const tnd_buffer_t *self);

/*  A pool of buffers of `size_bytes` each.  Takes are never refused: what bounds them is the
 *  credit of whoever takes.  The pool lives on until its last buffer is dropped.
 */
tnd_pool_t *tnd_pool_new(size_t size_bytes);
void tnd_pool_destroy(tnd_pool_t **self_p);
tnd_buffer_t *tnd_pool_take(tnd_pool_t *self);
/*  Buffers that exist / are out; for statistics. */
size_t tnd_pool_total(const tnd_pool_t *self);
size_t tnd_pool_out(const tnd_pool_t *self);

#endif
