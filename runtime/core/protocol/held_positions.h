/*  runtime/core/protocol/held_positions.h - the positions of a ticket that a cache does not ask for,
 *  because it has their rows.
 *
 *  Positions are counted from the first of the ticket.  Those from TND_HELD_MAX on are always asked
 *  for, so the tickets of a lane with a cache have no more than these.
 *
 *  Threads: any.  A plain value; zeroed: all positions are asked for. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_HELD_POSITIONS_H
#define TND_RUNTIME_CORE_PROTOCOL_HELD_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TND_HELD_MAX = 256 };

typedef struct {
    uint64_t bits[TND_HELD_MAX / 64];
} tnd_held_t;

static inline bool tnd_held_has(const tnd_held_t *self, uint32_t position)
{
    return position < TND_HELD_MAX && (self->bits[position / 64] >> position % 64 & 1) != 0;
}

static inline void tnd_held_add(tnd_held_t *self, uint32_t position)
{
    if (position < TND_HELD_MAX)
        self->bits[position / 64] |= (uint64_t)1 << position % 64;
}

/*  Moves those of `count` numbers, one of each position, together that are asked for; returns how
 *  many these are. */
static inline uint32_t tnd_held_leave_out(const tnd_held_t *self, uint64_t *numbers, uint32_t count)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!tnd_held_has(self, i))
            numbers[asked++] = numbers[i];
    return asked;
}

/*  How many of the first `count` positions are asked for. */
static inline uint32_t tnd_held_asked(const tnd_held_t *self, uint32_t count)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++)
        asked += !tnd_held_has(self, i);
    return asked;
}

#endif
