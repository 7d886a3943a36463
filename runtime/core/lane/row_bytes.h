/*  runtime/core/lane/row_bytes.h - how many bytes the rows of a ticket may take.
 *
 *  A ticket is a range of positions and a budget: the bytes of ragged columns that it may bring, as
 *  read and as made.  A reader or worker that reaches the budget answers with fewer positions.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_LANE_ROW_BYTES_H
#define TND_RUNTIME_CORE_LANE_ROW_BYTES_H

#include <stdint.h>

typedef struct {
    uint64_t fixed;      /* that a position always takes: fixed columns, times expansion */
    uint64_t ragged_max; /* the most that the ragged columns of a position take, likewise */
    uint64_t budget;     /* of a ticket, unless its only position takes more */
} tnd_row_bytes_t;

/*  The most that so many positions take under that budget. */
static inline uint64_t tnd_row_bytes_most(const tnd_row_bytes_t *self, uint32_t positions,
                                          uint64_t budget)
{
    uint64_t ragged = 0;
    if (positions > 0)
        ragged = self->ragged_max > budget / positions ? budget : positions * self->ragged_max;
    return positions * self->fixed + ragged;
}

/*  The largest budget of a ticket. */
static inline uint64_t tnd_row_bytes_budget_max(const tnd_row_bytes_t *self)
{
    return self->ragged_max > self->budget ? self->ragged_max : self->budget;
}

#endif
