/*  runtime/core/lane/batch_room.c - how much waits until a batch can be released. */
#include "runtime/core/lane/batch_room.h"

/*  A step waits for the row after it; with `drop`, for the batch after it. */
uint64_t tnd_batch_room_rows(uint64_t size, tnd_remainder_t remainder)
{
    return remainder == TND_REMAINDER_DROP ? 2 * size : size + 1;
}

/*  The row after a batch waits with it. */
uint64_t tnd_batch_room_bytes(uint64_t size, tnd_remainder_t remainder, uint64_t made_max,
                              uint64_t made_ragged, uint64_t batch_ragged)
{
    uint64_t rows = tnd_batch_room_rows(size, remainder), ragged;
    uint64_t batches = remainder == TND_REMAINDER_DROP ? 2 : 1;
    uint64_t bound = batches * batch_ragged + made_ragged;
    if (batch_ragged == 0)
        return rows * made_max;
    if (__builtin_mul_overflow(rows, made_ragged, &ragged) || ragged > bound)
        ragged = bound;
    return rows * (made_max - made_ragged) + ragged;
}
