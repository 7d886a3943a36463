/*  runtime/core/session/resumption.c - whether a run that has lost a host starts again. */
#include "runtime/core/session/resumption.h"

static uint32_t losses_before(const tnd_resumption_t *self, const tnd_resumption_end_t *end)
{
    return end->saved ? 0 : self->losses;
}

tnd_resumption_verdict_t tnd_resumption_decide(const tnd_resumption_t *self,
                                               const tnd_resumption_end_t *end)
{
    bool asked = end->cause == TND_RESUMPTION_ASKED;
    uint32_t max = end->unbegun && !asked && self->spares > self->max ? self->spares : self->max;
    if (max == 0 || end->drains)
        return TND_RESUMPTION_ENDS;
    if (end->cause == TND_RESUMPTION_ABSENT && self->number == 0)
        return TND_RESUMPTION_ENDS;
    if (asked || losses_before(self, end) < max)
        return TND_RESUMPTION_AGAIN;
    if (self->max == 0)
        return TND_RESUMPTION_ENDS;
    return TND_RESUMPTION_ENDS_OFTEN;
}

tnd_resumption_t tnd_resumption_next(const tnd_resumption_t *self, const tnd_resumption_end_t *end)
{
    return (tnd_resumption_t){
        .max = self->max,
        .spares = self->spares,
        .losses = losses_before(self, end) + (end->cause != TND_RESUMPTION_ASKED),
        .number = self->number + 1,
    };
}
