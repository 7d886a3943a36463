/*  runtime/core/host/replacement.c - how a host replaces one of its actors. */
#include "runtime/core/host/replacement.h"

#include "runtime/base/bug_injection.h"

bool tnd_replacement_is_watched(const tnd_replacement_t *self)
{
    return self->state == TND_REPLACEMENT_NONE;
}

void tnd_replacement_reported(tnd_replacement_t *self)
{
    self->state = TND_REPLACEMENT_REPORTED;
}

void tnd_replacement_forget(tnd_replacement_t *self)
{
    if (self->state == TND_REPLACEMENT_REPORTED && !TND_BUG(HANG_REPORTED_ONCE))
        self->state = TND_REPLACEMENT_NONE;
}

static tnd_replacement_step_t make(tnd_replacement_t *self, tnd_replacement_step_t step)
{
    self->state = TND_REPLACEMENT_MADE;
    self->births++;
    return step;
}

tnd_replacement_step_t tnd_replacement_ask(tnd_replacement_t *self, bool asked,
                                           uint64_t hung_after_ns, uint64_t now)
{
    if (self->state == TND_REPLACEMENT_REPORTED)
        return make(self, TND_REPLACEMENT_ABANDON);
    if (self->state != TND_REPLACEMENT_NONE)
        return TND_REPLACEMENT_WAIT;
    if (!asked)
        return TND_REPLACEMENT_REPORT; /* the last report that it runs was lost */
    self->state = TND_REPLACEMENT_STOPPING;
    self->until_ns = now + hung_after_ns;
    return TND_REPLACEMENT_STOP;
}

tnd_replacement_step_t tnd_replacement_next(tnd_replacement_t *self,
                                            const tnd_replacement_facts_t *facts, uint64_t now)
{
    switch (self->state) {
    case TND_REPLACEMENT_STOPPING:
        if (facts->ended)
            return make(self, TND_REPLACEMENT_FREE);
        return now >= self->until_ns ? make(self, TND_REPLACEMENT_ABANDON) : TND_REPLACEMENT_WAIT;
    case TND_REPLACEMENT_MADE:
        if (!facts->bound || TND_BUG(LIFE_NOT_RAISED))
            return TND_REPLACEMENT_WAIT;
        self->state = TND_REPLACEMENT_RAISED;
        return TND_REPLACEMENT_GO;
    case TND_REPLACEMENT_RAISED:
        if (!facts->runs || !facts->reaches)
            return TND_REPLACEMENT_WAIT;
        self->state = TND_REPLACEMENT_NONE;
        return TND_REPLACEMENT_REPORT;
    case TND_REPLACEMENT_NONE:
    case TND_REPLACEMENT_REPORTED:
        break;
    }
    return TND_REPLACEMENT_WAIT;
}
