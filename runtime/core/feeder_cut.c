/*  runtime/core/feeder_cut.c - epochs that a program ends early. */
#include "runtime/core/feeder_internal.h"

#include <assert.h>

#include "runtime/base/bug_injection.h"

void tnd_feeder_core_finish_cut(tnd_feeder_core_t *self)
{
    if (self->cut == TND_UNKNOWN || self->committed < self->cut ||
        self->cut + self->back < self->started)
        return;
    for (uint64_t step = self->cut; step < self->cut + self->ring; step++)
        if (!TND_BUG(HELD_STEP_AFTER_REWIND) ||
            tnd_feeder_core_step_at(self, step)->state != STEP_HELD)
            tnd_feeder_core_clear(self, step);
    self->started = self->cut;
    if (!TND_BUG(HELD_STEP_AFTER_REWIND))
        self->held = self->cut;
    self->cut = TND_UNKNOWN;
}

void tnd_feeder_core_cut(tnd_feeder_core_t *self, uint64_t step)
{
    assert(self->cut == TND_UNKNOWN && step >= self->committed && step < self->started);
    self->cut = step + 1;
    self->back = 0;
    self->cuts++; /* the end of the stream comes no later by it */
}

void tnd_feeder_core_withdrawn(tnd_feeder_core_t *self, uint64_t step)
{
    assert(step == self->cut + self->back && step < self->started);
    self->back++;
    tnd_feeder_core_finish_cut(self);
}

bool tnd_feeder_core_is_cutting(const tnd_feeder_core_t *self)
{
    return self->cut != TND_UNKNOWN;
}

uint32_t tnd_feeder_core_cuts(const tnd_feeder_core_t *self)
{
    return self->cuts;
}
