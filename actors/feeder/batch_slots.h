/*  actors/feeder/batch_slots.h - copies the rows of a feeder's steps to where its devices read
 *  them.
 *
 *  Rows are copied once, from their blocks to the memory that the device reads, and hashed while
 *  they are in the cache.  If the rows of a replica are contiguous and the device reads the host's
 *  memory, they are not copied: the step reads them in their block, which is held until the step is
 *  done, and its thread hashes them just before.  Ragged rows are always copied.  Where they are
 *  arranged by their lengths, the slices of a replica wait until all of them have come.
 *
 *  Several threads gather the rows of large slices while the actor continues.
 *
 *  The state machine (runtime/core/feeder.h) decides which step has which slot; the device workers
 *  own the memory.
 *
 *  Threads: the feeder's actor. */
#ifndef TND_ACTORS_FEEDER_BATCH_SLOTS_H
#define TND_ACTORS_FEEDER_BATCH_SLOTS_H

#include "runtime/core/protocol/effect.h"
#include "runtime/feed/device_workers.h"
#include "runtime/feed/gatherers.h"

typedef struct {
    const char *name; /* of the feeder, for texts */
    tnd_device_workers_t *workers;
    const tnd_schema_t *schema;
    tnd_statistics_t *statistics;
    uint32_t depth;
    uint32_t first, count; /* replicas carried here */
    uint64_t rows_max;     /* of one replica in one step, padding included */
    bool digest;           /* whether rows are hashed */
    uint32_t threads;      /* that gather, the actor's included */
    const char *batcher;   /* whose option `bytes` bounds the ragged rows */
    uint64_t ragged_max;   /* that option; 0: not set */
} tnd_batch_slots_config_t;

typedef struct tnd_batch_slots tnd_batch_slots_t;

/*  What the config points to remains the caller's.  Errors: TND_FAILED if a thread that gathers cannot
 *  be started. */
tnd_status_t tnd_batch_slots_new(tnd_batch_slots_t **self_p, const tnd_batch_slots_config_t *config,
                                 tnd_error_t *error) TND_CHECKED;
void tnd_batch_slots_destroy(tnd_batch_slots_t **self_p);

/*  There are so many slots now, all free, with nothing to settle (tnd_device_workers_resize). */
void tnd_batch_slots_resize(tnd_batch_slots_t *self, uint32_t depth);

/*  Performs PLACE, or starts it; takes the slice in any case. Errors: TND_FAILED if the slice has
 *  another number of rows than its note, or more than the replica has room for, or if ragged rows
 *  take more than `ragged_max`, or if rows were lost (runtime/data/mapped.h). */
tnd_status_t tnd_batch_slots_place(tnd_batch_slots_t *self, const tnd_effect_t *place,
                                   tnd_error_t *error) TND_CHECKED;
/*  Performs READY, as tnd_device_workers_ready, once the rows of the step are in its slot. */
void tnd_batch_slots_ready(tnd_batch_slots_t *self, uint32_t slot, const tnd_slice_note_t *note,
                           const tnd_task_t *keep);
/*  Completes what was started. Errors: TND_FAILED if rows were lost. */
tnd_status_t tnd_batch_slots_settle(tnd_batch_slots_t *self, tnd_error_t *error) TND_CHECKED;
/*  Lets the devices, or the program, start the steps that are ready. */
void tnd_batch_slots_flush(tnd_batch_slots_t *self);
/*  Performs FREE. Settle before this and before tnd_batch_slots_digest. */
tnd_status_t tnd_batch_slots_free(tnd_batch_slots_t *self, uint32_t slot,
                                  tnd_error_t *error) TND_CHECKED;
/*  The digest of all rows of a step that is done and not free yet. */
tnd_digest_t tnd_batch_slots_digest(const tnd_batch_slots_t *self, const tnd_done_t *done);
/*  Processor time of the threads other than the actor's, in nanoseconds. */
uint64_t tnd_batch_slots_cpu_ns(const tnd_batch_slots_t *self);

#endif
