/*  runtime/feed/gatherers.h - threads that help the feeder's own to gather the rows of large
 *  batches.
 *
 *  Rows are gathered in parts.  Parts are begun in the order in which they were added, by any free
 *  thread, and end in any order; each has its own digest; their sum does not depend on the threads.
 *
 *  Threads: the owner's; the function that gathers is called on all, for different parts. */
#ifndef TND_RUNTIME_FEED_GATHERERS_H
#define TND_RUNTIME_FEED_GATHERERS_H

#include <stdatomic.h>

#include "runtime/core/numeric/digest.h"
#include "runtime/data/block.h"

/*  As many threads as the size of a batch and the processors suggest. */
#define TND_GATHER_AUTO 0

typedef struct tnd_gatherers tnd_gatherers_t;

typedef struct {
    const tnd_block_t *block;
    uint32_t first, rows; /* of the block */
    uint32_t slot, local; /* their destination, and the replica that they belong to */
    uint64_t at, rank;    /* of the first row: its row in the slot, its rank in the stream */
    /*  The result. */
    size_t copied;
    tnd_digest_t digest;
} tnd_gather_part_t;

/*  Gathers a part. */
typedef void tnd_gather_fn(void *context, tnd_gather_part_t *part);

/*  How many threads gather, the feeder's own included; `step_bytes`: of the rows of a batch. */
uint32_t tnd_gather_threads(uint64_t asked, uint64_t step_bytes);

/*  Memory that they use, without that of their threads. */
size_t tnd_gatherers_bytes(void);

/*  `others`: how many threads there are beside the owner's, at least 1.
 *  Errors: TND_FAILED if one of them cannot be started. */
tnd_status_t tnd_gatherers_new(tnd_gatherers_t **self_p, const char *name, uint32_t others,
                               tnd_gather_fn *gather, void *context,
                               tnd_error_t *error) TND_CHECKED;
/*  Discards the parts that have not been begun. */
void tnd_gatherers_destroy(tnd_gatherers_t **self_p);

/*  Whether this many more parts can be added before the next tnd_gatherers_collect. */
bool tnd_gatherers_have_room(const tnd_gatherers_t *self, uint64_t parts);
/*  Increments `left`, and decrements it when the part is gathered. */
void tnd_gatherers_add(tnd_gatherers_t *self, const tnd_gather_part_t *part,
                       _Atomic uint32_t *left);
/*  Lets the other threads begin the parts that were added. */
void tnd_gatherers_wake(tnd_gatherers_t *self);
/*  Gathers one part on the calling thread; false: all have been begun. */
bool tnd_gatherers_help(tnd_gatherers_t *self);
/*  Waits until all parts that have been begun are gathered. */
void tnd_gatherers_wait(tnd_gatherers_t *self);
/*  Returns the next part in the order in which they were added, or NULL; all must be gathered.
 *  Valid until a part is added. */
const tnd_gather_part_t *tnd_gatherers_collect(tnd_gatherers_t *self);
/*  Processor time of the other threads so far, in nanoseconds. */
uint64_t tnd_gatherers_cpu_ns(const tnd_gatherers_t *self);

#endif
