/*  runtime/core/session/best.c - which validation had the best value. */
#include "runtime/core/session/best.h"

#include <assert.h>

#include "runtime/base/bug_injection.h"

static bool is_better(const tnd_best_t *self, double value)
{
    if (self->step == 0)
        return value == value; /* not NaN */
    if (value == self->value)
        return TND_BUG(EQUAL_IS_BETTER);
    return self->least ? value < self->value : value > self->value;
}

bool tnd_best_add(tnd_best_t *self, uint64_t step, double value)
{
    assert(step > 0);
    if (!is_better(self, value)) {
        self->without++;
        return false;
    }
    self->step = step;
    self->value = value;
    self->without = 0;
    return true;
}

bool tnd_best_ends(const tnd_best_t *self)
{
    uint64_t patience = self->patience + (TND_BUG(PATIENCE_OFF_BY_ONE) ? 1 : 0);
    return self->patience > 0 && self->without >= patience;
}

void tnd_best_lack(tnd_best_t *self, uint64_t step)
{
    assert(step > 0);
    if (self->lacked == 0)
        self->lacked = step;
}

bool tnd_best_fails(const tnd_best_t *self, uint64_t kept, bool writing)
{
    return self->lacked > 0 && (kept >= self->lacked || !writing);
}
