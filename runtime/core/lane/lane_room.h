/*  runtime/core/lane/lane_room.h - how many bytes a lane may reserve, and which of them are kept for
 *  the floor.
 *
 *  Where rows have different sizes, a ticket whose block covered only a part of it has no
 *  reservation for the rest, and later tickets may have taken all bytes.  So some are kept that only
 *  the floor's ticket and rows that wait for a batch may use: the floor is then always possible.
 *  Where all rows have one size, each ticket keeps its reservation and nothing need be kept.
 *
 *  Threads: any; a plain value. */
#ifndef TND_RUNTIME_CORE_LANE_LANE_ROOM_H
#define TND_RUNTIME_CORE_LANE_LANE_ROOM_H

#include <assert.h>
#include <stdbool.h>

#include "runtime/core/lane/row_bytes.h"

typedef struct {
    uint64_t all;
    uint64_t wanted; /* of the rows that a batch waits for and of a block that is partly taken */
    uint64_t floor;  /* of the largest ticket */
    bool ragged;     /* rows have different sizes */
} tnd_lane_room_t;

/*  What so many rows take, of at most `made_max` bytes each. */
static inline uint64_t tnd_lane_room_wanted(uint64_t rows_wanted, uint64_t made_max)
{
    uint64_t wanted;
    return __builtin_mul_overflow(rows_wanted, made_max, &wanted) ? UINT64_MAX : wanted;
}

/*  At least what the rows that a batch waits for, of at most `wanted_bytes`, a head that is partly
 *  taken and the floor's ticket need. */
static inline tnd_lane_room_t tnd_lane_room_of(const tnd_row_bytes_t *bytes, uint32_t block_rows,
                                               uint64_t wanted_bytes, uint64_t window_bytes)
{
    uint64_t one = bytes->fixed + bytes->ragged_max;
    uint64_t most = tnd_row_bytes_most(bytes, block_rows, bytes->budget);
    assert(window_bytes <= INT64_MAX && one <= INT64_MAX / 8 && most <= INT64_MAX / 8);
    assert(wanted_bytes <= INT64_MAX / 2);
    tnd_lane_room_t room = {.floor = one > most ? one : most, .ragged = bytes->ragged_max > 0};
    room.wanted = wanted_bytes + room.floor;
    room.all = room.wanted + room.floor;
    room.all = window_bytes > room.all ? window_bytes : room.all;
    return room;
}

/*  The bytes kept while joined rows take `joined`. */
static inline uint64_t tnd_lane_room_kept(const tnd_lane_room_t *self, uint64_t joined)
{
    uint64_t wanted = self->wanted > joined ? self->wanted - joined : 0;
    return self->ragged ? self->floor + wanted : 0;
}

#endif
