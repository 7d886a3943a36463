/*  tools/faults/step_gaps.c - the times of steps, and the gaps between them. */
#include "tools/faults/step_gaps.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

void tnd_step_gaps_add(tnd_step_gaps_t *self, uint64_t value)
{
    self->values = tnd_grow(self->values, self->count, &self->room, sizeof *self->values);
    self->values[self->count++] = value;
}

bool tnd_step_gaps_gap(const tnd_step_gaps_t *self, uint64_t from, uint64_t to, uint64_t end,
                       uint64_t *gap_p)
{
    size_t at;
    TND_LOWER_BOUND(at, 0, self->count, self->values[at] <= from);
    *gap_p = 0;
    bool any = at < self->count;
    for (uint64_t before = from; at < self->count && before < to && before < end; at++) {
        uint64_t gap = (self->values[at] < end ? self->values[at] : end) - before;
        *gap_p = gap > *gap_p ? gap : *gap_p;
        before = self->values[at];
    }
    return any;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

tnd_spread_t tnd_step_gaps_spread(tnd_step_gaps_t *self)
{
    size_t count = self->count;
    if (count == 0)
        return (tnd_spread_t){0};
    qsort(self->values, count, sizeof *self->values, compare);
    return (tnd_spread_t){.count = count,
                          .half = self->values[(count - 1) / 2],
                          .most_of = self->values[(count - 1) * 99 / 100],
                          .most = self->values[count - 1]};
}

void tnd_step_gaps_free(tnd_step_gaps_t *self)
{
    free(self->values);
    *self = (tnd_step_gaps_t){0};
}
