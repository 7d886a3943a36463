/*  runtime/data/shared_memory.h - memory that other processes of this machine can read.
 *
 *  It is a file in memory (memfd_create(2)) of a fixed size, which has no name: nothing remains of
 *  it when its owner is killed.  Another process opens it as /proc/PID/fd/FILE.  The first page has a
 *  random key.  A process that finds the key there shares the machine with the owner; a process of
 *  another machine, container, pid namespace or user does not.
 *
 *  The size is sealed, so readers never get SIGBUS, even if the owner dies.  They can only read it,
 *  and what they read may change at any time.
 *
 *  Threads: reserve on the owner's; all others on any. */
#ifndef TND_RUNTIME_DATA_SHARED_MEMORY_H
#define TND_RUNTIME_DATA_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tnd_shared_memory tnd_shared_memory_t;

/*  What another process needs to find it. */
typedef struct {
    uint64_t key[2];
    uint32_t process;
    uint32_t file; /* its descriptor there */
    uint64_t bytes;
} tnd_shared_name_t;

/*  `pieces` pieces of `bytes` each, rounded up to whole pages; the caller holds it.  NULL: the system
 *  allows none.  Memory is taken by tnd_shared_memory_reserve. */
tnd_shared_memory_t *tnd_shared_memory_new(size_t bytes, uint32_t pieces);
/*  The next piece; NULL if all are reserved, or memory is exhausted. */
void *tnd_shared_memory_reserve(tnd_shared_memory_t *self);
const tnd_shared_name_t *tnd_shared_memory_name(const tnd_shared_memory_t *self);

/*  Finds the memory of another process; the caller holds it.  `name` may come from anywhere.  NULL:
 *  this process cannot read it, or it is another one. */
tnd_shared_memory_t *tnd_shared_memory_find(const tnd_shared_name_t *name);
/*  Where these bytes are; NULL if they are not all inside. */
const void *tnd_shared_memory_at(const tnd_shared_memory_t *self, uint64_t offset, uint64_t bytes);
/*  The offset of a byte of a piece. */
uint64_t tnd_shared_memory_offset(const tnd_shared_memory_t *self, const void *data);

tnd_shared_memory_t *tnd_shared_memory_hold(tnd_shared_memory_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_shared_memory_drop(tnd_shared_memory_t **self_p);

#endif
