/*  runtime/core/lane/batch_room.h - how much waits until a batch can be released.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_LANE_BATCH_ROOM_H
#define TND_RUNTIME_CORE_LANE_BATCH_ROOM_H

#include <stdint.h>

typedef enum { TND_REMAINDER_KEEP, TND_REMAINDER_DROP, TND_REMAINDER_PAD } tnd_remainder_t;

/*  The maximum rows buffered for one step, including the following rows that show whether it is the
 *  last. */
uint64_t tnd_batch_room_rows(uint64_t size, tnd_remainder_t remainder);
/*  The most bytes that so many positions become, each at most `made_max`, with `made_ragged` of
 *  ragged columns, if a batch has at most `batch_ragged` of them; 0: no limit. */
uint64_t tnd_batch_room_bytes(uint64_t size, tnd_remainder_t remainder, uint64_t made_max,
                              uint64_t made_ragged, uint64_t batch_ragged);

#endif
