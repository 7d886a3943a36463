/*  runtime/core/stream/compose.h - which rows a global batch consists of, from watermarks alone.
 *
 *  Batch s of an epoch takes q_l(s) rows of each lane l, the rotated L-part split of the batch
 *  size.  What a lane no longer has is taken in order from lanes that have rows left.  Every join
 *  computes the same composition from the watermarks of all lanes; no host occurs in it.
 *
 *  A batch is known as soon as the watermarks decide it.  It is released only when it is also known
 *  whether another row follows in the epoch, so `last` is a function of the stream and not of
 *  timing.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_STREAM_COMPOSE_H
#define TND_RUNTIME_CORE_STREAM_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>

/*  A lane's rows of the epoch that no batch has taken yet. */
typedef struct {
    uint64_t left;
    bool ended; /* no more will come */
} tnd_left_t;

typedef enum {
    TND_COMPOSE_WAIT,  /* not decided yet: `waits_for` is a lane whose watermark is needed */
    TND_COMPOSE_BATCH, /* take[] is final */
    TND_COMPOSE_OVER   /* the epoch has no rows left */
} tnd_compose_t;

typedef struct {
    uint64_t rows; /* sum of take[] */
    bool last;     /* of the epoch */
    uint32_t waits_for;
} tnd_composition_t;

/*  Batch `step_of_epoch` of `size` rows over `lanes` lanes; take has room for `lanes` numbers. */
tnd_compose_t tnd_compose(uint64_t size, uint32_t lanes, uint64_t step_of_epoch,
                          const tnd_left_t *left, uint64_t *take, tnd_composition_t *composition);
/*  Where short batches are dropped: whether the batch that was composed is the last, because no whole
 *  one follows it. */
tnd_compose_t tnd_compose_whole(uint64_t size, uint32_t lanes, const tnd_left_t *left,
                                const uint64_t *take, tnd_composition_t *composition);

#endif
