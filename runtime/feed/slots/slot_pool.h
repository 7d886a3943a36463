/*  runtime/feed/slots/slot_pool.h - the devices of one feeder, and the memory of its slots.
 *
 *  The memory of a slot is one stage per replica.  It is reference-counted: the slot holds one
 *  reference, and so does each tensor that a program was given of its rows.  The last release makes
 *  it a spare of its pool, which keeps `spare` of them and frees others.
 *
 *  The pool is destroyed by its owner.  The devices stay open, and memory that is still referenced
 *  stays valid, until the last reference is released.
 *
 *  Threads: tnd_slot_memory_hold, tnd_slot_memory_release and tnd_slot_memory_return on any; all
 *  else on the owner's. */
#ifndef TND_RUNTIME_FEED_SLOTS_SLOT_POOL_H
#define TND_RUNTIME_FEED_SLOTS_SLOT_POOL_H

#include <stdatomic.h>

#include "runtime/data/block.h"
#include "runtime/interface/device.h"

typedef struct tnd_slot_pool tnd_slot_pool_t;

typedef struct {
    const char *const *devices; /* by replica: "cpu:0"; equal neighbours share a device */
    uint32_t count;             /* replicas */
    tnd_device_config_t device; /* how they are opened */
    size_t bytes, warm;         /* of a stage's host side, and how much of it every step writes */
    size_t device_bytes;        /* of its side of devices with memory of their own */
    size_t lists;               /* u64 of the lists of a replica's ragged columns */
    uint32_t spare;             /* memories kept beside those that are referenced */
    uint32_t most;              /* memories in all; 0: any number */
} tnd_slot_pool_config_t;

typedef struct tnd_slot_memory {
    tnd_slot_pool_t *pool;
    struct tnd_slot_memory *next; /* among the spares */
    _Atomic uint32_t references;
    tnd_stage_t *stages;  /* by replica */
    tnd_slice_t **slices; /* by replica: whose rows are read in place, dropped with the last
                             reference; NULL: none */
    uint64_t *lists;      /* by replica x config.lists */
} tnd_slot_memory_t;

/*  A reference of a reader on a stream of the device.  Where it ends the device must not be called,
 *  so the owner marks the stream as a reader of the stage before the memory is used again. */
typedef struct tnd_slot_reader {
    struct tnd_slot_reader *next; /* among those that have ended */
    tnd_slot_memory_t *memory;    /* one reference */
    uint32_t replica;
    tnd_stream_handle_t stream;
} tnd_slot_reader_t;

/*  Opens the devices.  The config's texts are copied as far as they are needed.  Errors:
 *  TND_FAILED if a device cannot be opened: *failed_p is its replica (failed_p may be NULL), and
 *  *self_p is NULL. */
tnd_status_t tnd_slot_pool_new(tnd_slot_pool_t **self_p, const tnd_slot_pool_config_t *config,
                               uint32_t *failed_p, tnd_error_t *error) TND_CHECKED;
/*  Frees the spares.  Sets *self_p to NULL; NULL is allowed. */
void tnd_slot_pool_destroy(tnd_slot_pool_t **self_p);
/*  Never frees memory of the pool, nor closes its devices, which still access it.  Before it is
 *  destroyed. */
void tnd_slot_pool_abandon(tnd_slot_pool_t *self);
/*  The device of a replica. */
tnd_device_t *tnd_slot_pool_device(const tnd_slot_pool_t *self, uint32_t replica);

/*  How many spares there are, how many further memories may be allocated, and how many there are in
 *  all.  On any thread. */
typedef struct {
    uint32_t spares, room, all;
} tnd_slot_pool_counts_t;

tnd_slot_pool_counts_t tnd_slot_pool_counts(tnd_slot_pool_t *self);

/*  Returns a memory with one reference, the caller's: a spare, with the rows and lists last
 *  written to it, or a new one of zeros.  Errors: TND_FAILED if a device cannot allocate
 *  it: *failed_p is its replica (failed_p may be NULL). */
tnd_status_t tnd_slot_pool_take(tnd_slot_pool_t *self, tnd_slot_memory_t **memory_p,
                                uint32_t *failed_p, tnd_error_t *error) TND_CHECKED;

tnd_slot_memory_t *tnd_slot_memory_hold(tnd_slot_memory_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_slot_memory_release(tnd_slot_memory_t **self_p);
/*  The reader has put all its work into its stream.  Takes `reader`, which is freed by free().  Calls
 *  no device while the pool has its owner. */
void tnd_slot_memory_return(tnd_slot_reader_t *reader);
/*  Whether devices have done, or will never do, all that they were asked to do with this memory / with
 *  the spares of a pool. */
bool tnd_slot_memory_settled(const tnd_slot_memory_t *self);
bool tnd_slot_pool_settled(tnd_slot_pool_t *self);
/*  Whether there are references besides the caller's, other than of readers that have ended. */
bool tnd_slot_memory_shared(const tnd_slot_memory_t *self);

#endif
